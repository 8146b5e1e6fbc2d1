# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Mode blockwise: NS on shards, without exchange, and its difference from duplicated shown as it is found."""

import unittest

from harness import F_OF_ONE, CliTest, config_of, ns_flops, param

F = F_OF_ONE["quintic"]
MODES = ["blockwise", "duplicated"]


class Blockwise(CliTest):
    def test_differs_from_duplicated_says_how_much_and_does_not_fail(self):
        params = [param("w", 32, 24), param("whole", 8, 8, gtp_remat=False)]
        run = self.run_ok(4, config_of(params, gtp_remat=4, modes=MODES, gradients={"fill": "random"}))
        parity = run.mode("blockwise")["parity"]
        self.assertEqual(parity["reference_mode"], "duplicated")
        self.assertIs(parity["bit_identical"], False)
        self.assertGreater(parity["max_abs_diff"], 0)
        self.assertIn("not promised", parity["why"])
        mine, theirs = run.digests("blockwise"), run.digests("duplicated")
        self.assertNotEqual(mine["w"], theirs["w"])
        self.assertEqual(mine["whole"], theirs["whole"])
        self.assertEqual({entry["home"] for entry in run.params("blockwise").values()}, {None})

    def test_is_duplicated_where_nothing_is_split(self):
        params = [param("w", 32, 24, tp_dim=0), param("v", 9, 5)]
        run = self.run_ok(1, config_of(params, modes=MODES, gradients={"fill": "random"}))
        self.assertIs(run.mode("blockwise")["parity"]["bit_identical"], True)
        self.assertEqual(run.digests("blockwise"), run.digests("duplicated"))

    def test_moves_each_element_by_its_shards_shape_and_exchanges_nothing(self):
        # Aligned to 16 rows, 40 are 16 + 16 + 8 and a rank of pads alone, which runs no NS.
        params = [param("even", 64, 48), param("uneven", 40, 48)]
        params.append(param("table", 16, 8, optimizer="adam", gtp_remat=False))
        run = self.run_ok(4, config_of(params, gtp_remat=4, modes=MODES))
        moved = run.params("blockwise")
        self.assert_moved_by(moved["even"], F / 16**0.5)
        self.assertAlmostEqual(moved["uneven"]["delta_abs_min"], F / 16**0.5, delta=1e-4)
        self.assertAlmostEqual(moved["uneven"]["delta_abs_max"], F / 8**0.5, delta=1e-4)
        self.assertEqual(run.ranks("blockwise", "ns_calls"), [2, 2, 2, 1])
        flops = [ns_flops(16, 48) + ns_flops(rows, 48) for rows in (16, 16, 8)] + [ns_flops(16, 48)]
        self.assertEqual(run.ranks("blockwise", "ns_flops"), flops)
        # The gather of Adam's rows alone: 4 rows of 8 fp32 weights to each of three peers.
        self.assertEqual(run.ranks("blockwise", "collectives"), [1] * 4)
        self.assertEqual(run.ranks("blockwise", "sent_bytes"), [3 * 4 * 8 * 4] * 4)


if __name__ == "__main__":
    unittest.main()
