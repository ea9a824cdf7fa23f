# SPDX-License-Identifier: Apache-2.0
"""The primary role: who has it is the only client that may change the fabric."""
import queue
import random
import threading

import grpc

from .errors import Error, FieldError, made
from .session import Session
from .v1 import fabric_pb2, fabric_pb2_grpc

# How long the end of a `with` block waits until the controller has taken the role back.
_LEAVING_S = 5.0


class Role:
    """The primary role for the time of a `with` block. All calls of the connection carry its election id meanwhile."""

    def __init__(self, session: Session, election_id: int | None):
        self.election_id = random.randrange(1, 2**32) if election_id is None else election_id
        self._session = session
        self._requests: queue.SimpleQueue[fabric_pb2.ArbitrateRequest | None] = queue.SimpleQueue()
        self._held = False

    @property
    def held(self) -> bool:
        """False once a client with a larger id has taken the role, or the controller has ended."""
        return self._held

    def __enter__(self) -> "Role":
        if self._session.election_id:
            raise Error(grpc.StatusCode.FAILED_PRECONDITION, "this connection holds the primary role already")
        self._requests.put(made(fabric_pb2.ArbitrateRequest, election_id=self.election_id))
        stub = fabric_pb2_grpc.FabricStub(self._session.channel)
        self._call = stub.Arbitrate(iter(self._requests.get, None))
        try:
            first = self._session.first_answer(self._call)
        except BaseException:
            self._requests.put(None)
            self._call.cancel()
            raise
        self._held = first.primary
        self._reader = threading.Thread(target=self._listen, name="bfly primary role", daemon=True)
        self._reader.start()
        if not first.primary:
            self._leave()
            wrong = FieldError("election_id", f"another client is primary with id {first.election_id}; a larger id than "
                                              f"{self.election_id} would take the role from it")
            raise Error(grpc.StatusCode.PERMISSION_DENIED, f"{wrong.field}: {wrong.description}", (wrong,))
        self._session.election_id = self.election_id
        return self

    def __exit__(self, *_: object) -> None:
        self._session.election_id = 0
        self._leave()

    def _listen(self) -> None:
        try:
            for answer in self._call:
                self._held = answer.primary
        except grpc.RpcError:
            pass
        self._held = False

    def _leave(self) -> None:
        self._requests.put(None)
        self._reader.join(_LEAVING_S)
        self._call.cancel()
