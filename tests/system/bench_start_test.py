# SPDX-License-Identifier: Apache-2.0
"""bfly bench start reports what it says, and leaves nothing behind."""

import pathlib
import subprocess
import tempfile
import unittest

from command_line import BFLY, CommandLineTest
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


if __name__ == "__main__":
    unittest.main()
