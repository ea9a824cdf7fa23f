# SPDX-License-Identifier: Apache-2.0
"""Circuits: reserved paths from an input row to an output row."""
import itertools
import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Union

from .errors import ArgumentError, Error, made
from .session import Session, Stream
from .v1 import circuits_pb2 as pb
from .v1 import circuits_pb2_grpc

Operation = Union[pb.SetUpRequest, pb.ReleaseRequest, pb.MoveRequest]
Link = tuple[int, int, int]  # stage, row, port

# A page of List; the controller gives at most 10,000.
_PAGE = 1000
_LONGEST_BATCH = 4096


def _ref(field: str, link: Link) -> pb.LinkRef:
    try:
        stage, row, port = link
    except ValueError:
        raise ArgumentError(field, f"{link!r} is not a link: (stage, row, port)") from None
    return made(pb.LinkRef, stage=stage, row=row, port=port)


def _refs(links: Iterable[Link]) -> list[pb.LinkRef]:
    return [_ref("avoid", link) for link in links]


def _id(circuit: pb.Circuit | int) -> int:
    return int(circuit) if isinstance(circuit, (int, numbers.Integral)) else circuit.id  # Integral: such as numpy's


def _outcome(result: pb.CircuitResult) -> pb.Circuit | Error:
    return Error.of_number(result.code, result.message) if result.code else result.circuit


def set_up(input: int, output: int, *, rows: Sequence[int] = (), ports: Sequence[int] = (), avoid: Iterable[Link] = (),
           protocol: str = "", seed: int = 0, key: str = "", in_band: bool = False) -> pb.SetUpRequest:
    """A request for a circuit. Without `rows` and `ports` the protocol chooses its path. `key` is an idempotency key."""
    return made(pb.SetUpRequest, input=input, output=output, rows=rows, ports=ports, avoid=_refs(avoid), protocol=protocol, seed=seed,
                idempotency_key=key, in_band=in_band)


def release(circuit: pb.Circuit | int) -> pb.ReleaseRequest:
    """A request to release a circuit, by itself or by its id."""
    return made(pb.ReleaseRequest, id=_id(circuit))


class Circuits:
    def __init__(self, session: Session):
        self._session = session
        self._stub = circuits_pb2_grpc.CircuitsStub(session.channel)

    def set_up(self, input: int, output: int, *, rows: Sequence[int] = (), ports: Sequence[int] = (),
               avoid: Iterable[Link] = (), protocol: str = "", seed: int = 0, key: str = "",
               in_band: bool = False) -> pb.Circuit:
        """Sets a circuit up. Frames that enter after the answer follow its path."""
        request = set_up(input, output, rows=rows, ports=ports, avoid=avoid, protocol=protocol, seed=seed, key=key,
                         in_band=in_band)
        answer: pb.SetUpResponse = self._session.call(self._stub.SetUp, request)
        return answer.circuit

    def set_up_many(self, requests: Iterable[pb.SetUpRequest], *, all_or_nothing: bool = False,
                    key: str = "") -> list[pb.Circuit | Error]:
        """Sets up what can be set up: a circuit or an Error for each request. With `all_or_nothing` it raises Error."""
        batch = pb.SetUpBatchRequest(requests=requests, all_or_nothing=all_or_nothing, idempotency_key=key)
        answer: pb.SetUpBatchResponse = self._session.call(self._stub.SetUpBatch, batch)
        return [_outcome(result) for result in answer.results]

    def release(self, circuit: pb.Circuit | int, *, key: str = "") -> pb.Circuit:
        request = made(pb.ReleaseRequest, id=_id(circuit), idempotency_key=key)
        answer: pb.ReleaseResponse = self._session.call(self._stub.Release, request)
        return answer.circuit

    def move(self, circuit: pb.Circuit | int, *, rows: Sequence[int] = (), ports: Sequence[int] = (),
             avoid: Iterable[Link] = (), protocol: str = "", seed: int = 0) -> pb.Circuit:
        """Gives a circuit another path between the same rows; at every moment one of the two paths holds."""
        request = made(pb.MoveRequest, id=_id(circuit), rows=rows, ports=ports, avoid=_refs(avoid), protocol=protocol, seed=seed)
        answer: pb.MoveResponse = self._session.call(self._stub.Move, request)
        return answer.circuit

    def list(self, *, input: int | None = None, output: int | None = None, link: Link | None = None,
             broken: bool | None = None) -> Iterator[pb.Circuit]:
        """The standing circuits that fit the filters. A page is read when the one before it is used up."""
        return self._pages(made(pb.ListRequest, input=input, output=output, page_size=_PAGE,
                                link=_ref("link", link) if link else None, broken=broken))

    def _pages(self, request: pb.ListRequest) -> Iterator[pb.Circuit]:
        while True:
            answer: pb.ListResponse = self._session.call(self._stub.List, request)
            yield from answer.circuits
            request.page_token = answer.next_page_token
            if not answer.next_page_token:
                return

    def watch(self) -> Stream[pb.WatchResponse]:
        """The standing circuits, then every change: take `removed` away, add `added`, replace `changed`."""
        return Stream(self._session.address, self._stub.Watch(pb.WatchRequest()), lambda answer: iter([answer]))

    def stream(self, operations: Iterable[Operation], *, batch: int = 256) -> Stream[pb.Circuit | Error]:
        """Carries out operations in their order, `batch` of them in a message, with a circuit or an Error for each.

        `operations` are requests that set_up() and release() of this module made, or MoveRequests; they are taken as the
        controller keeps up. An exception that taking them raises comes after the outcomes of the messages before it.
        """
        if not 1 <= batch <= _LONGEST_BATCH:
            raise ArgumentError("batch", f"{batch} is outside 1..{_LONGEST_BATCH}")

        failures: list[Exception] = []

        def messages() -> Iterator[pb.CircuitOperation]:
            try:
                source = iter(operations)
                while chunk := [self._operation(request) for request in itertools.islice(source, batch)]:
                    yield pb.CircuitOperation(batch=pb.CircuitOperations(operations=chunk))
            except Exception as failure:  # gRPC would end the call and say that something was raised, but not what
                failures.append(failure)

        def answers(answer: pb.CircuitResult) -> Iterator[pb.Circuit | Error]:
            # A message that is refused whole has no results of its own.
            return map(_outcome, answer.results or [answer])

        return Stream(self._session.address, self._stub.Stream(messages()), answers, failures=failures)

    def _operation(self, request: Operation) -> pb.CircuitOperation:
        request = self._session.with_election_id(request)
        if isinstance(request, pb.SetUpRequest):
            return pb.CircuitOperation(set_up=request)
        if isinstance(request, pb.ReleaseRequest):
            return pb.CircuitOperation(release=request)
        return pb.CircuitOperation(move=request)

    def route(self, permutation: str | Sequence[int] = "random", *, protocol: str = "minimum", seed: int = 0,
              replace: bool = False, dry_run: bool = False) -> pb.RoutePermutationResponse:
        """Routes a whole permutation and installs it: one by its name, or the output of every input row in turn."""
        named = isinstance(permutation, str)
        request = made(pb.RoutePermutationRequest, protocol=protocol, seed=seed, replace=replace, dry_run=dry_run,
                       permutation=permutation if named else None, inputs=None if named else range(len(permutation)),
                       outputs=None if named else permutation)
        answer: pb.RoutePermutationResponse = self._session.call(self._stub.RoutePermutation, request)
        return answer
