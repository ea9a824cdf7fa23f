# SPDX-License-Identifier: Apache-2.0
"""One connection to bfly-controller, which all parts of a Fabric share."""
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import grpc

from .errors import ArgumentError, Error

T = TypeVar("T")

# A restarted controller is found again as soon as `bfly` finds it. A batch of many circuits is one message.
_OPTIONS = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 100),
            ("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def _file(variable: str) -> bytes | None:
    path = os.environ.get(variable)
    if not path:
        return None
    try:
        with open(path, "rb") as pem:
            return pem.read()
    except OSError as why:
        raise ArgumentError(f"${variable}", f"cannot read {path}: {why.strerror}") from None


def _channel(address: str) -> grpc.Channel:
    """At a Unix socket the kernel says who calls; TCP is encrypted, with the files that the command line would use."""
    if address.startswith("unix:"):
        return grpc.insecure_channel(address, options=_OPTIONS)
    ca, key, certificate = (_file(f"BFLY_TLS_{name}") for name in ("CA", "KEY", "CERT"))
    if ca is None:
        raise ArgumentError("$BFLY_TLS_CA", f"is not set, but {address} is reached by TCP, which is encrypted: name there the authority "
                            "that signed the controller's certificate (and your own certificate in $BFLY_TLS_CERT and $BFLY_TLS_KEY)")
    if (key is None) != (certificate is None):
        # gRPC would abort the whole program.
        missing, given = ("KEY", "CERT") if key is None else ("CERT", "KEY")
        raise ArgumentError(f"$BFLY_TLS_{missing}", f"is not set, but $BFLY_TLS_{given} is; a certificate and its key go together")
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate), options=_OPTIONS)


def _read(call: Any, answers: Callable[[Any], Iterator[T]], address: str, failures: Sequence[Exception]) -> Iterator[T]:
    try:
        for answer in call:
            yield from answers(answer)
    except grpc.RpcError as error:
        if not call.cancelled():  # by close()
            raise Error.of_call(error, address) from None
        return
    if failures:
        raise failures[0]


class Stream(Generic[T]):
    """Answers that come one after the other, until the stream is closed or the server ends it, or so many have come.

    It reads an answer when it is asked for one, and keeps none. A `with` block closes it, and so does losing it. Where it sends
    too, `failures` gets what stopped that, which is raised at the end.
    """

    _call: Any = None  # where __init__ of a class below this one has raised before there was a call

    def __init__(self, address: str, call: Any, answers: Callable[[Any], Iterator[T]], most: int | None = None,
                 failures: Sequence[Exception] = ()):
        self._call, self._most = call, most
        self._items = _read(call, answers, address, failures)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._most == 0:
            raise StopIteration
        item = next(self._items)
        if self._most is not None:
            self._most -= 1
            if self._most == 0:
                self.close()
        return item

    def close(self) -> None:
        if self._call is not None:
            self._call.cancel()

    def __enter__(self) -> "Stream[T]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Session:
    """A channel with what every call needs: the address for messages, a deadline, and the election id."""

    def __init__(self, address: str, timeout: float):
        self.address = address
        self.timeout = timeout
        self.election_id = 0
        self.channel = _channel(address)

    def with_election_id(self, request: Any) -> Any:
        """The request, or if it takes an id and has none, a copy with the id of the role that is held: the caller may send it again."""
        if not self.election_id or "election_id" not in request.DESCRIPTOR.fields_by_name or request.election_id:
            return request
        sent = type(request)()
        sent.CopyFrom(request)
        sent.election_id = self.election_id
        return sent

    def call(self, method: Callable[..., Any], request: Any, timeout: float | None = None) -> Any:
        """The answer of a method of a stub. Raises Error."""
        try:
            return method(self.with_election_id(request), timeout=self.timeout if timeout is None else timeout)
        except grpc.RpcError as error:
            raise Error.of_call(error, self.address) from None

    def first_answer(self, call: Any) -> Any:
        """The first answer of a call that is a stream; it gets as much time as another call. Raises Error."""
        late = threading.Timer(self.timeout, call.cancel)
        late.daemon = True
        late.start()
        try:
            return next(call)
        except StopIteration:
            raise Error(grpc.StatusCode.UNAVAILABLE, f"the controller at {self.address} ended the call before it answered") from None
        except grpc.RpcError as error:
            if call.cancelled():
                raise Error(grpc.StatusCode.DEADLINE_EXCEEDED,
                            f"the controller at {self.address} did not answer within {self.timeout:g} s") from None
            raise Error.of_call(error, self.address) from None
        finally:
            late.cancel()

    def close(self) -> None:
        self.channel.close()
