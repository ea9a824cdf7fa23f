# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: its blocks run as one program, and print what the page says."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from command_line import CommandLineTest
from lab import BUILD, PATIENCE, PYTHON_PATH, ROOT

MARK = "--- end of block {}"


def blocks():
    """(language, text) of every block of the page, in its order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.M | re.S)


class TutorialTest(CommandLineTest):
    def test_the_page(self):
        (self.directory / "life.yaml").write_text(next(text for language, text in blocks() if language == "yaml"))
        (self.directory / "topologies").symlink_to(ROOT / "topologies")
        program, expected = [], []
        for language, text in blocks():
            if language == "python":
                program += [text, f"print({MARK.format(len(expected))!r}, flush=True)"]
                expected.append("")
            elif language == "text":
                expected[-1] = text
        self.assertGreaterEqual(len(expected), 7)
        done = self.run_here([sys.executable, "-c", "\n".join(program)])
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")
        rest = done.stdout
        for number, text in enumerate(expected):
            said, _, rest = rest.partition(MARK.format(number) + "\n")
            pattern = ".*".join(map(re.escape, text.split("...")))
            self.assertRegex(said, f"^(?s:{pattern})$", f"block {number} of docs/python.md")

    def test_the_stubs(self):
        self.bfly("up", self.file)
        command = next(text for language, text in blocks() if language == "sh")
        done = self.run_here(["bash", "-euc", command.replace("python3", sys.executable)])
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_here(self, words):
        return subprocess.run(words, cwd=self.directory, capture_output=True, text=True, timeout=3 * PATIENCE, check=False,
                              env={**os.environ, "PYTHONPATH": PYTHON_PATH, "BFLY_RUN_DIR": str(self.run_dir),
                                   "PATH": f"{pathlib.Path(BUILD).resolve()}:{os.environ['PATH']}"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
