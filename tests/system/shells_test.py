# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish themselves make of a TAB in a line of bfly. A program that notes its arguments stands for bfly."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from lab import BUILD, PATIENCE, wait_until
from terminal import Terminal

# It prints what $VALUES holds, a word a line, and notes each call as a line of words.
STUB = """#!/bin/sh
echo "$*" >>"$CALLS"
[ "$1" != values ] || printf '%s\\n' $VALUES
"""
READY = "ready-for-a-line"


class ShellsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="bfly-shells-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        stub = cls.directory / "bin/bfly"
        stub.parent.mkdir()
        stub.write_text(STUB)
        stub.chmod(0o755)
        for shell, name in (("bash", "bfly.bash"), ("zsh", "_bfly"), ("fish", "bfly.fish")):
            written = subprocess.run([BUILD / "bfly", "completion", shell], capture_output=True, text=True, check=True, timeout=PATIENCE)
            (cls.directory / name).write_text(written.stdout)
        (cls.directory / "a file.yaml").touch()

    def shell(self, name, values=""):
        """A shell that completes the lines of bfly."""
        self.calls = self.directory / "calls"
        self.calls.write_text("")
        command, begin = {
            "bash": (["bash", "--norc", "--noprofile", "-i"], "source bfly.bash"),
            "zsh": (["zsh", "-f", "-i"], "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D"),
            "fish": (["fish", "--no-config", "-i"], "source bfly.fish"),
        }[name]
        shell = Terminal(command, PATH=f"{self.directory}/bin:{os.environ['PATH']}", CALLS=str(self.calls), VALUES=values,
                         HOME=str(self.directory), XDG_CONFIG_HOME=str(self.directory), TERM="dumb", PS1="$ ")
        self.addCleanup(shell.close)
        shell.press(f"cd {self.directory}; {begin}; bfly {READY}\n")
        wait_until(lambda: READY in self.calls.read_text(), f"{name} has begun")
        return shell

    def becomes(self, shell, line):
        """The words of the call that the line is after TAB and Enter."""
        before = len(self.run_lines())
        shell.press(f"bfly {line}\t\n")
        wait_until(lambda: len(self.run_lines()) > before, f"'{line}' has run")
        return self.run_lines()[-1]

    def run_lines(self):
        return [call for call in self.calls.read_text().splitlines() if not call.startswith("values ")]

    def asked(self):
        return [call for call in self.calls.read_text().splitlines() if call.startswith("values ")]

    def test_values_with_colons(self):
        for name in ("bash", "zsh", "fish"):
            with self.subTest(shell=name):
                shell = self.shell(name, values="ring:a:12 ring:b:2")
                self.assertEqual(self.becomes(shell, "traffic stop ring:a"), "traffic stop ring:a:12")
                self.assertEqual(self.becomes(shell, "traffic stop ring:b:"), "traffic stop ring:b:2")

    def test_values_behind_an_equal_sign(self):
        for name in ("bash", "zsh", "fish"):
            with self.subTest(shell=name):
                shell = self.shell(name, values="3,5,1")
                self.assertEqual(self.becomes(shell, "circuit list --link=3"), "circuit list --link=3,5,1")
                self.assertEqual(self.becomes(shell, "circuit permutation --protocol=gre"), "circuit permutation --protocol=greedy")

    def test_verbs_options_and_files(self):
        for name in ("bash", "zsh", "fish"):
            with self.subTest(shell=name):
                shell = self.shell(name)
                self.assertEqual(self.becomes(shell, "desc"), "describe")
                self.assertEqual(self.becomes(shell, "circuit perm"), "circuit permutation")
                self.assertEqual(self.becomes(shell, "counters --nonz"), "counters --nonzero")
                self.assertEqual(self.becomes(shell, "describe 'a fi"), "describe a file.yaml")

    def test_the_query_goes_where_the_line_goes(self):
        for name in ("bash", "zsh", "fish"):
            with self.subTest(shell=name):
                shell = self.shell(name, values="3,5,1")
                where = "--controller 10.0.0.1:7380 --tls-ca /ca.pem --tls-cert /c.pem --tls-key /k.pem --run-dir /tmp/x"
                self.assertEqual(self.becomes(shell, f"link fail {where} 3"), f"link fail {where} 3,5,1")
                self.assertIn(f"values links --begin 3 {where}", self.asked())

    def test_fish_offers_the_options_of_the_verb_alone(self):
        def offered(line):
            out = subprocess.run(["fish", "--no-config", "-c", f"source {self.directory}/bfly.fish; complete -C '{line}'"],
                                 capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
            return {word.split("\t")[0] for word in out.splitlines()}

        helps = subprocess.run([BUILD / "bfly", "lab", "up", "--help"], capture_output=True, text=True, check=True, timeout=PATIENCE)
        self.assertEqual(offered("bfly lab up --"), set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", helps.stdout, re.M)))
        self.assertIn("--replace", offered("bfly up --"))
        self.assertNotIn("--replace", offered("bfly lab up --"))
        self.assertEqual(offered("bfly lab "), {"up", "exec", "status", "down"})
        # The value of an option is no verb.
        self.assertIn("--replace", offered("bfly up --run-dir lab --"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
