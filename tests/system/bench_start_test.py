# SPDX-License-Identifier: Apache-2.0
"""bfly bench start and bfly bench telemetry report what they say, and leave nothing behind."""

import pathlib
import subprocess
import tempfile
import unittest

from command_line import BFLY, CommandLineTest, balances
from lab import PATIENCE

ROWS = 8
STAGES = 6  # of the two-fold butterfly: twice log2 of the rows
LINKS = 2 * STAGES * ROWS


def directories():
    return set(pathlib.Path(tempfile.gettempdir()).glob("bfly-bench-fabric-*"))


class Benches(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.before = directories()

    def tearDown(self):
        self.assertEqual(directories() - self.before, set())
        super().tearDown()

    def test_start(self):
        report = self.json("bench", "start", "--rows", ROWS, "--runs", 1)
        self.assertEqual((report["rows"], report["stages"], report["links"]), (ROWS, STAGES, LINKS))
        for seconds in (report["first_frame_seconds"], report["up_seconds_spread"]["median"],
                        report["two_rows_first_frame_seconds"]["median"]):
            self.assertTrue(0.01 < seconds < 60, report)
        self.assertAlmostEqual(report["ratio"]["median"],
                               report["first_frame_seconds"] / report["two_rows_first_frame_seconds"]["median"])
        controller, data_plane = (report[name]["median"] for name in ("controller_bytes", "data_plane_bytes"))
        self.assertEqual(report["memory_bytes"], controller + data_plane)
        # Each has gRPC at least, and none of its memory is counted as the other's.
        for figure in (controller, data_plane):
            self.assertTrue(2 << 20 < figure < 1 << 30, report)
        # Two ports cannot do without buffers.
        self.assertGreater(report["frame_buffer_bytes"]["median"], 1 << 20)
        # The interfaces lay in another network namespace.
        self.assertFalse(pathlib.Path("/sys/class/net/bf0").exists())

    def test_start_says_what_it_needs(self):
        without_capabilities = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
        done = subprocess.run([*without_capabilities, BFLY, "bench", "start", "--rows", str(ROWS)],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("network namespace", done.stderr)
        self.assertIn("run it as root", done.stderr)

    def test_telemetry(self):
        report = self.json("bench", "telemetry", "--rows", ROWS, "--runs", 2, "--seconds", "300ms", "--interval", "50ms")
        self.assertEqual(report["links"], LINKS)
        self.assertTrue(balances(report["conservation"]), report)
        self.assertEqual(report["without"]["pictures_per_second"]["highest"], 0)
        # 12 were asked for in the 0.6 s of both runs. With fewer than 9, which is 15 a second, the bench fails.
        self.assertTrue(14 <= report["with"]["pictures_per_second"]["median"] <= 28, report)
        for side in (report["without"], report["with"]):
            self.assertGreater(side["packets_per_second"]["lowest"], 1e5)
            # A worker gets no more than one CPU.
            self.assertGreaterEqual(side["packets_per_cpu_second"]["median"], 0.9 * side["packets_per_second"]["median"])
        # Two runs: the median is the mean of the two.
        self.assertAlmostEqual(report["cost"], (report["cost_spread"]["lowest"] + report["cost_spread"]["highest"]) / 2)
        self.assertLess(report["cost"], 1)

    def test_telemetry_asks_for_time_to_see_pictures(self):
        done = self.bfly("bench", "telemetry", "--rows", ROWS, "--runs", 1, "--seconds", "100ms", check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("--seconds: 0.1 s is less than 3 intervals of 100 ms (--interval)", done.stderr)


if __name__ == "__main__":
    unittest.main()
