#!/usr/bin/env python3
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Rehearses failures: a drawn fault befalls each job of four ranks at a drawn moment, and what is left is judged.

A run passes if the ranks end in time, the job has the exit status that the fault calls for, no process is left, and the
result file is absent or whole, and claims success only if nothing went wrong. A launcher that hangs although no rank is
left to wait for is counted, not failed: no rank can end it. Run i of a seed is the same in every rehearsal.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 4
SECONDS_TO_END = 40
SECONDS_TO_START = 60
WATCHDOG_SECONDS = 2
ENDLESS = 10_000_000
MODES = ("layer_sharded", "duplicated", "adam_dim0")
DONE, WRONG_NUMBERS, RUNTIME, TIMEOUT, INTERRUPTED = 0, 4, 5, 6, 7

# Weights of the draw: what befalls the job most often in the field is drawn most often.
FAULTS = {
    "none": 2,
    "nan": 2,
    "full device": 1,
    "SIGKILL rank": 4,
    "SIGTERM rank": 3,
    "SIGSTOP rank": 3,
    "SIGINT mpirun": 2,
    "SIGTERM mpirun": 3,
}
# starting: as soon as the ranks are there, in MPI_Init or while the configuration is read. stepping: in a mode that
# never ends. passing: in a job of short modes, anywhere from its first step to its last collective.
MOMENTS = {"starting": 2, "stepping": 4, "passing": 3}
LONGEST_DELAY = {"starting": 0.5, "stepping": 1.5, "passing": 1.2}
STEPS_PASSING = 3000
TOO_LATE = " (came too late)"
LAUNCHER_HUNG = "mpirun alone hung"

Scene = collections.namedtuple("Scene", "fault moment delay rank timing modes inject")


class Failed(Exception):
    """What the job did wrong, in words."""


def draw(seed, index):
    dice = random.Random(f"{seed}/{index}")
    fault = dice.choices(list(FAULTS), list(FAULTS.values()))[0]
    moments = dict(MOMENTS)
    if fault == "SIGSTOP rank":
        # The watchdog watches steps and collectives; before there is an MPI world there is nothing that could watch.
        del moments["starting"]
    moment = dice.choices(list(moments), list(moments.values()))[0]
    inject = {"param": dice.choice(["w", "x.1", "e"]), "step": dice.randrange(20), "row": dice.randrange(16),
              "column": dice.randrange(8), "value": dice.choice(["nan", "inf", "-inf"])}  # fmt: skip
    modes = dice.sample(MODES, len(MODES))
    delay = dice.uniform(0, LONGEST_DELAY[moment])
    return Scene(fault, moment, delay, dice.randrange(RANKS), dice.choice(["step", "phases"]), modes, inject)


def is_signal(scene):
    return scene.fault.startswith("SIG")


def config_of(scene):
    endless = is_signal(scene) and scene.moment != "passing"
    steps = ENDLESS if endless else STEPS_PASSING if is_signal(scene) else 20
    return {
        "name": scene.fault,
        "model": {"params": [
            {"name": "w", "shape": [48, 32], "tp_dim": 0},
            {"name": "x", "shape": [32, 32], "tp_dim": 1, "repeat": 2},
            {"name": "e", "shape": [40, 8], "optimizer": "adam", "tp_dim": 0},
        ]},
        "parallelism": {"tp": 2, "gtp_remat": 2},
        "modes": scene.modes,
        "gradients": {"inject": [scene.inject] if scene.fault == "nan" else []},
        "run": {"warmup_steps": 0, "steps": steps, "timing": scene.timing, "timeout_seconds": WATCHDOG_SECONDS
                if scene.fault == "SIGSTOP rank" else 30},
    }  # fmt: skip


def ranks_of(folder):
    """Process id per rank of the job whose command line names the folder."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            environment = pathlib.Path("/proc", entry, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ranks = [word for word in environment if word.startswith(b"OMPI_COMM_WORLD_RANK=")]
        if os.fsencode(folder) in words and ranks:
            found[int(ranks[0].split(b"=")[1])] = int(entry)
    return found


class Job:
    """One job in a folder of its own."""

    def __init__(self, scene, options, folder):
        self.scene = scene
        self.folder = folder
        self.output = folder / "result.json"
        config = folder / "config.json"
        config.write_text(json.dumps(config_of(scene)), encoding="utf-8")
        output = "/dev/full" if scene.fault == "full device" else self.output
        self.log = open(folder / "log", "w+b")  # not a pipe: a rank that is left over would hold it open
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
        mpirun = [*shlex.split(options.mpirun), "--oversubscribe", "--bind-to", "none", "-n", str(RANKS)]
        self.process = subprocess.Popen(
            [*mpirun, options.program, "run", "--config", str(config), "--output", str(output)], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True)  # fmt: skip

    def close(self):
        """Whatever went wrong, the next run starts on a quiet machine."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for process in ranks_of(self.folder).values():
            send(process, signal.SIGKILL)
        self.log.close()

    def result(self):
        """The document, None without a file."""
        try:
            text = self.output.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise Failed(f"the result file is no JSON: {error}") from error

    def claims_success(self):
        result = self.result()
        return result is not None and result["complete"] is not False

    def wait_for_moment(self):
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end and self.process.poll() is None:
            # A result that is not complete stands there before the first step.
            if self.output.exists() if self.scene.moment != "starting" else len(ranks_of(self.folder)) == RANKS:
                break
            time.sleep(0.01)
        else:
            raise Failed(f"the job did not get under way, exit status {self.process.poll()}")
        try:
            self.process.wait(timeout=self.scene.delay)
        except subprocess.TimeoutExpired:
            pass

    def strike(self):
        """Sends the signal. Returns whether it came in time to matter."""
        name, whom = self.scene.fault.split()
        target = self.process.pid if whom == "mpirun" else ranks_of(self.folder).get(self.scene.rank)
        # Last of all: the search takes longer than the end of a job.
        if target is None or self.process.poll() is not None or self.claims_success():
            return False
        return send(target, signal.Signals[name])

    def only_launcher_hangs(self):
        """Whether what is left waits where no rank could end it; lets it end then.

        mpirun of Open MPI 4.1 may lock itself up after the last rank has ended. And it waits for a rank that was
        stopped in the last moments of MPI_Finalize, when its peers have ended and can watch no more: that one goes on.
        """
        left = ranks_of(self.folder)
        if not left:
            self.process.kill()
            return True
        stopped = self.scene.fault == "SIGSTOP rank" and list(left) == [self.scene.rank]
        return stopped and self.claims_success() and send(left[self.scene.rank], signal.SIGCONT)

    def wait(self):
        """Exit status as a shell shows it; None from a launcher that hung by itself."""
        try:
            code = self.process.wait(timeout=SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            if not self.only_launcher_hangs():
                raise Failed(f"the job did not end within {SECONDS_TO_END} s") from None
            self.process.wait(timeout=SECONDS_TO_END)
            code = None
        end = time.monotonic() + 5
        while ranks_of(self.folder) and time.monotonic() < end:
            time.sleep(0.05)
        if ranks_of(self.folder):
            raise Failed(f"ranks are left: {sorted(ranks_of(self.folder))}")
        return 128 - code if code is not None and code < 0 else code

    def last_words(self):
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()
        return [line for line in lines if "error" in line][:4]


def send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def allowed_status(scene, struck):
    """Exit statuses that the fault calls for; None stands for any but 0."""
    if not is_signal(scene):
        return {"none": {DONE}, "nan": {WRONG_NUMBERS}, "full device": {RUNTIME}}[scene.fault]
    if not struck:
        return {DONE}
    if scene.moment == "stepping" and scene.fault in ("SIGTERM rank", "SIGSTOP rank"):
        return {INTERRUPTED} if scene.fault == "SIGTERM rank" else {TIMEOUT}
    return None


def is_whole(result, scene):
    steps = config_of(scene)["run"]["steps"]
    samples = [(mode["mode"], len(mode["step_seconds"]["samples"])) for mode in result["modes"]]
    return samples == [(mode, steps) for mode in scene.modes]


def judge(job, scene, struck, code):
    allowed = allowed_status(scene, struck)
    claim = job.claims_success()
    # A fault after the last step finds a result that is true: of a rank that is no longer needed, or from mpirun, which
    # hands a signal on only after a second.
    after_last_step = struck and scene.moment == "passing" and claim and is_whole(job.result(), scene)
    if code is None:
        if claim and struck and not after_last_step:
            raise Failed(f"struck, but the result file says {describe(job.result())}")
    elif not after_last_step and (code == DONE if allowed is None else code not in allowed):
        expected = "another than 0" if allowed is None else " or ".join(map(str, sorted(allowed)))
        raise Failed(f"exit status {code}, expected {expected}")
    elif claim != (code == DONE) and not after_last_step:
        raise Failed(f"exit status {code}, but the result file says {describe(job.result())}")
    if claim and not is_whole(job.result(), scene):
        raise Failed("the result claims success without all modes and steps")
    left = [path.name for path in job.folder.iterdir() if path.name not in ("config.json", "log", "result.json")]
    # Rank 0 may be stopped or killed between the naming and the renaming of a file, or, where the file system has none
    # without a name, in the middle of a write; mpirun kills what does not end by itself.
    if left and scene.fault not in ("SIGKILL rank", "SIGSTOP rank"):
        raise Failed(f"files are left: {left}")


def describe(result):
    return "nothing" if result is None else f"complete {str(result['complete']).lower()}, {result['status']}"


def rehearse(scene, options):
    """Returns whether the run passed and a line about it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rehearsal"))
    what = f"{scene.fault} {scene.rank}" if scene.fault.endswith("rank") else scene.fault
    if is_signal(scene):
        what += f", {scene.moment} + {scene.delay:.2f} s"
    line = f"{what}, timing {scene.timing}, first {scene.modes[0]}"
    job = Job(scene, options, folder)
    try:
        struck = False
        if is_signal(scene):
            job.wait_for_moment()
            struck = job.strike()
            line += "" if struck else TOO_LATE
        start = time.monotonic()
        code = job.wait()
        status = LAUNCHER_HUNG if code is None else f"exit {code}"
        line += f": {status} in {time.monotonic() - start:.1f} s, {describe(job.result())}"
        judge(job, scene, struck, code)
        return True, line
    except Failed as failure:
        return False, "\n  ".join([f"{line}: FAILED: {failure}", *job.last_words()])
    finally:
        job.close()
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="index of the first run, to repeat one that failed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="bazel-bin/src/muonbench")
    parser.add_argument("--mpirun", default="mpirun", help="command line of mpirun")
    parser.add_argument("--output", help="JSON file for the counts by fault and moment, and the runs that failed")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error(f"argument --runs: expected at least 1, got {options.runs}")
    counts = collections.defaultdict(collections.Counter)
    failures = []
    for index in range(options.first, options.first + options.runs):
        scene = draw(options.seed, index)
        good, line = rehearse(scene, options)
        kind = f"{scene.fault}, {scene.moment}" if is_signal(scene) else scene.fault
        counts[kind].update(runs=1, passed=int(good), came_too_late=int(TOO_LATE in line),
                            launcher_hung=int(LAUNCHER_HUNG in line))
        if not good:
            failures.append(f"{index}  {line}")
        print(f"{index:4}  {line}", flush=True)
    failed = len(failures)
    passed = options.runs - failed
    if options.output:
        summary = {"seed": options.seed, "first": options.first, "runs": options.runs, "passed": passed}
        summary |= {"failed": failed, "faults": {kind: counts[kind] for kind in sorted(counts)}, "failures": failures}
        pathlib.Path(options.output).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(f"{options.runs} runs, {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
