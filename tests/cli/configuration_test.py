# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations and their files as they come in the field: what is taken, what is refused and how."""

import json
import os
import time
import unittest

from harness import ALONE, DONE, CliTest, config_of, mpirun, param, program

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
            ({**OK, "warmpu": 3}, "warmpu", "unknown key", "did you mean run.warmup_steps"),
            ({**OK, "mode": ["duplicated"]}, "mode: unknown key", "did you mean modes"),
            ({**OK, "parallelism": {"gpt": 2}}, "parallelism.gpt: unknown key", "did you mean gtp_remat"),
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


if __name__ == "__main__":
    unittest.main()
