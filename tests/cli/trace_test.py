# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""--trace: every timed step of every rank and mode on one timeline, as trace viewers read it."""

import os
import unittest

from harness import ALONE, DONE, USAGE, CliTest, config_of, param, strict_json

ALL_MODES = ["layer_sharded", "duplicated", "adam_dim0"]
PARAMS = [
    param("rows", 32, 48, tp_dim=0),
    param("cols", 24, 32, tp_dim=1),
    param("router", 8, 16, gtp_remat=False),
    param("table", 32, 8, optimizer="adam"),
]
WARMUP, STEPS = 1, 3

# Times are written in whole nanoseconds: the ends of a span and of the step that holds it round apart by one at most.
ROUNDING_US = 0.002


class Trace(CliTest):
    def traced(self, ranks=4, **run):
        settings = {"warmup_steps": WARMUP, "steps": STEPS, **run}
        config = config_of(PARAMS, gtp_remat=2, tp=2, modes=ALL_MODES, run=settings)
        self.file = self.path(f"trace{self._runs}.json")
        job = self.run_ok(ranks, config, "--trace", self.file)
        document = strict_json(self.file.read_text(encoding="utf-8"))
        return job, document, [event for event in document["traceEvents"] if event["ph"] == "X"]

    def test_has_a_process_for_every_rank_and_a_thread_for_its_queue(self):
        job, document, _ = self.traced()
        host = job.result["environment"]["hosts"][0]
        metadata = [event for event in document["traceEvents"] if event["ph"] == "M"]
        processes = {event["pid"]: event["args"]["name"] for event in metadata if event["name"] == "process_name"}
        self.assertEqual(processes, {r: f"rank {r} (g={r // 2}, t={r % 2}) on {host}" for r in range(4)})
        threads = {(event["pid"], event["tid"]) for event in metadata if event["name"] == "thread_name"}
        self.assertEqual(threads, {(r, 0) for r in range(4)})
        self.assertTrue(document["otherData"]["tracing"].startswith("on"))
        self.assertGreaterEqual(document["otherData"]["largest_start_skew_seconds"], 0)
        self.assertIn("--trace", document["otherData"]["argv"])

    def test_holds_the_timed_steps_of_every_rank_and_mode_and_no_other(self):
        job, _, events = self.traced()
        steps = [(e["pid"], e["args"]["mode"], e["args"]["step"]) for e in events if e["cat"] == "step"]
        timed = range(WARMUP, WARMUP + STEPS)
        expected = [(rank, mode, step) for rank in range(4) for mode in ALL_MODES for step in timed]
        self.assertEqual(sorted(steps), sorted(expected))
        for mode in ALL_MODES:
            # The slowest rank's time is the sample of the step.
            for step, sample in zip(timed, job.mode(mode)["step_seconds"]["samples"]):
                durations = [e["dur"] for e in events if e["cat"] == "step"
                             and (e["args"]["mode"], e["args"]["step"]) == (mode, step)]  # fmt: skip
                self.assertAlmostEqual(max(durations), sample * 1e6, delta=ROUNDING_US)

    def test_shows_the_phases_of_each_mode_with_the_bytes_of_their_collectives(self):
        job, _, events = self.traced(timing="phases")
        for mode in ALL_MODES:
            of_mode = [e for e in events if e["cat"] == "phase" and e["args"]["mode"] == mode]
            names = {event["name"] for event in of_mode}
            self.assertEqual(names, set(job.mode(mode)["phases_seconds"]))
            for rank in range(4):
                mine = [event for event in of_mode if event["pid"] == rank]
                for key in ("sent_bytes", "received_bytes", "collectives"):
                    total = sum(event["args"].get(key, 0) for event in mine)
                    self.assertEqual(total, STEPS * job.ranks(mode, key)[rank], f"{mode} {key}")

    def test_has_no_span_outside_its_step_or_across_another(self):
        for timing in ("step", "phases"):
            with self.subTest(timing=timing):
                _, _, events = self.traced(timing=timing)
                for event in events:
                    self.assertGreaterEqual(event["dur"], 0)
                    self.assertGreaterEqual(event["ts"], 0)
                for outer in (event for event in events if event["cat"] == "step"):
                    inner = sorted(
                        (event["ts"], event["ts"] + event["dur"])
                        for event in events
                        if event["cat"] == "phase" and event["pid"] == outer["pid"]
                        and all(event["args"][key] == outer["args"][key] for key in ("mode", "step"))
                    )  # fmt: skip
                    self.assertTrue(inner)
                    self.assertGreaterEqual(inner[0][0], outer["ts"] - ROUNDING_US)
                    self.assertLessEqual(inner[-1][1], outer["ts"] + outer["dur"] + ROUNDING_US)
                    for (_, end), (begin, _) in zip(inner, inner[1:]):
                        self.assertLessEqual(end, begin + ROUNDING_US)

    def test_leaves_numbers_as_they_are(self):
        traced, _, _ = self.traced()
        config = config_of(PARAMS, gtp_remat=2, tp=2, modes=ALL_MODES, run={"warmup_steps": WARMUP, "steps": STEPS})
        plain = self.run_ok(4, config)
        for mode in ALL_MODES:
            self.assertEqual(traced.digests(mode), plain.digests(mode))
            self.assertEqual(traced.ranks(mode, "sent_bytes"), plain.ranks(mode, "sent_bytes"))


class TraceFile(CliTest):
    CONFIG = config_of([param("w", 8, 8)], modes=["layer_sharded"])

    def test_that_exists_is_refused_unless_it_may_be_replaced(self):
        path = self.path("trace.json")
        path.write_text("mine")
        self.assert_refused(self.run_job(ALONE, self.CONFIG, "--trace", path), path, "--overwrite")
        self.assertEqual(path.read_text(), "mine")
        run = self.run_job(ALONE, self.CONFIG, "--trace", path, "--overwrite")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertIn("traceEvents", strict_json(path.read_text()))
        self.assertEqual(sorted(os.listdir(self.folder)), sorted({"config1.json", "config2.json", "result2.json",
                                                                  "trace.json"}))  # fmt: skip

    def test_is_no_other_files_path(self):
        same = self.path("same.json")
        run = self.run_job(ALONE, self.CONFIG, "--trace", same, output=same)
        self.assert_refused(run, "--trace", "--output", same)
        run = self.run_job(ALONE, self.CONFIG, "--trace", self.path("a"), "--csv", self.path("a"))
        self.assert_refused(run, "--trace", "--csv")

    def test_is_of_a_run_alone(self):
        words = ["plan", "--config", self.write_config(self.CONFIG), "--trace", self.path("trace.json")]
        run = self.start(ALONE, *words)
        self.assertEqual(run.returncode, USAGE)
        self.assertIn("--trace", run.stderr)


if __name__ == "__main__":
    unittest.main()
