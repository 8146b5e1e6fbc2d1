# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Ways to travel in layer_sharded: the same bits, other bytes, and the refusals around them."""

import itertools
import unittest

from harness import CliTest, config_of, param

MODES = ["layer_sharded", "duplicated"]
PARAMS = [
    param("both", 96, 20, tp_dim=0, repeat=3),
    param("cols", 30, 48, tp_dim=1, repeat=2),
    param("rows", 60, 7, repeat=4),
    param("fused", 96, 20, tp_dim=0, qkv_split=[8, 2, 2]),
    param("whole", 24, 12, gtp_remat=False),
    param("table", 48, 6, optimizer="adam"),
]
WAYS = {
    "exchange": ("two_stage", "fused"),
    "return_dtype": ("fp32", "bf16"),
    "gtp_only_homes": ("column", "single"),
    "exchange_chunks": (1, 3),
}
MEDIUM = {"fp32_matmul_prec": "medium", "split_qkv": True, "extra_scale_factor": 0.7}
OTHER = {
    "exchange": "fused",
    "return_dtype": "bf16",
    "exchange_chunks": 4,
    "gtp_only_homes": "single",
    "split_oversized": True,
}


class WaysToTravel(CliTest):
    def job(self, modes=None, **muon):
        sections = {"gradients": {"fill": "random"}, "run": {"steps": 2, "param_dtype": "bf16"}}
        return config_of(PARAMS, gtp_remat=2, tp=2, modes=modes or MODES, muon={**MEDIUM, **muon}, **sections)

    def test_give_the_bits_of_duplicated_and_the_bytes_of_the_plan(self):
        by_way = {}
        for values in itertools.product(*WAYS.values()):
            way = dict(zip(WAYS, values))
            with self.subTest(way=way):
                run = self.run_ok(4, self.job(**way))
                self.assert_equal_bits(run)
                by_way[values] = (sum(run.ranks("layer_sharded", "sent_bytes")), run.digests("layer_sharded"))
                planned = self.plan_ok(self.job(**way))
                for key in ("sent_bytes", "received_bytes", "collectives", "ns_calls"):
                    self.assertEqual(planned.ranks("layer_sharded", key), run.ranks("layer_sharded", key), key)
                for key in ("exchange_bytes", "ns_scratch_bytes"):
                    self.assertEqual(planned.memory("layer_sharded", key), run.memory("layer_sharded", key), key)
        digests = [digests for _, digests in by_way.values()]
        self.assertTrue(all(each == digests[0] for each in digests))
        sent = {values: bytes_sent for values, (bytes_sent, _) in by_way.items()}
        for homes, waves in itertools.product(WAYS["gtp_only_homes"], WAYS["exchange_chunks"]):
            self.assertLess(sent["fused", "fp32", homes, waves], sent["two_stage", "fp32", homes, waves])
            self.assertLess(sent["fused", "bf16", homes, waves], sent["fused", "fp32", homes, waves])
            for exchange, dtype in itertools.product(WAYS["exchange"], WAYS["return_dtype"]):
                self.assertEqual(sent[exchange, dtype, homes, waves], sent[exchange, dtype, homes, 1])

    def test_say_who_is_the_one_home_of_a_weight_that_gtp_remat_alone_shards(self):
        for homes in ("column", "single"):
            run = self.run_ok(4, self.job(gtp_only_homes=homes))
            peers = [home["t"] for home in run.result["homes"] if home["param"].startswith("rows")]
            self.assertEqual(len(peers), 4)
            self.assertTrue(all((t is None) == (homes == "column") for t in peers), peers)
            # rows on two TP peers or one; whole on all four; the others once, the fused one in three pieces.
            rows = 8 if homes == "column" else 4
            self.assertEqual(sum(run.ranks("layer_sharded", "ns_calls")), rows + 4 + 3 + 2 + 3)

    def test_are_refused_where_they_would_lose_digits(self):
        for precision in ("highest",):
            run = self.run_job(4, self.job(return_dtype="bf16", fp32_matmul_prec=precision))
            self.assert_refused(run, "muon.return_dtype", "expected fp32", precision, 'got "bf16"')

    def test_are_refused_by_key_where_no_mode_honours_them(self):
        for key, value in OTHER.items():
            with self.subTest(key=key):
                run = self.run_job(4, self.job(modes=["duplicated", "adam_dim0"], **{key: value}))
                self.assert_refused(run, f"muon.{key}", "none of modes is layer_sharded")

    def test_that_do_not_exist_are_refused(self):
        for key, value in (
            ("exchange", "three_stage"),
            ("return_dtype", "fp16"),
            ("exchange_chunks", 0),
            ("exchange_chunks", 1025),
            ("gtp_only_homes", "row"),
        ):
            with self.subTest(key=key):
                self.assert_refused(self.run_job(4, self.job(**{key: value})), f"muon.{key}", value)


if __name__ == "__main__":
    unittest.main()
