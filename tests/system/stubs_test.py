# SPDX-License-Identifier: Apache-2.0
"""docs/api.md says how a client in another language gets its stubs: its commands are run as they stand."""
import os
import re
import subprocess
import sys
import unittest

from command_line import CommandLineTest
from lab import PATIENCE, ROOT


def block(language):
    """The first block of that language in the section on stubs."""
    section = (ROOT / "docs/api.md").read_text().split("\n## Stubs\n")[1].split("\n## ")[0]
    return re.search(rf"^```{language}\n(.*?)^```", section, re.M | re.S).group(1)


class StubsTest(CommandLineTest):
    def test_the_commands_of_the_documentation_make_stubs_that_work(self):
        (self.directory / "proto").symlink_to(ROOT / "proto")
        subprocess.run(["bash", "-euc", block("sh")], cwd=self.directory, check=True, timeout=PATIENCE)
        self.bfly("up", self.file)
        program = block("python").replace("unix:/run/bfly", f"unix:{self.run_dir}")
        done = subprocess.run([sys.executable, "-c", program], cwd=self.directory, capture_output=True, text=True,
                              check=False, timeout=PATIENCE,
                              env={**os.environ, "PYTHONPATH": str(self.directory / "stubs")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('name: "life"', done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
