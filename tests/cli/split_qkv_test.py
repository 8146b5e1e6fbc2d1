# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""muon.split_qkv: q, k and v of fused weights each by themselves, whatever the layout, and the refusals around it."""

import unittest

from harness import ALONE, F_OF_ONE, CliTest, config_of, ns_flops, param

F = F_OF_ONE["quintic"]
MODES = ["layer_sharded", "duplicated", "blockwise", "adam_dim0"]
APART = {"split_qkv": True}


class SplitQkv(CliTest):
    PARAMS = [
        param("qkv", 96, 20, tp_dim=0, qkv_split=[8, 2, 2], repeat=2),
        param("cols", 30, 48, tp_dim=1, qkv_split=[6, 2, 2]),
        param("rows", 60, 7, qkv_split=[2, 2, 1]),
        param("plain", 24, 48, tp_dim=0),
    ]

    def random(self, **grid):
        sections = {"muon": APART, "gradients": {"fill": "random"}, "run": {"steps": 2}, "parallelism": grid}
        return config_of(self.PARAMS, modes=MODES, **sections)

    def test_gives_the_bits_of_one_rank_in_every_layout(self):
        one = self.run_ok(ALONE, self.random())
        self.assert_equal_bits(one)
        for grid in ({"gtp_remat": 4}, {"tp": 4}, {"gtp_remat": 2, "tp": 2}, {"gtp_remat": 2, "dp": 2}):
            with self.subTest(grid=grid):
                run = self.run_ok(4, self.random(**grid))
                self.assert_equal_bits(run)
                for mode in ("layer_sharded", "duplicated"):
                    self.assertEqual(run.digests(mode), one.digests(mode))
                self.assertEqual(run.result["model"], one.result["model"])
        together = self.run_ok(ALONE, self.random(), "--set", "muon.split_qkv=false")
        for name, digest in together.digests("duplicated").items():
            self.assertEqual(digest == one.digests("duplicated")[name], name == "plain", name)

    def test_moves_each_piece_by_its_own_shape_and_counts_it(self):
        # 2 groups of 16 + 4 + 4 rows: q is 32 x 40, k and v are 8 x 40.
        fused = [param("w", 48, 40, tp_dim=0, qkv_split=[16, 4, 4])]
        run = self.run_ok(4, config_of(fused, gtp_remat=2, tp=2, modes=MODES[:2], muon=APART))
        for mode in MODES[:2]:
            moved = run.params(mode)["w"]
            self.assertAlmostEqual(moved["delta_abs_min"], F / 32**0.5, delta=1e-4)
            self.assertAlmostEqual(moved["delta_abs_max"], F / 8**0.5, delta=1e-4)
        flops = ns_flops(32, 40) + 2 * ns_flops(8, 40)
        self.assertEqual(run.result["model"]["muon_matrices"], 3)
        self.assertEqual(run.result["model"]["ns_flops"], flops)
        self.assertEqual(run.ranks("duplicated", "ns_flops"), [flops] * 4)
        self.assertEqual(run.ranks("duplicated", "ns_calls"), [3] * 4)
        self.assertEqual(sorted(run.ranks("layer_sharded", "ns_calls")), [0, 0, 0, 3])
        together = self.run_ok(4, config_of(fused, gtp_remat=2, tp=2, modes=MODES[:2]))
        for key in ("sent_bytes", "received_bytes", "collectives"):
            for mode in MODES[:2]:
                self.assertEqual(run.ranks(mode, key), together.ranks(mode, key))

    def test_takes_the_fused_weights_of_a_transformer(self):
        dims = {"hidden": 64, "layers": 2, "heads": 8, "kv_heads": 2, "ffn_hidden": 64, "vocab": 16}
        config = config_of([], gtp_remat=2, tp=2, muon=APART, run={"steps": 1})
        config["model"] = {"transformer": {**dims, "fused_qkv": True}}
        run = self.run_ok(4, config)
        self.assert_equal_bits(run)
        # q, k, v; o; gate, up, down: of each layer.
        self.assertEqual(run.result["model"]["muon_matrices"], 2 * 7)
        config["model"] = {"transformer": dims}
        self.assert_refused(self.run_job(4, config), "muon.split_qkv", "no Muon parameter", "qkv_split")

    def test_is_refused_where_it_would_do_nothing(self):
        plain = config_of([param("w", 48, 40)], muon=APART)
        self.assert_refused(self.run_job(ALONE, plain), "muon.split_qkv", "no Muon parameter", "got true")
        adam = [param("v", 48, 40), param("w", 48, 40, optimizer="adam", qkv_split=[4, 1, 1])]
        self.assert_refused(self.run_job(ALONE, config_of(adam, muon=APART)), "model.params[1].qkv_split", "adam")
        preset = config_of([], muon=APART)
        preset["model"] = {"preset": "llama3-8b"}
        preset["parallelism"] = {"tp": 8}
        run = self.start(ALONE, "plan", "--config", self.write_config(preset))
        self.assert_refused(run, "muon.split_qkv", "no Muon parameter")

    def test_refuses_pieces_that_do_not_fit_the_rows(self):
        for split in ([4, 1], [4, 1, 1, 1, 1], [4, 0, 2], [4, 1, 2], [-4, 5, 5], [40, 20, 20], "4,1,1", [2.5, 1, 1]):
            with self.subTest(split=split):
                config = config_of([param("w", 48, 40, qkv_split=split)], muon=APART)
                self.assert_refused(self.run_job(ALONE, config), "model.params[0].qkv_split")


if __name__ == "__main__":
    unittest.main()
