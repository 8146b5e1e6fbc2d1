#!/usr/bin/env python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown of what scripts/gpu_measure.sh left in a folder.

  scripts/gpu_table.py FOLDER

results/README.md defines the figures. A file that is missing, empty or of another kind is named on standard error. Exit
status: 0; 1 if there was nothing to show.
"""

import json
import pathlib
import sys

PHASES = ("momentum", "ns_replicated", "gather", "stage1_forward", "stage2_forward", "ns", "stage2_reverse",
          "stage1_reverse", "gram_reduce", "update", "adam", "param_gather")


def cell(value, scale=1.0, digits=2):
    return "-" if value is None else f"{value * scale:.{digits}f}"


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ns_table(ns):
    head = ["batch x shape", "NS (ms)", "TFLOP/s", "GEMM only (ms)", "bound (ms)", "NS / bound"]
    rows = [
        [
            f"{row['batch']} x {row['rows']}x{row['cols']}",
            cell(row["ns_seconds"]["p50"], 1e3, 3),
            cell(row["ns_tflops"], digits=0),
            cell(row["gemm_only_seconds"], 1e3, 3),
            cell(row["bound_seconds"], 1e3, 3),
            cell(row["ns_over_bound"], digits=3),
        ]
        for row in ns["rows"]
    ]
    return f"Newton-Schulz, gemm, medium, quintic, 5 steps\n\n{table(head, rows)}"


def algorithm_table(algorithms):
    head = ["batch x shape", "gemm (ms)", "syrk (ms)", "gram (ms)", "gemm / syrk", "gemm / gram",
            "gram, TFLOP/s as gemm counts them"]
    rows = [
        [
            f"{row['batch']} x {row['rows']}x{row['cols']}",
            cell(row["gemm_seconds"]["p50"], 1e3, 3),
            cell(row["syrk_seconds"]["p50"], 1e3, 3),
            cell(row["gram_seconds"]["p50"], 1e3, 3),
            cell(row["gemm_over_syrk"]),
            cell(row["gemm_over_gram"]),
            cell(row["gram_gemm_equivalent_tflops"], digits=0),
        ]
        for row in algorithms["rows"]
    ]
    return f"Newton-Schulz by gemm, syrk and gram, medium, quintic, 5 steps\n\n{table(head, rows)}"


def pass_table(title, passes):
    rows = [
        [
            row["name"],
            cell(row["seconds"]["p50"], 1e3, 3),
            cell(row["bytes_per_second"], 1e-12),
            cell(row["fraction_of_copy"], 100, 0) + " %",
        ]
        for row in passes
    ]
    return f"{title}\n\n" + table(["pass", "ms", "TB/s", "of the copy"], rows)


def launch_line(launch):
    target = launch["target_seconds"]
    return (
        f"One {launch['rows']}x{launch['cols']}: {cell(launch['back_to_back_seconds']['p50'], 1e3, 3)} ms back to back "
        f"(target {cell(target, 1e3, 3)} ms), {cell(launch['one_by_one_seconds']['p50'], 1e3, 3)} ms one by one"
    )


def bench_tables(report):
    head = f"{report['device']}, CUDA {report['versions'].get('cuda', '?')}"
    yield head
    if report.get("ns"):
        yield ns_table(report["ns"])
    if report.get("algorithms"):
        yield algorithm_table(report["algorithms"])
    if report.get("launch"):
        yield launch_line(report["launch"])
    for name, title in (("copy", "Copies"), ("elementwise", "Passes over the optimizer's state")):
        if report.get(name):
            yield pass_table(title, report[name])


def exchange_tables(report):
    rows = [
        [
            row["collective"],
            cell(row["bytes"], 2**-20, 0),
            cell(row["seconds"]["p50"], 1e3, 3),
            cell(row["algbw_gbs"], digits=1),
            cell(row["busbw_gbs"], digits=1),
        ]
        for row in report["rows"]
    ]
    head = ["collective", "MiB per rank", "ms", "algbw (GB/s)", "busbw (GB/s)"]
    yield f"Plain collectives, {report['ranks']} ranks, transport {report['transport']}\n\n{table(head, rows)}"


def parity_of(mode):
    parity = mode.get("parity") or {}
    if parity.get("bit_identical") is None:
        return "-"
    return "bit-identical" if parity["bit_identical"] else f"differs by {parity['max_abs_diff']:.3g}"


def result_tables(result):
    modes, ranks = result["modes"], len(result["modes"][0]["ranks"])
    settings = result["config"]["parallelism"]
    grid = ", ".join(f"{key} {settings[key]}" for key in settings if settings[key] != 1 and key != "pad_for_alignment")
    phases = [phase for phase in PHASES if any(phase in (mode["phases_seconds"] or {}) for mode in modes)]
    head = ["mode", "step (ms)", "undrained (ms)", "overlap", "to duplicated", "exchange (GB)", "ledger (GB)", "allocated (GB)", "busbw (GB/s)", "parity", *phases]
    rows = []
    for mode in modes:
        memory = [rank["memory"] for rank in mode["ranks"]]
        measured = [each["process_peak_bytes"] for each in memory if each["process_peak_bytes"] is not None]
        times = mode["phases_seconds"] or {}
        overlap = mode.get("overlap") or {}
        rows.append([
            mode["mode"],
            cell((mode["step_seconds"] or {}).get("p50"), 1e3, 1),
            cell(overlap.get("overlapped_seconds"), 1e3, 1),
            cell(overlap.get("efficiency")),
            cell(mode["speedup_vs_duplicated"]),
            cell(max(each["exchange_bytes"] for each in memory), 1e-9, 1),
            cell(max(each["peak_bytes"] for each in memory), 1e-9, 1),
            cell(max(measured, default=None), 1e-9, 1),
            cell((mode["throughput"] or {}).get("exchange_busbw_gbs"), digits=1),
            parity_of(mode),
            *(cell(times.get(phase), 1e3, 1) for phase in phases),
        ])
    note = "" if result["complete"] else f" ({result['status']})"
    yield (
        f"{result['config']['name']}{note}: {ranks} ranks{', ' if grid else ''}{grid}, transport "
        f"{result['config']['run']['transport']}; memory of the fullest rank, phases in ms\n\n{table(head, rows)}"
    )


def tables_of(document):
    if document.get("program") == "gpu_bench":
        return bench_tables(document)
    if document.get("program") == "exchange_bench":
        return exchange_tables(document)
    return result_tables(document)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    shown = 0
    for file in sorted(pathlib.Path(arguments[0]).glob("*.json")):
        try:
            blocks = list(tables_of(json.loads(file.read_text(encoding="utf-8"))))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            print(f"gpu_table.py: {file}: not a result: {error!r}", file=sys.stderr)
            continue
        print(f"{file.name}: " + "\n\n".join(blocks), end="\n\n")
        shown += 1
    return 0 if shown else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
