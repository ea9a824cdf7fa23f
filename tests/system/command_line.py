# SPDX-License-Identifier: Apache-2.0
"""A command line with a directory and a run directory of its own, and no devices."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from lab import BUILD, PATIENCE, require_root, wait_until

BFLY = BUILD / "bfly"
LCORES = sorted(os.sched_getaffinity(0))

BB16 = f"""
name: life
network: {{kind: two_fold_butterfly, rows: 16, seed: 7}}
placement:
  - {{stages: 0-3, lcore: {LCORES[0]}}}
  - {{stages: 4-7, lcore: {LCORES[-1]}}}
"""


def balances(account):
    return account["injected"] == account["delivered"] + account["dropped"] + account["in_flight"]


def alive(pid):
    """A process that ended may wait to be reaped: it has no command line any more."""
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_bytes() != b""
    except OSError:
        return False


class CommandLineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"bfly-cli-{os.getpid()}-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.run_dir = self.directory / "run"
        self.addCleanup(self.bfly, "down", check=False)
        self.file = self.write("bb16.yaml", BB16)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path

    def bfly(self, *words, check=True):
        done = subprocess.run([BFLY, *map(str, words), "--run-dir", self.run_dir], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=2 * PATIENCE, check=False)
        if check:
            self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def unheard(self, *words):
        """`bfly WORDS` that fails because nobody can read what it prints."""
        with open("/dev/full", "w") as full:
            done = subprocess.run([BFLY, *map(str, words), "--run-dir", self.run_dir], stdout=full, stderr=subprocess.PIPE, text=True,
                                  stdin=subprocess.DEVNULL, timeout=2 * PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)

    def daemon(self, program, *words):
        """One that somebody else started, such as a unit. `words` begin with --name, or are none. Returns its process."""
        self.run_dir.mkdir(exist_ok=True)
        name = words[1] if words else "controller"
        process = subprocess.Popen([BUILD / program, "--run-dir", self.run_dir, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until((self.run_dir / f"{name}.sock").exists, f"{name} serves")
        return process

    def json(self, *words):
        return json.loads(self.bfly(*words, "--json").stdout)

    def pids(self):
        return [int(path.read_text().split()[0]) for path in self.run_dir.glob("*.pid")]
