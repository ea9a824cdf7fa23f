# SPDX-License-Identifier: Apache-2.0
"""Step programs step by step, as the command line runs them, and networks as it describes them. No fabric is up."""

import json
import pathlib
import unittest

from command_line import CommandLineTest


def topology(kind, rows, more=""):
    stages = rows.bit_length() - 1
    return (f"name: r{rows}\nnetwork: {{kind: {kind}, rows: {rows}{more}}}\n"
            f"placement: [{{stages: 0-{stages - 1}, lcore: 0}}]\n")


MULTIBUTTERFLY = topology("multibutterfly", 16, ", multiplicity: 2, seed: 5")


class Route(CommandLineTest):
    def refused(self, *words, code=1):
        done = self.bfly("route", *words, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr

    def test_a_hypercube_has_the_links_of_the_cube_and_others(self):
        # Stamoulis & Tsitsiklis, section 1.1: d 2^d links.
        shipped = pathlib.Path(__file__).resolve().parents[2] / "topologies/examples/hypercube.yaml"
        self.assertEqual(self.bfly("describe", shipped).stdout.splitlines()[:2],
                         ["hypercube: hypercube, 16 rows, 5 levels, 4 stages, 64 links, and 64 more that keep the row, "
                          "which are not links of the cube",
                          "every path has 4 hops and at most 4 links (dilation)"])

    def test_packets_for_one_output_wait_before_its_last_link(self):
        # Four packets cross the last link one after the other, in steps 2 to 5.
        file = self.write("b4.yaml", topology("butterfly", 4))
        where = self.write("to", "0 0  # both to output 0\n-\n0 0\n-\n")
        words = (file, "--program", "store_and_forward", "--destinations", where)
        report = self.json("route", *words)
        self.assertEqual((report["steps"], report["delivered"], report["congestion"], report["finished"]),
                         (5, 4, 4, True))
        self.assertEqual([level["waited_steps"] for level in report["levels"]], [2, 4])
        self.assertEqual([sample["levels"] for sample in report["samples"]],
                         [[4, 0, 0], [2, 2, 0], [0, 3, 1], [0, 2, 2], [0, 1, 3], [0, 0, 4]])
        text = self.bfly("route", *words, "--level", 1).stdout
        self.assertIn("store_and_forward on a butterfly of 4 rows: 4 of 4 packets delivered in 5 steps", text)
        self.assertIn("latency: 3.5 steps in the mean, 5 at most; congestion 4", text)
        self.assertIn("row 0 ·▆█▆▂·", text)
        self.assertIn("row 1 ······", text)
        self.assertIn("a column is 1 step", text)
        self.assertIn("level 0 █▄····", self.bfly("route", *words).stdout)

    def test_every_program_runs_on_a_network_that_it_is_defined_on(self):
        file = self.write("mb.yaml", MULTIBUTTERFLY)
        butterfly = self.write("b16.yaml", topology("butterfly", 16))
        for network, words in ((file, ("waves", "--waves", 2)), (file, ("store_and_forward", "--h", 3)),
                               (file, ("h_relation", "--h", 2, "--share", 16)), (file, ("h_relation", "--h", 2)),
                               (butterfly, ("extra_stages", "--h", 3, "--queue", "fifo"))):
            report = self.json("route", network, "--program", *words)
            self.assertTrue(report["finished"], report["trouble"])
            self.assertEqual(report["delivered"], report["packets"])
            self.assertEqual(report["samples"][-1]["levels"][-1], report["packets"])

    def test_faults_that_cut_rows_off_are_told_and_the_rest_arrives(self):
        faults = "faults: {nodes: [{levels: 0, rows: 3}, {levels: 4, rows: 9}]}\n"
        file = self.write("cut.yaml", MULTIBUTTERFLY + faults)
        words = (file, "--permutation", "identity", "--program")
        report = self.json("route", *words, "waves")
        self.assertEqual((report["delivered"], report["left_out"]), (14, 2))
        self.assertEqual((report["faulty_inputs"], report["faulty_outputs"]), ([3], [9]))
        self.assertIn("2 packets not sent because of faults; cut off: no path leads from input row 3; "
                      "cut off: no path leads to output row 9", self.bfly("route", *words, "waves").stdout)
        self.assertIn("h_relation chooses paths without looking for faults", self.refused(*words, "h_relation", "--share", 16))
        file = self.write("level.yaml", MULTIBUTTERFLY + "faults: {nodes: [{levels: 2, rows: 0-15}]}\n")
        for program in ("waves", "store_and_forward"):
            self.assertIn("none of the 16 packets can be delivered, because every node of level 2 is down",
                          self.refused(file, "--program", program))

    def test_a_run_that_does_not_finish_prints_its_report_and_fails(self):
        file = self.write("mb.yaml", MULTIBUTTERFLY)
        done = self.bfly("route", file, "--program", "waves", "--max-steps", 3, "--json", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual((json.loads(done.stdout)["finished"], json.loads(done.stdout)["steps"]), (False, 3))
        self.assertIn("waves has not finished after 3 steps: the limit of 3 steps is reached; "
                      "16 packets are not delivered", done.stderr)

    def test_parameters_that_cannot_make_progress_end_in_the_first_stage_and_say_what_would_help(self):
        file = self.write("mb64.yaml", topology("multibutterfly", 64, ", multiplicity: 8"))
        done = self.bfly("route", file, "--program", "h_relation", "--h", 16, "--permutation", "bitrev", "--share", 1,
                         "--json", check=False)
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertEqual((report["finished"], report["delivered"], report["steps"]), (False, 0, 1))
        # Half of the inputs have 16 messages for the upper half, and each of them would need all its neighbours.
        self.assertIn("stage 0 of wave 0: 32 nodes of splitter 0 of level 0 ask for W = 32", done.stderr)
        self.assertIn("Use a larger L (share), a smaller R (neighbours)", done.stderr)

    def test_wrong_input_is_refused_with_what_would_be_right(self):
        file = self.write("mb.yaml", MULTIBUTTERFLY)
        cube = self.write("cube.yaml", topology("hypercube", 16))
        self.assertIn("h_relation runs on: multibutterfly", self.refused(cube, "--program", "h_relation"))
        self.assertIn("waves runs on: butterfly without extra stages", self.refused(cube, "--program", "waves"))
        where = self.write("to", "0 1\n0\n0\n" + "-\n" * 13)
        self.assertIn("row 0 receives 3 messages, more than h = 2",
                      self.refused(file, "--program", "h_relation", "--h", 2, "--destinations", where))
        self.assertIn("to:2: \"16\" is not an output row, 0..15",
                      self.refused(file, "--program", "waves", "--destinations",
                                   self.write("to", "1\n16\n" + "-\n" * 14)))
        self.assertIn("3 lines of inputs given, the network has 16 rows",
                      self.refused(file, "--program", "waves", "--destinations", self.write("to", "1\n2\n3\n")))
        large = self.write("b1024.yaml", topology("butterfly", 1024))
        self.assertIn("h: to follow 16777216 packets over 10 links each takes 1409286144 bytes, and a run may take "
                      "1073741824; use a smaller h",
                      self.refused(large, "--program", "store_and_forward", "--h", 1 << 14))
        wide = self.write("wide.yaml", topology("multibutterfly", 4, ", multiplicity: 4"))
        self.assertIn("multiplicity", self.refused(wide, "--program", "waves"))
        for words in (("flood",), ("waves", "--h", 2), ("waves", "--buffer", 2), ("waves", "--queue", "lifo"),
                      ("h_relation", "--max-steps", 5), ("waves", "--workers", 0), ("waves", "--h", 0)):
            self.refused(file, "--program", *words, code=2)


if __name__ == "__main__":
    unittest.main()
