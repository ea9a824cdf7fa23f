# SPDX-License-Identifier: Apache-2.0
"""Clients that take all the controller of a 1,024-row fabric gives them. It stays under 300 MiB and answers.

Each test attacks a fabric of its own and prints the controller's memory: now, and at its peak. A limit on the
controller's address space keeps the machine safe where it gives too much."""

import collections
import os
import signal
import threading
import time
import unittest

import grpc

import lab
from memory_attack import DATA_SERVER, SECONDS, TWO_FOLD, MemoryAttack, bytes_of, number, set_up
from raw_http2 import FIRST_WINDOW, PREFACE, Connection, headers


class MemoryAttackTest(MemoryAttack):
    def test_keys_of_batches_whose_requests_are_all_refused(self):
        self.start(TWO_FOLD)
        self.assertEqual(self.call("Circuits/SetUp", set_up(0, 0))[0], "OK")
        batch = bytes_of(1, set_up(0, 0)) * 60_000
        told = collections.Counter(self.call("Circuits/SetUpBatch", batch + bytes_of(3, b"key %d" % i))[0] for i in range(20))
        self.survived("sixty thousand errors for each of twenty keys", dict(told))
        self.assertEqual(told, {"OK": 20})

    def test_messages_that_grow_when_they_are_parsed(self):
        self.start(TWO_FOLD)
        batch = bytes_of(1, b"") * (10 << 20)  # 20 MiB, ten million requests
        told = self.together(4, lambda i: self.call("Circuits/SetUpBatch", batch)[0])
        self.survived("ten million requests in a message", told)
        self.assertEqual(told, {"RESOURCE_EXHAUSTED": 4})
        told = self.together(4, lambda i: self.call("Circuits/SetUpBatch", b"x" * (250 << 20))[0])
        self.survived("messages of 250 MiB", told)
        self.assertNotIn("OK", told)
        batch = b"".join(bytes_of(1, set_up(i % 1024, i % 1024)) for i in range(60_000))
        told = self.together(16, lambda i: self.call("Circuits/SetUpBatch", batch)[0])
        self.survived("large batches, sixteen at a time", told)
        batch = bytes_of(1, b"") * (2 << 20)  # gRPC takes these 4 MiB, and parsed they would be too large
        lab.wait_until(lambda: "the message would take" in self.call("Circuits/SetUpBatch", batch)[1],
                       "a batch that is too large once parsed is refused before that")
        topology = bytes_of(1, bytes_of(7, b"") * (8 << 20))
        told = self.together(4, lambda i: self.call("Fabric/Verify", topology)[0])
        self.survived("topologies of eight million entries", told)
        operations = bytes_of(4, bytes_of(1, b"") * (4 << 20))
        stream = self.channel().stream_stream("/bfly.v1.Circuits/Stream")
        with self.assertRaises(grpc.RpcError) as refused:
            list(stream(iter([operations] * 4), timeout=30))
        self.assertEqual(refused.exception.code().name, "RESOURCE_EXHAUSTED")
        uses = self.survived("four million operations in a message")
        self.assertGreater(uses["request_bytes"]["refused"], 0)

    def test_fields_that_no_message_has(self):
        """The parser keeps unknown fields: a group of two bytes takes fifty."""
        self.start(TWO_FOLD)
        groups = b"\xc3\x3e" + b"\x0b\x0c" * (2 << 20) + b"\xc4\x3e"
        for method in ("Fabric/Status", "Telemetry/GetCounters", "Circuits/SetUpBatch"):
            told = self.together(8, lambda i: self.call(method, groups)[0])
            self.survived(f"two million groups for {method}", told)
            self.assertNotIn("OK", told)
            lab.wait_until(lambda: "is a group" in self.call(method, groups)[1], f"{method} tells of the group")
        # A number and a string of a field that does not exist, and a number where requests belong.
        for unknown in (number(1000, 1), bytes_of(1000, b""), number(1, 1)):
            told = self.together(8, lambda i: self.call("Circuits/SetUpBatch", unknown * (1 << 20))[0])
            self.survived("a million unknown fields", told)
            self.assertEqual(told, {"RESOURCE_EXHAUSTED": 8})

    def test_requests_that_a_stream_keeps(self):
        self.start(TWO_FOLD)

        def refused(call):
            with self.assertRaises(grpc.RpcError) as error:
                list(call)
            return error.exception.code().name

        watch = self.channel().unary_stream("/bfly.v1.Circuits/Watch")
        subscribe = self.channel().unary_stream("/bfly.v1.Telemetry/Subscribe")
        arbitrate = self.channel().stream_stream("/bfly.v1.Fabric/Arbitrate")
        unknown = number(1000, 1) * (5 << 20)
        ranges = number(1, 1) + number(2, 10) + bytes_of(3, bytes_of(7, b"") * 30_000)
        for _ in range(40):
            self.assertEqual(refused(watch(unknown, timeout=30)), "RESOURCE_EXHAUSTED")
            self.assertEqual(refused(arbitrate(iter([unknown]), timeout=30)), "RESOURCE_EXHAUSTED")
            self.assertEqual(refused(subscribe(ranges, timeout=30)), "RESOURCE_EXHAUSTED")
        few = number(1, 1) + number(2, 10) + bytes_of(3, bytes_of(7, b"") * 2_000)
        self.assertEqual(refused(subscribe(few, timeout=30)), "INVALID_ARGUMENT")  # 1,024 rows
        uses = self.survived("requests of 15 MiB for streams")
        for name in ("watchers", "elections", "subscribers"):
            self.assertEqual(int(uses[name].get("in_use", 0)), 0, name)

    def test_dry_runs_of_one_client_leave_room_for_others(self):
        self.start(DATA_SERVER)
        channel = self.channel()
        request = bytes_of(2, b"store_and_forward") + number(7, 12)
        dry_run = channel.unary_unary("/bfly.v1.Programs/DryRun")
        calls = [dry_run.future(request, timeout=120) for _ in range(1_100)]
        lab.wait_until(lambda: sum(call.done() for call in calls) >= 1_000, "most dry runs are refused at once")
        uses = {use["name"]: use for use in self.json("status")["resources"]}
        self.assertLessEqual(int(uses["dry_runs"].get("in_use", 0)), 16)
        self.assertGreater(int(uses["dry_runs"].get("refused", 0)), 0)
        told = collections.Counter(call.code().name for call in calls if call.done())
        self.survived("1,100 dry runs at a time", dict(told))
        self.assertEqual(set(told) - {"OK"}, {"RESOURCE_EXHAUSTED"})
        down = self.bfly("down", check=False)
        self.assertEqual(down.returncode, 0, down.stdout + down.stderr)

    def test_operations_with_many_links_to_avoid(self):
        """Two bytes for a link that takes 16 in an order and 40 in a message."""
        self.start(TWO_FOLD)
        avoid = bytes_of(6, b"") * 40_000
        message = set_up(1, 2) + avoid
        self.keep_open([Connection(self.socket, "/bfly.v1.Circuits/SetUp", 500, message) for _ in range(10)],
                       least=len(message), may_close=True)
        self.survived("5,000 set-ups that avoid 40,000 links each")
        operation = bytes_of(2, message)
        stop = threading.Event()

        def endless():
            while not stop.is_set():
                yield operation

        calls = [self.channel().stream_stream("/bfly.v1.Circuits/Stream")(endless()) for _ in range(30)]
        time.sleep(SECONDS)
        uses = self.survived("30 streams of such operations")
        stop.set()
        for call in calls:
            call.cancel()
        # Set-ups that wait for a data plane fill the room for orders.
        before = uses["order_bytes"].get("refused", 0)
        data_plane = int((self.run_dir / "dp0.pid").read_text().split()[0])
        os.kill(data_plane, signal.SIGSTOP)
        try:
            told = self.together(30, lambda i: self.call("Circuits/SetUp", set_up(10 + i, 10 + i) + avoid)[0])
        finally:
            os.kill(data_plane, signal.SIGCONT)
        uses = self.survived("30 such set-ups while the data plane hangs", told)
        refused = uses["order_bytes"].get("refused", 0) - before
        self.assertGreater(refused, 0)
        self.assertLessEqual(refused, told.get("RESOURCE_EXHAUSTED", 0))

    def test_texts_that_a_fabric_keeps(self):
        """Changes to links, ports and schedules are kept as they were written, also if that is 8 MiB of spaces."""
        self.start(TWO_FOLD)
        channel = self.channel()
        spaces = b" " * (8 << 20)
        told = collections.Counter()
        for k in range(20):
            row = b"%d" % k
            changes = [bytes_of(1, spaces + b"1") + bytes_of(2, row) + bytes_of(4, b"1Mbps"),
                       bytes_of(2, spaces + row) + bytes_of(4, b"1Mbps"),
                       bytes_of(2, row) + bytes_of(4, spaces + b"1Mbps"),
                       bytes_of(2, row) + bytes_of(5, spaces + b"1us")]
            for change in changes:
                told[self.call("Fabric/SetLinks", bytes_of(1, change), channel)[0]] += 1
            for device, rows in ((b"net_null%d," % k + spaces, row), (b"net_null%d" % k, spaces + row)):
                port = bytes_of(1, b"p%d" % k) + bytes_of(2, device) + bytes_of(3, rows)
                told[self.call("Fabric/AddPort", bytes_of(1, port), channel)[0]] += 1
            rotor = bytes_of(1, number(1, 2) + bytes_of(2, spaces + b"100us"))
            told[self.call("Schedules/Start", rotor, channel)[0]] += 1
        self.survived("texts of 8 MiB in changes to links, in ports and in schedules", dict(told))
        self.assertNotIn("OK", told)
        self.assertGreater(told["INVALID_ARGUMENT"], 0)

    def test_malformed_bytes(self):
        self.start(TWO_FOLD)
        for method in ("Circuits/SetUp", "Circuits/Release", "Circuits/List", "Circuits/SetUpBatch",
                       "DataServer/Request", "DataServer/Place", "Fabric/Status", "Fabric/Load",
                       "Telemetry/GetCounters", "Traffic/Start"):
            code, text = self.call(method, b"\x0a\xff\xff\xff\xff\x0f")
            self.assertEqual(code, "INVALID_ARGUMENT", f"{method}: {text}")
        for method in ("Circuits/Watch", "Telemetry/Subscribe"):
            with self.assertRaises(grpc.RpcError) as refused:
                list(self.channel().unary_stream(f"/bfly.v1.{method}")(b"\x0a\xff\xff", timeout=30))
            self.assertEqual(refused.exception.code().name, "INVALID_ARGUMENT", method)
        for method in ("Circuits/Stream", "DataServer/Stream", "Fabric/Arbitrate"):
            with self.assertRaises(grpc.RpcError) as refused:
                list(self.channel().stream_stream(f"/bfly.v1.{method}")(iter([b"\x0a\xff\xff"]), timeout=30))
            self.assertEqual(refused.exception.code().name, "INVALID_ARGUMENT", method)
        self.survived("malformed bytes")

    def test_pictures_that_nobody_reads(self):
        self.start(TWO_FOLD)
        subscribe = number(2, 10)
        opened = []
        for i in range(30):
            channel = self.channel()
            for mode in range(100):
                opened.append(channel.unary_stream("/bfly.v1.Telemetry/Subscribe")(subscribe + number(1, 1 + mode % 2)))
            time.sleep(SECONDS / 30)
        time.sleep(1)
        told = collections.Counter(call.code().name for call in opened if not call.is_active())
        uses = self.survived("3,000 subscribers", dict(told))
        self.assertLessEqual(uses["subscribers"]["in_use"], uses["subscribers"]["limit"])
        self.assertGreater(uses["subscribers"]["refused"], 0)
        for call in opened:
            call.cancel()

    def test_answers_that_nobody_reads(self):
        self.start(TWO_FOLD)
        self.keep_open([Connection(self.socket, "/bfly.v1.Telemetry/GetCounters", 40, b"") for _ in range(20)],
                       least=40 * len(headers("/bfly.v1.Telemetry/GetCounters")))
        self.survived("800 answers of counters that are not read")
        self.keep_open([Connection(self.socket, "/bfly.v1.Fabric/Describe", 40, number(1, 1)) for _ in range(20)],
                       least=40 * len(headers("/bfly.v1.Fabric/Describe")))
        self.survived("800 answers of links that are not read")

    def test_requests_that_never_end(self):
        self.start(TWO_FOLD)
        message = bytes(15 << 20)
        self.keep_open([Connection(self.socket, "/bfly.v1.Circuits/SetUpBatch", 20, message, kept_back=1)
                        for _ in range(20)], least=FIRST_WINDOW, may_close=True)  # gRPC takes its memory back
        self.survived("400 messages of 15 MiB without their last byte")

    def test_connections_that_do_nothing(self):
        self.start(TWO_FOLD)
        self.keep_open([Connection(self.socket, "/bfly.v1.Fabric/Status", 0, b"") for _ in range(800)], least=len(PREFACE))
        self.survived("800 connections")

    def test_streams_and_watchers_without_end(self):
        self.start(TWO_FOLD)
        operations = bytes_of(4, b"".join(bytes_of(1, bytes_of(2, set_up(i % 1024, i % 1024))) for i in range(4096)))
        stop = threading.Event()

        def endless():
            while not stop.is_set():
                yield operations

        calls = []
        for i in range(100):
            channel = self.channel()
            calls.append(channel.stream_stream("/bfly.v1.Circuits/Stream")(endless()))
            calls += [channel.unary_stream("/bfly.v1.Circuits/Watch")(b"") for _ in range(10)]
        time.sleep(SECONDS)
        uses = self.survived("100 streams and 1,000 watchers")
        stop.set()
        for call in calls:
            call.cancel()
        for name in ("streams", "watchers"):
            self.assertLessEqual(uses[name]["in_use"], uses[name]["limit"])
            self.assertGreater(uses[name]["refused"], 0)

    def test_calls_in_band_that_are_late(self):
        """Calls that say themselves that they have a millisecond: a library rounds that up on a busy machine."""
        self.start(TWO_FOLD)
        ended = 0
        for _ in range(100):
            connections = [Connection(self.socket, "/bfly.v1.Circuits/SetUp", 500, timeout=b"1m",
                                      message=lambda i, at=500 * k: set_up((at + i) % 1024, (7 * at + i) % 1024, True))
                           for k in range(4)]
            end = time.monotonic() + 30
            while any(connection.sent for connection in connections) and time.monotonic() < end:
                if not any([connection.step() for connection in connections]):
                    time.sleep(0.001)
            ended += sum(not connection.sent for connection in connections) * 500
            for connection in connections:
                connection.close()
        self.survived(f"{ended} calls in band with a millisecond")
        self.assertEqual(ended, 200_000)
        # What is answered now came after all of them.
        self.assertEqual(self.call("Circuits/Release", number(1, 1) + number(20, 1))[0], "NOT_FOUND")
        self.assertEqual(int(self.json("status").get("circuits", 0)), 0)

    def test_objects_without_end(self):
        self.start(DATA_SERVER)
        codes = [self.call("DataServer/Place", number(2, i << 24) + number(3, 1 << 24))[0] for i in range(4)]
        self.assertEqual(codes, ["RESOURCE_EXHAUSTED"] * 4)
        told = collections.Counter(self.call("DataServer/Place", number(2, i << 15) + number(3, 1 << 15))[0]
                                   for i in range(8))
        self.assertEqual(told, {"OK": 4, "RESOURCE_EXHAUSTED": 4})
        uses = self.survived("objects up to the limit", dict(told))
        self.assertEqual(uses["objects"]["in_use"], 131_072)

    def test_the_highest_election_id_does_not_lock_the_owner_out(self):
        self.start(TWO_FOLD)
        forever = threading.Event()
        self.addCleanup(forever.set)

        def hold(election_id):
            yield number(1, election_id)
            forever.wait(60)

        arbitrate = self.channel().stream_stream("/bfly.v1.Fabric/Arbitrate")
        with self.assertRaises(grpc.RpcError) as refused:
            list(arbitrate(hold((1 << 64) - 1), timeout=10))
        self.assertEqual(refused.exception.code().name, "INVALID_ARGUMENT")
        held = arbitrate(hold(1 << 63))
        self.assertTrue(next(held))
        self.assertEqual(self.call("Circuits/SetUp", set_up(1, 2))[0], "PERMISSION_DENIED")
        down = self.bfly("down", check=False)
        self.assertEqual(down.returncode, 0, down.stdout + down.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
