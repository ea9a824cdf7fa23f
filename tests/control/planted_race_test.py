# SPDX-License-Identifier: Apache-2.0
"""ThreadSanitizer sees a race under a gRPC handler: the suppressions of tests/tsan.supp do not hide it.

The argument is the program planted_race of a build with -Db_sanitize=thread."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
SUPPRESSIONS = pathlib.Path(__file__).resolve().parents[1] / "tsan.supp"


class PlantedRace(unittest.TestCase):
    def test_the_race_is_reported_and_ends_the_program(self):
        with tempfile.TemporaryDirectory(prefix="bfly-race-") as directory:
            done = subprocess.run([PROGRAM, f"{directory}/socket"], capture_output=True, text=True, timeout=120, check=False,
                                  env={"TSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:halt_on_error=1:exitcode=66"})
        self.assertEqual(done.returncode, 66, done.stdout + done.stderr)
        self.assertIn("WARNING: ThreadSanitizer: data race", done.stderr)
        self.assertIn("CountPlanted", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
