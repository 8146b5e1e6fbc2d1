# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""A sweep of 12 points is interrupted, goes on where it stopped, marks what failed and writes one table."""

import csv
import json
import os
import signal
import subprocess
import time
import unittest

import harness


class Sweep(harness.CliTest):

    def write_grid(self, **changes):
        base = harness.config_of([harness.param("w", 48, 24, tp_dim=0)], run={"steps": 2})
        self.path("base.json").write_text(json.dumps(base), encoding="utf-8")
        grid = {
            "base": "base.json",
            "grid": {"parallelism.tp": [1, 2, 4], "parallelism.gtp_remat": [1, 2, 4], "muon.nesterov": [True, False]},
            "constraints": ["tp * gtp_remat <= 4"],
            **changes,
        }
        self.path("grid.json").write_text(json.dumps(grid), encoding="utf-8")

    def sweep(self, *options):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return subprocess.Popen(
            ["/usr/bin/python3", "scripts/sweep.py", str(self.path("grid.json")), "--out", str(self.path("out")), "--program",
             harness.program(), "--mpirun", f"{os.environ.get('MPIRUN', 'mpirun')} --oversubscribe --bind-to none", *options],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def results(self):
        folder = self.path("out") / "points"
        return sorted(folder.glob("*.json")) if folder.exists() else []

    def table(self):
        with open(self.path("out") / "table.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_an_interrupted_sweep_goes_on_where_it_stopped(self):
        self.write_grid()
        first = self.sweep()
        end = time.monotonic() + 60
        while len(self.results()) < 4 and time.monotonic() < end:
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130)
        done = {path: path.stat().st_mtime_ns for path in self.results()
                if json.loads(path.read_text(encoding="utf-8")).get("complete")}
        self.assertGreaterEqual(len(done), 3)
        self.assertLess(len(done), 12)

        second = self.sweep()
        _, stderr = second.communicate(timeout=120)
        self.assertEqual(second.returncode, 0, stderr)
        self.assertIn(f"12 points, {len(done)} have a result", stderr)
        for path, time_written in done.items():
            self.assertEqual(path.stat().st_mtime_ns, time_written, "a finished point ran again")
        rows = self.table()
        self.assertEqual(len(rows), 24)  # 12 points, two modes
        self.assertEqual({row["status"] for row in rows}, {"ok"})

    def test_a_refused_point_is_marked_and_the_others_run(self):
        self.write_grid(grid={"parallelism.tp": [1, 5]}, constraints=[])
        sweep = self.sweep()
        _, stderr = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 1)
        self.assertIn("failed, exit status 2", stderr)
        self.assertEqual(sorted(row["status"] for row in self.table()), ["failed", "ok", "ok"])
        failed = json.loads(next((self.path("out") / "points").glob("*.failed.json")).read_text(encoding="utf-8"))
        self.assertEqual(failed["exit_status"], 2)
        self.assertIn("expected a multiple of parallelism.tp (5)", failed["log"])

    def test_a_grid_that_makes_no_sense_is_refused(self):
        for changes in ({"constraints": ["tp * nonsense < 3"]}, {"constraints": ["__import__('os')"]},
                        {"constraints": ["tp > 99"]}, {"gird": {}}, {"grid": {"parallelism.tp": []}}):
            with self.subTest(changes=changes):
                self.write_grid(**changes)
                sweep = self.sweep()
                _, stderr = sweep.communicate(timeout=60)
                self.assertEqual(sweep.returncode, 2)
                self.assertIn("sweep.py:", stderr)


if __name__ == "__main__":
    unittest.main()
