# SPDX-License-Identifier: Apache-2.0
"""The tour of README.md and the guides do what they show: every command is run, and every line it is said to print is
printed, but for the numbers that differ from run to run."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from lab import BUILD, PATIENCE, ROOT, require_root


def tour(page):
    """(command, lines) of every console block, in order."""
    steps = []
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return steps


def shape(line):
    """The part of a line that is the same in every run: measured numbers become N, several spaces one."""
    line = re.sub(r"unix:\S*/", "unix:", line)
    line = re.sub(r"results in \S*", "results in", line)
    line = re.sub(r"\d+(\.\d+)?(e-\d+)?", "N", line)
    # Units of times and rates go with their numbers.
    return re.sub(r"\s+", " ", re.sub(r"N ([nmu]?s|[kM]?\b(?= finished))|N[kM]\b", "N", line)).strip()


class Readme(unittest.TestCase):
    def test_the_tour(self):
        self.walk("README.md")

    def test_a_testbed(self):
        self.walk("docs/guide/testbed.md")

    def test_a_controller(self):
        self.walk("docs/guide/controller.md")

    def test_a_measurement(self):
        self.walk("docs/guide/measurement.md")

    def walk(self, page):
        require_root()
        run_dir = tempfile.mkdtemp(prefix=f"bfly-readme-{os.getpid()}-")
        self.addCleanup(shutil.rmtree, run_dir, ignore_errors=True)
        environment = {**os.environ, "BFLY_RUN_DIR": run_dir}
        self.addCleanup(subprocess.run, [BUILD / "bfly", "down"], env=environment, capture_output=True, check=False)
        self.addCleanup(subprocess.run, [BUILD / "bfly", "lab", "down"], env=environment, capture_output=True, check=False)
        steps = tour(page)
        self.assertGreater(len(steps), 5)
        for command, expected in steps:
            with self.subTest(command=command):
                command = command.replace("sudo ", "").replace(" /tmp/", f" {run_dir}/").replace("build/", f"{BUILD.resolve()}/")
                done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL, timeout=2 * PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                # Output that depends on the file alone must be the same letter for letter.
                exact = " describe " in command or "--dry-run" in command
                printed = done.stdout.splitlines()
                for line in expected:
                    if exact and not line.startswith("set-up:"):
                        self.assertIn(line, printed)
                    else:
                        self.assertIn(shape(line), [shape(other) for other in printed])


if __name__ == "__main__":
    unittest.main(verbosity=2)
