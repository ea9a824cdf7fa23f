# SPDX-License-Identifier: Apache-2.0
"""Either side dies and comes back: circuits are installed again, traffic flows again, nothing is made up."""

import unittest

import fabric
import lab

HOSTS = 4


class RecoveryTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24")
                      for row in range(HOSTS)]
        content = fabric.topology([fabric.host_port(row) for row in range(HOSTS)])
        self.net = fabric.Fabric(self.lab, self.switch, content)
        self.net.up()

    def state(self):
        planes = self.net.json("status")["data_planes"]
        return planes[0]["state"]

    def circuit_ids(self):
        return sorted(int(circuit["id"]) for circuit in self.net.json("circuit", "list")["circuits"])

    def set_up_away_from_the_greedy_path(self):
        """A circuit 0 -> 3 through the middle row 15, which no greedy path of these hosts crosses."""
        # BB_16 from row 0: a hop sets one bit, leftmost first; four hops to row 15, four to row 3.
        return self.net.json("circuit", "setup", "0", "3", "--path", "0,8,12,14,15,7,3,3,3")

    def packets_at(self, counters, circuit):
        """Packets on the links of a circuit, first stage to last."""
        rows = circuit["rows"]
        by_end = {(link["stage"], link["row"], link["next_row"]): link["packets"] for link in counters["links"]}
        return [by_end[stage, rows[stage], rows[stage + 1]] for stage in range(len(rows) - 1)]

    def test_a_data_plane_that_dies_comes_back_with_its_circuits(self):
        circuit = self.set_up_away_from_the_greedy_path()
        self.hosts[0].ping(self.hosts[3].address)
        before = self.net.settled()
        self.assertGreater(min(self.packets_at(before, circuit)), 3)

        self.net.kill("dp0")
        lab.wait_until(lambda: self.state() == "unreachable", "the controller sees that dp0 is gone")
        self.assertEqual(self.circuit_ids(), [int(circuit["id"])])

        self.net.start_data_plane("dp0")
        lab.wait_until(lambda: self.state() == "running", "dp0 is loaded again")
        plane = self.net.json("status")["data_planes"][0]
        self.assertEqual(int(plane["reconciled"]), 1)
        for source in self.hosts:
            for destination in self.hosts:
                if source is not destination:
                    source.ping(destination.address)
        # A new process counts from zero, and its packets 0 -> 3 take the circuit.
        now = self.net.settled()
        self.assertGreater(min(self.packets_at(now, circuit)), 3)
        # The sums go on where the first process was last seen, to the end.
        self.assertGreaterEqual(now["conservation"]["injected"], before["conservation"]["injected"])
        self.assertGreaterEqual(self.net.down()["injected"], now["conservation"]["injected"])

    def test_a_controller_that_dies_leaves_traffic_alone_and_finds_the_circuits_again(self):
        circuit = self.set_up_away_from_the_greedy_path()
        self.net.kill("controller")
        self.hosts[0].ping(self.hosts[3].address, count=5)
        self.net.start_controller()
        lab.wait_until(self.controller_answers, "the controller answers again")
        lab.wait_until(lambda: self.state() == "running", "the controller has taken dp0 over")
        listed = self.net.json("circuit", "list")["circuits"]
        self.assertEqual([(c["input"], c["output"], c["rows"]) for c in listed], [(0, 3, circuit["rows"])])
        before = min(self.packets_at(self.net.settled(), circuit))
        self.hosts[0].ping(self.hosts[3].address, count=5)
        self.assertGreaterEqual(min(self.packets_at(self.net.settled(), circuit)), before + 5)
        self.net.down()

    def test_the_account_of_a_data_plane_that_is_killed_under_traffic_is_what_was_last_seen(self):
        self.set_up_away_from_the_greedy_path()
        self.net.bfly("traffic", "start", "--rows", "0", "--rate", "20000")
        seen = self.net.counters_when(lambda counters: counters["conservation"]["delivered"] > 20000)
        self.net.kill("dp0")
        account = self.net.down()
        self.assertGreaterEqual(account["injected"], seen["conservation"]["injected"])
        self.assertGreaterEqual(account["delivered"], seen["conservation"]["delivered"])

    def test_one_controller_works_in_a_run_directory(self):
        """Whatever it listens at: two would undo each other's circuits."""
        circuit = self.set_up_away_from_the_greedy_path()
        second = self.switch.spawn(lab.BUILD / "bfly-controller", "--run-dir", self.net.run_dir,
                                   "--listen", f"unix:{self.lab.directory}/second.sock")
        self.assertEqual(second.popen.wait(lab.PATIENCE), 1)
        self.assertRegex(second.text(), f"another controller, process {self.net.pid('controller')}, works in")
        # From another directory it finds the data plane owned, and leaves it alone.
        third = self.switch.spawn(lab.BUILD / "bfly-controller", "--run-dir", self.lab.directory / "third",
                                  "--agent", f"unix:{self.net.run_dir}/dp0.sock").wait_for("answers at")
        self.assertRegex(third.text(), f"data plane dp0 .* belongs to another controller, process "
                                       f"{self.net.pid('controller')} of .* with run directory {self.net.run_dir}")
        self.assertEqual(self.circuit_ids(), [int(circuit["id"])])
        self.net.down()

    def controller_answers(self):
        try:
            self.net.json("status")
        except lab.CommandFailed:
            return False
        return True


if __name__ == "__main__":
    unittest.main(verbosity=2)
