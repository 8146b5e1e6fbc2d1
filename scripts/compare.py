#!/usr/bin/python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Judges a result against a baseline: the regression gate.

  scripts/compare.py BASELINE.json CANDIDATE.json [--threshold 0.05] [--exact-only]

Exact fields (every *_bytes but process_peak_bytes, collectives, ns_calls, ns_flops, homes, owners) must be equal; digests too
where the fingerprints (device, library versions, ranks per host) agree. Times are judged as the ratio
layer_sharded / duplicated inside each file, and as absolute medians only where the fingerprints agree.

A row's verdict: SAME, FASTER, SLOWER, AMBIGUOUS (the spread is too wide to tell), MISSING (the baseline has it, or had this
value, and the candidate has not), NEW. Exit status: 0 passed; 3 on SLOWER, MISSING or nothing compared; 2 if the files
cannot be compared.
"""

import argparse
import json
import sys

try:
    import numpy
    from scipy import stats
except ImportError as error:
    print(f"compare.py: {error}; on Debian and Ubuntu: apt-get install python3-numpy python3-scipy, and run this with "
          "/usr/bin/python3", file=sys.stderr)
    sys.exit(2)

# Sections of a configuration that decide what is computed. The rest may differ: more steps are still the same measurement.
SAME_CONFIG = ("model", "parallelism", "muon", "adam", "layer_wise", "gradients")
SAME_RUN = ("backend", "transport", "param_dtype", "timing")
RANK_COUNTERS = ("ns_calls", "ns_flops", "collectives", "sent_bytes", "received_bytes")
MEASURED_MEMORY = ("process_peak_bytes",)


class NotComparable(Exception):
    """Says why two files are no pair."""


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise NotComparable(f"{path}: {error}") from error
    if not isinstance(result, dict) or "modes" not in result:
        raise NotComparable(f"{path}: not a muonbench result")
    if result.get("schema_version") != 1:
        raise NotComparable(f"{path}: schema_version: expected 1, got {result.get('schema_version')!r}")
    if not result.get("complete"):
        raise NotComparable(f"{path}: the run is not complete (status {result.get('status')!r})")
    return result


def config_differences(base, new):
    """Paths of configuration keys that must agree and do not."""
    differing = []
    for section in SAME_CONFIG:
        differing += differences(base["config"].get(section), new["config"].get(section), section)
    for key in SAME_RUN:
        differing += differences(base["config"].get("run", {}).get(key), new["config"].get("run", {}).get(key), f"run.{key}")
    return differing


def differences(a, b, path):
    if isinstance(a, dict) and isinstance(b, dict):
        return [line for key in sorted(a.keys() | b.keys()) for line in differences(a.get(key), b.get(key), f"{path}.{key}")]
    return [] if a == b else [f"{path}: {json.dumps(a)} and {json.dumps(b)}"]


def fingerprint(result):
    """What must agree before bits and absolute times may be compared."""
    environment = result.get("environment") or {}
    return {
        "devices": sorted({device["name"] or "" for device in environment.get("devices", [])}),
        "ranks_per_host": sorted((environment.get("ranks_per_host") or {}).values()),
        "cores": environment.get("cores"),
        "blas_threads": environment.get("blas_threads"),
        "versions": environment.get("versions"),
    }


def exact_fields(result, with_digests):
    """Name -> value of everything that must be equal."""
    fields = {}
    for home in result.get("homes", []):
        fields[f"homes/{home['param']}"] = (home["g"], home["t"])
    for mode in result["modes"]:
        for owner in mode.get("owners") or []:
            fields[f"{mode['mode']}/owners/{owner['param']}"] = owner["dp"]
        for home in mode.get("homes") or []:
            fields[f"{mode['mode']}/homes/{home['param']}"] = (home["g"], home["t"])
        for rank in mode["ranks"]:
            where = f"{mode['mode']}/rank {rank['rank']}"
            for key in RANK_COUNTERS:
                fields[f"{where}/{key}"] = rank[key]
            for key, value in rank["memory"].items():
                if key not in MEASURED_MEMORY:
                    fields[f"{where}/memory/{key}"] = value
        if with_digests:
            for param in mode.get("params", []):
                if param.get("digest"):
                    fields[f"{mode['mode']}/digest/{param['name']}"] = param["digest"]
    return fields


def compare_exact(base, new):
    rows = []
    for name, value in base.items():
        if name not in new:
            rows.append((name, "MISSING", f"{value} in the baseline alone"))
        elif new[name] != value:
            rows.append((name, "MISSING", f"expected {value}, got {new[name]}"))
        else:
            rows.append((name, "SAME", f"{value}"))
    rows += [(name, "NEW", f"{new[name]}") for name in new if name not in base]
    return rows


def samples_of(result):
    return {mode["mode"]: numpy.asarray(mode["step_seconds"]["samples"], dtype=float)
            for mode in result["modes"] if mode.get("step_seconds") and mode["step_seconds"]["samples"]}


def interval(statistic, groups):
    """95 % interval of a statistic of medians, by resampling each group."""
    if min(len(group) for group in groups) < 2:
        return None
    resampled = stats.bootstrap(groups, statistic, paired=False, vectorized=False, n_resamples=2000, confidence_level=0.95,
                                method="percentile", random_state=numpy.random.default_rng(1))
    return resampled.confidence_interval.low, resampled.confidence_interval.high


def judge(groups, statistic, threshold):
    """Verdict on a quotient candidate / baseline."""
    quotient = statistic(*groups)
    bounds = interval(statistic, groups)
    low, high = bounds if bounds else (quotient, quotient)
    text = f"x{quotient:.4f}" + (f" (95 % between x{low:.4f} and x{high:.4f})" if bounds else " (one sample: no spread known)")
    if abs(quotient - 1) <= threshold:
        return "SAME", text
    if bounds and low > 1 + threshold:
        return "SLOWER", text
    if bounds and high < 1 - threshold:
        return "FASTER", text
    return "AMBIGUOUS", text


def ratio_of_ratios(base_mode, base_reference, new_mode, new_reference):
    median = numpy.median
    return (median(new_mode) / median(new_reference)) / (median(base_mode) / median(base_reference))


def ratio_of_medians(base, new):
    return numpy.median(new) / numpy.median(base)


def compare_times(base, new, same_machine, threshold):
    rows = []
    base_times, new_times = samples_of(base), samples_of(new)
    pair = ("layer_sharded", "duplicated")
    if all(mode in base_times for mode in pair):
        name = "layer_sharded / duplicated"
        if all(mode in new_times for mode in pair):
            groups = (base_times[pair[0]], base_times[pair[1]], new_times[pair[0]], new_times[pair[1]])
            verdict, text = judge(groups, ratio_of_ratios, threshold)
            base_ratio = numpy.median(groups[0]) / numpy.median(groups[1])
            new_ratio = numpy.median(groups[2]) / numpy.median(groups[3])
            rows.append((name, verdict, f"{base_ratio:.4g} -> {new_ratio:.4g}, {text}"))
        else:
            rows.append((name, "MISSING", "in the baseline alone"))
    if same_machine:
        for mode, samples in base_times.items():
            name = f"{mode}/step_seconds"
            if mode not in new_times:
                rows.append((name, "MISSING", "in the baseline alone"))
                continue
            verdict, text = judge((samples, new_times[mode]), ratio_of_medians, threshold)
            rows.append((name, verdict, f"{numpy.median(samples):.4g} s -> {numpy.median(new_times[mode]):.4g} s, {text}"))
        rows += [(f"{mode}/step_seconds", "NEW", "") for mode in new_times if mode not in base_times]
    return rows


def compare(base, new, threshold, exact_only):
    differing = config_differences(base, new)
    if differing:
        raise NotComparable("the configurations differ: " + "; ".join(differing[:10]))
    base_print, new_print = fingerprint(base), fingerprint(new)
    same_machine = base_print == new_print
    rows = compare_exact(exact_fields(base, same_machine), exact_fields(new, same_machine))
    if not exact_only:
        rows += compare_times(base, new, same_machine, threshold)
    notes = [] if same_machine else ["fingerprints differ, so digests and absolute times are not compared: " + line
                                     for line in differences(base_print, new_print, "environment")]
    return rows, notes


def report(rows, notes):
    for note in notes:
        print(note)
    counts = {}
    for name, verdict, text in rows:
        counts[verdict] = counts.get(verdict, 0) + 1
        # Hundreds of equal counters are one line at the end.
        if verdict != "SAME" or "step_seconds" in name or "/ duplicated" in name:
            print(f"{verdict:<10} {name}: {text}")
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts)) or "nothing compared")
    if counts.get("FASTER"):
        print("faster than the baseline: consider a new one")
    compared = sum(count for verdict, count in counts.items() if verdict != "NEW")
    return 3 if counts.get("SLOWER") or counts.get("MISSING") or compared == 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baseline")
    parser.add_argument("candidate")
    parser.add_argument("--threshold", type=float, default=0.05, help="relative change of a time that counts (default 0.05)")
    parser.add_argument("--exact-only", action="store_true", help="judge no times: for machines too noisy to")
    arguments = parser.parse_args()
    try:
        rows, notes = compare(load(arguments.baseline), load(arguments.candidate), arguments.threshold, arguments.exact_only)
    except NotComparable as error:
        print(f"not comparable: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError) as error:
        print(f"not comparable: a field of the result schema is missing or of another type: {error!r}", file=sys.stderr)
        return 2
    return report(rows, notes)


if __name__ == "__main__":
    sys.exit(main())
