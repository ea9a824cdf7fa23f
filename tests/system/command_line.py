# SPDX-License-Identifier: Apache-2.0
"""A command line with a directory and a run directory of its own, and no devices."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from lab import BUILD, PATIENCE, require_root

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

    def json(self, *words):
        return json.loads(self.bfly(*words, "--json").stdout)

    def pids(self):
        return [int(path.read_text().split()[0]) for path in self.run_dir.glob("*.pid")]
