# SPDX-License-Identifier: Apache-2.0
"""A fabric split over two data planes delivers the same frames to the same rows as one process does.

In the split fabric hosts send into the first data plane and receive from the second, so each has two wires.
"""

import unittest

import fabric
import frames
import lab

ROWS = 4  # of 16, those with hosts
COPIES = 25


def sent_by(row):
    """Frames from one row to every row with a host and to one without, each one of its kind."""
    return [frames.frame(frames.row_mac(to), frames.row_mac(row), payload=f"{row} to {to}, {i}".encode(), size=60 + i)
            for i in range(COPIES) for to in [*range(ROWS), 9]]


class TrunkTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)

    def port(self, row, prefix, **more):
        # The hosts here write rows' addresses themselves.
        return {"name": f"{prefix}{row}", "device": f"net_af_xdp,iface={prefix}{row}", "rows": str(row),
                "translate_mac": False, **more}

    def deliveries(self, net, senders, receivers):
        """Sends everything; returns the frames each row got and the packets each link carried."""
        catchers = [frames.Catcher(*receiver) for receiver in receivers]
        for row, (host, interface) in enumerate(senders):
            frames.send(host, sent_by(row), interface)
        total = ROWS * (ROWS + 1) * COPIES
        counters = net.settled(lambda c: c["conservation"]["injected"] == total, f"{total} frames enter and settle")
        self.assertEqual(counters["conservation"]["delivered"], ROWS * ROWS * COPIES)
        self.assertEqual([(drop["reason"], drop["packets"]) for drop in counters["drops"]],
                         [("no_port_at_row", ROWS * COPIES)])
        got = [catcher.wait(ROWS * COPIES) for catcher in catchers]
        links = {(link["stage"], link["row"], link["port"]): link["packets"] for link in counters["links"]}
        net.down()
        return got, links

    def in_one_process(self):
        switch = self.lab.namespace("one")
        hosts = [self.lab.host(f"a{row}", switch, f"bf{row}") for row in range(ROWS)]
        ends = [(host, "eth0") for host in hosts]
        content = fabric.topology([self.port(row, "bf") for row in range(ROWS)])
        with fabric.Fabric(self.lab, switch, content, "one") as net:
            return self.deliveries(net, ends, ends)

    def split(self, name, first, second, from_device, to_device):
        hosts = []
        for row in range(ROWS):
            host = self.lab.host(f"{name}h{row}", first, f"in{row}")
            self.lab.wire(second, f"out{row}", host, "eth1")
            hosts.append(host)
        content = fabric.topology(
            [self.port(row, "in", data_plane="dp0") for row in range(ROWS)] +
            [self.port(row, "out", data_plane="dp1") for row in range(ROWS)],
            placement=[{"stages": "0-3", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "4-7", "lcore": 1, "data_plane": "dp1"}],
            data_planes=[{"name": "dp0"}, {"name": "dp1", "network_namespace": second.name}],
            trunks=[{"name": "middle", "after_stage": 3, "from": "dp0", "from_device": from_device,
                     "to": "dp1", "to_device": to_device}])
        with fabric.Fabric(self.lab, first, content, name) as net:
            return self.deliveries(net, [(host, "eth0") for host in hosts], [(host, "eth1") for host in hosts])

    def check_same(self, split):
        """Frames of one input to one output keep their order; those of different inputs may overtake each other."""
        (one_frames, one_links), (split_frames, split_links) = self.in_one_process(), split
        for row in range(ROWS):
            self.assertEqual(sorted(split_frames[row]), sorted(one_frames[row]), f"row {row}")
            for source in range(ROWS):
                expected = [f for f in sent_by(source) if f[:6] == frames.row_mac(row)]
                for got in (one_frames, split_frames):
                    self.assertEqual([f for f in got[row] if f[6:12] == frames.row_mac(source)], expected)
        self.assertEqual(split_links, one_links)
        self.assertEqual(len(one_links), 8 * 16 * 2)

    def test_split_by_a_memif_trunk(self):
        first, second = self.lab.namespace("m0"), self.lab.namespace("m1")
        device = f"id=0,socket={self.lab.directory}/trunk.sock,socket-abstract=no"
        self.check_same(self.split("m", first, second, f"net_memif0,role=server,{device}",
                                   f"net_memif0,role=client,{device}"))

    def test_split_by_an_af_xdp_trunk_between_two_namespaces(self):
        first, second = self.lab.namespace("x0"), self.lab.namespace("x1")
        self.lab.wire(first, "tr0", second, "tr1", mtu=2000)
        self.check_same(self.split("x", first, second, "net_af_xdp,iface=tr0", "net_af_xdp,iface=tr1"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
