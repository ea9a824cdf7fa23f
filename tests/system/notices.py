# SPDX-License-Identifier: Apache-2.0
"""What a service manager gets to hear of a daemon (sd_notify), and threads of a daemon that are stopped for a while."""

import ctypes
import os
import pathlib
import socket
import time

import lab

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WAIT_FOR_THREADS = 0x40000000  # __WALL


class NotifySocket:
    """The socket of a service manager."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def close(self):
        self.socket.close()

    def environment(self, watchdog_s=None):
        values = {**os.environ, "NOTIFY_SOCKET": self.path}
        if watchdog_s is not None:
            values["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        return values

    def wait_for(self, wanted):
        """The first message that has `wanted`; those before it are dropped."""
        deadline = time.monotonic() + lab.PATIENCE
        heard = []
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                heard.append(self.socket.recv(65536).decode())
            except TimeoutError:
                break
            if wanted in heard[-1]:
                return heard[-1]
        raise AssertionError(f"no {wanted} in {heard}")

    def heard_for(self, seconds):
        """Every message that comes within so many seconds from now, without those that came before."""
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(65536)
        except BlockingIOError:
            pass
        heard = []
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                heard.append(self.socket.recv(65536).decode())
            except TimeoutError:
                pass
        return heard


class StoppedThreads:
    """`with StoppedThreads(pid, "rte-worker"):` the threads with such a name do nothing within the block."""

    def __init__(self, pid, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        self.threads = [int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                        if (task / "comm").read_text().startswith(name)]
        if not self.threads:
            raise AssertionError(f"process {pid} has no thread {name}")

    def _ptrace(self, request, thread):
        if self.libc.ptrace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of thread {thread}")

    def __enter__(self):
        for thread in self.threads:
            self._ptrace(PTRACE_SEIZE, thread)
            self._ptrace(PTRACE_INTERRUPT, thread)
            os.waitpid(thread, WAIT_FOR_THREADS)
        return self

    def __exit__(self, *_):
        for thread in self.threads:
            self._ptrace(PTRACE_DETACH, thread)
