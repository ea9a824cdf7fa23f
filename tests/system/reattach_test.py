# SPDX-License-Identifier: Apache-2.0
"""An interface that somebody deletes and makes again is attached again, and until then status names the dead port."""

import unittest

import fabric
import lab

STAYS, CHANGES = 0, 3


class ReattachTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = {row: self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24")
                      for row in (STAYS, CHANGES)}

    def problem(self, net):
        return net.json("status")["data_planes"][0].get("problem", "")

    def delete_and_make_again(self, net, times=1):
        host = self.hosts[CHANGES]
        for _ in range(times):
            before = fabric.ports_by_name(net.counters())[f"h{CHANGES}"]
            self.switch.ip("link", "del", f"bf{CHANGES}")
            problem = lab.wait_until(lambda: self.problem(net), "status names the dead port")
            self.assertIn(f"port h{CHANGES}: interface bf{CHANGES} is gone", problem)
            self.lab.wire(self.switch, f"bf{CHANGES}", host, "eth0")
            host.set_up(f"{host.address}/24")
            lab.wait_until(lambda: not self.problem(net), "the port is attached again")
            # The other host knows the row's address still; the new interface of this one has said nothing.
            self.hosts[STAYS].run("ping", "-c", "1", "-W", "20", host.address)
            self.hosts[STAYS].ping(host.address)
            after = fabric.ports_by_name(net.counters())[f"h{CHANGES}"]
            self.assertGreater(after["rx_packets"], before["rx_packets"])
            self.assertGreaterEqual(self.redirected(after), self.redirected(before))

    def redirected(self, port):
        return sum(action["packets"] for action in port.get("xdp_actions", []))

    def ports(self, driver):
        return [{"name": f"h{row}", "device": driver(row), "rows": str(row)} for row in (STAYS, CHANGES)]

    def test_af_xdp_again_and_again(self):
        """Every time the driver holds on to 2,048 buffers and more: ten times would empty the pool, of 18,432."""
        content = fabric.topology(self.ports(lambda row: f"net_af_xdp,iface=bf{row}"),
                                  data_planes=[{"name": "dp0", "spare_queue_pairs": 0}])
        with fabric.Fabric(self.lab, self.switch, content) as net:
            self.hosts[STAYS].ping(self.hosts[CHANGES].address)
            self.delete_and_make_again(net, times=10)
            net.down()

    def test_af_packet(self):
        with fabric.Fabric(self.lab, self.switch,
                           fabric.topology(self.ports(lambda row: f"net_af_packet{row},iface=bf{row}"))) as net:
            self.hosts[STAYS].ping(self.hosts[CHANGES].address)
            self.delete_and_make_again(net)
            net.down()

    def test_af_packet_is_taken_away_while_its_interface_is_down(self):
        """A socket on an interface that is down keeps the first frame back, also when the interface is up again."""
        ports = self.ports(lambda row: f"net_af_packet{row},iface=bf{row}")
        name, host = f"bf{CHANGES}", self.hosts[CHANGES]
        self.switch.ip("link", "set", name, "down")
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports)) as net:
            for _ in range(2):
                problem = lab.wait_until(lambda: self.problem(net), "status names the port that is down")
                self.assertIn(f"port h{CHANGES}: interface {name} is down", problem)
                self.switch.ip("link", "set", name, "up")
                lab.wait_until(lambda: not self.problem(net), "the port is attached again")
                # No ARP: the request is the first frame on the interface.
                self.hosts[STAYS].ip("neigh", "replace", host.address, "lladdr", "02:bf:00:00:00:03", "dev", "eth0")
                self.hosts[STAYS].run("ping", "-c", "1", "-W", "20", host.address)
                self.switch.ip("link", "set", name, "down")
            # Status says what is the matter now, not what was at first.
            lab.wait_until(lambda: "is down" in self.problem(net), "status names the port that is down")
            self.switch.ip("link", "del", name)
            lab.wait_until(lambda: "is gone" in self.problem(net), "status names the port that is gone")
            net.down()

    def test_a_tap_comes_back_with_its_address(self):
        """A TAP goes with the namespace of its host; the data plane makes it again where it runs itself."""
        mac = "02:00:00:00:00:07"
        ports = [fabric.host_port(STAYS),
                 {"name": "t5", "device": f"net_tap5,iface=bft5,mac={mac}", "rows": "5"}]
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports)) as net:
            for generation in range(3):
                host = self.lab.bare_host(f"t{generation}")
                lab.wait_until(lambda: "bft5" in self.switch.run("ls", "/sys/class/net"), "the TAP is there")
                self.assertEqual(self.switch.run("cat", "/sys/class/net/bft5/address").strip(), mac)
                lab.wait_until(lambda: not self.problem(net), "the port is attached")
                self.switch.ip("link", "set", "bft5", "netns", host.name)
                host.ip("link", "set", "bft5", "name", "eth0")
                host.set_up("10.77.0.21/24")
                self.hosts[STAYS].ping(host.address)
                host.ip("link", "del", "eth0")
            net.settled()
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
