# SPDX-License-Identifier: Apache-2.0
"""A fabric with its hosts, by `bfly lab`."""
import os

from .fabric import Fabric, connect
from .program import run


class Lab:
    """What `bfly lab up` made: a fabric, and hosts in which commands run. close(), or the end of a `with` block, removes it."""

    def __init__(self, fabric: Fabric, place: list[str]):
        self.fabric = fabric
        self._place = place

    def run(self, host: str, *command: str) -> str:
        """Runs a command in a host to its end and returns its standard output. Raises Error if it fails."""
        return run("lab", "exec", *self._place, host, "--", *command)

    def close(self) -> None:
        self.fabric.close()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lab(file: str | os.PathLike[str], *options: str, run_dir: str | os.PathLike[str] | None = None) -> Lab:
    """Makes the hosts of a topology file and starts its fabric, by `bfly lab up FILE OPTIONS`."""
    place = [] if run_dir is None else ["--run-dir", str(run_dir)]
    run("lab", "up", str(file), *options, *place)
    try:
        fabric = connect(run_dir=run_dir)
    except BaseException:
        run("lab", "down", *place)
        raise
    fabric.at_the_end = lambda: run("lab", "down", *place)
    return Lab(fabric, place)
