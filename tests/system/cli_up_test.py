#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which fabric `bfly up`, `down` and `lab` mean, and options of theirs that are for processes that run already."""
import os
import socket
import subprocess
import unittest
import unittest.mock

from command_line import BFLY, CommandLineTest
from lab import BUILD, PATIENCE, wait_until


class UpTest(CommandLineTest):
    def elsewhere(self):
        """The address of a server that is not ours, and whether anybody has called there."""
        path = self.directory / "elsewhere.sock"
        door = socket.socket(socket.AF_UNIX)
        self.addCleanup(door.close)
        door.bind(str(path))
        door.listen()
        door.setblocking(False)

        def called():
            try:
                door.accept()[0].close()
                return True
            except BlockingIOError:
                return False

        return f"unix:{path}", called

    def test_a_run_directory_that_is_typed_counts_more_than_the_variable(self):
        address, called = self.elsewhere()
        with unittest.mock.patch.dict(os.environ, BFLY_CONTROLLER=address):
            self.assertIn("life is up", self.bfly("up", self.file).stdout)
            self.bfly("circuit", "setup", 3, 12)
            self.assertEqual(self.json("status")["name"], "life")
            self.assertIn("stopped controller, dp0", self.bfly("down").stdout)
        self.assertFalse(called())
        # The server does see who means it.
        subprocess.run([BFLY, "status"], env={**os.environ, "BFLY_CONTROLLER": address}, capture_output=True, timeout=PATIENCE,
                       check=False)
        self.assertTrue(called())

    def test_what_works_with_processes_refuses_a_controller_elsewhere(self):
        address, called = self.elsewhere()
        self.bfly("up", self.file)
        pids = self.pids()
        variables = {**os.environ, "BFLY_RUN_DIR": str(self.run_dir), "BFLY_CONTROLLER": address}
        for words in (("up", self.file), ("up", self.file, "--replace"), ("down",), ("lab", "up", self.file), ("lab", "down")):
            by_variable = subprocess.run([BFLY, *map(str, words)], env=variables, capture_output=True, text=True,
                                         stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
            for refused in (by_variable, self.bfly(*words, "--controller", address, check=False)):
                self.assertEqual(refused.returncode, 1, words)
                self.assertIn(f"--controller or $BFLY_CONTROLLER names {address}", refused.stderr)
        self.assertFalse(called())
        self.assertEqual(self.pids(), pids)
        self.assertTrue(self.json("status")["loaded"])
        # The run directory's own controller may be named.
        self.bfly("down", "--controller", f"unix:{self.run_dir}/controller.sock")
        self.assertEqual(self.pids(), [])

    def daemon(self, program, *words):
        """One that somebody else started, such as a unit."""
        name = words[1] if words else "controller"
        process = subprocess.Popen([BUILD / program, "--run-dir", self.run_dir, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until((self.run_dir / f"{name}.sock").exists, f"{name} serves")

    def test_directories_are_refused_for_daemons_that_run(self):
        self.run_dir.mkdir()
        self.daemon("bfly-controller")
        self.daemon("bfly-dataplane", "--name", "dp0")
        other = self.directory / "other"
        for option, what in (("--state-dir", f"BFLY_STATE_DIR={other} in /etc/default/bfly"),
                             ("--device-dir", f"BFLY_DATAPLANE_OPTIONS='--device-dir {other}' in /etc/default/bfly")):
            refused = self.bfly("up", self.file, option, other, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertTrue(refused.stderr.startswith(f"bfly: {option}: "), refused.stderr)
            self.assertIn(what, refused.stderr)
        self.assertFalse(self.json("status").get("loaded", False))
        self.assertFalse(other.exists())
        self.bfly("up", self.file)
        self.assertTrue(self.json("status")["loaded"])
        self.bfly("down")

    def test_device_directories_are_for_data_planes_that_start(self):
        self.run_dir.mkdir()
        self.daemon("bfly-controller")
        self.bfly("up", self.file, "--device-dir", self.directory)
        self.bfly("down")


if __name__ == "__main__":
    unittest.main(verbosity=2)
