# SPDX-License-Identifier: Apache-2.0
"""What bash offers after TAB while a fabric runs: ids of its circuits, names of its sources, its fullest links, those that
are down, and hosts of its lab."""
import os
import re
import subprocess
import unittest

from command_line import LCORES, CommandLineTest
from lab import BUILD, PATIENCE

# More circuits and more links than bash is ever offered at once.
LARGE = f"""
name: large
network: {{kind: two_fold_butterfly, rows: 256, seed: 7}}
placement: [{{stages: 0-15, lcore: {LCORES[0]}}}]
"""
MOST = 200
LAB = """
name: two
network: {kind: two_fold_butterfly, rows: 16, seed: 7}
placement: [{stages: 0-7, lcore: LCORE}]
hosts:
  - {name: left, rows: 0, addresses: 10.77.0.1/24}
  - {name: right, rows: 5, addresses: 10.77.0.2/24}
  - {name: guest, rows: 10, kind: machine, vhost_socket: SOCKET}
"""


class CompletionTest(CommandLineTest):
    def offers(self, *words):
        """What bash offers for the last word. $BFLY_RUN_DIR says where the fabric runs."""
        line = " ".join(("bfly", *words))
        parts = " ".join(f"'{word}'" for word in ("bfly", *words))
        script = (f'eval "$(bfly completion bash)"; COMP_LINE="{line}" COMP_POINT={len(line)} COMP_WORDS=({parts}) COMP_CWORD={len(words)}; '
                  f'_bfly bfly "{words[-1]}"; printf "%s\\n" "${{COMPREPLY[@]}}"')
        environment = {**os.environ, "PATH": f"{BUILD.resolve()}:{os.environ['PATH']}", "BFLY_RUN_DIR": str(self.run_dir)}
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, env=environment,
                              timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def links(self, *words):
        return [word for word in self.offers(*words) if re.fullmatch(r"\d+,\d+,\d+", word)]

    def numbers(self, *words):
        return [word for word in self.offers(*words) if word.isdigit()]

    def test_values_that_begin_with_what_was_typed(self):
        self.bfly("up", self.write("large.yaml", LARGE))
        self.bfly("circuit", "permutation", "--seed", "1")
        ids = {str(circuit["id"]) for circuit in self.json("circuit", "list")["circuits"]}
        self.assertGreater(len(ids), MOST)
        self.assertEqual(len(self.numbers("circuit", "release", "")), MOST)
        for begin in ("25", "199", "9"):
            self.assertEqual(set(self.numbers("circuit", "release", begin)), {name for name in ids if name.startswith(begin)}, begin)
        self.assertEqual(len(self.links("link", "fail", "")), MOST)
        rows = [row for row in range(256) if str(row).startswith("25")]
        self.assertEqual(sorted(self.links("link", "fail", "15,25")), sorted(f"15,{row},{port}" for row in rows for port in (0, 1)))
        self.assertEqual(self.links("link", "fail", "3,255,1"), ["3,255,1"])
        self.assertEqual(self.links("link", "fail", "16,"), [])

    def test_links_that_are_down(self):
        self.bfly("up", self.file)
        for verb in ("restore", "up"):
            self.assertEqual(self.links("link", verb, ""), [], verb)
        for link in ("5,3,1", "6,4,0"):
            self.bfly("link", "fail", *link.split(","))
        for verb in ("restore", "up"):
            self.assertEqual(self.links("link", verb, ""), ["5,3,1", "6,4,0"], verb)
            self.assertEqual(self.links("link", verb, "6"), ["6,4,0"], verb)
        self.bfly("link", "restore", self.links("link", "restore", "5")[0])
        self.assertEqual(self.links("link", "restore", ""), ["6,4,0"])

    def test_hosts_of_the_lab(self):
        def hosts(*words):
            return [word for word in self.offers("lab", "exec", *words) if not word.startswith("-")]

        self.assertEqual(hosts(""), [], "there is no lab")
        self.addCleanup(self.bfly, "lab", "down", check=False)
        file = self.write("lab.yaml", LAB.replace("LCORE", str(LCORES[0])).replace("SOCKET", str(self.run_dir / "guest.sock")))
        self.bfly("lab", "up", file, "--name", f"completion{os.getpid()}")
        # bfly runs no command in a virtual machine.
        self.assertEqual(hosts(""), ["left", "right"])
        self.assertEqual(hosts("r"), ["right"])
        self.assertEqual(hosts("right", "r"), [])

    def test_values_of_the_running_fabric(self):
        self.assertFalse([word for word in self.offers("circuit", "release", "") if word.isdigit()], "no fabric runs")
        self.bfly("up", self.file)
        ids = {str(self.json("circuit", "setup", row, 15 - row)["id"]) for row in (3, 4)}
        self.assertEqual({word for word in self.offers("circuit", "release", "") if word.isdigit()}, ids)
        self.assertEqual({word for word in self.offers("circuit", "move", "") if word.isdigit()}, ids)
        self.bfly("traffic", "start", "--name", "hot", "--rows", "3", "--rate", "10")
        self.assertIn("hot", self.offers("traffic", "stop", ""))
        # The fullest links are those of the circuits.
        rows = next(c["rows"] for c in self.json("circuit", "list")["circuits"] if c["input"] == 3)
        link = f"0,3,{int(rows[1] != 3)}"
        self.assertIn(link, self.offers("circuit", "list", "--link", ""))
        self.assertIn(link, self.offers("link", "fail", ""))
        # What was offered is taken.
        self.assertEqual([c["input"] for c in self.json("circuit", "list", "--link", link)["circuits"]], [3])


if __name__ == "__main__":
    unittest.main(verbosity=2)
