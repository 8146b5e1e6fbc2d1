# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""muon.split_oversized: what is decided, what it saves, and that plan and run agree on it."""

import itertools
import unittest

from harness import CliTest, config_of, param

SMALL = [param("small", 64, 32, tp_dim=0, repeat=3), param("rows", 64, 16), param("table", 48, 6, optimizer="adam")]
TALL = param("tall", 512, 64, tp_dim=0)
EXACT = ("ns_calls", "ns_flops", "collectives", "sent_bytes", "received_bytes")


class SplitOversized(CliTest):
    def job(self, params, gtp_remat, tp, modes=("layer_sharded", "duplicated"), dp=1, **muon):
        config = config_of(params, gtp_remat=gtp_remat, tp=tp, modes=list(modes), muon={"split_oversized": True, **muon})
        config["parallelism"]["dp"] = dp
        config["gradients"]["fill"] = "random"
        config.setdefault("run", {})["steps"] = 2
        return config

    def split(self, run, mode="layer_sharded"):
        return {
            entry["param"]: (entry["over"], entry["ranks"])
            for entry in run.mode(mode)["decisions"]
            if entry["runs"] == "distributed"
        }

    def test_says_what_it_splits_and_saves_what_it_says(self):
        for gtp_remat, tp, expected in (
            (8, 1, ("gtp_remat", 8)),
            (1, 8, ("tp", 8)),
            (2, 4, ("tp", 4)),
        ):
            with self.subTest(gtp_remat=gtp_remat, tp=tp):
                params = [{**each, "gtp_remat": gtp_remat > 1} for each in [TALL, *SMALL]]
                config = self.job(params, gtp_remat, tp)
                run = self.run_ok(8, config)
                self.assertEqual(self.split(run), {"tall": expected})
                whole = {entry["param"]: entry for entry in run.mode("layer_sharded")["decisions"]}["small.0"]
                self.assertEqual((whole["runs"], whole["over"], whole["ranks"]), ("whole", None, None))
                homes = {home["param"]: home for home in run.result["homes"]}
                if min(gtp_remat, tp) > 1:
                    self.assertIsNone(homes["tall"]["t"])
                else:
                    self.assertNotIn("tall", homes)
                parity = run.mode("layer_sharded")["parity"]
                self.assertLess(parity["max_abs_diff"], 1e-3)
                without = self.plan_ok({**config, "muon": {**config["muon"], "split_oversized": False}})
                most = max(run.ranks("layer_sharded", "ns_flops"))
                self.assertLess(most, 0.5 * max(without.ranks("layer_sharded", "ns_flops")))
                self.assertIsNone(without.mode("layer_sharded")["decisions"])
                self.assertIsNone(run.mode("duplicated")["decisions"])
                # What stays whole keeps its bits.
                for name in ("small.0", "rows", "table"):
                    self.assertEqual(run.digests("layer_sharded")[name], run.digests("duplicated")[name])

    def test_plans_what_runs_in_every_way_to_travel(self):
        params = [TALL, param("qkv", 384, 48, tp_dim=0, qkv_split=[16, 8, 8]), param("gtp", 256, 32), *SMALL]
        ways = itertools.product(("two_stage", "fused"), ("fp32", "bf16"), (1, 3), (1, 2))
        digests = {}
        for exchange, dtype, waves, batch in ways:
            with self.subTest(exchange=exchange, dtype=dtype, waves=waves, batch=batch):
                way = {"exchange": exchange, "return_dtype": dtype, "exchange_chunks": waves, "ns_batch_size": batch}
                config = self.job(
                    params, 2, 2, ["layer_sharded", "layer_wise"], 2, split_qkv=True, fp32_matmul_prec="medium", **way
                )
                run, plan = self.run_ok(8, config), self.plan_ok(config)
                for mode in ("layer_sharded", "layer_wise"):
                    self.assertTrue(self.split(run, mode), mode)
                    self.assertEqual(plan.mode(mode)["decisions"], run.mode(mode)["decisions"], mode)
                    for key in EXACT:
                        self.assertEqual(plan.ranks(mode, key), run.ranks(mode, key), (mode, key))
                    for key in ("exchange_bytes", "ns_scratch_bytes", "peak_bytes", "state_bytes"):
                        self.assertEqual(plan.memory(mode, key), run.memory(mode, key), (mode, key))
                    digests.setdefault(mode, []).append(run.digests(mode))
        # Ways to travel change no bit of what is spread either.
        for mode, found in digests.items():
            self.assertTrue(all(each == found[0] for each in found), mode)

    def test_promises_bits_where_it_finds_nothing_to_split(self):
        run = self.run_ok(4, self.job([param("w", 64, 32, tp_dim=0, repeat=8)], 2, 2))
        self.assertEqual(self.split(run), {})
        self.assert_equal_bits(run)

    def test_keeps_weights_whole_whose_homes_are_given(self):
        given = {"tall": [1, 2], "small.1": [1, 3]}
        run = self.run_ok(8, self.job([TALL, *SMALL], 2, 4, home_policy="explicit", homes=given))
        homes = {home["param"]: [home["g"], home["t"]] for home in run.result["homes"]}
        self.assertEqual({name: homes[name] for name in given}, given)
        self.assertEqual(self.split(run), {})
        run = self.run_ok(8, self.job([TALL, *SMALL], 2, 4, home_policy="explicit", homes={"small.1": [1, 3]}))
        self.assertEqual(self.split(run), {"tall": ("tp", 4)})

    def test_counts_experts_by_their_own_domain(self):
        params = [param("e", 256, 32, tp_dim=0, expert=True, repeat=2), param("d", 64, 32, tp_dim=0, repeat=8)]
        config = self.job(params, 4, 2)
        config["parallelism"].update(ep=2, expert_gtp_remat=2, expert_tp=2)
        run = self.run_ok(8, config)
        self.assertEqual(self.split(run), {"e.0": ("expert tp", 2), "e.1": ("expert tp", 2)})


if __name__ == "__main__":
    unittest.main()
