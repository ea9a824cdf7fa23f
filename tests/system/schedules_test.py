# SPDX-License-Identifier: Apache-2.0
"""Circuits on a clock: real hosts under a rotor, and schedules that are replaced, repaired and taken over."""

import collections
import itertools
import json
import signal
import sys
import time
import unittest

import fabric
import lab
import notices
from dissector_test import fields_of

sys.path.insert(0, lab.PYTHON_PATH)
import bfly  # noqa: E402

HOSTS = 4


class SchedulesTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")

    def with_hosts(self):
        hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(HOSTS)]
        ports = [fabric.host_port(row) for row in range(HOSTS)]
        return hosts, fabric.Fabric(self.lab, self.switch, fabric.topology(ports))

    def without_hosts(self, **more):
        return fabric.Fabric(self.lab, self.switch, fabric.topology([], **more))

    def status(self, net):
        return net.json("circuit", "schedule", "status")

    def status_answers(self, net):
        def seen():
            try:
                return (self.status(net),)
            except lab.CommandFailed:
                return None  # the controller is not there yet

        return lab.wait_until(seen, "the controller answers")[0]

    def status_when(self, net, holds, what):
        def seen():
            try:
                status = self.status(net)
            except lab.CommandFailed:
                return None  # a process of the fabric is away
            return status if "slots" in status and holds(status) else None

        return lab.wait_until(seen, what)

    def test_hosts_reach_each_other_by_the_slots_of_a_rotor_alone(self):
        hosts, the_fabric = self.with_hosts()
        with the_fabric as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "1ms", "--guard", "50us")
            for source, destination in itertools.permutations(range(HOSTS), 2):
                hosts[source].ping(hosts[destination].address)
            net.settled()
            status = self.status(net)
            self.assertEqual(len(status["slots"]), 15)
            for slot in status["slots"]:
                # Of rows 0 to 3, slot k leads from i to i + k + 1.
                step = slot["slot"] + 1
                pairs = [row for row in range(HOSTS) if (row + step) % 16 < HOSTS]
                self.assertEqual(slot["circuits"], 16)
                if pairs:
                    # Three pings and three answers for each pair of rows.
                    self.assertGreaterEqual(slot["frames"], 3 * len(pairs), slot)
                else:
                    self.assertEqual(slot["frames"], 0, slot)
                self.assertEqual((slot["full"], slot["missed"], slot["waiting"]), (0, 0, 0))
            self.assertGreater(sum(slot["waited"] for slot in status["slots"]), 0)
            counters = net.counters()
            self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
            self.assertEqual(sum(slot["frames"] for slot in status["slots"]), counters["conservation"]["injected"])
            net.bfly("circuit", "schedule", "stop")
            hosts[0].ping(hosts[1].address)
            net.settled()
            net.down()

    def test_slots_that_the_python_package_sends(self):
        with self.without_hosts() as net:
            client = bfly.connect(run_dir=net.run_dir)
            self.addCleanup(client.close)
            client.schedules.start([("random", 1), ("random", 2), {0: 4, 4: 0}, "bitrev"], slot="1ms")
            slots = client.schedules.stop().slots
            self.assertEqual([slot.circuits for slot in slots], [16, 16, 2, 16])
            asked = client.schedules.start([("random", 1), ("random", 2)], slot="1ms", dry_run=True).schedule.slots
            self.assertEqual([(slot.permutation, slot.seed) for slot in asked], [("random", 1), ("random", 2)])
            net.down()

    def test_hosts_reach_each_other_by_intermediate_rows(self):
        hosts, the_fabric = self.with_hosts()
        with the_fabric as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "5ms", "--guard", "50us", "--late", "vlb")
            for destination in hosts[1:]:
                hosts[0].ping(destination.address)
            status = self.status(net)
            self.assertEqual(status["schedule"]["late"], "vlb")
            self.assertGreater(status["by_intermediate_row"], 0)
            lab.wait_until(lambda: net.counters()["conservation"]["in_flight"] == 0, "the last frames find their slots")
            counters = net.counters()
            self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
            self.assertEqual(sum(slot["frames"] for slot in self.status(net)["slots"]),
                             counters["conservation"]["injected"] + self.status(net)["by_intermediate_row"])
            net.down()
        device = f"id=0,socket={self.lab.directory}/middle.sock,socket-abstract=no"
        split = fabric.topology([], data_planes=[{"name": "dp0"}, {"name": "dp1"}],
                                placement=[{"stages": "0-3", "lcore": 0, "data_plane": "dp0"},
                                           {"stages": "4-7", "lcore": 1, "data_plane": "dp1"}],
                                trunks=[{"name": "middle", "after_stage": 3, "from": "dp0", "to": "dp1",
                                         "from_device": f"net_memif0,role=server,{device}",
                                         "to_device": f"net_memif1,role=client,{device}"}])
        with fabric.Fabric(self.lab, self.switch, split) as net:
            with self.assertRaisesRegex(lab.CommandFailed, "another data plane runs the last stage"):
                net.bfly("circuit", "schedule", "rotor", "--late", "vlb")
            net.down()

    def test_a_capture_names_the_hops_of_frames_that_cross_twice(self):
        with fabric.Fabric(self.lab, self.switch, fabric.topology([], kind="butterfly")) as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "1ms", "--guard", "50us", "--late", "vlb")
            file = self.lab.directory / "vlb.pcapng"
            capture = self.switch.spawn(lab.BUILD / "bfly", "capture", "all", "--write", file, "--run-dir", net.run_dir,
                                        name="capture").wait_for("capturing")
            # All that row 3 sends is for row 6.
            net.bfly("traffic", "start", "--rows", "3", "--to", "6", "--rate", "2k", "--packets", "200")
            net.settled(lambda counters: counters["conservation"]["delivered"] == 200)
            capture.popen.send_signal(signal.SIGINT)
            self.assertEqual(capture.popen.wait(lab.PATIENCE), 0, capture.text())
            crossings = collections.Counter()
            for name, comment in fields_of(file, "frame.interface_name", "frame.comment"):
                self.assertIn(f"hop {name[1]}, 3 -> 6", comment)
                crossings[name[1]] += 1
            twice = self.status(net)["by_intermediate_row"]
            self.assertGreater(twice, 100)
            self.assertEqual(crossings, {str(stage): 200 + twice for stage in range(4)})
            net.down()

    def test_a_schedule_is_refused_replaced_and_stopped(self):
        with self.without_hosts() as net:
            self.assertIn("no schedule runs", net.bfly("circuit", "schedule", "status"))
            with self.assertRaisesRegex(lab.CommandFailed, "no schedule runs"):
                net.bfly("circuit", "schedule", "stop")
            bad = self.lab.directory / "bad.yaml"
            bad.write_text("slots:\n  - permutation: bitrev\n  - outputs: [1, 2]\n")
            with self.assertRaisesRegex(lab.CommandFailed, r"slots\[1\]"):
                net.bfly("circuit", "schedule", bad)
            net.bfly("circuit", "schedule", "rotor", "--slot", "200us")
            with self.assertRaisesRegex(lab.CommandFailed, "a schedule runs"):
                net.bfly("circuit", "schedule", "round-robin")
            net.bfly("traffic", "start", "--to", "uniform", "--rate", "2k")
            self.status_when(net, lambda status: all(slot["frames"] > 0 for slot in status["slots"]), "all slots used")
            net.bfly("circuit", "schedule", "round-robin", "--slot", "100us", "--late", "drop", "--replace")
            status = self.status_when(net, lambda status: all(slot["missed"] > 0 for slot in status["slots"]),
                                      "frames come out of turn in every slot")
            self.assertEqual(status["schedule"]["sequence"], "round_robin")
            self.assertEqual(sum(slot["waiting"] for slot in status["slots"]), 0)
            net.bfly("traffic", "stop")
            # Who started and stopped a schedule is written down; who looked at it is not.
            def calls():
                return [json.loads(line)["call"] for line in (net.run_dir / "audit.log").read_text().splitlines()]

            lab.wait_until(lambda: calls().count("bfly.v1.Schedules.Start") == 4, "every start is in the audit log")
            self.assertNotIn("bfly.v1.Schedules.Get", calls())
            last = net.json("circuit", "schedule", "stop")
            drops = {drop["reason"]: drop["packets"] for drop in net.settled()["drops"]}
            self.assertEqual(sum(slot["missed"] for slot in last["slots"]) > 0, drops.get("slot_missed", 0) > 0)
            net.down()

    def test_a_worker_that_stands_still_takes_up_later_what_was_asked(self):
        with self.without_hosts() as net:
            worker = notices.StoppedThreads(net.pid("dp0"), "rte-worker")
            with worker, self.assertRaisesRegex(lab.CommandFailed, "made no pass within 2 s.*the schedule starts"):
                net.bfly("circuit", "schedule", "rotor", "--slot", "100us", "--queue", "7")
            # The watcher of the controller looks five times a second, and leaves the schedule alone.
            time.sleep(1)
            self.assertEqual(self.status_when(net, lambda _: True, "the schedule runs")["schedule"]["queue"], 7)
            with worker, self.assertRaisesRegex(lab.CommandFailed, "made no pass within 2 s.*the schedule ends"):
                net.bfly("circuit", "schedule", "stop")
            time.sleep(1)
            self.assertNotIn("slots", self.status(net))
            events = [json.loads(line) for line in net.bfly("events", "--json").splitlines()]
            changes = [event["schedule"]["change"] for event in events if "schedule" in event]
            self.assertEqual(changes, ["started", "stopped"])
            net.down()

    def test_a_dry_run_on_a_file_knows_its_faults_and_capacities(self):
        def dry_run(what, more):
            file = self.lab.directory / "dry.yaml"
            file.write_text("name: dry\nnetwork: {kind: butterfly, rows: 16}\n" + more)
            return lab.run(lab.BUILD / "bfly", "circuit", "schedule", what, "--dry-run", "--network", file)

        # A butterfly has one path from an input to an output, and every slot of a rotor needs all links.
        self.assertIn("15 slots", dry_run("rotor", ""))
        with self.assertRaisesRegex(lab.CommandFailed, r"slots\[0\].*down"):
            dry_run("rotor", "faults: {links: [{stages: 1, rows: 2, port: 0}]}\n")
        # By bit reversal, the four inputs that differ in their first two bits meet at one switch of level 2, and two of
        # them take the same link from there.
        bitrev = self.lab.directory / "bitrev.yaml"
        bitrev.write_text("slots:\n  - permutation: bitrev\n")
        self.assertIn("congestion 2", dry_run(bitrev, ""))
        self.assertIn("congestion 2", dry_run(bitrev, "circuits: {capacity: 2}\n"))
        with self.assertRaisesRegex(lab.CommandFailed, r"slots\[0\].*has room for 1"):
            dry_run(bitrev, "circuits: {capacity: 1}\n")

    def test_a_dry_run_on_a_file_knows_which_data_plane_runs_the_last_stage(self):
        split = lab.ROOT / "topologies/examples/split-memif.yaml"
        dry_run = [lab.BUILD / "bfly", "circuit", "schedule", "rotor", "--dry-run", "--network", split]
        self.assertIn("15 slots", lab.run(*dry_run))
        with self.assertRaisesRegex(lab.CommandFailed, "late: .*another data plane runs the last stage: dp1"):
            lab.run(*dry_run, "--late", "vlb")

    def test_a_dry_run_says_what_was_asked_for(self):
        def dry_run(rows, what, *more):
            network = self.lab.directory / "dry.yaml"
            network.write_text(f"name: dry\nnetwork: {{kind: butterfly, rows: {rows}}}\n")
            return lab.run(lab.BUILD / "bfly", "circuit", "schedule", what, "--dry-run", "--network", network, *more)

        seeded = self.lab.directory / "seeded.yaml"
        seeded.write_text("seed: 7\nslots:\n  - permutation: identity\n")
        for more, seed in (((), 7), (("--seed", "0"), 0), (("--seed", "9"), 9)):
            self.assertEqual(int(json.loads(dry_run(16, seeded, "--json", *more))["schedule"]["seed"]), seed)
        # The cycle of one slot lasts as long as the slot. 127 slots of 10 s are 1270 s.
        for slot, cycle in (("999400ns", "999 us"), ("999963ns", "1 ms"), ("1234567ns", "1.23 ms")):
            self.assertIn(f"a cycle of {cycle};", dry_run(16, seeded, "--slot", slot))
        self.assertIn("a cycle of 1270 s;", dry_run(128, "rotor", "--slot", "10s"))

    def test_slots_are_repaired_where_a_link_fails(self):
        with self.without_hosts(circuits={"on_failure": "repair"}) as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "100us")
            net.bfly("link", "down", 3, 2, 0)
            status = self.status_when(net, lambda status: status["repairs"] > 0, "slots are routed anew")
            self.assertEqual(status["broken_slots"], 0)
            # The next controller hears from the data plane how many repairs there were.
            repairs = status["repairs"]
            net.kill("controller")
            net.note_pid("controller", net.start_controller())
            status = self.status_when(net, lambda status: True, "the schedule is taken over")
            self.assertGreaterEqual(status["repairs"], repairs)
            net.bfly("traffic", "start", "--to", "uniform", "--rate", "1k", "--packets", "100")
            counters = net.settled(lambda counters: counters["conservation"]["injected"] == 1600)
            drops = {drop["reason"]: drop["packets"] for drop in counters["drops"]}
            self.assertNotIn("link_down", drops)
            # The first level has one link in each direction: no other path leads on.
            net.bfly("node", "down", 0, 5)
            self.status_when(net, lambda status: status["broken_slots"] == 15, "row 5 cannot send")
            net.bfly("node", "up", 0, 5)
            self.status_when(net, lambda status: status["broken_slots"] == 0, "row 5 sends again")
            net.down()

    def test_slots_are_repaired_by_hand_and_go_back(self):
        with self.without_hosts() as net:
            with self.assertRaisesRegex(lab.CommandFailed, "no schedule runs"):
                net.bfly("circuit", "schedule", "repair")
            net.bfly("circuit", "schedule", "rotor", "--slot", "100us")
            net.bfly("link", "down", 3, 2, 0)
            broken = self.status_when(net, lambda status: status["broken_slots"] > 0, "slots are broken")["broken_slots"]
            # Nothing is repaired by itself here. Slots that are not broken stay as they are.
            repaired = net.json("circuit", "schedule", "repair")
            self.assertEqual((repaired["changed_slots"], repaired["broken_slots"]), (broken, 0))
            net.bfly("traffic", "start", "--to", "uniform", "--rate", "1k", "--packets", "100")
            counters = net.settled(lambda counters: counters["conservation"]["injected"] == 1600)
            self.assertNotIn("link_down", {drop["reason"] for drop in counters["drops"] if drop["packets"] > 0})
            net.bfly("link", "up", 3, 2, 0)
            self.assertEqual(net.json("circuit", "schedule", "repair")["changed_slots"], broken)
            self.assertEqual(net.json("circuit", "schedule", "repair")["changed_slots"], 0)
            self.assertEqual(self.status(net)["repairs"], 2)
            net.down()

    def test_processes_that_die_find_the_schedule_again(self):
        with self.without_hosts() as net:
            net.bfly("circuit", "schedule", "rotor", "--slot", "100us", "--queue", "7")
            net.bfly("traffic", "start", "--to", "uniform", "--rate", "1k")
            before = self.status_when(net, lambda status: status["slots"][0]["frames"] > 0, "frames enter")
            net.kill("controller")
            net.start_controller()
            status = self.status_when(net, lambda _: True, "the schedule is taken over")
            self.assertEqual(status["schedule"]["queue"], 7)
            # It is the same schedule, which has run on.
            self.assertGreater(status["seconds"], before["seconds"])
            self.assertGreaterEqual(int(status["turns"]), int(before["turns"]))
            self.assertGreaterEqual(int(status["slots"][0]["frames"]), int(before["slots"][0]["frames"]))
            self.assertEqual([slot["circuits"] for slot in status["slots"]], [16] * 15)
            net.kill("dp0")
            with self.assertRaisesRegex(lab.CommandFailed, "data plane dp0 at .* cannot be reached") as gone:
                net.bfly("circuit", "schedule", "status")
            self.assertNotIn("no bfly-controller", str(gone.exception))
            net.start_data_plane()
            status = self.status_when(net, lambda status: all(slot["frames"] > 0 for slot in status["slots"]),
                                      "the data plane steps through the slots again")
            self.assertEqual(status["schedule"]["queue"], 7)
            net.counters()

    def test_a_schedule_that_was_stopped_does_not_begin_again_after_a_crash(self):
        with self.without_hosts() as net:
            for _ in range(5):
                net.bfly("circuit", "schedule", "rotor", "--slot", "100us")
                time.sleep(0.3)  # the store gets the start a moment later
                net.bfly("circuit", "schedule", "stop")
                net.kill("controller")
                net.note_pid("controller", net.start_controller())
                self.status_answers(net)
                time.sleep(1)  # a controller that wants a schedule begins it in its first look
                status = self.status_answers(net)
                self.assertNotIn("slots", status)
                self.assertNotIn("kept", status)
            net.down()


if __name__ == "__main__":
    unittest.main(verbosity=2)
