# SPDX-License-Identifier: Apache-2.0
"""`bfly lab` with a virtual machine as a host: qemu and Linux's own virtio-net, as docs/lab.md says."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from command_line import LCORES, CommandLineTest
from lab import ROOT, run, wait_until

sys.path.insert(0, str(ROOT / "tests/system/pci"))
import guest  # noqa: E402

KERNEL = os.path.join(os.environ["BFLY_BUILD"], "guest-kernel")
MEMORY_MB = 256
FILE_BYTES = 2_000_000


class LabMachineTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        subprocess.run([ROOT / "deploy/fetch-guest-kernel", KERNEL], check=True, timeout=120)
        self.name = f"machinetest{os.getpid()}"
        self.addCleanup(self.bfly, "lab", "down", check=False)
        self.socket = self.directory / "vm.sock"
        # One worker for two hosts: qemu has the other core.
        self.file = self.write("machine.yaml", f"""
name: machine
network: {{kind: butterfly, rows: 8}}
placement: [{{stages: 0-2, lcore: {LCORES[0]}}}]
data_planes: [{{name: dp0, memory_mb: 256, idle: adaptive}}]
hosts:
  - {{name: h0, rows: 0, addresses: 10.77.0.1/24}}
  - {{name: vm, rows: 5, kind: machine, vhost_socket: {self.socket}}}
""")

    def boot(self):
        directory = tempfile.mkdtemp(prefix="machine-", dir=self.directory)
        initramfs = guest.build_initramfs(directory, KERNEL, {}, modules=guest.VIRTIO_MODULES)
        machine = guest.start(directory, KERNEL, initramfs, [
            "-object", f"memory-backend-memfd,id=m,size={MEMORY_MB}M,share=on", "-numa", "node,memdev=m",
            "-chardev", f"socket,id=c0,path={self.socket}", "-netdev", "vhost-user,id=n0,chardev=c0",
            # Without KVM, qemu 7.2 crashes when vhost and MSI-X come together.
            "-device", "virtio-net-pci,netdev=n0,vectors=0",
        ], memory_mb=MEMORY_MB, cpus=1, lifetime=200, iommu=False)
        self.addCleanup(machine.close)
        machine.check("ip addr add 10.77.0.2/24 dev eth0 && ip link set eth0 up")
        machine.wait_for("ping -c 1 -W 2 10.77.0.1", 60, "an echo of h0")
        return machine

    def in_host(self, *words):
        return ["ip", "netns", "exec", f"{self.name}-h0", *words]

    def test_a_machine_reaches_a_host_and_comes_back(self):
        self.bfly("lab", "up", self.file, "--name", self.name)
        machine = self.boot()
        run(*self.in_host("ping", "-c", "3", "-i", "0.2", "-W", "5", "10.77.0.2"))
        self.fetches_a_file(machine)
        self.gives_a_file(machine)
        before = self.json("counters")["conservation"]
        # A machine that is killed comes back to the same port.
        machine.qemu.send_signal(signal.SIGKILL)
        machine.close()
        self.boot()
        after = self.json("counters")["conservation"]
        self.assertGreater(after["delivered"], before["delivered"])
        self.assertEqual(after["injected"], after["delivered"] + after["dropped"] + after["in_flight"])
        self.bfly("lab", "down")

    def fetches_a_file(self, machine):
        """TCP towards the machine."""
        content = os.urandom(FILE_BYTES)
        served = self.directory / "served"
        served.mkdir()
        (served / "file").write_bytes(content)
        server = subprocess.Popen(self.in_host("busybox", "httpd", "-f", "-p", "7000", "-h", served))
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until(lambda: ":7000" in run(*self.in_host("ss", "-ltn")), "the host serves")
        said = machine.check("wget -q -O - http://10.77.0.1:7000/file | md5sum", 60)
        self.assertEqual(said.split()[0], hashlib.md5(content).hexdigest())

    def gives_a_file(self, machine):
        """TCP from the machine, whose Linux leaves checksums and segmentation to the device if it may."""
        machine.check(f"mkdir /tmp/served && head -c {FILE_BYTES} /dev/urandom >/tmp/served/file && httpd -p 7001 -h /tmp/served")
        wanted = machine.check("md5sum /tmp/served/file").split()[0]
        taken = subprocess.run(self.in_host("busybox", "wget", "-q", "-O", "-", "http://10.77.0.2:7001/file"),
                               stdout=subprocess.PIPE, timeout=60, check=True).stdout
        self.assertEqual(hashlib.md5(taken).hexdigest(), wanted)


if __name__ == "__main__":
    assert shutil.which("busybox"), "busybox is not installed (see deploy/packages.txt)"
    unittest.main(verbosity=2)
