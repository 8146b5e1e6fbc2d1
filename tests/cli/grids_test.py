# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not fit the grid, expert grids beside the dense one, and the same bits from every grid."""

import math
import time
import unittest

from harness import ALONE, F_OF_ONE, FP32_RELATIVE, CliTest, config_of, param

ALL_MODES = ["layer_sharded", "duplicated", "adam_dim0"]
SECONDS_TO_REFUSE = 10
F = F_OF_ONE["quintic"]

# Adam's two moments beside an fp32 weight; the master copy comes on top beside a bf16 one.
MOMENTS, MASTER = 8, 4


class WorldSize(CliTest):
    def test_that_is_no_multiple_of_the_grid_is_refused_once_with_all_factors(self):
        config = config_of([param("w", 16, 16)], gtp_remat=2, tp=2)
        for ranks in (ALONE, 1, 2, 3, 5, 6):
            with self.subTest(ranks=ranks):
                start = time.monotonic()
                run = self.run_job(ranks, config)
                self.assertLess(time.monotonic() - start, SECONDS_TO_REFUSE)
                factors = ("tp(2)", "gtp_remat(2)", "dp(1)", "pp(1)", "4 ranks", f"world size of {max(ranks, 1)}")
                self.assert_refused(run, "parallelism", *factors)
                self.assertEqual(run.stderr.count("error:"), 1, run.stderr)
                self.assertEqual("mpirun -n 4" in run.stderr, ranks <= 1, run.stderr)

    def test_of_twice_the_domain_takes_two_replicas_if_they_are_asked_for(self):
        config = config_of([param("w", 16, 16)], tp=2)
        self.assert_refused(self.run_job(4, config), "tp(2)", "dp(1)", "world size of 4")
        run = self.run_ok(4, config_of([param("w", 16, 16)], tp=2, parallelism={"dp": 2}))
        self.assert_equal_bits(run)

    def test_that_the_expert_grid_does_not_divide_is_refused_by_the_expert_keys(self):
        params = [param("w", 16, 16), param("e", 16, 16, expert=True, repeat=8)]
        eight = {"expert_tp": 2, "ep": 2, "expert_gtp_remat": 2}
        for grid in ({"expert_tp": 8}, {"ep": 8}, {"expert_gtp_remat": 3}, eight):
            with self.subTest(grid=grid):
                run = self.run_job(4, config_of(params, gtp_remat=2, tp=2, parallelism=grid))
                factors = [f"{key}({grid.get(key, 1)})" for key in ("expert_tp", "ep", "expert_gtp_remat")]
                self.assert_refused(run, "world size 4", *factors)

    def test_whose_experts_cannot_be_dealt_equally_is_refused(self):
        config = config_of([param("e", 16, 16, expert=True, repeat=3)], gtp_remat=4, parallelism={"ep": 2})
        self.assert_refused(self.run_job(4, config), "ep", "3")


class ExpertDomain(CliTest):
    DENSE = param("d", 2, 4, tp_dim=0)
    EXPERTS = param("e", 2, 2, expert=True, repeat=4)

    def run_grid(self, params, **grid):
        return self.run_ok(4, config_of(params, gtp_remat=2, tp=2, modes=ALL_MODES, parallelism=grid))

    def assert_holds_the_whole_model_once(self, run):
        self.assertEqual(run.result["model"]["parameters"], 24)
        self.assertEqual(list(run.params("layer_sharded")), ["d", "e.0", "e.1", "e.2", "e.3"])
        self.assertEqual(sum(run.memory("adam_dim0", "adam_bytes")), 24 * MOMENTS)
        for entry in run.params("layer_sharded").values():
            self.assert_moved_by(entry, F / 2**0.5)
        self.assert_equal_bits(run)

    def test_of_one_rank_exchanges_nothing_for_the_experts(self):
        dense = self.run_grid([self.DENSE])
        # ep 4: an expert on each rank. Left out: a domain of one rank too, all four on each, never the whole world.
        for grid, calls in (({"ep": 4}, 1), ({}, 4), ({"ep": 2}, 2)):
            with self.subTest(grid=grid):
                run = self.run_grid([self.DENSE, self.EXPERTS], **grid)
                self.assert_holds_the_whole_model_once(run)
                for mode in ("layer_sharded", "duplicated"):
                    for key in ("sent_bytes", "received_bytes"):
                        self.assertEqual(run.ranks(mode, key), dense.ranks(mode, key))
                    added = [n - m for n, m in zip(run.ranks(mode, "ns_calls"), dense.ranks(mode, "ns_calls"))]
                    self.assertEqual(added, [calls] * 4)
                alone = self.run_grid([self.EXPERTS], **grid)
                self.assertEqual(alone.ranks("layer_sharded", "sent_bytes"), [0] * 4)
                self.assertEqual(alone.ranks("layer_sharded", "collectives"), [0] * 4)

    def test_of_four_ranks_gives_each_expert_one_home_in_it(self):
        four = ({"expert_gtp_remat": 4}, {"expert_gtp_remat": 2, "ep": 2}, {"expert_tp": 2, "expert_gtp_remat": 2})
        for grid in four:
            with self.subTest(grid=grid):
                run = self.run_grid([self.DENSE, self.EXPERTS], **grid)
                self.assert_holds_the_whole_model_once(run)
                homes = [home["param"] for home in run.result["homes"]]
                self.assertEqual(sorted(homes), ["d", "e.0", "e.1", "e.2", "e.3"])
        alone = self.run_grid([self.EXPERTS], expert_gtp_remat=4)
        self.assertEqual(alone.ranks("layer_sharded", "ns_calls"), [1] * 4)
        self.assertGreater(min(alone.ranks("layer_sharded", "sent_bytes")), 0)


class Bits(CliTest):
    PARAMS = [
        param("both", 24, 32, tp_dim=0),
        param("other", 32, 24, tp_dim=1, repeat=2),
        param("remat", 13, 16),
        param("whole", 16, 8, gtp_remat=False),
        param("embedding", 40, 8, tp_dim=0, optimizer="adam"),
        param("norm", 32, optimizer="adam", gtp_remat=False),
        param("up", 16, 24, tp_dim=0, expert=True, repeat=4),
        param("down", 24, 16, tp_dim=1, expert=True, repeat=4),
        param("table", 12, 8, optimizer="adam", expert=True, repeat=4),
    ]
    GRIDS = [
        (2, {"dp": 2}),
        (2, {"pp": 2}),
        (4, {"dp": 4}),
        (4, {"tp": 2, "dp": 2}),
        (4, {"gtp_remat": 2, "dp": 2, "ep": 2}),
        (4, {"tp": 2, "pp": 2}),
        (4, {"gtp_remat": 2, "pp": 2, "ep": 2}),
        (4, {"tp": 2, "gtp_remat": 2, "ep": 2}),
        (4, {"tp": 2, "gtp_remat": 2, "ep": 4}),
        (4, {"tp": 2, "gtp_remat": 2, "expert_tp": 2}),
        (4, {"gtp_remat": 4, "expert_tp": 2, "expert_gtp_remat": 2}),
        (4, {"tp": 4, "expert_gtp_remat": 4}),
        (4, {"dp": 4, "expert_tp": 2, "ep": 2}),
        (8, {"tp": 2, "gtp_remat": 2, "pp": 2, "ep": 2, "expert_gtp_remat": 2}),
        (8, {"tp": 2, "dp": 2, "pp": 2, "ep": 2}),
    ]

    def config(self, grid, **run):
        stages = grid.get("pp", 1)
        params = [{**entry, "stage": i % stages} for i, entry in enumerate(self.PARAMS)]
        sections = {"gradients": {"fill": "random"}, "run": {"steps": 2, **run}, "parallelism": grid}
        return config_of(params, modes=ALL_MODES, **sections)

    def test_are_those_of_one_rank_in_every_grid_and_mode(self):
        one = self.run_ok(ALONE, self.config({}))
        elements = one.result["model"]["parameters"]
        for ranks, grid in self.GRIDS:
            with self.subTest(grid=grid):
                run = self.run_ok(ranks, self.config(grid))
                for mode in ALL_MODES:
                    self.assertEqual(run.digests(mode), one.digests(mode), mode)
                self.assert_equal_bits(run)
                self.assertEqual(run.result["model"], one.result["model"])
                self.assertEqual(sum(run.memory("adam_dim0", "state_bytes")), elements * MOMENTS)

    def test_of_bf16_weights_are_too_and_their_adam_state_adds_up_with_the_master_copy(self):
        one = self.run_ok(ALONE, self.config({}, param_dtype="bf16"))
        elements = one.result["model"]["parameters"]
        for ranks, grid in self.GRIDS[4::4]:
            with self.subTest(grid=grid):
                run = self.run_ok(ranks, self.config(grid, param_dtype="bf16"))
                for mode in ALL_MODES:
                    self.assertEqual(run.digests(mode), one.digests(mode), mode)
                self.assertEqual(sum(run.memory("adam_dim0", "adam_bytes")), elements * MOMENTS)
                self.assertEqual(sum(run.memory("adam_dim0", "state_bytes")), elements * (MOMENTS + MASTER))


class GradReduce(CliTest):
    DENSE = [param("w", 24, 32, tp_dim=0), param("r", 13, 16), param("embedding", 40, 8, optimizer="adam")]
    EXPERTS = [param("up", 16, 24, expert=True, repeat=4), param("table", 12, 8, optimizer="adam", expert=True)]
    MODES = [*ALL_MODES, "adam_replicated"]

    def run_grid(self, params, grid, **run):
        ranks = math.prod(grid.get(axis, 1) for axis in ("tp", "gtp_remat", "dp", "pp"))
        settings = {"steps": 2, **run}
        return self.run_ok(ranks, config_of(params, modes=self.MODES, parallelism=grid, run=settings))

    def assert_reports(self, run, reported):
        for mode in self.MODES:
            self.assertEqual("grad_reduce" in run.mode(mode)["phases_seconds"], reported, mode)

    def test_is_a_phase_exactly_where_gradients_have_replicas(self):
        cases = [
            (self.DENSE, {"dp": 2}, True),
            (self.DENSE, {"gtp_remat": 2, "dp": 2}, True),
            (self.DENSE, {"tp": 2}, False),
            (self.DENSE, {"gtp_remat": 2, "tp": 2, "ep": 2}, False),
            # Experts have replicas of their own.
            (self.DENSE + self.EXPERTS, {"gtp_remat": 2}, True),
            (self.DENSE + self.EXPERTS, {"gtp_remat": 2, "expert_gtp_remat": 2}, False),
        ]
        for params, grid, reported in cases:
            with self.subTest(grid=grid):
                self.assert_reports(self.run_grid(params, grid, timing="phases"), reported)

    def test_changes_no_bits_and_enters_neither_counts_nor_memory(self):
        params, grid = self.DENSE + self.EXPERTS[:1], {"tp": 2, "dp": 2, "ep": 2}
        reduced, plain = self.run_grid(params, grid, timing="phases"), self.run_grid(params, grid)
        self.assert_reports(reduced, True)
        for mode in self.MODES:
            self.assertIsNone(plain.mode(mode)["phases_seconds"])
            self.assertEqual(reduced.digests(mode), plain.digests(mode))
            for key in ("collectives", "sent_bytes", "received_bytes"):
                self.assertEqual(reduced.ranks(mode, key), plain.ranks(mode, key), key)
            for key in ("gradient_bytes", "exchange_bytes", "peak_bytes"):
                self.assertEqual(reduced.memory(mode, key), plain.memory(mode, key), key)


class Groups(CliTest):
    STEPS = 300

    def config(self, concurrent):
        params = [
            param("a", 32, 32, tp_dim=0, repeat=4, group="dense_a"),
            param("b", 32, 32, tp_dim=1, repeat=4, group="dense_b"),
            param("e", 16, 16, expert=True, repeat=4),
        ]
        groups = {"dense_a": {"lr": 1e-3}, "dense_b": {"lr": 3e-4}}
        muon = {"lr": 1e-4, "groups": groups, "concurrent_groups": concurrent}
        grid = {"ep": 2, "expert_gtp_remat": 2}
        return config_of(params, gtp_remat=2, tp=2, muon=muon, parallelism=grid, run={"steps": self.STEPS})

    def test_on_one_domain_and_on_another_end_with_equal_bits_concurrent_or_not(self):
        runs = [self.run_ok(4, self.config(concurrent)) for concurrent in (True, False, True)]
        for run in runs:
            self.assert_equal_bits(run)
            self.assertEqual(run.digests("layer_sharded"), runs[0].digests("layer_sharded"))
            self.assertEqual(run.memory("layer_sharded", "peak_bytes"), runs[0].memory("layer_sharded", "peak_bytes"))
            for name, entry in run.params("layer_sharded").items():
                rate, size = {"a": (1e-3, 32), "b": (3e-4, 32), "e": (1e-4, 16)}[name[0]]
                # Weights of at most 0.25 round by 2^-27 at most with each step of 2.4e-5 or more: by 4e-4 of it even
                # if it is always up or always down.
                self.assert_moved_by(entry, self.STEPS * rate * F / size**0.5, FP32_RELATIVE + 4e-4)

    def assert_says_once(self, run, *words):
        """In the result of layer_sharded, and in one line of rank 0's log."""
        why = run.mode("layer_sharded")["concurrent_groups"]["why"]
        lines = [line for line in run.stderr.splitlines() if "muon.concurrent_groups" in line and "info" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn(why, lines[0])
        for word in words:
            self.assertIn(word, why)

    def test_that_share_communicators_are_said_to_go_one_after_the_other_and_why(self):
        short = {"run": {"steps": 2}}
        run = self.run_ok(4, {**self.config(True), **short})
        groups = run.mode("layer_sharded")["concurrent_groups"]
        self.assertEqual((groups["active"], groups["queues"]), (False, 1))
        shared = "dense_a and dense_b share the tp and gtp_remat communicators"
        self.assert_says_once(run, shared, "backend cpu runs queues in turn")
        self.assertNotIn("expert", groups["why"])
        self.assertEqual(run.mode("duplicated")["concurrent_groups"]["active"], False)
        run = self.run_ok(4, {**self.config(False), **short})
        self.assert_says_once(run, "off by muon.concurrent_groups")
        run = self.run_ok(2, config_of([param("w", 8, 8)], gtp_remat=2))
        self.assert_says_once(run, "one param group")

    def test_on_a_backend_with_queues_overlap_unless_they_share_a_communicator(self):
        """By plan: no such device is needed. Memory of pipelines that overlap is not shared."""
        both = {}
        for concurrent in (True, False):
            config = self.config(concurrent)
            config["run"]["backend"] = "cuda"
            both[concurrent] = self.plan_ok(config)
        groups = both[True].mode("layer_sharded")["concurrent_groups"]
        self.assertEqual((groups["active"], groups["queues"]), (True, 2))
        self.assertEqual(
            groups["why"],
            "dense_a and dense_b share the tp and gtp_remat communicators and go one after the other",
        )
        self.assertEqual(both[False].mode("layer_sharded")["concurrent_groups"]["queues"], 1)
        for key in ("exchange_bytes", "ns_scratch_bytes"):
            for overlapping, in_turn in zip(*(both[c].memory("layer_sharded", key) for c in (True, False))):
                self.assertGreater(overlapping, in_turn, key)
        for key in ("collectives", "sent_bytes", "received_bytes", "ns_calls"):
            self.assertEqual(*(both[c].ranks("layer_sharded", key) for c in (True, False)), key)
        self.assertEqual(*(both[c].memory("layer_sharded", "state_bytes") for c in (True, False)))

    def test_decay_by_themselves(self):
        """A group's rate and decay do what the same ones do when given for all."""

        def weights(group, **muon):
            entry = param("w", 8, 8, **({"group": group} if group else {}))
            return self.run_ok(2, config_of([entry], gtp_remat=2, muon=muon)).params("layer_sharded")["w"]["digest"]

        groups = {"decaying": {"weight_decay": 0.5}, "slow": {"lr": 0.5, "weight_decay": 0.25}}
        found = {group: weights(group, groups=groups) for group in (None, *groups)}
        self.assertEqual(len(set(found.values())), 3)
        self.assertEqual(found[None], weights(None))
        for group, settings in groups.items():
            self.assertEqual(found[group], weights(None, **settings), group)

    def test_that_are_not_declared_are_refused_by_name(self):
        params = [param("w", 8, 8, group="dense_c")]
        run = self.run_job(ALONE, config_of(params, muon={"groups": {"dense_a": {"lr": 1e-3}}}))
        self.assert_refused(run, "group", "dense_c", "dense_a")


if __name__ == "__main__":
    unittest.main()
