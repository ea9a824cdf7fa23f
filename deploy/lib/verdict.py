#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What deploy/test makes of the logs of meson.

  verdict.py again LOG                      names the failed tests that may be run once more
  verdict.py left LOG SUITE... <TESTS       names the tests of the suites that are not settled by LOG, the log of an early
                                            run; TESTS is what `meson introspect --tests` prints
  verdict.py sum PASSED BROKEN... -- LOG... prints the summary; exits with 1 if something failed

The tests of a testbed meet real kernels, processes and clocks on a machine that others use too. A test that found one
of its expectations wrong there is run once more, with no other test beside it. If it passes then, the summary says
UNCERTAIN and its name: it is a fault to be mended, of the test or of bfly. Nothing else gets a second run: no signal,
no exit code of a sanitizer, no report of one, no time limit, no check, no fuzzer, and no run in which more than
MOST_AGAIN tests fail.

Tests that run early get only the CPU time that others leave over. What was not over, or took too long, counts as if it had
not run; what found an expectation wrong gets its second run in its turn, beside other tests.
"""

import json
import os
import re
import sys

MOST_AGAIN = 2
PASSED = ("OK", "EXPECTEDFAIL")
NEVER_AGAIN = {"checks", "instructions", "fuzz", "bench"}
FOUND_WRONG = 1  # exit code of GoogleTest and unittest
REPORT = re.compile(r"Sanitizer|runtime error:")
REASON = re.compile(r"(WARNING|ERROR): \w+Sanitizer|runtime error:|: Failure$|^(FAIL|ERROR): ")
LIBRARY_FRAME = re.compile(r"\s+#([2-9]|\d\d+) .* /usr/")
REASON_LINES, REASON_WIDTH = 18, 240


def read(log):
    with open(log) as lines:
        return [json.loads(line) for line in lines]


def output(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def failed(test):
    return test["result"] not in (*PASSED, "SKIP")


def reason(test):
    """The first lines of what the test found, without stack frames deep in libraries: the log may be gone by the time
    somebody asks."""
    said = [line for line in output(test).splitlines() if line.strip() and not LIBRARY_FRAME.match(line)]
    first = next((at for at, line in enumerate(said) if REASON.search(line)), max(0, len(said) - REASON_LINES))
    return [line[:REASON_WIDTH] for line in said[first:first + REASON_LINES]]


def suites(test):
    """Of "bfly:unit+control / deadlines": unit and control."""
    return set(test["name"].split(" / ")[0].split(":")[-1].split("+"))


def name(test):
    return test["name"].split(" / ")[-1]


def may_run_again(test):
    return (test["result"] == "FAIL" and test["returncode"] == FOUND_WRONG and not suites(test) & NEVER_AGAIN
            and not REPORT.search(output(test)))


def again(log):
    wrong = [test for test in read(log) if failed(test)]
    if len(wrong) <= MOST_AGAIN:
        for test in filter(may_run_again, wrong):
            print(name(test))


def left(log, wanted, told):
    """LOG has only tests that ended, afterwards."""
    try:
        ended = [test for test in read(log) if test["result"] in ("OK", "FAIL", "SKIP")]
    except FileNotFoundError:
        ended = []
    with open(log, "w") as lines:
        lines.writelines(json.dumps(test) + "\n" for test in ended)
    many = sum(map(failed, ended)) > MOST_AGAIN
    settled = {name(test) for test in ended if many or not (failed(test) and may_run_again(test))}
    for test in told:
        if wanted & {suite.split(":")[-1] for suite in test["suite"]} and test["name"] not in settled:
            print(test["name"])


def skipped_by_unittest(test, log):
    """Prints which tests of a Python program were skipped, and returns how many. Their program passes all the same."""
    said = test.get("stderr") or ""
    # "test_name (module.Class.test_name) ... skipped 'why'". What the test itself wrote stands before "skipped".
    inside = re.findall(r"^(?:\s*(\S.*) \.\.\. )?skipped ('.*'|\".*\")$", said, re.M)
    for described, why in inside:
        print(f"SKIPPED {test['name']}: {described or 'a test'}: {why[1:-1]}  ({log})")
    # Without verbosity=2 unittest says only how many there were.
    total = sum(int(count) for count in re.findall(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)", said, re.M))
    unnamed = max(0, total - len(inside))
    if unnamed:
        print(f"SKIPPED {test['name']}: {unnamed} of its tests  ({log})")
    return len(inside) + unnamed


def notices(test, log):
    """Prints what a test says of itself, and returns how many tests inside it were skipped."""
    skipped = 0
    for said in (test.get("stdout") or "").splitlines():
        if said.startswith("notice: "):
            print(f"NOTICE  {test['name']}: {said.removeprefix('notice: ')}")
        # GoogleTest: "[  SKIPPED ] Suite.Test (0 ms)". Its program passes all the same.
        inside = re.match(r"\[  SKIPPED \] (\S+) \(", said)
        if inside:
            skipped += 1
            print(f"SKIPPED {test['name']}: {inside[1]}  ({log} says why)")
    return skipped + skipped_by_unittest(test, log)


def again_log(log):
    return log.removesuffix(".json") + "-again.json"


def passed_again(log):
    try:
        return {test["name"] for test in read(again_log(log)) if test["result"] in PASSED}
    except FileNotFoundError:
        return set()


def summarize(passed, broken, logs):
    counts = {"passed": passed, "failed": len(broken), "skipped": 0, "uncertain": 0}
    for step in broken:
        print(f"FAILED  {step}")
    # What failed early had its second run in a log that is summed up itself.
    second_runs = {(os.path.realpath(again_log(log)), test["name"]) for log in logs for test in read(log) if failed(test)}
    for log in logs:
        tests = [test for test in read(log) if (os.path.realpath(log), test["name"]) not in second_runs]
        certain_now = passed_again(log)
        for test in tests:
            if test["result"] == "SKIP":
                # The last line says why.
                said = (test.get("stdout") or "").strip().splitlines()
                print(f"SKIPPED {test['name']}{': ' + said[-1] if said else ''}  ({log})")
                counts["skipped"] += 1
            elif not failed(test):
                counts["passed"] += 1
            elif test["name"] in certain_now:
                print(f"UNCERTAIN {test['name']}: failed, and passed when it ran again  ({log}, {again_log(log)})")
                counts["uncertain"] += 1
            else:
                print(f"{test['result']:7} {test['name']}  ({log})")
                print("".join(f"        {line}\n" for line in reason(test)), end="")
                counts["failed"] += 1
            counts["skipped"] += notices(test, log)
        if not tests:
            print(f"FAILED  no test ran  ({log})")
            counts["failed"] += 1
    print("bfly: {passed} passed, {failed} failed".format(**counts)
          + "".join(f", {counts[kind]} {kind}" for kind in ("skipped", "uncertain") if counts[kind]))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    if sys.argv[1] == "again":
        again(sys.argv[2])
    elif sys.argv[1] == "left":
        left(sys.argv[2], set(sys.argv[3:]), json.load(sys.stdin))
    else:
        logs = sys.argv.index("--")
        sys.exit(summarize(int(sys.argv[2]), sys.argv[3:logs], sys.argv[logs + 1:]))
