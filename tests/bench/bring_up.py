# SPDX-License-Identifier: Apache-2.0
"""How long `bfly up` of a 1,024-row fabric takes until the first frame is forwarded: from the start of the
command to the first answer to a ping between two hosts on AF_XDP ports. Floor: under 5 seconds.

    sudo BFLY_BUILD=build /usr/bin/python3 tests/bench/bring_up.py [--runs N] [--rows N] [--json]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from lab import BUILD, Lab, run  # noqa: E402

FLOOR_SECONDS = 5.0


def topology(rows):
    stages = 2 * (rows.bit_length() - 1)
    cpus = sorted(os.sched_getaffinity(0))
    return f"""
name: bring-up
network: {{kind: two_fold_butterfly, rows: {rows}, seed: 1}}
placement:
  - {{stages: 0-{stages // 2 - 1}, lcore: {cpus[0]}}}
  - {{stages: {stages // 2}-{stages - 1}, lcore: {cpus[-1]}}}
ports:
  - {{name: h0, device: "net_af_xdp,iface=bf0", rows: 0}}
  - {{name: h1, device: "net_af_xdp,iface=bf1", rows: {rows - 1}}}
"""


def one_run(rows):
    """(seconds until `bfly up` came back, seconds until the first answer)."""
    with Lab() as lab:
        switch = lab.namespace("sw")
        host = lab.host("h0", switch, "bf0", "10.77.0.1/24")
        lab.host("h1", switch, "bf1", "10.77.0.2/24")
        file = lab.directory / "topology.yaml"
        file.write_text(topology(rows))
        bfly = [str(BUILD / "bfly")]
        run_dir = ["--run-dir", str(lab.directory / "run")]
        # Asks 50 times a second from before the start, and ends with the first answer.
        ping = subprocess.Popen(host.argv("ping", "-i", "0.02", "-c", "1", "-w", "60", "10.77.0.2"),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            start = time.monotonic()
            up = subprocess.Popen(switch.argv(*bfly, "up", str(file), *run_dir), stdout=subprocess.DEVNULL)
            # Neither of the two may wait for the other.
            came_back = answered = None
            while came_back is None or answered is None:
                if came_back is None and up.poll() is not None:
                    came_back = time.monotonic() - start
                if answered is None and ping.poll() is not None:
                    answered = time.monotonic() - start
                time.sleep(0.005)
            if up.returncode or ping.returncode:
                raise SystemExit(f"bfly up ended with {up.returncode}, ping with {ping.returncode}")
            return came_back, answered
        finally:
            ping.kill()
            ping.wait()
            run(*bfly, "down", *run_dir, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs = [one_run(options.rows) for _ in range(options.runs)]
    up = [came_back for came_back, _ in runs]
    first = [answered for _, answered in runs]
    result = {"rows": options.rows, "runs": options.runs, "up_seconds": statistics.median(up),
              "first_frame_seconds": statistics.median(first), "first_frame_slowest": max(first),
              "floor_seconds": FLOOR_SECONDS}
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{options.rows} rows, {options.runs} runs: bfly up came back after {result['up_seconds']:.2f} s, "
              f"first frame forwarded and answered after {result['first_frame_seconds']:.2f} s "
              f"(median; slowest {max(first):.2f} s; floor {FLOOR_SECONDS:.0f} s)")
    sys.exit(0 if statistics.median(first) < FLOOR_SECONDS else 1)


if __name__ == "__main__":
    main()
