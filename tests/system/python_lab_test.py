# SPDX-License-Identifier: Apache-2.0
"""docs/examples/hosts.py: hosts, circuits and traffic from Python, and nothing left behind."""
import os
import pathlib
import subprocess
import sys
import unittest

from command_line import LCORES, CommandLineTest
from lab import BUILD, PATIENCE, PYTHON_PATH, ROOT, run


class PythonLabTest(CommandLineTest):
    def test_the_example(self):
        text = (ROOT / "topologies/examples/demo.yaml").read_text().replace("name: demo", f"name: py{os.getpid()}")
        file = self.write("lab.yaml", text.replace("lcore: 1", f"lcore: {LCORES[-1]}").replace("lcore: 0", f"lcore: {LCORES[0]}"))
        self.addCleanup(self.bfly, "lab", "down", check=False)
        before = run("ip", "netns", "list")
        done = subprocess.run([sys.executable, ROOT / "docs/examples/hosts.py", file], capture_output=True, text=True, check=False,
                              timeout=3 * PATIENCE, env={**os.environ, "PYTHONPATH": PYTHON_PATH, "BFLY_RUN_DIR": str(self.run_dir),
                                                         "PATH": f"{pathlib.Path(BUILD).resolve()}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        self.assertEqual(done.stdout.count("3 received"), 2, done.stdout)
        self.assertEqual(done.stdout.count(" circuits on "), 4, done.stdout)
        self.assertIn("12 circuits stood meanwhile", done.stdout)
        self.assertEqual((self.pids(), run("ip", "netns", "list")), ([], before))


if __name__ == "__main__":
    unittest.main(verbosity=2)
