# SPDX-License-Identifier: Apache-2.0
"""Built-in sources, which drive a fabric without a tester."""
import numbers
from collections.abc import Sequence
from typing import Any

from .errors import ArgumentError, made, value_of
from .session import Session
from .v1 import traffic_pb2 as pb
from .v1 import traffic_pb2_grpc

# The destinations that are not patterns.
_DESTINATIONS = {"circuit": pb.TrafficSource.CIRCUIT, "uniform": pb.TrafficSource.UNIFORM}


def source(rows: str = "", *, rate: float = 1000, to: str | int | Sequence[int] = "circuit", name: str = "", bytes: int = 64,
           packets: int = 0, process: str = "constant", slot: float = 0, on: float = 0, duty: float | None = None, p: float | None = None,
           hotspots: Sequence[int] = (), weights: Sequence[int] = (), seed: int = 0, priority: int = 0,
           latency: bool = False) -> pb.TrafficSource:
    """A source at each of some input rows, such as "0-3,8" (left out: all), as `bfly traffic start` has it.

    rate     packets a second of each row; 0: as fast as the worker allows
    to       "circuit" (the output of the row's circuit), "uniform", a row, the name of a pattern such as "bitrev" or
             "hotspot", or the output of every row in turn
    packets  of each row; 0: until the source is stopped
    process  "constant", "poisson", "bernoulli", "on-off" or "slotted-batch"; the last three take slot, on and duty
    duty     of "on-off", left out: 0.5
    p        of the pattern "p-flip", left out: 0.5; hotspots and weights are those of the pattern "hotspot"
    """
    number = value_of("process", process, dict(pb.TrafficSource.Process.items()))
    on_off = number == pb.TrafficSource.ON_OFF
    hotspots, weights = list(hotspots), list(weights)
    pattern = to if isinstance(to, str) else ""
    for argument, given, taken, taker in (("duty", duty is not None, on_off, 'process="on-off"'),
                                          ("p", p is not None, pattern == "p-flip", 'to="p-flip"'),
                                          ("hotspots", bool(hotspots), pattern == "hotspot", 'to="hotspot"'),
                                          ("weights", bool(weights), pattern == "hotspot", 'to="hotspot"')):
        if given and not taken:
            raise ArgumentError(argument, f"only {taker} takes it")
    more: dict[str, Any] = {"duty": 0.5 if duty is None else duty} if on_off else {}
    if isinstance(to, (int, numbers.Integral)):  # such as numpy's
        more |= {"destination": pb.TrafficSource.ROW, "row": int(to)}
    elif not isinstance(to, str):
        more |= {"destination": pb.TrafficSource.PATTERN, "pattern": "permutation", "permutation": to}
    elif to in _DESTINATIONS:
        more["destination"] = _DESTINATIONS[to]
    else:
        more |= {"destination": pb.TrafficSource.PATTERN, "pattern": to, "hotspots": hotspots, "weights": weights}
        if to == "p-flip":
            more["p"] = 0.5 if p is None else p
    return made(pb.TrafficSource, name=name, rows=rows, packets_per_second=rate, bytes=bytes, packets=packets, seed=seed,
                priority=priority, latency=latency, slot=slot, on=on, process=number, **more)


class Traffic:
    def __init__(self, session: Session):
        self._session = session
        self._stub = traffic_pb2_grpc.TrafficStub(session.channel)

    def start(self, *sources: pb.TrafficSource) -> None:
        """Adds sources to the running ones. A source with a name replaces the one of that name; the nameless ones of a
        call replace the nameless ones that run."""
        self._session.call(self._stub.Start, pb.StartTrafficRequest(sources=sources))

    def stop(self, *names: str) -> None:
        """Stops the sources of these names; without a name, all."""
        self._session.call(self._stub.Stop, pb.StopTrafficRequest(names=names))

    def list(self) -> list[pb.TrafficSourceStatus]:
        """The sources, and what each has sent."""
        return list(self._state().sources)

    def latency(self) -> pb.LatencyReport:
        """The latency of delivered packets, since a source with `latency` was started."""
        return self._state().latency

    def _state(self) -> pb.ListTrafficResponse:
        answer: pb.ListTrafficResponse = self._session.call(self._stub.List, pb.ListTrafficRequest())
        return answer
