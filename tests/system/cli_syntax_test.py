#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Links, rows, rates and times have one syntax in every verb; typing errors are answered; fabrics are replaced."""
import unittest

from command_line import BB16, CommandLineTest, LCORES, alive
from lab import wait_until


class SyntaxTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.bfly("up", self.file)

    def down_links(self):
        return sorted((link["stage"], link["row"], link["port"]) for link in self.json("link", "show")["down"])

    def test_links_are_written_alike_in_every_verb(self):
        self.bfly("link", "down", "s1 r4 p1")
        self.assertEqual(self.down_links(), [(1, 4, 1)])
        self.assertIn("down: s1 r4 p1", self.bfly("link", "show").stdout)
        self.bfly("link", "up", 1, 4, 1)
        self.assertEqual(self.down_links(), [])
        self.bfly("link", "down", "s2", "r0-1")
        self.assertEqual(self.down_links(), [(2, row, port) for row in (0, 1) for port in (0, 1)])
        self.bfly("link", "up", "all")
        self.assertEqual(self.down_links(), [])
        refused = self.bfly("link", "down", "s2 r14-16 p0", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("row 16 is outside 0..15", refused.stderr)
        self.assertEqual(self.down_links(), [])

        circuit = self.json("circuit", "setup", 3, 6)
        stage, row = 2, circuit["rows"][2]
        port = next(link["port"] for link in self.json("counters", "--stages", stage, "--rows", row)["links"]
                    if link["next_row"] == circuit["rows"][3])
        for written in ([f"s{stage} r{row} p{port}"], [f"s{stage}", f"r{row}", f"p{port}"], [f"{stage},{row},{port}"]):
            found = self.json("circuit", "list", "--link", *written)["circuits"]
            self.assertEqual([c["id"] for c in found], [circuit["id"]], written)

    def test_rows_are_numbers_and_ranges_in_every_verb(self):
        links = self.json("counters", "--rows", "0-2,9", "--stages", "1-2")["links"]
        self.assertEqual({link["row"] for link in links}, {0, 1, 2, 9})
        self.assertEqual({link["stage"] for link in links}, {1, 2})
        watched = self.bfly("counters", "--watch", "--rows", "0-3", "--interval", "20ms", "--seconds", "1s").stdout
        self.assertIn("injected", watched)

    def test_rates_are_taken_as_they_are_printed(self):
        self.bfly("traffic", "start", "--rows", "0-3", "--rate", "1k", "--to", "uniform")
        source = self.json("traffic", "list")["sources"][0]["source"]
        self.assertEqual(source["packets_per_second"], 1000)
        self.bfly("traffic", "start", "--rows", "0-3", "--rate", "20.0k/s", "--to", "uniform")
        source = self.json("traffic", "list")["sources"][0]["source"]
        self.assertEqual(source["packets_per_second"], 20000)

    def test_a_word_that_is_no_verb_and_no_option_is_answered_with_what_is_close(self):
        for words, answer in ((("cuonters",), "did you mean `bfly counters`?"),
                              (("circuit", "lsit"), "did you mean `bfly circuit list`?"),
                              (("counters", "--rwos", "3"), "did you mean --rows?")):
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(answer, refused.stderr)

    def test_a_fabric_is_replaced_by_processes_that_stay(self):
        self.bfly("circuit", "setup", 3, 6)
        before = dict(zip(("controller", "dp0"), self.pids_by_name("controller", "dp0")))
        other = self.write("other.yaml", "name: other\nnetwork: {kind: butterfly, rows: 8}\ndata_planes: [{name: dp0}]\n"
                                         f"placement: [{{stages: 0-2, lcore: {LCORES[0]}}}]\n")
        self.bfly("up", other, "--replace")
        status = self.json("status")
        self.assertEqual((status["name"], status["rows"], int(status["circuits"])), ("other", 8, 0))
        self.assertEqual(dict(zip(("controller", "dp0"), self.pids_by_name("controller", "dp0"))), before)

        # The new topology has another data plane, and the old one is stopped.
        third = self.write("third.yaml", BB16.replace("name: life", "name: third") + "data_planes: [{name: east}]\n")
        self.bfly("up", third, "--replace")
        self.assertEqual(self.json("status")["name"], "third")
        wait_until(lambda: not alive(before["dp0"]), "the old data plane has ended")

        # If the new fabric cannot be loaded the old one keeps running.
        bad = self.write("bad.yaml", BB16 + "ports:\n  - {name: h0, rows: 0, device: 'net_af_xdp,iface=bfly-nix'}\n"
                         "data_planes: [{name: east}]\n")
        refused = self.bfly("up", bad, "--replace", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("bfly-nix", refused.stderr)
        self.assertEqual(self.json("status")["name"], "third")

    def pids_by_name(self, *names):
        return [int((self.run_dir / f"{name}.pid").read_text().split()[0]) for name in names]


if __name__ == "__main__":
    unittest.main(verbosity=2)
