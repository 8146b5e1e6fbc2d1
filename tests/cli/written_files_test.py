# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that --output and --csv name: refused beforehand or written whole, and what a CSV holds."""

import csv
import os
import subprocess
import unittest

from harness import ALONE, DONE, RUNTIME, USAGE, CliTest, config_of, ns_flops, param, program, strict_json

W = param("w", 16, 16)
OK = config_of([W], modes=["layer_sharded"])


class Output(CliTest):
    BAD = [
        ("none/result", "No such file or directory"),
        ("", "is a directory"),
        ("/proc/muonbench", "/proc"),
        ("/sys/muonbench", "/sys"),
    ]

    def assert_refused_before_the_first_step(self, run, *words):
        self.assertEqual(run.returncode, USAGE, run.stderr)
        self.assertEqual(run.stdout, "")
        lines = [line for line in run.stderr.splitlines() if "error:" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        for word in words:
            self.assertIn(str(word), lines[0])

    def test_that_cannot_be_written_is_refused_before_the_first_step(self):
        # Were it refused at the end only, the watch of the harness would find it hanging.
        endless = config_of([W], tp=2, run={"steps": 10_000_000})
        for name, reason in self.BAD:
            path = self.path(name)
            for option in ("--output", "--csv"):
                with self.subTest(path=path, option=option):
                    run = self.start(2, "run", "--config", self.write_config(endless), option, path)
                    self.assert_refused_before_the_first_step(run, path, reason)
            with self.subTest(path=path, command="plan"):
                run = self.start(ALONE, "plan", "--config", self.write_config(endless), "--output", path)
                self.assert_refused_before_the_first_step(run, path, reason)

    def test_that_is_there_stays_unless_overwrite_is_given(self):
        older = self.path("older")
        for words in (["run", "--output"], ["run", "--csv"], ["plan", "--output"]):
            with self.subTest(words=words):
                older.write_text("older", encoding="utf-8")
                command, option = words
                run = self.start(ALONE, command, "--config", self.write_config(OK), option, older)
                self.assert_refused_before_the_first_step(run, older, "--overwrite")
                self.assertEqual(older.read_text(encoding="utf-8"), "older")

                run = self.start(ALONE, command, "--config", self.write_config(OK), option, older, "--overwrite")
                self.assertEqual(run.returncode, DONE, run.stderr)
                self.assertGreater(older.stat().st_size, 100)

    def test_of_a_refused_run_leaves_older_files_alone(self):
        older, rows = self.path("older.json"), self.path("older.csv")
        for path in (older, rows):
            path.write_text("older", encoding="utf-8")
        refused = (
            (2, {**OK, "run": {"steps": 0}}),
            (2, {**OK, "model": {"params": [W, W]}}),
            (3, config_of([W], tp=2)),
            (2, '{"run": }'),
        )
        for ranks, config in refused:
            with self.subTest(config=config):
                run = self.run_job(ranks, config, "--csv", rows, "--overwrite", output=older)
                self.assertEqual(run.returncode, USAGE, run.stderr)
                for path in (older, rows):
                    self.assertEqual(path.read_text(encoding="utf-8"), "older")
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])

    def test_on_a_full_device_ends_with_5_and_the_reason(self):
        for words in (["run", "--output"], ["run", "--csv"], ["plan", "--output"]):
            with self.subTest(words=words):
                run = self.start(ALONE, words[0], "--config", self.write_config(OK), words[1], "/dev/full")
                self.assertEqual(run.returncode, RUNTIME, run.stderr)
                self.assertIn("/dev/full", run.stderr)
                self.assertIn("No space left on device", run.stderr)

    def test_to_a_full_standard_output_ends_with_5(self):
        config = self.write_config(OK)
        for form in ("table", "json", "csv"):
            with self.subTest(form=form), open("/dev/full", "wb") as full:
                run = subprocess.run(
                    [program(), "run", "--config", str(config), "--format", form],
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)  # fmt: skip
                self.assertEqual(run.returncode, RUNTIME, run.stderr)
                self.assertIn("standard output", run.stderr)

    def test_of_which_one_part_cannot_be_written_claims_no_success(self):
        run = self.run_job(ALONE, OK, "--csv", "/dev/full")
        self.assertEqual(run.returncode, RUNTIME, run.stderr)
        self.assertFalse(run.output.exists() and run.result["complete"], "exit status 5 beside a complete result")

    def test_of_two_kinds_to_one_file_is_refused(self):
        path = self.path("both")
        run = self.start(ALONE, "run", "--config", self.write_config(OK), "--output", path, "--csv", path, output=path)
        self.assert_refused(run, path, "--csv")

    def test_of_programs_started_together_is_one_program_s(self):
        path = self.path("result.json")
        words = [program(), "run", "--config", str(self.write_config(OK)), "--output", str(path)]
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        started = [subprocess.Popen(words, **streams) for _ in range(4)]
        errors = [process.communicate(timeout=60)[1] for process in started]
        self.assertEqual(sorted(process.returncode for process in started), [DONE, USAGE, USAGE, USAGE], errors)
        self.assertTrue(strict_json(path.read_text(encoding="utf-8"))["complete"])


class Csv(CliTest):
    MODES = ["layer_sharded", "duplicated", "adam_dim0"]

    def read(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.reader(file, strict=True))

    def test_has_a_row_per_mode_and_rank_and_the_same_columns_always(self):
        names = ["plain", 'comma, "quote"', "Größe 行列 🙂", "two\nlines\r\nand a tab\t", "'=1+1;"]
        params = [param('w, "q" ü', 16, 16), param("e", 16, 4, optimizer="adam")]
        headers = []
        for i, name in enumerate(names):
            ranks, modes = 1 + i % 2, self.MODES[: 1 + i % 3]
            path = self.path(f"rows{i}.csv")
            run = self.run_ok(ranks, config_of(params, tp=ranks, modes=modes, name=name), "--csv", path)
            header, *rows = self.read(path)
            headers.append(header)
            self.assertEqual(len(rows), len(modes) * ranks)
            mode, rank = header.index("mode"), header.index("rank")
            expected = [(m, str(r)) for m in modes for r in range(ranks)]
            self.assertEqual([(row[mode], row[rank]) for row in rows], expected)
            for row in rows:
                self.assertEqual(len(row), len(header))
                self.assertEqual(row[header.index("name")], name)
                for unknown in ("nan", "inf", "null", "none"):
                    self.assertNotIn(unknown, [cell.lower() for cell in row])
            self.assertTrue(path.read_bytes().endswith(b"\r\n"))
            self.assertEqual(run.result["config"]["name"], name)
        self.assertEqual(len(set(headers[0])), len(headers[0]))
        for header in headers:
            self.assertEqual(header, headers[0])

    def test_shows_unknown_as_an_empty_cell_and_numbers_that_read_back(self):
        path = self.path("rows.csv")
        run = self.run_ok(1, config_of([W], modes=["layer_sharded"]), "--csv", path)
        header, row = self.read(path)
        cells = dict(zip(header, row))
        mode = run.mode("layer_sharded")
        for key in ("exchange_algbw_gbs", "exchange_busbw_gbs", "speedup_vs_duplicated"):
            self.assertEqual(cells[key], "", key)
        self.assertEqual(float(cells["step_seconds_mean"]), mode["step_seconds"]["mean"])
        self.assertEqual(float(cells["ns_tflops"]), mode["throughput"]["ns_tflops"])
        self.assertEqual(int(cells["ns_flops"]), ns_flops(16, 16))


if __name__ == "__main__":
    unittest.main()
