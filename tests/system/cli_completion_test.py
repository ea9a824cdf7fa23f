# SPDX-License-Identifier: Apache-2.0
"""What bash offers after TAB while a fabric runs: ids of its circuits, names of its sources, its fullest links."""
import os
import subprocess
import unittest

from command_line import CommandLineTest
from lab import BUILD, PATIENCE


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
