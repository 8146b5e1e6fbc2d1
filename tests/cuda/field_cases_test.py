# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""muonbench on GPUs as a user starts it. Run by scripts/test_gpu.sh, which says where the program and mpirun are.

GPUS is the comma-separated list of GPUs to use. Ranks of transport mpi share the first.
"""

import os
import pathlib
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import harness  # noqa: E402
from harness import ALONE, F_OF_ONE, RUNTIME, USAGE, CliTest, config_of, param, strict_json  # noqa: E402

harness.TIMEOUT_SECONDS = 150

GPUS = [gpu for gpu in os.environ.get("GPUS", "0").split(",") if gpu]
ONE_GPU = {"CUDA_VISIBLE_DEVICES": GPUS[0]}
ALL_GPUS = {"CUDA_VISIBLE_DEVICES": ",".join(GPUS)}
TIMEOUT = 6

MODES = ("layer_sharded", "duplicated", "adam_dim0")

# One ulp of bf16 has been seen to grow to 4.7e-4 in fp32 weights over five NS steps; 7e-4 was agreed on for it.
BF16_DRIFT = 7e-4


def on_cuda(config, transport="mpi"):
    config["run"].update(backend="cuda", transport=transport)
    return config


def mixed(gtp_remat, tp, **sections):
    """Every kind of sharding, five steps of random gradients."""
    params = (
        [param(f"rows{i}", 96, 64, tp_dim=0) for i in range(4)]
        + [param(f"cols{i}", 64, 96, tp_dim=1) for i in range(4)]
        + [param(f"whole{i}", 64, 64, gtp_remat=False) for i in range(2)]
        + [param("table", 33, 24, optimizer="adam"), param("vector", 50, optimizer="adam")]
    )
    config = config_of(params, gtp_remat, tp, gradients={"fill": "random", "seed": 7}, modes=list(MODES))
    config["run"]["steps"] = 5
    config["muon"]["lr"] = 0.02
    for name, section in sections.items():
        config[name].update(section)
    return config


class GpuTest(CliTest):
    def all_digests(self, run):
        return {mode: run.digests(mode) for mode in MODES}


class Transports(GpuTest):
    def test_mpi_and_nccl_give_the_same_digests_on_one_rank(self):
        runs = [self.run_ok(1, on_cuda(mixed(1, 1), name), environment=ONE_GPU) for name in ("mpi", "nccl")]
        self.assertEqual(self.all_digests(runs[0]), self.all_digests(runs[1]))

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_all_give_the_same_digests_on_all_gpus(self):
        n = len(GPUS)
        for gtp_remat, tp in {(n, 1), (1, n), (n // 2, 2)}:
            mpi, *others = (
                self.run_ok(n, on_cuda(mixed(gtp_remat, tp), name), environment=ALL_GPUS)
                for name in ("mpi", "nccl", "copy_engine")
            )
            for run in others:
                self.assertEqual(self.all_digests(mpi), self.all_digests(run))


class Ho11ConcurrentGroups(GpuTest):
    # Two dense groups share a domain, experts have another: its communicators join the same GPUs at the same time.
    MPI_GRID = {"gtp_remat": 2, "tp": 2, "ep": 2, "expert_gtp_remat": 2}

    def config(self, grid, steps, concurrent=True, transport="mpi", modes=("layer_sharded", "duplicated")):
        params = [
            param("a", 64, 64, tp_dim=0, repeat=8, group="dense_a"),
            param("b", 64, 64, tp_dim=1, repeat=8, group="dense_b"),
            param("e", 64, 64, tp_dim=0, repeat=8, expert=True),
        ]
        muon = {"groups": {"dense_a": {"lr": 1e-3}, "dense_b": {"lr": 3e-4}}, "concurrent_groups": concurrent}
        config = config_of(params, parallelism=grid, muon=muon, gradients={"fill": "random"}, modes=list(modes))
        config["run"]["steps"] = steps
        return on_cuda(config, transport)

    def ends_alike_concurrent_or_not(self, ranks, environment, shared, **settings):
        configs = [self.config(concurrent=concurrent, **settings) for concurrent in (True, False)]
        on, off = (self.run_ok(ranks, config, environment=environment) for config in configs)
        self.assertEqual(on.digests("layer_sharded"), off.digests("layer_sharded"))
        self.assert_equal_bits(on)
        self.assert_equal_bits(off)
        groups = [run.mode("layer_sharded")["concurrent_groups"] for run in (on, off)]
        why = f"dense_a and dense_b share the {shared} and go one after the other"
        self.assertEqual(groups[0], {"active": True, "queues": 2, "why": why})
        self.assertEqual(groups[1], {"active": False, "queues": 1, "why": "off by muon.concurrent_groups"})

    def test_over_mpi_end_with_equal_bits_concurrent_or_not(self):
        shared = "tp and gtp_remat communicators"
        self.ends_alike_concurrent_or_not(4, ONE_GPU, shared, grid=self.MPI_GRID, steps=30)

    def ends_alike_on_as_many_gpus(self, transport):
        ranks = 1 << (len(GPUS).bit_length() - 1)
        if ranks == 2:
            grid, shared = {"gtp_remat": 2, "expert_tp": 2}, "gtp_remat communicator"
        else:
            grid = {"gtp_remat": ranks // 2, "tp": 2, "ep": 2, "expert_gtp_remat": ranks // 2}
            shared = "tp and gtp_remat communicators"
        self.ends_alike_concurrent_or_not(ranks, ALL_GPUS, shared, grid=grid, steps=300, transport=transport)

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_over_nccl_end_with_equal_bits_concurrent_or_not(self):
        self.ends_alike_on_as_many_gpus("nccl")

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_over_copy_engine_end_with_equal_bits_concurrent_or_not(self):
        self.ends_alike_on_as_many_gpus("copy_engine")

    def test_have_a_queue_each_in_the_trace_of_every_rank(self):
        steps, file = 3, self.path("trace.json")
        config = self.config(self.MPI_GRID, steps, modes=["layer_sharded"])
        self.run_ok(4, config, "--trace", file, environment=ONE_GPU)
        events = strict_json(file.read_text(encoding="utf-8"))["traceEvents"]
        queues = {(rank, queue) for rank in range(4) for queue in (0, 1)}
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        self.assertEqual(named, queues)
        phases = {at: [] for at in queues}
        for event in events:
            if event.get("cat") == "phase":
                phases[event["pid"], event["tid"]].append(event)
        for at, mine in phases.items():
            for step in range(steps):
                names = {event["name"] for event in mine if event["args"]["step"] == step}
                self.assertLessEqual({"momentum", "stage1_forward", "ns", "stage1_reverse", "update"}, names, at)
            # A queue does one thing after the other. Ends are written in whole nanoseconds.
            spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in mine)
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin + 0.002, at)


class Ho12BitParity(GpuTest):
    def test_layer_sharded_equals_duplicated_and_itself_bit_for_bit(self):
        for run in ({"param_dtype": "fp32"}, {"param_dtype": "bf16"}):
            for precision in ("highest", "medium"):
                config = on_cuda(mixed(2, 2, run=run, muon={"fp32_matmul_prec": precision}))
                once, again = (self.run_ok(4, config, environment=ONE_GPU) for _ in range(2))
                self.assertEqual(self.all_digests(once), self.all_digests(again))
                self.assertEqual(once.digests("layer_sharded"), once.digests("duplicated"))
                self.assertIs(once.mode("layer_sharded")["parity"]["bit_identical"], True)

    def test_batches_leave_replicas_equal_and_drift_little(self):
        config = on_cuda(mixed(2, 2, muon={"fp32_matmul_prec": "medium", "ns_batch_size": 4}))
        # Copies that differ would make the run end with 4.
        parity = self.run_ok(4, config, environment=ONE_GPU).mode("layer_sharded")["parity"]
        self.assertLessEqual(parity["max_abs_diff"], BF16_DRIFT)


class Tf32(GpuTest):
    def test_has_equal_bits_in_all_modes_and_lies_between_highest_and_medium(self):
        runs = {}
        for precision in ("highest", "high", "medium"):
            config = on_cuda(mixed(2, 2, muon={"fp32_matmul_prec": precision}))
            runs[precision] = self.run_ok(4, config, environment=ONE_GPU)
            self.assert_equal_bits(runs[precision])
        moves = {
            precision: {name: entry["delta_abs_max"] for name, entry in run.params("layer_sharded").items()}
            for precision, run in runs.items()
        }
        off = {
            precision: sum(abs(move - moves["highest"][name]) for name, move in moves[precision].items())
            for precision in ("high", "medium")
        }
        # TF32 rounds operands to 11 bits, bf16 to 8 and what lies between products too. Ten matrices are in the sum.
        self.assertGreater(off["high"], 0, "as highest: no TF32")
        self.assertLess(off["high"], off["medium"])


class Algorithms(GpuTest):
    def test_has_equal_bits_in_all_modes_and_layouts_and_moves_weights_as_gemm_does(self):
        runs = {}
        for algorithm in ("gemm", "syrk", "gram", "auto"):
            config = mixed(2, 2, muon={"ns_algorithm": algorithm, "fp32_matmul_prec": "medium"})
            # Sides of 12 and 20: nothing of them is computed by halves.
            config["model"]["params"].append(param("odd", 12, 20))
            runs[algorithm] = self.run_ok(4, on_cuda(config), environment=ONE_GPU)
            self.assert_equal_bits(runs[algorithm])
        expected = runs["gemm"].params("layer_sharded")
        for algorithm in ("syrk", "gram"):
            run = runs[algorithm]
            alone = mixed(1, 1, muon={"ns_algorithm": algorithm, "fp32_matmul_prec": "medium"})
            alone["model"]["params"].append(param("odd", 12, 20))
            self.assertEqual(
                self.all_digests(self.run_ok(1, on_cuda(alone), environment=ONE_GPU)), self.all_digests(run)
            )
            self.assertIn("1 of 11 matrices", run.stderr)
            self.assertEqual(run.mode("layer_sharded")["ns_algorithm"], algorithm)
            for name, entry in run.params("layer_sharded").items():
                # As between a CPU and a GPU: both end in bf16.
                size = expected[name]["delta_abs_max"]
                self.assertAlmostEqual(entry["delta_abs_max"], size, delta=3e-2 * size, msg=f"{algorithm} {name}")
        self.assertEqual([runs[name].mode("duplicated")["ns_whole"] for name in runs], [0, 4, 4, 0])
        # Matrices so small are gemm's.
        self.assertEqual(self.all_digests(runs["auto"]), self.all_digests(runs["gemm"]))


class OutOfMemory(GpuTest):
    # fp32 weights, gradient and Adam's two moments.
    BYTES_PER_ELEMENT = 16

    def table(self, count, rows, gtp_remat):
        entry = param("table", rows, 1024, optimizer="adam", repeat=count)
        return on_cuda(config_of([entry], gtp_remat=gtp_remat, modes=["adam_dim0"]))

    def assert_said_once(self, run, *words):
        self.assertEqual(run.returncode, RUNTIME, run.stderr)
        lines = [line for line in run.stderr.splitlines() if "out of memory" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        for word in ("rank 0", "bytes available", "what would shrink", *words):
            self.assertIn(str(word), lines[0])
        self.assert_nothing_left()

    def test_of_a_model_far_beyond_the_gpu_is_said_before_anything_is_allocated(self):
        rows = 1 << 30
        run = self.run_job(2, self.table(1, rows, gtp_remat=2), environment=ONE_GPU)
        asked = self.BYTES_PER_ELEMENT * rows * 1024
        self.assert_said_once(run, "device 0000", "2 ranks there ask", f"{asked} bytes", f"adam {asked // 4}")
        self.assertFalse(run.output.exists(), "a run refused before its first step left a result")

    def test_that_the_gpu_has_but_not_beside_its_context_is_said_where_it_runs_out(self):
        small = self.run_ok(ALONE, self.table(1, 16, gtp_remat=1), environment=ONE_GPU)
        memory = small.result["environment"]["devices"][0]["memory_bytes"]
        # A CUDA context takes some hundred MiB.
        count = 32
        rows = (memory - (32 << 20)) // self.BYTES_PER_ELEMENT // 1024 // count
        run = self.run_job(ALONE, self.table(count, rows, gtp_remat=1), environment=ONE_GPU)
        self.assert_said_once(run, "out of memory for", "bytes asked for", "this rank holds")
        if run.output.exists():
            self.assertEqual((run.result["complete"], run.result["status"]), (False, "failed"))


class CpuAgainstCuda(GpuTest):
    def both(self, **sections):
        cpu = self.run_ok(4, mixed(2, 2, **sections), environment=ONE_GPU)
        cuda = self.run_ok(4, on_cuda(mixed(2, 2, **sections)), environment=ONE_GPU)
        return cpu, cuda

    def test_muon_moves_weights_alike_within_the_rounding_of_ns(self):
        # Of the largest change. fp32: products of 96 terms, some 15 of them a step, 2^-24 a rounding and as much room
        # again as the golden bound gives. bf16: that bound.
        for precision, bound in (("highest", 1e-3), ("medium", 3e-2)):
            cpu, cuda = self.both(muon={"fp32_matmul_prec": precision})
            for mode in ("layer_sharded", "duplicated"):
                expected = cpu.params(mode)
                for name, entry in cuda.params(mode).items():
                    size = expected[name]["delta_abs_max"]
                    self.assertGreater(size, 0, name)
                    for key in ("delta_abs_min", "delta_abs_max"):
                        self.assertAlmostEqual(entry[key], expected[name][key], delta=bound * size, msg=(name, key))

    def test_adam_moves_weights_alike_bit_for_bit(self):
        # The same operations in the same order, each rounded once.
        cpu, cuda = self.both()
        self.assertEqual(cpu.digests("adam_dim0"), cuda.digests("adam_dim0"))


class Ho17LargeMessages(GpuTest):
    def test_beyond_two_gib_move_every_element_by_the_closed_form(self):
        columns = 134217729
        config = on_cuda(config_of([param("w", 4, columns)], gtp_remat=2, modes=["layer_sharded"]))
        config["parallelism"]["pad_for_alignment"] = 0
        run = self.run_ok(2, config, environment=ONE_GPU)
        entry = run.params("layer_sharded")["w"]
        expected = F_OF_ONE["quintic"] / 2
        for key in ("delta_abs_min", "delta_abs_max"):
            # fp32 sums over 134 M terms.
            self.assertAlmostEqual(entry[key], expected, delta=2e-2 * expected)
        # Half the matrix travels to its home, and back.
        self.assertEqual(run.ranks("layer_sharded", "sent_bytes"), [2 * columns * 4] * 2)
        for use in ("weights_bytes", "momentum_bytes"):
            self.assertEqual(run.memory("layer_sharded", use), [2 * columns * 4] * 2)


class Ho23Gpus(GpuTest):
    def test_that_are_absent_are_said_once_and_soon_and_nothing_is_written(self):
        start = time.monotonic()
        run = self.run_job(2, on_cuda(mixed(2, 1)), environment={"CUDA_VISIBLE_DEVICES": ""})
        self.assertLess(time.monotonic() - start, 10)
        self.assert_refused(run, "backend cuda requested, 0 devices visible")

    def test_are_not_needed_by_backend_cpu(self):
        run = self.run_ok(2, mixed(2, 1), environment={"CUDA_VISIBLE_DEVICES": ""})
        self.assertIsNone(run.result["environment"]["versions"]["cuda"])
        self.assertIsNone(run.result["environment"]["devices"][0]["pci"])

    def test_are_not_chosen_by_themselves(self):
        run = self.run_job(1, mixed(1, 1), "--set", "run.backend=auto", environment=ONE_GPU)
        self.assert_refused(run, "run.backend", "auto")

    def test_that_ranks_share_are_refused_to_nccl_with_both_numbers_and_the_bus_id(self):
        run = self.run_job(2, on_cuda(mixed(2, 1), "nccl"), environment=ONE_GPU)
        self.assert_refused(run, "2 ranks on 1 GPU", "ranks 0, 1 share 0000", "mpi takes several ranks", code=USAGE)

    def test_are_named_in_the_report(self):
        environment = self.run_ok(2, on_cuda(mixed(2, 1)), environment=ONE_GPU).result["environment"]
        self.assertIn("NVIDIA", environment["devices"][0]["name"])
        self.assertEqual(environment["devices"][0]["pci"], environment["devices"][1]["pci"])
        for name in ("cuda", "cublas", "nccl"):
            self.assertIsNotNone(environment["versions"][name], name)
        self.assertIsNone(environment["versions"]["blas"])

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_fewer_than_ranks_are_refused_to_nccl_with_both_numbers(self):
        n = len(GPUS)
        run = self.run_job(2 * n, on_cuda(mixed(2 * n, 1), "nccl"), environment=ALL_GPUS)
        self.assert_refused(run, f"{2 * n} ranks on {n} GPUs")

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_of_which_each_rank_sees_one_are_all_used(self):
        config, output = self.write_config(on_cuda(mixed(2, 1), "nccl")), self.path("result.json")
        one_each = f'export CUDA_VISIBLE_DEVICES=$(echo {",".join(GPUS)} | cut -d, -f$((OMPI_COMM_WORLD_LOCAL_RANK + 1)))'
        words = f"{one_each}; exec '{harness.program()}' run --config '{config}' --output '{output}'"
        run = self.execute([*harness.mpirun(), "-n", "2", "sh", "-c", words], output=output)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len({device["pci"] for device in run.result["environment"]["devices"]}), 2)


class Watchdog(GpuTest):
    def ends_when_a_peer_stands_still(self, transport, environment, timeout_seconds):
        config = on_cuda(mixed(2, 1), transport)
        config["run"].update(steps=10_000_000, timeout_seconds=timeout_seconds)
        output = self.path("result.json")
        command = [*harness.mpirun(), "-n", "2", harness.program(), "run", "--config", self.write_config(config)]
        stopped = []

        def stop_rank_1():
            # The result stands there from the first step on.
            deadline = time.monotonic() + 60
            while not output.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(1)
            for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
                if self._is_ours(pid) and b"\0OMPI_COMM_WORLD_RANK=1\0" in self.environment_of(pid):
                    os.kill(pid, signal.SIGSTOP)
                    stopped.append(pid)

        run = self.execute_beside([*command, "--output", output], stop_rank_1, environment)
        self.assertEqual(len(stopped), 1)
        self.assertEqual(run.returncode, TIMEOUT, run.stderr)
        self.assertIn("watchdog", run.stderr)
        self.assertFalse(harness.strict_json(output.read_text(encoding="utf-8"))["complete"])
        self.assert_nothing_left()

    @staticmethod
    def environment_of(pid):
        try:
            return b"\0" + pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return b""

    def execute_beside(self, command, work, environment):
        thread = threading.Thread(target=work)
        thread.start()
        try:
            return self.execute(command, environment=environment)
        finally:
            thread.join()

    def test_ends_a_job_over_mpi_in_which_a_rank_stands_still(self):
        self.ends_when_a_peer_stands_still("mpi", ONE_GPU, 4)

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_ends_a_job_over_nccl_in_which_a_rank_stands_still(self):
        # Making its communicators takes seconds, and is watched too.
        self.ends_when_a_peer_stands_still("nccl", ALL_GPUS, 15)

    @unittest.skipIf(len(GPUS) < 2, "needs two GPUs")
    def test_ends_a_job_over_copy_engine_in_which_a_rank_stands_still(self):
        self.ends_when_a_peer_stands_still("copy_engine", ALL_GPUS, 15)


if __name__ == "__main__":
    unittest.main()
