# SPDX-License-Identifier: Apache-2.0
"""Four kernel hosts with an address and nothing else reach each other through the stages."""

import itertools
import unittest

import fabric
import lab

HOSTS = 4


class HostsTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24")
                      for row in range(HOSTS)]

    def fabric(self, **more):
        ports = [fabric.host_port(row) for row in range(HOSTS)]
        return fabric.Fabric(self.lab, self.switch, fabric.topology(ports, **more))

    def pairs(self):
        return itertools.permutations(range(HOSTS), 2)

    def ping_all_pairs(self):
        for source, destination in self.pairs():
            self.hosts[source].ping(self.hosts[destination].address)

    def check_counters(self, net):
        """Nothing dropped; every port counts, and the XDP program's rows are the frames it redirected."""
        counters = net.settled()
        self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
        self.assertEqual(len(counters["ports"]), HOSTS)
        for row, port in enumerate(counters["ports"]):
            self.assertGreaterEqual(port["rx_packets"], 3 * 2 * (HOSTS - 1))
            self.assertGreaterEqual(port["tx_packets"], 3 * 2 * (HOSTS - 1))
            by_row = {count["row"]: count["packets"] for count in port["xdp_rows"]}
            # Rows without a host get no frames, and a host sends none to itself.
            self.assertEqual(set(by_row), set(range(HOSTS)) - {row})
            actions = {action["reason"]: action["packets"] for action in port["xdp_actions"]}
            self.assertEqual(sum(by_row.values()), actions["to_row"])
            self.assertEqual(actions["to_row"] + actions["flood"], port["rx_packets"])

    def test_ping_between_all_pairs_addressed_by_mac(self):
        with self.fabric() as net:
            self.ping_all_pairs()
            self.check_counters(net)
            # What a host sees of another is the row's address: its own MAC stays its own.
            neighbours = self.hosts[0].ip("neigh", "show", "10.77.0.19")
            self.assertIn("02:bf:00:00:00:03", neighbours)
            net.down()

    def test_ping_between_all_pairs_addressed_by_ipv4_prefix(self):
        addressing = {"mode": "ipv4_prefix", "ipv4_prefix": "10.77.0.16/28"}
        with self.fabric(addressing=addressing) as net:
            self.ping_all_pairs()
            self.check_counters(net)
            net.down()

    def test_tcp_crosses_the_fabric_with_checksum_offload_on(self):
        with self.fabric() as net:
            for host in self.hosts[:2]:
                self.assertIn("tx-checksumming: on", host.run("ethtool", "-k", "eth0"))
            result = self.hosts[0].iperf3(self.hosts[1])
            received = result["end"]["sum_received"]
            self.assertGreater(received["bytes"], 1_000_000)
            print(f"iperf3 TCP host to host: {received['bits_per_second'] / 1e6:.0f} Mbit/s")
            # Retransmissions would be segments whose checksum nobody finished.
            errors = self.hosts[1].run("nstat", "-az", "TcpInCsumErrors")
            self.assertRegex(errors, r"TcpInCsumErrors\s+0\s")
            self.assertEqual(net.settled()["conservation"]["dropped"], 0)
            net.down()

    def test_broadcast_arp_reaches_every_host(self):
        with self.fabric() as net:
            seen = [host.spawn("tcpdump", "-lnni", "eth0", "-c", "1", "arp and ether broadcast",
                               name=f"tcpdump-{host.short}") for host in self.hosts[1:]]
            for process in seen:
                process.wait_for("listening on")
            # An address that nobody has.
            self.hosts[0].run("ping", "-c", "1", "-W", "1", "10.77.0.99", check=False)
            for process in seen:
                self.assertIn("who-has 10.77.0.99", process.finish())
            net.settled()
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
