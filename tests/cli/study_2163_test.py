# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""scripts/study_2163.py: its table, its file, and what they say of issue #2163."""

import pathlib
import sys
import unittest

from harness import DONE, CliTest, program, strict_json

SCRIPT = pathlib.Path(__file__).absolute().parents[2] / "scripts" / "study_2163.py"
WHOLE = ("ping_pong", "lpt_numel", "lpt_ns_cost")


class Study(CliTest):
    def test_plans_every_scheme_and_finds_the_owner_of_an_embedding_above_adam_by_rows(self):
        output = self.path("study")
        run = self.execute([sys.executable, SCRIPT, "--muonbench", program(), "--output", output, "--quick"])
        self.assertEqual(run.returncode, DONE, run.stderr)
        cases = strict_json((output / "state.json").read_text(encoding="utf-8"))["cases"]
        self.assertEqual([case["pp"] for case in cases], [1, 1, 1, 8])
        for case, size in zip(cases[:2], (12, 8)):
            schemes = case["stages"]["all"]
            for scheme in WHOLE:
                self.assertEqual(schemes[scheme]["max"], 926_679_040 * size)
                self.assertTrue(schemes[scheme]["above_adam_dim0"])
            self.assertEqual(schemes["hybrid"]["state_bytes"], [926_679_040 * size // 8] * 8)
            self.assertFalse(schemes["hybrid"]["above_adam_dim0"])
        self.assertEqual(list(cases[3]["stages"]), ["first stage", "last stage"])
        for case in cases:
            for schemes in case["stages"].values():
                self.assertEqual(len({sum(schemes[scheme]["state_bytes"]) for scheme in (*WHOLE, "hybrid")}), 1)
        self.assertEqual((output / "state.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("hybrid: never above adam_dim0", run.stdout)
        self.assertIn("| embedding | 8 | all | hybrid | 1.390 | 1.390 | 1.000 | 0 | no |", run.stdout)

    def test_ends_with_an_error_that_says_what_failed(self):
        run = self.execute([sys.executable, SCRIPT, "--muonbench", "/bin/false", "--output", self.path("study"), "--quick"])
        self.assertEqual(run.returncode, 1)
        self.assertIn("exit 1", run.stderr)
        self.assertFalse(self.path("study").exists())


if __name__ == "__main__":
    unittest.main()
