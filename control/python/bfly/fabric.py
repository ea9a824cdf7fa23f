# SPDX-License-Identifier: Apache-2.0
"""The connection of a program to a fabric that runs."""
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import grpc

from .circuits import Circuits
from .errors import ArgumentError
from .events import Events
from .faults import Links, Nodes
from .ports import Ports
from .program import brought_up, checked_options, take_down
from .programs import Programs
from .role import Role
from .schedules import Schedules
from .session import Session
from .telemetry import Telemetry
from .traffic import Traffic
from .v1 import fabric_pb2, fabric_pb2_grpc

_RUN_DIR = "/run/bfly"


class Fabric:
    """A fabric, through its controller. Every method raises bfly.Error if the controller refuses or does not answer."""

    def __init__(self, address: str, timeout: float):
        self._session = Session(address, timeout)
        self._stub = fabric_pb2_grpc.FabricStub(self._session.channel)
        self.circuits = Circuits(self._session)
        self.telemetry = Telemetry(self._session)
        self.schedules = Schedules(self._session)
        self.traffic = Traffic(self._session)
        self.programs = Programs(self._session)
        self.links = Links(self._session)
        self.nodes = Nodes(self._session)
        self.ports = Ports(self._session)
        # Called by the first close().
        self.at_the_end: Callable[[], object] | None = None

    def status(self) -> fabric_pb2.FabricStatus:
        """What is loaded, the data planes, and the account of packets."""
        answer: fabric_pb2.StatusResponse = self.call(self._stub.Status, fabric_pb2.StatusRequest())
        return answer.status

    def describe(self, *, links: bool = False) -> fabric_pb2.DescribeResponse:
        """The network: rows, stages, how a tag is laid out, and its links if asked."""
        answer: fabric_pb2.DescribeResponse = self.call(self._stub.Describe, fabric_pb2.DescribeRequest(links=links))
        return answer

    def events(self, *, kinds: Iterable[str] = (), severity: str = "debug", since: int | None = None, run_id: str = "",
               follow: bool = True) -> Events:
        """What happens to the fabric: events of these kinds (none: all) that are at least so urgent.

        With `since` first come the events after that number that the controller still has; 0: all of them. After a
        restart of the controller give the run_id of the number too. Without `follow` it ends with what has happened.
        """
        return Events(self._session, kinds=kinds, severity=severity, since=since, run_id=run_id, follow=follow)

    def primary(self, election_id: int | None = None) -> Role:
        """The primary role, for a `with` block; left out: a random id. Raises PERMISSION_DENIED if a larger id has it."""
        return Role(self._session, election_id)

    @property
    def channel(self) -> grpc.Channel:
        """For stubs of bfly.v1 that have no method here, such as data_server_pb2_grpc.DataServerStub."""
        return self._session.channel

    def call(self, method: Callable[..., Any], request: Any, timeout: float | None = None) -> Any:
        """A call of such a stub's method, with the election id of the role that is held, and with errors as bfly.Error."""
        return self._session.call(method, request, timeout)

    def close(self) -> None:
        self._session.close()
        last, self.at_the_end = self.at_the_end, None
        if last:
            last()

    def __enter__(self) -> "Fabric":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_directory(run_dir: str | os.PathLike[str] | None) -> pathlib.Path:
    """Where `bfly` looks for the controller: in `run_dir`, else in $BFLY_RUN_DIR, else in /run/bfly."""
    directory = pathlib.Path(run_dir or os.environ.get("BFLY_RUN_DIR") or _RUN_DIR)
    if any(sign in str(directory) for sign in "#?%"):
        raise ArgumentError("run_dir", f"{directory} has a '#', '?' or '%', with which gRPC does not find the sockets in it")
    return directory


def connect(address: str | None = None, *, run_dir: str | os.PathLike[str] | None = None, timeout: float = 60.0) -> Fabric:
    """Connects to a controller: at `address`, else at the Unix socket in `run_dir`, else where `bfly` would look.

    That is $BFLY_CONTROLLER, else controller.sock in $BFLY_RUN_DIR, else in /run/bfly. Calls get `timeout` seconds each.
    """
    if address is None and run_dir is None:
        address = os.environ.get("BFLY_CONTROLLER") or None
    if address is None:
        address = f"unix:{run_directory(run_dir)}/controller.sock"
    fabric = Fabric(address, timeout)
    try:
        fabric.status()
    except BaseException:
        fabric.close()
        raise
    return fabric


def up(file: str | os.PathLike[str], *options: str, run_dir: str | os.PathLike[str] | None = None) -> Fabric:
    """Starts a fabric by `bfly up FILE OPTIONS` and connects to it. close(), or the end of a `with` block, is `bfly down`.

    --run-dir is given as run_dir; --controller and --foreground are not taken.
    """
    where = [] if run_dir is None else ["--run-dir", str(run_dir)]
    fabric = brought_up(("up", str(file), *checked_options(options), *where), ("down", *where),
                        lambda: connect(run_dir=run_directory(run_dir)))
    fabric.at_the_end = lambda: take_down("down", *where)
    return fabric
