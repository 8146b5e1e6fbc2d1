# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of results: what is drawn are the result's numbers, and what cannot be drawn is refused by file and mode."""

import importlib.util
import json
import subprocess
import unittest
import xml.etree.ElementTree

import harness

SCRIPT = "scripts/plot.py"


def load_plot():
    spec = importlib.util.spec_from_file_location("plot", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts_of(picture):
    return [node.text.strip() for node in xml.etree.ElementTree.parse(picture).iter() if node.tag.endswith("text") and node.text]


class Plot(harness.CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = harness.config_of([harness.param("w", 24, 16, tp_dim=0), harness.param("e", 9, 8, optimizer="adam")],
                                   gtp_remat=2, tp=2, run={"timing": "phases"})
        cls.result = harness.result_of_job(4, config)

    def setUp(self):
        super().setUp()
        self.source = self.path("result.json")
        self.save(self.result)

    def save(self, result):
        self.source.write_text(json.dumps(result), encoding="utf-8")

    def plot(self, *words):
        return subprocess.run(["/usr/bin/python3", SCRIPT, str(self.source), *words], capture_output=True, text=True,
                              check=False)

    def refused(self, expected, *words):
        picture = self.path("refused.svg")
        run = self.plot(*words, str(picture))
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn(expected, run.stderr)
        self.assertFalse(picture.exists())

    def test_both_pictures_name_modes_uses_and_phases(self):
        memory, step = self.path("memory.svg"), self.path("step.svg")
        run = self.plot("--memory", str(memory), "--step", str(step), "--title", "a title")
        self.assertEqual(run.returncode, 0, run.stderr)
        for word in ("a title", "layer_sharded", "duplicated", "adam", "momentum", "exchange", "rank"):
            self.assertTrue(any(word in text for text in texts_of(memory)), word)
        for word in ("layer_sharded", "duplicated", "stage1_forward", "gather", "ns"):
            self.assertIn(word, texts_of(step))

    def test_the_same_numbers_give_the_same_file(self):
        pictures = [self.path(name) for name in ("one.svg", "two.svg")]
        for picture in pictures:
            self.assertEqual(self.plot("--memory", str(picture)).returncode, 0)
        self.assertEqual(pictures[0].read_bytes(), pictures[1].read_bytes())

    def test_the_uses_drawn_sum_to_the_ledger_of_each_rank(self):
        plot = load_plot()
        panels = plot.memory_panels(plot.chosen_modes([self.source], []), plot.USES)
        self.assertEqual([panel.label for panel in panels], ["layer_sharded", "duplicated"])
        for panel, mode in zip(panels, self.result["modes"]):
            self.assertEqual(plot.totals_of(panel), [rank["memory"]["peak_bytes"] for rank in mode["ranks"]])

    def test_chosen_modes_and_uses_alone_are_drawn(self):
        picture = self.path("one.svg")
        run = self.plot("--modes", "duplicated", "--uses", "adam", "--memory", str(picture))
        self.assertEqual(run.returncode, 0, run.stderr)
        texts = texts_of(picture)
        self.assertFalse([text for text in texts if "layer_sharded" in text or "momentum" in text])
        self.assertTrue([text for text in texts if "duplicated" in text])

    def test_what_is_not_there_is_refused(self):
        self.refused("--modes: no result has 'blockwise', but duplicated, layer_sharded", "--modes", "blockwise", "--memory")
        self.save({**self.result, "complete": False, "status": "interrupted"})
        self.refused("result.json: the run is not complete, its status is 'interrupted'", "--memory")
        self.save({**self.result, "modes": [{**mode, "phases_seconds": None} for mode in self.result["modes"]]})
        self.refused("result.json: modes: layer_sharded: phases_seconds is not there", "--step")
        self.source.write_text("[1, 2", encoding="utf-8")
        self.refused("result.json: ", "--memory")
        self.assertEqual(self.plot().returncode, 2)


if __name__ == "__main__":
    unittest.main()
