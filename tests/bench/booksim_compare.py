#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the virtual clock beside BookSim2's 2-ary n-fly: latency over load, saturation, hops a second.

Needs a booksim program of your own (--booksim). Load is the share of the time that a link is busy.
BookSim has 2^n terminals and as many links between stages; bfly's butterfly of 2^n rows has two a
row, each fed as one of BookSim's is, so waiting times compare and hops are counted alike. Example:

    tests/bench/booksim_compare.py --booksim ~/booksim2/src/booksim --n 3 6 --svg curves.svg
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# As near to a queue with unit service for each output as its input-queued router comes: many virtual
# channels, no time for routing, and a crossbar twice as fast as the links.
SETTINGS = {
    "topology": "fly", "k": 2, "routing_function": "dest_tag", "traffic": "uniform",
    "injection_process": "bernoulli", "packet_size": 1, "num_vcs": 16, "vc_buf_size": 64,
    "routing_delay": 0, "speculative": 1, "internal_speedup": "2.0", "sim_type": "latency",
    "latency_thres": "100000.0", "warmup_periods": 1, "max_samples": 3,
}


def run_booksim(program, n, load, period, seed):
    """Latency in cycles, accepted load, hops a second by its own timer."""
    settings = dict(SETTINGS, n=n, injection_rate=load, sample_period=period, seed=seed)
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.writelines(f"{key} = {value};\n" for key, value in settings.items())
        file.flush()
        done = subprocess.run([program, file.name], capture_output=True, text=True, timeout=600)
    def last(pattern):
        found = re.findall(pattern, done.stdout)
        if not found:
            sys.exit(f"booksim_compare: no '{pattern}' in what {program} printed:\n"
                     + done.stdout[-500:] + done.stderr[-500:])
        return float(found[-1])
    latency = last(r"Packet latency average = (\S+)")
    accepted = last(r"Accepted packet rate average = (\S+)")
    hops = accepted * 2**n * n * last(r"Time taken is (\d+) cycles")
    return latency, accepted, hops / max(last(r"Total run time (\S+)"), 1e-3)


def run_bfly(program, n, load, seed):
    """Mean delay in units of service, hops a second; BookSim's load is the share of busy time."""
    out = subprocess.run([program, "bench", "virtual", "--rows", str(2**n), "--load", str(load),
                          "--runs", "3", "--seed", str(seed), "--json"],
                         capture_output=True, text=True, check=True, timeout=600).stdout
    result = json.loads(out)
    return result["mean_delay"], result["hops_per_second"]


def draw(file, rows):
    sizes = sorted({row["n"] for row in rows})
    data, plots = "", []
    for n in sizes:
        data += f"$n{n} << EOD\n"
        for row in rows:
            if row["n"] == n:
                data += f"{row['load']} {row['booksim_wait']} {row['bfly_wait']}\n"
        data += "EOD\n"
        plots += [f"$n{n} using 1:2 with linespoints dashtype 2 title 'BookSim2, n = {n}'",
                  f"$n{n} using 1:3 with linespoints title 'bfly, n = {n}'"]
    script = (f"set terminal svg size 640,420\nset output '{file}'\n" + data +
              "set xlabel 'load'\nset ylabel 'waiting, cycles or units'\nset key left top\n"
              "set yrange [0:*]\nplot " + ", ".join(plots) + "\n")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--booksim", required=True, metavar="PROGRAM", help="a booksim to run")
    parser.add_argument("--bfly", default="build/bfly", metavar="PROGRAM")
    parser.add_argument("--n", type=int, nargs="+", default=[3, 6], help="stages: 2^n rows")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.01, 0.3, 0.5, 0.7, 0.8, 0.9],
                        help="ascending; waiting is counted from the first")
    parser.add_argument("--period", type=int, default=1000, help="cycles of a sample of BookSim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", metavar="FILE", help="draw the curves with gnuplot")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for load in args.loads:
        if not 0 < load < 1:
            parser.error(f"--loads: {load} is not above 0 and below 1")
    for program in (args.booksim, args.bfly):
        if not os.access(program, os.X_OK):
            parser.error(f"{program}: no program that can be run")

    rows = []
    if not args.json:
        print("  n  load  accepted  latency  waiting | bfly delay  waiting | hops/s: BookSim2"
              "        bfly  ratio")
    for n in args.n:
        base = None
        for load in args.loads:
            latency, accepted, slow = run_booksim(args.booksim, n, load, args.period, args.seed)
            delay, fast = run_bfly(args.bfly, n, load, args.seed)
            base = latency if base is None else base
            rows.append({"n": n, "load": load, "booksim_accepted": accepted,
                         "booksim_latency": latency, "booksim_wait": latency - base,
                         "booksim_saturated": accepted < 0.97 * load,
                         "bfly_delay": delay, "bfly_wait": delay - n,
                         "booksim_hops_per_second": slow, "bfly_hops_per_second": fast,
                         "ratio": fast / slow})
            if not args.json:
                saturated = "*" if accepted < 0.97 * load else " "
                print(f"{n:3} {load:5.2f} {accepted:8.3f}{saturated} {latency:8.2f} "
                      f"{latency - base:8.2f} | {delay:10.2f} {delay - n:8.2f} | "
                      f"{slow / 1e6:13.3f} M {fast / 1e6:9.1f} M {fast / slow:6.0f}", flush=True)
    if args.json:
        print(json.dumps({"rows": rows}, indent=2))
    else:
        print("* saturated: less than 97 % of what was offered is accepted")
    if args.svg:
        draw(args.svg, rows)


if __name__ == "__main__":
    main()
