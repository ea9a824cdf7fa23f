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


# Colours on a light page, and what they become on a dark one.
PAPER, INK, FAINT = "#ffffff", "#1d2125", "#e2e5e8"
BOOKSIM, BFLY = "#c8500a", "#1f6fb4"
DARK = {PAPER: "#14171a", INK: "#dfe3e8", FAINT: "#2e343a", BOOKSIM: "#ff9d5c", BFLY: "#6db3f2"}


def follow_the_page(svg):
    """The SVG with a style sheet that repaints it where the reader prefers dark pages."""
    rules = []
    for light, dark in DARK.items():
        channels = [int(light[at:at + 2], 16) for at in (1, 3, 5)]
        for written in (light, "rgb(%3d, %3d, %3d)" % tuple(channels), "rgb(%d,%d,%d)" % tuple(channels)):
            rules += [f'[{name}="{written}"] {{ {name}: {dark}; }}' for name in ("fill", "stroke", "color")
                      if f"{name}='{written}'" in svg or f'{name}="{written}"' in svg]
    style = "<style>@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}</style>\n"
    return re.sub(r"(<svg[^>]*>\n?)", lambda opening: opening[1] + style, svg, count=1)


def draw(file, rows):
    """A panel for each size, with its two curves labelled where they end."""
    sizes = sorted({row["n"] for row in rows})
    left, panel, gap, top, bottom = 64, 210, 88, 44, 270
    width, height = left + len(sizes) * (panel + gap), 330
    most = 1.12 * max(max(row["booksim_wait"], row["bfly_wait"]) for row in rows)
    script = (f"set terminal svg size {width},{height} font 'Arial,15' background '{PAPER}'\n"
              f"set multiplot\nunset key\nset border lc rgb '{INK}' lw 0.8\n"
              f"set grid lt 1 lw 0.8 lc rgb '{FAINT}'\nset xrange [0:1]\nset yrange [0:{most}]\n"
              f"set tmargin at screen {1 - top / height}\nset bmargin at screen {1 - bottom / height}\n"
              f"set xtics 0.25 scale 0.5 nomirror textcolor rgb '{INK}' format '%g'\n"
              f"set ytics scale 0.5 nomirror textcolor rgb '{INK}'\n"
              f"set label 'waiting (cycles or units)' at screen {16 / width}, screen {1 - (top + bottom) / 2 / height} "
              f"center rotate tc rgb '{INK}'\n"
              f"set label 'load' at screen {(width + left - gap) / 2 / width}, screen {1 - 312 / height} center "
              f"tc rgb '{INK}'\n")
    for number, n in enumerate(sizes):
        mine = [row for row in rows if row["n"] == n]
        at = left + number * (panel + gap)
        script += f"$n{n} << EOD\n"
        script += "".join(f"{row['load']} {row['booksim_wait']} {row['bfly_wait']}\n" for row in mine)
        script += (f"EOD\nset lmargin at screen {at / width}\nset rmargin at screen {(at + panel) / width}\n"
                   f"set label 'n = {n}' at graph 0, graph 1.06 tc rgb '{INK}'\n")
        # Labels stand beside the panel, the upper curve's a line above the lower one's.
        end = mine[-1]
        names = sorted([(end["bfly_wait"], "bfly", BFLY), (end["booksim_wait"], "BookSim2", BOOKSIM)])
        middle = (names[0][0] + names[1][0]) / 2 / most
        apart = max(names[1][0] / most - middle, 9 / (bottom - top))
        for (_, name, colour), y in zip(names, (middle - apart, middle + apart)):
            script += f"set label '{name}' at graph 1.03, graph {y} left tc rgb '{colour}'\n"
        script += (f"plot $n{n} using 1:2 with lines lw 1.8 lc rgb '{BOOKSIM}', "
                   f"$n{n} using 1:2 with points pt 7 ps 0.5 lc rgb '{BOOKSIM}', "
                   f"$n{n} using 1:3 with lines lw 1.8 lc rgb '{BFLY}', "
                   f"$n{n} using 1:3 with points pt 5 ps 0.5 lc rgb '{BFLY}'\n"
                   "unset label\nset ytics format ''\n")
    script += "unset multiplot\n"
    done = subprocess.run(["gnuplot"], input=script, text=True, check=True, stdout=subprocess.PIPE)
    with open(file, "w") as svg:
        svg.write(follow_the_page(done.stdout))


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
