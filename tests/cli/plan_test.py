# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""A plan says beforehand what a run finds, for any world size."""

import unittest

from harness import ALONE, DONE, CliTest, config_of, param, strict_json

MEASURED = ("step_seconds", "first_step_seconds", "phases_seconds", "speedup_vs_duplicated", "nonfinite_values")


class Plan(CliTest):
    def plan(self, config, *arguments):
        output = self.path("plan.json")
        run = self.start(
            ALONE, "plan", "--config", self.write_config(config), "--output", output, *arguments, output=output
        )
        self.assertEqual(run.returncode, DONE, run.stderr)
        return run

    def test_holds_what_a_run_counts_and_nothing_that_it_measures(self):
        params = [
            param("a", 40, 24, tp_dim=0),
            param("b", 24, 40, tp_dim=1, repeat=2),
            param("g", 20, 16),
            param("r", 16, 16, gtp_remat=False),
            param("e", 50, 8, optimizer="adam"),
        ]
        modes = ["layer_sharded", "duplicated", "adam_dim0", "adam_replicated"]
        for dtype in ("fp32", "bf16"):
            config = config_of(params, gtp_remat=2, tp=2, modes=modes, run={"param_dtype": dtype})
            plan, found = self.plan(config, "--overwrite").result, self.run_ok(4, config).result
            for key in ("config", "model", "homes"):
                self.assertEqual(plan[key], found[key], key)
            self.assertIsNone(plan["environment"])
            for planned, ran in zip(plan["modes"], found["modes"], strict=True):
                self.assertEqual(planned["mode"], ran["mode"])
                self.assertEqual([planned[key] for key in MEASURED], [None] * len(MEASURED))
                for rank in ran["ranks"]:
                    self.assertGreater(rank["memory"]["process_peak_bytes"], 0)
                    rank["memory"]["process_peak_bytes"] = rank["step_seconds_p50"] = rank["host"] = None
                self.assertEqual(planned["ranks"], ran["ranks"])
                for key in ("ns_cost_max_over_mean", "state_max_over_mean"):
                    self.assertEqual(planned[key], ran[key])

    def test_deals_100_equal_weights_out_over_32_ranks(self):
        config = config_of([param("w", 16, 16, repeat=100)], gtp_remat=32, modes=["layer_sharded"])
        run = self.plan(config)
        calls = run.ranks("layer_sharded", "ns_calls")
        self.assertEqual((len(calls), max(calls), min(calls), sum(calls)), (32, 4, 3, 100))

    def test_counts_bytes_beyond_32_bits(self):
        config = config_of([param("w", 5, 536870913)], modes=["duplicated"])
        run = self.plan(config)
        self.assertEqual(run.memory("duplicated", "momentum_bytes"), [10_737_418_260])

    def test_goes_to_stdout_as_json_when_asked(self):
        run = self.plan(config_of([param("w", 16, 16)], gtp_remat=8), "--format", "json")
        self.assertEqual(strict_json(run.stdout), run.result)


if __name__ == "__main__":
    unittest.main()
