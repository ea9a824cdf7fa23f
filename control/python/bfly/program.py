# SPDX-License-Identifier: Apache-2.0
"""Runs the program `bfly` of the PATH."""
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import TypeVar

import grpc

from .errors import ArgumentError, Error

T = TypeVar("T")

_USAGE = 2  # the exit code of bfly for wrong usage
# How long an interrupted bfly may take to stop what it started: up to 25 seconds for each process.
_STOPPING_S = 120.0


class _Bfly:
    """`bfly WORDS`, in a session of its own: the terminal's Ctrl-C reaches Python alone, which then decides how bfly ends."""

    def __init__(self, words: Sequence[str], interrupted_by: signal.Signals | None):
        self._words, self._interrupted_by = words, interrupted_by
        # What this package starts and stops is on this machine, in a run directory.
        environment = {name: value for name, value in os.environ.items() if name != "BFLY_CONTROLLER"}
        try:
            self._process = subprocess.Popen(["bfly", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             encoding="utf-8", errors="replace", start_new_session=True, env=environment)
        except FileNotFoundError:
            raise Error(grpc.StatusCode.NOT_FOUND, "there is no program bfly in the PATH; install the package bfly") from None

    @property
    def succeeded(self) -> bool:
        return self._process.returncode == 0

    def end(self) -> subprocess.CompletedProcess[str]:
        """Waits for its end, which an exception such as KeyboardInterrupt brings about before it goes on."""
        try:
            out, err = self._process.communicate()
        except BaseException:
            if self._interrupted_by is not None and self._process.poll() is None:
                os.killpg(self._process.pid, self._interrupted_by)
            try:
                self._process.communicate(timeout=_STOPPING_S)
            except subprocess.TimeoutExpired:
                pass  # bfly goes on by itself; to kill it would leave behind what it has made
            raise
        return subprocess.CompletedProcess(self._words, self._process.returncode, out, err)

    def output(self) -> str:
        """Standard output. Raises Error with what it said on standard error."""
        done = self.end()
        if done.returncode:
            code = grpc.StatusCode.INVALID_ARGUMENT if done.returncode == _USAGE else grpc.StatusCode.UNKNOWN
            raise Error(code, done.stderr.strip().removeprefix("bfly: ") or f"bfly {self._words[0]}: exit {done.returncode}")
        return done.stdout


def ended(*words: str) -> subprocess.CompletedProcess[str]:
    """`bfly WORDS` after its end, whatever its exit code is."""
    return _Bfly(words, signal.SIGTERM).end()


def run(*words: str) -> str:
    """Standard output of `bfly WORDS`. Raises Error with what it said on standard error."""
    return _Bfly(words, signal.SIGTERM).output()


def take_down(*words: str) -> None:
    """`bfly WORDS`, which takes something down: an interrupt waits until it is through. Raises Error."""
    _Bfly(words, None).output()


# Options of `bfly up` and `bfly lab up` with which they would run elsewhere than where it is connected and taken down, or not end.
_NO_OPTIONS = {"--run-dir": "give it as run_dir=", "--controller": "give the directory of the controller as run_dir=",
               "--foreground": "a `with` block takes down what it brought up"}


def checked_options(options: Sequence[str]) -> Sequence[str]:
    """The options of a caller for something that is brought up. Raises ArgumentError for those that only the command line has."""
    for word in options:
        name = str(word).split("=", 1)[0]
        if name in _NO_OPTIONS:
            raise ArgumentError("options", f"{name} is not taken here; {_NO_OPTIONS[name]}")
    return options


def brought_up(up: Sequence[str], down: Sequence[str], connect: Callable[[], T]) -> T:
    """Brings something up by `bfly UP` and returns connect(). After an exception `bfly DOWN` takes down what UP has made."""
    bfly = _Bfly(up, signal.SIGTERM)
    try:
        bfly.output()
        return connect()
    except BaseException:
        # Otherwise nothing was made, or bfly has taken it down itself. What ran before is left alone.
        if bfly.succeeded:
            take_down(*down)
        raise
