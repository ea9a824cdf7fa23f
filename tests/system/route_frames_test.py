# SPDX-License-Identifier: Apache-2.0
"""Packets of step programs with frames: kernel hosts on output rows receive them, beside their own traffic."""

import collections
import struct
import unittest

import fabric
import frames
import lab

ROWS = 16
H = 20
BYTES = 300
HEADER = struct.Struct("!BBBBIQIBBH6s2s")
ETHERTYPE = 0x88B5
# Reversed bits: input 10 (1010) sends to row 5 (0101), and input 1 (0001) to row 8 (1000).
HOSTS = {5: 10, 8: 1}


class RouteFramesTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = {row: self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in HOSTS}

    def fabric(self, **more):
        half = ROWS // 2
        placement = [{"stages": "0-3", "rows": f"0-{half - 1}", "lcore": 0},
                     {"stages": "0-3", "rows": f"{half}-{ROWS - 1}", "lcore": 1}]
        content = fabric.topology([fabric.host_port(row) for row in HOSTS], rows=ROWS, kind="butterfly",
                                  placement=placement, **more)
        return fabric.Fabric(self.lab, self.switch, content)

    def route(self, net, *words):
        return net.json("route", "--in-band", "--program", "store_and_forward", "--permutation", "bitrev", *words)

    def refused(self, net, *words):
        with self.assertRaises(lab.CommandFailed) as refused:
            net.bfly("route", "--program", "store_and_forward", *words)
        return refused.exception.err

    def check_frames(self, row, caught, own_mac):
        """Every packet of the row's input once, in a frame that is the host's and names it."""
        seen = collections.Counter()
        for one in caught:
            self.assertEqual(len(one), BYTES)
            self.assertEqual(one[:12], own_mac + frames.row_mac(HOSTS[row]))
            version, kind, length, flags, source, tag, number, stage, queue, inner, _, _ = HEADER.unpack_from(one, 14)
            self.assertEqual((version, kind, length, flags), (1, 1, 32, 1))
            self.assertEqual((source, tag), (HOSTS[row], (row << 1 | 1) << 59))
            self.assertEqual((stage, queue, inner), (0, 0, BYTES - 14 - 32))
            self.assertEqual(one[46:], bytes(inner))
            seen[number] += 1
        # The packets of input i have the numbers H*i to H*i + H - 1.
        self.assertEqual(seen, {HOSTS[row] * H + packet: 1 for packet in range(H)})

    def test_hosts_receive_the_frames_of_their_row_beside_their_own_traffic(self):
        catchers = {row: frames.Catcher(host, ethertype=ETHERTYPE) for row, host in self.hosts.items()}
        macs = {row: bytes.fromhex(host.run("cat", "/sys/class/net/eth0/address").strip().replace(":", ""))
                for row, host in self.hosts.items()}
        with self.fabric() as net:
            self.hosts[5].ping(self.hosts[8].address)
            net.bfly("traffic", "start", "--rate", 5000, "--to", "uniform")
            ping = self.hosts[5].spawn("ping", "-q", "-i", "0.002", "-c", "500", self.hosts[8].address)
            before = fabric.ports_by_name(net.counters())
            report = self.route(net, "--h", H, "--frame-bytes", BYTES)
            self.assertEqual((report["packets"], report["delivered"]), (ROWS * H, ROWS * H))
            told = {key: int(value) for key, value in report["in_band"]["frames"].items()}
            self.assertEqual(told, {"made": ROWS * H, "without_buffer": 0, "to_ports": len(HOSTS) * H,
                                    "to_sinks": (ROWS - len(HOSTS)) * H})
            for row, catcher in catchers.items():
                self.check_frames(row, catcher.wait(H), macs[row])
            self.assertIn(" 0% packet loss", ping.finish())
            net.bfly("traffic", "stop")
            counters = net.settled()
            self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
            # Besides the frames a port sent 500 echoes, and what hosts send of their own accord, such as ARP.
            for name, port in fabric.ports_by_name(counters).items():
                self.assertGreaterEqual(port["tx_bytes"] - before[name]["tx_bytes"], H * BYTES)
            text = net.bfly("route", "--in-band", "--program", "waves", "--frame-bytes", 64)
            self.assertRegex(text, r"\nframes: 16; 2 given to host ports, 14 ended at rows without one\n")
            for row, catcher in catchers.items():
                self.assertEqual(len(catcher.wait(H + 1)), H + 1)
            net.down()

    def test_wrong_input_is_refused_with_what_would_be_right(self):
        with self.fabric(max_frame_bytes=1000) as net:
            self.assertIn("--in-band", self.refused(net, net.file, "--frame-bytes", 64))
            self.assertIn("frame_bytes: 1001 is outside 64..1000", self.refused(net, "--in-band", "--frame-bytes", 1001))
            self.assertIn("frame_bytes: 63 is outside 64..1000", self.refused(net, "--in-band", "--frame-bytes", 63))
            error = self.refused(net, "--in-band", "--frame-bytes", 1000, "--h", 4096)
            self.assertRegex(error, r"frame_bytes: 65536 packets may need as many buffers at once, \d{9,} bytes, and a run "
                                    r"may take half of the \d+ buffers that are free, \d+; the rest is for data")
            self.assertEqual(net.settled()["conservation"]["injected"], 0)


if __name__ == "__main__":
    unittest.main()
