# SPDX-License-Identifier: Apache-2.0
"""The Python package against real daemons: what it does is seen by `bfly`, and what is wrong comes as bfly.Error."""
import concurrent.futures
import contextlib
import numbers
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import grpc

from command_line import balances
from lab import PATIENCE, PYTHON_PATH, wait_until
from python_case import PythonCase

import bfly  # noqa: E402
from bfly.v1 import data_server_pb2, data_server_pb2_grpc, events_pb2, events_pb2_grpc, fabric_pb2_grpc  # noqa: E402

# Stands in for `bfly`: it runs the command of `lab exec`, and begins an `up` that says when it was asked to end.
FAKE_BFLY = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> log
case "$*" in
*exec*) while [ "$1" != -- ]; do shift; done; shift; exec "$@";;
*up*) trap 'sleep 1; echo ended >> log; exit $UP_ENDS_WITH' TERM
      touch begun
      while true; do sleep 0.1; done;;
esac
"""


class PythonClientTest(PythonCase):
    def connect(self):
        fabric = bfly.connect(run_dir=self.run_dir)
        self.addCleanup(fabric.close)
        return fabric

    def in_use(self, resource):
        return next(r["in_use"] for r in self.json("status")["resources"] if r["name"] == resource)

    def test_without_a_fabric_it_says_so(self):
        error = self.refused("UNAVAILABLE", "", self.connect)
        self.assertIn("start one with `bfly up FILE`", error.message)

    def test_words_that_are_unknown_are_refused_with_the_known_ones(self):
        words = self.refused("INVALID_ARGUMENT", "process", bfly.source, process="posson")
        self.assertIn('"posson" is unknown (allowed: constant, poisson, bernoulli, on-off, slotted-batch)', words.message)
        self.assertEqual(bfly.source(process="on_off"), bfly.source(process="on-off"))

    def test_arguments_that_cannot_be_sent_are_errors_with_the_field(self):
        fabric = bfly.Fabric("unix:/nowhere", 1.0)
        self.addCleanup(fabric.close)
        for field, call in (
                ("input", lambda: bfly.set_up(-1, 2)), ("output", lambda: bfly.set_up(1, 2**32)), ("rows", lambda: bfly.set_up(1, 2, rows=[-1])),
                ("stage", lambda: bfly.set_up(1, 2, avoid=[(-1, 0, 0)])), ("avoid", lambda: bfly.set_up(1, 2, avoid=[(0, 4)])),
                ("link", lambda: list(fabric.circuits.list(link=(0, 4)))), ("id", lambda: bfly.release(-7)),
                ("stages", lambda: bfly.links(stages=iter([-1]))), ("row", lambda: bfly.source(to=-1)),
                ("permutation", lambda: bfly.source(to=[1, -1])), ("input", lambda: fabric.circuits.list(input=-1)),
                ("outputs", lambda: fabric.circuits.route([1, -1])), ("batch", lambda: fabric.circuits.stream([], batch=0)),
                ("row", lambda: fabric.links.fail(0, -1, 0)), ("queue_limit", lambda: fabric.links.set(queue_limit=-1)),
                ("level", lambda: fabric.nodes.fail(-1, 0)), ("queue_pairs", lambda: fabric.ports.add("p", "d", "0", queue_pairs=-1)),
                ("outputs", lambda: fabric.schedules.start([[-1]])), ("queue", lambda: fabric.schedules.start("rotor", queue=-1)),
                ("fanciness", lambda: fabric.programs.run("greedy", fanciness=1)), ("kinds", lambda: fabric.events(kinds=["linksss"])),
                ("severity", lambda: fabric.events(severity="loud")), ("since", lambda: fabric.events(since=-1)),
                ("pictures", lambda: fabric.telemetry.subscribe(pictures=0)), ("every", lambda: fabric.telemetry.subscribe(float("nan"))),
                ("every", lambda: fabric.telemetry.subscribe(-1)), ("election_id", fabric.primary(-1).__enter__),
                # What the process or the destination does not take, the command line refuses too.
                ("duty", lambda: bfly.source(process="poisson", duty=0.3)), ("p", lambda: bfly.source(to="bitrev", p=0.9)),
                ("hotspots", lambda: bfly.source(hotspots=[3])), ("weights", lambda: bfly.source(to="uniform", weights=[2]))):
            with self.subTest(field=field), self.assertRaises(ValueError) as caught:
                call()
            self.assertIsInstance(caught.exception, bfly.ArgumentError)
            self.assertIsInstance(caught.exception, bfly.Error)
            self.assertEqual((caught.exception.field, caught.exception.code.name), (field, "INVALID_ARGUMENT"), caught.exception)
            self.assertTrue(caught.exception.message.startswith(f"{field}: "), caught.exception.message)

    def test_run_directories_whose_sockets_grpc_would_not_find_are_refused(self):
        for sign in "#?%":
            self.refused("INVALID_ARGUMENT", "run_dir", bfly.connect, run_dir=self.directory / f"a{sign}b")

    def test_arguments_of_a_wrong_type_are_type_errors(self):
        for row in ("3", 3.5):
            self.assertRaises(TypeError, bfly.set_up, row, 2)

    def test_a_refused_stream_leaves_no_noise_behind(self):
        program = "import bfly\ntry:\n    bfly.Fabric('unix:/nowhere', 1.0).events(kinds=['linksss'])\nexcept bfly.ArgumentError as error:\n    print(error.field)\n"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHON_PATH},
                              timeout=PATIENCE, check=False)
        self.assertEqual((done.stdout, done.stderr), ("kinds\n", ""))

    def test_files_of_tls_that_are_not_there_are_named(self):
        there = self.write("there.pem", "not a certificate")
        for given, field in (({}, "$BFLY_TLS_CA"), ({"CA": "/nowhere/ca.pem"}, "$BFLY_TLS_CA"),
                             ({"CA": there, "KEY": "/nowhere/key.pem", "CERT": there}, "$BFLY_TLS_KEY"),
                             ({"CA": there, "KEY": there}, "$BFLY_TLS_CERT"), ({"CA": there, "CERT": there}, "$BFLY_TLS_KEY")):
            # A key without its certificate would end the process inside of gRPC.
            environment = {name: text for name, text in os.environ.items() if not name.startswith("BFLY_TLS")}
            environment |= {f"BFLY_TLS_{name}": str(path) for name, path in given.items()} | {"PYTHONPATH": PYTHON_PATH}
            program = "import bfly\ntry:\n    bfly.connect('127.0.0.1:1')\nexcept bfly.ArgumentError as error:\n    print(error.field)\n"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
            self.assertEqual((done.stdout, done.stderr), (field + "\n", ""), given)

    def test_a_row_may_be_an_integer_of_another_library(self):
        class Three:  # as numpy's are
            def __int__(self):
                return 3

            __index__ = __int__

        numbers.Integral.register(Three)
        made = bfly.source("0", to=Three())
        self.assertEqual((made.destination, made.row), (made.ROW, 3))
        self.assertEqual(bfly.release(Three()).id, 3)

    def test_circuits(self):
        self.bfly("up", self.file)
        fabric = self.connect()
        self.assertEqual((fabric.status().name, fabric.describe().rows), ("life", 16))
        first = fabric.circuits.set_up(3, 12)
        listed = self.json("circuit", "list")["circuits"]
        self.assertEqual([(c["id"], c["rows"]) for c in listed], [(first.id, list(first.rows))])

        error = self.refused("FAILED_PRECONDITION", "input", fabric.circuits.set_up, 3, 1)
        self.assertIn("is busy with circuit", error.fields[0].description)
        both = self.refused("INVALID_ARGUMENT", "input", fabric.circuits.set_up, 99, 98)
        self.assertEqual([field.field for field in both.fields], ["input", "output"])

        # Another path between the same rows, that does not use the first link of the old one.
        port = int(first.rows[1] != first.rows[0])
        moved = fabric.circuits.move(first, avoid=[(0, 3, port)])
        self.assertEqual((moved.id, moved.rows[0], moved.rows[-1]), (first.id, 3, 12))
        self.assertNotEqual(moved.rows[1], first.rows[1])
        self.assertEqual([c.id for c in fabric.circuits.list(link=(0, 3, 1 - port))], [first.id])
        self.assertEqual(list(fabric.circuits.list(link=(0, 3, port))), [])

        # A stream answers in order, whatever a message holds; a refusal stands in its place.
        operations = [bfly.release(first), bfly.set_up(0, 1), bfly.set_up(2, 1), bfly.set_up(2, 2)]
        for batch in (1, 3, 100):
            released, zero, busy, two = fabric.circuits.stream(iter(operations), batch=batch)
            self.assertEqual(released.id, first.id)
            self.assertEqual([(c.input, c.output) for c in (zero, two)], [(0, 1), (2, 2)])
            self.assertEqual((type(busy), busy.code.name), (bfly.Error, "FAILED_PRECONDITION"))
            for circuit in (zero, two):
                fabric.circuits.release(circuit)
            first = fabric.circuits.set_up(3, 12)
            operations[0] = bfly.release(first)
        fabric.circuits.release(first.id)

        seven, busy = fabric.circuits.set_up_many([bfly.set_up(7, 7), bfly.set_up(7, 8)])
        self.assertEqual((seven.input, type(busy)), (7, bfly.Error))
        self.refused("FAILED_PRECONDITION", "requests[1].input", fabric.circuits.set_up_many,
                     [bfly.set_up(5, 5), bfly.set_up(7, 8)], all_or_nothing=True)
        self.assertEqual([c.input for c in fabric.circuits.list()], [7])
        with fabric.circuits.watch() as news:
            self.assertEqual([c.id for c in next(news).added], [seven.id])
            other = fabric.circuits.set_up(8, 8)
            self.assertEqual([c.id for c in next(news).added], [other.id])
        self.assertEqual(list(news), [])

        outputs = [(row * 3) % 16 for row in range(16)]
        fabric.circuits.route(outputs, replace=True)
        self.assertEqual({c.input: c.output for c in fabric.circuits.list()}, dict(enumerate(outputs)))

        # What has no method here is reached by the stubs, with the same errors.
        disks = data_server_pb2_grpc.DataServerStub(fabric.channel)
        self.refused("FAILED_PRECONDITION", "", fabric.call, disks.Request, data_server_pb2.ObjectRequest(user=1))

    def test_what_the_operations_of_a_stream_raise_comes_after_the_outcomes_before_it(self):
        self.bfly("up", self.file)

        def wishes():
            yield from (bfly.set_up(0, 1), bfly.set_up(2, 2))
            raise OSError("no more wishes")

        inputs = []
        with self.assertRaisesRegex(OSError, "^no more wishes$"):
            for circuit in self.connect().circuits.stream(wishes(), batch=1):
                inputs.append(circuit.input)
        self.assertEqual(inputs, [0, 2])

    def test_a_controller_that_never_answers_is_given_up(self):
        over = threading.Event()

        def nothing(_requests, _context):
            over.wait(PATIENCE)
            return iter(())

        for code, limit in (("DEADLINE_EXCEEDED", 0.5), ("UNAVAILABLE", PATIENCE)):
            server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
            servicer = type("Mute", (fabric_pb2_grpc.FabricServicer, events_pb2_grpc.EventsServicer),
                            {"Arbitrate": lambda _, *call: nothing(*call), "Watch": lambda _, *call: nothing(*call)})()
            fabric_pb2_grpc.add_FabricServicer_to_server(servicer, server)
            events_pb2_grpc.add_EventsServicer_to_server(servicer, server)
            address = f"unix:{self.directory}/{code}.sock"
            server.add_insecure_port(address)
            server.start()
            fabric = bfly.Fabric(address, limit)
            began = time.monotonic()
            self.refused(code, "", fabric.primary().__enter__)
            self.refused(code, "", fabric.events)
            self.assertLess(time.monotonic() - began, PATIENCE / 2)
            over.set()  # the second controller ends its streams at once
            fabric.close()
            server.stop(None).wait()

    def with_fake_bfly(self, up_ends_with=0):
        """In the PATH; it writes down what it was called with."""
        self.write("bfly", FAKE_BFLY).chmod(0o755)
        return unittest.mock.patch.dict("os.environ", PATH=f"{self.directory}:/usr/bin:/bin", UP_ENDS_WITH=str(up_ends_with),
                                        PYTHONPATH=PYTHON_PATH)

    def test_a_command_that_fails_in_a_host_tells_its_exit_code_and_its_output(self):
        lab = bfly.Lab(bfly.Fabric("unix:/nowhere", 1.0), self.run_dir)
        self.addCleanup(lab.close)
        with self.with_fake_bfly():
            self.assertEqual(lab.run("h0", "printf", r"\377 lost"), "\N{REPLACEMENT CHARACTER} lost")
            for script, code in (("exit 2", 2), ("exit 1", 1), ("kill -9 $$", -signal.SIGKILL)):
                with self.assertRaises(bfly.CommandError) as caught:
                    lab.run("h0", "sh", "-c", f"echo 3 lost; echo why >&2; {script}")
                error = caught.exception
                self.assertEqual((error.exit_code, error.stdout, error.stderr), (code, "3 lost\n", "why\n"))
                self.assertEqual(error.code.name, "UNKNOWN")
                self.assertIn(f"exit {code}\nwhy", error.message)

    def test_an_interrupt_waits_until_bfly_has_taken_down_what_it_began(self):
        for verb, begin in ((("up", "F"), "bfly.up"), (("lab", "up", "F"), "bfly.lab")):
            for code, then in ((1, []), (0, [" ".join([*verb[:-2], "down", "--run-dir", "D"])])):
                with self.subTest(verb=verb, code=code), self.with_fake_bfly(code):
                    process = subprocess.Popen([sys.executable, "-c", f"import bfly; {begin}('F', run_dir='D')"], text=True,
                                               stderr=subprocess.PIPE, start_new_session=True)
                    self.addCleanup(process.kill)
                    wait_until((self.directory / "begun").exists, "bfly has begun")
                    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
                    said = process.communicate(timeout=PATIENCE)[1]
                    self.assertTrue(said.rstrip().endswith("KeyboardInterrupt"), said)
                    log = (self.directory / "log").read_text().splitlines()
                    self.assertEqual(log, [f"{' '.join(verb)} --run-dir D", "ended", *then])
                for name in ("begun", "log"):
                    (self.directory / name).unlink()

    def test_options_that_lead_elsewhere_are_refused_before_anything_runs(self):
        with unittest.mock.patch("subprocess.Popen", side_effect=AssertionError("bfly was begun")):
            for bring_up in (bfly.up, bfly.lab):
                for words in (("--run-dir", "/elsewhere"), ("--run-dir=/elsewhere",), ("--controller", "unix:/a"), ("--foreground",)):
                    self.refused("INVALID_ARGUMENT", "options", bring_up, "F", "--resume", *words)

    def test_a_request_that_was_sent_in_a_role_can_be_sent_again(self):
        self.bfly("up", self.file)
        fabric, wishes = self.connect(), [bfly.set_up(0, 5)]
        for role in (7, None, 8):
            with fabric.primary(role) if role else contextlib.nullcontext():
                circuit, = fabric.circuits.stream(wishes)
                self.assertEqual((circuit.output, wishes[0].election_id), (5, 0))
                fabric.circuits.release(circuit)

    def test_the_primary_role(self):
        self.bfly("up", self.file)
        mine, other = self.connect(), self.connect()
        with mine.primary(7) as role:
            self.assertEqual((role.held, role.election_id, self.json("status")["primary_election_id"]), (True, 7, 7))
            error = self.refused("PERMISSION_DENIED", "election_id", other.circuits.set_up, 1, 2)
            self.assertIn("7", error.message)
            self.refused("PERMISSION_DENIED", "election_id", other.primary(6).__enter__)
            self.refused("FAILED_PRECONDITION", "", mine.primary().__enter__)
            self.assertEqual([c.input for c in mine.circuits.stream([bfly.set_up(1, 2)])], [1])
            with other.primary(8):
                wait_until(lambda: not role.held, "the first client learns that it lost the role")
                self.refused("PERMISSION_DENIED", "election_id", mine.circuits.set_up, 3, 3)
                other.circuits.set_up(3, 4)
            wait_until(lambda: role.held, "the role falls back to the id that is left")
            mine.links.fail(0, 0, 0)
        # The role was given back before the block ended.
        self.assertEqual(self.json("status")["primary_election_id"], 0)
        other.links.restore(0, 0, 0)

    def test_traffic_telemetry_and_faults(self):
        self.bfly("up", self.file)
        fabric = self.connect()
        fabric.traffic.start(bfly.source("0-3", rate=0, packets=500, to=9, name="all", bytes=100, latency=True))
        wait_until(lambda: all(s.finished for s in fabric.traffic.list()), "the source has sent all")
        # 500 packets from each of four rows over the eight links of a path.
        wait_until(lambda: fabric.telemetry.read(bfly.SUMMARY).conservation.delivered == 2000, "all have arrived")
        last = fabric.telemetry.read(bfly.links(stages=[7], nonzero=True)).links
        self.assertEqual(sum(link.packets for link in last), 2000)
        self.assertEqual({link.next_row for link in last}, {9})
        self.assertEqual(fabric.traffic.latency().end_to_end.count, 2000)
        fabric.traffic.stop("all")
        self.assertEqual(fabric.traffic.list(), [])

        fabric.links.fail(2, 5, 1)
        fabric.nodes.fail(3, 6)
        self.assertEqual([(link.stage, link.row, link.port) for link in fabric.links.down()], [(2, 5, 1)])
        self.assertEqual([(node.level, node.row) for node in fabric.nodes.down()], [(3, 6)])
        self.assertEqual(self.json("status")["faults"]["links"], 1)
        fabric.links.restore(2, 5, 1)
        fabric.nodes.restore(3, 6)
        self.assertNotIn("faults", self.json("status"))
        changed, = fabric.links.set(stages="1", rows="0-3", rate="1Gbps", discipline="priority", queue_limit=9)
        self.assertEqual((changed.rows, changed.rate, changed.queue_limit), ("0-3", "1Gbps", 9))
        self.refused("INVALID_ARGUMENT", "level", fabric.nodes.fail, 99, 0)
        self.refused("INVALID_ARGUMENT", "changes[0].loss", fabric.links.set, loss=2)

        # So many pictures, then the controller has the subscriber no longer.
        before = time.monotonic()
        pictures = list(fabric.telemetry.subscribe(0.05, bfly.links(top=2), pictures=4))
        self.assertGreaterEqual(time.monotonic() - before, 3 * 0.04)
        self.assertEqual([len(picture.links) for picture in pictures], [2] * 4)
        wait_until(lambda: self.in_use("subscribers") == 0, "the subscription is closed")
        endless = fabric.telemetry.subscribe(0.01)
        next(endless)
        self.assertEqual(self.in_use("subscribers"), 1)
        del endless
        wait_until(lambda: self.in_use("subscribers") == 0, "a subscription that nobody holds is closed")
        self.refused("INVALID_ARGUMENT", "interval_ms", next, fabric.telemetry.subscribe(0.001))

        self.bfly("down")
        self.refused("UNAVAILABLE", "", fabric.status)

    def test_events(self):
        self.bfly("up", self.file)
        fabric = self.connect()
        with fabric.events(kinds=["circuits", "links"]) as events:
            circuit = fabric.circuits.set_up(3, 12)
            fabric.links.fail(7, 0, 0)
            one, two = next(events), next(events)
        self.assertEqual((one.WhichOneof("what"), list(one.circuits.set_up.ids)), ("circuits", [circuit.id]))
        self.assertEqual((two.text, two.links.change), ("link s7 r0 p0 failed", events_pb2.LinksEvent.FAILED))
        self.assertEqual((one.run_id, one.sequence > events.newest, events.missed), (events.run_id, True, 0))
        # Again, for a client that was away, and what is urgent only; such a stream ends.
        past = list(fabric.events(since=one.sequence, run_id=one.run_id, severity="warning", follow=False))
        self.assertEqual([event.sequence for event in past], [two.sequence])
        self.refused("INVALID_ARGUMENT", "since", fabric.events, since=10**6)
        self.assertRaisesRegex(ValueError, "linksss is none of topology, circuits", fabric.events, kinds=["linksss"])
        wait_until(lambda: self.in_use("event_streams") == 0, "the streams are closed")

    def test_up_for_the_time_of_a_block(self):
        with self.with_bfly_in_the_path():
            with self.assertRaisesRegex(RuntimeError, "of the block"), bfly.up(self.file, run_dir=self.run_dir) as fabric:
                self.assertTrue(balances(self.json("status")["conservation"]))
                fabric.circuits.set_up(0, 0)
                raise RuntimeError("of the block")
            self.assertEqual(self.pids(), [])
            # What it starts is here, whatever fabric the variable names.
            with unittest.mock.patch.dict("os.environ", BFLY_CONTROLLER="unix:/nowhere", BFLY_RUN_DIR=str(self.run_dir)):
                with bfly.up(self.file) as fabric:
                    self.assertEqual((fabric.status().name, len(self.pids())), ("life", 2))
            self.assertEqual(self.pids(), [])
            broken = self.write("broken.yaml", "name: x\n")
            with self.assertRaisesRegex(bfly.Error, "network: is missing"), bfly.up(broken, run_dir=self.run_dir):
                self.fail("a wrong file")


if __name__ == "__main__":
    unittest.main(verbosity=2)
