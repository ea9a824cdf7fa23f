# SPDX-License-Identifier: Apache-2.0
"""bfly capture: tshark reads what hosts sent through a fabric, with the names of links and the comments of frames."""

import base64
import collections
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import unittest

import fabric
import frames
import lab
from dissector_test import fields_of

# Of a butterfly of 16: 0 -> 1 keeps row 0 until the last stage, and 1 -> 0 keeps row 1.
THERE = ["s0 r0 p0", "s1 r0 p0", "s2 r0 p0", "s3 r0 p1"]
BFLY_HEADER = 0x88B5


class CaptureTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.switch = self.lab.namespace("sw")
        self.hosts = [self.lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        self.file = self.lab.directory / "capture.pcapng"

    def fabric(self, **more):
        content = fabric.topology([fabric.host_port(row) for row in range(2)], kind="butterfly", **more)
        return fabric.Fabric(self.lab, self.switch, content)

    def capture(self, net, *words):
        """A capture that runs, from the moment at which every frame is seen."""
        process = self.switch.spawn(lab.BUILD / "bfly", "capture", *words, "--run-dir", net.run_dir, name="capture")
        return process.wait_for("capturing")

    def end(self, process):
        process.popen.send_signal(signal.SIGINT)
        self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
        return process.text()

    def test_a_ping_at_every_link_of_its_path(self):
        with self.fabric() as net:
            self.hosts[0].ping(self.hosts[1].address)  # the hosts know each other
            circuit = net.json("circuit", "setup", 0, 1)["id"]
            process = self.capture(net, "0 -> 1", "--filter", "icmp", "--write", self.file)
            self.hosts[0].run("ping", "-c", "3", "-i", "0.05", "-s", "300", self.hosts[1].address)
            said = self.end(process)
            self.assertIn("captured 12 of 12 frames", said)
            read = fields_of(self.file, "frame.interface_name", "frame.comment", "ip.src", "icmp.type", "icmp.seq",
                             "frame.len", "frame.cap_len", "eth.dst")
            self.assertEqual(len(read), 12)
            # Every request, at every link, once; the answers go another way.
            self.assertEqual(sorted((one[4].split(",")[0], one[0]) for one in read),
                             [(str(sequence), link) for sequence in (1, 2, 3) for link in THERE])
            for name, comment, source, kind, _, length, kept, to in read:
                self.assertIn(f"hop {THERE.index(name)}, 0 -> 1, circuit {circuit}, ", comment)
                self.assertEqual((source, kind, length, kept, to),
                                 ("10.77.0.16", "8", str(14 + 20 + 8 + 300), "256", "02:bf:00:00:00:01"))
            net.down()

    def test_a_circuit_at_every_link_of_its_path_and_nothing_else(self):
        with fabric.Fabric(self.lab, self.switch, fabric.topology([], kind="butterfly")) as net:
            circuit = net.json("circuit", "setup", 0, 1)["id"]
            process = self.capture(net, f"circuit {circuit}", "--json")
            # Packets from row 8 to row 1 come to all links of the circuit but the first.
            for row, to in ((0, "circuit"), (8, 1)):
                net.bfly("traffic", "start", "--rows", row, "--to", to, "--rate", "1k", "--packets", "50")
            net.settled(lambda counters: counters["conservation"]["delivered"] == 100)
            lab.wait_until(lambda: process.text().count("\n") >= 201, "50 packets at 4 links")
            said = self.end(process)
            self.assertIn("captured 200 of 200 frames", said)
            seen = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
            self.assertEqual({one["circuit"] for one in seen}, {circuit})
            links = ["s{stage} r{row} p{port}".format(**one["link"]) for one in seen]
            self.assertEqual(collections.Counter(links), {link: 50 for link in THERE})
            net.down()

    def test_a_capture_that_ends_by_time_has_every_copy(self):
        with fabric.Fabric(self.lab, self.switch, fabric.topology([], kind="butterfly")) as net:
            # More frames than anybody can read: the rings are never empty.
            net.bfly("traffic", "start", "--to", "uniform", "--rate", 0)
            process = self.capture(net, "all", "--seconds", "1", "--write", "/dev/null")
            self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
            net.bfly("traffic", "stop")
            said = re.search(r"captured (\d+) of (\d+) frames; (\d+) copies were dropped", process.text())
            self.assertIsNotNone(said, process.text())
            written, seen, dropped = map(int, said.groups())
            self.assertEqual(written + dropped, seen)
            net.down()

    def test_lines_of_json_are_written_by_the_batch(self):
        with fabric.Fabric(self.lab, self.switch, fabric.topology([], kind="butterfly")) as net:
            process = self.capture(net, "all", "--json")
            net.bfly("traffic", "start", "--to", "uniform", "--rate", 0, "--packets", "100")
            lines = 16 * 100 * 4
            lab.wait_until(lambda: process.text().count("\n") == 1 + lines, f"{lines} lines came")
            account = pathlib.Path(f"/proc/{process.pid}/io").read_text(encoding="ascii")
            self.assertLess(int(re.search(r"syscw: (\d+)", account)[1]), lines // 2)
            self.end(process)
            net.down()

    def test_a_pair_in_every_slot_of_a_schedule(self):
        # Alone, 1 -> 8 takes another path through a two-fold butterfly than beside the other 15 circuits of bit reversal.
        slots = self.lab.directory / "slots.yaml"
        slots.write_text("slot: 1ms\nguard: 50us\nslots:\n  - inputs: [1]\n    outputs: [8]\n  - permutation: bitrev\n")
        with fabric.Fabric(self.lab, self.switch, fabric.topology([])) as net:
            net.bfly("circuit", "schedule", slots)
            captures = [self.capture(net, what, "--json") for what in ("1 -> 8", "all")]
            net.bfly("traffic", "start", "--rows", "1", "--to", "8", "--rate", "2k", "--packets", "200")
            net.settled(lambda counters: counters["conservation"]["delivered"] == 200)
            links = []
            for process in captures:
                lab.wait_until(lambda process=process: process.text().count("{") > 0, "frames came")
                seen = [json.loads(line) for line in self.end(process).splitlines() if line.startswith("{")]
                links.append(collections.Counter(tuple(one["link"].values()) for one in seen))
            of_pair, of_all = links
            # Every packet at every link that it took: 8 stages, and more than 8 links, since there are two paths.
            self.assertEqual(sum(of_all.values()), 200 * 8)
            self.assertEqual(of_pair, of_all)
            self.assertGreater(len(of_pair), 8)
            net.down()

    def test_a_port_both_ways_and_its_limits(self):
        with self.fabric() as net:
            self.hosts[0].ping(self.hosts[1].address)
            process = self.capture(net, "port h1", "--filter", "icmp", "--count", "5", "--write", self.file)
            self.hosts[0].run("ping", "-c", "4", "-i", "0.05", self.hosts[1].address)
            self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
            read = fields_of(self.file, "frame.interface_name", "icmp.type", "frame.packet_flags_direction")
            self.assertEqual(read, [("h1 out", "8", "0x00000002"), ("h1 in", "0", "0x00000001")] * 2
                             + [("h1 out", "8", "0x00000002")])
            # By a count of the server, as JSON, and by time.
            process = self.capture(net, "s3 r0 p1", "--count", "2", "--json")
            self.hosts[0].run("ping", "-c", "4", "-i", "0.05", self.hosts[1].address)
            self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
            seen = [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]
            self.assertEqual([one["link"] for one in seen], [{"stage": 3, "row": 0, "port": 1}] * 2)
            self.assertEqual([one["output"] for one in seen], [1, 1])
            net.bfly("capture", "all", "--seconds", "1", "--write", self.file)
            net.down()

    def test_a_file_stays_below_its_largest_size(self):
        with self.fabric() as net:
            process = self.capture(net, "all", "--max-size", "20kB", "--write", self.file)
            net.bfly("traffic", "start", "--to", "uniform", "--rate", "1k", "--packets", "200")
            self.assertEqual(process.popen.wait(lab.PATIENCE), 0, process.text())
            self.assertIn("is as large as --max-size allows", process.text())
            size = os.path.getsize(self.file)
            self.assertLessEqual(size, 20 << 10)
            self.assertGreater(size, 19 << 10)
            # The file ends with a whole frame, and the command says how many there are.
            read = fields_of(self.file, "frame.number")
            self.assertIn(f"captured {len(read)} of ", process.text())
            for wrong in (("20", "--write", self.file), ("much", "--write", self.file), ("20kB", "--json")):
                with self.assertRaisesRegex(lab.CommandFailed, "--max-size"):
                    net.bfly("capture", "all", "--max-size", *wrong)
            net.down()

    def test_a_pipe_stays_below_the_size_that_was_asked_for(self):
        with self.fabric() as net:
            read = {}
            for limit in (("--max-size", "20kB"), ()):
                argv = self.switch.argv(lab.BUILD / "bfly", "capture", "all", "--seconds", "4", *limit, "--run-dir", net.run_dir)
                with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                    self.addCleanup(process.kill)
                    self.assertEqual(process.stderr.readline(), b"capturing\n")
                    net.bfly("traffic", "start", "--to", "uniform", "--rate", "1k", "--packets", "200")
                    read[limit], said = process.communicate(timeout=lab.PATIENCE)
                    self.assertEqual(process.returncode, 0, said)
                    self.assertEqual(b"standard output is as large as --max-size allows" in said, limit != ())
            limited, all_of_it = read.values()
            self.assertLessEqual(len(limited), 20 << 10)
            self.assertGreater(len(limited), 19 << 10)
            # 16 rows send 200 packets each, which cross 4 links each, in blocks of more than 32 bytes.
            self.assertGreater(len(all_of_it), 16 * 200 * 4 * 32)
            net.down()

    def test_a_filter_looks_behind_the_bytes_that_are_written(self):
        with self.fabric() as net:
            self.hosts[0].ping(self.hosts[1].address)
            # The bytes of a ping behind its time stamp count up from 0x10: icmp[1000], behind 8 of a header, is 992 modulo 256.
            for filtered, snaplen in (("icmp", 14), ("icmp[1000] = 0xe0", 256), ("icmp[1000 + icmp[1]] = 0xe0", 20)):
                for words in (("--write", self.file), ("--json",)):
                    process = self.capture(net, "port h1", "--filter", f"{filtered} and src host {self.hosts[0].address}",
                                           "--snaplen", snaplen, *words)
                    for size in (1200, 100):
                        self.hosts[0].run("ping", "-c", "2", "-i", "0.05", "-s", size, self.hosts[1].address)
                    said = self.end(process)
                    wanted = [1242] * 2 + ([142] * 2 if filtered == "icmp" else [])
                    if words == ("--json",):
                        seen = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
                        read = [(one["length"], len(base64.b64decode(one["data"]))) for one in seen]
                    else:
                        read = [(int(length), int(kept))
                                for length, kept in fields_of(self.file, "frame.len", "frame.cap_len")]
                    self.assertEqual(read, [(length, min(length, snaplen)) for length in wanted], (filtered, words))
            net.down()

    def test_a_testers_header_is_dissected(self):
        with self.fabric() as net:
            self.hosts[0].ping(self.hosts[1].address)
            # Version 1, a tester's header of 32 bytes: along 0001 from row 0 (docs/wire_header.md).
            header = (struct.pack("!BBBBIQIBBH", 1, 1, 32, 0x01, 0, 0x1800000000000000, 7, 0, 0, 14)
                      + bytes(6) + struct.pack("!H", 0))
            process = self.capture(net, "all", "--write", self.file, "--filter", f"ether proto {BFLY_HEADER}")
            frames.send(self.hosts[0], [frames.frame(frames.row_mac(1), frames.row_mac(0), BFLY_HEADER, header)])
            net.counters_when(lambda c: c["conservation"]["delivered"] > 0)
            lab.wait_until(lambda: self.file.stat().st_size > 600, "the frame was written")
            self.end(process)
            read = fields_of(self.file, "frame.interface_name", "bfly.sequence", "bfly.tag.text")
            self.assertEqual(read, [(link, "7", "0001") for link in THERE])
            net.down()

    def test_over_a_split_fabric(self):
        device = f"id=0,socket={self.lab.directory}/trunk.sock,socket-abstract=no"
        trunk = {"name": "middle", "after_stage": 1, "from": "dp0", "from_device": f"net_memif0,role=server,{device}",
                 "to": "dp1", "to_device": f"net_memif0,role=client,{device}"}
        content = {"name": "split", "network": {"kind": "butterfly", "rows": 16},
                   "data_planes": [{"name": "dp0"}, {"name": "dp1"}],
                   "placement": [{"stages": "0-1", "lcore": 0, "data_plane": "dp0"},
                                 {"stages": "2-3", "lcore": 1, "data_plane": "dp1"}],
                   "trunks": [trunk]}
        with fabric.Fabric(self.lab, self.switch, content) as net:
            process = self.capture(net, "5 -> 9", "--json")
            net.bfly("traffic", "start", "--rows", "5", "--to", "9", "--packets", "20", "--rate", "1k")
            net.settled(lambda c: c["conservation"]["delivered"] == 20)
            lab.wait_until(lambda: process.text().count("\n") >= 81, "20 packets at 4 links")
            self.end(process)
            seen = [json.loads(line) for line in process.text().splitlines() if line.startswith("{")]
            self.assertEqual([sum(one["link"]["stage"] == stage for one in seen) for stage in range(4)], [20] * 4)
            self.assertEqual({(one["input"], one["output"], one["hop"] - one["link"]["stage"]) for one in seen},
                             {(5, 9, 0)})
            net.down()

    def test_wrong_words_say_what_would_be_right(self):
        with self.fabric() as net:
            self.file.write_text("an older capture")
            out = ("--write", self.file)
            for words, text in ((("port h7",), 'no port "h7"; it has h0, h1'), (("circuit 99",), "does not stand"),
                                (("circuit x",), "not the id of a circuit"), (("0 -> 16",), "paths[0].output: 16"),
                                (("s9",), "stage"), (("x",), "port NAME, circuit ID"),
                                (("all", "--filter", "host and"), 'filter: "host and"'),
                                (("all", "--snaplen", "0"), "--snaplen"), (("all", "--json"), "leave out --json or --write"),
                                (("all", "--write", "/nowhere/x"), "/nowhere/x")):
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("capture", *words, *(() if "--write" in words else out))
                self.assertIn(text, refused.exception.err)
                self.assertNotIn("captured 0", refused.exception.err)
            self.assertEqual(self.file.read_text(), "an older capture")
            net.down()

    def test_too_many_links_are_one_error(self):
        # A butterfly of 256 has 8 stages of 512 links, one of 4,096 has 12 stages of 8,192. No schedule runs.
        for rows, links in ((256, 4096), (4096, 98304)):
            with fabric.Fabric(self.lab, self.switch, fabric.topology([], kind="butterfly", rows=rows)) as net:
                with self.assertRaises(lab.CommandFailed) as refused:
                    net.bfly("capture", "all", "--write", self.file)
                self.assertIn(f"are {links} together; 1 to 1024 can be captured at once", refused.exception.err)
                self.assertNotIn("schedule", refused.exception.err)
                net.down()

    def test_captures_end_with_their_client_and_with_the_fabric(self):
        with self.fabric() as net:
            files = [self.lab.directory / f"{i}.pcapng" for i in range(8)]
            running = [self.capture(net, "all", "--write", file) for file in files]
            with self.assertRaises(lab.CommandFailed) as refused:
                net.bfly("capture", "all", "--write", self.file)
            self.assertIn("captures: at most 8 are allowed at a time", refused.exception.err)
            self.assertFalse(self.file.exists())
            running[3].kill()

            def another():
                return subprocess.run(self.switch.argv(lab.BUILD / "bfly", "capture", "all", "--seconds", "1", "--write",
                                                       self.file, "--run-dir", net.run_dir),
                                      capture_output=True, timeout=lab.PATIENCE, check=False).returncode == 0

            lab.wait_until(another, "a capture whose client died has ended")
            # Each of 20 packets comes to 4 links, by ports that are the bits of 1001, and every capture that still runs sees it.
            net.bfly("traffic", "start", "--rows", "5", "--to", "9", "--rate", "1k", "--packets", "20")
            net.settled(lambda counters: counters["conservation"]["delivered"] == 20)
            del running[3], files[3]
            for file in files:
                lab.wait_until(lambda file=file: file.read_bytes().count(b"5 -> 9") == 80, f"{file.name} has 80 frames")
            net.down()
            links = [f"s{stage} r{row} p{port}" for stage, row, port in ((0, 5, 1), (1, 13, 0), (2, 9, 0), (3, 9, 1))]
            for file, process in zip(files, running, strict=True):
                self.assertEqual(process.popen.wait(lab.PATIENCE), 1, process.text())
                self.assertIn("the fabric was unloaded", process.text())
                self.assertIn("captured 80 of 80 frames", process.text())
                read = collections.Counter(name for (name,) in fields_of(file, "frame.interface_name"))
                self.assertEqual(read, {link: 20 for link in links})


if __name__ == "__main__":
    unittest.main()
