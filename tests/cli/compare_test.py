# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""The regression gate catches what it must and lets noise pass: verdicts and exit statuses of scripts/compare.py."""

import copy
import json
import subprocess
import unittest

import harness

STEADY = [1.0, 0.99, 1.01, 1.0, 1.0]


class Compare(harness.CliTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = harness.config_of([harness.param("w", 24, 16, tp_dim=0), harness.param("e", 9, 8, optimizer="adam")],
                                   gtp_remat=2, tp=2)
        cls.base = harness.result_of_job(4, config)
        for mode in cls.base["modes"]:
            mode["step_seconds"]["samples"] = STEADY if mode["mode"] == "layer_sharded" else [8 * s for s in STEADY]

    def judge(self, candidate, *options, base=None):
        paths = []
        for name, result in (("base.json", base or self.base), ("new.json", candidate)):
            path = self.path(name)
            if isinstance(result, str):
                path.write_text(result, encoding="utf-8")
            elif result is not None:
                path.write_text(json.dumps(result), encoding="utf-8")
            else:
                path.unlink(missing_ok=True)
            paths.append(str(path))
        return subprocess.run(["/usr/bin/python3", "scripts/compare.py", *paths, *options], capture_output=True, text=True,
                              check=False)

    def with_times(self, samples):
        result = copy.deepcopy(self.base)
        result["modes"][0]["step_seconds"]["samples"] = samples
        return result

    def test_an_equal_result_and_noise_pass(self):
        for samples in (STEADY, [1.03 * s for s in STEADY], [1.0, 1.01, 0.99, 1.4, 1.0]):
            with self.subTest(samples=samples):
                run = self.judge(self.with_times(samples))
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_thirty_percent_slower_fails_and_names_the_row(self):
        run = self.judge(self.with_times([1.3 * s for s in STEADY]))
        self.assertEqual(run.returncode, 3)
        self.assertIn("SLOWER     layer_sharded / duplicated: 0.125 -> 0.1625", run.stdout)

    def test_thirty_percent_faster_passes_and_says_so(self):
        run = self.judge(self.with_times([0.7 * s for s in STEADY]))
        self.assertEqual(run.returncode, 0)
        self.assertIn("FASTER", run.stdout)

    def test_a_wide_spread_is_ambiguous_and_passes(self):
        run = self.judge(self.with_times([0.6, 2.0, 1.2, 0.9, 1.9]))
        self.assertEqual(run.returncode, 0)
        self.assertIn("AMBIGUOUS", run.stdout)

    def test_a_changed_byte_a_changed_home_and_a_changed_digest_fail(self):
        for where, change in {
            "layer_sharded/rank 1/sent_bytes": lambda r: r["modes"][0]["ranks"][1].update(sent_bytes=1),
            "layer_sharded/rank 2/memory/exchange_bytes": lambda r: r["modes"][0]["ranks"][2]["memory"].update(exchange_bytes=1),
            "homes/w": lambda r: r["homes"][0].update(g=1 - r["homes"][0]["g"]),
            "layer_sharded/digest/w": lambda r: r["modes"][0]["params"][0].update(digest="0" * 16),
        }.items():
            with self.subTest(where=where):
                changed = copy.deepcopy(self.base)
                change(changed)
                run = self.judge(changed, "--exact-only")
                self.assertEqual(run.returncode, 3)
                self.assertIn(where, run.stdout)

    def test_a_missing_mode_fails_and_a_new_one_passes(self):
        fewer = copy.deepcopy(self.base)
        del fewer["modes"][1]
        self.assertEqual(self.judge(fewer).returncode, 3)
        run = self.judge(self.base, base=fewer)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("NEW", run.stdout)

    def test_other_machines_are_judged_by_ratio_alone(self):
        other = self.with_times([3.0 * s for s in STEADY])
        other["modes"][1]["step_seconds"]["samples"] = [24 * s for s in STEADY]
        other["environment"]["cores"] = 999
        run = self.judge(other)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("environment.cores", run.stdout)

    def test_files_that_are_no_pair_end_with_2(self):
        other_config = copy.deepcopy(self.base)
        other_config["config"]["muon"]["lr"] = 0.5
        unfinished = copy.deepcopy(self.base)
        unfinished["complete"] = False
        for candidate, why in ((other_config, "muon.lr"), (unfinished, "not complete"), ("", "Expecting value"), (None, "No such file")):
            with self.subTest(why=why):
                run = self.judge(candidate)
                self.assertEqual(run.returncode, 2)
                self.assertIn(why, run.stderr)

    def test_nothing_in_common_is_no_success(self):
        empty = copy.deepcopy(self.base)
        empty["modes"], empty["homes"] = [], []
        self.assertEqual(self.judge(empty, base=empty).returncode, 3)


if __name__ == "__main__":
    unittest.main()
