# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Newton-Schulz runs, and on whole matrices of any form, whatever the domain."""

import math
import unittest

from harness import F_OF_ONE, FP32_RELATIVE, CliTest, config_of, ns_flops, param

BYTES = 8 * 16 * 4  # of one full matrix below


class WholeMatrix(CliTest):
    PARAMS = [
        param("rows", 8, 16, tp_dim=0),
        param("cols", 8, 16, tp_dim=1),
        param("gtp", 8, 16),
        param("router", 8, 16, gtp_remat=False),
    ]
    # A shard of two rows orthogonalised by itself would move by f(1)/sqrt(2) = 0.69.
    MOVE = F_OF_ONE["quintic"] / math.sqrt(8)

    # The router is untagged; a weight split by TP yet whole along GTP_remat would be refused.
    # ns_calls of layer_sharded: a weight split over both axes or the only one 1, over GTP_remat alone T, else G*T.
    # sent: both directions, all ranks, in full matrices; a group of n moves (n-1)/n of what it exchanges.
    DOMAINS = [
        # G, T, ns_calls, collectives, sent of layer_sharded, collectives, sent of duplicated
        (1, 1, 4, {0}, 0, 0, 0),
        (4, 1, 1 + 1 + 1 + 4, {2}, 3 * 2 * 3 / 4, 3, 3 * 3),
        (1, 4, 1 + 1 + 4 + 4, {4}, 2 * 2 * 3 / 4, 2, 2 * 3),
        (2, 2, 1 + 1 + 2 + 4, {2, 4, 6}, 2 * 2 * (1 / 2 + 1 / 2) + 2 * 2 / 2, 5, 2 * 3 + 2),
    ]

    def test_is_orthogonalised_in_every_domain(self):
        digests = {}
        for gtp, tp, calls, collectives, sent, gathers, gathered in self.DOMAINS:
            with self.subTest(gtp_remat=gtp, tp=tp):
                config = config_of(
                    self.PARAMS, gtp_remat=gtp, tp=tp, parallelism={"pad_for_alignment": 1}
                )
                run = self.run_ok(gtp * tp, config)
                for mode in ("layer_sharded", "duplicated"):
                    for entry in run.params(mode).values():
                        self.assert_moved_by(entry, self.MOVE)
                    self.assertEqual(sum(run.ranks(mode, "sent_bytes")), sum(run.ranks(mode, "received_bytes")))
                self.assert_equal_bits(run)
                digests[gtp, tp] = run.digests("layer_sharded")

                self.assertEqual(sum(run.ranks("layer_sharded", "ns_calls")), calls)
                self.assertEqual(run.ranks("duplicated", "ns_calls"), [4] * (gtp * tp))
                self.assertEqual(run.ranks("duplicated", "ns_flops"), [4 * ns_flops(8, 16)] * (gtp * tp))
                self.assertLessEqual(set(run.ranks("layer_sharded", "collectives")), collectives)
                self.assertEqual(sum(run.ranks("layer_sharded", "sent_bytes")), sent * BYTES)
                self.assertEqual(run.ranks("duplicated", "collectives"), [gathers] * (gtp * tp))
                self.assertEqual(sum(run.ranks("duplicated", "sent_bytes")), gathered * BYTES)

                model = run.result["model"]
                self.assertEqual((model["muon_parameters"], model["adam_parameters"]), (4 * 128, 0))
                self.assertEqual((model["muon_matrices"], model["ns_flops"]), (4, 4 * ns_flops(8, 16)))
        # The same matrices went through the same routine: how they were sharded must not be seen in a single bit.
        self.assertEqual(len(digests), len(self.DOMAINS))
        for domain, found in digests.items():
            self.assertEqual(found, digests[1, 1], domain)

    def test_moves_alike_whatever_the_size_of_the_gradient(self):
        params = [param("small", 8, 16, gradient_scale=1e-6), param("large", 8, 16, gradient_scale=1e6)]
        run = self.run_ok(2, config_of(params, gtp_remat=2))
        for entry in run.params("layer_sharded").values():
            self.assert_moved_by(entry, self.MOVE)

    def test_split_by_tp_yet_whole_along_gtp_remat_is_refused(self):
        config = config_of([param("w", 8, 16, tp_dim=0, gtp_remat=False)], gtp_remat=2, tp=2)
        self.assert_refused(self.run_job(4, config), "w", "gtp_remat")

    def test_missing_from_a_model_is_said_and_shown_as_no_newton_schulz(self):
        run = self.run_ok(2, config_of([param("e", 8, 16, optimizer="adam")], gtp_remat=2))
        self.assertRegex(run.stderr.lower(), r"warn.*muon")
        self.assertEqual(run.result["model"]["muon_parameters"], 0)
        self.assertEqual(run.result["model"]["adam_parameters"], 128)
        for mode in ("layer_sharded", "duplicated"):
            self.assertEqual(run.ranks(mode, "ns_calls"), [0, 0])
            self.assertEqual(run.ranks(mode, "ns_flops"), [0, 0])
            self.assertIsNone(run.mode(mode)["throughput"]["ns_tflops"])


class ThinMatrix(CliTest):
    PARAMS = [
        param("r", 1, 7),
        param("c", 7, 1),
        param("s", 1, 1),
        param("r2", 1, 4096),
        param("c2", 4096, 1),
    ]

    def assert_moved(self, run, coefficients):
        for mode in ("layer_sharded", "duplicated"):
            for entry in run.params(mode).values():
                # The spectral scale is taken from the matrix itself, so min(P, Q) = 1 leaves f(1).
                # A sum of n products, one after the other, is off by n halves of a last place at most.
                longest = max(entry["shape"])
                self.assert_moved_by(entry, F_OF_ONE[coefficients], relative=FP32_RELATIVE + 2 * longest * 2**-24)
        self.assert_equal_bits(run)

    def test_moves_by_the_closed_form_under_each_set(self):
        for coefficients in ("quintic", "simple"):
            run = self.run_ok(2, config_of(self.PARAMS, tp=2, muon={"coefficient_type": coefficients}))
            self.assert_moved(run, coefficients)

    def test_is_sharded_with_an_empty_shard_where_there_are_fewer_rows_than_ranks(self):
        run = self.run_ok(2, config_of(self.PARAMS, gtp_remat=2, parallelism={"pad_for_alignment": 1}))
        self.assert_moved(run, "quintic")
        self.assertEqual(sum(run.ranks("layer_sharded", "ns_flops")), sum(ns_flops(*p["shape"]) for p in self.PARAMS))

    def test_costs_what_its_short_side_makes_it_cost(self):
        run = self.run_ok(1, config_of([param("r2", 1, 4096)]))
        self.assertEqual(run.result["model"]["ns_flops"], 5 * (4 * 4096 + 2))

    def test_of_one_dimension_is_no_matrix_for_muon(self):
        self.assert_refused(self.run_job(2, config_of([param("v", 7)], tp=2)), "model.params[0]", "v")


if __name__ == "__main__":
    unittest.main()
