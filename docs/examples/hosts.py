#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Four hosts, circuits and traffic beside them. Needs root and python3-bfly. Usage: hosts.py [TOPOLOGY_FILE]"""
import sys

import bfly

with bfly.lab(sys.argv[1] if len(sys.argv) > 1 else "topologies/examples/demo.yaml") as lab:
    print(lab.run("h0", "ping", "-c", "3", "10.77.0.4"))
    others = lab.fabric.circuits.set_up_many([bfly.set_up(row, 19 - row) for row in range(4, 16)])
    lab.fabric.traffic.start(bfly.source("4-15", rate=2000, name="beside"))
    for picture in lab.fabric.telemetry.subscribe(0.5, bfly.links(top=1), pictures=4):
        fullest, account = picture.links[0], picture.conservation
        print(f"{fullest.circuits} circuits on s{fullest.stage} r{fullest.row} p{fullest.port};", account.delivered, "delivered")
    print(lab.run("h1", "ping", "-c", "3", "10.77.0.3"), len(others), "circuits stood meanwhile")
