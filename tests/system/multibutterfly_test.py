# SPDX-License-Identifier: Apache-2.0
"""Multibutterflies and butterflies with extra stages: hosts, circuits, links that are down, a trunk, their description."""

import collections
import json
import unittest

import fabric
import frames
import lab

ROWS = 8
STAGES = 3


def multibutterfly(ports, **more):
    content = fabric.topology(ports, rows=ROWS, kind="multibutterfly", **more)
    content["network"].update(multiplicity=2, parallel_edges="avoid", rule="round_robin")
    return content


class MultibutterflyTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def describe(self, content, *options):
        path = self.lab.directory / "network.yaml"
        path.write_text(json.dumps(content))
        return self.switch.run(lab.BUILD / "bfly", "describe", path, *options)

    def heads(self, content):
        """{(stage, row, port): next row} as `bfly describe --links` says it."""
        facts = json.loads(self.describe(content, "--links", "--json"))
        return {(link["stage"], link["row"], link["port"]): link["next_row"] for link in facts["links"]}

    def links(self, counters):
        return {(link["stage"], link["row"], link["port"]): link["packets"] for link in counters["links"]}

    def steps(self):
        path = self.lab.directory / "steps.txt"
        path.write_text("setup 1 1\nsetup 2 6\n")
        return path

    def test_hosts_talk_and_links_that_are_down_lose_nothing(self):
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        content = multibutterfly([fabric.host_port(row) for row in range(2)],
                                 links={"rate": "50Mbps", "queue_limit": 100})
        with fabric.Fabric(self.lab, self.switch, content) as net:
            hosts[0].ping(hosts[1].address)
            hosts[1].ping(hosts[0].address)
            tcp = hosts[0].iperf3(hosts[1], 3)["end"]["sum_received"]
            print(f"iperf3 TCP over links of 50 Mbps: {tcp['bits_per_second'] / 1e6:.1f} Mbit/s")
            self.assertGreater(tcp["bytes"], 1_000_000)
            for stage in range(STAGES):
                net.bfly("link", "down", f"s{stage} p0")
                net.bfly("link", "down", f"s{stage} p3")
            before = net.settled()
            hosts[0].ping(hosts[1].address, 5)
            counters = net.settled()
            # TCP may have filled the queues; nothing else was lost, and nothing more is.
            self.assertLessEqual({drop["reason"] for drop in before["drops"]}, {"queue_full"})
            self.assertEqual(counters["drops"], before["drops"])
            before = self.links(before)
            for (stage, row, port), packets in self.links(counters).items():
                if port in (0, 3):
                    self.assertEqual(packets, before[stage, row, port])
            net.down()

    def test_circuits_follow_the_ports_they_have(self):
        content = multibutterfly([])
        head = self.heads(content)
        with fabric.Fabric(self.lab, self.switch, content) as net:
            expected = collections.Counter()
            for row, to in ((0, 5), (6, 7), (2, 6)):
                chosen = net.json("circuit", "setup", row, to)
                self.assertEqual(chosen["choice"], "least_loaded")
                at = row
                for stage, port in enumerate(chosen["ports"]):
                    self.assertEqual(port // 2, to >> (STAGES - 1 - stage) & 1)
                    self.assertEqual(chosen["rows"][stage], at)
                    expected[stage, at, port] += 200
                    at = head[stage, at, port]
                self.assertEqual(at, to)
            # Two links leave the splitter's side for three circuits at most, so none needs to share.
            net.bfly("traffic", "start", "--rows", "0,2,6", "--rate", 0, "--to", "circuit", "--packets", 200)
            counters = net.settled(lambda c: c["conservation"]["delivered"] == 600, "three circuits deliver")
            self.assertEqual({link: packets for link, packets in self.links(counters).items() if packets}, expected)
            # The circuit 0 -> 5 moves when its first link goes down.
            first = next(circuit for circuit in net.json("circuit", "list")["circuits"] if circuit["input"] == 0)
            net.bfly("link", "down", f"s0 r0 p{first['ports'][0]}")
            moved = net.json("circuit", "move", first["id"])
            self.assertEqual(moved["ports"][0], first["ports"][0] ^ 1)
            for arguments, text in ((("setup", "1", "1", "--in-band"), "multibutterfly"),
                                    (("permutation", "--protocol", "valiant"), "is not defined on a multibutterfly")):
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("circuit", *arguments)
                self.assertIn(text, refused.exception.err)
            routed = net.json("circuit", "permutation", "--replace", "--protocol", "minimum", "--permutation", "bitrev")
            self.assertGreaterEqual(routed["congestion"], 1)
            collision = net.json("circuit", "permutation", "--replace", "--protocol", "collision", "--permutation", "bitrev")
            self.assertTrue(collision["requests_left"] or collision["congestion"] <= collision["c"])
            # One circuit a link, around the link that is down: counted from the list.
            net.bfly("circuit", "release", "--all")
            disjoint = net.json("circuit", "permutation", "--protocol", "disjoint", "--permutation", "bitcomp")
            self.assertEqual(disjoint["congestion"], 1)
            used = [(stage, circuit["rows"][stage], port) for circuit in net.json("circuit", "list")["circuits"]
                    for stage, port in enumerate(circuit["ports"])]
            self.assertEqual(len(used), len(set(used)))
            self.assertNotIn((0, 0, first["ports"][0]), used)
            net.bfly("circuit", "release", "--all")
            # Input 0 has one link of this direction left.
            single = net.json("circuit", "setup", 0, 5, "--protocol", "disjoint")
            self.assertEqual((single["choice"], single["ports"][0]), ("disjoint", first["ports"][0] ^ 1))
            net.bfly("circuit", "release", "--all")
            net.bfly("link", "down", f"s0 r0 p{first['ports'][0] ^ 1}")
            with self.assertRaises(lab.CommandFailed) as blocked:
                net.bfly("circuit", "setup", 0, 5, "--protocol", "disjoint")
            self.assertIn("stage 0 blocks the last of them", blocked.exception.err)
            churn = net.json("circuit", "churn", "--protocol", "disjoint", "--arrivals",
                             f"adversary:{self.steps()}", "--rate", 1000)
            self.assertEqual((churn["set_up"], churn["congestion_max"]), (2, 1))
            net.down()

    def test_a_fabric_split_by_a_trunk_delivers_every_frame(self):
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
        content = multibutterfly(
            [port(row, "in", "dp0") for row in range(4)] + [port(row, "out", "dp1") for row in range(4)],
            placement=[{"stages": "0-1", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "2", "lcore": 1, "data_plane": "dp1"}],
            data_planes=[{"name": "dp0"}, {"name": "dp1", "network_namespace": second.name}],
            trunks=[{"name": "middle", "after_stage": 1, "from": "dp0",
                     "from_device": f"net_memif0,role=server,{device}", "to": "dp1",
                     "to_device": f"net_memif0,role=client,{device}"}])
        head = self.heads(content)
        with fabric.Fabric(self.lab, first, content, "split") as net:
            catchers = [frames.Catcher(host, "eth1") for host in hosts]
            for row, host in enumerate(hosts):
                frames.send(host, [frames.frame(frames.row_mac(to), frames.row_mac(row), size=64)
                                   for _ in range(copies) for to in range(4)], "eth0")
            counters = net.settled(lambda c: c["conservation"]["injected"] == 16 * copies, "all frames settle")
            self.assertEqual(counters["conservation"]["delivered"], 16 * copies)
            for catcher in catchers:
                catcher.wait(4 * copies)
            # What a node got is what it sent, over the trunk too.
            packets = self.links(counters)
            at = collections.Counter({row: 4 * copies for row in range(4)})
            for stage in range(STAGES):
                after = collections.Counter()
                for row in range(ROWS):
                    sent = [packets[stage, row, port_number] for port_number in range(4)]
                    self.assertEqual(sum(sent), at[row], (stage, row))
                    for port_number, count in enumerate(sent):
                        after[head[stage, row, port_number]] += count
                at = after
            self.assertEqual(+at, collections.Counter({row: 4 * copies for row in range(4)}))
            net.down()

    def test_hosts_talk_over_extra_stages(self):
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        content = fabric.topology([fabric.host_port(row) for row in range(2)], rows=ROWS, kind="butterfly",
                                  placement=[{"stages": "0-4", "lcore": 0}])
        content["network"]["extra_stages"] = 2
        with fabric.Fabric(self.lab, self.switch, content) as net:
            hosts[0].ping(hosts[1].address)
            # A circuit turns in the extra stages: over row 110, where it would stay in row 000.
            given = net.json("circuit", "setup", "0", "1", "--ports", "1,1,1,0,0")
            self.assertEqual((given["tag"], given["rows"]), ("11 100", [0, 4, 6, 7, 3, 1]))
            before = self.links(net.settled())
            hosts[0].ping(hosts[1].address, 5)
            after = self.links(net.settled())
            for stage, (row, port) in enumerate(((0, 1), (4, 1), (6, 1), (7, 0), (3, 0))):
                self.assertGreaterEqual(after[stage, row, port] - before[stage, row, port], 5)
            net.down()

    def test_descriptions_and_files_that_say_too_much(self):
        facts = json.loads(self.describe(multibutterfly([]), "--links", "--json"))
        self.assertEqual((facts["kind"], facts["link_count"], facts["multiplicity"], facts["parallel_edges"]),
                         ("multibutterfly", 96, 2, "avoid"))
        into = collections.Counter()
        for link in facts["links"]:
            self.assertEqual(link["direction"], link["port"] // 2)
            block = ROWS >> link["stage"] + 1
            self.assertEqual(link["next_row"] // block, link["row"] // (2 * block) * 2 + link["direction"])
            into[link["stage"], link["next_row"]] += 1
        self.assertEqual(set(into.values()), {4})
        self.assertEqual(self.describe(multibutterfly([]), "--dot").count(" -> "), 96)
        # The splitter of 8 rows by hand: on each side the fewest neighbours of every set of its inputs.
        heads = {(link["row"], link["port"]): link["next_row"] for link in facts["links"] if link["stage"] == 0}
        fewest = [0] + [min(len({heads[row, port] for row in range(ROWS) if rows >> row & 1
                                 for port in (2 * direction, 2 * direction + 1)})
                            for direction in (0, 1) for rows in range(1 << ROWS) if rows.bit_count() == size)
                        for size in range(1, ROWS + 1)]
        first = facts["expansion"]["levels"][0]
        self.assertTrue(first["exact"])
        for sets in first["sets"]:
            largest = next(k for k in range(ROWS + 1) if k == ROWS or fewest[k + 1] < sets["beta"] * (k + 1))
            self.assertEqual((sets["at_least"], sets["at_most"]), (largest, largest), sets)
        text = self.describe(multibutterfly([]))
        self.assertIn("splitters: 7, with 2 links from an input to each side and 4 into an output", text)
        self.assertIn("Lemma 1, alpha <=", text)
        for network, text in (("{kind: multibutterfly, rows: 12}", "2: network.rows: 12 is not a power of two"),
                              ("{kind: multibutterfly, rows: 8, multiplicity: 5}", "a side of it has 4 outputs"),
                              ("{kind: multibutterfly, rows: 8, multiplicity: 17}", "allowed: 1 to 16"),
                              ("{kind: butterfly, rows: 8, parallel_edges: avoid}", "needs kind multibutterfly"),
                              ("{kind: benes, rows: 8, extra_stages: 1}", "needs kind butterfly, not benes")):
            path = self.lab.directory / "wrong.yaml"
            path.write_text(f"name: d\nnetwork: {network}\nplacement: [{{stages: 0-2}}]\n")
            with self.assertRaises(lab.CommandFailed) as refused:
                self.switch.run(lab.BUILD / "bfly", "describe", path)
            self.assertIn(text, refused.exception.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
