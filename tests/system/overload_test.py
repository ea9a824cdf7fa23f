# SPDX-License-Identifier: Apache-2.0
"""Far more packets than links can carry on every row and port, and more calls than anybody needs: the controller answers,
nothing grows, and the account is right afterwards. $BFLY_OVERLOAD_SECONDS says how long (8).

It prints how long calls took; it holds them to no time, since the machine may be busy with other things. Everything runs
on the same CPUs, so a client also waits for a CPU itself: the part of a call in which it did is printed apart."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import fabric
import frames
import lab

SECONDS = float(os.environ.get("BFLY_OVERLOAD_SECONDS", "8"))
HOSTS = 4
CALLERS = 6
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

# As many calls as one thread can make.
CALLS = """
import bfly, sys, time
end, calls = time.monotonic() + float(sys.argv[3]), 0
with bfly.connect(run_dir=sys.argv[1]) as client:
    call = (client.status, client.describe, lambda: list(client.circuits.list()))[int(sys.argv[2]) % 3]
    while time.monotonic() < end:
        call()
        calls += 1
print(calls)
"""

# Sets circuits up and releases them. Prints of each call how long it took, and how long threads of this process were
# ready to run meanwhile and waited for a CPU.
CIRCUITS = """
import bfly, json, os, sys, time

def waited():
    total = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            total += int(open(f"/proc/self/task/{thread}/schedstat").read().split()[1])
        except OSError:  # it has ended
            pass
    return total / 1e9

end, calls = time.monotonic() + float(sys.argv[2]), []

def timed(call, *arguments):
    before, begun = waited(), time.monotonic()
    result = call(*arguments)
    calls.append((time.monotonic() - begun, waited() - before))
    return result

with bfly.connect(run_dir=sys.argv[1]) as client:
    while time.monotonic() < end:
        timed(client.circuits.release, timed(client.circuits.set_up, 5, 9))
        time.sleep(0.02)
print(json.dumps(calls))
"""


def figures(seconds):
    """Median, p99 and the most, in milliseconds."""
    ordered = sorted(1e3 * took for took in seconds)
    return f"median {ordered[len(ordered) // 2]:.1f} ms, p99 {ordered[int(0.99 * len(ordered))]:.1f} ms, most {ordered[-1]:.1f} ms"


class OverloadTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(HOSTS)]
        content = fabric.topology([fabric.host_port(row) for row in range(HOSTS)], links={"rate": RATE, "queue_limit": QUEUE})
        self.net = fabric.Fabric(self.lab, self.switch, content)
        self.net.up()

    def mib(self, name):
        status = pathlib.Path("/proc", str(self.net.pid(name)), "status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def client(self, program, *arguments, name):
        return self.switch.spawn(sys.executable, "-c", program, self.net.run_dir, *arguments, name=name,
                                 env={**os.environ, "PYTHONPATH": lab.PYTHON_PATH})

    def test_the_controller_answers_and_the_account_is_right_afterwards(self):
        self.net.bfly("traffic", "start", "--name", "all", "--rate", "0", "--to", "uniform", "--bytes", "1500")
        floods = [host.spawn(sys.executable, "-c", FLOOD, frames.frame(frames.row_mac((row + 1) % HOSTS)).hex(), str(SECONDS),
                             name=f"flood{row}") for row, host in enumerate(self.hosts)]
        watch = subprocess.Popen(self.switch.argv(str(lab.BUILD / "bfly"), "counters", "--watch", "--interval", "100", "--json",
                                                  "--seconds", str(SECONDS), "--run-dir", str(self.net.run_dir)),
                                 stdout=subprocess.DEVNULL)
        callers = [self.client(CALLS, number, SECONDS, name=f"caller{number}") for number in range(CALLERS)]
        measured = json.loads(self.client(CIRCUITS, SECONDS, name="circuits").finish(SECONDS + lab.PATIENCE))
        load = os.getloadavg()[0]
        calls = sum(int(caller.finish()) for caller in callers)
        self.assertEqual(watch.wait(lab.PATIENCE), 0)
        sent = sum(int(flood.finish(SECONDS + lab.PATIENCE)) for flood in floods)
        print(f"{SECONDS:.0f} s: {calls} calls beside {len(measured) // 2} circuits set up and released; a call took "
              f"{figures([took for took, _ in measured])}; without what the client waited for a CPU "
              f"{figures([took - waited for took, waited in measured])}; {sent} frames of hosts; "
              + ", ".join(f"{name} {self.mib(name):.0f} MiB" for name in MOST_MIB) + f"; load average {load:.1f}")

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
