# SPDX-License-Identifier: Apache-2.0
"""`bfly lab` where somebody else, such as a service manager, has started the daemons, which run on afterwards."""

import unittest

from lab import run, wait_until
from lab_case import FOUR, LabCase, in_a_machine_of_its_own, machine


class LabDaemonsTest(LabCase):
    def setUp(self):
        super().setUp()
        self.controller = self.daemon("bfly-controller")
        self.data_plane = self.daemon("bfly-dataplane", "--name", "dp0")
        self.here = self.write("here.yaml", FOUR.split("hosts:")[0] + """hosts:
  - {name: own, rows: 0, addresses: 10.77.0.1/24}
  - {name: there, rows: 1, kind: interface, port_interface: there0}
""")

    def add_interface(self):
        run("ip", "link", "add", "there0", "type", "veth", "peer", "name", "there1")
        self.addCleanup(run, "ip", "link", "del", "there0", check=False)
        run("ip", "link", "set", "there0", "up")

    def hosts_are_gone(self):
        self.assertFalse(self.json("status").get("loaded", False))
        self.assertEqual(machine()["names"], self.before["names"])
        self.assertNotIn("bf0", run("ip", "link"))
        self.assertFalse((self.run_dir / "lab.journal").exists())

    def test_a_fabric_is_unloaded_and_the_daemons_run_on(self):
        # This data plane cannot be in a namespace that is made later.
        self.refused(FOUR, f"data plane dp0 in {self.run_dir} runs already, so it is not in network namespace {self.name}-fabric")
        self.add_interface()
        for ended in (False, True):
            self.up(self.here)
            self.assertTrue(self.json("lab", "status")["fabric_runs"])
            if ended:
                self.bfly("down")
            told = self.json("lab", "down")
            # By hand: host "own" has a namespace and a pair of interfaces.
            self.assertEqual(("conservation" in told["account"], told["namespaces"], told["links"]), (not ended, 1, 1))
            self.hosts_are_gone()

    def test_without_a_controller_the_hosts_stay(self):
        self.add_interface()
        self.up(self.here)
        self.controller.kill()
        self.controller.wait()
        refused = self.bfly("lab", "down", check=False)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("no controller runs that could unload the fabric of dp0", refused.stderr)
        self.assertIn(f"the hosts of lab {self.name} stay, because the fabric that uses them is still in data planes", refused.stderr)
        self.assertEqual(self.execute("own", "true").returncode, 0)
        self.assertTrue(self.not_well("the controller does not run")["fabric_runs"])
        self.daemon("bfly-controller")
        # While it takes the fabric over, the data plane may be unreachable once more.
        has_it = lambda status: status.returncode == 0 and "\n  \"loaded\": true," in status.stdout
        wait_until(lambda: has_it(self.bfly("status", "--json", check=False)), "the controller has the fabric again")
        told = self.json("lab", "down")
        self.assertEqual(("conservation" in told["account"], told["namespaces"], told["links"]), (True, 1, 1))
        self.hosts_are_gone()

    def test_status_fails_for_interfaces_and_data_planes_that_are_gone(self):
        self.add_interface()
        self.up(self.here)
        self.assertEqual([host["state"] for host in self.json("lab", "status")["hosts"]], ["up", "up"])
        run("ip", "link", "set", "there0", "down")
        self.not_well("host there is down")
        run("ip", "link", "set", "there0", "up")
        self.bfly("lab", "status")
        self.data_plane.kill()
        self.data_plane.wait()
        wait_until(lambda: "dp0 is unreachable" in self.bfly("lab", "status", check=False).stderr, "the controller misses the data plane")
        run("ip", "link", "del", "there0")
        self.not_well("host there is gone, data plane dp0 is unreachable")
        self.controller.kill()
        self.controller.wait()
        self.not_well("host there is gone, the controller does not run, data plane dp0 does not run")

    def test_a_lab_that_cannot_be_told_of_leaves_nothing(self):
        self.add_interface()
        for words in (("--json",), ()):
            self.unheard("lab", "up", self.here, "--name", self.name, *words)
            self.hosts_are_gone()


if __name__ == "__main__":
    in_a_machine_of_its_own()
    unittest.main(verbosity=2)
