# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Twenty drawn failures, none of which hangs a job, leaves a process or a result that claims success."""

import os
import subprocess
import unittest

import harness

RUNS = 20
SECONDS = 280


class Rehearsal(unittest.TestCase):

    def rehearse(self, *options, program=None):
        command = ["/usr/bin/python3", "scripts/fault_rehearsal.py", "--program", program or harness.program(),
                   "--mpirun", os.environ.get("MPIRUN", "mpirun"), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)

    def test_of_twenty_faults_passes(self):
        run = self.rehearse("--runs", str(RUNS), "--seed", "1")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        lines = run.stdout.splitlines()
        self.assertEqual(lines[-1], f"{RUNS} runs, {RUNS} passed, 0 failed")
        self.assertEqual(len(lines), RUNS + 1)
        # A seed whose draw leaves a kind out would show less than it says.
        for fault in ("SIGKILL rank", "SIGTERM rank", "SIGSTOP rank", "mpirun", "nan", "full device", "none"):
            self.assertIn(fault, run.stdout)

    def test_of_a_program_that_always_succeeds_or_always_fails_does_not_pass(self):
        for program in ("/bin/true", "/bin/false"):
            run = self.rehearse("--runs", "2", "--seed", "1", program=program)
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("2 runs, 0 passed, 2 failed", run.stdout)


if __name__ == "__main__":
    unittest.main()
