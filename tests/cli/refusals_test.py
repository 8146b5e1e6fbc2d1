# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""What is refused, with which exit status and which words, before anything runs or is written."""

import copy
import json
import os
import unittest

from harness import ALONE, DONE, RUNTIME, USAGE, CliTest, config_of, param

OK = config_of([param("w", 16, 16)], tp=2, modes=["layer_sharded"])
MARK = "@"


def with_raw(path, raw):
    """The text of OK with the JSON text `raw` at a dotted path: what no JSON writer would write can be tried, too."""
    config = copy.deepcopy(OK)
    place = config
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in keys[:-1]:
        place = place[key] if isinstance(key, int) else place.setdefault(key, {})
    place[keys[-1]] = MARK
    return json.dumps(config).replace(json.dumps(MARK), raw)


class Numbers(CliTest):
    def assert_each_refused(self, path, key, values):
        for i, raw in enumerate(values):
            with self.subTest(key=path, value=raw):
                self.assert_refused(self.run_job(2 if i == 0 else ALONE, with_raw(path, raw)), key, "expected")

    def test_of_steps_outside_their_range_or_of_another_type_are_refused(self):
        values = ["-1", "0", "3.5", '"10"', "true", "null", "1e400", "18446744073709551716", "4294967296"]
        self.assert_each_refused("run.steps", "run.steps", values)
        self.assert_each_refused("run.warmup_steps", "run.warmup_steps", ["-1", "0.5"])

    def test_of_ranks_outside_their_range_are_refused(self):
        for path in ("parallelism.gtp_remat", "parallelism.tp"):
            self.assert_each_refused(path, path, ["0", "-2", "2147483648", "1.5"])

    def test_in_shapes_that_are_no_sizes_are_refused(self):
        values = ["[0,16]", "[-4,16]", "[]", "[2,3,4]", '[16,"16"]', "[1.5,4]", "16", "null"]
        self.assert_each_refused("model.params.0.shape", "model.params[0].shape", values)
        # A 1-D shape is one for Adam alone.
        self.assert_refused(self.run_job(2, with_raw("model.params.0.shape", "[16]")), "model.params[0]", "w")
        # Sizes that fit by themselves, bytes that do not.
        huge = with_raw("model.params.0.shape", "[4294967296,4294967296]")
        self.assert_refused(self.run_job(2, huge), "w", "4294967296")

    def test_of_the_optimizer_outside_their_range_are_refused(self):
        self.assert_each_refused("muon.lr", "muon.lr", ['"0.1"', "null", "-1"])
        self.assert_each_refused("muon.num_ns_steps", "muon.num_ns_steps", ["0"])
        self.assert_each_refused("muon.momentum", "muon.momentum", ["1.5"])
        self.assert_each_refused("gradients.seed", "gradients.seed", ["-1"])

    def test_show_the_value_that_was_given(self):
        for path, raw in (("run.steps", "-1"), ("parallelism.tp", "2147483648"), ("muon.lr", '"0.1"')):
            self.assert_refused(self.run_job(ALONE, with_raw(path, raw)), path, f"got {raw}")

    def test_given_with_an_exponent_are_taken_if_whole(self):
        run = self.run_job(2, with_raw("run.steps", "1e1"))
        self.assertIn(run.returncode, (DONE, USAGE))
        if run.returncode == DONE:
            self.assertEqual(len(run.mode("layer_sharded")["step_seconds"]["samples"]), 10)
        else:
            self.assert_refused(run, "run.steps", "1e1")


class Configuration(CliTest):
    def test_with_a_misspelt_key_names_the_nearest(self):
        self.assert_refused(self.run_job(2, with_raw("parallelism.gtp_rmat", "2")), "gtp_rmat", "gtp_remat")
        self.assert_refused(self.run_job(ALONE, with_raw("run.warmpu_steps", "3")), "warmpu_steps", "warmup_steps")

    def test_with_an_unknown_mode_lists_the_known_ones(self):
        run = self.run_job(2, with_raw("modes", '["layer_shard"]'))
        self.assert_refused(run, "modes", "layer_shard", "layer_sharded", "duplicated", "adam_dim0")

    def test_that_is_no_json_is_refused_by_line(self):
        for text in ('{"run": {"steps": 1,}}', "{'run': 1}", "", '\n{"run": {"steps": 1}'):
            with self.subTest(text=text):
                self.assert_refused(self.run_job(ALONE, text), ".json", "line", "column")
        self.assert_refused(self.run_job(ALONE, "[]"), ".json", "object")

    def test_may_hold_comments(self):
        run = self.run_job(2, "// why\n" + json.dumps(OK).replace('"run"', '/* how */ "run"'))
        self.assertEqual(run.returncode, DONE, run.stderr)

    def test_that_cannot_be_read_is_refused_by_path_and_reason(self):
        for path, reason in ((self.path("none.json"), "No such file"), (self.folder, "directory")):
            output = self.path("result.json")
            run = self.start(2, "run", "--config", path, "--output", output, output=output)
            self.assert_refused(run, path, reason)

    def test_for_another_number_of_ranks_is_refused_with_all_factors(self):
        for ranks in (1, 3):
            run = self.run_job(ranks, config_of([param("w", 16, 16)], gtp_remat=2, tp=2))
            self.assert_refused(run, "parallelism", ranks, "4")

    def test_that_this_build_cannot_honour_is_refused_and_not_ignored(self):
        for path, raw in (("run.backend", '"cuda"'), ("run.transport", '"nccl"')):
            self.assert_refused(self.run_job(ALONE, with_raw(path, raw)), path)

    def test_can_be_overridden_by_its_dotted_path(self):
        run = self.run_ok(2, OK, "--set", "run.steps=3", "--set", "name=other")
        self.assertEqual(run.result["config"]["run"]["steps"], 3)
        self.assertEqual(run.result["config"]["name"], "other")
        self.assert_refused(self.run_job(2, OK, "--set", "run.stps=3"), "run.stps", "steps")


class CommandLine(CliTest):
    def test_that_is_not_understood_ends_with_usage(self):
        for arguments in (["run"], ["walk"], ["run", "--config"], ["run", "--speed", "9"]):
            with self.subTest(arguments=arguments):
                run = self.start(ALONE, *arguments)
                self.assertEqual(run.returncode, USAGE, run.stderr)
                self.assertTrue(run.stderr)
                self.assertEqual(run.stdout, "")

    def test_asks_for_the_version_and_help_without_a_job(self):
        self.assertRegex(self.start(ALONE, "--version").stdout, r"\d+\.\d+\.\d+")
        help_text = self.start(ALONE, "run", "--help")
        self.assertEqual(help_text.returncode, DONE)
        self.assertIn("--config", help_text.stdout)
        for mode in ("layer_sharded", "duplicated", "distributed", "blockwise", "auto", "layer_wise", "adam_dim0",
                     "adam_replicated"):
            self.assertRegex(help_text.stdout, rf"(?m)^  {mode} +\w")


class OutputFile(CliTest):
    def test_that_exists_is_kept_unless_overwrite_is_given(self):
        output = self.path("result.json")
        output.write_text("older", encoding="utf-8")
        run = self.run_job(2, OK, output=output)
        self.assertEqual(run.returncode, USAGE, run.stderr)
        self.assertIn("--overwrite", run.stderr)
        self.assertIn(str(output), run.stderr)
        self.assertEqual(output.read_text(encoding="utf-8"), "older")

        run = self.run_job(2, OK, "--overwrite", output=output)
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertTrue(run.result["complete"])

    def test_that_a_refused_run_names_stays_as_it_was(self):
        output = self.path("result.json")
        output.write_text("older", encoding="utf-8")
        run = self.run_job(2, with_raw("run.steps", "0"), "--overwrite", output=output)
        self.assertEqual(run.returncode, USAGE)
        self.assertEqual(output.read_text(encoding="utf-8"), "older")

    def test_in_a_missing_directory_or_being_one_is_refused_before_the_first_step(self):
        run = self.run_job(2, OK, output=self.path("none/result.json"))
        self.assert_refused(run, "none/result.json", "No such file or directory")
        self.assertEqual(self.run_job(2, OK, output=self.folder).returncode, USAGE)
        self.assertEqual(self.run_job(2, OK, output="/proc/muonbench.json").returncode, USAGE)

    def test_on_a_full_device_fails_although_the_measurement_went_well(self):
        run = self.run_job(2, OK, output="/dev/full")
        self.assertEqual(run.returncode, RUNTIME, run.stderr)
        self.assertIn("No space left on device", run.stderr)

    def test_leaves_nothing_beside_itself(self):
        self.run_ok(2, OK)
        self.assertEqual(sorted(os.listdir(self.folder)), ["config1.json", "result1.json"])


if __name__ == "__main__":
    unittest.main()
