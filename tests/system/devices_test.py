# SPDX-License-Identifier: Apache-2.0
"""Other ways to attach a peer than AF_XDP: TAP, AF_PACKET, capture files; and how long their frames may be."""

import json
import os
import re
import signal
import statistics
import sys
import unittest

import fabric
import frames
import lab


# Sends frames of 1,514 bytes to row 5, about 50 Mbit/s.
_FLOOD = """
import socket, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind(("eth0", 0))
    frame = bytes.fromhex("02bf00000005") + s.getsockname()[4] + bytes.fromhex("88b6") + bytes(1500)
    while True:
        for _ in range(20):
            s.send(frame)
        time.sleep(0.005)
"""


def mtus(namespace):
    links = json.loads(namespace.run("ip", "-j", "link"))
    return {link["ifname"]: link["mtu"] for link in links if link["ifname"].startswith("bf")}


def drops(counters):
    return {drop["reason"]: drop["packets"] for drop in counters["drops"]}


class DevicesTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def tap_host(self, row):
        """In a namespace of its own a TAP is an ordinary host."""
        host = self.lab.bare_host(f"t{row}")
        self.switch.ip("link", "set", f"bft{row}", "netns", host.name)
        host.ip("link", "set", f"bft{row}", "name", "eth0")
        host.set_up(f"10.77.0.{16 + row}/24")
        return host

    def test_hosts_on_taps_need_an_address_and_nothing_else(self):
        rows = (0, 2)
        ports = [{"name": f"t{row}", "device": f"net_tap{row},iface=bft{row}", "rows": str(row)} for row in rows]
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports)) as net:
            hosts = [self.tap_host(row) for row in rows]
            hosts[0].ping(hosts[1].address)
            result = hosts[0].iperf3(hosts[1])
            self.assertGreater(result["end"]["sum_received"]["bytes"], 1_000_000)
            print(f"iperf3 TCP over TAP: {result['end']['sum_received']['bits_per_second'] / 1e6:.0f} Mbit/s")
            self.assertEqual(net.settled()["conservation"]["dropped"], 0)
            net.down()

    def test_queue_pairs_of_one_interface_are_polled_by_workers_of_their_own(self):
        """The kernel spreads flows over the queues of a TAP; each queue has its lcore, and nothing is lost."""
        flows = 200
        ports = [{"name": f"t{row}", "device": f"net_tap{row},iface=bft{row}", "rows": str(row), "queue_pairs": 2,
                  "lcores": [0, 1]} for row in (0, 2)]
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports)) as net:
            self.assertIn("t0: 2 queue pairs, lcores 0-1; the device spreads flows (RSS), workers hand frames over",
                          net.bfly("status"))
            hosts = [self.tap_host(row) for row in (0, 2)]
            hosts[0].ping(hosts[1].address)
            before = net.settled()
            hosts[0].run("/usr/bin/python3", "-c", f"""if True:
                import socket
                for _ in range({flows}):
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
                        flow.sendto(b"x", ("{hosts[1].address}", 9))
                """)
            after = net.settled(lambda c: c["conservation"]["injected"] >=
                                before["conservation"]["injected"] + flows, "all flows went in")
            self.assertEqual(after["conservation"]["dropped"], 0)
            received = [now["rx_packets"] - then["rx_packets"] for now, then in
                        zip(after["ports"][0]["queues"], before["ports"][0]["queues"])]
            self.assertEqual(len(received), 2)
            self.assertGreaterEqual(sum(received), flows)
            # The kernel hashes each flow to a queue, as good as a fair coin: mean 100, standard deviation 7.
            self.assertGreater(min(received), 60, received)
            net.down()

    def test_a_port_of_several_rows_is_polled_by_the_workers_of_its_rows(self):
        """By flow rules where the kernel can (it needs the filter flower), else as it spreads flows."""
        placement = [{"stages": "0-3", "rows": f"{8 * i}-{8 * i + 7}", "lcore": i} for i in (0, 1)]
        ports = [{"name": "t0", "device": "net_tap0,iface=bft0", "rows": "0-15", "queue_pairs": 2}]
        content = fabric.topology(ports, kind="butterfly", placement=placement)
        with fabric.Fabric(self.lab, self.switch, content) as net:
            [port] = net.status()["data_planes"][0]["ports"]
            self.assertEqual((port["name"], port["queue_pairs"], port["lcores"]), ("t0", 2, [0, 1]))
            self.assertIn(port["steering"], ("flow_rules", "rss"))
            print(f"frames come to their workers by {port['steering']}")
            before = net.settled()
            self.switch.run("/usr/bin/python3", "-c", """if True:
                import socket
                with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as tap:
                    tap.bind(("bft0", 0))
                    for i in range(256):
                        addresses = [bytes([2, 0xbf, 0, 0, 0, row]) for row in (i // 16 % 16, i % 16)]
                        tap.send(addresses[0] + addresses[1] + bytes([0x88, 0xb6]) + bytes(46))
                """)
            after = net.settled(lambda c: c["conservation"]["delivered"] ==
                                before["conservation"]["delivered"] + 256, "all frames came out")

            def came(direction):
                return [now[direction] - then[direction] for now, then in
                        zip(after["ports"][0]["queues"], before["ports"][0]["queues"])]

            # Frames of the kernel itself may come too, and are not for the fabric.
            self.assertGreaterEqual(sum(came("rx_packets")), 256)
            if port["steering"] == "flow_rules":
                self.assertGreaterEqual(min(came("rx_packets")), 128)
            # Each worker sends to the 8 rows that it has, on its queue pair.
            self.assertEqual(came("tx_packets"), [128, 128])
            net.down()

    def test_a_veth_says_that_it_has_no_queues_to_share_out(self):
        self.lab.host("h0", self.switch, "bf0", "10.77.0.16/24")
        net = fabric.Fabric(self.lab, self.switch, fabric.topology([fabric.host_port(0, queue_pairs=2)]))
        with self.assertRaisesRegex(lab.CommandFailed, r"(?s)ports\[0\].*queue_pairs is 2.*ethtool -l bf0"):
            net.up()

    def test_a_device_that_cannot_carry_the_longest_frame_is_refused(self):
        """DPDK's net_tap sends nothing longer than 1,522 bytes."""
        ports = [{"name": "t0", "device": "net_tap0,iface=bft0", "rows": "0"}]
        net = fabric.Fabric(self.lab, self.switch, fabric.topology(ports, max_frame_bytes=9018))
        with self.assertRaisesRegex(lab.CommandFailed, r"(?s)ports\[0\].*9018.*net_tap0.*at most 1522"):
            net.up()

    def test_af_xdp_carries_frames_as_long_as_a_page_lets_it(self):
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24", mtu=3388)
                 for row in (0, 1)]
        ports = [fabric.host_port(row) for row in (0, 1)]
        self.switch.ip("link", "set", "bf1", "mtu", 1500)

        self.assertEqual(mtus(self.switch), {"bf0": 3388, "bf1": 1500})
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports, max_frame_bytes=3402)) as net:
            # An MTU leaves out the Ethernet header and a VLAN tag, 18 bytes. None is lowered.
            self.assertEqual(mtus(self.switch), {"bf0": 3388, "bf1": 3402 - 18})
            hosts[0].ping(hosts[1].address)
            # 3,388 bytes with the headers of IPv4 and ICMP, not to be fragmented.
            hosts[0].run("ping", "-c", "5", "-i", "0.05", "-W", "5", "-M", "do", "-s", 3388 - 28, hosts[1].address)
            self.assertEqual(net.settled()["conservation"]["dropped"], 0)
            net.down()

    def test_tcp_passes_inside_vxlan_if_hosts_finish_their_checksums(self):
        """The edge finishes the checksum behind the first IP header only, so these hosts must not leave theirs to it."""
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in (0, 1)]
        for row, host in enumerate(hosts):
            host.run("ethtool", "-K", "eth0", "tx", "off")
            host.ip("link", "add", "vx0", "mtu", 1450, "type", "vxlan", "id", 5, "dev", "eth0", "dstport", 4789,
                    "local", host.address, "remote", hosts[1 - row].address)
            host.run("sysctl", "-qw", "net.ipv6.conf.vx0.disable_ipv6=1")
            host.ip("addr", "add", f"10.78.0.{16 + row}/24", "dev", "vx0")
            host.ip("link", "set", "vx0", "up")
        with fabric.Fabric(self.lab, self.switch, fabric.topology([fabric.host_port(row) for row in (0, 1)])) as net:
            hosts[0].ping("10.78.0.17")
            hosts[1].address = "10.78.0.17"
            self.assertGreater(hosts[0].iperf3(hosts[1])["end"]["sum_received"]["bytes"], 1_000_000)
            net.settled()
            net.down()

    def test_a_capture_file_goes_in_and_comes_out(self):
        """Row 0 plays a file; rows 1 to 7 are written to another. Two frames of it are for nobody."""
        sent = [frames.frame(frames.row_mac(row), frames.row_mac(0), payload=f"frame {i}".encode(), size=60 + i)
                for i, row in enumerate([1, 7, 3, 3, 2, 6, 5, 4] * 8)]
        strays = [frames.frame(frames.row_mac(8), frames.row_mac(0)),
                  frames.frame(bytes.fromhex("525400000002"), frames.row_mac(0))]
        source, sink = self.lab.directory / "in.pcap", self.lab.directory / "out.pcap"
        frames.write_pcap(source, sent + strays)
        ports = [{"name": "in", "device": f"net_pcap0,rx_pcap={source},tx_pcap={self.lab.directory / 'back.pcap'}",
                  "rows": "0", "translate_mac": False},
                 {"name": "out", "device": f"net_pcap1,tx_pcap={sink}", "rows": "1-7"}]
        content = fabric.topology(ports, rows=8, kind="butterfly", placement=[{"stages": "0-2", "lcore": 0}])
        with fabric.Fabric(self.lab, self.switch, content) as net:
            counters = net.settled(lambda c: c["conservation"]["injected"] == len(sent) + 2, "the file is played")
            self.assertEqual(counters["conservation"]["delivered"], len(sent))
            self.assertEqual(drops(counters), {"unknown_row": 1, "not_for_fabric": 1})
            net.down()
        received = frames.read_pcap(sink)
        self.assertEqual(sorted(received), sorted(sent))
        # One path from row 0 to each row: in order.
        for row in range(1, 8):
            self.assertEqual([f for f in received if f[:6] == frames.row_mac(row)],
                             [f for f in sent if f[:6] == frames.row_mac(row)])


class AfPacketTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def host(self, row, mtu=1500):
        return self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24", mtu=mtu)

    def two_hosts(self, mtu=1500):
        return self.host(0, mtu), self.host(5, mtu)

    def ports(self, *rows):
        return [{"name": f"h{row}", "device": f"net_af_packet{row},iface=bf{row}", "rows": str(row)} for row in rows]

    def test_hosts_leave_their_checksums_to_the_edge(self):
        """AF_PACKET sees segments of 64 KiB before the kernel cuts them: that the hosts must not leave to it."""
        hosts = self.two_hosts()
        for host in hosts:
            host.run("ethtool", "-K", "eth0", "tso", "off", "gso", "off")
            self.assertIn("tx-checksumming: on", host.run("ethtool", "-k", "eth0"))
        with fabric.Fabric(self.lab, self.switch, fabric.topology(self.ports(0, 5))) as net:
            hosts[0].ping(hosts[1].address)
            self.assertGreater(hosts[0].iperf3(hosts[1])["end"]["sum_received"]["bytes"], 1_000_000)
            self.assertRegex(hosts[1].run("nstat", "-az", "TcpInCsumErrors"), r"TcpInCsumErrors\s+0\s")
            net.settled()
            net.down()

    def test_the_port_takes_no_frames_that_its_own_kernel_sends(self):
        """The kernel speaks IPv6 on the interface: the fabric must not take that for the host, nor its address."""
        hosts = self.two_hosts()

        def sent():
            return json.loads(self.switch.run("ip", "-j", "-s", "link", "show", "bf5"))[0]["stats64"]["tx"]["packets"]

        with fabric.Fabric(self.lab, self.switch, fabric.topology(self.ports(0, 5))) as net:
            before = sent()
            self.switch.run("sysctl", "-qw", "net.ipv6.conf.bf5.disable_ipv6=0")
            lab.wait_until(lambda: sent() >= before + 3, "the kernel sends on bf5")
            self.assertEqual(fabric.ports_by_name(net.settled())["h5"]["rx_packets"], 0)
            hosts[0].ping(hosts[1].address)
            net.down()

    def test_fragments_are_joined_before_the_port_gets_them(self):
        hosts = self.two_hosts()
        with fabric.Fabric(self.lab, self.switch, fabric.topology(self.ports(0, 5))) as net:
            hosts[0].ping(hosts[1].address)
            self.assertNotIn("oversized", drops(net.settled()))
            hosts[0].run("ping", "-c", "1", "-W", "1", "-s", 3000, hosts[1].address, check=False)
            net.settled(lambda counters: drops(counters).get("oversized") == 1, "three fragments count as one frame")
            net.down()

    def test_a_slow_interface_delays_only_its_own_frames(self):
        """It takes 1 Mbit/s, and gets more. The hosts at the other ports share a worker with it."""
        hosts = {row: self.host(row) for row in (0, 3, 5)}
        self.switch.run("tc", "qdisc", "add", "dev", "bf5", "root", "tbf", "rate", "1mbit", "burst", "3000",
                        "limit", "1000000")
        ports = [fabric.host_port(0), fabric.host_port(3), *self.ports(5)]
        ports[2]["device"] += ",qdisc_bypass=0"

        def full(counters):
            return drops(counters).get("port_full", 0)

        content = fabric.topology(ports, placement=[{"stages": "0-7", "lcore": 0}])
        with fabric.Fabric(self.lab, self.switch, content) as net:
            hosts[0].ping(hosts[3].address)
            flood = hosts[3].spawn(sys.executable, "-c", _FLOOD, name="flood")
            before = full(net.counters_when(full, "the slow port is full"))
            echoes = hosts[0].run("ping", "-c", "40", "-i", "0.05", "-W", "5", hosts[3].address)
            net.counters_when(lambda counters: full(counters) > before, "the slow port is still full")
            flood.stop()
            times = [float(time) for time in re.findall(r"time=([\d.]+) ms", echoes)]
            print(f"median round trip beside a slow port: {statistics.median(times):.1f} ms")
            self.assertLess(statistics.median(times), 50, echoes)
            net.down()

    def test_untagged_frames_may_be_as_long_as_the_longest_frame(self):
        """Linux sends no untagged frame that is longer than the MTU and the Ethernet header, 14 bytes."""
        hosts = self.two_hosts(mtu=1504)
        self.switch.ip("link", "set", "bf0", "mtu", 1518)
        self.switch.ip("link", "set", "bf5", "mtu", 1500)
        with fabric.Fabric(self.lab, self.switch, fabric.topology(self.ports(0, 5), max_frame_bytes=1518)) as net:
            self.assertEqual(mtus(self.switch), {"bf0": 1518, "bf5": 1518 - 14})
            hosts[0].ping(hosts[1].address)
            # 1,504 bytes with the headers of IPv4 and ICMP, not to be fragmented.
            hosts[0].run("ping", "-c", "5", "-i", "0.05", "-W", "5", "-M", "do", "-s", 1504 - 28, hosts[1].address)
            self.assertEqual(net.settled()["conservation"]["dropped"], 0)
            net.down()

    def test_an_interface_may_keep_an_mtu_that_is_enough_for_tagged_frames_only(self):
        """A macvlan takes no larger MTU than the interface below it."""
        self.host(0)
        self.switch.ip("link", "add", "link", "bf0", "name", "bfm0", "up", "type", "macvlan")
        ports = [{"name": "m0", "device": "net_af_packet0,iface=bfm0", "rows": "0"}]
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports)) as net:
            self.assertEqual(mtus(self.switch), {"bf0": 1500, "bfm0": 1500})
            net.down()

    def test_frames_that_find_no_room_in_the_ring_are_missed(self):
        hosts = self.two_hosts()
        with fabric.Fabric(self.lab, self.switch, fabric.topology(self.ports(0, 5))) as net:
            data_plane = net.pid("dp0")
            os.kill(data_plane, signal.SIGSTOP)
            try:
                frames.send(hosts[0], [frames.frame(frames.row_mac(5))] * 2000)
            finally:
                os.kill(data_plane, signal.SIGCONT)

            def came(counters):
                port = fabric.ports_by_name(counters)["h0"]
                return port["rx_packets"] + port["rx_missed"]

            counters = net.settled(lambda counters: came(counters) >= 2000, "each frame is received or missed")
            self.assertEqual(came(counters), 2000)
            # The ring has 512 slots.
            self.assertGreaterEqual(fabric.ports_by_name(counters)["h0"]["rx_missed"], 1000)
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
