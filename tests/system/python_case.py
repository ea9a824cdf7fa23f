# SPDX-License-Identifier: Apache-2.0
"""A test of the Python package, with a command line beside it."""
import pathlib
import sys
import unittest.mock

from command_line import CommandLineTest
from lab import PYTHON_PATH

sys.path.insert(0, PYTHON_PATH)
import bfly  # noqa: E402


class PythonCase(CommandLineTest):
    def refused(self, code, field, call, *arguments, **more):
        with self.assertRaises(bfly.Error) as caught:
            call(*arguments, **more)
        self.assertEqual((caught.exception.code.name, caught.exception.field), (code, field), caught.exception)
        return caught.exception

    def with_bfly_in_the_path(self, others="/usr/bin:/bin"):
        return unittest.mock.patch.dict("os.environ", PATH=f"{pathlib.Path(PYTHON_PATH).parents[1]}:{others}")
