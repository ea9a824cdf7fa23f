# SPDX-License-Identifier: Apache-2.0
"""Either side dies and comes back: circuits are installed again, traffic flows again, nothing is made up."""

import os
import signal
import sqlite3
import time
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
        return self.net.status()["data_planes"][0]["state"]

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
        with self.assertRaisesRegex(lab.CommandFailed, "data plane dp0 is unreachable"):
            self.net.bfly("status")

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
        # The sums go on from the last read of the first process. The closing account says what is missing.
        self.assertGreaterEqual(now["conservation"]["injected"], before["conservation"]["injected"])
        account, unknown = self.net.down_incomplete()
        self.assertGreaterEqual(account["injected"], now["conservation"]["injected"])
        self.assertRegex(unknown[0], "data plane dp0: 1 of its processes")

    def test_a_data_plane_that_runs_the_fabric_of_another_controller_is_not_well(self):
        controller = self.net.pid("controller")
        os.kill(controller, signal.SIGSTOP)
        self.addCleanup(self.resume, controller)
        self.net.kill("dp0")
        self.net.start_data_plane("dp0")
        address = f"unix:{self.net.run_dir}/dp0.sock"
        other = fabric.Fabric(self.lab, self.switch, {
            **fabric.topology([], data_planes=[{"name": "dp0", "address": address}]), "name": "other"}, name="other")
        lab.wait_until(lambda: self.comes_up(other), "another controller has loaded its fabric on dp0")

        os.kill(controller, signal.SIGCONT)
        lab.wait_until(self.out_of_step, "the controller sees that dp0 runs another fabric")
        self.assertEqual(self.state(), "running")
        with self.assertRaisesRegex(lab.CommandFailed, "dp0 does not hold what is loaded: belongs to another"):
            self.net.bfly("status")

        other.down()
        lab.wait_until(lambda: not self.out_of_step() and self.state() == "running", "dp0 is loaded again")
        self.net.bfly("status")
        self.net.down_incomplete()

    def out_of_step(self):
        return self.net.status()["data_planes"][0]["out_of_step"]

    @staticmethod
    def resume(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    @staticmethod
    def comes_up(net):
        """False while the data plane, which has just been started, does not answer."""
        try:
            net.up()
        except lab.CommandFailed:
            return False
        return True

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
        account, unknown = self.net.down_incomplete()
        self.assertGreaterEqual(account["injected"], seen["conservation"]["injected"])
        self.assertGreaterEqual(account["delivered"], seen["conservation"]["delivered"])
        self.assertRegex(unknown[0], "data plane dp0: 1 of its processes ended without an account; what passed in the")

    def test_without_a_controller_there_is_no_closing_account_and_down_says_where_to_look(self):
        self.net.kill("controller")
        with self.assertRaisesRegex(lab.CommandFailed, "(?s)exit 1.*there is no closing account"):
            self.net.bfly("down")
        self.assertIn("conservation: injected", (self.net.run_dir / "dp0.log").read_text())

    def test_one_controller_works_in_a_run_directory(self):
        """Also if it listens elsewhere: two controllers would undo each other's circuits."""
        circuit = self.set_up_away_from_the_greedy_path()
        second = self.switch.spawn(lab.BUILD / "bfly-controller", "--run-dir", self.net.run_dir,
                                   "--listen", f"unix:{self.lab.directory}/second.sock")
        self.assertEqual(second.popen.wait(lab.PATIENCE), 1)
        self.assertRegex(second.text(), f"another controller, process {self.net.pid('controller')}, works in")
        # A controller of another directory finds that the data plane has an owner, and leaves it alone.
        third = self.switch.spawn(lab.BUILD / "bfly-controller", "--run-dir", self.lab.directory / "third",
                                  "--agent", f"unix:{self.net.run_dir}/dp0.sock").wait_for("answers at")
        self.assertRegex(third.text(), f"data plane dp0 .* belongs to another controller, process "
                                       f"{self.net.pid('controller')} of .* with run directory {self.net.run_dir}")
        self.assertEqual(self.circuit_ids(), [int(circuit["id"])])
        self.net.down()

    def know_each_other(self, *rows):
        """Hosts that know each other's addresses: only a host that pings or answers sends."""
        for here in rows:
            for there in rows:
                if here != there:
                    self.hosts[here].ip("neigh", "replace", self.hosts[there].address, "lladdr",
                                        f"02:bf:00:00:00:{there:02x}", "nud", "permanent", "dev", "eth0")

    def first_ping_is_answered(self, what):
        """One echo request to a host that has said nothing since: it, and not a later one, is answered."""
        started = time.monotonic()
        self.hosts[0].run("ping", "-c", "1", "-W", "20", self.hosts[3].address)
        print(f"{what}: answered {1000 * (time.monotonic() - started):.0f} ms after the data plane ran")

    def test_a_host_that_only_listens_is_reached_at_once_after_a_restart(self):
        self.hosts[0].ping(self.hosts[3].address)
        self.know_each_other(0, 3)
        self.net.kill("dp0")
        lab.wait_until(lambda: self.state() == "unreachable", "the controller sees that dp0 is gone")
        self.net.start_data_plane("dp0")
        lab.wait_until(lambda: self.state() == "running", "dp0 is loaded again")
        self.first_ping_is_answered("after a crash")
        self.net.down_incomplete()

    def test_a_host_that_only_listens_is_reached_at_once_after_down_and_up(self):
        self.hosts[0].ping(self.hosts[3].address)
        self.know_each_other(0, 3)
        self.net.down()
        self.net.bfly("up", self.net.file)
        self.first_ping_is_answered("after down and up")
        self.net.down()

    def split(self):
        """The same fabric on two data planes; dp1 has no stage to which a circuit is written."""
        self.net.down()
        device = f"id=0,socket={self.lab.directory}/split-run/trunk.sock,socket-abstract=no"
        content = fabric.topology(
            [], data_planes=[{"name": "dp0"}, {"name": "dp1"}],
            placement=[{"stages": "0-3", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "4-7", "lcore": 1, "data_plane": "dp1"}],
            trunks=[{"name": "middle", "after_stage": 3, "from": "dp0", "to": "dp1",
                     "from_device": f"net_memif0,role=server,{device}",
                     "to_device": f"net_memif1,role=client,{device}"}])
        self.net = fabric.Fabric(self.lab, self.switch, content, name="split")
        self.net.up()

    def on_disk(self):
        with sqlite3.connect(f"file:{self.net.run_dir}/intent.db?mode=ro", uri=True) as database:
            return [row for (row,) in database.execute("SELECT input FROM circuits ORDER BY input")]

    def test_a_controller_and_the_data_plane_of_stage_0_die_at_once(self):
        """The other data plane runs on, so the fabric is taken over; the one that is empty is not believed."""
        self.split()
        self.set_up_away_from_the_greedy_path()
        self.net.bfly("circuit", "setup", "1", "2")
        self.net.bfly("link", "set", "s6 r9", "--delay", "50us")
        ids = self.circuit_ids()
        for order in (("dp0", "controller"), ("controller", "dp0")):
            with self.subTest(order):
                lab.wait_until(lambda: self.on_disk() == [0, 1], "both circuits are on disk")
                self.net.kill("controller")
                self.net.kill("dp0")
                for name in order:
                    process = self.net.start_controller() if name == "controller" else self.net.start_data_plane(name)
                    self.net.note_pid(name, process)
                    time.sleep(1)  # the other one sees it as it is
                lab.wait_until(self.controller_answers, "the controller answers again")
                lab.wait_until(lambda: self.state() == "running", "dp0 is loaded again")
                self.assertEqual(self.circuit_ids(), ids)
                lab.wait_until(lambda: self.on_disk() == [0, 1], "both circuits are on disk again")
                self.assertEqual({group["delay"] for group in self.net.json("link", "show", "s6 r9")["links"]}, {"50us"})
        self.net.bfly("down", check=False)

    def controller_answers(self):
        try:
            self.net.status()
        except lab.CommandFailed:
            return False
        return True


class BridgedHostsTest(unittest.TestCase):
    """Between the data plane and its hosts are bridges, so no kernel can tell whose address is behind a port."""

    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        middle = self.lab.namespace("mid")
        self.hosts = []
        for row in range(2):
            # A port learns the last sender, so the bridge must send no frame of its own: with snooping it joins a
            # multicast group, and with IPv6 it looks for routers.
            middle.ip("link", "add", f"br{row}", "type", "bridge", "mcast_snooping", 0)
            middle.run("sysctl", "-qw", f"net.ipv6.conf.br{row}.disable_ipv6=1")
            middle.ip("link", "set", f"br{row}", "up")
            self.lab.wire(self.switch, f"bf{row}", middle, f"up{row}")
            self.hosts.append(self.lab.host(f"h{row}", middle, f"down{row}", f"10.77.0.{16 + row}/24"))
            for interface in (f"up{row}", f"down{row}"):
                middle.ip("link", "set", interface, "master", f"br{row}")
        self.net = fabric.Fabric(self.lab, self.switch, fabric.topology([fabric.host_port(row) for row in range(2)]))
        self.net.up()

    def state(self):
        return self.net.status()["data_planes"][0]["state"]

    def test_their_addresses_are_kept_over_a_crash_and_not_needed_after_down_and_up(self):
        self.hosts[0].ping(self.hosts[1].address)
        for here, there in ((0, 1), (1, 0)):
            self.hosts[here].ip("neigh", "replace", self.hosts[there].address, "lladdr",
                                f"02:bf:00:00:00:{there:02x}", "nud", "permanent", "dev", "eth0")
        kept = self.net.run_dir / "dp0.hosts"
        lab.wait_until(lambda: kept.exists() and len(kept.read_text().splitlines()) == 2, "both addresses are kept")
        addresses = [host.run("cat", "/sys/class/net/eth0/address").strip() for host in self.hosts]
        self.assertEqual(sorted(kept.read_text().splitlines()),
                         [f"h{row} {row} {int(addresses[row].replace(':', ''), 16):x}" for row in range(2)])

        self.net.kill("dp0")
        lab.wait_until(lambda: self.state() == "unreachable", "the controller sees that dp0 is gone")
        self.net.start_data_plane("dp0")
        lab.wait_until(lambda: self.state() == "running", "dp0 is loaded again")
        with_own_address = self.hosts[1].spawn("tcpdump", "-lnei", "eth0", "-c", "1", "icmp and ether dst",
                                               addresses[1], name="own-address")
        with_own_address.wait_for("listening on")
        self.hosts[0].run("ping", "-c", "1", "-W", "20", self.hosts[1].address)
        with_own_address.finish()

        self.net.down_incomplete()
        self.assertFalse(kept.exists())
        self.net.bfly("up", self.net.file)
        # No port knows its host now, so frames for a host go to the broadcast address behind its port.
        self.hosts[0].run("ping", "-c", "1", "-W", "20", self.hosts[1].address)
        self.net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
