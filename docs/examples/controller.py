#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A controller of your own: it takes the primary role, installs paths it chose by itself, and reads counters.

Needs python3-bfly. Usage: controller.py [ADDRESS]    (left out: where `bfly` finds the fabric)
"""
import random
import sys

import bfly

with bfly.connect(sys.argv[1] if len(sys.argv) > 1 else None) as fabric, fabric.primary():
    # Through a random row in the middle (Valiant), where there is one.
    network = fabric.describe()
    bits = network.rows.bit_length() - 1
    for source in range(0, network.rows, 4):
        target, middle, rows = source ^ 1, random.randrange(network.rows), [source]
        for bit in network.tag.layout:  # the hop sets this position of the row, 1 is the leftmost
            mask, goal = 1 << (bits - bit.position), target if bit.hop >= network.dilation - bits else middle
            rows.append(rows[-1] & ~mask | goal & mask)
        try:
            circuit = fabric.circuits.set_up(source, target, rows=rows)
            print("circuit", circuit.id, ":", *circuit.rows)
        except bfly.Error as error:  # busy, or a data plane is away: error.field names the field
            print(source, "->", target, error.code.name, error.message)

    now = fabric.telemetry.read(bfly.links(top=3))
    for link in now.links:
        print(f"s{link.stage} r{link.row} p{link.port}: {link.circuits} circuits, {link.packets} packets")
    c = now.conservation
    print(f"injected {c.injected} = delivered {c.delivered} + dropped {c.dropped} + in flight {c.in_flight}")
