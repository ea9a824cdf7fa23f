# SPDX-License-Identifier: Apache-2.0
"""Circuits that come and go (`bfly circuit churn`), at the wanted rate and beside circuits of other clients."""

import json
import os
import signal
import subprocess
import unittest

from command_line import BFLY, LCORES, CommandLineTest, alive
from lab import wait_until

BB256 = f"""
name: churned
network: {{kind: two_fold_butterfly, rows: 256, seed: 7}}
placement: [{{stages: 0-15, lcore: {LCORES[0]}}}]
"""


class Churn(CommandLineTest):
    def test_circuits_come_and_go(self):
        dry = self.json("circuit", "churn", "--dry-run", "--network", self.file, "--rate", 100, "--holding", 0.1,
                        "--duration", 20, "--seed", 2)
        self.assertAlmostEqual(sum(dry["share"]), 1, places=6)
        self.assertAlmostEqual(dry["seconds"], 20)
        self.assertEqual(dry["set_up"], dry["released"] + dry["standing"])
        self.assertEqual(dry["requests"], dry["set_up"] + dry["no_free_row"])
        steps = self.write("steps", "setup 0 3\nsetup 1 2\nrelease 0\n")
        self.bfly("up", self.file)
        live = self.json("circuit", "churn", "--arrivals", f"adversary:{steps}", "--rate", 100)
        self.assertEqual((live["set_up"], live["released"]), (2, 1))
        # What it set up is released at the end.
        self.assertEqual(self.json("circuit", "list")["total"], 0)
        two_words = self.json("circuit", "churn", "--arrivals", "adversary", steps, "--rate", 100)
        self.assertEqual((two_words["set_up"], two_words["released"]), (2, 1))
        self.assertEqual(self.json("counters")["circuits"]["asked"], 4)
        for words in (("adversary",), ("adversary:",), ("poisson", steps), ("uniform",), ("adversary", steps, steps)):
            self.assertEqual(self.bfly("circuit", "churn", "--arrivals", *words, check=False).returncode, 2, words)
        wrong = self.bfly("circuit", "churn", "--arrivals", "adversary:/nowhere", check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("/nowhere", wrong.stderr)

    def test_a_path_may_go_round_a_wrapped_butterfly_twice(self):
        self.bfly("up", self.write("wrapped", f"""
name: wrapped
network: {{kind: wrapped_butterfly, rows: 32, passes: 2}}
placement: [{{stages: 0-4, lcore: {LCORES[0]}}}]
"""))
        live = self.json("circuit", "churn", "--rate", 500, "--holding", 0.01, "--duration", 0.5)
        self.assertGreater(live["set_up"], 100)
        self.assertEqual(self.json("circuit", "list")["total"], 0)
        # Both keep their rows, so each crosses its five links twice.
        steps = self.write("steps", "setup 0 0\nsetup 1 1\n")
        live = self.json("circuit", "churn", "--arrivals", "adversary", steps, "--rate", 100, "--protocol", "greedy")
        self.assertEqual((live["standing"], live["congestion"]), (2, 2))

    def test_links_of_a_multibutterfly_are_told_apart_though_both_change_the_row(self):
        rows = 32
        file = self.write("splitters", f"""
name: splitters
network: {{kind: multibutterfly, rows: {rows}, seed: 1, multiplicity: 1}}
placement: [{{stages: 0-4, lcore: {LCORES[0]}}}]
""")
        outputs = [(5 * row + 3) % rows for row in range(rows)]
        chosen = self.write("outputs", "".join(f"{row}\n" for row in outputs))
        links = {}
        for path in self.json("circuit", "permutation", "--dry-run", "--network", file, "--protocol", "greedy",
                              "--permutation", chosen)["paths"]:
            for level, link in enumerate(zip(path["rows"], path["rows"][1:])):
                links[level, link] = links.get((level, link), 0) + 1
        steps = self.write("steps", "".join(f"setup {row} {output}\n" for row, output in enumerate(outputs)))
        self.bfly("up", file)
        live = self.json("circuit", "churn", "--arrivals", "adversary", steps, "--rate", 1000, "--protocol", "greedy")
        self.assertEqual((live["standing"], live["congestion"]), (rows, max(links.values())))

    def test_what_cannot_end_or_be_read_is_refused(self):
        dry = ("--dry-run", "--network", self.file)
        for rate in "1e10", "1e17", "1e300":
            refused = self.bfly("circuit", "churn", *dry, "--duration", 1, "--rate", rate,
                                check=False)
            self.assertEqual(refused.returncode, 2, rate)
            self.assertIn("--rate", refused.stderr)
        folder = self.bfly("circuit", "churn", "--dry-run", "--network", self.file, "--arrivals", "adversary",
                           self.directory, check=False)
        self.assertEqual(folder.returncode, 1)
        self.assertIn("is a directory", folder.stderr)

    def churn(self, *words):
        process = subprocess.Popen([BFLY, "circuit", "churn", *map(str, words), "--run-dir", self.run_dir],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_circuits_come_and_go_as_fast_as_asked(self):
        self.bfly("up", self.write("bb256", BB256))
        # A call each, some 1,600 a second on an idle machine, would take more than 6 s.
        live = self.json("circuit", "churn", "--rate", 5000, "--holding", 0.01, "--duration", 1)
        self.assertLess(live["wall_seconds"], 5)
        self.assertAlmostEqual(live["wall_seconds"], 1, delta=live["behind_seconds_max"] + 3)
        self.assertGreater(live["set_up"], 4500)
        self.assertEqual((live["busy"], live["blocked"], live["gone"]), (0, 0, 0))
        # The controller cannot answer this rate: churn says so, and sets circuits up nevertheless.
        late = self.bfly("circuit", "churn", "--rate", 1e6, "--holding", 1e-4, "--duration", 0.25).stdout
        self.assertRegex(late, r"behind by \d\d\d+\.\d ms at most\nthe rate was not kept")
        # The same requests as those computed.
        dry = self.json("circuit", "churn", "--dry-run", "--network", self.directory / "bb256",
                        "--rate", 5000, "--holding", 0.01, "--duration", 1)
        for field in ("requests", "set_up", "released", "standing", "congestion_max"):
            self.assertEqual(live[field], dry[field], field)
        self.assertEqual(self.json("circuit", "list")["total"], 0)

    def test_a_dry_run_blocks_what_a_fabric_of_the_file_blocks(self):
        # A link carries one circuit.
        file = self.write("tight", BB256.replace("256", "32").replace("0-15", "0-9") + "circuits: {capacity: 1}\n")
        self.bfly("up", file)
        churn = ("circuit", "churn", "--rate", 2000, "--holding", 0.01, "--duration", 1)
        live = self.json(*churn)
        dry = self.json(*churn, "--dry-run", "--network", file)
        self.assertGreater(live["blocked"], 100)
        self.assertEqual(live["congestion_max"], 1)
        self.assertEqual(dry["congestion_max"], 1)
        # Which of two requests of the same moment comes first differs, and with it who is blocked.
        self.assertAlmostEqual(live["blocking_ratio"], dry["blocking_ratio"], delta=0.03)

    def test_requests_without_a_whole_path_do_not_end_it(self):
        # An input row has two links; both of input 3 are down.
        file = self.write("cut", BB256.replace("256", "16").replace("0-15", "0-7") + "faults: {links: [{stages: 0, rows: 3}]}\n")
        self.bfly("up", file)
        churn = ("circuit", "churn", "--rate", 500, "--holding", 0.01, "--duration", 1)
        live = self.json(*churn)
        dry = self.json(*churn, "--dry-run", "--network", file)
        for report in live, dry:
            self.assertGreater(report["unreachable"], 5)
            self.assertGreater(report["set_up"], 100)
            self.assertEqual(report["refused"], report["unreachable"])
            self.assertEqual((report["busy"], report["blocked"], report["blocking_ratio"]), (0, 0, 0))
            self.assertRegex(report["first_refusal"], r"link: s0 r3 p[01] is down")
        self.assertRegex(self.bfly(*churn).stdout, r"blocked; 0 busy\n\d+ found no path without a link that is down\n")
        self.assertEqual(self.json("circuit", "list")["total"], 0)
        steps = self.write("steps", "setup 3 12\n")
        nothing = self.bfly("circuit", "churn", "--arrivals", f"adversary:{steps}", check=False)
        self.assertEqual(nothing.returncode, 1)
        self.assertIn("0 blocked, 1 found no path without a link that is down\n", nothing.stderr)

    def test_a_long_churn_is_followed_line_by_line(self):
        self.bfly("up", self.file)
        text = self.bfly("circuit", "churn", "--rate", 200, "--holding", 0.01, "--duration", 2.5, "--interval", 0.1,
                         "--json").stdout
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertGreaterEqual(len(lines), 3)
        for earlier, later in zip(lines, lines[1:]):
            self.assertGreater(later["wall_seconds"], earlier["wall_seconds"])
            self.assertGreaterEqual(later["requests"], earlier["requests"])
        self.assertGreater(lines[-1]["requests"], lines[0]["requests"])
        self.assertAlmostEqual(lines[-1]["seconds"], 2.5)

    def test_churn_keeps_off_the_circuits_of_others_and_tells_why_it_was_refused(self):
        self.bfly("up", self.file)
        kept = [self.json("circuit", "setup", row, row)["id"] for row in range(8)]
        live = self.json("circuit", "churn", "--rate", 1000, "--holding", 0.002, "--duration", 0.5)
        self.assertEqual((live["busy"], live["refused"], live["others"]), (0, 0, 8))
        self.assertGreater(live["set_up"], 300)
        # Steps of a file may be refused as busy; their releases are then left out.
        steps = self.write("steps", "setup 3 12\nsetup 9 10\nrelease 3\nsetup 10 7\nrelease 9\n")
        live = self.json("circuit", "churn", "--arrivals", f"adversary:{steps}", "--rate", 1000)
        self.assertEqual((live["requests"], live["busy"], live["set_up"], live["released"]), (3, 2, 1, 1))
        self.assertIn("input: is busy with circuit", live["first_refusal"])
        steps.write_text("setup 3 12\n")
        nothing = self.bfly("circuit", "churn", "--arrivals", f"adversary:{steps}", check=False)
        self.assertEqual(nothing.returncode, 1)
        self.assertRegex(nothing.stderr, r"nothing was set up of 1 requests: 0 found no free row, 1 were busy, 0 blocked"
                                         r"\n  the first refused: input: is busy with circuit \d+ \(3 -> 3\)")
        self.bfly("circuit", "permutation", "--replace")
        nothing = self.bfly("circuit", "churn", "--duration", 0.2, check=False)
        self.assertEqual(nothing.returncode, 1)
        self.assertRegex(nothing.stderr, r"of (\d+) requests: \1 found no free row")
        self.assertIn("16 circuits of others stood", nothing.stderr)
        self.assertFalse(set(kept) & {c["id"] for c in self.json("circuit", "list")["circuits"]})

    def test_the_blocking_ratio_is_that_of_telemetry(self):
        self.bfly("up", self.write("narrow", f"""
name: narrow
network: {{kind: butterfly, rows: 64}}
placement: [{{stages: 0-5, lcore: {LCORES[0]}}}]
circuits: {{capacity: 1}}
"""))
        text = self.bfly("circuit", "churn", "--rate", 3000, "--holding", 0.01, "--duration", 0.5, "--seed", 4).stdout
        self.assertRegex(text, r"blocking ratio [\d.]+ %: \d+ of \d+ blocked; 0 busy\n"
                               r"the first refused: link: s\d r\d+ p\d carries 1 circuit and has room for 1")
        before = self.json("counters")["circuits"]
        live = self.json("circuit", "churn", "--rate", 3000, "--holding", 0.01, "--duration", 0.5)
        after = self.json("counters")["circuits"]
        asked, blocked = (after[field] - before[field] for field in ("asked", "blocked"))
        self.assertEqual((live["set_up"] + live["blocked"], live["blocked"]), (asked, blocked))
        self.assertGreater(blocked, 50)
        self.assertAlmostEqual(live["blocking_ratio"], blocked / asked)
        self.assertEqual(live["requests"], live["set_up"] + live["blocked"] + live["no_free_row"])

    def test_churn_can_be_stopped_and_says_what_stopped_it(self):
        self.bfly("up", self.write("bb256", BB256))
        for word in (signal.SIGINT, signal.SIGTERM):
            churn = self.churn("--rate", 2000, "--duration", 600, "--interval", 0.1)
            self.assertIn(" stand, ", churn.stdout.readline())
            churn.send_signal(word)
            self.assertEqual(churn.wait(timeout=20), 0)
            self.assertIn("congestion over time", churn.stdout.read())
            self.assertEqual(self.json("circuit", "list")["total"], 0)
        # Another client releases circuits that churn set up, and churn goes on.
        # It prints nothing meanwhile: nobody reads, and a full pipe would hold it up.
        churn = self.churn("--rate", 500, "--duration", 600, "--json")
        wait_until(lambda: self.json("circuit", "list")["total"] > 0, "circuits stand")
        for circuit in self.json("circuit", "list")["circuits"]:
            self.bfly("circuit", "release", circuit["id"], check=False)
        wait_until(lambda: self.json("circuit", "list")["total"] > 50, "it goes on")
        controller = int((self.run_dir / "controller.pid").read_text().split()[0])
        # churn does not wait long for a controller that does not answer.
        os.kill(controller, signal.SIGSTOP)
        self.addCleanup(lambda: alive(controller) and os.kill(controller, signal.SIGCONT))
        churn.send_signal(signal.SIGINT)
        self.assertEqual(churn.wait(timeout=30), 1)
        os.kill(controller, signal.SIGCONT)
        error = churn.stderr.read()
        self.assertRegex(error, r"stopped while an answer was awaited\n  \d+ of its circuits stand\n  the last \d+ op")
        self.bfly("circuit", "release", "--all")
        # A controller that dies ends it.
        churn = self.churn("--rate", 500, "--duration", 600, "--interval", 0.1)
        self.assertIn(" stand, ", churn.stdout.readline())
        os.kill(controller, signal.SIGKILL)
        self.assertEqual(churn.wait(timeout=30), 1)
        self.assertRegex(churn.stderr.read(), r"the stream of circuits ended: .*\n(.*\n)*  \d+ of its circuits stand")


if __name__ == "__main__":
    unittest.main(verbosity=2)
