# SPDX-License-Identifier: Apache-2.0
"""Peers that share memory with a port come and go under traffic, in order, by a crash, paused: that costs their
port's frames in flight, and nothing else."""

import itertools
import socket
import time
import unittest

import fabric
import frames
import lab
from shared_memory_peer import MemifPeer, PeerProcess, VhostPeer

STEADY, CHANGING = 0, 5
PEERS = 100


def memif(number, path):
    return f"net_memif{number},role=server,id=0,socket={path},socket-abstract=no"


def vhost(number, path):
    return f"net_vhost{number},iface={path},queues=1"


def lost_at(counters, row):
    return sum(drop["packets"] for drop in fabric.ports_by_name(counters)[f"p{row}"]["drops"])


class PeerChurnTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.peers = []
        self.addCleanup(self.kill_peers)

    def kill_peers(self):
        for peer in self.peers:
            if peer.process.is_alive():
                peer.crash()

    def peer(self, kind, path, row, to_row):
        peer = PeerProcess(kind, path, frames.frame(frames.row_mac(to_row), frames.row_mac(row), size=1514))
        self.peers.append(peer)
        return peer

    def socket(self, row):
        return self.lab.directory / f"peer{row}.sock"

    def fabric(self, device, name="fabric", **more):
        ports = [{"name": f"p{row}", "device": device(i, self.socket(row)), "rows": str(row)}
                 for i, row in enumerate((STEADY, CHANGING))]
        return fabric.Fabric(self.lab, self.switch, fabric.topology(ports, rows=8, **more), name)

    def churn(self, kind, device):
        """A hundred peers, one after the other, at one port; the peer at the other stays."""
        with self.fabric(device, data_planes=[{"name": "dp0", "idle": "poll"}]) as net:
            plane = net.pid("dp0")
            steady = self.peer(kind, self.socket(STEADY), STEADY, CHANGING)
            started = time.monotonic()
            for _, end in zip(range(PEERS), itertools.cycle(("leave", "crash", "crash", "pause"))):
                peer = self.peer(kind, self.socket(CHANGING), CHANGING, STEADY)
                peer.wait_for_traffic(sent=2000, received=2000)
                if end == "pause":
                    peer.pause()
                    time.sleep(0.05)
                    peer.crash()
                elif end == "crash":
                    peer.crash()
                else:
                    peer.leave()
            print(f"{PEERS} peers in {time.monotonic() - started:.1f} s; "
                  f"the steady one sent {steady.sent} and received {steady.received} frames")
            self.assertEqual(net.pid("dp0"), plane)
            before = steady.received
            last = self.peer(kind, self.socket(CHANGING), CHANGING, STEADY)
            last.wait_for_traffic(sent=5000, received=5000)
            steady.wait_for_traffic(received=before + 5000)
            last.leave()
            steady.leave()
            counters = net.settled()
            self.assertEqual({drop["reason"] for drop in counters["drops"]} - {"port_full"}, set())
            # All losses are at the ports. The steady peer's port has some too: the peer does not empty its ring while it
            # waits for a CPU, and frames are on their way to it when it leaves.
            self.assertGreater(lost_at(counters, CHANGING), 0)
            self.assertEqual(lost_at(counters, STEADY) + lost_at(counters, CHANGING), counters["conservation"]["dropped"])
            net.down()

    def test_a_hundred_memif_peers_come_and_go_under_traffic(self):
        self.churn(MemifPeer, memif)

    def test_a_hundred_vhost_peers_come_and_go_under_traffic(self):
        self.churn(VhostPeer, vhost)

    def test_sockets_that_a_crash_left_are_in_nobodys_way(self):
        for kind, device in ((MemifPeer, memif), (VhostPeer, vhost)):
            with self.subTest(kind.__name__):
                crashed = self.fabric(device, f"{kind.__name__}-crashed").up()
                for process in ("dp0", "controller"):
                    crashed.kill(process)
                self.assertTrue(self.socket(STEADY).is_socket())
                with self.fabric(device, f"{kind.__name__}-next") as net:
                    peers = [self.peer(kind, self.socket(row), row, to) for row, to in ((STEADY, CHANGING),
                                                                                     (CHANGING, STEADY))]
                    for peer in peers:
                        peer.wait_for_traffic(sent=1000, received=1000)
                        peer.leave()
                    net.down()
                self.assertFalse(self.socket(STEADY).exists())

    def test_a_socket_that_somebody_listens_at_is_left_alone(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mine:
            mine.bind(str(self.socket(STEADY)))
            mine.listen()
            for device in (memif, vhost):
                with self.assertRaisesRegex(lab.CommandFailed, r"(?s)ports\[0\].*another process listens"):
                    self.fabric(device, "refused").up()
            self.assertTrue(self.socket(STEADY).is_socket())


if __name__ == "__main__":
    unittest.main(verbosity=2)
