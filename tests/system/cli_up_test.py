#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which fabric `bfly up`, `down` and `lab` mean, and options of theirs that are for processes that run already."""
import os
import socket
import subprocess
import unittest
import unittest.mock

from command_line import BB16, BFLY, LCORES, CommandLineTest
from lab import BUILD, PATIENCE


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

    def test_a_replacement_that_cannot_be_told_of_runs_on(self):
        """The fabric that was there before is gone."""
        first, second = (self.write(f"{name}.yaml", f"{BB16}data_planes: [{{name: {name}, memory_mb: 256}}]\n") for name in ("dp0", "dp1"))
        self.bfly("up", first)
        for file, name, words in ((second, "dp1", ("--json",)), (first, "dp0", ())):
            self.unheard("up", file, "--replace", *words)
            self.assertEqual([plane["name"] for plane in self.json("status")["data_planes"]], [name])
            self.assertEqual(sorted(path.stem for path in self.run_dir.glob("*.pid")), ["controller", name])
        self.bfly("down")

    def test_run_directories_whose_sockets_grpc_would_not_find_are_refused(self):
        for sign in "#?%":
            self.run_dir = self.directory / f"a{sign}b"
            refused = self.bfly("up", self.file, check=False)
            self.assertEqual((refused.returncode, self.run_dir.exists()), (1, False), refused.stdout)
            self.assertIn(f"run-dir: {self.run_dir} has a '{sign}'", refused.stderr)

    def test_directories_are_refused_for_daemons_that_run(self):
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
        self.daemon("bfly-controller")
        self.bfly("up", self.file, "--device-dir", self.directory)
        self.bfly("down")

    def test_rows_are_spread_over_the_cpus_of_the_data_plane_that_runs(self):
        """Those of `bfly up` itself are others, if this machine has two."""
        file = self.write("free.yaml", "name: free\nnetwork: {kind: butterfly, rows: 8}\n")
        self.daemon("bfly-dataplane", "--name", "dp0", "--lcores", str(LCORES[-1]))
        self.assertIn(f"rows are spread over CPUs {LCORES[-1]}, all stages", self.bfly("up", file).stdout)
        for again in range(2):  # its threads have other CPUs once it has been loaded
            workers = self.json("status")["data_planes"][0]["workers"]
            self.assertEqual([worker["lcore"] for worker in workers], [LCORES[-1]], again)
            if not again:
                self.bfly("up", file, "--replace")
        # Its address may be written too.
        self.bfly("down")
        near = self.write("near.yaml", file.read_text() + f"data_planes: [{{name: dp0, address: 'unix:{self.run_dir}/dp0.sock'}}]\n")
        self.assertIn(f"rows are spread over CPUs {LCORES[-1]}, all stages", self.bfly("up", near).stdout)

    def test_a_data_plane_elsewhere_wants_a_placement(self):
        """Its machine need not have the CPUs of this one."""
        file = self.write("far.yaml", "name: far\nnetwork: {kind: butterfly, rows: 8}\n"
                                      "data_planes: [{name: dp0, address: '10.0.0.2:7381'}]\n")
        refused = self.bfly("up", file, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("placement: is missing, and data plane dp0, whose CPUs bfly up does not know, runs at 10.0.0.2:7381", refused.stderr)
        self.assertEqual(self.pids(), [])

    def test_lcores_that_lack_only_the_isolated_cpus_are_kept(self):
        """The kernel gives the same CPUs to a process for which nobody chose any."""
        if len(LCORES) < 2:
            self.skipTest("needs two CPUs")
        chosen, isolated = ",".join(map(str, LCORES[:-1])), str(LCORES[-1])
        (self.directory / "isolated").write_text(isolated + "\n")
        (self.directory / "online").write_text(f"{chosen},{isolated}\n")
        file = self.write("isolated.yaml", "name: isolated\nnetwork: {kind: butterfly, rows: 8}\n"
                                           f"placement: [{{stages: 0-2, lcore: {isolated}}}]\n")
        self.run_dir.mkdir()
        command = [BUILD / "bfly-dataplane", "--run-dir", self.run_dir, "--no-huge", "--memory-mb", "128", "--topology", file, "--lcores", chosen]
        # In a mount namespace of its own the machine looks as if a CPU were isolated.
        binds = "".join(f"mount --bind {self.directory}/{name} /sys/devices/system/cpu/{name} && " for name in ("isolated", "online"))
        done = subprocess.run(["unshare", "--mount", "sh", "-c", binds + 'exec "$@"', "sh", *command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(f"{isolated} is not a CPU this process may use", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
