# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""A plan says beforehand what a run finds, for any world size."""

import unittest

from harness import ALONE, CliTest, config_of, ns_flops, param, strict_json

MEASURED = ("step_seconds", "first_step_seconds", "phases_seconds", "speedup_vs_duplicated", "nonfinite_values")


class Plan(CliTest):
    def test_holds_what_a_run_counts_and_nothing_that_it_measures(self):
        params = [
            param("a", 40, 24, tp_dim=0),
            param("b", 24, 40, tp_dim=1, repeat=2),
            param("g", 20, 16),
            param("r", 16, 16, gtp_remat=False),
            param("e", 50, 8, optimizer="adam"),
        ]
        modes = ["layer_sharded", "duplicated", "distributed", "auto", "adam_dim0", "adam_replicated"]
        for dtype in ("fp32", "bf16"):
            config = config_of(params, gtp_remat=2, tp=2, modes=modes, run={"param_dtype": dtype})
            plan, found = self.plan_ok(config, "--overwrite").result, self.run_ok(4, config).result
            for key in ("config", "model", "homes"):
                self.assertEqual(plan[key], found[key], key)
            self.assertIsNone(plan["environment"])
            for planned, ran in zip(plan["modes"], found["modes"], strict=True):
                self.assertEqual(planned["mode"], ran["mode"])
                self.assertEqual([planned[key] for key in MEASURED], [None] * len(MEASURED))
                for rank in ran["ranks"]:
                    self.assertGreater(rank["memory"]["process_peak_bytes"], 0)
                    rank["memory"]["process_peak_bytes"] = rank["step_seconds_p50"] = rank["host"] = None
                self.assertEqual(planned["ranks"], ran["ranks"])
                for key in ("ns_cost_max_over_mean", "state_max_over_mean", "decisions"):
                    self.assertEqual(planned[key], ran[key])

    def test_deals_100_equal_weights_out_over_32_ranks(self):
        config = config_of([param("w", 16, 16, repeat=100)], gtp_remat=32, modes=["layer_sharded"])
        run = self.plan_ok(config)
        calls = run.ranks("layer_sharded", "ns_calls")
        self.assertEqual((len(calls), max(calls), min(calls), sum(calls)), (32, 4, 3, 100))

    def test_counts_bytes_beyond_32_bits(self):
        config = config_of([param("w", 5, 536870913)], modes=["duplicated"])
        run = self.plan_ok(config)
        self.assertEqual(run.memory("duplicated", "momentum_bytes"), [10_737_418_260])

    def test_goes_to_stdout_as_json_when_asked(self):
        run = self.plan_ok(config_of([param("w", 16, 16)], gtp_remat=8), "--format", "json")
        self.assertEqual(strict_json(run.stdout), run.result)

    def test_of_a_gpu_run_needs_no_gpu_and_no_build_for_one(self):
        config = config_of([param("w", 32, 16)], gtp_remat=2, modes=["layer_sharded"])
        config["muon"]["fp32_matmul_prec"] = "medium"
        scratch = {}
        for backend, transport in (("cuda", "nccl"), ("cpu", "mpi")):
            config["run"]["backend"] = backend
            run = self.plan_ok(config, "--overwrite")
            self.assertEqual(run.result["config"]["run"]["transport"], transport)
            scratch[backend] = sum(run.memory("layer_sharded", "ns_scratch_bytes"))
        # Products of bf16 matrices, which a CPU keeps in fp32: half of the two iterates and the two squares.
        self.assertEqual(scratch["cpu"] - scratch["cuda"], 2 * (2 * 32 * 16 + 2 * 16 * 16))


class LargePlan(CliTest):
    """Sizes that no test machine holds: nothing is allocated, every number is exact."""

    def plan(self, params, **sections):
        return self.plan_ok(config_of(params, **sections))

    def test_of_more_than_2_to_the_31_elements_is_exact(self):
        rows, cols = 5, 536_870_913
        size = 10_737_418_260
        self.assertEqual(size, rows * cols * 4)
        run = self.plan([param("w", rows, cols)], modes=["layer_sharded", "adam_dim0"])
        self.assertEqual(run.result["model"]["parameters"], 2_684_354_565)
        for key in ("weights_bytes", "momentum_bytes", "state_bytes", "gradient_bytes"):
            self.assertEqual(run.memory("layer_sharded", key), [size], key)
        self.assertEqual(run.memory("adam_dim0", "adam_bytes"), [2 * size])
        self.assertEqual(run.ranks("layer_sharded", "ns_flops"), [ns_flops(rows, cols)])

        # Rows are padded to 16 on each of two ranks; the home gets the other's 16 rows and gives 16 back.
        run = self.plan([param("w", rows, cols)], gtp_remat=2)
        shard = 16 * cols * 4
        self.assertEqual(run.memory("layer_sharded", "weights_bytes"), [shard, shard])
        self.assertEqual(run.memory("layer_sharded", "pad_bytes"), [shard - size, shard])
        self.assertEqual(run.ranks("layer_sharded", "sent_bytes"), [shard, shard])
        self.assertEqual(run.ranks("layer_sharded", "received_bytes"), [shard, shard])

    def test_of_messages_beyond_2_gib_counts_them_in_full(self):
        # The shape is whole over two ranks with pads off: each sends what the other lacks, 2 GiB and 32 bytes.
        rows, cols = 8, 134_217_730
        run = self.plan([param("w", rows, cols)], gtp_remat=2, parallelism={"pad_for_alignment": 0})
        half = rows // 2 * cols * 4
        self.assertEqual(half, 2_147_483_680)
        for mode in ("layer_sharded", "duplicated"):
            self.assertEqual(run.ranks(mode, "sent_bytes"), [half, half])
            self.assertEqual(run.ranks(mode, "received_bytes"), [half, half])
        for mode in run.result["modes"]:
            for rank in mode["ranks"]:
                self.assertGreaterEqual(min(value for value in rank["memory"].values() if value is not None), 0)

    def test_of_a_large_embedding_shows_it_by_rows(self):
        embedding = param("embedding", 129_280, 7168, optimizer="adam")
        bf16 = {"run": {"param_dtype": "bf16"}, "modes": ["adam_dim0", "adam_replicated"]}
        whole = self.plan([embedding], **bf16)
        self.assertEqual(whole.memory("adam_replicated", "state_bytes"), [11_120_148_480])
        split = self.plan([embedding], parallelism={"dp": 64}, **bf16)
        self.assertEqual(split.memory("adam_dim0", "state_bytes"), [173_752_320] * 64)

    def test_of_bytes_beyond_64_bits_is_refused_by_the_shape(self):
        for shape, repeat in (((2**30, 2**30), 1), ((2**30, 2**26), 4096), ((2**62, 2), 1)):
            with self.subTest(shape=shape, repeat=repeat):
                config = self.write_config(config_of([param("w", *shape, optimizer="adam", repeat=repeat)]))
                output = self.path("none.json")
                run = self.start(ALONE, "plan", "--config", config, "--output", output, output=output)
                self.assert_refused(run, "model.params[0]", shape[0])

    def test_of_ns_work_beyond_64_bits_is_refused_by_the_parameter(self):
        # 6 * side^3 floating point operations for each step: 2^59.6 with this side.
        side = 2**19
        accepted = self.plan([param("w", side, side)], modes=["layer_sharded"], muon={"num_ns_steps": 10})
        self.assertEqual(accepted.ranks("layer_sharded", "ns_flops"), [10 * 6 * side**3])
        for params, muon in (([param("w", side, side)], {"num_ns_steps": 11}), ([param("w", side, side, repeat=3)], {})):
            with self.subTest(muon=muon):
                output = self.path("none.json")
                config = self.write_config(config_of(params, muon=muon))
                run = self.start(ALONE, "plan", "--config", config, "--output", output, output=output)
                self.assert_refused(run, "parameter 'w", f"{side} x {side}", "NS work", "64-bit")


if __name__ == "__main__":
    unittest.main()
