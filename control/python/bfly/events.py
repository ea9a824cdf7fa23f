# SPDX-License-Identifier: Apache-2.0
"""What happens to a fabric, as it happens."""
from collections.abc import Iterable

from .errors import ArgumentError, made
from .session import Session, Stream
from .v1 import events_pb2 as pb
from .v1 import events_pb2_grpc


def _value(argument: str, enum: str, name: str) -> str:
    """A value of an enum of Event, by its name in any case."""
    values = pb.Event.DESCRIPTOR.enum_types_by_name[enum].values
    known = [value.name for value in values if value.number]
    if name.upper() not in known:
        raise ArgumentError(argument, f"{name} is none of {', '.join(known).lower()}")
    return name.upper()


class Events(Stream[pb.Event]):
    """Events, one after the other. It has begun when it is made: what happens from then on is in it.

    `run_id` names the run of the controller, `newest` is the number of the newest event when the stream began, and
    `missed` counts events after `since` that the controller had no longer.
    """

    def __init__(self, session: Session, *, kinds: Iterable[str], severity: str, since: int | None, run_id: str, follow: bool):
        request = made(pb.WatchEventsRequest, kinds=[_value("kinds", "Kind", kind) for kind in kinds],
                       severity=_value("severity", "Severity", severity), run_id=run_id, past_only=not follow, since=since)
        stub = events_pb2_grpc.EventsStub(session.channel)
        super().__init__(session.address, stub.Watch(request), lambda event: iter([event]))
        first = session.first_answer(self._call)
        self.run_id: str = first.run_id
        self.newest: int = first.began.newest
        self.missed: int = first.missed
