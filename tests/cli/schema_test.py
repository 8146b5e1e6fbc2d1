# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""configs/schema.json says what configs/README.md says, which in turn is held equal to what the program reads."""

import copy
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema

CONFIGS = pathlib.Path("configs")
STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
KEY = re.compile(r"^\| `([^`]+)` \| [^|]+ \| `[^`]+` \|", re.MULTILINE)
MINIMAL = {"model": {"params": [{"name": "w", "shape": [9, 16]}]}}


def without_comments(text):
    return STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)


def keys_of(schema, path=""):
    """Paths of all members that a schema knows, "[]" for entries of lists and "*" for any name."""
    for name, child in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here
        yield from keys_of(child, here)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys_of(schema["additionalProperties"], f"{path}.*")
    if "properties" in schema.get("items", {}):
        yield from keys_of(schema["items"], f"{path}[]")


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads((CONFIGS / "schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def accepts(self, config):
        return self.validator.is_valid(config)

    def minimal_with(self, path, value):
        """MINIMAL with a value at a dotted path; a number in it is an index."""
        config = place = copy.deepcopy(MINIMAL)
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in parents:
            place = place[part] if isinstance(part, int) else place.setdefault(part, {})
        place[last] = value
        return config

    def test_is_made_of_the_page_as_it_stands(self):
        made = subprocess.run([sys.executable, CONFIGS / "make_schema.py", "--check"], check=False)
        self.assertEqual(made.returncode, 0, "run configs/make_schema.py")

    def test_knows_the_keys_of_the_page_and_no_others(self):
        page = set(KEY.findall((CONFIGS / "README.md").read_text(encoding="utf-8")))
        self.assertGreater(len(page), 100)
        sections = {key.rpartition(".")[0] for key in page if "." in key}
        found = set(keys_of(self.schema))
        self.assertEqual(page - found, set())
        # Sections that have no row of their own hold keys that have.
        self.assertEqual(found - page - sections, set())

    def test_accepts_every_example(self):
        files = [file for file in [*CONFIGS.glob("*.json"), *CONFIGS.glob("gpu/*.json")] if file.name != "schema.json"]
        self.assertGreaterEqual(len(files), 10)
        for file in files:
            config = json.loads(without_comments(file.read_text(encoding="utf-8")))
            self.assertEqual([error.message for error in self.validator.iter_errors(config)], [], file)

    def test_accepts_one_of_everything(self):
        for path, value in {
            "model.params.0.tp_dim": None,
            "model.params.0.group": "slow",
            "model.params.0.shape": [7],
            "muon.groups": {"slow": {"lr": 0.1}},
            "muon.homes": {"a.b": [0, 1]},
            "muon.custom_coefficients": [[1, -2.5, 3]],
            "require": {"layer_sharded.speedup_vs_duplicated": {"min": 3.0}},
            "run.steps": 10.0,
            "gradients.inject": [{"param": "w", "value": "nan"}],
            "gradients.seed": 2**64 - 1,
        }.items():
            self.assertTrue(self.accepts(self.minimal_with(path, value)), path)
        dims = {"hidden": 8, "layers": 1, "heads": 2, "ffn_hidden": 8, "vocab": 4}
        mla = {"q_rank": None, "kv_rank": 2, "nope_dim": 3, "rope_dim": 1, "v_dim": 2}
        self.assertTrue(self.accepts({"model": {"transformer": {**dims, "mla": mla}}}))
        self.assertTrue(self.accepts({"model": {"preset": "llama3-8b", "layers": 2}}))

    def test_refuses_unknown_keys_at_every_level(self):
        for path in ("run", "run.stps", "model.x", "model.params.0.shap", "muon.groups.slow.rl", "parallelism.dpp"):
            value = {"stps": 1} if path == "run" else 1
            self.assertFalse(self.accepts(self.minimal_with(path, value)), path)
        self.assertFalse(self.accepts({**MINIMAL, "warmpu": 1}))
        self.assertFalse(self.accepts({"model": {"transformer": {"hiden": 8}}}))

    def test_refuses_what_the_program_refuses(self):
        for path, value in (
            ("run.steps", 0),
            ("run.steps", "10"),
            ("run.steps", 3.5),
            ("run.verify", None),
            ("muon.momentum", 1),
            ("muon.num_ns_steps", 101),
            ("run.timeout_seconds", 0),
            ("modes", []),
            ("modes", ["duplicated", "duplicated"]),
            ("modes", ["layer_shard"]),
            ("model.params.0.tp_dim", 2),
            ("model.params.0.shape", [2, 3, 4]),
            ("model.params.0.optimizer", "sgd"),
            ("model.preset", "llama3-8b"),
            ("model.layers", 2),
            ("muon.groups", {"dense": {}}),
            ("muon.exchange_chunks", 0),
            ("require", {"layer_sharded.x": {}}),
            ("require", {"x": {"min": 1}}),
            ("schema_version", 2),
        ):
            self.assertFalse(self.accepts(self.minimal_with(path, value)), (path, value))
        self.assertFalse(self.accepts({}))


if __name__ == "__main__":
    unittest.main()
