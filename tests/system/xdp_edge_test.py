# SPDX-License-Identifier: Apache-2.0
"""The XDP program on a living interface: what it hands over, what it leaves to the kernel, and how it comes back."""

import json
import struct
import subprocess
import sys
import unittest

import lab

RECEIVER = lab.BUILD / "tests/system/xdp_receiver"

# Sends hexadecimal frames, one a line on stdin, out of eth0.
SEND_FRAMES = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for line in sys.stdin:
    s.send(bytes.fromhex(line))
"""


def row_mac(row):
    return bytes([0x02, 0xBF, 0x00]) + row.to_bytes(3, "big")


def frame_to(mac, ethertype=0x88B6, size=60):
    """A frame of an experimental ethertype that no kernel answers."""
    return (mac + bytes.fromhex("525400000001") + struct.pack("!H", ethertype)).ljust(size, b"\0")


def send(host, frames):
    """Every frame once, in order."""
    subprocess.run(host.argv(sys.executable, "-c", SEND_FRAMES), check=True, timeout=lab.PATIENCE,
                   input="".join(frame.hex() + "\n" for frame in frames), text=True)


class Receiver:
    def __init__(self, switch, mode, interface="bf0"):
        self.process = switch.spawn(RECEIVER, mode, interface, name="receiver", stdin=True)
        self.process.wait_for("ready")

    def counters(self):
        before = self.process.text().count("{\"received\"")
        self.process.send("counters")
        lab.wait_until(lambda: self.process.text().count("}}\n") > before, "the receiver's counters")
        return json.loads(self.process.text().strip().splitlines()[-1])

    def counters_when(self, seen):
        """The counters as soon as the program has seen that many frames."""
        def enough():
            counters = self.counters()
            return counters if sum(counters["actions"].values()) >= seen else None
        return lab.wait_until(enough, f"{seen} frames reach the XDP program")


class XdpEdgeTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.host = self.lab.host("h0", self.switch, "bf0")

    def attached_program(self):
        """Name of the XDP program on bf0, or None."""
        link = json.loads(self.switch.run("ip", "-j", "-d", "link", "show", "dev", "bf0"))[0]
        return (link.get("xdp") or {}).get("prog", {}).get("name")

    def test_frames_for_rows_reach_the_socket_and_count_by_row(self):
        receiver = Receiver(self.switch, "mac")
        sent = [frame_to(row_mac(row)) for row in range(16) for _ in range(row + 1)]
        outside = [frame_to(row_mac(row)) for row in (16, 255, 0xFFFFFF)]
        send(self.host, sent + outside)
        counters = receiver.counters_when(len(sent) + len(outside))
        self.assertEqual(counters["rows"], {str(row): row + 1 for row in range(16)})
        self.assertEqual(counters["actions"]["to_row"], len(sent))
        self.assertEqual(counters["actions"]["unknown_row"], len(outside))
        lab.wait_until(lambda: receiver.counters()["received"] == len(sent), "all frames of rows received")

    def test_foreign_traffic_still_reaches_the_kernel(self):
        """In ipv4 mode an interface can serve the fabric and the kernel: hosts tell by address."""
        self.switch.ip("addr", "add", "10.99.0.1/24", "dev", "bf0")
        self.host.ip("addr", "add", "10.99.0.2/24", "dev", "eth0")
        receiver = Receiver(self.switch, "ipv4")
        self.host.ping("10.99.0.1", count=5)
        # The same host reaches for row 3: that ARP request is the fabric's and the kernel must not see it.
        self.host.ip("route", "add", "10.77.0.16/28", "dev", "eth0")
        self.host.run("ping", "-c", "1", "-W", "1", "10.77.0.19", check=False)
        # The kernel asks again while the ping waits, and the program counts a frame before the socket has it.
        def all_arrived():
            counters = receiver.counters()
            return counters if counters["received"] == sum(counters["rows"].values()) else None

        counters = lab.wait_until(all_arrived, "every frame for a row reaches the socket")
        self.assertGreaterEqual(counters["actions"]["foreign"], 5)
        self.assertEqual(list(counters["rows"]), ["3"])
        self.assertGreater(counters["received"], 0)

    def test_malformed_frames_stop_at_the_interface(self):
        receiver = Receiver(self.switch, "ipv4")
        broadcast = b"\xff" * 6
        frames = [
            frame_to(broadcast, 0x0806, 41),  # ARP is 42 bytes with its Ethernet header
            frame_to(broadcast, 0x88B5, 45),  # bfly's header is 46 bytes with it
            frame_to(broadcast, 0x88B5, 60),  # version 0
            frame_to(broadcast, 0x0800, 30),  # IPv4 is 34 bytes with it
        ]
        send(self.host, frames)
        counters = receiver.counters_when(len(frames))
        self.assertEqual(counters["actions"]["truncated"], 3)
        self.assertEqual(counters["actions"]["bad_header"], 1)
        self.assertEqual(counters["received"], 0)

    def test_the_program_leaves_with_the_process(self):
        receiver = Receiver(self.switch, "mac")
        self.assertEqual(self.attached_program(), "bfly_edge")
        receiver.process.popen.stdin.close()
        receiver.process.finish()
        self.assertIsNone(self.attached_program())

    def test_a_killed_process_is_replaced_by_the_next(self):
        first = Receiver(self.switch, "mac")
        send(self.host, [frame_to(row_mac(1))])
        first.counters_when(1)
        first.process.kill()
        self.assertEqual(self.attached_program(), "bfly_edge")
        # No data plane runs: the fabric's frames pass to the kernel, and nothing hangs.
        send(self.host, [frame_to(row_mac(1))])
        second = Receiver(self.switch, "mac")
        send(self.host, [frame_to(row_mac(2))] * 2)
        counters = second.counters_when(2)
        self.assertEqual(counters["rows"], {"2": 2})

    def test_a_second_data_plane_is_refused_while_the_first_lives(self):
        first = Receiver(self.switch, "mac")
        second = self.switch.spawn(RECEIVER, "mac", "bf0", name="second", stdin=True)
        with self.assertRaisesRegex(AssertionError, "another running bfly data plane has it"):
            second.wait_for("ready")
        send(self.host, [frame_to(row_mac(1))])
        self.assertEqual(first.counters_when(1)["rows"], {"1": 1})

    def test_an_interface_that_is_not_there_is_named(self):
        receiver = self.switch.spawn(RECEIVER, "mac", "bf7", name="receiver", stdin=True)
        with self.assertRaisesRegex(AssertionError, "this network namespace has no interface 'bf7'"):
            receiver.wait_for("ready")

    def test_someone_elses_program_stays(self):
        """A program that is not bfly's may be in use: it is named and left alone."""
        other = self.lab.directory / "other.o"
        source = self.lab.directory / "other.c"
        source.write_text('__attribute__((section("xdp"), used)) int other_program(void *c) { return 2; }\n')
        lab.run("clang", "-target", "bpf", "-O2", "-c", source, "-o", other)
        self.switch.ip("link", "set", "dev", "bf0", "xdp", "obj", other, "sec", "xdp")
        receiver = self.switch.spawn(RECEIVER, "mac", "bf0", name="receiver", stdin=True)
        with self.assertRaisesRegex(AssertionError, "other_program.*not bfly's.*ip link set dev bf0 xdp off"):
            receiver.wait_for("ready")
        self.assertEqual(self.attached_program(), "other_program")


if __name__ == "__main__":
    unittest.main(verbosity=2)
