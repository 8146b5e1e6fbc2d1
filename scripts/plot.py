#!/usr/bin/python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures from results of `muonbench run` and `muonbench plan`.

  scripts/plot.py RESULT.json... --memory FILE    memory per rank, by use: a panel per mode of each result
  scripts/plot.py RESULT.json... --step FILE      the step of each mode, by phase: results of run.timing phases

FILE ends in .svg, .png or .pdf. Both may be given. --modes and --uses choose what is drawn, --title says what it is.
Exit status: 0 drawn; 2 usage, or a result that does not have what is to be drawn, named with its file.
"""

import argparse
import collections
import json
import os
import pathlib
import sys

os.environ.setdefault("MPLBACKEND", "svg")
import matplotlib  # noqa: E402
from matplotlib import pyplot  # noqa: E402

# As INTERFACE's ranks[].memory names them. Pads are part of master and momentum, state and peak are sums of others.
USES = ("weights", "master", "momentum", "adam", "gradient", "exchange", "ns_scratch")
COLORS = dict(zip(USES, ("#9aa5b1", "#4c78a8", "#72b7b2", "#e45756", "#c9b458", "#b279a2", "#8c6d5a")))
# No random names inside: the same numbers give the same file.
matplotlib.rcParams["svg.hashsalt"] = "muonbench"
matplotlib.rcParams["svg.fonttype"] = "none"  # words stay words
UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))

Panel = collections.namedtuple("Panel", "label ranks bytes_by_use")
Bar = collections.namedtuple("Bar", "label seconds_by_phase")


class UsageError(Exception):
    """Says what cannot be drawn and why."""


def read_result(path):
    try:
        result = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not isinstance(result, dict) or not isinstance(result.get("modes"), list):
        raise UsageError(f"{path}: no result of muonbench, which has modes")
    if result.get("complete") is False:
        raise UsageError(f"{path}: the run is not complete, its status is {result.get('status')!r}")
    return result


def chosen_modes(paths, wanted):
    """(label, path, mode) of all results in order; results of one mode each are told apart by their names."""
    found = []
    results = [(path, read_result(path)) for path in paths]
    for path, result in results:
        name = result["config"]["name"] if len(results) > 1 else ""
        for mode in result["modes"]:
            if not wanted or mode["mode"] in wanted:
                found.append((f"{name}: {mode['mode']}" if name else mode["mode"], path, mode))
    known = {mode["mode"] for _, result in results for mode in result["modes"]}
    for name in wanted:
        if name not in known:
            raise UsageError(f"--modes: no result has {name!r}, but {', '.join(sorted(known))}")
    if not found:
        raise UsageError("no mode to draw")
    return found


def memory_panels(modes, uses):
    panels = []
    for label, path, mode in modes:
        ranks = mode.get("ranks") or []
        if not ranks:
            raise UsageError(f"{path}: modes: {mode['mode']}: no ranks")
        bytes_by_use = {use: [rank["memory"][f"{use}_bytes"] for rank in ranks] for use in uses}
        panels.append(Panel(label, [rank["rank"] for rank in ranks], bytes_by_use))
    return panels


def step_bars(modes):
    bars = []
    for label, path, mode in modes:
        phases = mode.get("phases_seconds")
        if not phases:
            raise UsageError(f"{path}: modes: {mode['mode']}: phases_seconds is not there, "
                             "which takes a run with run.timing phases")  # fmt: skip
        bars.append(Bar(label, {name: seconds for name, seconds in phases.items() if seconds}))
    return bars


def totals_of(panel):
    return [sum(values) for values in zip(*panel.bytes_by_use.values())]


def draw_memory(panels):
    """Ranks side by side, uses on top of one another, all panels to one scale."""
    largest = max(max(totals_of(panel)) for panel in panels)
    unit, size = next(((unit, size) for unit, size in UNITS if largest >= size), UNITS[-1])
    figure, axes = pyplot.subplots(1, len(panels), sharey=True, squeeze=False, layout="constrained",
                                   figsize=(1.6 + 2.2 * len(panels), 3.6))  # fmt: skip
    for axis, panel in zip(axes[0], panels):
        # One step per rank, whatever their number: thousands of bars would be thousands of shapes.
        edges = range(len(panel.ranks) + 1)
        heights = [[value / size for value in values + values[-1:]] for values in panel.bytes_by_use.values()]
        axis.stackplot(edges, heights, step="post", labels=list(panel.bytes_by_use),
                       colors=[COLORS[use] for use in panel.bytes_by_use])  # fmt: skip
        totals = totals_of(panel)
        mean = sum(totals) / len(totals)
        ratio = f"max/mean {max(totals) / mean:.2f}" if mean else "nothing"
        axis.set_title(f"{panel.label}\n{ratio}", fontsize=9)
        axis.set_xlim(0, len(panel.ranks))
        axis.set_xlabel("rank")
    axes[0][0].set_ylabel(f"{unit} ({size:.0e} bytes)" if size > 1 else "bytes")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
    return figure


def draw_step(bars):
    phases = list(dict.fromkeys(phase for bar in bars for phase in bar.seconds_by_phase))
    figure, axis = pyplot.subplots(layout="constrained", figsize=(8, 1.2 + 0.5 * len(bars)))
    pairs = matplotlib.colormaps["tab20"].colors
    colors = pairs[::2] + pairs[1::2]  # neighbours in a pair are shades of one colour
    left = [0.0] * len(bars)
    for index, phase in enumerate(phases):
        widths = [1e3 * bar.seconds_by_phase.get(phase, 0.0) for bar in bars]
        axis.barh(range(len(bars)), widths, left=left, label=phase, color=colors[index % len(colors)])
        left = [a + b for a, b in zip(left, widths)]
    axis.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axis.invert_yaxis()
    axis.set_xlabel("ms, phases one after the other")
    figure.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
    return figure


def save(figure, path, title):
    if title:
        figure.suptitle(title, fontsize=10)
    try:
        # Nor a date.
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.endswith(".svg") else None)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    finally:
        pyplot.close(figure)


def list_of(known):
    def read(text):
        words = text.split(",")
        for word in words:
            if known and word not in known:
                raise argparse.ArgumentTypeError(f"expected some of {', '.join(known)}, got {word!r}")
        return words

    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    parser.add_argument("--memory", metavar="FILE")
    parser.add_argument("--step", metavar="FILE")
    parser.add_argument("--modes", type=list_of(()), default=[], help="as a list with commas; all without it")
    parser.add_argument("--uses", type=list_of(USES), default=list(USES), help=f"of memory: {','.join(USES)}")
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    if not options.memory and not options.step:
        parser.error("nothing to draw: give --memory FILE, --step FILE or both")
    try:
        modes = chosen_modes(options.results, options.modes)
        if options.memory:
            save(draw_memory(memory_panels(modes, options.uses)), options.memory, options.title)
        if options.step:
            save(draw_step(step_bars(modes)), options.step, options.title)
    except UsageError as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
