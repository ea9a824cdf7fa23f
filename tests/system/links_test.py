# SPDX-License-Identifier: Apache-2.0
"""Links with rates and delays: ping shows the delay, iperf3 the rate, and both can be changed live."""

import json
import re
import unittest

import fabric
import lab

STAGES = 4


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]

    def fabric(self, links):
        content = fabric.topology([fabric.host_port(row) for row in range(2)], kind="butterfly", links=links)
        return fabric.Fabric(self.lab, self.switch, content)

    def rtt(self):
        """The shortest round trip of ten pings, in ms: on a busy machine workers and hosts wait for their core."""
        self.hosts[0].ping(self.hosts[1].address)
        text = self.hosts[0].run("ping", "-c", "10", "-i", "0.1", self.hosts[1].address)
        return float(re.search(r"= ([\d.]+)/", text)[1])

    def test_ping_shows_the_delay_and_a_live_change_of_it(self):
        with self.fabric({"delay": "5ms"}) as net:
            least = self.rtt()
            print(f"4 stages of 5 ms: RTT {least} ms, links alone 40 ms")
            self.assertGreaterEqual(least, 2 * STAGES * 5)
            self.assertLess(least, 2 * 2 * STAGES * 5)
            net.bfly("link", "set", "s0-2", "--delay", "0s")
            least = self.rtt()
            print(f"1 stage of 5 ms: RTT {least} ms, links alone 10 ms")
            self.assertGreaterEqual(least, 2 * 5)
            self.assertLess(least, 2 * STAGES * 5, "as before")
            shown = net.json("link", "show")["links"]
            self.assertEqual([(g["stages"], g["delay"]) for g in shown], [("0-2", "0s"), ("3", "5ms")])
            # Kept over the death of the data plane.
            net.kill("dp0")
            net.start_data_plane()
            lab.wait_until(lambda: "dp0: running" in net.bfly("status", check=False), "dp0 is back")
            least = self.rtt()
            self.assertGreaterEqual(least, 2 * 5)
            self.assertLess(least, 2 * STAGES * 5)
            workers = net.json("status")["data_planes"][0]["workers"]
            self.assertGreater(sum(w["lateness"]["packets"] for w in workers if w.get("lateness")), 0)
            self.assertIn("fell behind by", net.bfly("status"))
            self.assertIn("fell behind by", net.bfly("down", check=False))  # dp0 was killed: it fails

    def test_iperf3_shows_the_rate(self):
        with self.fabric({"rate": "20Mbps", "queue_limit": 50}) as net:
            result = self.hosts[0].iperf3(self.hosts[1], 5)
            received = result["end"]["sum_received"]["bits_per_second"]
            print(f"iperf3 TCP over links of 20 Mbps: {received / 1e6:.2f} Mbit/s")
            # 1448 bytes of each frame of 1514 are TCP's. A host that stands still makes it slower; what waits in
            # its socket meanwhile is read at once.
            self.assertLess(received, 20e6 * 1448 / 1514 * 1.1)
            self.assertGreater(received, 20e6 / 2)
            net.bfly("link", "set", "all", "--rate", "5Mbps")
            result = self.hosts[0].iperf3(self.hosts[1], 4, "-u", "-b", "8M", "-l", "1400")
            udp = result["end"]["sum_received"] if "sum_received" in result["end"] else result["end"]["sum"]
            print(f"iperf3 UDP of 8 Mbit/s over links of 5 Mbps: {udp['bits_per_second'] / 1e6:.2f} Mbit/s")
            self.assertLess(udp["bits_per_second"], 5e6 * 1.2)
            self.assertGreater(udp["bits_per_second"], 5e6 / 2)
            counters = net.settled()
            drops = {drop["reason"]: drop["packets"] for drop in counters["drops"]}
            self.assertGreater(drops["queue_full"], 0)
            net.down()

    def test_wrong_changes_are_refused(self):
        with self.fabric({}) as net:
            for arguments, text in ((("all", "--rate", "5Mbit"), "Mbps"), (("all", "--delay", "3min"), "ns, us, ms"),
                                    (("s9", "--rate", "5Mbps"), "stage 9 is outside 0..3"),
                                    (("x1", "--rate", "5Mbps"), "selects no links"),
                                    (("all", "--loss", "2"), "allowed: 0 to 1"),
                                    (("all", "--rate=-1Mbps"), "is negative"), (("all",), "changes nothing")):
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("link", "set", *arguments)
                self.assertIn(text, refused.exception.err)
            self.assertEqual(json.loads(net.bfly("link", "show", "--json"))["links"][0]["rate"], "none")
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
