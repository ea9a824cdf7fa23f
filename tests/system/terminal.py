# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of the test's own: a pseudo-terminal, and pyte as the screen behind it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pyte

from lab import PATIENCE, wait_until

KEYS = {"up": "\x1bOA", "down": "\x1bOB", "home": "\x1bOH", "end": "\x1bOF", "page up": "\x1b[5~", "page down": "\x1b[6~",
        "tab": "\t", "back tab": "\x1b[Z", "enter": "\r", "escape": "\x1b"}


class Terminal:
    """Runs a command on a terminal until it ends. A thread reads what comes, so that the command never waits."""

    def __init__(self, command, columns=80, lines=24, **environment):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.seen = b""
        self.lock = threading.Lock()
        self.ours, theirs = pty.openpty()
        self._set_size(columns, lines)
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
        os.close(theirs)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            ready, _, _ = select.select([self.ours], [], [], PATIENCE)
            try:
                got = os.read(self.ours, 65536) if ready else b""
            except OSError:  # the program has ended
                return
            if not got:
                return
            with self.lock:
                self.seen += got
                self.stream.feed(got)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        with self.lock:
            self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def text(self):
        """The lines of the screen, without blanks at their ends."""
        with self.lock:
            return [line.rstrip() for line in self.screen.display]

    def backgrounds(self, line):
        """The background colour of each column of a line."""
        with self.lock:
            return [self.screen.buffer[line][column].bg for column in range(self.screen.columns)]

    def reversed_text(self, line):
        with self.lock:
            row = self.screen.buffer[line]
            return "".join(row[column].data for column in range(self.screen.columns) if row[column].reverse).strip()

    def press(self, *keys):
        for key in keys:
            os.write(self.ours, KEYS.get(key, key).encode())

    def until(self, holds, what):
        """Waits until `holds` is true of the screen's lines, and returns them."""

        def looks():
            lines = self.text()
            return lines if holds(lines) else None

        try:
            return wait_until(looks, what)
        except AssertionError as late:
            raise AssertionError("\n".join([str(late), *self.text()])) from late

    def until_text(self, wanted):
        return self.until(lambda lines: any(wanted in line for line in lines), f"'{wanted}' is on the screen")

    def wait(self):
        code = self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.reader.join(timeout=PATIENCE)
        os.close(self.ours)


def settle(seconds=0.3):
    """For what must not happen: nothing tells when it has not."""
    time.sleep(seconds)
