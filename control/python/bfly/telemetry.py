# SPDX-License-Identifier: Apache-2.0
"""Counters of links, ports and workers: now, or as a stream of pictures."""
import math
from collections.abc import Iterable

from .errors import ArgumentError, made
from .session import Session, Stream
from .v1 import telemetry_pb2 as pb
from .v1 import telemetry_pb2_grpc


def links(*, stages: Iterable[int] = (), rows: Iterable[int] = (), ports: Iterable[int] = (), top: int = 0,
          nonzero: bool = False) -> pb.CounterFilter:
    """Which links a picture has: those of some stages, rows and ports, the `top` fullest, those that carried something."""
    return made(pb.CounterFilter, stages=stages, rows=rows, ports=ports, top=top, nonzero=nonzero)


# No link at all: ports, workers and the account of packets.
SUMMARY = pb.CounterFilter(summary=True)


class Telemetry:
    def __init__(self, session: Session):
        self._session = session
        self._stub = telemetry_pb2_grpc.TelemetryStub(session.channel)

    def read(self, only: pb.CounterFilter | None = None) -> pb.Counters:
        """The counters now."""
        answer: pb.Counters = self._session.call(self._stub.GetCounters, pb.GetCountersRequest(filter=only))
        return answer

    def subscribe(self, every: float = 1.0, only: pb.CounterFilter | None = None, *, on_change: bool = False,
                  pictures: int | None = None) -> Stream[pb.Counters]:
        """A picture at once, then one every `every` seconds (0.01 to 60), or with what changed when something did.

        It ends after `pictures` pictures; None: never. Nothing is kept for a client that reads too slowly: pictures in
        between are left out, `skipped` counts them, and a client that has not read for 5 s is cancelled.
        """
        if pictures is not None and pictures < 1:
            raise ArgumentError("pictures", f"{pictures} is below 1")
        if not 0 <= every < math.inf:
            raise ArgumentError("every", f"{every} is not a valid interval")
        mode = pb.SubscribeRequest.ON_CHANGE if on_change else pb.SubscribeRequest.SAMPLE
        request = made(pb.SubscribeRequest, mode=mode, interval_ms=round(every * 1000), filter=only)
        return Stream(self._session.address, self._stub.Subscribe(request), lambda picture: iter([picture]), pictures)
