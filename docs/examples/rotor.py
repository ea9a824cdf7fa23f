#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts on a rotor: in every slot each row reaches another one. Needs root and python3-bfly. Usage: rotor.py [TOPOLOGY_FILE]"""
import sys

import bfly

with bfly.lab(sys.argv[1] if len(sys.argv) > 1 else "topologies/examples/demo.yaml", "--web", "127.0.0.1:0") as lab:
    print(f"The page is at {lab.url}", flush=True)
    lab.fabric.schedules.start("rotor", slot="200us", guard="10us")
    lab.fabric.traffic.start(bfly.source("4-15", rate=2000, to="uniform", packets=4000))
    print(lab.run("h0", "ping", "-c", "5", "-i", "0.2", "10.77.0.4"))
    for slot in lab.fabric.schedules.stop().slots:
        print(f"slot {slot.slot}: {slot.frames} frames, {slot.waited} of them waited {slot.mean_wait_ns / 1e3:.0f} us on average")
