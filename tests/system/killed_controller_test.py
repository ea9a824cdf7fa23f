# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the controller under traffic: no packet is lost because of it, and 100,000 circuits and the objects are as before."""
import hashlib
import os
import signal
import subprocess
import time
import unittest

from command_line import CommandLineTest, LCORES, alive
from lab import BUILD, wait_until

CIRCUITS = 100_000
LARGE = f"""
name: large
network: {{kind: two_fold_butterfly, rows: 131072, seed: 7}}
placement:
  - {{stages: 0-33, lcore: {LCORES[-1]}}}
"""
DISKS = f"""
name: disks
network: {{kind: randomly_wired_butterfly, rows: 16, seed: 7}}
placement:
  - {{stages: 0-3, lcore: {LCORES[-1]}}}
"""


class KilledControllerTest(CommandLineTest):
    def restart(self, ready):
        """Kills the controller and starts it again. Returns the seconds until `ready` of the answer of `bfly status`."""
        pid = int((self.run_dir / "controller.pid").read_text().split()[0])
        begun = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the controller is gone")
        with open(self.directory / "again.log", "wb") as log:
            again = subprocess.Popen([BUILD / "bfly-controller", "--run-dir", self.run_dir], stdout=log, stderr=log,
                                     start_new_session=True)
        # `bfly down` unloads the fabric; whatever happens, nothing of it is left.
        self.addCleanup(again.wait)
        self.addCleanup(again.kill)

        def is_ready():
            done = self.bfly("status", "--json", check=False)
            return done.returncode == 0 and ready(self.json("status"))

        wait_until(is_ready, "the controller knows the fabric again")
        return time.monotonic() - begun

    def circuits(self):
        listed = self.bfly("circuit", "list", "--json").stdout
        return listed.count('"id":'), hashlib.sha256(listed.encode()).hexdigest()

    def test_a_hundred_thousand_circuits_under_traffic(self):
        self.bfly("up", self.write("large.yaml", LARGE))
        self.bfly("circuit", "permutation", "--protocol", "minimum", "--rows", f"0-{CIRCUITS - 1}", "--summary")
        before = self.circuits()
        self.assertEqual(before[0], CIRCUITS)
        # A bounded number of packets, most of which are sent while there is no controller.
        rows, each = 200, 1000
        self.bfly("traffic", "start", "--rows", f"0-{rows - 1}", "--rate", "500", "--packets", each)
        took = self.restart(lambda status: status["circuits"] == CIRCUITS and status["data_planes"][0]["state"] == "running")
        print(f"{CIRCUITS} circuits: known again {took:.2f} s after the kill")
        self.assertEqual(self.circuits(), before)

        def account():
            conservation = self.json("counters", "--top", 1)["conservation"]
            return conservation if conservation["delivered"] == rows * each else None

        conservation = wait_until(account, "every packet arrives")
        self.assertEqual((conservation["injected"], conservation["dropped"], conservation["in_flight"]), (rows * each, 0, 0))
        self.bfly("down")

    def test_objects_and_reads(self):
        self.bfly("up", self.write("disks.yaml", DISKS))
        self.bfly("data-server", "place", "--objects", "40", "--seed", "3")
        for user in (1, 5, 9):
            self.bfly("data-server", "request", user, 7 + user)
        before = self.json("data-server", "status")
        self.restart(lambda status: status["circuits"] == 3)
        self.assertEqual(self.json("data-server", "status"), before)
        # And it goes on: the next read is served, and one that ends gives its path back.
        self.bfly("data-server", "request", 2, 30)
        self.bfly("data-server", "release", 5)
        self.assertEqual(self.json("status")["circuits"], 3)
        self.bfly("down")


if __name__ == "__main__":
    unittest.main(verbosity=2)
