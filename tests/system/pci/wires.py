# SPDX-License-Identifier: Apache-2.0
"""The far ends of the virtual machine's NICs: the test is the host on the other side of each wire."""

import ctypes
import fcntl
import os
import select
import socket
import struct
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
TUNSETPERSIST = 0x400454CB
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_MULTI_QUEUE = 0x0100
SIOCSIFFLAGS = 0x8914
SIOCSIFMTU = 0x8922
IFF_UP = 0x1
ETH_P_ALL = 3
PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
SO_RCVBUFFORCE = 33


def enter_own_network_namespace():
    """This process and what it starts see a network of their own, which ends with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise PermissionError(error, f"no network namespace of our own ({os.strerror(error)}): "
                                     "this test needs CAP_SYS_ADMIN and CAP_NET_ADMIN, run it as root")
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as off:
        off.write("1")  # a kernel's own neighbour discovery is not the test's traffic
    interface_up("lo")


def interface_up(name, mtu=None):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        if mtu is not None:
            fcntl.ioctl(control, SIOCSIFMTU, struct.pack("16si12x", name.encode(), mtu))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name.encode(), IFF_UP))


class Wire:
    """Sends and receives whole Ethernet frames on one wire."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.setblocking(False)

    def send(self, frame):
        """Waits as long as the machine's side holds the wire back, at most 5 s."""
        end = time.monotonic() + 5
        while True:
            try:
                self.socket.send(frame)
                return
            except (BlockingIOError, OSError) as error:
                if not isinstance(error, BlockingIOError) and error.errno != 105:  # ENOBUFS
                    raise
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)

    def receive_waiting(self):
        """All frames that have come in by now."""
        frames = []
        while True:
            try:
                frames.append(self.socket.recv(65536))
            except BlockingIOError:
                return frames

    def close(self):
        self.socket.close()


class DatagramWire(Wire):
    """One UDP datagram on the loopback interface carries one frame."""

    def __init__(self, name):
        self.name = name
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
        sock.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))  # nobody else takes ports in this namespace
            self.qemu_port = probe.getsockname()[1]
        sock.connect(("127.0.0.1", self.qemu_port))
        super().__init__(sock)

    def netdev(self):
        here = self.socket.getsockname()[1]
        return (f"dgram,id={self.name},local.type=inet,local.host=127.0.0.1,local.port={self.qemu_port},"
                f"remote.type=inet,remote.host=127.0.0.1,remote.port={here}")


class TapWire(Wire):
    """A tap interface of several queues, spoken to by a packet socket: what qemu needs to give a NIC
    several queue pairs."""

    def __init__(self, name, queues, mtu=1500):
        self.name = name
        self.queues = queues
        with open("/dev/net/tun", "r+b", buffering=0) as tun:
            flags = IFF_TAP | IFF_NO_PI | (IFF_MULTI_QUEUE if queues > 1 else 0)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
            fcntl.ioctl(tun, TUNSETPERSIST, 1)
        interface_up(name, mtu)
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
        sock.bind((name, 0))
        super().__init__(sock)

    def netdev(self):
        return f"tap,id={self.name},ifname={self.name},queues={self.queues},script=no,downscript=no,vhost=off"


def receive(wires, expected, seconds):
    """Frames by wire until `expected` have come in, in all, or `seconds` have gone by."""
    got = {name: [] for name in wires}
    end = time.monotonic() + seconds
    while sum(len(frames) for frames in got.values()) < expected:
        left = end - time.monotonic()
        if left <= 0:
            break
        ready, _, _ = select.select([wire.socket for wire in wires.values()], [], [], left)
        for name, wire in wires.items():
            if wire.socket in ready:
                got[name] += wire.receive_waiting()
    return got
