# SPDX-License-Identifier: Apache-2.0
"""Clients that take all the controller of a 1,024-row fabric gives them, or want it for themselves. It answers.

Each test attacks a fabric of its own and prints the controller's memory: now, and at its peak. A limit on the
controller's address space keeps the machine safe where it gives too much."""

import pathlib
import subprocess
import threading
import time
import unittest

import grpc

from command_line import CommandLineTest, LCORES
from raw_http2 import Connection

MOST_MIB = 300
ADDRESS_SPACE = 4 << 30

TWO_FOLD = """
name: attacked
network: {kind: two_fold_butterfly, rows: 1024, seed: 7}
placement:
  - {stages: 0-19, lcore: %d}
""" % LCORES[0]


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def bytes_of(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def set_up(row, output, in_band=False, key=b""):
    request = number(1, row) + number(2, output)
    if key:
        request += bytes_of(4, key)
    return request + (number(20, 1) if in_band else b"")


class MemoryAttackTest(CommandLineTest):
    def start(self, topology):
        self.bfly("up", self.write("attacked.yaml", topology))
        self.pid = int((self.run_dir / "controller.pid").read_text().split()[0])
        self.socket = self.run_dir / "controller.sock"
        subprocess.run(["prlimit", f"--pid={self.pid}", f"--as={ADDRESS_SPACE}"], check=True, timeout=10)
        self.channels = []
        self.addCleanup(lambda: [channel.close() for channel in self.channels])
        self.before = self.mib("VmRSS")

    def mib(self, name):
        status = pathlib.Path("/proc", str(self.pid), "status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith(name))) / 1024

    def channel(self):
        channel = grpc.insecure_channel(f"unix:{self.socket}", options=[
            ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1)])
        self.channels.append(channel)
        return channel

    def call(self, method, request, channel=None, timeout=30):
        """The code of the answer, and its text or bytes."""
        try:
            return "OK", (channel or self.channel()).unary_unary("/bfly.v1." + method)(request, timeout=timeout)
        except grpc.RpcError as error:
            return error.code().name, error.details()

    def survived(self, what, told=""):
        """The controller is there, small, and does what it is asked."""
        peak = self.mib("VmHWM")
        print(f"{self.id().rsplit('.', 1)[-1]}: {what}: {self.before:.0f} MiB before, {self.mib('VmRSS'):.0f} now, "
              f"{peak:.0f} at the peak {told}", flush=True)
        status = self.json("status")
        self.assertTrue(status["loaded"])
        self.assertLess(peak, MOST_MIB)

    def test_calls_in_band_that_are_late(self):
        """Calls that say themselves that they have a millisecond: a library rounds that up on a busy machine."""
        self.start(TWO_FOLD)
        ended = 0
        for _ in range(100):
            connections = [Connection(self.socket, "/bfly.v1.Circuits/SetUp", 500, timeout=b"1m",
                                      message=lambda i, at=500 * k: set_up((at + i) % 1024, (7 * at + i) % 1024, True))
                           for k in range(4)]
            end = time.monotonic() + 30
            while any(connection.sent for connection in connections) and time.monotonic() < end:
                if not any([connection.step() for connection in connections]):
                    time.sleep(0.001)
            ended += sum(not connection.sent for connection in connections) * 500
            for connection in connections:
                connection.close()
        self.survived(f"{ended} calls in band with a millisecond")
        self.assertEqual(ended, 200_000)
        # What is answered now came after all of them.
        self.assertEqual(self.call("Circuits/Release", number(1, 1) + number(20, 1))[0], "NOT_FOUND")
        self.assertEqual(int(self.json("status").get("circuits", 0)), 0)

    def test_the_highest_election_id_does_not_lock_the_owner_out(self):
        self.start(TWO_FOLD)
        forever = threading.Event()
        self.addCleanup(forever.set)

        def hold(election_id):
            yield number(1, election_id)
            forever.wait(60)

        arbitrate = self.channel().stream_stream("/bfly.v1.Fabric/Arbitrate")
        with self.assertRaises(grpc.RpcError) as refused:
            list(arbitrate(hold((1 << 64) - 1), timeout=10))
        self.assertEqual(refused.exception.code().name, "INVALID_ARGUMENT")
        held = arbitrate(hold(1 << 63))
        self.assertTrue(next(held))
        self.assertEqual(self.call("Circuits/SetUp", set_up(1, 2))[0], "PERMISSION_DENIED")
        down = self.bfly("down", check=False)
        self.assertEqual(down.returncode, 0, down.stdout + down.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
