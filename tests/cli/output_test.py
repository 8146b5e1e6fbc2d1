# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""What machines read: one document on stdout, unknown as null, figures that can be recomputed from the samples."""

import csv
import io
import statistics
import unittest

from harness import DONE, CliTest, config_of, ns_flops, param, strict_json

TOP = ["schema_version", "complete", "status", "config", "argv", "environment", "model", "homes", "modes"]
MODE = [
    "mode", "step_seconds", "first_step_seconds", "phases_seconds", "throughput", "speedup_vs_duplicated",
    "ns_cost_max_over_mean", "state_max_over_mean", "ranks", "parity", "nonfinite_values", "params", "ns_algorithm",
    "concurrent_groups", "owners", "homes", "decisions", "overlap",
    "ns_whole", "ns_algorithms",
]  # fmt: skip
MEMORY = [
    "weights_bytes", "master_bytes", "momentum_bytes", "adam_bytes", "pad_bytes", "gradient_bytes", "exchange_bytes",
    "ns_scratch_bytes", "state_bytes", "peak_bytes", "process_peak_bytes",
]  # fmt: skip
PHASES = {
    "momentum", "ns_replicated", "gather", "stage1_forward", "stage2_forward", "ns", "gram_reduce", "stage2_reverse",
    "stage1_reverse", "update", "adam", "param_gather", "grad_reduce",
}  # fmt: skip
EXCHANGE = {"gather", "stage1_forward", "stage2_forward", "stage2_reverse", "stage1_reverse"}

PARAMS = [
    param("w, \"q\"\nä", 32, 48, tp_dim=0),
    param("e", 32, 8, optimizer="adam"),
    param("norm", 32, optimizer="adam", gtp_remat=False),
]
ALL_MODES = ["layer_sharded", "duplicated", "adam_dim0"]


def quantile(samples, q):
    """Linear interpolation at q * (n - 1), type 7."""
    ordered = sorted(samples)
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


class Streams(CliTest):
    def test_stdout_is_one_json_document_equal_to_the_file(self):
        run = self.run_ok(4, config_of(PARAMS, gtp_remat=2, tp=2, modes=ALL_MODES), "--format", "json")
        document = strict_json(run.stdout)
        self.assertEqual(document, run.result)
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual(list(document), TOP)
        self.assertEqual([mode["mode"] for mode in document["modes"]], ALL_MODES)
        for mode in document["modes"]:
            self.assertEqual(list(mode), MODE)
            self.assertEqual([rank["rank"] for rank in mode["ranks"]], [0, 1, 2, 3])
            self.assertEqual([(rank["g"], rank["t"]) for rank in mode["ranks"]], [(0, 0), (0, 1), (1, 0), (1, 1)])
            for rank in mode["ranks"]:
                self.assert_memory_adds_up(rank["memory"])
            self.assertEqual([entry["name"] for entry in mode["params"]], [entry["name"] for entry in PARAMS])
            for entry in mode["params"]:
                self.assertRegex(entry["digest"], r"^[0-9a-f]{16}$")
            # One sample is its own minimum, maximum and quantile.
            times = mode["step_seconds"]
            self.assertEqual(len(times["samples"]), 1)
            self.assertEqual({times[key] for key in ("min", "p50", "p95", "max", "mean")}, set(times["samples"]))
            self.assertIsNone(mode["phases_seconds"])
            self.assertIsNone(mode["overlap"])
            self.assertIsNone(mode["throughput"]["exchange_busbw_gbs"])
        environment = document["environment"]
        self.assertEqual(sum(environment["ranks_per_host"].values()), 4)
        self.assertEqual([device["rank"] for device in environment["devices"]], [0, 1, 2, 3])
        self.assertIs(environment["oversubscribed"], 4 * environment["blas_threads"] > environment["cores"])
        self.assertIsNone(environment["versions"]["nccl"])
        self.assertRegex(environment["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def assert_memory_adds_up(self, memory):
        self.assertEqual(list(memory), MEMORY)
        state = memory["master_bytes"] + memory["momentum_bytes"] + memory["adam_bytes"]
        self.assertEqual(memory["state_bytes"], state)
        self.assertEqual(memory["master_bytes"], 0)  # the weights are fp32 themselves
        parts = ("weights_bytes", "gradient_bytes", "exchange_bytes", "ns_scratch_bytes")
        self.assertEqual(memory["peak_bytes"], state + sum(memory[part] for part in parts))

    def test_of_one_rank_show_what_is_undefined_as_null(self):
        run = self.run_ok(1, config_of([param("w", 16, 16)], modes=["layer_sharded"]), "--format", "json")
        document = strict_json(run.stdout)
        mode = document["modes"][0]
        self.assertEqual(mode["ranks"][0]["sent_bytes"], 0)
        self.assertEqual(mode["ranks"][0]["collectives"], 0)
        self.assertIsNone(mode["throughput"]["exchange_algbw_gbs"])
        self.assertIsNone(mode["throughput"]["exchange_busbw_gbs"])
        self.assertIsNone(mode["speedup_vs_duplicated"])
        self.assertEqual(mode["ns_cost_max_over_mean"], 1)

    def test_stdout_as_csv_has_a_row_per_mode_and_rank_and_digits_that_read_back(self):
        name = 'a, "b"\nä'
        run = self.run_ok(4, config_of(PARAMS, gtp_remat=2, tp=2, modes=ALL_MODES, name=name), "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(run.stdout, newline=""), strict=True))
        self.assertEqual(len(rows), len(ALL_MODES) * 4)
        for row in rows:
            self.assertNotIn(None, row)  # cells beyond the header
            self.assertNotIn(None, row.values())  # cells missing
            self.assertEqual(row["name"], name)
            mode = run.mode(row["mode"])
            rank = mode["ranks"][int(row["rank"])]
            self.assertEqual(float(row["step_seconds_p50"]), mode["step_seconds"]["p50"])
            self.assertEqual(float(row["rank_step_seconds_p50"]), rank["step_seconds_p50"])
            self.assertEqual(int(row["peak_bytes"]), rank["memory"]["peak_bytes"])
            self.assertEqual(int(row["sent_bytes"]), rank["sent_bytes"])

    def test_stdout_is_a_table_for_people_if_nothing_else_is_asked_for(self):
        run = self.run_ok(2, config_of(PARAMS, tp=2, modes=ALL_MODES))
        for words in (*ALL_MODES, "step_p50", "(ms)", "(MiB)", "bit-identical"):
            self.assertIn(words, run.stdout)
        for line in run.stdout.splitlines():
            self.assertLessEqual(len(line), 120, line)

    def test_a_csv_file_holds_what_stdout_would(self):
        path = self.path("rows.csv")
        run = self.run_ok(2, config_of(PARAMS, tp=2, modes=ALL_MODES), "--csv", path, "--format", "csv")
        with open(path, encoding="utf-8", newline="") as file:
            self.assertEqual(list(csv.reader(file, strict=True)), list(csv.reader(io.StringIO(run.stdout, newline=""))))
        self.assert_refused(self.run_job(2, config_of(PARAMS, tp=2), "--csv", path), path, "--overwrite")

    def test_every_log_line_goes_to_stderr_and_carries_its_rank(self):
        # A model without Muon weights makes the run say something.
        run = self.run_ok(2, config_of([param("e", 16, 16, optimizer="adam")], gtp_remat=2), "--format", "json")
        strict_json(run.stdout)
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        for line in lines:
            self.assertRegex(line, r"\[rank \d+(,\d+)?\]")
        warned = [line for line in lines if "no parameter goes to Muon" in line and "[rank 0,0]" in line]
        self.assertEqual(len(warned), 2, run.stderr)  # one per Muon mode, from one rank


class Times(CliTest):
    def test_leave_warm_up_out_and_can_be_recomputed_from_the_samples(self):
        params = [param("big", 96, 96), param("small", 24, 24, repeat=3), param("e", 32, 8, optimizer="adam")]
        for warmup in (0, 3):
            config = config_of(params, gtp_remat=4, modes=ALL_MODES, run={"steps": 10, "warmup_steps": warmup})
            run = self.run_ok(4, config)
            duplicated = run.mode("duplicated")["step_seconds"]["p50"]
            for mode in run.result["modes"]:
                times = mode["step_seconds"]
                samples = times["samples"]
                self.assertEqual(len(samples), 10)
                self.assertGreater(min(samples), 0)
                self.assertEqual((times["min"], times["max"]), (min(samples), max(samples)))
                self.assert_close(times["mean"], statistics.fmean(samples))
                self.assert_close(times["p50"], quantile(samples, 0.5))
                self.assert_close(times["p95"], quantile(samples, 0.95))
                # Each sample is the slowest rank's, so no rank's median exceeds theirs.
                for rank in mode["ranks"]:
                    self.assertGreater(rank["step_seconds_p50"], 0)
                    self.assertLessEqual(rank["step_seconds_p50"], times["p50"])
                self.assertGreater(mode["first_step_seconds"], 0)
                if warmup == 0:
                    self.assertEqual(mode["first_step_seconds"], samples[0])
                self.assert_close(mode["speedup_vs_duplicated"], duplicated / times["p50"])
                elements = run.result["model"]["parameters"]
                self.assert_close(mode["throughput"]["parameters_per_second"], elements / times["p50"])
                flops = sum(rank["ns_flops"] for rank in mode["ranks"])
                if flops:
                    self.assert_close(mode["throughput"]["ns_tflops"], flops / times["p50"] / 1e12)
                else:
                    self.assertIsNone(mode["throughput"]["ns_tflops"])

    def assert_close(self, found, expected):
        self.assertLessEqual(abs(found - expected), 1e-9 * abs(expected))

    def test_by_phase_name_each_phase_and_give_the_exchange_a_bandwidth(self):
        config = config_of(PARAMS, gtp_remat=2, tp=2, modes=ALL_MODES, run={"timing": "phases", "steps": 3})
        run = self.run_job(4, config)
        self.assertEqual(run.returncode, DONE, run.stderr)
        for name in ("layer_sharded", "duplicated"):
            mode = run.mode(name)
            phases = mode["phases_seconds"]
            self.assertLessEqual(set(phases), PHASES)
            self.assertIn("ns", phases)
            self.assertTrue(EXCHANGE & set(phases))
            self.assertGreater(min(phases.values()), 0)
            throughput = mode["throughput"]
            self.assertGreater(throughput["exchange_busbw_gbs"], 0)
            # A group of two counts its own block: half of what it exchanges stays.
            self.assertGreater(throughput["exchange_algbw_gbs"], throughput["exchange_busbw_gbs"])
        self.assertLessEqual({"stage1_forward", "stage2_forward"}, set(run.mode("layer_sharded")["phases_seconds"]))
        for mode in run.result["modes"]:
            self.assert_overlap_follows_from_times(mode)

    def assert_overlap_follows_from_times(self, mode):
        overlap, phases = mode["overlap"], mode["phases_seconds"]
        if "ns" not in phases:
            self.assertIsNone(overlap)
            return
        self.assertEqual(overlap["serial_seconds"], mode["step_seconds"]["p50"])
        self.assertGreater(overlap["overlapped_seconds"], 0)
        least = min(phases["ns"], sum(phases.get(phase, 0) for phase in EXCHANGE))
        saved = overlap["serial_seconds"] - overlap["overlapped_seconds"]
        self.assertAlmostEqual(overlap["efficiency"] * least, saved, delta=1e-9)

    def test_stand_beside_the_work_that_was_done_in_them(self):
        for size, flops in ((128, 62_914_560), (1024, 32_212_254_720)):
            self.assertEqual(ns_flops(size, size), flops)
            run = self.run_ok(2, config_of([param("w", size, size)], gtp_remat=2, modes=["layer_sharded"]))
            self.assertEqual(sorted(run.ranks("layer_sharded", "ns_flops")), [0, flops])
            self.assertEqual(run.mode("layer_sharded")["ns_cost_max_over_mean"], 2)


if __name__ == "__main__":
    unittest.main()
