# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations, files, locales and launchers as they come in the field: what is taken, what is refused and how."""

import csv
import json
import os
import shutil
import subprocess
import time
import unittest

from harness import ALONE, DONE, RUNTIME, USAGE, CliTest, config_of, mpirun, ns_flops, param, program, strict_json

W = param("w", 16, 16)
OK = config_of([W], modes=["layer_sharded"])
SECONDS_TO_REFUSE = 10
SECONDS_TO_REFUSE_A_FILE = 20


class Configuration(CliTest):
    TEXT = json.dumps(OK, indent=1)

    def assert_each_refused(self, cases):
        """cases: configuration, words of the message. Every third is started on two ranks: one message then, too."""
        for i, (config, *words) in enumerate(cases):
            with self.subTest(words=words, config=str(config)[:200]):
                start = time.monotonic()
                run = self.run_job(2 if i % 3 == 0 else ALONE, config)
                self.assertLess(time.monotonic() - start, SECONDS_TO_REFUSE)
                self.assert_refused(run, f"config{i + 1}.json", *words)
                self.assertEqual(run.stderr.count("error:"), 1, run.stderr)

    def test_with_a_misspelt_or_misplaced_key_is_refused_by_its_path(self):
        self.assert_each_refused([
            ({**OK, "warmpu": 3}, "warmpu", "unknown key", "run", "modes"),
            ({**OK, "modse": ["duplicated"]}, "modse: unknown key", "did you mean modes"),
            ({**OK, "domain": {"gpt": 2}}, "domain", "unknown key", "parallelism"),
            ({**OK, "parallelism": {"gtp_rmeat": 2}}, "parallelism.gtp_rmeat", "did you mean gtp_remat"),
            ({**OK, "run": {"warmpu_steps": 3}}, "run.warmpu_steps", "did you mean warmup_steps"),
            ({**OK, "muon": {"wieght_decay": 0}}, "muon.wieght_decay", "did you mean weight_decay"),
            ({**OK, "muon": {"groups": {"a": {"lrr": 1}}}}, "muon.groups.a.lrr", "did you mean lr"),
            ({**OK, "model": {"params": [{**W, "tpdim": 0}]}}, "model.params[0].tpdim", "did you mean tp_dim"),
            ({**OK, "gradients": {"inject": [{"parm": "w"}]}}, "gradients.inject[0].parm", "did you mean param"),
            (self.TEXT.replace('"tp": 1', '"tp": 1, "tp": 1'), "parallelism.tp", "once"),
        ])  # fmt: skip

    def test_without_a_model_or_with_two_is_refused(self):
        without = {key: value for key, value in OK.items() if key != "model"}
        sources = ("preset", "transformer", "safetensors", "params")
        self.assert_each_refused([
            (without, "model", *sources),
            ({**OK, "model": {}}, "model", *sources),
            ({**OK, "model": {"params": []}}, "model.params", "non-empty", "[]"),
            ({**OK, "model": {"params": [W], "preset": "llama3-8b"}}, "model", "exactly one", "preset and params"),
            ({**OK, "model": "llama3-8b"}, "model", "expected an object", '"llama3-8b"'),
            ({**OK, "model": {"params": [{"name": "w"}]}}, "model.params[0].shape", "nothing"),
            ({**OK, "model": {"params": [{"shape": [4, 4]}]}}, "model.params[0].name", "nothing"),
        ])  # fmt: skip

    def test_with_an_unknown_word_lists_the_known_ones(self):
        self.assert_each_refused([
            ({**OK, "modes": ["layer_shard"]}, "modes[0]", '"layer_shard"', "layer_sharded", "duplicated", "adam_dim0"),
            ({**OK, "modes": []}, "modes", "non-empty", "layer_sharded"),
            ({**OK, "modes": ["duplicated", "duplicated"]}, "modes[1]", "duplicated"),
            ({**OK, "gradients": {"fill": "one"}}, "gradients.fill", '"one"', "random", "ones", "zeros"),
            ({**OK, "muon": {"coefficient_type": "quintc"}}, "muon.coefficient_type", '"quintc"', "quintic", "simple"),
            ({**OK, "model": {"params": [{**W, "optimizer": "sgd"}]}}, "params[0].optimizer", '"sgd"', "muon, adam"),
            ({**OK, "run": {"timing": "phase"}}, "run.timing", '"phase"', "step", "phases"),
        ])  # fmt: skip

    def test_that_is_no_json_is_refused_by_line_and_column(self):
        text = self.TEXT
        line = text.splitlines().index('  "steps": 1') + 1
        trailing = text.replace('"steps": 1\n', '"steps": 1,\n')
        self.assert_each_refused([
            (trailing, f"line {line + 1}, column", "comma"),
            ("// why\n" + trailing, f"line {line + 2}, column", "comma"),
            (text.replace('"layer_sharded"\n', '"layer_sharded",\n'), "line", "column", "comma"),
            (text.replace('"steps": 1', '"steps": NaN'), f"line {line}, column"),
            (text.replace('"', "'"), "line 2, column", "double quotes"),
            ("# why\n" + text, "line 1, column 1"),
            ("/* why\n" + text, "line", "column", "comment"),
            (text[:-3], "line", "column", "end of input"),
            (text + text, "line", "column", "end of input"),
            ("", "line 1, column 1", "empty"),
            ("[" * 100_000, "nested"),
            ("[]", "object", "[]"),
            ('"model"', "object"),
        ])  # fmt: skip

    def test_in_another_encoding_is_refused_by_line_and_column(self):
        path = self.path("latin1.json")
        path.write_bytes(self.TEXT.replace("case", "Fälle").encode("latin-1"))
        self.assert_refused(self.start(ALONE, "run", "--config", path), "latin1.json", "line 2, column", "UTF-8")

    def test_may_hold_comments_a_byte_order_mark_and_any_line_ends(self):
        commented = '// why\n/* and\n how */ {' + self.TEXT[1:].replace('"run"', '/* "run": {} */ "run"') + "// end"
        plain = self.run_ok(ALONE, self.TEXT).digests("layer_sharded")
        for text in (commented, "\ufeff" + self.TEXT, self.TEXT.replace("\n", "\r\n"), self.TEXT.replace("\n", "\r")):
            with self.subTest(text=text[:8]):
                self.assertEqual(self.run_ok(ALONE, text).digests("layer_sharded"), plain)

    def test_with_two_parameters_of_one_name_is_refused_by_name_and_both_positions(self):
        taller = param("w", 32, 16)
        for params, name in (
            ([W, taller], '"w"'),
            ([W, {**taller, "expert": True}], '"w"'),
            ([W, {**taller, "optimizer": "adam"}], '"w"'),
            ([param("w.1", 16, 16), {**taller, "repeat": 3}], '"w.1"'),
            ([{**taller, "repeat": 3}, param("w.1", 16, 16)], '"w.1"'),
        ):
            with self.subTest(params=params):
                run = self.run_job(2, {**config_of(params, tp=2)})
                self.assert_refused(run, "model.params[1]", "model.params[0]", name)
        # Names that only look alike are two.
        run = self.run_ok(2, config_of([{**W, "repeat": 2}, param("w", 8, 8), param("W", 8, 8)], tp=2))
        self.assertEqual(list(run.digests("duplicated")), ["w.0", "w.1", "w", "W"])


class ConfigurationFile(CliTest):
    def run_with(self, rank0, others, before=1):
        """One file for the first `before` ranks, another for the rest of four."""
        output = self.path("result.json")
        words = ["--output", output]
        first = ["-n", before, program(), "run", "--config", rank0, *words]
        rest = ["-n", 4 - before, program(), "run", "--config", others, *words]
        start = time.monotonic()
        run = self.execute([*mpirun(), *first, ":", *rest], output=output)
        self.assertLess(time.monotonic() - start, SECONDS_TO_REFUSE_A_FILE)
        return run

    def test_of_rank_0_is_the_one_that_counts(self):
        good = self.write_config(config_of([W], gtp_remat=2, tp=2))
        other = self.path("other.json")
        other.write_text(json.dumps(config_of([W], gtp_remat=4, run={"steps": 7})), encoding="utf-8")
        for others in ("/nonexistent.json", self.folder, other):
            with self.subTest(others=others):
                run = self.run_with(good, others, before=3)
                self.assertEqual(run.returncode, DONE, run.stderr)
                self.assertTrue(run.result["complete"])
                self.assertEqual(run.result["config"]["parallelism"]["gtp_remat"], 2)
                self.assertEqual(len(run.mode("duplicated")["step_seconds"]["samples"]), 1)
                run.output.unlink()

    def test_that_rank_0_cannot_read_ends_all_ranks_with_one_message(self):
        good = self.write_config(config_of([W], gtp_remat=2, tp=2))
        for bad, reason in (("/nonexistent.json", "No such file or directory"), (self.folder, "Is a directory")):
            with self.subTest(bad=bad):
                run = self.run_with(bad, good)
                self.assert_refused(run, bad, reason)
                self.assertEqual(run.stderr.count("error:"), 1, run.stderr)

    @unittest.skipIf(os.geteuid() == 0, "root reads every file")
    def test_without_permission_is_refused_by_reason(self):
        path = self.write_config(OK)
        path.chmod(0)
        self.assert_refused(self.start(2, "run", "--config", path), path, "Permission denied")


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


class Plan(CliTest):
    """Sizes that no test machine holds: nothing is allocated, every number is exact."""

    def plan(self, params, **sections):
        path = self.path("plan.json")
        words = ["--config", self.write_config(config_of(params, **sections)), "--output", path, "--overwrite"]
        run = self.start(ALONE, "plan", *words, output=path)
        self.assertEqual(run.returncode, DONE, run.stderr)
        return run

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


if __name__ == "__main__":
    unittest.main()
