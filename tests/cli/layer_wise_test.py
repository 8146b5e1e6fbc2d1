# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Mode layer_wise: who owns what, what that costs each rank, bits as in duplicated, and options that belong to it alone."""

import unittest

from harness import ALONE, CliTest, config_of, param

MODES = ["layer_wise", "duplicated", "layer_sharded", "adam_dim0"]
GIANTS = [param("embed", 1024, 64, optimizer="adam"), param("output", 1024, 64, optimizer="adam")]
MODEL = [*GIANTS, param("w", 64, 64, repeat=8)]
BF16 = {"param_dtype": "bf16", "steps": 2}


def job(params, dp=4, modes=MODES, **sections):
    sections = {"gradients": {"fill": "random"}, "run": BF16, "modes": modes, **sections}
    parallelism = {"dp": dp, **sections.pop("parallelism", {})}
    return config_of(params, parallelism=parallelism, **sections)


class LayerWise(CliTest):
    def owners(self, run):
        return {owner["param"]: owner["dp"] for owner in run.mode("layer_wise")["owners"]}

    def test_keeps_giants_apart_by_numel_and_as_upstream_did_by_default(self):
        expected = {
            "lpt_numel": [786_432, 786_432, 131_072, 131_072],
            "ping_pong": [851_968, 851_968, 65_536, 65_536],
        }
        for policy, sizes in expected.items():
            config = job(MODEL, layer_wise={"policy": policy})
            for run in (self.plan_ok(config), self.run_ok(4, config)):
                state = run.memory("layer_wise", "state_bytes")
                self.assertEqual(sorted(state, reverse=True), sizes, policy)
                self.assertEqual(sum(state), 1_835_008)
                mean = sum(sizes) / 4
                self.assertAlmostEqual(run.mode("layer_wise")["state_max_over_mean"], sizes[0] / mean)
                by_owner = [0] * 4
                for name, dp in self.owners(run).items():
                    by_owner[dp] += 65_536 * 12 if name in ("embed", "output") else 4096 * 8
                self.assertEqual(state, by_owner)
                # Adam's by rows: a quarter of each giant.
                self.assertEqual(run.memory("adam_dim0", "state_bytes"), [(2 * 65_536 + 8 * 4096) * 12 // 4] * 4)

    def test_ends_with_the_bits_of_duplicated(self):
        params = [*MODEL, param("frozen", 16, 16, gradient="none"), param("norm", 33, optimizer="adam", gtp_remat=False)]
        for adam in ("layer_wise", "dim0"):
            for layout in ({"dp": 4}, {"dp": 2, "gtp_remat": 2}, {"dp": 2, "tp": 2}):
                run = self.run_ok(4, job(params, layer_wise={"adam": adam}, parallelism=layout))
                parity = run.mode("layer_wise")["parity"]
                self.assertEqual((parity["reference_mode"], parity["max_abs_diff"]), ("duplicated", 0))
                self.assertIs(parity["bit_identical"], True, (adam, layout))
                self.assertIsNone(parity["why"])
                self.assertEqual(run.digests("layer_wise"), run.digests("duplicated"))

    def test_plan_and_run_say_the_same(self):
        for layout in ({"dp": 4}, {"dp": 2, "gtp_remat": 2}):
            for adam in ("layer_wise", "dim0"):
                config = job(MODEL, layer_wise={"adam": adam}, parallelism=layout)
                plan, run = self.plan_ok(config), self.run_ok(4, config)
                self.assertEqual(plan.mode("layer_wise")["owners"], run.mode("layer_wise")["owners"])
                self.assertEqual(plan.mode("layer_wise")["homes"], run.mode("layer_wise")["homes"])
                for key in ("collectives", "sent_bytes", "received_bytes", "ns_calls", "ns_flops"):
                    self.assertEqual(plan.ranks("layer_wise", key), run.ranks("layer_wise", key), key)
                for key in ("state_bytes", "peak_bytes", "exchange_bytes"):
                    self.assertEqual(plan.memory("layer_wise", key), run.memory("layer_wise", key), key)

    def test_hybrid_deals_adams_rows_over_all_and_names_owners_of_muons_alone(self):
        run = self.plan_ok(job(MODEL, layer_wise={"adam": "dim0"}))
        self.assertEqual(self.owners(run), {f"w.{i}": dp for i, dp in enumerate([0, 1, 2, 3, 3, 2, 1, 0])})
        self.assertEqual(run.memory("layer_wise", "state_bytes"), [2 * 65_536 * 12 // 4 + 2 * 4096 * 8] * 4)
        self.assertEqual(run.mode("layer_wise")["state_max_over_mean"], 1)

    def test_has_homes_of_its_own_in_each_replica(self):
        run = self.plan_ok(job([param("w", 32, 16, repeat=4)], dp=2, parallelism={"gtp_remat": 2}))
        homes = {home["param"]: home["g"] for home in run.mode("layer_wise")["homes"]}
        self.assertEqual(self.owners(run), {"w.0": 0, "w.1": 1, "w.2": 1, "w.3": 0})
        self.assertEqual(homes, {"w.0": 0, "w.1": 0, "w.2": 1, "w.3": 1})
        self.assertEqual({h["param"]: h["g"] for h in run.result["homes"]}, {"w.0": 0, "w.1": 1, "w.2": 0, "w.3": 1})
        self.assertEqual(run.ranks("layer_wise", "ns_calls"), [1] * 4)
        self.assertIsNone(run.mode("layer_sharded")["owners"])
        self.assertIsNone(run.mode("layer_sharded")["homes"])

    def test_of_an_embedding_takes_eleven_gigabytes_on_its_owner(self):
        embedding = [param("embedding", 129_280, 7168, optimizer="adam")]
        for moments, size in (("fp32", 12), ("bf16", 8)):
            whole = self.plan_ok(job(embedding, dp=8, adam={"moment_dtype": moments}))
            self.assertEqual(whole.memory("layer_wise", "state_bytes"), [926_679_040 * size] + [0] * 7)
            hybrid = self.plan_ok(job(embedding, dp=8, adam={"moment_dtype": moments}, layer_wise={"adam": "dim0"}))
            self.assertEqual(hybrid.memory("layer_wise", "state_bytes"), [926_679_040 * size // 8] * 8)
            self.assertEqual(hybrid.memory("adam_dim0", "state_bytes"), [926_679_040 * size // 8] * 8)
        self.assertEqual(926_679_040 * 12, 11_120_148_480)

    def test_counts_one_gather_of_what_each_replica_owns(self):
        run = self.run_ok(4, job(MODEL, layer_wise={"policy": "lpt_numel"}))
        owned = [65_536, 65_536, 4 * 4096, 4 * 4096]
        self.assertEqual(run.ranks("layer_wise", "collectives"), [1] * 4)
        self.assertEqual(run.ranks("layer_wise", "sent_bytes"), [3 * 2 * size for size in owned])
        self.assertEqual(run.ranks("layer_wise", "received_bytes"), [2 * (sum(owned) - size) for size in owned])

    def test_reduces_gradients_to_their_owners_before_the_step(self):
        # The program compares what communicators counted with its own counts, reductions of gradients apart.
        for layout in ({"dp": 4}, {"dp": 2, "gtp_remat": 2}):
            run = self.run_ok(4, job(MODEL, run={**BF16, "timing": "phases"}, parallelism=layout))
            phases = run.mode("layer_wise")["phases_seconds"]
            self.assertGreater(phases["grad_reduce"], 0)
            self.assertGreater(phases["param_gather"], 0)
            self.assertIs(run.mode("layer_wise")["parity"]["bit_identical"], True)

    def test_names_bad_values_of_its_state(self):
        for name in ("embed", "w.3"):
            inject = [{"param": name, "step": 1, "row": 5, "column": 3, "value": "nan"}]
            run = self.run_job(4, job(MODEL, modes=["layer_wise"], gradients={"fill": "random", "inject": inject}))
            self.assertEqual(run.returncode, 4, run.stderr)
            self.assertIn(f"mode layer_wise: parameter {name}:", run.stderr)
        # An exp_avg_sq that overflows makes an update of zeros, which no weight shows; in bf16 too.
        model = [{**entry, "gradient_scale": 1e20} if entry["name"] == "embed" else entry for entry in MODEL]
        run = self.run_job(4, job(model, modes=["layer_wise"], adam={"moment_dtype": "bf16"}, gradients={"fill": "random"}))
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertRegex(run.stderr, r"parameter embed: \d+ values of its moments are not finite")

    def test_options_are_refused_where_the_mode_does_not_run(self):
        for key, value in (("policy", "lpt_numel"), ("policy", "lpt_ns_cost"), ("adam", "dim0")):
            config = job(MODEL, modes=["layer_sharded"], layer_wise={key: value})
            self.assert_refused(self.run_job(ALONE, config), f"layer_wise.{key}", "not among modes", value)
        self.plan_ok(job(MODEL, modes=["layer_sharded"], layer_wise={"policy": "ping_pong", "adam": "layer_wise"}))
        for section, key, value in (
            ("layer_wise", "policy", "round_robin"),
            ("layer_wise", "adam", "rows"),
            ("adam", "moment_dtype", "fp16"),
        ):
            self.assert_refused(
                self.run_job(ALONE, job(MODEL, **{section: {key: value}})), f"{section}.{key}", value
            )


if __name__ == "__main__":
    unittest.main()
