# SPDX-License-Identifier: Apache-2.0
"""Host ports that are added to a running fabric and removed: their host is reached, and the others lose nothing."""

import re
import unittest

import fabric
import frames
import lab
from shared_memory_peer import MemifPeer, PeerProcess, VhostPeer

STAY, OTHER, COMES = 0, 3, 5


class PortsTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = {row: self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24")
                      for row in (STAY, OTHER, COMES)}

    def names(self, net):
        return [port["port"]["name"] for port in net.json("port", "list")["ports"]]

    def add(self, net):
        net.bfly("port", "add", f"h{COMES}", "--device", f"net_af_xdp,iface=bf{COMES}", "--rows", COMES)

    @staticmethod
    def dropped_by_xdp(port):
        """How many frames for rows outside of the network the XDP program has dropped."""
        return {action["reason"]: action["packets"] for action in port["xdp_actions"]}["unknown_row"]

    def has_program(self):
        return "xdp" in self.switch.ip("link", "show", f"bf{COMES}")

    def test_come_and_go_under_traffic(self):
        stay, other, comes = (self.hosts[row] for row in (STAY, OTHER, COMES))
        content = fabric.topology([fabric.host_port(row) for row in (STAY, OTHER)])
        with fabric.Fabric(self.lab, self.switch, content) as net:
            stay.ping(other.address)
            talk = stay.spawn("ping", "-i", "0.002", "-c", "1500", other.address, name="talk")
            for again in range(2):
                self.assertFalse(self.has_program())
                self.add(net)
                self.assertEqual(self.names(net), [f"h{STAY}", f"h{OTHER}", f"h{COMES}"])
                self.assertTrue(self.has_program())
                stay.ping(comes.address)
                self.assertGreater(fabric.ports_by_name(net.counters())[f"h{COMES}"]["tx_packets"], 0, f"time {again}")
                # Of 16 rows none has the number 99, so the XDP program drops these frames.
                frames.send(comes, [frames.frame(frames.row_mac(99))] * 3)
                net.counters_when(lambda c: self.dropped_by_xdp(fabric.ports_by_name(c)[f"h{COMES}"]) == 3,
                                  "the XDP program drops 3 frames")
                net.bfly("port", "remove", f"h{COMES}")
            # Nothing of it is left but its counts.
            self.assertEqual(self.names(net), [f"h{STAY}", f"h{OTHER}"])
            counters = net.counters()
            self.assertEqual(set(fabric.ports_by_name(counters)), {f"h{STAY}", f"h{OTHER}"})
            self.assertGreater(counters["removed_ports"][0]["rx_packets"], 0)
            self.assertEqual(self.dropped_by_xdp(counters["removed_ports"][0]), 2 * 3)
            self.assertRegex(net.bfly("counters"), r"(?s)removed ports of dp0:.*XDP program: [^\n]*unknown_row 6\b")
            self.assertRegex(talk.finish(), r"1500 packets transmitted, 1500 received")
            for wrong, said in (([f"h{OTHER}", "--device", "net_null9", "--rows", "7"], "port.name"),
                                (["h9", "--device", "net_null9", "--rows", STAY], "port.rows"),
                                (["h9", "--device", "net_af_xdp,iface=nosuch", "--rows", "9"], "port.device")):
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("port", "add", *wrong)
                self.assertTrue(re.search(said, refused.exception.err), refused.exception.err)
            self.assertEqual(self.names(net), [f"h{STAY}", f"h{OTHER}"])
            # What was added is kept.
            self.add(net)
            net.settled()
            net.down()
            net.bfly("up", net.file, "--resume")
            stay.ping(comes.address)
            net.down()

    def test_ports_of_memory_that_a_peer_shares_come_and_go(self):
        """A memif client and the front end of a vhost device send to a host, and hear of it, as often as they are added."""
        stay, other = self.hosts[STAY], self.hosts[OTHER]
        content = fabric.topology([fabric.host_port(row) for row in (STAY, OTHER)])
        with fabric.Fabric(self.lab, self.switch, content) as net:
            talk = stay.spawn("ping", "-i", "0.002", "-c", "1500", other.address, name="talk")
            frame = frames.frame(frames.row_mac(COMES))  # each peer sends to itself
            for again in range(2):
                for kind, device in ((MemifPeer, "net_memif{n},role=server,id=0,socket={path},socket-abstract=no"),
                                     (VhostPeer, "net_vhost{n},iface={path},queues=1")):
                    path = self.lab.directory / f"fabric-run/{kind.__name__}{again}.sock"
                    net.bfly("port", "add", "peer", "--device", device.format(n=again, path=path), "--rows", COMES)
                    peer = PeerProcess(kind, path, frame)
                    self.addCleanup(peer.process.kill)
                    peer.wait_for_traffic(sent=1000, received=1000)
                    net.bfly("port", "remove", "peer")
                    self.assertEqual(self.names(net), [f"h{STAY}", f"h{OTHER}"])
                    self.assertFalse(path.exists(), path)
                    peer.crash()
            self.assertRegex(talk.finish(), r"1500 packets transmitted, 1500 received")
            net.settled()
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
