# SPDX-License-Identifier: Apache-2.0
"""Step programs on running stage workers, as the command line runs them: the steps of the step clock, with packets
of the fabric."""

import json
import os
import signal
import subprocess
import time
import unittest

from command_line import BFLY, LCORES, CommandLineTest, balances
from lab import wait_until

WORKERS = [LCORES[0], LCORES[-1]] if len(LCORES) > 1 else LCORES


def row_blocks(stages, rows):
    """A placement that cuts the rows into a block for each worker."""
    length = rows // len(WORKERS)
    return "placement:\n" + "".join(
        f"  - {{stages: 0-{stages - 1}, rows: {n * length}-{(n + 1) * length - 1}, lcore: {lcore}}}\n"
        for n, lcore in enumerate(WORKERS))


MULTIBUTTERFLY = ("name: mb16\nnetwork: {kind: multibutterfly, rows: 16, multiplicity: 2, seed: 5}\n" + row_blocks(4, 16))
EXTRA = ("name: b16\nnetwork: {kind: butterfly, rows: 16, extra_stages: 2}\n" + row_blocks(6, 16))
# What a run takes: it is not part of what happened in the run.
COST = "in_band"
# A run of some seconds at least: every input sends 2^16 packets to one output.
LONG = ("--program", "store_and_forward", "--h", 1 << 16, "--permutation", "bitrev")


class RouteInBand(CommandLineTest):
    def up(self, text):
        self.file = self.write("network.yaml", text)
        self.bfly("up", self.file)

    def refused(self, *words, code=1):
        done = self.bfly("route", *words, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr

    def account(self):
        account = self.json("counters")["conservation"]
        self.assertTrue(balances(account), account)
        return account

    def carried(self):
        """Packets by link, of all stages."""
        return {(link["stage"], link["row"], link["port"]): link["packets"] for link in self.json("counters")["links"]}

    def same_as_in_the_step_clock(self, *words, file=None):
        """Runs the program on the workers and in a process of its own, and returns the report."""
        clock = self.json("route", file or self.file, *words)
        report = self.json("route", "--in-band", *words)
        cost = report.pop(COST)
        clock.pop(COST, None)
        self.assertEqual(report, clock, words)
        self.assertEqual(cost["workers"], len(WORKERS))
        self.assertGreater(cost["seconds"], 0)
        self.assertGreater(cost["barrier_seconds"], 0)
        self.assertLessEqual(cost["steps"], report["steps"])
        self.assertGreaterEqual(cost["barriers"], cost["steps"])
        self.assertAlmostEqual(cost["steps_per_second"], cost["steps"] / cost["seconds"], delta=1)
        if report["program"] == "waves":
            self.assertEqual(cost["barriers"], cost["steps"] * (3 if len(WORKERS) > 1 else 1))
        return report

    def begin(self, *words):
        """A run that has packets in the fabric."""
        injected = self.account()["injected"]
        process = subprocess.Popen([BFLY, "route", "--in-band", *map(str, words), "--run-dir", self.run_dir],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        wait_until(lambda: self.account()["injected"] > injected, "the packets of the run are injected")
        self.assertIsNone(process.poll(), "the run is over already")
        return process

    def ended(self, process):
        _, err = process.communicate(timeout=20)
        return process.returncode, err

    def test_workers_take_the_steps_of_the_step_clock_with_packets_of_the_fabric(self):
        self.up(MULTIBUTTERFLY)
        before = self.carried()
        report = self.same_as_in_the_step_clock("--program", "waves", "--waves", 4, "--level", 2)
        carried = {link: packets - before[link] for link, packets in self.carried().items()}
        for stage in range(4):
            of_stage = [packets for link, packets in carried.items() if link[0] == stage]
            self.assertEqual(sum(of_stage), 16)
            self.assertEqual(max(of_stage), report["levels"][stage]["congestion"])
        account = self.account()
        self.assertEqual((account["injected"], account["delivered"], account["in_flight"]), (16, 16, 0))
        self.same_as_in_the_step_clock("--program", "store_and_forward", "--h", 3, "--seed", 9)
        self.same_as_in_the_step_clock("--program", "h_relation", "--h", 2)
        where = self.write("to", "".join("0 1\n" if row < 2 else "-\n" for row in range(16)))
        self.same_as_in_the_step_clock("--program", "store_and_forward", "--destinations", where, "--buffer", 1)
        account = self.account()
        self.assertEqual((account["injected"], account["delivered"]), (16 + 48 + 32 + 4, 16 + 48 + 32 + 4))
        text = self.bfly("route", self.file, "--in-band", "--program", "waves").stdout
        self.assertIn("waves on a multibutterfly of 16 rows: 16 of 16 packets delivered in ", text)
        self.assertRegex(text, r"in band: \d+ steps in [\d.]+ us on \d workers?, [\d.]+[kM]? steps a second; "
                               r"\d+ barriers, and one takes [\d.]+ us by itself\n")
        self.assertIn("level 0 ", text)

        # Data flows meanwhile, and two runs at once come one after the other.
        self.bfly("traffic", "start", "--rate", 20000, "--to", "uniform")
        delivered = self.account()["delivered"]
        runs = [subprocess.Popen([BFLY, "route", "--in-band", "--program", "waves", "--json", "--run-dir", self.run_dir],
                                 stdout=subprocess.PIPE, text=True) for _ in range(2)]
        reports = [json.loads(run.communicate(timeout=30)[0]) for run in runs]
        clock = self.json("route", self.file, "--program", "waves")
        for report in reports:
            report.pop(COST)
            clock.pop(COST, None)
            self.assertEqual(report, clock)
        wait_until(lambda: self.account()["delivered"] > delivered + 2000, "the sources go on")
        self.bfly("traffic", "stop")

        # A run that does not finish leaves nothing in the fabric.
        wait_until(lambda: self.account()["in_flight"] == 0, "the packets of the sources have arrived")
        before = self.account()
        done = self.bfly("route", "--in-band", "--program", "waves", "--max-steps", 3, "--json", check=False)
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["finished"], report["steps"]), (1, False, 3))
        self.assertIn("waves has not finished after 3 steps: the limit of 3 steps is reached", done.stderr)
        after = self.account()
        self.assertEqual(after["in_flight"], 0)
        self.assertEqual(after["injected"] - before["injected"], after["delivered"] - before["delivered"] +
                         after["dropped"] - before["dropped"])

    def test_links_and_nodes_that_are_down_are_the_faults_of_the_run(self):
        self.up(MULTIBUTTERFLY)
        self.bfly("node", "fail", 0, 3)
        self.bfly("node", "fail", 4, 9)
        self.bfly("link", "fail", "s1 r4 p2")
        faults = self.write("faults.yaml", MULTIBUTTERFLY + "faults: {nodes: [{levels: 0, rows: 3}, {levels: 4, rows: 9}], "
                            "links: [{stages: 1, rows: 4, port: 2}]}\n")
        report = self.same_as_in_the_step_clock("--program", "waves", "--permutation", "identity", file=faults)
        self.assertEqual((report["delivered"], report["left_out"]), (14, 2))
        self.assertEqual((report["faulty_inputs"], report["faulty_outputs"]), ([3], [9]))
        self.same_as_in_the_step_clock("--program", "store_and_forward", "--h", 4, file=faults)
        self.assertIn("links or nodes are down; bring them up",
                      self.refused("--in-band", "--program", "h_relation", "--share", 16))
        self.bfly("node", "restore", 0, 3)
        self.bfly("node", "restore", 4, 9)
        self.bfly("link", "restore", "s1 r4 p2")
        self.same_as_in_the_step_clock("--program", "waves")

    def test_what_ends_a_run_leaves_nothing_of_it(self):
        self.up(EXTRA.replace(", extra_stages: 2", "").replace("0-5", "0-3"))
        run = self.begin(*LONG)
        self.bfly("link", "fail", "s2 r5 p1")
        code, err = self.ended(run)
        self.assertEqual(code, 1, err)
        self.assertIn("s2 r5 p1", err)
        wait_until(lambda: self.account()["in_flight"] == 0, "nothing of the run is left")
        self.bfly("link", "restore", "s2 r5 p1")
        run = self.begin(*LONG)
        run.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(run)[0], -signal.SIGINT)
        self.same_as_in_the_step_clock("--program", "store_and_forward", "--h", 2)
        wait_until(lambda: self.account()["in_flight"] == 0, "nothing of the run is left")
        run = self.begin(*LONG)
        start = time.monotonic()
        os.kill(int((self.run_dir / "dp0.pid").read_text().split()[0]), signal.SIGKILL)
        code, err = self.ended(run)
        self.assertEqual(code, 1, err)
        self.assertIn("data plane dp0", err)
        self.assertLess(time.monotonic() - start, 15)

    def test_wrong_input_is_refused_with_what_would_be_right(self):
        self.assertIn("no fabric runs here", self.refused("--in-band", "--program", "waves"))
        self.refused("--program", "waves", code=2)
        self.up(EXTRA)
        self.same_as_in_the_step_clock("--program", "extra_stages", "--h", 5, "--queue", "fifo")
        self.assertIn("waves runs on: butterfly without extra stages", self.refused("--in-band", "--program", "waves"))
        other = self.write("other.yaml", MULTIBUTTERFLY)
        self.assertIn('network.kind: is multibutterfly, and that of the loaded fabric "b16" is butterfly',
                      self.refused(other, "--in-band", "--program", "extra_stages"))
        self.assertIn("asks for 67108864 packets, and a run may have 16777216",
                      self.refused("--in-band", "--program", "extra_stages", "--h", 1 << 22))
        self.assertIn("to:2: \"16\" is not an output row, 0..15",
                      self.refused("--in-band", "--program", "extra_stages", "--destinations",
                                   self.write("to", "1\n16\n" + "-\n" * 14)))
        self.refused("--in-band", "--program", "flood", code=2)
        self.refused("--in-band", "--program", "extra_stages", "--workers", 2, code=2)


if __name__ == "__main__":
    unittest.main()
