# SPDX-License-Identifier: Apache-2.0
"""bfly trace over links whose delays and rates are known: every time is that which a person works out by hand."""

import json
import signal
import time
import unittest

import fabric
import frames
import lab

STAGES = 4


class TraceTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def fabric(self, ports=(), **more):
        return fabric.Fabric(self.lab, self.switch, fabric.topology(list(ports), kind="butterfly", **more))

    def trace(self, net, *words):
        """A trace that waits for a frame."""
        process = self.switch.spawn(lab.BUILD / "bfly", "trace", *words, "--json", "--run-dir", net.run_dir, name="trace")
        return process.wait_for("waiting for a frame")

    def journeys(self, process):
        self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
        return json.loads(process.text().partition("\n")[2])

    def test_a_ping_over_delays_that_differ(self):
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        with self.fabric([fabric.host_port(row) for row in range(2)], links={"delay": "1ms"}) as net:
            hosts[0].ping(hosts[1].address)
            net.bfly("link", "set", "s2", "--delay", "3ms")
            process = self.trace(net, "0 -> 1", "--count", "3")
            hosts[0].run("ping", "-c", "3", "-i", "0.05", "-s", "200", hosts[1].address)
            found = self.journeys(process)
            self.assertEqual(len(found), 3)
            for journey in found:
                self.assertEqual((journey["input"], journey["output"], journey["bytes"]), (0, 1, 14 + 20 + 8 + 200))
                places = [(hop["hop"], hop["stage"], hop["row"], hop["port"]) for hop in journey["hops"]]
                self.assertEqual(places, [(0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 0, 0), (3, 3, 0, 1)])
                # To the nanosecond, but for rounding: to ticks of the clock at each link, and to nanoseconds.
                for hop, after in zip(journey["hops"], (0, 1_000_000, 2_000_000, 5_000_000)):
                    self.assertAlmostEqual(hop["after_ns"], after, delta=10)
                self.assertAlmostEqual(journey["left"]["after_ns"], 6_000_000, delta=10)
                self.assertEqual(journey["left"]["port"], "h1")
                self.assertAlmostEqual(journey["hops"][3]["took_ns"], 3_000_000, delta=10)
            net.down()

    def test_a_frame_of_a_slot_that_does_not_take_the_greedy_path(self):
        # Greedy routing needs all first stages of a two-fold butterfly, and a schedule leads around what is down.
        with fabric.Fabric(self.lab, self.switch, fabric.topology([])) as net:
            def hops():
                process = self.trace(net, "3", "6")
                net.bfly("traffic", "start", "--rows", "3", "--to", "6", "--rate", "100", "--packets", "50")
                [journey] = self.journeys(process)
                net.bfly("traffic", "stop")
                self.assertIn("left", journey)
                return [(hop["stage"], hop["row"], hop["port"]) for hop in journey["hops"]]

            greedy = hops()
            net.bfly("link", "down", *greedy[2])
            net.bfly("circuit", "schedule", "rotor", "--slot", "1ms", "--guard", "50us")
            around = hops()
            self.assertEqual([stage for stage, _, _ in around], [stage for stage, _, _ in greedy])
            self.assertEqual(around[0][1], 3)
            self.assertNotIn(greedy[2], around)
            net.bfly("circuit", "schedule", "stop")
            net.bfly("link", "up", *greedy[2])
            self.assertEqual(hops(), greedy)
            net.down()

    def test_frames_that_go_by_an_intermediate_row_make_room(self):
        # One slot of 15 connects 3 and 6. In the other 14 frames come to row 6 by other rows, far more than are followed at a time.
        with self.fabric() as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "1ms", "--guard", "50us", "--late", "vlb")
            process = self.trace(net, "3 -> 6", "--count", "10")
            net.bfly("traffic", "start", "--rows", "3", "--to", "6", "--rate", "2k", "--packets", "1000")
            found = self.journeys(process)
            self.assertEqual(len(found), 10)
            for journey in found:
                # 0011 becomes 0111 and 0110, bit by bit.
                self.assertEqual([(hop["stage"], hop["row"], hop["port"]) for hop in journey["hops"]],
                                 [(0, 3, 0), (1, 3, 1), (2, 7, 1), (3, 7, 0)])
                self.assertIn("left", journey)
            net.settled()
            self.assertGreater(net.json("circuit", "schedule", "status")["by_intermediate_row"], 500)
            # Where no slot connects the pair, all frames go by row 9, and come to s3 r7 p0 on the way from there.
            file = self.lab.directory / "by_9.yaml"
            file.write_text("slot: 1ms\nguard: 50us\nlate: vlb\nslots:\n  - inputs: [3, 9]\n    outputs: [9, 6]\n")
            net.bfly("circuit", "schedule", file, "--replace")
            process = self.trace(net, "3 -> 6", "--seconds", "2")
            net.bfly("traffic", "start", "--rows", "3", "--to", "6", "--rate", "2k", "--packets", "100")
            self.assertEqual(process.popen.wait(lab.PATIENCE), 1, process.text())
            self.assertIn("none of them at the first link of the path", process.text())
            self.assertIn("--late vlb", process.text())
            net.down()

    def test_a_packet_of_a_source_over_rates(self):
        # 1,000 bytes take 80 us on a link of 100 Mbit/s. Between two of them on an idle fabric nothing waits.
        with self.fabric(links={"rate": "100Mbps"}) as net:
            net.bfly("circuit", "setup", "5", "9")
            process = self.trace(net, "5", "9")
            net.bfly("traffic", "start", "--rows", "5", "--rate", "100", "--bytes", "1000", "--packets", "50")
            [journey] = self.journeys(process)
            self.assertNotEqual(journey["circuit"], 0)
            for number, hop in enumerate(journey["hops"]):
                self.assertAlmostEqual(hop["after_ns"], 80_000 * number, delta=20)
            self.assertAlmostEqual(journey["left"]["after_ns"], 80_000 * STAGES, delta=20)
            self.assertEqual(journey["left"]["port"], "")
            text = self.switch.spawn(lab.BUILD / "bfly", "trace", "5 -> 9", "--run-dir", net.run_dir, name="table")
            text.wait_for("waiting for a frame")
            net.bfly("traffic", "start", "--rows", "5", "--rate", "100", "--bytes", "1000", "--packets", "50")
            self.assertEqual(text.popen.wait(lab.PATIENCE), 0, text.text())
            for wanted in ("5 -> 9, 1000 bytes, circuit", "s0 r5 p1", "sink", "after us"):
                self.assertIn(wanted, text.text())
            net.down()

    def test_the_end_of_a_frame_and_of_a_packet_of_a_source(self):
        # Row 1 has a port and row 7 has none.
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        with self.fabric([fabric.host_port(row) for row in range(2)]) as net:
            hosts[0].ping(hosts[1].address)  # their interfaces work
            process = self.trace(net, "2 -> 1")  # no host sends anything from row 2
            net.bfly("traffic", "start", "--rows", "2", "--to", "1", "--rate", "100", "--packets", "50")
            [journey] = self.journeys(process)
            self.assertEqual(journey["left"]["port"], "")
            net.bfly("traffic", "stop")
            dropped = self.trace(net, "0 -> 7")
            frames.send(hosts[0], [frames.frame(frames.row_mac(7), frames.row_mac(0))])
            net.settled(lambda c: {"reason": "no_port_at_row", "packets": 1} in c["drops"])
            # It ends by itself, before its 60 s are over.
            self.assertEqual(dropped.popen.wait(30), 1, dropped.text())
            self.assertIn("row 7 has no port", dropped.text())
            [journey] = json.loads(dropped.text().partition("\n")[2].rpartition("]")[0] + "]")
            self.assertEqual(len(journey["hops"]), STAGES)
            self.assertEqual(journey["dropped"]["reason"], "no_port_at_row")
            self.assertNotIn("left", journey)
            # A packet of a source ends in a sink there, and frames are dropped.
            some = self.trace(net, "0 -> 7", "--count", "3")
            net.bfly("traffic", "start", "--rows", "0", "--to", "7", "--rate", "100", "--packets", "1")
            frames.send(hosts[0], [frames.frame(frames.row_mac(7), frames.row_mac(0), payload=text) for text in (b"1", b"2")])
            self.assertEqual(some.popen.wait(30), 1, some.text())
            self.assertIn("1 of 3 frames went from row 0 to row 7; 2 were dropped there as no_port_at_row", some.text())
            self.assertEqual(some.text().count('"left"'), 1)
            net.down()

    def test_fewer_frames_than_were_asked_for(self):
        with self.fabric() as net:
            process = self.trace(net, "5 -> 9", "--count", "5", "--seconds", "3")
            net.bfly("traffic", "start", "--rows", "5", "--to", "9", "--rate", "10", "--packets", "2")
            self.assertEqual(process.popen.wait(lab.PATIENCE), 1)
            self.assertIn("2 of 5 frames went from row 5 to row 9 in the time", process.text())
            self.assertEqual(process.text().count('"left"'), 2)
            net.down()

    def test_what_was_seen_is_shown_when_the_fabric_ends(self):
        with self.fabric() as net:
            process = self.trace(net, "5 -> 9", "--count", "5")
            net.bfly("traffic", "start", "--rows", "5", "--to", "9", "--rate", "10", "--packets", "2")
            net.settled(lambda counters: counters["conservation"]["delivered"] == 2)
            time.sleep(1)  # copies are taken every 5 ms
            net.down()
            self.assertEqual(process.popen.wait(lab.PATIENCE), 1)
            self.assertEqual(process.text().count('"left"'), 2)
            self.assertNotIn("in the time", process.text())

    def test_ctrl_c(self):
        with self.fabric() as net:
            process = self.trace(net, "5 -> 9")
            process.popen.send_signal(signal.SIGINT)
            self.assertEqual(process.popen.wait(lab.PATIENCE), 1)
            self.assertIn("no frame went from row 5 to row 9 before the interrupt", process.text())
            self.assertNotIn("--seconds", process.text())
            net.down()

    def test_a_frame_that_does_not_arrive(self):
        with self.fabric() as net:
            with self.assertRaises(lab.CommandFailed) as refused:
                net.bfly("trace", "5 -> 9", "--seconds", "1")
            self.assertIn("no frame went from row 5 to row 9", refused.exception.err)
            net.bfly("link", "down", "s2 r9 p0")  # 0101 becomes 1101 and 1001 on the way to 1001
            process = self.trace(net, "5 -> 9", "--seconds", "3")
            net.bfly("traffic", "start", "--rows", "5", "--to", "9", "--rate", "10", "--packets", "5")
            self.assertEqual(process.popen.wait(lab.PATIENCE), 1)
            self.assertIn("none of them to its end", process.text())
            hops = json.loads(process.text().partition("\n")[2].rpartition("]")[0] + "]")[0]["hops"]
            self.assertEqual([(hop["stage"], hop["row"]) for hop in hops], [(0, 5), (1, 13)])
            net.down()


if __name__ == "__main__":
    unittest.main()
