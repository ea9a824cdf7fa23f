# SPDX-License-Identifier: Apache-2.0
"""A dilated butterfly, two links in place of each: hosts, rates, circuits, links that are down, a trunk."""

import collections
import json
import unittest

import fabric
import frames
import lab

ROWS = 8
STAGES = 3


def dilated(ports, rule="least_occupied", **more):
    content = fabric.topology(ports, rows=ROWS, kind="dilated_butterfly", **more)
    content["network"].update(multiplicity=2, rule=rule)
    return content


class ParallelLinksTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def fabric(self, hosts=2, **more):
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24")
                      for row in range(hosts)]
        content = dilated([fabric.host_port(row) for row in range(hosts)], **more)
        return fabric.Fabric(self.lab, self.switch, content)

    def links(self, counters):
        return {(link["stage"], link["row"], link["port"]): link["packets"] for link in counters["links"]}

    def test_hosts_share_parallel_links_that_have_a_rate(self):
        with self.fabric(links={"rate": "20Mbps", "queue_limit": 100}) as net:
            self.hosts[0].ping(self.hosts[1].address)
            self.hosts[1].ping(self.hosts[0].address)
            tcp = self.hosts[0].iperf3(self.hosts[1], 3)["end"]["sum_received"]
            print(f"iperf3 TCP over pairs of links of 20 Mbps: {tcp['bits_per_second'] / 1e6:.1f} Mbit/s")
            self.assertGreater(tcp["bytes"], 500_000)
            # 30 Mbit/s for two seconds: one link of the pair alone cannot carry it, both together can. The links
            # reckon with the times at which packets are due, so a worker that stands still changes nothing.
            before = net.settled()
            done = before["conservation"]["injected"] + 5000
            net.bfly("traffic", "start", "--rows", 0, "--to", 1, "--rate", 2500, "--bytes", 1500, "--packets", 5000)
            counters = net.settled(lambda c: c["conservation"]["injected"] >= done, "5000 packets settle")
            self.assertEqual(counters["conservation"]["dropped"], before["conservation"]["dropped"], counters["drops"])
            before, after = self.links(before), self.links(counters)
            # Row 0 to row 1: direction 0 of rows 0 at stages 0 and 1, direction 1 at stage 2.
            for stage, first in ((0, 0), (1, 0), (2, 2)):
                pair = [after[stage, 0, port] - before[stage, 0, port] for port in (first, first + 1)]
                print(f"stage {stage}: {pair[0]} and {pair[1]} packets")
                self.assertGreater(min(pair), 0.25 * sum(pair))
            net.down()

    def test_nothing_is_lost_while_one_of_two_links_is_down(self):
        with self.fabric(rule="round_robin") as net:
            self.hosts[0].ping(self.hosts[1].address)
            for stage in range(STAGES):
                net.bfly("link", "down", f"s{stage} p0")
                net.bfly("link", "down", f"s{stage} p3")
            before = self.links(net.settled())
            self.hosts[0].ping(self.hosts[1].address, 5)
            counters = net.settled()
            self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
            after = self.links(counters)
            for (stage, row, port), packets in after.items():
                if port in (0, 3):
                    self.assertEqual(packets, before[stage, row, port])
            with self.assertRaises(lab.CommandFailed) as refused:
                net.bfly("link", "down", "s0 r0 p4")
            self.assertIn("port: 4 is outside 0..3", refused.exception.err)
            with self.assertRaises(lab.CommandFailed) as refused:
                net.bfly("node", "down", 4, 0)
            self.assertIn("level 4 is outside 0..3", refused.exception.err)
            # With both of a pair down the host is cut off.
            net.bfly("link", "down", "s0 r0 p1")
            self.hosts[0].run("ping", "-c", "1", "-W", "1", self.hosts[1].address, check=False)
            drops = {drop["reason"]: drop["packets"] for drop in net.settled()["drops"]}
            self.assertGreater(drops["link_down"], 0)
            net.down()

    def test_hosts_that_keep_a_path_talk_while_a_node_is_down(self):
        with self.fabric(hosts=3, rule="round_robin") as net:
            self.hosts[0].ping(self.hosts[1].address)
            self.hosts[0].ping(self.hosts[2].address)
            talk = self.hosts[0].spawn("ping", "-i", "0.02", "-c", "200", "-W", "5", self.hosts[1].address)
            # Node 010 of level 2 is on the paths from the rows 0, 2, 4 and 6 to the rows 2 and 3.
            failed = net.json("node", "fail", 2, 2)
            self.assertEqual(failed["faults"]["unreachable_pairs"], 8)
            self.assertIn({"input": 0, "output": 2}, failed["faults"]["examples"])
            self.hosts[0].run("ping", "-c", "1", "-W", "1", self.hosts[2].address, check=False)
            self.assertIn(" 0% packet loss", talk.finish())
            drops = {drop["reason"]: drop["packets"] for drop in net.settled()["drops"]}
            self.assertGreater(drops["link_down"], 0)
            self.assertIn("every pair of input and output row has a path", net.bfly("node", "restore", 2, 2))
            self.hosts[0].ping(self.hosts[2].address)
            net.down()

    def test_circuits_keep_to_the_ports_they_have(self):
        with self.fabric(hosts=1, circuits={"without_circuit": "drop"}) as net:
            chosen = net.json("circuit", "setup", "0", "5")
            self.assertEqual((chosen["choice"], chosen["rows"], chosen["ports"]),
                             ("least_loaded", [0, 4, 4, 5], [2, 0, 2]))
            given = net.json("circuit", "setup", "6", "7", "--ports", "3,3,2")
            self.assertEqual((given["choice"], given["rows"], given["tag"]), ("given", [6, 6, 6, 7], "1.1 1.1 1.0"))
            # 2 -> 6 follows it over s1 r6: the other link of the pair.
            third = net.json("circuit", "setup", "2", "6")
            self.assertEqual(third["ports"], [2, 2, 0])
            self.assertIn("ports 3 3 2", net.bfly("circuit", "list"))
            # The fullest links are those of the three paths.
            fullest = net.json("counters", "--top", 9)["links"]
            self.assertEqual({(link["stage"], link["row"], link["port"]): link["circuits"] for link in fullest},
                             dict.fromkeys([(0, 0, 2), (1, 4, 0), (2, 4, 2), (0, 6, 3), (1, 6, 3), (2, 6, 2),
                                            (0, 2, 2), (1, 6, 2), (2, 6, 0)], 1))
            # A source along the circuits: each link carries its circuit's packets and no other does.
            net.bfly("traffic", "start", "--rows", "0,6", "--rate", 0, "--to", "circuit", "--packets", 200)
            counters = net.settled(lambda c: c["conservation"]["delivered"] == 400, "both circuits deliver")
            carried = {link: packets for link, packets in self.links(counters).items() if packets}
            self.assertEqual(carried, {(0, 0, 2): 200, (1, 4, 0): 200, (2, 4, 2): 200,
                                       (0, 6, 3): 200, (1, 6, 3): 200, (2, 6, 2): 200})
            # A link of a circuit goes down: the circuit is broken, and moves to the twin.
            net.bfly("link", "down", "s1 r4 p0")
            moved = net.json("circuit", "move", chosen["id"])
            self.assertEqual(moved["ports"], [2, 1, 2])
            for arguments, text in (((("1", "1", "--ports", "0,0")), "a path has 3"),
                                    ((("1", "1", "--ports", "0,4,0")), "ports[1]: 4 is outside 0..3"),
                                    ((("1", "2", "--ports", "0,0,0")), "lead to row 0, which is not the output, 2"),
                                    ((("1", "1", "--in-band")), "dilated_butterfly")):
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("circuit", "setup", *arguments)
                self.assertIn(text, refused.exception.err)
            net.down()

    def test_a_fabric_split_by_a_trunk_counts_as_one(self):
        """Rows 0 to 3 send to each other through two data planes; each pair of links carries what it should."""
        first, second = self.lab.namespace("m0"), self.lab.namespace("m1")
        copies = 20
        hosts = []
        for row in range(4):
            host = self.lab.host(f"mh{row}", first, f"in{row}")
            self.lab.wire(second, f"out{row}", host, "eth1")
            hosts.append(host)

        def port(row, prefix, plane):
            return {"name": f"{prefix}{row}", "device": f"net_af_xdp,iface={prefix}{row}", "rows": str(row),
                    "translate_mac": False, "data_plane": plane}

        device = f"id=0,socket={self.lab.directory}/trunk.sock,socket-abstract=no"
        content = dilated(
            [port(row, "in", "dp0") for row in range(4)] + [port(row, "out", "dp1") for row in range(4)],
            rule="round_robin",
            placement=[{"stages": "0-1", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "2", "lcore": 1, "data_plane": "dp1"}],
            data_planes=[{"name": "dp0"}, {"name": "dp1", "network_namespace": second.name}],
            trunks=[{"name": "middle", "after_stage": 1, "from": "dp0",
                     "from_device": f"net_memif0,role=server,{device}", "to": "dp1",
                     "to_device": f"net_memif0,role=client,{device}"}])
        with fabric.Fabric(self.lab, first, content, "split") as net:
            # A circuit over the trunk keeps its ports: 1 -> 3 by the second link of each pair.
            net.bfly("circuit", "setup", "1", "3", "--ports", "1,3,3")
            catchers = [frames.Catcher(host, "eth1") for host in hosts]
            for row, host in enumerate(hosts):
                frames.send(host, [frames.frame(frames.row_mac(to), frames.row_mac(row), size=64)
                                   for _ in range(copies) for to in range(4)], "eth0")
            counters = net.settled(lambda c: c["conservation"]["injected"] == 16 * copies, "all frames settle")
            self.assertEqual(counters["conservation"]["delivered"], 16 * copies)
            for catcher in catchers:
                catcher.wait(4 * copies)
            expected, pinned = collections.Counter(), collections.Counter()
            for row in range(4):
                for to in range(4):
                    at = row
                    for stage in range(STAGES):
                        mask = ROWS >> 1 + stage
                        direction = int(bool(to & mask))
                        (pinned if (row, to) == (1, 3) else expected)[stage, at, direction] += copies
                        at = at & ~mask | to & mask
            for (stage, row, port_number), packets in self.links(counters).items():
                direction, second_port = divmod(port_number, 2)
                share = expected[stage, row, direction] // 2
                self.assertEqual(packets, share + (pinned[stage, row, direction] if second_port else 0),
                                 (stage, row, port_number))
            net.down()

    def test_a_file_that_says_too_much_is_refused_with_its_line(self):
        def describe(network, *options, check=True):
            path = self.lab.directory / "network.yaml"
            path.write_text(f"name: d\nnetwork: {network}\nplacement: [{{stages: 0-2}}]\n")
            return self.switch.run(lab.BUILD / "bfly", "describe", path, *options, check=check)

        for network, text in (("{kind: butterfly, rows: 8, rule: random}", "2: network.rule: random has nothing"),
                              ("{kind: butterfly, rows: 8, multiplicity: 2}", "needs kind dilated_butterfly"),
                              ("{kind: dilated_butterfly, rows: 8, multiplicity: 0}", "allowed: 1 to 16"),
                              ("{kind: dilated_butterfly, rows: 8, multiplicity: 9}", "is outside 1..8"),
                              ("{kind: dilated_butterfly, rows: 8, multiplicity: 2, rule: best}", "least_occupied")):
            with self.assertRaises(lab.CommandFailed) as refused:
                describe(network)
            self.assertIn(text, refused.exception.err)
        network = "{kind: dilated_butterfly, rows: 8, multiplicity: 2, rule: first_free}"
        facts = json.loads(describe(network, "--links", "--json"))
        self.assertEqual((facts["link_count"], facts["multiplicity"], facts["rule"], facts["tag"]["bits"]),
                         (96, 2, "first_free", 6))
        for link in facts["links"]:
            self.assertEqual(link["direction"], link["port"] // 2)
            mask = 4 >> link["stage"]
            self.assertEqual(link["next_row"], link["row"] & ~mask | mask * link["direction"])
        self.assertEqual(describe(network, "--dot").count(" -> "), 96)


if __name__ == "__main__":
    unittest.main(verbosity=2)
