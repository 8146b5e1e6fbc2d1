# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""The exact fields of this build are those of results/baselines: bytes, collectives, NS work, homes, and digests where the
baseline came from a machine like this one. Who changes them on purpose makes new baselines in a commit of their own."""

import pathlib
import subprocess
import unittest

import harness

BASELINES = sorted(pathlib.Path("results/baselines/cpu").glob("*.json"))


class Baselines(harness.CliTest):

    def test_exact_fields_are_those_of_the_baseline(self):
        self.assertNotEqual(BASELINES, [], "no baseline was found")
        for baseline in BASELINES:
            with self.subTest(baseline=baseline.name):
                result = harness.strict_json(baseline.read_text(encoding="utf-8"))
                run = self.run_ok(len(result["modes"][0]["ranks"]), result["config"])
                gate = subprocess.run(["/usr/bin/python3", "scripts/compare.py", str(baseline), str(run.output), "--exact-only"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(gate.returncode, 0, gate.stdout + gate.stderr)


if __name__ == "__main__":
    unittest.main()
