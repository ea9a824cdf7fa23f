# SPDX-License-Identifier: Apache-2.0
"""`bfly.measure` and the folders that it reads."""
import csv
import json
import sys
import unittest
import unittest.mock

from lab import ROOT
from python_case import PythonCase

import bfly  # noqa: E402

# Stands in for `bfly measure FILE --out DIR`: leaves the results, says why, and ends as after claims that failed.
FAKE_MEASURE = """#!/bin/sh
mkdir -p "$4"
echo "$RESULTS" > "$4/results.json"
echo "bfly: $SAID" >&2
exit 1
"""
# Trials of a few milliseconds.
SMALL = {"d": 3, "p": 0.5, "rho": 0.5, "slot": 0, "packets": 3000}
GREEDY = ROOT / "topologies/experiments/greedy-butterfly.yaml"


class PythonExperimentTest(PythonCase):
    def test_an_experiment(self):
        file, out = ROOT / "topologies/experiments/circuits-congestion.yaml", self.directory / "results"
        settings = {"d": [4], "protocol": ["collision", "minimum"], "seeds": "1..10", "permutation": "random"}
        with self.with_bfly_in_the_path():
            run = bfly.measure(file, out, settings=settings, jobs=2)
            self.assertRaisesRegex(bfly.Error, "results", bfly.measure, file, out, settings=settings)
            self.refused("UNKNOWN", "", bfly.measure, file, self.directory / "wrong", settings={"d": 99})
            self.refused("INVALID_ARGUMENT", "", bfly.measure, file, self.directory / "wrong", jobs=99)
        with open(out / "results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        table = run.results()
        self.assertEqual((len(table), list(table.columns)), (len(rows), list(rows[0])))
        self.assertEqual(set(table["protocol"]), {"collision", "minimum"})
        self.assertAlmostEqual(table["mean"].sum(), sum(float(row["mean"]) for row in rows))
        claims = run.claims()
        self.assertEqual((run.passed, run.verdicts["PASS"]), (True, (claims["verdict"] == "PASS").sum()))
        self.assertEqual(bfly.Experiment(out).verdicts, run.verdicts)
        self.refused("NOT_FOUND", "", bfly.Experiment, self.directory)
        # A file of which a crash left a part is told; where results are to be, it does not count as results.
        torn = self.directory / "torn"
        torn.mkdir()
        (torn / "results.json").write_text((out / "results.json").read_text()[:100])
        self.assertIn("results.json is damaged", self.refused("DATA_LOSS", "", bfly.Experiment, torn).message)
        self.refused("FAILED_PRECONDITION", "", bfly.Experiment, torn / "results.json")
        with self.with_bfly_in_the_path():
            self.refused("UNKNOWN", "", bfly.measure, "no-such-file.yaml", torn)
            self.refused("UNKNOWN", "", bfly.measure, "no-such-file.yaml", torn / "results.json")
        (torn / "results.json").write_text("[]")
        self.refused("DATA_LOSS", "", bfly.Experiment, torn)
        # Python says by None that a module is not there.
        with unittest.mock.patch.dict(sys.modules, pandas=None):
            self.assertIn("python3-pandas", self.refused("FAILED_PRECONDITION", "", run.results).message)

    def test_a_named_claim_that_is_judged_nowhere_is_an_error(self):
        out = self.directory / "unjudged"
        with self.with_bfly_in_the_path():
            error = self.refused("UNKNOWN", "", bfly.measure, GREEDY, out, settings={**SMALL, "seeds": "1..3", "claims": "little"})
        self.assertIn("judged at no point: little", error.message)
        self.assertEqual(bfly.Experiment(out).verdicts["FAIL"], 0)

    def test_plots_that_cannot_be_drawn_are_an_error_and_the_same_call_draws_them(self):
        out, settings = self.directory / "undrawn", {**SMALL, "seeds": 1}
        with self.with_bfly_in_the_path(others="/nowhere"):
            self.assertIn("gnuplot cannot be started", self.refused("UNKNOWN", "", bfly.measure, GREEDY, out, settings=settings).message)
        self.assertFalse(bfly.Experiment(out).summary["complete"])
        with self.with_bfly_in_the_path():
            self.assertTrue(bfly.measure(GREEDY, out, settings=settings).summary["complete"])

    def test_a_claim_that_fails_is_no_error_whenever_the_folder_becomes_complete(self):
        self.write("bfly", FAKE_MEASURE).chmod(0o755)

        def results(measured, complete, fail):
            return json.dumps({"measured": measured, "complete": complete, "verdicts": {"PASS": 1, "FAIL": fail}})

        def ends(before, after, said="1 claims failed"):
            """Whether bfly.measure() returns after it has found `before` in its folder and bfly has left `after`."""
            out = self.directory / "made"
            out.mkdir(exist_ok=True)
            (out / "results.json").write_text(before)
            with unittest.mock.patch.dict("os.environ", PATH=f"{self.directory}:/usr/bin:/bin", RESULTS=after, SAID=said):
                try:
                    run = bfly.measure("F", out)
                except bfly.Error:
                    return False
            self.assertFalse(run.passed)
            return True

        undrawn, failed = results(True, False, 1), results(True, True, 1)
        self.assertTrue(ends("", failed), "it was run from the beginning")
        self.assertTrue(ends(undrawn, failed), "only the plots were missing")
        self.assertFalse(ends(failed, failed), "there was nothing to do")
        self.assertFalse(ends("", undrawn), "the plots could not be drawn")
        self.assertFalse(ends("", results(False, False, 1)), "it was cut short")
        self.assertFalse(ends("", results(True, True, 0)), "the error is another one")
        self.assertFalse(ends("", failed, "1 claims failed, and the experiment names claims that were judged at no point: a: b"),
                         "another claim was not judged")


if __name__ == "__main__":
    unittest.main(verbosity=2)
