#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The controllers of docs/examples against real daemons: they take the role, read counters, install paths."""
import json
import os
import signal
import sys

from lab import BUILD, PYTHON_PATH, ROOT, Lab, Process, run

TOPOLOGY = """
name: example
network: {kind: %s, rows: 16, seed: 7}
placement: [{stages: "0-%d", lcore: %d}]
"""


def bfly(lab, *arguments):
    return json.loads(run(BUILD / "bfly", *arguments, "--json", "--run-dir", lab.directory))


def daemon(lab, program, *arguments):
    return Process(lab, [BUILD / program, "--run-dir", lab.directory, *arguments], program).wait_for("answers at")


def example(name, address):
    return run("/usr/bin/python3", ROOT / "docs/examples" / name, address, env={**os.environ, "PYTHONPATH": PYTHON_PATH})


def try_on(name, kind, stages, lcore):
    with Lab() as lab:
        topology = lab.directory / "example.yaml"
        topology.write_text(TOPOLOGY % (kind, stages - 1, lcore))
        # A data plane started by hand; the controller takes over what it runs.
        data_plane = daemon(lab, "bfly-dataplane", "--no-huge", "--topology", topology)
        controller = daemon(lab, "bfly-controller")
        address = f"unix:{lab.directory}/controller.sock"
        said = example(name, address)
        assert "injected 0 = delivered 0 + dropped 0 + in flight 0" in said, said

        circuits = bfly(lab, "circuit", "list")["circuits"]
        assert [(c["input"], c["output"]) for c in circuits] == [(i, i ^ 1) for i in (0, 4, 8, 12)], circuits
        assert {c["choice"] for c in circuits} == {"given"}, circuits
        assert {len(c["rows"]) for c in circuits} == {stages + 1}, circuits
        for circuit in circuits:
            assert " ".join(map(str, circuit["rows"])) in said, said
        # A second run finds the rows busy, is told so, and goes on; the role was free again.
        again = example(name, address)
        assert again.count("FAILED_PRECONDITION input: ") == 4, again
        assert bfly(lab, "status")["primary_election_id"] == 0

        # Killed and started again, the controller knows the circuits still.
        controller.kill()
        daemon(lab, "bfly-controller")
        kept = bfly(lab, "circuit", "list")["circuits"]
        assert [(c["id"], c["rows"]) for c in kept] == [(c["id"], c["rows"]) for c in circuits], kept
        # Told to end, the data plane says where its packets went.
        data_plane.popen.send_signal(signal.SIGTERM)
        assert data_plane.popen.wait(60) == 0, data_plane.text()
        assert "conservation: injected 0 = delivered 0 + dropped 0 + in flight 0" in data_plane.text()
    print(f"{name} on a {kind}: as it should be")


def main():
    lcore = min(os.sched_getaffinity(0))
    try_on("controller.py", "two_fold_butterfly", 8, lcore)
    try_on("controller.py", "butterfly", 4, lcore)
    try_on("reflection.py", "two_fold_butterfly", 8, lcore)


if __name__ == "__main__":
    sys.exit(main())
