# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are stopped, killed or stalled in mid-run end in time, say so, and leave no result that claims success."""

import os
import signal
import subprocess
import time
import unittest

import harness

RANKS = 4
# mpirun ends the other ranks within seconds; the rest is a loaded machine.
SECONDS_TO_END = 40


def ranks_of(folder):
    """Process ids of the ranks whose command line names the folder, mpirun's own left out."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if any(str(folder).encode() in word for word in words) and b"-n" not in words:
            found.append(int(entry))
    return sorted(found)


class Failures(harness.CliTest):

    def start_endless(self, *words, **settings):
        config = harness.config_of(
            [harness.param("w", 32, 32, tp_dim=0), harness.param("e", 16, 8, optimizer="adam")],
            gtp_remat=2,
            tp=2,
            run={"steps": 10_000_000, "warmup_steps": 0, **settings},
        )
        self.output = self.path("result.json")
        command = [os.environ.get("MPIRUN", "mpirun"), "--oversubscribe", "--bind-to", "none", "-n", str(RANKS),
                   harness.program(), "run", "--config", str(self.write_config(config)), "--output", str(self.output),
                   *words]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OPENBLAS_NUM_THREADS": "1"}
        self.job = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    encoding="utf-8", errors="replace", start_new_session=True)
        self.addCleanup(self.end)
        end = time.monotonic() + SECONDS_TO_END
        # The file stands there, not complete, before the first step.
        while not self.output.exists() and time.monotonic() < end and self.job.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)
        self.assertIsNone(self.job.poll(), "the job ended by itself")

    def end(self):
        if self.job.poll() is None:
            os.killpg(self.job.pid, signal.SIGKILL)
        self.job.communicate()
        for process in ranks_of(self.folder):
            os.kill(process, signal.SIGKILL)

    def wait(self):
        _, stderr = self.job.communicate(timeout=SECONDS_TO_END)
        end = time.monotonic() + 5
        while ranks_of(self.folder) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(ranks_of(self.folder), [], "processes are left")
        return self.job.returncode, stderr

    def result(self):
        result = harness.strict_json(self.output.read_text(encoding="utf-8"))
        self.assertFalse(result["complete"])
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])
        return result

    def test_a_signal_to_mpirun_leaves_a_result_marked_interrupted_with_the_steps_done(self):
        for sign in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=sign.name):
                self.start_endless()
                self.job.send_signal(sign)
                code, _ = self.wait()
                self.assertNotEqual(code, 0)
                result = self.result()
                self.assertEqual(result["status"], "interrupted")
                self.assertGreater(len(result["modes"][0]["step_seconds"]["samples"]), 0)
                self.output.unlink()

    def test_a_signal_to_one_rank_ends_all_with_7(self):
        self.start_endless()
        os.kill(ranks_of(self.folder)[-1], signal.SIGTERM)
        code, _ = self.wait()
        self.assertEqual(code, 7)
        self.assertEqual(self.result()["status"], "interrupted")

    def test_a_killed_rank_ends_the_job_without_a_success(self):
        self.start_endless()
        os.kill(ranks_of(self.folder)[1], signal.SIGKILL)
        code, _ = self.wait()
        self.assertEqual(code, 137)
        self.assertIn(self.result()["status"], ("failed", "interrupted"))

    def test_a_stalled_rank_is_found_by_the_watchdog(self):
        self.start_endless(timeout_seconds=2)
        os.kill(ranks_of(self.folder)[1], signal.SIGSTOP)
        code, stderr = self.wait()
        self.assertEqual(code, 6)
        self.assertIn("run.timeout_seconds = 2", stderr)
        self.assertIn(self.result()["status"], ("failed", "interrupted"))

    def test_a_rank_that_stalls_after_the_last_step_is_found_by_the_watchdog(self):
        # Rank 0 waits for a reader that never comes, and the others for rank 0 to end MPI with them.
        pipe = self.path("rows.csv")
        os.mkfifo(pipe)
        self.start_endless("--csv", str(pipe), steps=1, timeout_seconds=4)
        os.kill(ranks_of(self.folder)[0], signal.SIGSTOP)
        code, stderr = self.wait()
        self.assertEqual(code, 6)
        self.assertIn("run.timeout_seconds = 4", stderr)
        self.result()

    def test_after_any_of_these_the_same_job_runs(self):
        self.start_endless()
        os.kill(ranks_of(self.folder)[0], signal.SIGKILL)
        self.wait()
        config = harness.config_of([harness.param("w", 32, 32, tp_dim=0)], gtp_remat=2, tp=2)
        run = self.run_job(RANKS, config)
        self.assertEqual(run.returncode, harness.DONE, run.stderr)
        self.assertTrue(run.result["complete"])


if __name__ == "__main__":
    unittest.main()
