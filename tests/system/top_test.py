#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bfly top on a real fabric: its figures beside those of `bfly counters` and of the sources, and its screen on a terminal
of 80 columns and 24 lines, with keys, resizes, and a controller that is killed."""

import os
import re
import signal
import subprocess
import unittest

from command_line import BFLY, LCORES, CommandLineTest
from lab import BUILD, wait_until
from terminal import Terminal, settle

# 16 rows of 8 stages. Links of stage 2 have a rate: 2,000 packets of 64 bytes a second are 10.24 % of it.
NETWORK = f"""
name: watched
network: {{kind: two_fold_butterfly, rows: 16, seed: 7}}
placement:
  - {{stages: 0-3, lcore: {LCORES[0]}}}
  - {{stages: 4-7, lcore: {LCORES[-1]}}}
links: {{overrides: [{{stages: "2", rate: 10Mbps}}]}}
"""
RATE = 2000
VIEWS = ["overview", "links", "workers", "ports", "circuits", "latency", "drawing"]


class TopTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.bfly("up", self.write("watched.yaml", NETWORK))

    def start_traffic(self, *words):
        self.bfly("circuit", "permutation", "--permutation", "identity")
        self.bfly("traffic", "start", "--rate", RATE, *words)
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] > 0, "packets flow")

    def terminal(self, *words, **more):
        terminal = Terminal([str(BFLY), *map(str, words), "--run-dir", str(self.run_dir)], **more)
        self.addCleanup(terminal.close)
        return terminal

    # --- once, for scripts

    def test_counts_are_those_of_counters(self):
        self.start_traffic("--packets", 500)
        counters = self.settled()
        top = self.json("top", "--interval", "50ms")
        for key in ("injected", "delivered", "dropped", "in_flight"):
            self.assertEqual(top["conservation"][key], counters["conservation"][key])
        counted = {(link["stage"], link["row"], link["port"]): link for link in counters["links"] if link["packets"]}
        self.assertEqual(len(counted), 16 * 8)
        shown = {(link["stage"], link["row"], link["port"]): link for link in top["links"]}
        self.assertEqual(shown.keys(), counted.keys())
        for place, link in counted.items():
            for key in ("packets", "bytes", "next_row", "circuits"):
                self.assertEqual(shown[place][key], link[key], (place, key))
        for stage in top["stages"]:
            self.assertEqual(stage["packets"],
                             sum(link["packets"] for place, link in counted.items() if place[0] == stage["stage"]))
            self.assertEqual(stage["packets_per_second"], 0)
        # The same in text: the exact counts stand at the end of a wide line.
        text = self.bfly("top", "--once", "--view", "links", "--lines", 200, "--interval", "50ms").stdout
        lines = re.findall(r"^s(\d+) r(\d+) p(\d+) .* (\d+) +(\d+)$", text, re.M)
        self.assertEqual({tuple(map(int, line)) for line in lines},
                         {(*place, link["packets"], link["bytes"]) for place, link in counted.items()})

    def settled(self):
        def quiet():
            counters = self.json("counters")
            account = counters["conservation"]
            return counters if account["in_flight"] == 0 and account["injected"] == 16 * 500 else None

        return wait_until(quiet, "every packet arrived")

    def test_rates_and_utilisation_are_those_of_the_sources(self):
        self.start_traffic("--latency")
        top = self.json("top", "--interval", "2s")
        self.assertAlmostEqual(top["injected_per_second"], 16 * RATE, delta=0.1 * 16 * RATE)
        for stage in top["stages"]:
            self.assertAlmostEqual(stage["packets_per_second"], 16 * RATE, delta=0.1 * 16 * RATE)
        timed = [link for link in top["links"] if link["stage"] == 2]
        self.assertEqual(len(timed), 16)
        for link in timed:
            self.assertEqual(link["rate"], 10_000_000)
            self.assertAlmostEqual(link["utilisation"], RATE * 64 * 8 / 10e6, delta=0.015)
            self.assertAlmostEqual(link["bits_per_second"], RATE * 64 * 8, delta=0.1 * RATE * 64 * 8)
        self.assertFalse([link for link in top["links"] if link["stage"] != 2 and "utilisation" in link])
        self.assertEqual([worker["lcore"] for worker in top["workers"]], [LCORES[0], LCORES[-1]])
        for worker in top["workers"]:
            self.assertGreater(worker["busy"], 0)
            self.assertLess(worker["busy"], 1)
            self.assertAlmostEqual(worker["frames_per_second"], 16 * RATE, delta=0.15 * 16 * RATE)
            self.assertAlmostEqual(worker["hops_per_second"], 4 * 16 * RATE, delta=0.15 * 4 * 16 * RATE)
        self.assertEqual(len(top["circuits"]), 16)
        self.assertGreater(top["latency"]["end_to_end"]["count"], 0)
        # A packet of 64 bytes takes 51.2 us to be sent at 10 Mbit/s.
        self.assertGreater(top["latency"]["end_to_end"]["p50"], 51_000)

    def test_every_view_prints_text_without_a_terminal(self):
        self.start_traffic("--latency")
        for view in VIEWS:
            text = self.bfly("top", "--once", "--view", view, "--interval", "100ms").stdout
            self.assertNotIn("\x1b", text)
            self.assertRegex(text, r"^watched: two_fold_butterfly, 16 rows, 8 stages, at \d\d:\d\d:\d\d\ninjected ")
        text = self.bfly("top", "--once", "--view", "circuits", "--interval", "50ms", "--lines", 3).stdout
        self.assertIn("13 more lines", text)
        self.assertRegex(self.bfly("top", "--once", "--stage", 2, "--view", "links", "--interval", "100ms").stdout,
                         r"s2 r0 p\d .*10Mbps +\d+\.\d%")

    def test_what_is_wrong_is_said(self):
        for words, code, message in (
                (("top",), 1, "standard output is not a terminal: use --once"),
                (("top", "--once", "--view", "nothing"), 2, "--view: nothing not in"),
                (("top", "--once", "--sort", "colour", "--view", "links"), 1, "sorts by load, packets"),
                (("top", "--once", "--stage", 8), 1, "--stage: 8 is outside 0..7"),
                (("top", "--once", "--stages", "0-2", "--stage", 5), 1, "--stage: 5 is not among --stages, 0-2"),
                (("top", "--once", "--lines", 0), 2, "--lines")):
            done = self.bfly(*words, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stdout + done.stderr)
        terminal = self.terminal("top", TERM="nobody-knows-it")
        terminal.until_text("is not a terminal that ncurses knows")
        self.assertEqual(terminal.wait(), 1)
        self.bfly("down")
        done = self.bfly("top", "--once", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no fabric runs here", done.stderr)

    # --- on a terminal

    def test_keys_on_a_terminal_of_80_columns(self):
        self.start_traffic()
        terminal = self.terminal("top", "--interval", 100)
        lines = terminal.until(lambda shown: re.match(r" +7 .*k", shown[11]), "every stage has a line")
        self.assertRegex(lines[0], r"^bfly top  watched: two_fold_butterfly, 16 rows, 8 stages.*every 0.1 s$")
        self.assertEqual(terminal.reversed_text(1), "1 overview")
        self.assertGreater(sum(colour != "default" for colour in terminal.backgrounds(11)), 0)
        terminal.press("down", "down")
        terminal.until(lambda _: terminal.reversed_text(6).startswith("2"), "stage 2 is chosen")
        terminal.press("enter")
        terminal.until_text("stage 2: every link by row and port")
        terminal.press("2")
        shown = terminal.until(lambda now: now[4].startswith("s2 "), "links of stage 2 are listed")
        self.assertFalse([line for line in shown if re.match(r"s[^2] r", line)])
        self.assertRegex(shown[4], r"10Mbps +\d+\.\d%")
        terminal.press("escape")
        terminal.until(lambda now: not any("all stages" in line for line in now), "all stages are shown")
        for _ in range(5):
            terminal.press("s")
        terminal.until(lambda now: now[4].startswith("s0 r0 p") and "now place" in now[23], "links stand by their places")
        terminal.press("page down")
        terminal.until(lambda _: terminal.reversed_text(22) != "", "the list has scrolled")
        for number, view in enumerate(VIEWS, 1):
            terminal.press(str(number))
            terminal.until(lambda _, tab=f"{number} {view}": terminal.reversed_text(1) == tab, f"view {view}")
        terminal.press("tab")
        terminal.until(lambda _: terminal.reversed_text(1) == "1 overview", "Tab goes round")
        terminal.press("back tab")
        terminal.until(lambda _: terminal.reversed_text(1) == "7 drawing", "Shift-Tab goes back")
        terminal.press("?")
        terminal.until_text("zoom into the stage of the chosen line")
        terminal.press("?", "p")
        terminal.until_text("PAUSED")
        frozen = terminal.text()
        settle(0.5)
        self.assertEqual(terminal.text(), frozen)
        terminal.press("p", "q")
        self.assertEqual(terminal.wait(), 0)
        self.gave_back(terminal)

    def gave_back(self, terminal):
        """The second screen and the hidden cursor came and went once, and the last page stays on the first screen."""
        for begin, end in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")):
            self.assertGreaterEqual(terminal.seen.count(begin), 1)
            self.assertGreaterEqual(terminal.seen.count(end), 1)
            self.assertGreater(terminal.seen.rindex(end), terminal.seen.rindex(begin))
        self.assertRegex(terminal.seen.split(b"\x1b[?1049l")[1], rb"conservation: injected \d+ = ")

    def test_resizes(self):
        self.start_traffic()
        terminal = self.terminal("top", "--interval", 100)
        terminal.until_text("injected")
        terminal.resize(132, 40)
        lines = terminal.until(lambda shown: shown[39].startswith("q end"), "the keys stand in the last of 40 lines")
        self.assertTrue(lines[0].endswith("every 0.1 s"))
        self.assertEqual(len(lines[0]), 132)
        # The identity keeps sixteen links of each stage busy, and all 32 have a column of their own now.
        terminal.until(lambda _: 16 == sum(colour != "default" for colour in terminal.backgrounds(11)),
                       "sixteen links of the last stage are hot")
        terminal.resize(60, 12)
        terminal.until(lambda shown: shown[11].startswith("q end") and shown[0].startswith("bfly top"), "12 lines")
        terminal.resize(20, 4)
        terminal.until_text("too small: 80x24 is")
        terminal.resize(80, 24)
        terminal.until(lambda shown: shown[23].startswith("q end"), "24 lines again")
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.wait(), 0)
        self.gave_back(terminal)

    def test_a_killed_controller_is_said_and_the_next_one_found(self):
        self.start_traffic()
        terminal = self.terminal("top", "--interval", 100)
        terminal.until_text("injected")
        os.kill(int((self.run_dir / "controller.pid").read_text().split()[0]), signal.SIGKILL)
        lines = terminal.until(lambda shown: shown[23].startswith("OLD FIGURES: "), "the controller is missed")
        self.assertRegex(lines[11], r"^ +7 ")  # the last figures stay
        terminal.press("2")
        terminal.until(lambda shown: shown[4].startswith("s"), "keys work meanwhile")
        successor = subprocess.Popen([BUILD / "bfly-controller", "--run-dir", self.run_dir], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
        self.addCleanup(successor.wait)
        self.addCleanup(successor.kill)
        self.addCleanup(self.bfly, "down", check=False)
        terminal.until(lambda shown: shown[23].startswith("q end"), "the next controller is found")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)

    def test_a_data_plane_that_is_killed_leaves_the_rest_alive(self):
        self.start_traffic("--latency")
        terminal = self.terminal("top", "--interval", 100)
        terminal.until(lambda shown: shown[23].startswith("q end"), "the fabric is shown")
        os.kill(int((self.run_dir / "dp0.pid").read_text().split()[0]), signal.SIGKILL)
        terminal.until(lambda shown: shown[23].startswith("data plane dp0: "), "the data plane is missed")
        settle()
        self.assertRegex(terminal.text()[23], "^data plane dp0: ")
        self.assertNotIn(b"OLD FIGURES", terminal.seen)
        terminal.press("6")
        terminal.until(lambda _: terminal.reversed_text(1) == "6 latency", "the view of latencies")
        self.assertFalse([line for line in terminal.text() if "end to end" in line or "--latency" in line])
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)
        text = self.bfly("top", "--once", "--interval", "50ms").stdout
        self.assertRegex(text, "(?m)^data plane dp0: ")
        problems = self.json("top", "--interval", "50ms")["problems"]
        self.assertRegex(problems[-1], "^sources and latencies are missing: data plane dp0: ")

    def test_a_terminal_without_colours_and_without_utf_8_has_plain_characters(self):
        self.start_traffic()
        terminal = self.terminal("top", "--interval", 100, LC_ALL="C", NO_COLOR="1")
        terminal.until(lambda shown: re.search(r"#", shown[4]), "the strip is of ASCII characters")
        self.assertEqual(set(terminal.backgrounds(4)), {"default"})
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)
        self.assertTrue(terminal.seen.isascii())

    def test_a_terminal_that_goes_away_ends_it(self):
        terminal = self.terminal("top", "--interval", 100)
        terminal.until_text("q end")
        os.close(terminal.ours)
        self.assertIsNotNone(terminal.process.wait(timeout=30))
        terminal.ours = os.open(os.devnull, os.O_RDONLY)  # for close()

    def test_counters_watch_is_a_view_of_it(self):
        self.start_traffic()
        terminal = self.terminal("counters", "--watch", "--interval", 100, "--rows", "4-5")
        terminal.until(lambda _: terminal.reversed_text(1) == "7 drawing", "the drawing is shown")
        lines = terminal.until(lambda shown: re.match(r"  5 ", shown[5]), "two rows are drawn")
        self.assertRegex(lines[3], r"^row s0 +s1 .*s7")
        self.assertRegex(lines[4], r"^  4 ")
        # As many links that leave row 4 have a circuit as the paths say.
        paths = [circuit["rows"] for circuit in self.json("circuit", "list")["circuits"]]
        self.assertEqual(len(paths), 16)
        self.assertEqual(lines[4].split()[1:].count("1"), len({(stage, path[0]) for path in paths for stage in range(8)
                                                               if path[stage] == 4}))
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.wait(), 0)
        self.gave_back(terminal)
        fullest = self.terminal("counters", "--watch", "--interval", 100, "--top", 5, "--seconds", 1)
        fullest.until(lambda _: fullest.reversed_text(1) == "2 links", "the fullest links are shown")
        self.assertEqual(fullest.wait(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
