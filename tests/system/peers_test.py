# SPDX-License-Identifier: Apache-2.0
"""dpdk-testpmd, which nobody here wrote, on both ends of a fabric: over shared memory and as a virtual machine would."""

import re
import unittest

import fabric
import lab

LEFT, RIGHT = 0, 5


class Testpmd:
    """One port of a tester; it sends frames to one row, or receives."""

    def __init__(self, the_lab, namespace, name, device, to_row, lcore, frame_bytes):
        self.process = namespace.spawn(
            "stdbuf", "-o0", "dpdk-testpmd", "-l", f"{1 - lcore},{lcore}", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
            "--file-prefix", f"{the_lab.tag}{name}", "--vdev", device, "--", "-i", "--total-num-mbufs=8192",
            "--no-flush-rx", f"--txpkts={frame_bytes}", f"--mbuf-size={max(2048, frame_bytes) + 512}", f"--eth-peer=0,02:bf:00:00:00:{to_row:02x}",
            name=f"testpmd-{name}", stdin=True)
        self.process.wait_for("testpmd>")

    def start(self, mode):
        self.process.send(f"set fwd {mode}")
        self.process.send("start")

    def stop(self):
        self.process.send("stop")

    def statistics(self):
        """(received, sent)"""
        before = len(self.process.text())
        self.process.send("show port stats 0")

        def shown():
            return re.search(r"RX-packets:\s*(\d+).*?TX-packets:\s*(\d+)", self.process.text()[before:], re.DOTALL)

        return tuple(int(number) for number in lab.wait_until(shown, "testpmd's statistics").groups())


class PeersTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def exchange(self, ports, devices, frame_bytes=64, enough=5000, **more):
        """Each side sends to the other in turn; what the fabric says it delivered is what arrives."""
        with fabric.Fabric(self.lab, self.switch, fabric.topology(ports, rows=8, **more)) as net:
            left = Testpmd(self.lab, self.switch, "left", devices[0], RIGHT, 1, frame_bytes)
            right = Testpmd(self.lab, self.switch, "right", devices[1], LEFT, 0, frame_bytes)
            for sender, receiver, source, sink in ((left, right, "left", "right"), (right, left, "right", "left")):
                receiver.start("rxonly")
                sender.start("txonly")
                net.counters_when(lambda c, name=sink: fabric.ports_by_name(c)[name]["tx_packets"] > enough)
                sender.stop()
                net.settled()
                lab.wait_until(lambda: self.everything_arrived(net, sender, receiver, source, sink),
                               f"what {source} sent is at {sink}, or counted")
                receiver.stop()
                sent, received = sender.statistics()[1], receiver.statistics()[0]
                print(f"{source} sent {sent}, {sink} received {received}")
            net.down()

    def everything_arrived(self, net, sender, receiver, source, sink):
        ports = fabric.ports_by_name(net.settled())
        return (ports[source]["rx_packets"] == sender.statistics()[1] and
                ports[sink]["tx_packets"] == receiver.statistics()[0])

    def memif(self, **more):
        sockets = [self.lab.directory / "left.sock", self.lab.directory / "right.sock"]
        ports = [{"name": name, "device": f"net_memif{i},role=server,id=0,socket={sockets[i]},socket-abstract=no",
                  "rows": str(row)} for i, (name, row) in enumerate((("left", LEFT), ("right", RIGHT)))]
        self.exchange(ports, [f"net_memif{i},role=client,id=0,socket={sockets[i]},socket-abstract=no"
                              for i in range(2)], **more)

    def test_testpmd_over_memif(self):
        self.memif()

    def test_testpmd_over_memif_with_frames_of_9014_bytes(self):
        self.memif(frame_bytes=9014, enough=500, max_frame_bytes=9018)

    def test_testpmd_over_vhost_and_virtio_user(self):
        sockets = [self.lab.directory / "vm0.sock", self.lab.directory / "vm1.sock"]
        ports = [{"name": name, "device": f"net_vhost{i},iface={sockets[i]},queues=1", "rows": str(row)}
                 for i, (name, row) in enumerate((("left", LEFT), ("right", RIGHT)))]
        self.exchange(ports, [f"net_virtio_user{i},path={sockets[i]},queues=1" for i in range(2)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
