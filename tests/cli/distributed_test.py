# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Modes distributed and auto: NS on slices, the sums between its parts, and what auto decides."""

import unittest

from harness import ALONE, F_OF_ONE, USAGE, CliTest, config_of, param

F = F_OF_ONE["quintic"]
MODES = ["distributed", "duplicated", "auto"]
STEPS = 5


def reduced(elements, ranks, me):
    """Elements that an all_reduce sends: parts to be added up, and sums."""
    part = elements // ranks + (1 if me < elements % ranks else 0)
    return elements - part + (ranks - 1) * part


class Distributed(CliTest):
    def test_differs_from_duplicated_says_how_much_and_does_not_fail(self):
        params = [param("w", 96, 24), param("whole", 8, 8, gtp_remat=False)]
        run = self.run_ok(4, config_of(params, gtp_remat=4, modes=MODES, gradients={"fill": "random"}))
        parity = run.mode("distributed")["parity"]
        self.assertEqual(parity["reference_mode"], "duplicated")
        self.assertIn(parity["bit_identical"], (True, False))
        # Elements of an update are about 1; fp32 sums in another order change some last places.
        self.assertLess(parity["max_abs_diff"], 1e-3)
        self.assertIn("not promised", parity["why"])
        self.assertEqual(run.digests("distributed")["whole"], run.digests("duplicated")["whole"])

    def test_moves_each_element_by_the_full_shape_whatever_the_layout(self):
        params = [
            param("rows", 40, 48),
            param("twice", 80, 48, tp_dim=0),
            param("cols", 24, 64, tp_dim=1),
            param("row", 1, 9),
            param("frozen", 40, 48, gradient="none"),
            param("zero", 40, 48, gradient="zeros"),
        ]
        for gtp_remat, tp in ((8, 1), (4, 2), (2, 4)):
            run = self.run_ok(8, config_of(params, gtp_remat=gtp_remat, tp=tp, modes=["distributed", "auto"]))
            for mode in ("distributed", "auto"):
                moved = run.params(mode)
                for name, shorter in (("rows", 40), ("twice", 48), ("cols", 24), ("row", 1)):
                    # Norms and Gram matrices of eight ranks are added up in fp32, and the map is steep at 1.
                    self.assert_moved_by(moved[name], F / shorter**0.5, relative=3e-4)
                for name in ("frozen", "zero"):
                    self.assertEqual((moved[name]["delta_abs_min"], moved[name]["delta_abs_max"]), (0, 0))
                self.assertEqual(run.mode(mode)["nonfinite_values"], 0)

    def test_adds_up_one_norm_and_a_gram_matrix_for_each_step(self):
        params = [param("w", 64, 24, repeat=2), param("both", 64, 32, tp_dim=1)]
        run = self.run_ok(8, config_of(params, gtp_remat=4, tp=2, modes=["distributed"]))
        self.assertEqual(run.ranks("distributed", "collectives"), [3 * (1 + STEPS) + 1] * 8)
        sent = []
        for rank in range(8):
            g = rank // 2
            sums = [1, *[24 * 24] * STEPS] * 2 + [1, *[32 * 32] * STEPS]
            sent.append(4 * sum(reduced(n, 4, g) for n in sums) + 4 * 16 * 16)
        self.assertEqual(run.ranks("distributed", "sent_bytes"), sent)
        self.assertEqual(run.ranks("distributed", "received_bytes"), sent)
        flops = STEPS * (2 * (4 * 24**2 * 16 + 2 * 24**3) + 4 * 32**2 * 16 + 2 * 32**3)
        self.assertEqual(run.ranks("distributed", "ns_flops"), [flops] * 8)

    def test_replicas_agree_and_a_plan_knows_every_rank(self):
        params = [param("w", 40, 24), param("both", 64, 32, tp_dim=0), param("e", 50, 8, optimizer="adam")]
        params.append(param("qkv", 48, 16, qkv_split=[24, 12, 12]))
        for batch in (1, 2):
            muon = {"split_qkv": True, "ns_batch_size": batch, "fp32_matmul_prec": "medium"}
            config = config_of(params, gtp_remat=2, tp=2, modes=["distributed", "auto"], muon=muon)
            config["parallelism"]["dp"] = 2
            config["gradients"]["fill"] = "random"
            run = self.run_ok(8, config)
            plan = self.plan_ok(config)
            for mode in ("distributed", "auto"):
                for key in ("ns_calls", "ns_flops", "collectives", "sent_bytes", "received_bytes"):
                    self.assertEqual(plan.ranks(mode, key), run.ranks(mode, key), (mode, key))
                for key in ("exchange_bytes", "ns_scratch_bytes", "peak_bytes"):
                    self.assertEqual(plan.memory(mode, key), run.memory(mode, key), (mode, key))
                self.assertEqual(plan.mode(mode)["decisions"], run.mode(mode)["decisions"])

    def test_runs_on_expert_grids(self):
        params = [param("d", 64, 16), param("e", 48, 16, expert=True, repeat=2, tp_dim=0)]
        config = config_of(params, gtp_remat=4, tp=2, modes=["distributed"])
        config["parallelism"].update(ep=2, expert_gtp_remat=2, expert_tp=2)
        run = self.run_ok(8, config)
        for name in ("d", "e.0", "e.1"):
            self.assert_moved_by(run.params("distributed")[name], F / 16**0.5)

    def test_refuses_gram_matrices_that_no_number_counts(self):
        config = config_of([param("w", 8, 1 << 31)], gtp_remat=2, modes=["duplicated", "distributed"])
        run = self.start(ALONE, "plan", "--config", self.write_config(config))
        self.assertEqual(run.returncode, USAGE)
        for word in ("distributed", "'w'", "dim 1"):
            self.assertIn(word, run.stderr)


class Auto(CliTest):
    def decisions(self, params, **muon):
        config = config_of(params, gtp_remat=8, modes=["auto", "duplicated"], muon=muon)
        run = self.plan_ok(config)
        self.assertIsNone(run.mode("duplicated")["decisions"])
        return {entry["param"]: entry["runs"] for entry in run.mode("auto")["decisions"]}

    def test_takes_the_way_of_fewer_operations(self):
        params = [param("tall", 8192, 1024), param("wide", 1024, 8192), param("between", 640, 1024)]
        params.append(param("whole", 8192, 1024, gtp_remat=False))
        params.append(param("frozen", 8192, 1024, gradient="none"))
        params.append(param("table", 8192, 1024, optimizer="adam"))
        expected = {"tall": "distributed", "wide": "duplicated", "between": "duplicated", "whole": "duplicated"}
        self.assertEqual(self.decisions(params), expected)
        expected["between"] = "distributed"
        self.assertEqual(self.decisions(params, ns_algorithm="syrk"), expected)

    def test_runs_as_it_decided(self):
        params = [param("tall", 256, 16), param("wide", 32, 128)]
        run = self.run_ok(4, config_of(params, gtp_remat=4, modes=["auto", "duplicated", "distributed"]))
        decided = {entry["param"]: entry["runs"] for entry in run.mode("auto")["decisions"]}
        self.assertEqual(decided, {"tall": "distributed", "wide": "duplicated"})
        self.assertEqual(run.digests("auto")["wide"], run.digests("duplicated")["wide"])
        self.assertEqual(run.digests("auto")["tall"], run.digests("distributed")["tall"])
        self.assertEqual(run.ranks("auto", "collectives"), [1 + STEPS + 1] * 4)


if __name__ == "__main__":
    unittest.main()
