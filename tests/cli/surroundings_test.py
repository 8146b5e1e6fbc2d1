# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Locales and launchers as they come in the field: numbers do not depend on them, and the report names them."""

import csv
import os
import shutil
import subprocess
import unittest

from harness import ALONE, CliTest, config_of, param

W = param("w", 16, 16)
OK = config_of([W], modes=["layer_sharded"])


class Locale(CliTest):
    MEASURED = ("time", "argv", "step_seconds", "first_step_seconds", "phases_seconds", "throughput",
                "process_peak_bytes", "speedup_vs_duplicated", "step_seconds_p50")  # fmt: skip
    COLUMNS_MEASURED = ("step_seconds", "ns_tflops", "parameters_per_second", "exchange_", "speedup")

    def without_times(self, value):
        if isinstance(value, dict):
            return {key: self.without_times(entry) for key, entry in value.items() if key not in self.MEASURED}
        if isinstance(value, list):
            return [self.without_times(entry) for entry in value]
        return value

    def rows(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        for row in rows:
            self.assertNotIn(None, row)
        return [{key: cell for key, cell in row.items()
                 if key not in self.MEASURED and not any(word in key for word in self.COLUMNS_MEASURED
                                                         if key != "exchange_bytes")} for row in rows]  # fmt: skip

    def german(self):
        """Environment of a locale with a decimal comma, made here if it can be."""
        if not shutil.which("localedef"):
            self.skipTest("no localedef")
        folder = self.path("locales")
        folder.mkdir()
        command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")]
        made = subprocess.run(command, capture_output=True)
        environment = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
        shown = subprocess.run(["/usr/bin/printf", "%.1f", "2"], env=environment, capture_output=True, text=True)
        if shown.stdout != "2,0":
            self.skipTest(f"the locale does not take: {made.stderr} {shown}")
        return environment

    def test_with_a_decimal_comma_changes_no_number(self):
        params = [W, param("e", 2048, 8, optimizer="adam")]
        muon = {"lr": 0.1, "momentum": 0.95, "weight_decay": 0.01}
        modes = ["layer_sharded", "duplicated", "adam_dim0"]
        config = config_of(params, tp=2, muon=muon, run={"steps": 3}, modes=modes)
        results, tables = [], []
        for i, environment in enumerate(({"LC_ALL": "C"}, self.german())):
            rows = self.path(f"rows{i}.csv")
            run = self.run_ok(2, config, "--csv", rows, environment=environment)
            self.assertRegex(run.stdout, r"\d\.\d")
            self.assertNotRegex(run.stdout, r"\d,\d")
            results.append(self.without_times(run.result))
            tables.append(self.rows(rows))
        self.assertEqual(results[0], results[1])
        self.assertEqual(tables[0], tables[1])
        self.assertEqual(len(tables[0]), 3 * 2)
        self.assertIn("digest", results[0]["modes"][0]["params"][0])
        self.assertEqual(results[1]["config"]["muon"]["lr"], 0.1)


class Launcher(CliTest):
    def test_left_out_gives_a_world_of_one_rank(self):
        run = self.run_ok(ALONE, OK)
        self.assertEqual(sum(run.result["environment"]["ranks_per_host"].values()), 1)
        self.assertEqual(len(run.mode("layer_sharded")["ranks"]), 1)
        self.assert_refused(self.run_job(ALONE, config_of([W], gtp_remat=2)), "world size of 1", "mpirun -n 2")

    def test_with_more_threads_than_cores_shows_in_the_report(self):
        cores = os.cpu_count()
        for ranks, threads in ((1, 1), (2, None), (4, None), (2, str(cores)), (1, str(4 * cores))):
            with self.subTest(ranks=ranks, threads=threads):
                environment = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": None}
                if threads is not None:
                    environment["OPENBLAS_NUM_THREADS"] = str(threads)
                report = self.run_ok(ranks, config_of([W], tp=ranks), environment=environment).result["environment"]
                self.assertEqual(sum(report["ranks_per_host"].values()), ranks)
                self.assertGreaterEqual(report["cores"], 1)
                self.assertGreaterEqual(report["blas_threads"], 1)
                self.assertIs(report["oversubscribed"], ranks * report["blas_threads"] > report["cores"])

    def test_and_libraries_are_named_in_printable_characters(self):
        versions = self.run_ok(ALONE, OK).result["environment"]["versions"]
        self.assertIn("MPI", versions["mpi"])
        self.assertIn("BLAS", versions["blas"])
        for name, version in versions.items():
            self.assertTrue(version is None or version.isprintable(), f"{name}: {version!r}")


if __name__ == "__main__":
    unittest.main()
