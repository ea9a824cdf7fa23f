# SPDX-License-Identifier: Apache-2.0
"""Frames by the byte: sending them out of an interface, catching them at another, and capture files."""

import struct
import subprocess
import sys

import lab

# An ethertype for experiments that no kernel answers.
ETHERTYPE = 0x88B6

_SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for line in sys.stdin:
    s.send(bytes.fromhex(line))
"""

_CATCH = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(int(sys.argv[2])))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
s.bind((sys.argv[1], int(sys.argv[2])))
print("listening", flush=True)
while True:
    frame, address = s.recvfrom(65536)
    if address[2] != socket.PACKET_OUTGOING:
        print(frame.hex(), flush=True)
"""


def row_mac(row):
    return bytes([0x02, 0xBF, 0x00]) + row.to_bytes(3, "big")


def frame(destination, source=bytes.fromhex("525400000001"), ethertype=ETHERTYPE, payload=b"", size=60):
    return (destination + source + struct.pack("!H", ethertype) + payload).ljust(size, b"\0")


def send(namespace, frames, interface="eth0"):
    """Every frame once, in order."""
    subprocess.run(namespace.argv(sys.executable, "-c", _SEND, interface), check=True, timeout=lab.PATIENCE,
                   input="".join(one.hex() + "\n" for one in frames), text=True)


class Catcher:
    """Collects the frames of one ethertype that arrive at an interface."""

    def __init__(self, namespace, interface="eth0", ethertype=ETHERTYPE):
        self.process = namespace.spawn(sys.executable, "-c", _CATCH, interface, ethertype,
                                       name=f"catcher-{namespace.short}-{interface}")
        self.process.wait_for("listening")

    def frames(self):
        lines = self.process.text().split("\n")
        # The last piece is empty or a line that is being written.
        return [bytes.fromhex(line) for line in lines[1:-1]]

    def wait(self, count):
        """At least `count` frames."""
        lab.wait_until(lambda: len(self.frames()) >= count,
                       f"{count} frames arrive at {self.process.name}; {len(self.frames())} have")
        return self.frames()


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for second, one in enumerate(frames):
            file.write(struct.pack("<IIII", second, 0, len(one), len(one)) + one)


def read_pcap(path):
    with open(path, "rb") as file:
        content = file.read()
    magic = struct.unpack_from("<I", content)[0]
    if magic not in (0xA1B2C3D4, 0xA1B23C4D):
        raise AssertionError(f"{path} is no capture file: {magic:#x}")
    frames, at = [], 24
    while at < len(content):
        captured = struct.unpack_from("<IIII", content, at)[2]
        frames.append(content[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames
