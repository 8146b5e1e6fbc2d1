#!/usr/bin/python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs muonbench over a grid of configurations, on this machine or through Slurm, and can go on where it stopped.

  scripts/sweep.py GRID.json --out DIR [--program PATH] [--mpirun "mpirun --oversubscribe"] [--timeout SECONDS]
                   [--slurm TEMPLATE.sbatch] [--max-jobs N] [--dry-run]

GRID.json: {"base": "configs/tiny.json",            a configuration, relative to the grid file
            "set": {"run.steps": 5},                overrides of every point
            "grid": {"parallelism.tp": [1, 2, 4],   every combination is a point
                     "parallelism.gtp_remat": [1, 2, 4]},
            "constraints": ["tp * gtp_remat <= 4"]}  points that fail one are left out; names are the last parts of keys

A point's result is DIR/points/HASH.json, HASH over program, base and overrides: a second call runs only the points whose
result is missing or incomplete. A failed point leaves HASH.failed.json. DIR/table.csv has a row per point and mode.
Exit status: 0 all points have a result; 1 some failed; 2 usage; 130 interrupted.

The Slurm template is a shell script with {ranks}, {name}, {log} and {command}; {command} starts with the program and
is to be put behind srun or mpirun. configs/sweeps/slurm.sbatch is one.
"""

import argparse
import ast
import csv
import hashlib
import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time

SIZES = ("tp", "gtp_remat", "dp", "pp")
ALLOWED_NODES = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add, ast.Sub,
                 ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
                 ast.In, ast.NotIn, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List)


class UsageError(Exception):
    """Says what is wrong with the grid or the command line."""


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def compile_constraint(text):
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise UsageError(f"constraints: {text!r}: {error.msg}") from error
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED_NODES):
            raise UsageError(f"constraints: {text!r}: {type(node).__name__} is not allowed")
    return compile(tree, text, "eval")


def holds(code, names):
    try:
        return bool(eval(code, {"__builtins__": {}}, names))  # the nodes were checked
    except NameError as error:
        raise UsageError(f"constraints: {code.co_filename!r}: {error}; known are {', '.join(sorted(names))}") from error


class Point:
    """One configuration of the grid."""

    def __init__(self, base_path, base_text, overrides, program_hash):
        self.base_path = base_path
        self.overrides = overrides
        key = json.dumps([program_hash, base_text, overrides], sort_keys=True)
        self.hash = hashlib.sha256(key.encode()).hexdigest()[:16]

    def label(self):
        return " ".join(f"{key.split('.')[-1]}={json.dumps(value)}" for key, value in self.overrides.items()) or "base"

    def config_arguments(self):
        sets = [part for key, value in self.overrides.items() for part in ("--set", f"{key}={json.dumps(value)}")]
        return ["--config", self.base_path, *sets]


def read_points(grid_path, program):
    grid = read_json(grid_path)
    unknown = set(grid) - {"name", "base", "set", "grid", "constraints"}
    if unknown or "base" not in grid or not isinstance(grid.get("grid"), dict):
        raise UsageError(f"{grid_path}: expected base, grid and optionally name, set, constraints"
                         + (f"; unknown: {', '.join(sorted(unknown))}" if unknown else ""))
    base_path = os.path.join(os.path.dirname(os.path.abspath(grid_path)), grid["base"])
    try:
        with open(base_path, encoding="utf-8") as file:
            base_text = file.read()
        with open(program, "rb") as file:
            program_hash = hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise UsageError(str(error)) from error
    for key, values in grid["grid"].items():
        if not isinstance(values, list) or not values:
            raise UsageError(f"{grid_path}: grid.{key}: expected a list of values, got {json.dumps(values)}")
    constraints = [compile_constraint(text) for text in grid.get("constraints", [])]
    points = []
    for values in itertools.product(*grid["grid"].values()):
        overrides = dict(grid.get("set", {}), **dict(zip(grid["grid"], values)))
        names = {key.split(".")[-1]: value for key, value in overrides.items()}
        if all(holds(code, names) for code in constraints):
            points.append(Point(base_path, base_text, overrides, program_hash))
    return points


def ranks_of(program, point):
    """World size, as the program's own plan of the point has it; None and the reason if it refuses the point."""
    plan = subprocess.run([program, "plan", *point.config_arguments(), "--format", "json"], text=True, capture_output=True,
                          check=False)
    if plan.returncode != 0:
        return None, plan.stderr
    parallelism = json.loads(plan.stdout)["config"]["parallelism"]
    product = 1
    for size in SIZES:
        product *= parallelism.get(size, 1)
    return product, ""


class Sweep:
    """The points of a grid and what became of them."""

    def __init__(self, points, arguments):
        self.points = points
        self.arguments = arguments
        self.folder = os.path.join(arguments.out, "points")
        os.makedirs(self.folder, exist_ok=True)

    def path(self, point, ending):
        return os.path.join(self.folder, point.hash + ending)

    def result(self, point):
        """The complete result of a point, or None."""
        try:
            with open(self.path(point, ".json"), encoding="utf-8") as file:
                result = json.load(file)
        except (OSError, ValueError):
            return None
        return result if result.get("complete") else None

    def mark_failed(self, point, status, log):
        record = {"overrides": point.overrides, "exit_status": status, "log": log[-4000:]}
        temporary = self.path(point, ".failed.tmp")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)
        os.replace(temporary, self.path(point, ".failed.json"))

    def mark_done(self, point):
        if os.path.exists(self.path(point, ".failed.json")):
            os.remove(self.path(point, ".failed.json"))

    def command(self, point):
        return [self.arguments.program, "run", *point.config_arguments(), "--output", self.path(point, ".json"), "--overwrite",
                "--format", "csv"]

    def run_local(self, point):
        """Exit status and log of one point; its processes end with this one."""
        ranks, refusal = ranks_of(self.arguments.program, point)
        if ranks is None:
            return 2, refusal
        command = [*shlex.split(self.arguments.mpirun), "-n", str(ranks), *self.command(point)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            log, _ = process.communicate(timeout=self.arguments.timeout)
        except subprocess.TimeoutExpired:
            end_group(process)
            return 124, process.communicate()[0] + f"\nended after --timeout {self.arguments.timeout} s"
        except BaseException:
            end_group(process)
            process.communicate()
            raise
        return process.returncode, log

    def run_all(self):
        todo = [point for point in self.points if self.result(point) is None]
        say(f"{len(self.points)} points, {len(self.points) - len(todo)} have a result, {len(todo)} to run")
        if self.arguments.dry_run:
            for point in todo:
                say(f"  {ranks_of(self.arguments.program, point)[0] or 'refused'} ranks: {point.label()}")
            return
        runner = self.run_slurm if self.arguments.slurm else self.run_one_by_one
        runner(todo)

    def run_one_by_one(self, todo):
        begin = time.monotonic()
        for done, point in enumerate(todo):
            left = (time.monotonic() - begin) / done * (len(todo) - done) if done else None
            say(f"[{done + 1}/{len(todo)}] {point.label()}" + (f", about {left:.0f} s left" if left is not None else ""))
            self.finish(point, *self.run_local(point))

    def finish(self, point, status, log):
        if status == 0 and self.result(point) is not None:
            self.mark_done(point)
            return
        self.mark_failed(point, status, log)
        say(f"  failed, exit status {status}: {last_line(log)}")

    def run_slurm(self, todo):
        with open(self.arguments.slurm, encoding="utf-8") as file:
            template = file.read()
        waiting, running = list(todo), {}
        try:
            while waiting or running:
                while waiting and len(running) < self.arguments.max_jobs:
                    point = waiting.pop(0)
                    ranks, refusal = ranks_of(self.arguments.program, point)
                    if ranks is None:
                        self.finish(point, 2, refusal)
                        continue
                    running[self.submit(template, point, ranks)] = point
                time.sleep(self.arguments.poll)
                for job in finished_jobs(running) if running else []:
                    point = running.pop(job)
                    self.finish(point, 0 if self.result(point) else 1, read_log(self.path(point, ".log")))
                say(f"{len(waiting)} waiting, {len(running)} submitted")
        except BaseException:
            if running:
                subprocess.run(["scancel", *running], check=False)
            raise

    def submit(self, template, point, ranks):
        script = template
        for name, value in {"ranks": str(ranks), "name": "muonbench-" + point.hash, "log": self.path(point, ".log"),
                            "command": shlex.join(self.command(point))}.items():
            script = script.replace("{" + name + "}", value)
        sent = subprocess.run(["sbatch", "--parsable"], input=script, text=True, capture_output=True, check=False)
        if sent.returncode != 0:
            raise UsageError(f"sbatch: {sent.stderr.strip()}")
        return sent.stdout.strip().split(";")[0]

    def write_table(self):
        """A row per point and mode; a failed point is a row too."""
        keys = sorted({key for point in self.points for key in point.overrides})
        columns = ["hash", "status", *keys, "mode", "ranks", "step_p50_s", "speedup_vs_duplicated", "peak_bytes_max",
                   "sent_bytes_max", "ns_flops_max"]
        rows = []
        for point in self.points:
            head = [point.hash, None, *[json.dumps(point.overrides.get(key)) for key in keys]]
            result = self.result(point)
            if result is None:
                head[1] = "failed" if os.path.exists(self.path(point, ".failed.json")) else "missing"
                rows.append(head + [""] * (len(columns) - len(head)))
                continue
            head[1] = "ok"
            for mode in result["modes"]:
                ranks = mode["ranks"]
                rows.append(head + [mode["mode"], len(ranks), mode["step_seconds"]["p50"], mode["speedup_vs_duplicated"],
                                    max(rank["memory"]["peak_bytes"] for rank in ranks),
                                    max(rank["sent_bytes"] for rank in ranks), max(rank["ns_flops"] for rank in ranks)])
        path = os.path.join(self.arguments.out, "table.csv")
        with open(path + ".tmp", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
        os.replace(path + ".tmp", path)
        bad = sum(1 for point in self.points if self.result(point) is None)
        say(f"{path}: {len(self.points) - bad} of {len(self.points)} points have a result")
        return bad


def finished_jobs(running):
    queue = subprocess.run(["squeue", "-h", "-o", "%i", "-j", ",".join(running)], text=True, capture_output=True, check=False)
    alive = set(queue.stdout.split())
    return [job for job in running if job not in alive]


def read_log(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        return str(error)


def end_group(process):
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def last_line(log):
    lines = [line for line in log.splitlines() if "error" in line.lower()] or log.splitlines() or [""]
    return lines[0]


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_arguments():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid")
    parser.add_argument("--out", required=True)
    parser.add_argument("--program", default=os.path.join(root, "bazel-bin/src/muonbench"))
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for one point (default 3600)")
    parser.add_argument("--slurm", help="sbatch template; without it points run here, one after the other")
    parser.add_argument("--max-jobs", type=int, default=8, help="Slurm jobs at a time (default 8)")
    parser.add_argument("--poll", type=float, default=5.0, help="seconds between looks at the queue (default 5)")
    parser.add_argument("--dry-run", action="store_true", help="lists the points that would run")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    # A scheduler ends a job with SIGTERM: leave as on Ctrl-C, with the running point ended and the table written.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        points = read_points(arguments.grid, arguments.program)
        if not points:
            raise UsageError(f"{arguments.grid}: no point meets the constraints")
        sweep = Sweep(points, arguments)
        try:
            sweep.run_all()
        except KeyboardInterrupt:
            sweep.write_table()
            say("interrupted; the same call goes on from here")
            return 130
        if arguments.dry_run:
            return 0
        return 1 if sweep.write_table() else 0
    except UsageError as error:
        say(f"sweep.py: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
