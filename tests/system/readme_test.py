# SPDX-License-Identifier: Apache-2.0
"""The tour of README.md and the guides do what they show: every command is run, and every line it is said to print is
printed, but for ids, times and rates that differ from run to run."""

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


CONSERVATION = re.compile(r"injected (\d+) = delivered (\d+) \+ dropped (\d+) \+ in flight (\d+)")
# Process, lcore and circuit ids, times, and what a source really sent a second, differ from run to run.
DIFFERS = re.compile(r"(?<=process )\d+|(?<=lcore )\d+|(?<=^circuit )\d+(?=:)|\d+(\.\d+)? [nmu]?s\b|(?<=time )\d+ms"
                     r"|[\d.]+[kM]?(?=\s+finished)")
# A row of `bfly counters`: what a link carried, and which links stand at the top, differ. Its drops do not.
CARRIED = re.compile(r"^ *\d+( +\d+){7} +(\d+) *$")

# Of the guide to measurement: four rows with 500 packets each. And nothing, where nobody sends.
EXACT_COUNTS = (0, 2000)


def shape(line):
    """The part of a line that is the same in every run: what differs becomes N, several spaces one."""
    line = re.sub(r"unix:\S*/", "unix:", line)
    line = re.sub(r"results in \S*", "results in", line)
    line = CARRIED.sub(r"a link, dropped \2", line)
    return re.sub(r"\s+", " ", DIFFERS.sub("N", line)).strip()


def accounts(lines):
    """(injected, delivered, dropped, in flight) of every line that has them."""
    return [tuple(map(int, found.groups())) for found in map(CONSERVATION.search, lines) if found]


class Shape(unittest.TestCase):
    def test_what_is_claimed_is_no_number_that_differs(self):
        for shown, printed in (("0 circuits", "5 circuits"),
                               ("collision protocol, 8 circuits: congestion 2", "collision protocol, 8 circuits: congestion 7"),
                               ("3 packets transmitted, 3 received, 0% packet loss, time 404ms",
                                "3 packets transmitted, 1 received, 66.6667% packet loss, time 404ms"),
                               ("    0       0    0       0        1        10430         667520      0      0",
                                "    0       0    0       0        1        10430         667520      0      7")):
            self.assertNotEqual(shape(shown), shape(printed))
        self.assertEqual(shape("bb8 is up after 1.1 s: 8 rows"), shape("bb8 is up after 0.4 s: 8 rows"))


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
        environment.pop("BFLY_STATE_DIR", None)  # the tour's state is in the run directory
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
                # Output that depends on files alone must be the same letter for letter, but for the folder of the results.
                exact = " describe " in command or "--dry-run" in command or " measure " in command
                printed = done.stdout.splitlines()
                for line in expected:
                    if CONSERVATION.search(line):
                        self.check_account(*accounts([line]), accounts(printed))
                    elif exact and not line.startswith("set-up:") and "results in" not in line:
                        self.assertIn(line, printed)
                    else:
                        self.assertIn(shape(line), [shape(other) for other in printed])

    def check_account(self, shown, printed):
        """How many packets there were differs. That all are accounted for does not, nor how many are lost or left."""
        self.assertEqual(len(printed), 1)
        injected, delivered, dropped, in_flight = printed[0]
        self.assertEqual(injected, delivered + dropped + in_flight)
        self.assertEqual(dropped, shown[2])
        if shown[3] == 0:
            self.assertEqual(in_flight, 0)
        if shown[0] in EXACT_COUNTS:
            self.assertEqual(injected, shown[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
