#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fabric on PCI NICs bound to vfio-pci: an e1000e, a vmxnet3 and a virtio-net of several queues in a
virtual machine of two NUMA nodes, with the test as the host on the other side of each.

Run by meson with the build directory in BFLY_BUILD; by hand: BFLY_BUILD=build tests/system/pci/test_pci_nics.py
"""

import collections
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guest  # noqa: E402
import wires  # noqa: E402

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
BUILD = os.path.abspath(os.environ.get("BFLY_BUILD", os.path.join(SOURCE, "build")))
KERNEL = os.path.join(BUILD, "guest-kernel")

# What the data plane loads at run time: the bus, the pool and the drivers of these NICs.
PLUGINS = ["bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_vmxnet3", "net_virtio", "net_tap"]
# The rows the NICs are attached to, the queue pairs each has, and the vendor and device it is known by.
ROWS = {"e1000e": 0, "vmxnet3": 3, "virtio": 6}
QUEUE_PAIRS = {"e1000e": 1, "vmxnet3": 2, "virtio": 4}
IDS = {"e1000e": (0x8086, 0x10D3), "vmxnet3": (0x15AD, 0x07B0), "virtio": (0x1AF4, 0x1041)}
# 8,192 frames of the fabric and 5,120 of a queue pair, with 2,176 bytes at least (dataplane/ports/frame_pool.cc).
POOL_PAGES = (8192 + 5120 * sum(QUEUE_PAIRS.values())) * 2176 // 4096
JUMBO_MTU = 9000
JUMBO_FRAME = 9014

# The machine starts on CPU 0 of node 0 and CPU 1 of node 1. CPUs 129 and 130, which the kernel isolates, are on
# node 1 with the e1000e; a test switches them on.
FAR_CPUS = [129, 130]
NODES = [
    "-object", "memory-backend-ram,id=m0,size=1024M", "-numa", "node,nodeid=0,cpus=0,memdev=m0",
    "-object", "memory-backend-ram,id=m1,size=512M", "-numa", "node,nodeid=1,cpus=1-131,memdev=m1",
    "-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=128,numa_node=1",
    "-device", "pcie-root-port,id=far-port,bus=far,chassis=1",
]
TOPOLOGY = """
name: pci
network: {{kind: butterfly, rows: 8}}
max_frame_bytes: {max_frame_bytes}
data_planes: [{{name: dp0, memory_mb: {memory_mb}, spare_queue_pairs: 0}}]
"""
PLACEMENT = """
placement:
  - {stages: "0", lcore: 0}
  - {stages: "1-2", lcore: 1}
"""
PORT = """
  - {{name: {name}, device: "{device}", rows: "{row}", queue_pairs: {queue_pairs}, lcores: {lcores}, translate_mac: false}}
"""


def frame(input_row, output_row, number, length):
    """An IPv4/UDP frame of `length` bytes that no other number has. Numbers differ in their flow, so that
    a NIC spreads them over its queues."""
    ethernet = bytes([2, 0xBF, 0, 0, 0, output_row, 2, 0xBF, 0, 0, 0, input_row, 8, 0])
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, length - 14, number & 0xFFFF, 0, 64, 17, 0, 0x0A4D0000 + input_row,
                     0x0A4D0000 + output_row)
    udp = struct.pack("!HHHH", 1024 + number % 50000, 2000, length - 34, 0)
    body = (struct.pack("!I", number) * (length // 4))[: length - 42]
    return ethernet + ip + udp + body


class PciNics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([os.path.join(SOURCE, "deploy", "fetch-guest-kernel"), KERNEL], check=True, timeout=120)
        cls.directory = tempfile.mkdtemp(prefix="bfly-pci-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        files = {f"/bin/{name}": os.path.join(BUILD, name) for name in ("bfly", "bfly-controller", "bfly-dataplane")}
        for plugin in PLUGINS:
            found = glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{plugin}.so*")
            if not found:
                raise guest.GuestError(f"DPDK's driver librte_{plugin}.so is not installed (see deploy/packages.txt)")
            files.update({path: path for path in found})
        initramfs = guest.build_initramfs(cls.directory, KERNEL, files)

        wires.enter_own_network_namespace()
        cls.wires = {
            "e1000e": wires.DatagramWire("e1000e"),
            "vmxnet3": wires.DatagramWire("vmxnet3"),
            "virtio": wires.TapWire("virtio", QUEUE_PAIRS["virtio"], JUMBO_MTU),
        }
        for wire in cls.wires.values():
            cls.addClassCleanup(wire.close)
        devices = list(NODES)
        for name, model in (
            ("e1000e", "e1000e,bus=far-port"),
            ("vmxnet3", "vmxnet3,bus=pcie.0"),
            # Two vectors a queue pair, one for configuration, one for control. With iommu_platform the
            # device reaches memory through the IOMMU, as hardware does.
            ("virtio", f"virtio-net-pci,bus=pcie.0,mq=on,rss=on,vectors={2 * QUEUE_PAIRS['virtio'] + 2},disable-legacy=on,"
                       f"iommu_platform=on,host_mtu={JUMBO_MTU}"),
        ):
            devices += ["-netdev", cls.wires[name].netdev(), "-device", f"{model},netdev={name},id=nic-{name}"]
        cls.guest = guest.start(cls.directory, KERNEL, initramfs, devices, memory_mb=1536, cpus=132,
                                append=f"hugepages=270 maxcpus=2 isolcpus={FAR_CPUS[0]}-{FAR_CPUS[-1]}")
        cls.addClassCleanup(cls.guest.close)
        print(f"the machine was up after {cls.guest.boot_seconds:.1f} s", file=sys.stderr)
        found = cls.guest.pci_addresses()
        cls.address = {name: found[ids][0] for name, ids in IDS.items()}

    def setUp(self):
        self.number = 0
        self.running = False

    def tearDown(self):
        if self.running:
            self.guest.run("cat /run/bfly/*.log; bfly down")

    # --- the fabric in the guest ---

    def bind_all(self):
        for address in self.address.values():
            self.guest.bind_to_vfio(address)

    def write_topology(self, max_frame_bytes=1518, memory_mb=128, cpus=(0, 1), placement=PLACEMENT, **replaced):
        """`cpus` poll the queues. `replaced` puts another device in the place of a NIC's."""
        text = TOPOLOGY.format(max_frame_bytes=max_frame_bytes, memory_mb=memory_mb) + placement + "ports:\n"
        for name, row in ROWS.items():
            device = replaced.get(name, self.address[name])
            text += PORT.format(name=name, device=device, row=row, queue_pairs=QUEUE_PAIRS[name],
                                lcores=list(cpus)[:QUEUE_PAIRS[name]]).lstrip("\n")
        self.guest.write_file("/run/topology.yaml", text)

    def up(self):
        """Loads the fabric of the topology file; what `bfly up` said."""
        self.running = True
        started = time.monotonic()
        said = self.guest.check("bfly up /run/topology.yaml", 120)
        print(f"up after {time.monotonic() - started:.1f} s", file=sys.stderr)
        return said

    def down(self):
        """Ends the fabric; its closing account {injected, delivered, dropped, in_flight}."""
        account = json.loads(self.guest.check("bfly down --json"))["conservation"]
        self.running = False
        return account

    def link_packets(self):
        """{(stage, row, port): packets} of every link."""
        links = json.loads(self.guest.check("bfly counters --json"))["links"]
        return {(link["stage"], link["row"], link["port"]): link["packets"] for link in links}

    # --- the hosts outside ---

    def next_frame(self, source, destination, length):
        self.number += 1
        return frame(ROWS[source], ROWS[destination], self.number, length)

    def wait_for_links(self):
        """Sends one frame over each pair until it comes through: a NIC's link may still be coming up.
        Returns (frames sent, frames received)."""
        sent = received = 0
        for source in self.wires:
            for destination in self.wires:
                for _ in range(40):
                    probe = self.next_frame(source, destination, 60)
                    self.wires[source].send(probe)
                    sent += 1
                    got = wires.receive(self.wires, 1, 0.5)
                    received += sum(map(len, got.values()))
                    if probe in got[destination]:
                        break
                else:
                    self.fail(f"no frame from {source} to {destination} came through")
        late = wires.receive(self.wires, sent - received, 0.5)
        return sent, received + sum(map(len, late.values()))

    def exchange(self, rounds, lengths, burst):
        """Every NIC sends to every NIC, itself too. Waits for each round before the next, so that the
        buffers of the wires hold what is under way. Returns {NIC: frames that entered there}."""
        entered = collections.Counter()
        for r in range(rounds):
            expected = collections.Counter()
            for i in range(burst):
                for source in self.wires:
                    for destination in self.wires:
                        f = self.next_frame(source, destination, lengths[(r * burst + i) % len(lengths)])
                        expected[(destination, f)] += 1
                        entered[source] += 1
                        self.wires[source].send(f)
            arrived = collections.Counter()
            for name, frames in wires.receive(self.wires, expected.total(), 30).items():
                arrived.update((name, f) for f in frames)
            missing, strange = expected - arrived, arrived - expected
            if missing or strange:
                counters = json.loads(self.guest.check("bfly counters --json --nonzero"))
                self.fail(f"round {r}: missing {describe(missing)}, not expected {describe(strange)}; the fabric "
                          f"counted {counters['conservation']} {counters['drops']} {counters['ports']}")
        return entered

    def assert_conserved(self, account, sent, received):
        """All that came in went out again, but for probes that a link lost before or after the fabric."""
        self.assertEqual((account["dropped"], account["in_flight"]), (0, 0), account)
        self.assertEqual(account["injected"], account["delivered"], account)
        self.assertGreaterEqual(account["delivered"], received)
        self.assertLessEqual(account["injected"], sent)

    # --- the tests; the first two need NICs that nobody holds yet, so names keep them in this order ---

    def test_1_an_address_without_a_device_is_refused_by_name(self):
        self.write_topology(vmxnet3="0000:00:1e.7")
        status, output = self.guest.run("bfly-dataplane --topology /run/topology.yaml")
        self.assertNotEqual(status, 0, output)
        self.assertIn("ports[1].device: this machine has no PCI device at 0000:00:1e.7", output)

    def test_2_a_nic_bound_to_no_driver_is_refused_with_what_to_do(self):
        self.write_topology()
        status, output = self.guest.run("bfly-dataplane --topology /run/topology.yaml")
        self.assertNotEqual(status, 0, output)
        self.assertIn(f"ports[0].device: the PCI device {self.address['e1000e']} is bound to no driver", output)
        self.assertIn(f"dpdk-devbind.py --bind=vfio-pci {self.address['e1000e']}", output)

    def test_3_frames_cross_the_stages_between_all_nics(self):
        self.bind_all()
        self.write_topology()
        self.assertNotIn("no hugepages", self.up())
        self.assertIn("virtio: 4 queue pairs, lcores 0-1; the device spreads flows (RSS), workers hand frames over",
                      self.guest.check("bfly status"))
        sent, received = self.wait_for_links()
        links_before, before = self.link_packets(), self.virtio_receive_queues()
        entered = self.exchange(rounds=10, lengths=[60, 61, 64, 128, 590, 1024, 1513, 1514], burst=8)
        after = self.virtio_receive_queues()
        links = self.link_packets()
        self.assertEqual({link: packets - links_before[link] for link, packets in links.items()},
                         expected_link_packets(frames_per_pair=80))
        account = self.down()
        self.assert_conserved(account, sent + entered.total(), received + entered.total())
        # qemu's own count of the buffers the data plane's receive queues gave back to it.
        taken = [(b - a) % 65536 for a, b in zip(before, after)]
        print(f"{entered.total()} frames; virtio-net's receive queues took {taken}", file=sys.stderr)
        self.assertEqual(sum(taken), entered["virtio"])
        self.assertTrue(all(taken), f"each of {QUEUE_PAIRS['virtio']} queues receives: {taken}")

    def test_4_frames_of_9000_bytes_cross_unchanged(self):
        self.bind_all()
        self.write_topology(max_frame_bytes=JUMBO_FRAME, memory_mb=460)
        self.up()
        sent, received = self.wait_for_links()
        entered = self.exchange(rounds=5, lengths=[1515, 2048, 4096, JUMBO_FRAME - 1, JUMBO_FRAME], burst=1)
        self.assert_conserved(self.down(), sent + entered.total(), received + entered.total())

    def test_5_without_hugepages_the_nics_work_over_ordinary_pages(self):
        self.bind_all()
        self.guest.check("echo 0 >/proc/sys/vm/nr_hugepages")
        self.write_topology(memory_mb=192)
        self.assertIn("no hugepages", self.up())
        sent, received = self.wait_for_links()
        entered = self.exchange(rounds=3, lengths=[60, 512, 1514], burst=4)
        self.assert_conserved(self.down(), sent + entered.total(), received + entered.total())

    def test_6_isolated_cpus_above_127_run_the_workers_with_memory_of_their_node(self):
        self.bind_all()
        self.guest.check("echo 0 >/proc/sys/vm/nr_hugepages")
        self.write_topology(memory_mb=192)
        warning = (f"port e1000e: its device is on NUMA node 1 and is polled by lcore 0 of node 0, so frames cross "
                   f"between nodes; use lcores of node 1")
        self.assertIn(warning, self.up())
        self.assertIn(warning, self.guest.check("bfly status"))
        self.assertLess(self.pages_of_node(1), POOL_PAGES // 2)
        self.down()

        for cpu in FAR_CPUS:
            self.guest.check(f"echo 1 >/sys/devices/system/cpu/cpu{cpu}/online")
        self.write_topology(memory_mb=192, cpus=FAR_CPUS, placement="")
        said = self.up()
        self.assertIn("rows are spread over CPUs 129-130, all stages on each", said)
        self.assertIn("lcore 129 runs stages 0-2 of rows 0-3", said)
        self.assertIn("lcore 130 runs stages 0-2 of rows 4-7", said)
        self.assertNotIn("NUMA", self.guest.check("bfly status"))
        self.assertGreater(self.pages_of_node(1), POOL_PAGES)
        # A thread may end between the listing and the look.
        affinities = self.guest.check("grep -hs Cpus_allowed_list /proc/$(cut -d' ' -f1 /run/bfly/dp0.pid)/task/*/status || true")
        pinned = collections.Counter(line.split()[1] for line in affinities.splitlines())
        self.assertEqual((pinned["129"], pinned["130"]), (1, 1), affinities)
        sent, received = self.wait_for_links()
        entered = self.exchange(rounds=3, lengths=[60, 512, 1514], burst=4)
        self.assert_conserved(self.down(), sent + entered.total(), received + entered.total())

    def test_7_flow_rules_bring_frames_to_the_worker_of_their_row(self):
        """Of all drivers here net_tap alone has flow rules: it makes them of filters of the kernel."""
        self.guest.write_file("/run/topology.yaml", TOPOLOGY.format(max_frame_bytes=1518, memory_mb=192) + """
placement:
  - {stages: 0-2, rows: 0-3, lcore: 0}
  - {stages: 0-2, rows: 4-7, lcore: 1}
ports:
  - {name: t0, device: "net_tap0,iface=bft0", rows: 0-7, queue_pairs: 2}
""")
        # The guest's kernel sends nothing by itself.
        self.guest.check("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        self.up()
        self.assertIn("t0: 2 queue pairs, lcores 0-1; flow rules of the device bring each frame to its worker",
                      self.guest.check("bfly status"))
        self.guest.check("ip addr add 10.77.0.1/24 dev bft0 && ip link set bft0 up")
        # From the address of one row after another to row 5, where nobody answers.
        for row, frames in ((0, 2), (3, 3), (4, 4), (7, 5)):
            self.guest.run(f"ip link set bft0 address 02:bf:00:00:00:0{row}; arp -s 10.77.0.9 02:bf:00:00:00:05; "
                           f"ping -q -c {frames} -i 0.01 -W 1 10.77.0.9")
        [port] = self.counters_after(14)["ports"]
        self.assertEqual([queue["rx_packets"] for queue in port["queues"]], [2 + 3, 4 + 5], port)
        account = self.down()
        self.assertEqual((account["injected"], account["delivered"]), (14, 14), account)

    def counters_after(self, packets):
        """The counters once that many packets have come out."""
        while True:
            counters = json.loads(self.guest.check("bfly counters --json"))
            if counters["conservation"]["delivered"] >= packets:
                return counters
            self.guest.require_time(f"the way of {packets} packets")

    def pages_of_node(self, node):
        """Ordinary pages of the node that the data plane has, without those that only map files."""
        maps = self.guest.check("grep -E 'anon=|memfd' /proc/$(cut -d' ' -f1 /run/bfly/dp0.pid)/numa_maps")
        return sum(int(word.split("=")[1]) for word in maps.split() if word.startswith(f"N{node}="))

    def virtio_receive_queues(self):
        """How many buffers each receive queue of the virtio-net has used, modulo 2^16, as qemu counts."""
        return [
            self.guest.ask_qemu("x-query-virtio-queue-status", path="/machine/peripheral/nic-virtio/virtio-backend",
                                queue=2 * pair)["used-idx"]
            for pair in range(QUEUE_PAIRS["virtio"])
        ]


def expected_link_packets(frames_per_pair):
    """By hand: stage s of B_8 sends a packet to the port that its destination's bit 2 - s says, and puts
    that bit into its row."""
    packets = {(stage, row, port): 0 for stage in range(3) for row in range(8) for port in range(2)}
    for row in ROWS.values():
        for destination in ROWS.values():
            at = row
            for stage in range(3):
                bit = 4 >> stage
                packets[(stage, at, int(destination & bit != 0))] += frames_per_pair
                at = (at & ~bit) | (destination & bit)
    return packets


def describe(frames):
    """A few of the frames of a Counter of (NIC, frame)."""
    some = [f"{name}: {f[:14].hex(':')} of {len(f)} bytes" for name, f in list(frames)[:4]]
    return f"{frames.total()} ({'; '.join(some)})" if some else "none"


if __name__ == "__main__":
    unittest.main(verbosity=2)
