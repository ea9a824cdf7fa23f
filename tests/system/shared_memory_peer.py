# SPDX-License-Identifier: Apache-2.0
"""Peers that share memory with a port, written from the protocols: a memif client and a vhost-user front end.

Each sends one frame over and over, as fast as the port takes it, and takes what it is given. They start in
milliseconds, so that a test can have hundreds of them.
"""

import mmap
import multiprocessing
import os
import signal
import socket
import struct
import time

import lab


class _Memory:
    """Shared memory with words that are written in one piece."""

    def __init__(self, size):
        self.size = size
        self.fd = os.memfd_create("peer", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.bytes = mmap.mmap(self.fd, size)
        self._words = memoryview(self.bytes).cast("H")

    def u16(self, at):
        return self._words[at // 2]

    def set_u16(self, at, value):
        self._words[at // 2] = value & 0xFFFF

    def pack(self, layout, at, *values):
        struct.pack_into(layout, self.bytes, at, *values)


def _connect(kind, path):
    """A connected socket; a port's socket may come a moment after its data plane."""
    connection = socket.socket(socket.AF_UNIX, kind)
    connection.settimeout(lab.PATIENCE)

    def connected():
        try:
            connection.connect(str(path))
            return True
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            return False

    lab.wait_until(connected, f"{path} answers")
    return connection


class MemifPeer:
    """The client of a memif of protocol version 2.0, one ring each way."""

    HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = 2, 3, 4, 5, 6, 7, 8
    LOG2_SLOTS = 12
    SLOTS = 1 << LOG2_SLOTS
    BUFFER = 2048
    RING = 128 + 16 * SLOTS  # head and tail, then the slots

    def __init__(self, path, frame, interface_id=0):
        self.memory = _Memory(2 * self.RING + 2 * self.SLOTS * self.BUFFER)
        for ring in range(2):
            self.memory.pack("<IHH", ring * self.RING, 0x3E31F20, 1, 0)  # cookie; no interrupts, please
            for slot in range(self.SLOTS):
                buffer = 2 * self.RING + (ring * self.SLOTS + slot) * self.BUFFER
                length = self.BUFFER if ring else len(frame)
                self.memory.pack("<HHIII", ring * self.RING + 128 + 16 * slot, 0, 0, length, buffer, 0)
                if not ring:
                    self.memory.bytes[buffer:buffer + len(frame)] = frame
        self.sent = self.received = 0
        self.control = _connect(socket.SOCK_SEQPACKET, path)
        self._expect(self.HELLO)
        self._send(self.INIT, struct.pack("<HIB24s32s", 0x0200, interface_id, 0, b"", b"test"))
        self._send(self.ADD_REGION, struct.pack("<HQ", 0, self.memory.size), self.memory.fd)
        self.events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        for ring, event in enumerate(self.events):
            self._send(self.ADD_RING,
                       struct.pack("<HHHIBH", 1 - ring, 0, 0, ring * self.RING, self.LOG2_SLOTS, 0), event)
        self._send(self.CONNECT, struct.pack("<32s", b"test0"))
        self._expect(self.CONNECTED)

    def _send(self, kind, body, *fds):
        message = [(struct.pack("<H", kind) + body).ljust(128, b"\0")]
        socket.send_fds(self.control, message, list(fds)) if fds else self.control.send(message[0])

    def _expect(self, kind):
        while True:
            message = self.control.recv(128)
            got = struct.unpack_from("<H", message)[0] if message else 0
            if got == kind:
                return
            if got in (0, self.DISCONNECT):
                raise ConnectionError(f"the port hung up: {message[6:].rstrip(bytes(1))!r}")

    def _advance_head(self, ring, progress):
        """Hands every slot that the other side is done with to it again."""
        tail = self.memory.u16(ring + 64)
        head = self.memory.u16(ring + 6)
        done = (self.SLOTS - (head - tail) & 0xFFFF) & 0xFFFF
        if done:
            self.memory.set_u16(ring + 6, tail + self.SLOTS)
        return progress + done

    def step(self):
        self.sent = self._advance_head(0, self.sent)
        self.received = self._advance_head(self.RING, self.received)

    def leave(self):
        """As a client does that is closed in order."""
        self._send(self.DISCONNECT, struct.pack("<I96s", 0, b"bye"))
        self.control.close()


class VhostPeer:
    """The front end of a vhost-user device, as a virtual machine with one queue pair has it: split rings."""

    GET_FEATURES, SET_FEATURES, SET_OWNER, SET_MEM_TABLE = 1, 2, 3, 5
    SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, SET_VRING_KICK, SET_VRING_CALL = 8, 9, 10, 12, 13
    VERSION_1 = 1 << 32
    SLOTS = 256
    BUFFER = 2048
    HEADER = 12  # of virtio-net, in front of every frame
    AVAIL, USED, QUEUE = 4096, 8192, 12288
    BASE = 0x100000000  # where the memory lies for the device

    def __init__(self, path, frame):
        self.memory = _Memory(2 * self.QUEUE + 2 * self.SLOTS * self.BUFFER)
        self.control = _connect(socket.SOCK_STREAM, path)
        self._send(self.GET_FEATURES, b"")
        self.control.recv(20, socket.MSG_WAITALL)
        self._send(self.SET_FEATURES, struct.pack("<Q", self.VERSION_1))
        self._send(self.SET_OWNER, b"")
        self._send(self.SET_MEM_TABLE,
                   struct.pack("<IIQQQQ", 1, 0, self.BASE, self.memory.size, self.BASE, 0), self.memory.fd)
        self.events = []
        for queue in range(2):  # 0: the guest receives, 1: it sends
            at = queue * self.QUEUE
            for slot in range(self.SLOTS):
                buffer = 2 * self.QUEUE + (queue * self.SLOTS + slot) * self.BUFFER
                length = self.HEADER + len(frame) if queue else self.BUFFER
                self.memory.pack("<QIHH", at + 16 * slot, self.BASE + buffer, length, 0 if queue else 2, 0)
                self.memory.set_u16(at + self.AVAIL + 4 + 2 * slot, slot)
                if queue:
                    self.memory.bytes[buffer + self.HEADER:buffer + self.HEADER + len(frame)] = frame
            self.memory.set_u16(at + self.AVAIL, 1)  # no calls, please
            self._send(self.SET_VRING_NUM, struct.pack("<II", queue, self.SLOTS))
            self._send(self.SET_VRING_BASE, struct.pack("<II", queue, 0))
            self._send(self.SET_VRING_ADDR,
                       struct.pack("<IIQQQQ", queue, 0, self.BASE + at, self.BASE + at + self.USED,
                                   self.BASE + at + self.AVAIL, 0))
            for kind in (self.SET_VRING_CALL, self.SET_VRING_KICK):
                self.events.append(os.eventfd(0, os.EFD_NONBLOCK))
                self._send(kind, struct.pack("<Q", queue), self.events[-1])
        self.sent = self.received = 0

    def _send(self, kind, body, *fds):
        message = struct.pack("<III", kind, 1, len(body)) + body
        socket.send_fds(self.control, [message], list(fds)) if fds else self.control.sendall(message)

    def _advance_avail(self, queue, progress):
        used = self.memory.u16(queue + self.USED + 2)
        available = self.memory.u16(queue + self.AVAIL + 2)
        done = (used + self.SLOTS - available) & 0xFFFF
        if done:
            self.memory.set_u16(queue + self.AVAIL + 2, used + self.SLOTS)
        return progress + done

    def step(self):
        self.received = self._advance_avail(0, self.received)
        self.sent = self._advance_avail(self.QUEUE, self.sent)

    def leave(self):
        self.control.close()


class PeerProcess:
    """A peer in a process of its own, which sends and receives until it leaves or is killed."""

    def __init__(self, kind, path, frame):
        self._counts = multiprocessing.RawArray("Q", 2)
        self._leave = multiprocessing.Event()
        self.process = multiprocessing.get_context("fork").Process(target=self._run, args=(kind, path, frame),
                                                                   daemon=True)
        self.process.start()

    def _run(self, kind, path, frame):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        peer = kind(path, frame)
        while not self._leave.is_set():
            peer.step()
            self._counts[0], self._counts[1] = peer.sent, peer.received
        peer.leave()
        os._exit(0)

    @property
    def sent(self):
        return self._counts[0]

    @property
    def received(self):
        return self._counts[1]

    def wait_for_traffic(self, sent=1, received=1):
        """Until the port has taken `sent` frames from the peer, and given it `received`."""

        def moved():
            if not self.process.is_alive():
                raise AssertionError(f"the peer ended with {self.process.exitcode}")
            return self.sent >= sent and self.received >= received

        lab.wait_until(moved, f"a peer sends {sent} frames and gets {received}")

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def leave(self):
        """In order."""
        self._leave.set()
        self.join()

    def crash(self):
        self.process.kill()
        self.join()

    def join(self):
        self.process.join(lab.PATIENCE)
        if self.process.is_alive():
            raise AssertionError("a peer did not end")
