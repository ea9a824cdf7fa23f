# SPDX-License-Identifier: Apache-2.0
"""What attacks on the memory of a controller share: messages byte by byte, the fabric and its limits."""

import collections
import json
import pathlib
import subprocess
import threading
import time

import grpc

import lab
from command_line import CommandLineTest, LCORES

MOST_MIB = 300
ADDRESS_SPACE = 4 << 30
SECONDS = 6  # of an attack that goes on

TWO_FOLD = """
name: attacked
network: {kind: two_fold_butterfly, rows: 1024, seed: 7}
placement:
  - {stages: 0-19, lcore: %d}
""" % LCORES[0]
DATA_SERVER = TWO_FOLD.replace("two_fold_butterfly", "randomly_wired_butterfly").replace("0-19", "0-9")


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


class MemoryAttack(CommandLineTest):
    """A fabric of its own for each test, and what a client may do to it."""

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

    def together(self, count, attack):
        """Runs attack(i) in `count` threads; how often each result came."""
        results = collections.Counter()
        lock = threading.Lock()

        def run(i):
            result = attack(i)
            with lock:
                results[result] += 1

        threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        with lock:
            told = dict(results)
        self.assertEqual(sum(told.values()), count, "each of the threads has its result")
        return told

    def keep_open(self, connections, least, seconds=SECONDS, may_close=False):
        """Steps all of them for so long: they must stay open, unless they may be closed, and must have sent `least` bytes
        or more each, in the mean."""
        for connection in connections:
            self.addCleanup(connection.close)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not any([connection.step() for connection in connections]):
                time.sleep(0.01)
        if not may_close:
            self.assertEqual(sum(connection.closed for connection in connections), 0, "connections that the server closed")
        self.assertGreaterEqual(sum(connection.written for connection in connections), least * len(connections))

    def status_once_calm(self):
        """While a connection holds memory of an attack, gRPC ends calls of any other to get memory back."""

        def status():
            done = self.bfly("status", "--json", check=False)
            if done.returncode != 0:
                self.assertRegex(done.stdout + done.stderr, "RST_STREAM with error code 11|Broken pipe|reset by peer|Socket closed|memory|exhausted")
            return done.returncode == 0 and json.loads(done.stdout)

        return lab.wait_until(status, "the controller answers after the attack")

    def survived(self, what, told=""):
        """The controller is there, small, and does what it is asked."""
        peak = self.mib("VmHWM")
        status = self.status_once_calm()
        print(f"{self.id().rsplit('.', 1)[-1]}: {what}: {self.before:.0f} MiB before, {self.mib('VmRSS'):.0f} now, "
              f"{peak:.0f} at the peak {told}", flush=True)
        self.assertTrue(status["loaded"])
        self.assertLess(peak, MOST_MIB)
        return {use["name"]: use for use in status.get("resources", [])}
