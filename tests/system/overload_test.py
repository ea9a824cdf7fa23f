# SPDX-License-Identifier: Apache-2.0
"""Far more packets than links can carry on every row and port, and more calls than anybody needs: the controller answers,
nothing grows, and the account is right afterwards. $BFLY_OVERLOAD_SECONDS says how long (8).

It prints how long calls took; it holds them to no time, since the machine may be busy with other things."""
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

import fabric
import frames
import lab

sys.path.insert(0, lab.PYTHON_PATH)
import bfly  # noqa: E402

SECONDS = float(os.environ.get("BFLY_OVERLOAD_SECONDS", "8"))
HOSTS = 4
# A frame is 12 us on such a link: 83,000 a second. Sources offer millions.
RATE, QUEUE = "40Mbps", 50
MOST_MIB = {"controller": 150, "dp0": 700}

FLOOD = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
frame, end, sent = bytes.fromhex(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    for _ in range(100):
        try:
            s.send(frame)
            sent += 1
        except OSError:  # the interface has no room
            pass
print(sent)
"""


class OverloadTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(HOSTS)]
        content = fabric.topology([fabric.host_port(row) for row in range(HOSTS)], links={"rate": RATE, "queue_limit": QUEUE})
        self.net = fabric.Fabric(self.lab, self.switch, content)
        self.net.up()
        self.end = time.monotonic() + SECONDS
        self.wrong = []
        self.calls = 0

    def mib(self, name):
        status = pathlib.Path("/proc", str(self.net.pid(name)), "status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def flood_of_calls(self, number):
        """As many calls as one thread can make, and a stream of the counters that is read slowly."""
        try:
            with bfly.connect(run_dir=self.net.run_dir) as client:
                while time.monotonic() < self.end:
                    (client.status, client.describe, lambda: list(client.circuits.list()))[number % 3]()
                    self.calls += 1
        except bfly.Error as error:
            self.wrong.append(error)

    def test_the_controller_answers_and_the_account_is_right_afterwards(self):
        self.net.bfly("traffic", "start", "--name", "all", "--rate", "0", "--to", "uniform", "--bytes", "1500")
        floods = [host.spawn(sys.executable, "-c", FLOOD, frames.frame(frames.row_mac((row + 1) % HOSTS)).hex(), str(SECONDS),
                             name=f"flood{row}") for row, host in enumerate(self.hosts)]
        watch = subprocess.Popen(self.switch.argv(str(lab.BUILD / "bfly"), "counters", "--watch", "--interval", "100", "--json",
                                                  "--seconds", str(SECONDS), "--run-dir", str(self.net.run_dir)),
                                 stdout=subprocess.DEVNULL)
        callers = [threading.Thread(target=self.flood_of_calls, args=(number,)) for number in range(6)]
        for caller in callers:
            caller.start()
        took = []
        with bfly.connect(run_dir=self.net.run_dir) as client:
            while time.monotonic() < self.end:
                begun = time.monotonic()
                circuit = client.circuits.set_up(5, 9)
                client.circuits.release(circuit)
                took.append((time.monotonic() - begun) / 2)
                time.sleep(0.02)
        for caller in callers:
            caller.join()
        self.assertEqual(watch.wait(lab.PATIENCE), 0)
        sent = sum(int(flood.finish(SECONDS + lab.PATIENCE)) for flood in floods)
        self.assertEqual(self.wrong, [])
        took.sort()
        print(f"{SECONDS:.0f} s: {self.calls} calls beside {len(took)} circuits set up and released, median "
              f"{1e3 * took[len(took) // 2]:.1f} ms, p99 {1e3 * took[int(0.99 * len(took))]:.1f} ms, most {1e3 * took[-1]:.1f} ms; "
              f"{sent} frames of hosts; " + ", ".join(f"{name} {self.mib(name):.0f} MiB" for name in MOST_MIB))

        self.net.bfly("traffic", "stop")
        account = self.net.settled()
        conservation = account["conservation"]
        self.assertEqual(conservation["injected"], conservation["delivered"] + conservation["dropped"])
        # Links of 40 Mbit/s carry 3,333 packets of 1500 bytes a second; workers offer many times that.
        self.assertGreater(conservation["dropped"], conservation["delivered"])
        for port in account["ports"]:
            self.assertGreater(port["rx_packets"], 0, port["name"])
        for name, most in MOST_MIB.items():
            self.assertLess(self.mib(name), most, name)
        closing = self.net.down()
        self.assertEqual(closing["injected"], conservation["injected"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
