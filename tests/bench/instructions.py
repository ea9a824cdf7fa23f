# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a hop and of a frame under callgrind and compares them with the baseline in the tree.

    /usr/bin/python3 tests/bench/instructions.py [--renew] BUILD

Seconds depend on the machine and on what else it does; the instructions of one build do not. tests/bench/instructions.json
has the counts and the build that they are of. A count more than 5 % above its baseline fails. One more than 5 % below
passes, with a notice that asks to renew the baseline. `--renew` writes the baseline anew from BUILD, a tree that
deploy/test made.

Exit codes: 0 all counts are as they should be, 1 some are not, 77 nothing was compared; the last line says why.
"""
import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).with_suffix(".json")
TOLERANCE = 0.05
SKIPPED = 77
UNITS = {
    "hop_fused": "a hop, stages crossed in one step",
    "hop_single": "a hop, one stage at a time",
    "hop_timed": "a hop over a link of 100 Gbit/s",
    "hop_delayed": "a hop over a link of 100 Gbit/s that delays by 10 us",
    "hop_queued": "a hop over a link of 1 Gbit/s with a queue",
    "frame_in": "a plain frame of 60 bytes that comes in",
    "frame_out": "a plain frame of 60 bytes that leaves",
    "empty_pass": "a pass of a worker that finds nothing",
}


def skip(reason):
    print(f"no instructions were counted: {reason}")
    sys.exit(SKIPPED)


def build_of(tree):
    """What decides which instructions a build has: compiler, its flags for dataplane/, and what is compiled as one."""
    information = tree / "meson-info"
    targets = json.loads((information / "intro-targets.json").read_text())
    library = next(target for target in targets if target["name"] == "dataplane")
    source = next(s for s in library["target_sources"] if s.get("language") == "cpp")
    version = subprocess.run([*source["compiler"], "--version"], capture_output=True, text=True, check=True).stdout
    flags, words = [], iter(source["parameters"])
    for word in words:
        if word == "--param":
            next(words)  # the compiler's own memory, for instance
        elif re.match(r"-(O|m|f(?!diagnostics)|std=|DNDEBUG)", word):
            flags.append(word)
    options = {option["name"]: option["value"] for option in json.loads((information / "intro-buildoptions.json").read_text())}
    return {
        "compiler": f"{'clang' if 'clang' in version else 'gcc'} {re.search(r'[0-9]+(?:[.][0-9]+)+', version)[0]}",
        "machine": platform.machine(),
        "flags": " ".join(flags),
        "files compiled as one": options["unity_size"] if options["unity"] == "on" else 1,
    }


def count(tree):
    """Instructions a unit, by case."""
    with tempfile.TemporaryDirectory() as folder:
        units, instructions = run_callgrind(tree, pathlib.Path(folder))
    if units.keys() != instructions.keys() or {name for name, part in units} != UNITS.keys():
        sys.exit(f"the program counted {sorted(units)}, callgrind wrote {sorted(instructions)}, known are {sorted(UNITS)}")
    # The difference of two lengths: what a case costs once falls out.
    counts = {}
    for name in UNITS:
        more = units[name, "many"] - units[name, "few"]
        if more <= 0:
            sys.exit(f"{name}: {units[name, 'many']} units in the longer part are not more than {units[name, 'few']}")
        counts[name] = round((instructions[name, "many"] - instructions[name, "few"]) / more, 3)
    return counts


def run_callgrind(tree, folder):
    """(units, instructions), each by case and part."""
    # The same memcpy on every CPU: the C library picks one by these features.
    environment = {"PATH": "/usr/bin:/bin", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM"}
    run = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no",
                          f"--callgrind-out-file={folder}/counts", tree / "tests" / "bench" / "instructions"],
                         capture_output=True, text=True, timeout=120, env=environment, check=False)
    if run.returncode != 0:
        sys.exit(f"valgrind ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    units = {(name, part): int(number) for name, part, number in (line.split() for line in run.stdout.splitlines())}
    instructions = {}
    for file in folder.glob("counts.*"):
        text = file.read_text()
        if trigger := re.search(r"^desc: Trigger: Client Request: (\w+) (\w+)$", text, re.M):
            instructions[trigger[1], trigger[2]] = int(re.search(r"^totals: (\d+)$", text, re.M)[1])
    return units, instructions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--renew", action="store_true")
    arguments = parser.parse_args()
    renew = f"/usr/bin/python3 tests/bench/instructions.py --renew {arguments.build.name}"
    build = build_of(arguments.build)
    baseline = None if arguments.renew else json.loads(BASELINE.read_text())
    if baseline:
        if different := [key for key in build if build[key] != baseline["build"].get(key)]:
            skip("; ".join(f"{key}: {build[key]} here, {baseline['build'].get(key)} in tests/bench/instructions.json"
                           for key in different))
    if not shutil.which("valgrind"):
        skip("valgrind is not installed; deploy/install --packages installs it")
    counts = count(arguments.build)
    if arguments.renew:
        valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        BASELINE.write_text(json.dumps({"build": build, "counted by": valgrind, "instructions": counts}, indent=2) + "\n")
        print(f"wrote {BASELINE}")
    before = counts if arguments.renew else baseline["instructions"]
    failures, lower = [], []
    for name, what in UNITS.items():
        if name not in before:
            failures.append(f"{name}: no baseline")
            continue
        change = counts[name] / before[name] - 1
        print(f"{name:12} {counts[name]:9.2f}  baseline {before[name]:9.2f}  {100 * change:+6.1f} %  instructions {what}")
        if change > TOLERANCE:
            failures.append(f"{name}: {counts[name]:.2f} instructions, {100 * change:.1f} % above {before[name]:.2f}")
        elif change < -TOLERANCE:
            lower.append(f"{name} {100 * change:.1f} %")
    if lower:
        print(f"notice: fewer instructions than the baseline ({', '.join(lower)}); renew it: {renew}")
    for failure in failures:
        print(f"FAILED {failure}")
    if failures:
        print(f"If the change is worth it: {renew}, and say in the commit why")
    sys.exit(1 if failures else 0)


main()
