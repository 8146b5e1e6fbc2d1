#!/usr/bin/env python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes schema.json of README.md, whose table a test holds equal to what muonbench reads.

make_schema.py [--check]: writes schema.json beside this file; with --check, only tells whether it is up to date (exit 1).
"""

import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| `([^`]+)` \| ([^|]+) \| (.*) \|$", re.MULTILINE)
INTEGER = re.compile(r"^an integer in (\d+)\.\.(\d+)( or null)?$")
NUMBER = re.compile(r"^a number in ([\[(])([^,]+), ([^\])]+)([\])])$")

MODES = "layer_sharded duplicated distributed blockwise auto adam_dim0 adam_replicated layer_wise".split()
SIZE = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
INDEX = {"type": "integer", "minimum": 0, "maximum": 2**20 - 1}
FP32_MAX = 3.4028235e38

# Values that one phrase of the page cannot say to a program.
OWN = {
    "modes": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": MODES}},
    "model.params": {"type": "array", "minItems": 1},
    "model.params[].shape": {"type": "array", "minItems": 1, "maxItems": 2, "items": SIZE},
    "model.params[].tp_dim": {"enum": [0, 1, None]},
    "model.params[].group": {"type": ["string", "null"], "minLength": 1},
    "model.params[].qkv_split": {
        "type": "array",
        "items": SIZE,
        "anyOf": [{"maxItems": 0}, {"minItems": 3, "maxItems": 4}],
    },
    "muon.custom_coefficients": {
        "type": "array",
        "items": {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": {"type": "number", "minimum": -FP32_MAX, "maximum": FP32_MAX},
        },
    },
    "muon.homes": {
        "type": "object",
        "additionalProperties": {"type": "array", "minItems": 2, "maxItems": 2, "items": INDEX},
    },
    "gradients.inject": {"type": "array"},
}


def rows():
    """(path, type, default, allowed, meaning) of every key."""
    return [match.groups() for match in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))]


def integer_schema(match):
    low, high, nullable = match.groups()
    return {
        "type": ["integer", "null"] if nullable else "integer",
        "minimum": int(low),
        "maximum": int(high),
    }


def number_schema(match):
    left, low, high, right = match.groups()
    return {
        "type": "number",
        "minimum" if left == "[" else "exclusiveMinimum": json.loads(low),
        "maximum" if right == "]" else "exclusiveMaximum": json.loads(high),
    }


def value_schema(path, type_name, default, allowed):
    if path in OWN:
        return dict(OWN[path])
    if allowed == "the default":
        return {"const": json.loads(default)}
    if match := INTEGER.match(allowed):
        return integer_schema(match)
    if match := NUMBER.match(allowed):
        return number_schema(match)
    if allowed.startswith("one of "):
        return {"enum": allowed.removeprefix("one of ").split(", ")}
    if type_name == "int":
        return {"const": int(allowed)}
    return {"string": {"type": "string", "minLength": 1}, "bool": {"type": "boolean"}, "object": {"type": "object"}}[
        type_name
    ]


def member(schema, part):
    """The schema of what `part` of a path names: a member, "*" for any, "[]" behind it for any entry of its list."""
    entry = part.endswith("[]")
    name = part.removesuffix("[]")
    if name == "*":
        schema = schema.setdefault("additionalProperties", {})
    else:
        schema = schema.setdefault("properties", {}).setdefault(name, {})
    return schema.setdefault("items", {}) if entry else schema


def close(schema):
    """Refuses unknown members wherever members are known."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    for child in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            close(child)


def make_schema():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A configuration of muonbench",
        "description": "Made of configs/README.md by configs/make_schema.py; // and /* */ comments are allowed besides.",
        "type": "object",
        "required": ["model"],
    }
    for path, type_name, default, allowed, meaning in rows():
        *parents, last = path.split(".")
        parent = schema
        for part in parents:
            parent = member(parent, part)
            parent["type"] = "object"
        member(parent, last).update(value_schema(path, type_name, default, allowed), description=meaning)
        if default == "required":
            parent.setdefault("required", []).append(last)
    sources = ("preset", "transformer", "safetensors", "params")
    model = schema["properties"]["model"]
    model["oneOf"] = [{"required": [source]} for source in sources]
    model["dependentRequired"] = {"layers": ["preset"]}
    schema["properties"]["require"]["additionalProperties"]["minProperties"] = 1
    schema["properties"]["require"]["propertyNames"] = {"pattern": "^({})\\..".format("|".join(MODES))}
    schema["properties"]["muon"]["properties"]["groups"]["propertyNames"] = {
        "minLength": 1,
        "not": {"enum": ["dense", "expert"]},
    }
    close(schema)
    return schema


def main(arguments):
    made = json.dumps(make_schema(), indent=1) + "\n"
    file = FOLDER / "schema.json"
    if arguments == ["--check"]:
        return 0 if file.read_text(encoding="utf-8") == made else 1
    file.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
