# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""More memory than there is: said once, before anything is allocated, with what would help."""

import unittest

from harness import ALONE, RUNTIME, CliTest, config_of, param

# fp32 weights, gradient and Adam's two moments.
BYTES_PER_ELEMENT = 16
COLUMNS = 1024


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return int(fields["MemAvailable"].split()[0]) * 1024


class Memory(CliTest):
    def config(self, share, ranks):
        """Each rank asks for this share of what there is."""
        rows = int(share * available_bytes()) // BYTES_PER_ELEMENT // COLUMNS
        params = [param("table", rows, COLUMNS, optimizer="adam", gtp_remat=False)]
        return config_of(params, gtp_remat=ranks, modes=["adam_replicated"]), rows * COLUMNS

    def assert_out_of_memory(self, run, *words):
        self.assertEqual(run.returncode, RUNTIME, run.stderr)
        lines = [line for line in run.stderr.splitlines() if "out of memory" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        for word in ("mode adam_replicated", "bytes available", *words):
            self.assertIn(str(word), lines[0])
        self.assertFalse(run.output.exists(), "a run refused before its first step left a result")
        self.assert_nothing_left()

    def test_that_each_rank_has_but_not_all_of_a_host_together(self):
        config, elements = self.config(0.4, 4)
        run = self.run_job(4, config)
        self.assert_out_of_memory(run, "4 ranks there ask", 4 * BYTES_PER_ELEMENT * elements, "rank 0",
                                  f"adam {8 * elements}", "mode adam_dim0")  # fmt: skip

    def test_that_one_rank_has_not(self):
        config, elements = self.config(40, 1)
        self.assert_out_of_memory(self.run_job(ALONE, config), "1 rank there asks", BYTES_PER_ELEMENT * elements)


if __name__ == "__main__":
    unittest.main()
