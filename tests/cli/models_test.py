# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that the program knows or reads: presets, checkpoints, experts on their own grid."""

import json
import struct
import unittest

from harness import ALONE, DONE, USAGE, CliTest, config_of, param


def write_checkpoint(path, shapes):
    """A .safetensors file of bf16 zeros."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = 2
        for extent in shape:
            size *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


class Presets(CliTest):
    def test_are_listed_with_their_totals(self):
        run = self.start(ALONE, "models")
        self.assertEqual(run.returncode, DONE, run.stderr)
        rows = [line.split() for line in run.stdout.splitlines()]
        self.assertIn(["llama3-8b", "8030261248", "6979321856", "1050939392", "224", "32"], rows)
        self.assertIn(["deepseek-v3", "671026419200", "669172039680", "1854379520", "45090", "61"], rows)
        names = [row[0] for row in rows[1 : rows.index([])]]
        self.assertEqual(len(names), 14)
        self.assertEqual(names, sorted(names))

    def test_show_their_weights_by_kind(self):
        run = self.start(ALONE, "models", "mixtral-8x7b")
        self.assertEqual(run.returncode, DONE, run.stderr)
        lines = run.stdout.splitlines()
        experts = [line.split() for line in lines if line.startswith("moe.expert.down")]
        self.assertEqual(
            experts,
            [["moe.expert.down", "4096", "x", "14336", "muon", "256", str(256 * 4096 * 14336)]
             + "tp_dim 1, gtp_remat, expert, 8 per layer".split()],
        )
        self.assertIn("46702792704 parameters: 46440382464 in 928 Muon matrices, 262410240 in Adam.", run.stdout)

    def test_are_refused_with_the_nearest_name(self):
        for arguments in (
            ["models", "mixtral8x7b"],
            ["plan", "--config", self.write_config({"model": {"preset": "mixtral8x7b"}})],
        ):
            run = self.start(ALONE, *arguments)
            self.assertEqual(run.returncode, USAGE)
            self.assertIn('got "mixtral8x7b", did you mean mixtral-8x7b?', run.stderr)
            self.assertEqual(run.stdout, "")


class Checkpoints(CliTest):
    def test_give_a_run_the_model_that_rank_0_read(self):
        path = self.path("model.safetensors")
        write_checkpoint(
            path,
            {
                "model.embed_tokens.weight": [40, 16],
                "model.layers.0.self_attn.q_proj.weight": [32, 16],
                "model.layers.0.self_attn.o_proj.weight": [16, 32],
                "model.layers.0.mlp.experts.0.up_proj.weight": [16, 16],
                "model.layers.0.mlp.experts.1.up_proj.weight": [16, 16],
                "model.norm.weight": [16],
            },
        )
        config = config_of([], gtp_remat=2, tp=2, parallelism={"ep": 2})
        config["model"] = {"safetensors": str(path)}
        run = self.run_ok(4, config)
        model = run.result["model"]
        self.assertEqual(model["muon_parameters"], 2 * 32 * 16 + 2 * 16 * 16)
        self.assertEqual(model["adam_parameters"], 40 * 16 + 16)
        self.assertEqual(model["muon_matrices"], 4)
        self.assertEqual(run.result["config"]["model"], {"safetensors": str(path)})
        self.assert_equal_bits(run)

    def test_that_are_truncated_are_refused_by_one_message(self):
        path = self.path("model.safetensors")
        write_checkpoint(path, {"w": [4, 4]})
        path.write_bytes(path.read_bytes()[:-1])
        config = config_of([], gtp_remat=2)
        config["model"] = {"safetensors": str(path)}
        self.assert_refused(self.run_job(2, config), "model.safetensors", "w", "truncated")


class Experts(CliTest):
    def test_that_ep_does_not_divide_are_refused(self):
        config = config_of([param("e", 16, 16, expert=True, repeat=3)], gtp_remat=2, parallelism={"ep": 2})
        self.assert_refused(self.run_job(2, config), "parallelism.ep", "3", "16 x 16")

    def test_follow_the_learning_rate_of_their_group(self):
        params = [param("slow", 16, 16, group="slow"), param("w", 16, 16), param("e", 16, 16, expert=True, group="slow")]
        config = config_of(params, gtp_remat=2, muon={"groups": {"slow": {"lr": 0.25}}})
        run = self.run_ok(2, config)
        for mode in ("layer_sharded", "duplicated"):
            moved = {entry["name"]: entry["delta_abs_max"] for entry in run.mode(mode)["params"]}
            # The same gradient, all ones, and lr 1: elements differ by the factor 4, but for fp32's last digits.
            self.assertAlmostEqual(moved["w"] / moved["slow"], 4, places=3)
            self.assertAlmostEqual(moved["e"] / moved["slow"], 1, places=3)
        self.assert_equal_bits(run)


if __name__ == "__main__":
    unittest.main()
