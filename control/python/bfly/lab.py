# SPDX-License-Identifier: Apache-2.0
"""A fabric with its hosts, by `bfly lab`."""
import os

import grpc

from .errors import CommandError, Error
from .fabric import Fabric, connect, run_directory
from .program import brought_up, checked_options, ended, take_down


def _place_of(run_dir: str | os.PathLike[str] | None) -> list[str]:
    """What `bfly` is told of its run directory."""
    return [] if run_dir is None else ["--run-dir", str(run_dir)]


class Lab:
    """What `bfly lab up` made: a fabric, and hosts in which commands run. close(), or the end of a `with` block, removes it."""

    def __init__(self, fabric: Fabric, run_dir: str | os.PathLike[str] | None):
        self.fabric = fabric
        self._place = _place_of(run_dir)
        self._page = run_directory(run_dir) / "web.url"

    def run(self, host: str, *command: str) -> str:
        """Runs a command in a host to its end and returns its standard output. Raises CommandError if its exit code is not 0."""
        done = ended("lab", "exec", *self._place, host, "--", *command)
        if done.returncode:
            raise CommandError(f"{' '.join(command)} in {host}", done.returncode, done.stdout, done.stderr)
        return done.stdout

    @property
    def url(self) -> str:
        """Where the web page of the fabric is, if lab() was given the option --web. Else raises Error."""
        try:
            return self._page.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise Error(grpc.StatusCode.NOT_FOUND, "the lab has no web page; give lab() the option --web") from None

    def close(self) -> None:
        self.fabric.close()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lab(file: str | os.PathLike[str], *options: str, run_dir: str | os.PathLike[str] | None = None) -> Lab:
    """Makes the hosts of a topology file and starts its fabric, by `bfly lab up FILE OPTIONS`; which of them, as for up()."""
    down = ("lab", "down", *_place_of(run_dir))
    fabric = brought_up(("lab", "up", str(file), *checked_options(options), *_place_of(run_dir)), down,
                        lambda: connect(run_dir=run_directory(run_dir)))
    fabric.at_the_end = lambda: take_down(*down)
    return Lab(fabric, run_dir)
