# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Starts muonbench as a user does and reads what it leaves: exit status, both streams, result file."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TIMEOUT_SECONDS = 60

# Started without mpirun: a world of one rank. A refusal shows at once; mpirun waits seconds for the other ranks.
ALONE = 0

DONE, USAGE, WRONG_NUMBERS, RUNTIME = 0, 2, 4, 5

# What NS makes of a constant gradient: such a matrix has rank 1, and its only singular value is 1 after normalisation,
# so that all elements get the size f(1) * scale / sqrt(P*Q), which with the spectral scale is f(1) / sqrt(min(P, Q)).
# f is the scalar map of five steps, computed from the published coefficients in fp64.
F_OF_ONE = {"quintic": 0.978346, "simple": 0.696436}

# fp32 NS rounds each of some fifteen products over sums of up to a few thousand terms: some 1e-6 in all.
FP32_RELATIVE = 1e-4


def program():
    for name in ("MUONBENCH", "MUONBENCH_BIN"):
        if os.environ.get(name):
            return os.environ[name]
    return str(pathlib.Path(__file__).resolve().parents[2] / "bazel-bin" / "src" / "muonbench")


def mpirun():
    """Its command line, for more ranks than cores."""
    return [os.environ.get("MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none"]


def strict_json(text):
    """One JSON document; NaN and Infinity, which Python would take, are refused."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def config_of(params, gtp_remat=1, tp=1, **sections):
    """A configuration whose numbers can be told beforehand: fp32 throughout, lr 1, no decay, one step.

    sections: per top-level key, an object that is merged over these, or a value that replaces them.
    """
    config = {
        "name": "case",
        "model": {"params": params},
        "parallelism": {"tp": tp, "gtp_remat": gtp_remat},
        "modes": ["layer_sharded", "duplicated"],
        "muon": {"lr": 1, "weight_decay": 0, "fp32_matmul_prec": "highest"},
        "adam": {"weight_decay": 0},
        "gradients": {"fill": "ones"},
        "run": {"param_dtype": "fp32", "warmup_steps": 0, "steps": 1},
    }
    for name, section in sections.items():
        if isinstance(section, dict):
            config.setdefault(name, {}).update(section)
        else:
            config[name] = section
    return config


def param(name, *shape, **tags):
    return {"name": name, "shape": list(shape), **tags}


class Run:
    """What a finished job left."""

    def __init__(self, process, stdout, stderr, output):
        self.returncode = process.returncode
        self.stdout = stdout
        self.stderr = stderr
        self.output = output

    @property
    def result(self):
        return strict_json(self.output.read_text(encoding="utf-8"))

    def mode(self, name):
        return next(mode for mode in self.result["modes"] if mode["mode"] == name)

    def ranks(self, mode, key):
        return [rank[key] for rank in self.mode(mode)["ranks"]]

    def memory(self, mode, key):
        return [rank["memory"][key] for rank in self.mode(mode)["ranks"]]

    def params(self, mode):
        return {entry["name"]: entry for entry in self.mode(mode)["params"]}

    def digests(self, mode):
        return {name: entry["digest"] for name, entry in self.params(mode).items()}


class CliTest(unittest.TestCase):
    """Each test has a directory of its own."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.folder)
        self._runs = 0

    def path(self, name):
        return self.folder / name

    def write_config(self, config):
        """config: an object, or text that is written as it is."""
        path = self.path(f"config{self._runs}.json")
        path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
        return path

    def start(self, ranks, *arguments, output=None, environment=None):
        """environment: what is set besides; None as a value takes a name away."""
        launch = [] if ranks == ALONE else [*mpirun(), "-n", str(ranks)]
        return self.execute([*launch, program(), *arguments], output=output, environment=environment)

    def execute(self, command, output=None, environment=None):
        """Any command line, with mpirun made usable for root."""
        changed = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **(environment or {}),
        }
        process = subprocess.Popen(
            [str(word) for word in command],
            env={name: value for name, value in {**os.environ, **changed}.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            # Not SIGKILL at once: mpirun has to end the ranks.
            process.send_signal(signal.SIGTERM)
            try:
                stdout, stderr = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                stdout, stderr = process.communicate()
            self.fail(f"{command} hung for {TIMEOUT_SECONDS} s\n{stderr}")
        return Run(process, stdout, stderr, output)

    def run_job(self, ranks, config, *arguments, output=None, environment=None):
        """muonbench run with a configuration and a result file of its own."""
        self._runs += 1
        output = output or self.path(f"result{self._runs}.json")
        words = ["run", "--config", self.write_config(config), "--output", output, *arguments]
        return self.start(ranks, *words, output=output, environment=environment)

    def run_ok(self, ranks, config, *arguments, environment=None):
        run = self.run_job(ranks, config, *arguments, environment=environment)
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertTrue(run.result["complete"])
        self.assertEqual(run.result["status"], "ok")
        for mode in run.result["modes"]:
            self.assertEqual(mode["nonfinite_values"], 0, mode["mode"])
        return run

    def plan_ok(self, config, *arguments):
        """muonbench plan, by one process, with a result file of its own."""
        self._runs += 1
        output = self.path(f"plan{self._runs}.json")
        words = ["plan", "--config", self.write_config(config), "--output", output, *arguments]
        run = self.start(ALONE, *words, output=output)
        self.assertEqual(run.returncode, DONE, run.stderr)
        return run

    def assert_refused(self, run, *words, code=USAGE):
        """Ended with `code`, one message that holds all `words`, no result, no process left."""
        self.assertEqual(run.returncode, code, f"{run.stdout}\n{run.stderr}")
        holding = [line for line in run.stderr.splitlines() if all(str(word) in line for word in words)]
        self.assertEqual(len(holding), 1, f"expected one line with {words} in\n{run.stderr}")
        self.assertNotIn("terminate called", run.stderr)
        if run.output is not None:
            self.assertFalse(run.output.exists(), "a refused run left a result")
        self.assert_nothing_left()

    def assert_nothing_left(self):
        """No process names this test's directory on its command line any more."""
        for _ in range(20):
            left = [pid for pid in os.listdir("/proc") if pid.isdigit() and self._is_ours(pid)]
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"processes left: {left}")

    def _is_ours(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return os.fsencode(self.folder) in file.read()
        except OSError:
            return False

    def assert_moved_by(self, entry, size, relative=FP32_RELATIVE):
        """Every element of a parameter moved by `size`."""
        for key in ("delta_abs_min", "delta_abs_max"):
            self.assertIsNotNone(entry[key], entry)
            self.assertLessEqual(abs(entry[key] - size), relative * size, f"{entry}: expected {size}")

    def assert_equal_bits(self, run):
        """layer_sharded and duplicated ended with the same bits, by both of the program's accounts."""
        self.assertIs(run.mode("layer_sharded")["parity"]["bit_identical"], True)
        self.assertEqual(run.digests("layer_sharded"), run.digests("duplicated"))


def ns_cost(rows, cols):
    return max(rows, cols) * min(rows, cols) ** 2


def ns_flops(rows, cols, steps=5):
    small, large = min(rows, cols), max(rows, cols)
    return steps * (4 * small * small * large + 2 * small**3)


def result_of_job(ranks, config):
    """The result of one job, for a class of tests that all look at it."""
    probe = CliTest()
    probe.setUp()
    try:
        return probe.run_job(ranks, config).result
    finally:
        probe.doCleanups()
