#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Wireshark dissector of deploy/wireshark against frames made by hand: tshark must read every field as it was
written, and must not stumble over bytes that are no header. It needs no root and no fabric."""

import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest

import frames

DISSECTOR = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "wireshark" / "bfly.lua"
ETHERTYPE = 0x88B5
TRUNK_MAC = bytes.fromhex("02bf01000201")


def header(kind, length, flags, row, tag, sequence, stage, queue, inner, age, input_row):
    """The 32 bytes that docs/wire_header.md describes, version 1."""
    return (struct.pack("!BBBBIQIBBH", 1, kind, length, flags, row, tag, sequence, stage, queue, inner)
            + age.to_bytes(6, "big") + struct.pack("!H", input_row))


def tshark(path, *options):
    # The user's own plugins must not take part.
    environment = {**os.environ, "HOME": str(path.parent), "XDG_CONFIG_HOME": str(path.parent)}
    done = subprocess.run(["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", path, *options], capture_output=True,
                          text=True, timeout=120, check=False, env=environment)
    errors = [line for line in done.stderr.splitlines() if "as user \"root\"" not in line]
    if done.returncode != 0 or errors:
        raise AssertionError(f"tshark: {done.returncode}, {done.stderr}")
    return done.stdout


def fields_of(path, *names):
    """For each frame the values of the fields, as tshark prints them."""
    options = [word for name in names for word in ("-e", name)]
    lines = tshark(path, "-T", "fields", "-E", "occurrence=a", *options).splitlines()
    return [tuple(line.split("\t")) for line in lines]


class InstallTest(unittest.TestCase):
    def test_it_is_installed_where_wireshark_looks(self):
        installed = json.loads((pathlib.Path(os.environ["BFLY_BUILD"]) / "meson-info/intro-installed.json").read_text())
        folders = subprocess.run(["tshark", "-G", "folders"], capture_output=True, text=True, timeout=120, check=True).stdout
        looked_at = [line.split("\t")[-1].strip() for line in folders.splitlines() if "Lua Plugins" in line]
        self.assertIn(str(pathlib.Path(installed[str(DISSECTOR)]).parent), looked_at)


class DissectorTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix=f"bfly-dissector-{os.getpid()}-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / "frames.pcap"

    def write(self, *content):
        frames.write_pcap(self.path, content)

    def test_a_testers_frame(self):
        # Through BB_16 by row 6 to row 11: 0110 1011, then a one.
        tester = header(1, 32, 0x01, 5, 0x6B80000000000000, 77, 0, 0, 14, 123456789, 5)
        self.write(frames.frame(frames.row_mac(11), frames.row_mac(5), ETHERTYPE, tester + b"payload"))
        names = ("bfly.version", "bfly.type", "bfly.header_bytes", "bfly.flags", "bfly.flags.names_input",
                 "bfly.row", "bfly.tag", "bfly.tag.bits", "bfly.tag.text", "bfly.sequence", "bfly.inner_bytes",
                 "bfly.age", "bfly.input")
        self.assertEqual(fields_of(self.path, *names),
                         [("1", "1", "32", "0x01", "1", "5", "0x6b80000000000000", "8", "01101011", "77", "14",
                           "123456789", "5")])

    def test_a_tag_with_ports_and_vlan_tags_in_front(self):
        tester = header(1, 32, 0x08, 0, 0xFFFFFFFFFFFFFFFF, 0, 0, 0, 14, 0, 0)
        vlan = bytes.fromhex("81000064") + struct.pack("!H", ETHERTYPE)
        self.write(frames.row_mac(1) + frames.row_mac(2) + vlan + tester + bytes(14))
        self.assertEqual(fields_of(self.path, "vlan.id", "bfly.flags.fixed", "bfly.tag.bits", "bfly.row"),
                         [("100", "1", "63", "0")])

    def test_a_trunk_frame_shows_the_hosts_frame_inside(self):
        ping = bytes.fromhex("4500001c000100004001") + bytes(2) + bytes([10, 77, 0, 16, 10, 77, 0, 17, 8, 0]) + bytes(6)
        inner = frames.frame(frames.row_mac(7), frames.row_mac(3), 0x0800, ping)
        trunk = header(2, 40, 0x50, 9, 0xA000000000000000, 0xFFFFFFFF, 3, 2, len(inner), 1 << 40, 3)
        trunk += struct.pack("!II", 0xDEADBEEF, 1)
        empty = header(2, 40, 0x02, 9, 0x8000000000000000, 0, 3, 2, 1500, 0, 3) + struct.pack("!II", 1, 0)
        self.write(TRUNK_MAC + TRUNK_MAC + struct.pack("!H", ETHERTYPE) + trunk + inner,
                   frames.frame(TRUNK_MAC, TRUNK_MAC, ETHERTYPE, empty))
        names = ("bfly.type", "bfly.flags.priority", "bfly.flags.synthetic", "bfly.row", "bfly.stage", "bfly.queue",
                 "bfly.age", "bfly.session", "bfly.number", "bfly.tag.text", "ip.src", "eth.dst", "_ws.col.Protocol")
        self.assertEqual(
            fields_of(self.path, *names),
            [("2", "5", "0", "9", "3", "2", str(1 << 40), "0xdeadbeef", str((1 << 32) + 0xFFFFFFFF), "10",
              "10.77.0.16", "02:bf:01:00:02:01,02:bf:00:00:00:07", "bfly"),
             ("2", "0", "1", "9", "3", "2", "0", "0x00000001", "0", "", "", "02:bf:01:00:02:01", "bfly")])

    def test_messages_of_a_program(self):
        messages = [(0xC000000000000000, 5, 1, 70000, 0x030201, 0), (1, 6, 2, 3, 0, 2)]
        body = struct.pack("!BBBBBBBBQII", 1, 3, 24, 0x01, 4, len(messages), 0, 0, 0x1234567800000009, 2, 41)
        for tag, row, slot, value, notes, marker in messages:
            body += struct.pack("!QIII", tag, row, slot, value) + notes.to_bytes(3, "big") + bytes([marker])
        self.write(frames.frame(TRUNK_MAC, TRUNK_MAC, ETHERTYPE, body, 90))
        names = ("bfly.flags.back", "bfly.stage", "bfly.messages", "bfly.run", "bfly.frame_number", "bfly.total",
                 "bfly.message.tag", "bfly.message.row", "bfly.message.value", "bfly.message.notes",
                 "bfly.message.marker")
        self.assertEqual(fields_of(self.path, *names),
                         [("1", "4", "2", "0x1234567800000009", "2", "41", "0xc000000000000000,0x0000000000000001",
                           "5,6", "70000,3", "0x030201,0x000000", "0,2")])

    def test_wrong_headers_are_said_to_be_wrong(self):
        good = header(1, 32, 0, 0, 1 << 63, 0, 0, 0, 14, 0, 0)
        wrong = [b"\x02" + good[1:], good[:1] + b"\x07" + good[2:], good[:2] + b"\x28" + good[3:],
                 good[:8] + bytes(8) + good[16:]]
        self.write(*(frames.frame(frames.row_mac(1), frames.row_mac(2), ETHERTYPE, one) for one in wrong + [good]))
        said = [one[0] != "" for one in fields_of(self.path, "bfly.malformed")]
        self.assertEqual(said, [True] * len(wrong) + [False])

    def test_random_bytes_are_no_error_of_the_dissector(self):
        dice = random.Random(4)
        content = []
        for _ in range(400):
            body = bytearray(dice.randbytes(dice.randrange(0, 120)))
            if body and dice.random() < 0.8:
                body[0] = 1
            if len(body) > 2 and dice.random() < 0.8:
                body[1] = dice.choice([1, 2, 3])
                body[2] = {1: 32, 2: 40, 3: 24}[body[1]]
            content.append(frames.row_mac(1) + frames.row_mac(2) + struct.pack("!H", ETHERTYPE) + bytes(body))
        self.write(*content)
        shown = json.loads(tshark(self.path, "-T", "json"))
        self.assertEqual(len(shown), len(content))
        faults = [line for line in tshark(self.path, "-V").splitlines() if "Lua Error" in line]
        self.assertEqual(faults[:3], [])
        self.assertGreater(sum("bfly" in one["_source"]["layers"] for one in shown), 200)

    def test_trunk_frames_inside_of_each_other_are_shown_four_deep(self):
        inner = frames.frame(frames.row_mac(7), frames.row_mac(3), 0x0800, bytes(20))
        while len(inner) < 8900:
            trunk = header(2, 40, 0, 9, 1 << 63, 0, 3, 2, len(inner), 0, 3) + struct.pack("!II", 1, 0)
            inner = frames.frame(TRUNK_MAC, TRUNK_MAC, ETHERTYPE, trunk + inner)
        self.write(inner)
        self.assertEqual(fields_of(self.path, "bfly.type", "bfly.deep"), [("2,2,2,2", "1")])
        text = tshark(self.path, "-V")
        self.assertIn("Trunk frames are shown four deep", text)
        self.assertNotIn("Lua Error", text)


if __name__ == "__main__":
    unittest.main()
