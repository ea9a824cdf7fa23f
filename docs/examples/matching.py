#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A controller that follows demand: twenty times a second it reads who sends to whom, and the heaviest pairs get circuits.

The XDP program of a port counts the frames for each row. Port hN is taken to be at row N, as in
topologies/examples/demo.yaml; `sudo bfly lab up topologies/examples/demo.yaml` makes the hosts. Needs python3-bfly.
Usage: matching.py
"""
from collections.abc import Iterator

import bfly

Pair = tuple[int, int]  # input row, output row
EVERY_S = 0.05


def matching(demand: dict[Pair, int]) -> set[Pair]:
    """The heaviest pair, then the heaviest whose rows are free, and so on: at least half of the largest weight there is."""
    inputs, outputs, chosen = set(), set(), set()
    for pair in sorted(demand, key=lambda pair: (-demand[pair], pair)):
        if demand[pair] > 0 and pair[0] not in inputs and pair[1] not in outputs:
            inputs.add(pair[0])
            outputs.add(pair[1])
            chosen.add(pair)
    return chosen


def follow(fabric: bfly.Fabric) -> Iterator[tuple[int, set[Pair]]]:
    """Moves circuits after the demand. Yields the time of each report and the pairs that have circuits after it."""
    circuits = {(c.input, c.output): c for c in fabric.circuits.list()}
    before: dict[Pair, int] | None = None
    for report in fabric.telemetry.subscribe(EVERY_S, bfly.SUMMARY):
        frames = {(int(port.name[1:]), count.row): count.packets for port in report.ports for count in port.xdp_rows}
        # The first report only says from where to count.
        before = frames if before is None else before
        wanted = matching({pair: count - before.get(pair, 0) for pair, count in frames.items()})
        before = frames
        # A pair that sends nothing keeps its circuit until another pair needs one of its rows.
        for pair in set(circuits) - wanted:
            if any(pair[0] == new[0] or pair[1] == new[1] for new in wanted):
                fabric.circuits.release(circuits.pop(pair))
        for pair in wanted - circuits.keys():
            circuits[pair] = fabric.circuits.set_up(*pair)
        yield report.time_ns, set(circuits)


if __name__ == "__main__":
    with bfly.connect() as fabric, fabric.primary():
        last: set[Pair] = set()
        for _, pairs in follow(fabric):
            if pairs != last:
                print("circuits:", *(f"{source} -> {target}" for source, target in sorted(pairs)), flush=True)
            last = pairs
