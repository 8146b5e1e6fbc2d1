# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Gradients that are missing, zero or not finite."""

import unittest

from harness import USAGE, WRONG_NUMBERS, CliTest, config_of, param

ALL_MODES = ["layer_sharded", "duplicated", "layer_wise", "adam_dim0", "adam_replicated"]


class MissingGradients(CliTest):
    def job(self, params, **sections):
        sections = {"modes": ALL_MODES, "gradients": {"fill": "random"}, "run": {"steps": 5}, **sections}
        muon = {"lr": 0.1, "weight_decay": 0.01}
        return config_of(params, gtp_remat=2, tp=2, muon=muon, adam={"weight_decay": 0.01}, **sections)

    def test_leave_that_weight_alone_and_the_others_as_they_were(self):
        kept = [param(f"w{i}", 16, 16, tp_dim=i % 2) for i in range(5)]
        without = param("w5", 16, 16, tp_dim=0, gradient="none")
        run = self.run_ok(4, self.job(kept + [without]))
        alone = self.run_ok(4, self.job(kept))
        for mode in ALL_MODES:
            params = run.params(mode)
            self.assertEqual((params["w5"]["delta_abs_min"], params["w5"]["delta_abs_max"]), (0, 0))
            self.assertGreater(params["w0"]["delta_abs_max"], 0)
            del params["w5"]
            self.assertEqual({name: entry["digest"] for name, entry in params.items()}, alone.digests(mode))

    def test_on_every_weight_end_without_a_collective_and_without_a_change(self):
        params = [
            param("w", 16, 16, tp_dim=0, repeat=3, gradient="none"),
            param("r", 8, 8, gtp_remat=False, gradient="none"),
        ]
        run = self.run_ok(4, self.job(params))
        for mode in ALL_MODES:
            for entry in run.params(mode).values():
                self.assertEqual((entry["delta_abs_min"], entry["delta_abs_max"]), (0, 0))
            for key in ("ns_calls", "ns_flops", "collectives", "sent_bytes", "received_bytes"):
                self.assertEqual(run.ranks(mode, key), [0] * 4, key)

    def test_on_one_rank_alone_cannot_be_asked_for(self):
        run = self.run_job(4, self.job([param("w", 16, 16, gradient="none on rank 2")]))
        self.assert_refused(run, "model.params[0].gradient", "random, ones, zeros, none", code=USAGE)


class ZeroGradients(CliTest):
    PARAMS = [
        param("w", 8, 16, gradient="zeros"),
        param("e", 8, 16, optimizer="adam", gradient="zeros"),
        param("r", 16, 16, gradient="random"),
    ]

    def job(self, steps, weight_decay, precision):
        return config_of(
            self.PARAMS,
            gtp_remat=2,
            tp=2,
            modes=ALL_MODES,
            muon={"lr": 0.1, "weight_decay": weight_decay, "fp32_matmul_prec": precision},
            adam={"lr": 0.1, "weight_decay": weight_decay},
            run={"steps": steps},
        )

    def test_change_nothing_without_weight_decay(self):
        for precision in ("highest", "medium"):
            run = self.run_ok(4, self.job(3, 0, precision))
            for mode in ALL_MODES:
                params = run.params(mode)
                for name in ("w", "e"):
                    self.assertEqual(params[name]["delta_abs_max"], 0, (precision, mode, name))
                self.assertGreater(params["r"]["delta_abs_max"], 0)
            self.assert_equal_bits(run)

    def test_leave_the_decay_alone(self):
        # After k steps w has moved by |w_0| * (1 - 0.999^k). The initial weights are not in the result, so the largest
        # moves of three steps and of one are compared. Each is a difference of fp32 numbers some 1000 times its size.
        ratio = (1 - 0.999**3) / (1 - 0.999)
        one, three = (self.run_ok(4, self.job(steps, 0.01, "highest")) for steps in (1, 3))
        for mode in ALL_MODES:
            for name in ("w", "e"):
                before, after = (run.params(mode)[name]["delta_abs_max"] for run in (one, three))
                self.assertGreater(before, 0)
                self.assertAlmostEqual(after / before, ratio, delta=3e-4, msg=f"{mode} {name}")


class GradientsThatAreNotFinite(CliTest):
    def test_end_the_run_with_wrong_numbers_and_the_weights_name(self):
        for value in ("nan", "inf"):
            inject = [{"param": "w", "step": 1, "row": 5, "column": 3, "value": value}]
            config = config_of(
                [param("w", 8, 16, tp_dim=0), param("clean", 8, 16, tp_dim=0)],
                gtp_remat=2,
                tp=2,
                gradients={"fill": "random", "inject": inject},
                run={"steps": 2},
            )
            run = self.run_job(4, config)
            self.assertEqual(run.returncode, WRONG_NUMBERS, run.stderr)
            named = [line for line in run.stderr.splitlines() if "not finite" in line]
            for mode in ("layer_sharded", "duplicated"):
                of_w = [line for line in named if mode in line and "parameter w:" in line]
                self.assertEqual(len(of_w), 1, run.stderr)
            self.assertFalse([line for line in named if "clean" in line], run.stderr)
            self.assertIs(run.result["complete"], False)
            self.assertEqual(run.result["status"], "failed")
            for mode in run.result["modes"]:
                self.assertGreater(mode["nonfinite_values"], 0)
                w, clean = (next(p for p in mode["params"] if p["name"] == name) for name in ("w", "clean"))
                self.assertIsNone(w["delta_abs_max"])
                self.assertGreater(clean["delta_abs_max"], 0)


if __name__ == "__main__":
    unittest.main()
