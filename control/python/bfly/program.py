# SPDX-License-Identifier: Apache-2.0
"""Runs the program `bfly` of the PATH."""
import subprocess

import grpc

from .errors import Error

_USAGE = 2  # the exit code of bfly for wrong usage


def run(*words: str) -> str:
    """Standard output of `bfly WORDS`. Raises Error with what it said on standard error."""
    try:
        done = subprocess.run(["bfly", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        raise Error(grpc.StatusCode.NOT_FOUND, "there is no program bfly in the PATH; install the package bfly") from None
    if done.returncode:
        code = grpc.StatusCode.INVALID_ARGUMENT if done.returncode == _USAGE else grpc.StatusCode.UNKNOWN
        raise Error(code, done.stderr.strip().removeprefix("bfly: ") or f"bfly {words[0]}: exit {done.returncode}")
    return done.stdout
