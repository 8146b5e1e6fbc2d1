#!/usr/bin/python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Issue #2163 in numbers: what each way of sharding optimizer state leaves on each rank, for DeepSeek-V3's vocabulary.

  scripts/study_2163.py [--muonbench PROGRAM] [--output FOLDER] [--run] [--quick]

Plans configs/study_2163_*.json on 8, 16 and 64 replicas of each stage (--quick: on 8 alone), prints a table in Markdown, writes
it with every rank's bytes to FOLDER/state.json (results/study_2163), and draws the most replicas as FOLDER/state.png. --run also
runs the trimmed model under mpirun on 8 ranks and writes FOLDER/trimmed.json. results/README.md defines the figures.

The bar is the maintainers': who switches from Adam whose state is dealt out by rows must not run out of memory. So each row
says whether some rank holds more state than the fullest rank of adam_dim0 did. Exit status: 0; 1 if a job failed or two
figures that must agree do not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import plot

ROOT = pathlib.Path(__file__).absolute().parents[1]
REPLICAS = (8, 16, 64)
# Name of a scheme -> what asks for it; the last is adam_dim0 of the same plans.
SCHEMES = {
    "ping_pong": ["layer_wise.policy=ping_pong"],
    "lpt_numel": ["layer_wise.policy=lpt_numel"],
    "lpt_ns_cost": ["layer_wise.policy=lpt_ns_cost"],
    "hybrid": ["layer_wise.adam=dim0"],
}
BASELINE = "adam_dim0"
EMBEDDING = 129_280 * 7168
USES = ("master", "momentum", "adam")
# What tells how a run's seconds came about; names of hosts are left out.
ENVIRONMENT = ("muonbench", "time", "cores", "oversubscribed", "blas_threads", "versions")


class Failure(Exception):
    """What is said on standard error before exit status 1."""


def muonbench(program, command, config, overrides, launch=()):
    """The result of one job."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "result.json"
        words = [*launch, str(program), command, "--config", str(ROOT / "configs" / config), "--output", str(output)]
        for override in overrides:
            words += ["--set", override]
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
        return json.loads(output.read_text(encoding="utf-8"))


def mode_of(result, name):
    return next(mode for mode in result["modes"] if mode["mode"] == name)


def memory_of(mode):
    """Per use, state of every rank."""
    return {use: [rank["memory"][f"{use}_bytes"] for rank in mode["ranks"]] for use in USES}


def state_of(memory):
    return [sum(uses) for uses in zip(*memory.values())]


def summary(state):
    mean = sum(state) / len(state)
    return {"max": max(state), "mean": mean, "max_over_mean": max(state) / mean if mean else None,
            "heaviest_rank": state.index(max(state)), "state_bytes": state}


def stages_of(case, pp):
    """Name -> ranks: a stage's ranks stand together."""
    if pp == 1:
        return {"all": slice(None)}
    ranks = case["replicas"]
    return {"first stage": slice(0, ranks), "last stage": slice(ranks * (pp - 1), ranks * pp)}


def plan_case(program, config, replicas, overrides, pp=1):
    """Per stage and scheme every rank's state bytes; and per scheme every rank's memory by use."""
    case = {"config": config, "replicas": replicas, "pp": pp, "set": overrides, "stages": {}}
    by_scheme = {}
    for scheme, wanted in SCHEMES.items():
        result = muonbench(program, "plan", config, [*overrides, *wanted])
        by_scheme[scheme] = memory_of(mode_of(result, "layer_wise"))
        baseline = memory_of(mode_of(result, BASELINE))
        if by_scheme.setdefault(BASELINE, baseline) != baseline:
            raise Failure(f"{config}: {BASELINE} depends on {wanted}")
    states = {scheme: state_of(memory) for scheme, memory in by_scheme.items()}
    totals = {sum(states[scheme]) for scheme in SCHEMES}
    if len(totals) != 1:
        raise Failure(f"{config} on {replicas}: state of all ranks differs between schemes: {totals}")
    for stage, ranks in stages_of(case, pp).items():
        schemes = {scheme: summary(states[scheme][ranks]) for scheme in (*SCHEMES, BASELINE)}
        for scheme in SCHEMES:
            schemes[scheme]["above_adam_dim0"] = schemes[scheme]["max"] > schemes[BASELINE]["max"]
        case["stages"][stage] = schemes
    return case, by_scheme


def check_issue_figures(cases):
    """The issue's own arithmetic, from the plans of the embedding alone."""
    expected = {"fp32": 12 * EMBEDDING, "bf16": 8 * EMBEDDING}
    for case in cases:
        if case["config"] != "study_2163_embedding.json":
            continue
        whole = expected[case["moments"]]
        schemes = case["stages"]["all"]
        if schemes["ping_pong"]["max"] != whole or schemes["hybrid"]["max"] * case["replicas"] != whole:
            raise Failure(f"the embedding's state is not {whole} bytes on its owner and an even share in the hybrid")


def plan_all(program, replicas):
    """All cases, and the memory of the last: the most replicas of the most stages."""
    cases = []
    for moments in ("fp32", "bf16"):
        case, _ = plan_case(program, "study_2163_embedding.json", 8, [f"adam.moment_dtype={moments}"])
        cases.append({**case, "moments": moments})
    for pp in (1, 8):
        for count in replicas:
            overrides = [f"parallelism.dp={count}", f"parallelism.ep={count}"]
            case, by_scheme = plan_case(program, f"study_2163_pp{pp}.json", count, overrides, pp)
            cases.append(case)
    check_issue_figures(cases)
    return cases, by_scheme


def draw(case, by_scheme, path):
    """Ranks of the case's stages side by side, a panel per scheme; a stage's ranks stand together."""
    world = range(case["replicas"] * case["pp"])
    ranks = [rank for stage in stages_of(case, case["pp"]).values() for rank in world[stage]]
    panels = [plot.Panel(scheme, ranks, {use: [values[rank] for rank in ranks] for use, values in by_scheme[scheme].items()})
              for scheme in (*SCHEMES, BASELINE)]
    where = " and ".join(case["stages"])
    plot.save(plot.draw_memory(panels), str(path),
              f"Optimizer state per rank: DeepSeek-V3, pp {case['pp']}, {case['replicas']} replicas, {where}")


def title_of(case):
    name = case["config"].removeprefix("study_2163_").removesuffix(".json")
    return f"{name}, bf16 moments" if case.get("moments") == "bf16" else name


def table(cases):
    head = ["model", "replicas", "ranks", "scheme", "max (GB)", "mean (GB)", "max/mean", "heaviest", "above adam_dim0"]
    lines = [head, ["---", "---:", "---", "---", "---:", "---:", "---:", "---:", "---"]]
    for case in cases:
        for stage, schemes in case["stages"].items():
            for scheme, row in schemes.items():
                above = {True: "yes", False: "no", None: ""}[row.get("above_adam_dim0")]
                lines.append([title_of(case), str(case["replicas"]), stage, scheme, f"{row['max'] / 1e9:.3f}",
                              f"{row['mean'] / 1e9:.3f}", f"{row['max_over_mean']:.3f}", str(row["heaviest_rank"]), above])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def answer(cases):
    """Schemes that some rank of some case pays for with more than adam_dim0 took, and those that none does."""
    above = {scheme: [] for scheme in SCHEMES}
    for case in cases:
        for stage, schemes in case["stages"].items():
            for scheme in SCHEMES:
                if schemes[scheme]["above_adam_dim0"]:
                    above[scheme].append(f"{title_of(case)} on {case['replicas']} ({stage})")
    return [f"{scheme}: " + (f"above adam_dim0 in {len(where)}: {'; '.join(where)}" if where else "never above adam_dim0")
            for scheme, where in above.items()]


def run_trimmed(program):
    """Step times of the trimmed model, per scheme, and whether all ended with duplicated's bits."""
    launch = [os.environ.get("MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none", "-n", "8"]
    rows = []
    for scheme, wanted in SCHEMES.items():
        result = muonbench(program, "run", "study_2163_trimmed.json", wanted, launch)
        mode = mode_of(result, "layer_wise")
        if mode["parity"]["bit_identical"] is not True:
            raise Failure(f"{scheme} differs from duplicated: {mode['parity']}")
        others = {name: mode_of(result, name)["step_seconds"]["p50"] for name in ("duplicated", BASELINE)}
        rows.append({"scheme": scheme, "step_seconds_p50": mode["step_seconds"]["p50"], "same_run": others,
                     **summary(state_of(memory_of(mode))),
                     "adam_dim0": summary(state_of(memory_of(mode_of(result, BASELINE)))),
                     "environment": {key: result["environment"][key] for key in ENVIRONMENT}})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muonbench", default=ROOT / "bazel-bin" / "src" / "muonbench", type=pathlib.Path)
    parser.add_argument("--output", default=ROOT / "results" / "study_2163", type=pathlib.Path)
    parser.add_argument("--run", action="store_true", help="run the trimmed model as well")
    parser.add_argument("--quick", action="store_true", help="8 replicas alone")
    arguments = parser.parse_args()
    try:
        cases, by_scheme = plan_all(arguments.muonbench, REPLICAS[:1] if arguments.quick else REPLICAS)
        arguments.output.mkdir(parents=True, exist_ok=True)
        (arguments.output / "state.json").write_text(json.dumps({"cases": cases}) + "\n", encoding="utf-8")
        draw(cases[-1], by_scheme, arguments.output / "state.png")
        print(table(cases), *answer(cases), sep="\n\n")
        if arguments.run:
            rows = run_trimmed(arguments.muonbench)
            (arguments.output / "trimmed.json").write_text(json.dumps({"rows": rows}) + "\n", encoding="utf-8")
            for row in rows:
                print(f"trimmed, 8 ranks, {row['scheme']}: step {row['step_seconds_p50'] * 1e3:.1f} ms, state max/mean "
                      f"{row['max_over_mean']:.3f}, bits as duplicated")
    except (Failure, plot.UsageError, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
