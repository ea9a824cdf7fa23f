# SPDX-License-Identifier: Apache-2.0
"""docs/examples/hosts.py and rotor.py: hosts, circuits, a schedule and traffic from Python, and nothing left behind."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from command_line import LCORES, CommandLineTest
from lab import BUILD, PATIENCE, PYTHON_PATH, ROOT, run, wait_until


class PythonLabTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.name = f"py{os.getpid()}"
        text = (ROOT / "topologies/examples/demo.yaml").read_text().replace("name: demo", f"name: {self.name}")
        self.lab = self.write("lab.yaml", text.replace("lcore: 1", f"lcore: {LCORES[-1]}").replace("lcore: 0", f"lcore: {LCORES[0]}"))
        self.addCleanup(self.bfly, "lab", "down", check=False)
        self.environment = {**os.environ, "PYTHONPATH": PYTHON_PATH, "BFLY_RUN_DIR": str(self.run_dir),
                            "PATH": f"{pathlib.Path(BUILD).resolve()}:{os.environ['PATH']}"}

    def nothing_is_left(self):
        # Other tests make and remove namespaces meanwhile.
        namespaces = [name for name in run("ip", "netns", "list").split("\n") if self.name in name]
        self.assertEqual((self.pids(), namespaces), ([], []))

    def run_example(self, name):
        """What the example printed; nothing of it is left."""
        done = subprocess.run([sys.executable, ROOT / "docs/examples" / name, self.lab], capture_output=True, text=True, check=False,
                              timeout=3 * PATIENCE, env=self.environment)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        self.nothing_is_left()
        return done.stdout

    def test_interrupted_at_any_moment_a_lab_leaves_nothing(self):
        for what in ("lab.journal", "dp0.pid", "controller.sock"):
            with self.subTest(what):
                process = subprocess.Popen([sys.executable, "-c", "import bfly, sys\nwith bfly.lab(sys.argv[1]):\n    input()", self.lab],
                                           stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
                                           start_new_session=True)
                self.addCleanup(process.kill)
                wait_until((self.run_dir / what).exists, f"there is {what}")
                os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
                said = process.communicate(timeout=2 * PATIENCE)[1]
                self.assertTrue(said.rstrip().endswith("KeyboardInterrupt"), said)
                self.nothing_is_left()

    def test_hosts(self):
        printed = self.run_example("hosts.py")
        self.assertEqual(printed.count("3 received"), 2, printed)
        self.assertEqual(printed.count(" circuits on "), 4, printed)
        self.assertIn("12 circuits stood meanwhile", printed)

    def test_rotor(self):
        printed = self.run_example("rotor.py")
        self.assertRegex(printed, r"(?m)^The page is at http://127\.0\.0\.1:\d+/?$")
        self.assertIn("5 received", printed)
        slots = re.findall(r"slot (\d+): (\d+) frames, (\d+) of them waited \d+ us", printed)
        self.assertEqual([int(number) for number, _, _ in slots], list(range(15)))
        # h0 is at row 0 and h3 at row 3: its frames go in slot 2, and the answers, from 3 to 0, in slot 12.
        frames = [int(count) for _, count, _ in slots]
        self.assertGreaterEqual(min(frames[2], frames[12]), 5, printed)
        self.assertGreater(min(frames), 0)
        self.assertTrue(all(int(waited) <= int(count) for _, count, waited in slots))


if __name__ == "__main__":
    unittest.main(verbosity=2)
