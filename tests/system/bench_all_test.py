# SPDX-License-Identifier: Apache-2.0
"""`bfly bench all`: pages keep what people wrote, and get the figures between two markers."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from command_line import BFLY, LCORES, CommandLineTest, alive
from lab import PATIENCE, wait_until

BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


class BenchAll(CommandLineTest):
    def all(self, *words, check=True):
        return self.bfly("bench", "all", "--quick", "--into", self.directory, *words, check=check)

    def test_a_page_gets_its_figures_between_the_markers_and_keeps_the_rest(self):
        page = self.write("circuits.md", f"# Circuits\n\nBefore.\n\n{BEGIN}stale figures\n{END}\nBehind.\n")
        for _ in range(2):  # the second time, the figures replace those of the first
            self.all("--only", "circuits,virtual")
            before, figures, behind = page.read_text().replace(END, BEGIN).split(BEGIN)
            self.assertEqual((before, behind), ("# Circuits\n\nBefore.\n\n", "\nBehind.\n"))
            self.assertNotIn("stale", figures)
            self.assertEqual(figures.count("`bfly bench circuits "), 2)
            for fact in ("| processor |", "| kernel |", "| load before |", "ratio "):
                self.assertIn(fact, figures)
        told = json.loads(self.all("--only", "virtual", "--json").stdout)
        self.assertEqual({figure["page"] for figure in told["figures"]}, {"virtual-clock.md"})
        new = (self.directory / "virtual-clock.md").read_text()
        self.assertTrue(new.startswith("# ") and new.endswith(END) and new.count(BEGIN) == 1, new)
        self.assertEqual(sorted(path.name for path in self.directory.glob("*.md*")), ["circuits.md", "virtual-clock.md"])

    def test_benches_that_share_a_page_run_together(self):
        for bench in ("start", "telemetry"):
            self.all("--only", bench, check=False)  # a machine that is not quiet has no figure of telemetry
            page = (self.directory / "start.md").read_text()
            self.assertIn(f"`bfly bench all --quick --only {bench}` wrote this part", page)
            for title in ("From bfly up to the first frame", "What a subscriber to all links costs"):
                self.assertEqual(page.count(f"### {title}\n"), 1, page)

    def test_a_page_that_lacks_a_marker_is_left_alone_and_nothing_runs(self):
        text = f"# Circuits\n\n{BEGIN}\nnever ends\n"
        page = self.write("circuits.md", text)
        done = self.all("--only", "virtual,circuits", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("circuits.md: the lines", done.stderr)
        self.assertEqual(page.read_text(), text)
        self.assertFalse((self.directory / "virtual-clock.md").exists())

    def test_a_bench_that_fails_or_takes_too_long_says_so_on_its_page_and_the_others_run(self):
        done = self.all("--only", "links", "--limit", "100ms", check=False)  # each of them measures for longer
        self.assertEqual(done.returncode, 1)
        self.assertEqual((self.directory / "links.md").read_text().count("**not ended after 0.1 s, and interrupted**"), 2)
        os.environ["PATH"], path = "", os.environ["PATH"]  # no testpmd
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        done = self.all("--only", "ports,virtual", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bench ports --closed", done.stderr)
        self.assertIn("**failed with exit code 1**", (self.directory / "ports.md").read_text())
        self.assertNotIn("**failed", (self.directory / "virtual-clock.md").read_text())

    def of_bench(self, bench):
        """The run directory of the search that the bench runs, None if it runs none."""
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                words = (path / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if parent == bench.pid and words[1:3] == ["bench", "ndr"]:
                return pathlib.Path(words[words.index("--run-dir") + 1])
        return None

    def test_an_interrupt_takes_its_fabric_down(self):
        # A terminal interrupts the whole group, kill only the process itself.
        for send, number in ((os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)):
            bench = subprocess.Popen([BFLY, "bench", "all", "--only", "ndr", "--into", self.directory],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     stdin=subprocess.DEVNULL, start_new_session=True)
            self.addCleanup(bench.communicate)
            self.addCleanup(bench.kill)
            run_dir = wait_until(lambda of=bench: self.of_bench(of), "bfly bench ndr runs")
            self.addCleanup(shutil.rmtree, run_dir.parent, ignore_errors=True)
            self.addCleanup(subprocess.run, [BFLY, "down", "--run-dir", run_dir], capture_output=True, check=False)
            daemons = [int(path.read_text().split()[0]) for path in run_dir.glob("*.pid")]
            self.assertGreaterEqual(len(daemons), 2)
            time.sleep(1)  # it measures
            send(bench.pid, number)
            _, err = bench.communicate(timeout=PATIENCE)
            self.assertEqual(bench.returncode, 1, err)
            self.assertIn("interrupted in bfly bench ndr", err)
            self.assertFalse(any(map(alive, daemons)))
            self.assertFalse(run_dir.parent.exists())

    def test_the_machine_alone_is_measured(self):
        out = self.json("bench", "machine", "--seconds", "10ms", "--runs", 1)
        self.assertEqual([one["bytes"] for one in out["copies"]], [16 << 10, 512 << 10, 8 << 20, 256 << 20])
        walks = [one["ns_per_load"]["median"] for one in out["walks"]]
        self.assertGreater(walks[0], 0.2, "a load takes a cycle at least")
        # A load from memory takes some 100 ns, and one from a first-level cache 1 ns.
        self.assertGreater(walks[-1], 3 * walks[0])
        self.assertGreater(min(one["bytes_per_second"]["median"] for one in out["copies"]), 1e8)
        self.assertGreater(out["ring_ns"]["median"], 0)
        self.assertEqual(out["ring_across_ns"] is None, len(LCORES) < 2)

    def test_without_a_folder_it_says_which_option_names_one(self):
        os.chdir(self.directory)
        self.assertIn("--into must name the folder", self.bfly("bench", "all", check=False).stderr)
        self.assertIn("--into: /nowhere is not a folder", self.bfly("bench", "all", "--into", "/nowhere", check=False).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
