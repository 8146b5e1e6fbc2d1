# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Where Newton-Schulz runs."""

import unittest

from harness import CliTest, config_of, ns_cost, ns_flops, param

# All have 16,384 elements, so that a balance by elements sees no difference between costs from 1 to 16.
SHAPES = [(128, 128), (8, 2048), (8, 2048), (64, 256), (128, 128), (8, 2048), (64, 256), (8, 2048)]


class Homes(CliTest):
    def test_balance_newton_schulz_cost_and_not_elements(self):
        params = [param(f"w{i}", *shape) for i, shape in enumerate(SHAPES)]
        config = config_of(params, gtp_remat=4, modes=["layer_sharded"])
        runs = [self.run_ok(4, config), self.run_ok(4, config)]
        self.assertEqual(runs[0].result["homes"], runs[1].result["homes"])

        shape_of = dict(zip((p["name"] for p in params), SHAPES))
        costs, flops = [0] * 4, [0] * 4
        for home in runs[0].result["homes"]:
            costs[home["g"]] += ns_cost(*shape_of[home["param"]])
            flops[home["g"]] += ns_flops(*shape_of[home["param"]])
        self.assertEqual(sorted(costs, reverse=True), [2097152, 2097152, 1310720, 1310720])
        self.assertEqual(runs[0].ranks("layer_sharded", "ns_flops"), flops)
        mode = runs[0].mode("layer_sharded")
        self.assertAlmostEqual(mode["ns_cost_max_over_mean"], 2097152 / (sum(costs) / 4), delta=1e-12)
        self.assertEqual(runs[0].result["model"]["ns_flops"], sum(flops))

    def test_are_dealt_out_evenly_when_ranks_do_not_divide_the_number_of_weights(self):
        names = [f"w.{i}" for i in range(19)]
        run = self.run_ok(8, config_of([param("w", 16, 16, repeat=19)], gtp_remat=8, modes=["layer_sharded"]))
        self.assertEqual(sorted(home["param"] for home in run.result["homes"]), sorted(names))
        self.assertEqual(sorted(run.ranks("layer_sharded", "ns_calls"), reverse=True), [3, 3, 3, 2, 2, 2, 2, 2])

    def test_follow_the_policy_that_was_asked_for(self):
        params = [param("a", 16, 16), param("b", 16, 16), param("r", 16, 16, gtp_remat=False), param("c", 16, 16)]
        run = self.run_ok(2, config_of(params, gtp_remat=2, muon={"home_policy": "round_robin"}))
        # The index counts the replicated weight, which has no home itself.
        places = {home["param"]: (home["g"], home["t"]) for home in run.result["homes"]}
        self.assertEqual(places, {"a": (0, 0), "b": (1, 0), "c": (1, 0)})

        muon = {"home_policy": "explicit", "homes": {"a": [1, 0], "b": [1, 0], "c": [0, 0]}}
        chosen = self.run_ok(2, config_of(params, gtp_remat=2, muon=muon))
        places = {home["param"]: (home["g"], home["t"]) for home in chosen.result["homes"]}
        self.assertEqual(places, {"a": (1, 0), "b": (1, 0), "c": (0, 0)})
        # Where a matrix is orthogonalised must not be seen in it.
        self.assertEqual(run.digests("layer_sharded"), chosen.digests("layer_sharded"))

        muon["homes"]["b"] = [2, 0]
        self.assert_refused(self.run_job(2, config_of(params, gtp_remat=2, muon=muon)), "muon.homes", "b", "2")


if __name__ == "__main__":
    unittest.main()
