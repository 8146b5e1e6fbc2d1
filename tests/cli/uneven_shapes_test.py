# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows that the group does not divide: pads, tail shards, and what is counted; dimensions that TP does not divide."""

import math
import unittest

from harness import F_OF_ONE, CliTest, config_of, param

MUON_MODES = ["layer_sharded", "duplicated"]
ROW = 16 * 4  # bytes of a row of 16 fp32


class UnevenShapes(CliTest):
    PARAMS = [param("a", 9, 16), param("b", 5, 16), param("emb", 50257, 8, optimizer="adam")]
    ELEMENTS = 9 * 16 + 5 * 16 + 50257 * 8

    def run_padded_to(self, alignment):
        config = config_of(
            self.PARAMS,
            gtp_remat=4,
            modes=MUON_MODES + ["adam_dim0"],
            parallelism={"pad_for_alignment": alignment},
            adam={"lr": 0.25},
        )
        return self.run_ok(4, config)

    def assert_whole_updates(self, run):
        for mode in MUON_MODES:
            params = run.params(mode)
            self.assert_moved_by(params["a"], F_OF_ONE["quintic"] / math.sqrt(9))
            self.assert_moved_by(params["b"], F_OF_ONE["quintic"] / math.sqrt(5))
        for mode in MUON_MODES + ["adam_dim0"]:
            # Adam's first step on a constant gradient is lr in size; eps takes 1e-8 of it, storing it 6e-8.
            self.assert_moved_by(run.params(mode)["emb"], 0.25, relative=1e-6)
        self.assert_equal_bits(run)

    def test_are_padded_and_updated_whole(self):
        run = self.run_padded_to(1)
        self.assert_whole_updates(run)
        self.assertEqual(run.result["model"]["parameters"], self.ELEMENTS)
        self.assertEqual(run.params("layer_sharded")["a"]["shape"], [9, 16])

        # True rows: a 3 3 3 0, b 2 2 1 0; every rank holds 3 + 2 rows with pads.
        for mode in MUON_MODES:
            self.assertEqual(run.memory(mode, "momentum_bytes"), [5 * ROW] * 4)
            self.assertEqual(run.memory(mode, "pad_bytes"), [0, 0, ROW, 5 * ROW])
            # emb: 12565 true rows on three ranks, 12562 on the last; two fp32 moments of 8 columns.
            self.assertEqual(run.memory(mode, "adam_bytes"), [12565 * 64] * 3 + [12562 * 64])
        rows = [(3, 2, 12565), (3, 2, 12565), (3, 1, 12565), (0, 0, 12562)]
        self.assertEqual(run.memory("adam_dim0", "adam_bytes"), [(a + b) * 128 + e * 64 for a, b, e in rows])
        self.assertEqual(sum(run.memory("adam_dim0", "adam_bytes")), 8 * self.ELEMENTS)

        # With 16 rows to align to, rank 0 has all true rows of a and b, and the bits do not change.
        wide = self.run_padded_to(16)
        self.assert_whole_updates(wide)
        self.assertEqual(wide.memory("layer_sharded", "pad_bytes"), [18 * ROW] + [32 * ROW] * 3)
        for mode in MUON_MODES + ["adam_dim0"]:
            self.assertEqual(wide.digests(mode), run.digests(mode))

    def test_are_refused_by_name_when_padding_is_off(self):
        config = config_of([param("a", 9, 16)], gtp_remat=4, parallelism={"pad_for_alignment": 0})
        self.assert_refused(self.run_job(4, config), "a", "9", "4", "pad_for_alignment")

    def test_of_a_vocabulary_leave_the_last_of_eight_ranks_the_remainder(self):
        emb = param("emb", 50257, 8, optimizer="adam")
        config = config_of(
            [emb], gtp_remat=8, modes=["adam_dim0", "adam_replicated"], parallelism={"pad_for_alignment": 1}
        )
        run = self.run_ok(8, config)
        self.assertEqual(run.memory("adam_dim0", "adam_bytes"), [6283 * 64] * 7 + [6276 * 64])
        self.assertEqual(run.digests("adam_dim0"), run.digests("adam_replicated"))

    def test_of_an_untagged_adam_weight_are_dealt_out_over_all_that_hold_it(self):
        untagged = {"optimizer": "adam", "gtp_remat": False}
        params = [param("e", 10, 8, **untagged), param("n", 7, **untagged)]
        run = self.run_ok(4, config_of(params, gtp_remat=2, tp=2, modes=["adam_dim0", "adam_replicated"]))
        # e: rows 3 3 3 1 of 8 elements; n: elements 2 2 2 1; 8 B of moments each.
        self.assertEqual(run.memory("adam_dim0", "adam_bytes"), [26 * 8, 26 * 8, 26 * 8, 9 * 8])
        self.assertEqual(run.memory("adam_replicated", "adam_bytes"), [87 * 8] * 4)
        self.assertEqual(run.digests("adam_dim0"), run.digests("adam_replicated"))

    def test_are_refused_where_tp_does_not_divide_the_dimension_that_it_splits(self):
        run = self.run_job(6, config_of([param("w", 9, 16, tp_dim=1)], tp=6))
        self.assert_refused(run, "w", "1", "16", "6")

    def test_split_over_gtp_remat_keep_their_full_shape_in_the_result(self):
        run = self.run_ok(2, config_of([param("w", 5, 16)], gtp_remat=2))
        for mode in MUON_MODES:
            self.assertEqual(run.params(mode)["w"]["shape"], [5, 16])
            self.assert_moved_by(run.params(mode)["w"], F_OF_ONE["quintic"] / math.sqrt(5))


if __name__ == "__main__":
    unittest.main()
