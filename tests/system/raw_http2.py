# SPDX-License-Identifier: Apache-2.0
"""gRPC calls of clients that no gRPC library would make: requests that never end, answers that are never read."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
MOST_QUEUED = 1 << 20
FIRST_WINDOW = 65535  # bytes that a client may send before the server gives it more


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _header(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def headers(method, timeout=None):
    fields = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", method.encode()), (b":authority", b"localhost"),
              (b"te", b"trailers"), (b"content-type", b"application/grpc")]
    if timeout:
        fields.append((b"grpc-timeout", timeout))
    return b"".join(_header(*field) for field in fields)


class Connection:
    """Begins calls and keeps the transport's rules, so that the server has no reason to close it.

    `message` is what each call sends, or what it is given for its number; the last `kept_back` bytes never come.
    `timeout` is that of every call, as gRPC writes it: b"1m" is a millisecond. Answers are read from the
    socket as far as the server may send them, which is one window, `answer_window` bytes for each call: it is never
    enlarged."""

    def __init__(self, path, method, calls, message, kept_back=0, timeout=None, answer_window=65535):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.setblocking(False)
        self.whole = kept_back == 0
        self.out = bytearray(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, answer_window)))
        self.input = b""
        self.window = self.first_window = FIRST_WINDOW
        self.most = 16384
        self.windows = {1 + 2 * i: 0 for i in range(calls)}
        self.sent = dict.fromkeys(self.windows, 0)
        self.bodies = {}
        for number, stream in enumerate(self.windows):
            content = message(number) if callable(message) else message
            body = struct.pack(">BI", 0, len(content)) + content
            self.bodies[stream] = memoryview(body)[: len(body) - kept_back]
            self.out += frame(HEADERS, END_HEADERS, stream, headers(method, timeout))
        self.closed = False
        self.written = 0  # bytes

    def close(self):
        self.socket.close()

    def step(self):
        """Reads and writes what can be at once; whether anything moved."""
        if self.closed:
            return False
        try:
            moved = self._read()
            self._fill()
            if self.out:
                moved |= self._write()
        except BlockingIOError:
            return False
        except OSError:
            self.closed = True
            return False
        return moved

    def _read(self):
        try:
            came = self.socket.recv(1 << 20)
        except BlockingIOError:
            return False
        if not came:
            raise ConnectionResetError
        self.input += came
        while len(self.input) >= 9:
            length = int.from_bytes(self.input[:3], "big")
            if len(self.input) < 9 + length:
                break
            kind, flags = self.input[3], self.input[4]
            stream = int.from_bytes(self.input[5:9], "big") & 0x7FFFFFFF
            payload, self.input = self.input[9:9 + length], self.input[9 + length:]
            self._take(kind, flags, stream, payload)
        return True

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            for number, value in struct.iter_unpack(">HI", payload):
                if number == 4:
                    self.first_window = value
                elif number == 5:
                    self.most = value
            self.out += frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.out += frame(PING, ACK, 0, payload)
        elif kind == WINDOW:
            more = struct.unpack(">I", payload)[0]
            if stream == 0:
                self.window += more
            elif stream in self.windows:
                self.windows[stream] += more
        elif kind == RESET or (kind == HEADERS and flags & END_STREAM):
            self.sent.pop(stream, None)

    def _fill(self):
        for stream in list(self.sent):
            body = self.bodies[stream]
            while self.sent[stream] < len(body) and len(self.out) < MOST_QUEUED:
                room = min(self.window, self.first_window + self.windows[stream], self.most)
                if room <= 0:
                    break
                begin = self.sent[stream]
                piece = body[begin:begin + room]
                last = self.whole and begin + len(piece) == len(body)
                self.out += frame(DATA, END_STREAM if last else 0, stream, bytes(piece))
                self.sent[stream] += len(piece)
                self.window -= len(piece)
                self.windows[stream] -= len(piece)

    def _write(self):
        count = self.socket.send(self.out)
        del self.out[:count]
        self.written += count
        return count > 0
