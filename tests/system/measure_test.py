# SPDX-License-Identifier: Apache-2.0
"""`bfly measure` as a user runs it: cut short and continued, on a full disk, again to the bit, on the wall clock."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import lab

BFLY = lab.BUILD / "bfly"
GREEDY = lab.ROOT / "topologies/experiments/greedy-butterfly.yaml"
CIRCUITS = lab.ROOT / "topologies/experiments/circuits-congestion.yaml"
# 24 trials of some 0.1 s each.
SMALL = ["--set", "d=[4, 6]", "--set", "rho=[0.3, 0.5, 0.8]", "--set", "p=0.5", "--set", "slot=0",
         "--set", "seeds=[1, 2, 3, 4]", "--set", "packets=1000000"]


class MeasureTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"bfly-measure-{os.getpid()}-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def measure(self, *words, check=True, cwd=None):
        done = subprocess.run([BFLY, "measure", *map(str, words)], capture_output=True, text=True, cwd=cwd,
                              stdin=subprocess.DEVNULL, timeout=3 * lab.PATIENCE, check=False)
        if check:
            self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def results(self, folder):
        return (folder / "results.json").read_text()

    def trials(self, folder):
        file = folder / "trials.jsonl"
        return file.read_text().splitlines() if file.exists() else []

    def test_cut_short_it_keeps_what_is_done_and_the_same_command_continues(self):
        whole, cut = self.directory / "whole", self.directory / "cut"
        self.measure(GREEDY, "--out", whole, *SMALL)
        for number in (signal.SIGINT, signal.SIGTERM):
            process, said = lab.signal_midway(
                [BFLY, "measure", GREEDY, "--out", cut, *SMALL], number, cut, lambda: len(self.trials(cut)))
            self.assertNotEqual(process.returncode, 0)
            self.assertIn("marked incomplete; the same command continues it", said)
            self.assertFalse(json.loads(self.results(cut))["complete"])
        kept = self.trials(cut)
        self.assertLess(len(kept), len(self.trials(whole)))
        self.measure(GREEDY, "--out", cut, *SMALL)
        self.assertEqual(self.trials(cut)[:len(kept)], kept, "trials that were done are not run again")
        self.assertEqual(self.results(cut), self.results(whole))
        refused = self.measure(GREEDY, "--out", cut, *SMALL, check=False)
        self.assertIn("already holds this experiment, complete", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)

    def without_gnuplot(self, script):
        """The environment of a machine whose gnuplot is this shell script."""
        programs = self.directory / "programs"
        programs.mkdir(exist_ok=True)
        (programs / "gnuplot").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "gnuplot").chmod(0o755)
        return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def plots(self, folder):
        return sorted(path.name for path in folder.iterdir() if path.suffix in (".svg", ".png"))

    def test_interrupted_while_it_draws_it_says_so_and_the_same_command_draws_again(self):
        out, started = self.directory / "out", self.directory / "started"
        command = [GREEDY, "--out", out, *SMALL, "--set", "seeds=[1]", "--set", "packets=10000"]
        slow = self.without_gnuplot(f"touch {started}; exec sleep 600")
        for number in (signal.SIGINT, signal.SIGTERM):
            started.unlink(missing_ok=True)
            process = subprocess.Popen([BFLY, "measure", *map(str, command)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, env=slow)
            try:
                lab.wait_until(started.exists, "gnuplot has been started")
                process.send_signal(number)
                _, said = process.communicate(timeout=lab.PATIENCE)
            finally:
                process.kill()
                process.wait()
            self.assertGreater(process.returncode, 0, "it ends by itself, not by the signal")
            self.assertIn("holds all results, but not all plots, and is marked incomplete", said)
            self.assertFalse(json.loads(self.results(out))["complete"])
            self.assertTrue(json.loads(self.results(out))["measured"])
            self.assertEqual(self.plots(out), [])
        trials = self.trials(out)
        self.measure(*command)
        self.assertTrue(json.loads(self.results(out))["complete"])
        self.assertEqual(self.plots(out), ["delay-dark.png", "delay-dark.svg", "delay.png", "delay.svg"])
        self.assertEqual(self.trials(out), trials, "nothing is measured again")

    def test_plots_alone_are_drawn_from_a_folder(self):
        out = self.directory / "out"
        command = [GREEDY, "--out", out, *SMALL, "--set", "seeds=[1]", "--set", "packets=10000"]
        done = subprocess.run([BFLY, "measure", *map(str, command)], capture_output=True, text=True, check=False,
                              env=self.without_gnuplot("echo no terminal >&2; exit 3"), timeout=lab.PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{out}/delay.gp.log says why", done.stderr)
        self.assertIn("no terminal", (out / "delay.gp.log").read_text())
        self.assertIn("PASS", done.stdout, "what was measured is told all the same")
        self.assertFalse(json.loads(self.results(out))["complete"])
        # A copy elsewhere without its trials is enough.
        moved = self.directory / "moved"
        moved.mkdir()
        for name in ("experiment.yaml", "results.json"):
            shutil.copy(out / name, moved)
        self.measure("--plot", moved)
        self.assertEqual(self.plots(moved), ["delay-dark.png", "delay-dark.svg", "delay.png", "delay.svg"])
        self.assertTrue(json.loads(self.results(moved))["complete"])
        self.assertEqual(self.plots(out), [])
        # Again where nothing is missing, and by the script alone: the same picture.
        first, results = (moved / "delay.svg").read_text(), self.results(moved)
        (moved / "delay.svg").unlink()
        told = json.loads(self.measure("--plot", moved, "--json").stdout)
        self.assertEqual(told, {"folder": str(moved), "drawn": ["delay.gp"]})
        self.assertEqual((moved / "delay.svg").read_text(), first)
        (moved / "delay.svg").unlink()
        subprocess.run(["gnuplot", "delay.gp"], cwd=moved, check=True, timeout=lab.PATIENCE, capture_output=True)
        self.assertEqual((moved / "delay.svg").read_text(), first)
        self.assertEqual(self.results(moved), results)
        for words, text in ((["--plot", self.directory / "none"], "cannot open"),
                            (["--plot", moved, "--set", "d=1"], "--plot excludes --set"),
                            (["--plot", moved, GREEDY], "excludes")):
            with self.subTest(words=words):
                refused = self.measure(*words, check=False)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(text, refused.stderr)
        (moved / "results.json").write_text('{"series": 7}')
        refused = self.measure("--plot", moved, check=False)
        self.assertIn("not the results of a measurement", refused.stderr)

    def test_run_again_it_gives_the_same_bits(self):
        first = self.directory / "first"
        self.measure(GREEDY, "--out", first, *SMALL, "--set", "seeds=[7]")
        self.measure("--rerun", first)
        again = self.directory / "first.rerun"
        self.assertEqual(self.results(again), self.results(first))
        for folder, inside in ((f"{first}/", None), (".", first)):
            with self.subTest(folder=folder):
                shutil.rmtree(again)
                self.measure("--rerun", folder, cwd=inside)
                self.assertEqual(self.results(again), self.results(first))
        self.measure(GREEDY, "--out", self.directory / "other", *SMALL, "--set", "seeds=[8]")
        self.assertNotEqual(self.results(self.directory / "other"), self.results(first))

    def test_circuits_give_the_same_bits_and_no_word_of_the_plotter(self):
        out = self.directory / "circuits"
        done = self.measure(CIRCUITS, "--out", out, "--set", "d=[4, 5, 6, 7]", "--set", "seeds=1..3")
        self.assertRegex(done.stdout, r"points: \d+ PASS, 0 FAIL, \d+ INVARIANT, \d+ VACUOUS, \d+ NOT APPLICABLE")
        self.assertIn("no claim", done.stdout)
        self.assertTrue((out / "rounds.svg").exists())
        self.measure("--rerun", out)
        again = self.directory / "circuits.rerun"
        for name in ("results.json", "results.csv", "claims.txt", "tails.txt", "comparisons.txt", "fits.txt"):
            self.assertEqual((again / name).read_text(), (out / name).read_text(), name)
        self.assertIn("collision,two_fold_butterfly,4,random,", (out / "set_up_seconds.csv").read_text())
        # The congestion of Benes is 1 at every size: gnuplot warns of a plot without height.
        flat = self.directory / "flat"
        done = self.measure(CIRCUITS, "--out", flat, "--set", "protocol=benes", "--set", "d=[4, 5, 6, 7]")
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^\[[#.]*\] \d+/\d+ trials ")
        self.assertEqual([path.name for path in flat.iterdir() if path.suffix == ".log"], [])

    def test_a_full_disk_is_said_and_nothing_that_was_measured_is_lost(self):
        lab.require_root()
        disk = self.directory / "disk"
        disk.mkdir()
        command = " ".join(f"'{word}'" for word in [BFLY, "measure", GREEDY, "--out", disk / "out", *SMALL])
        # A disk of three pages: the configuration and some trials fit. Then it grows.
        script = f"""
            mount -t tmpfs -o size=12k none {disk} || exit 90
            {command} > {self.directory}/said 2>&1 && exit 91
            cp {disk}/out/trials.jsonl {self.directory}/kept || exit 92
            mount -o remount,size=16m {disk} || exit 93
            {command} || exit 94
            cp {disk}/out/trials.jsonl {disk}/out/results.json {self.directory}
        """
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                              timeout=3 * lab.PATIENCE, check=False)
        said = (self.directory / "said").read_text()
        self.assertEqual(done.returncode, 0, f"{said}{done.stdout}{done.stderr}")
        self.assertIn("No space left on device", said)
        self.assertIn(str(disk / "out"), said)
        kept = [line for line in (self.directory / "kept").read_text().splitlines() if line.endswith("}")]
        whole = (self.directory / "trials.jsonl").read_text().splitlines()
        self.assertGreater(len(kept), 0)
        self.assertLess(len(kept), len(whole))
        self.assertEqual(whole[:len(kept)], kept)
        self.assertTrue(json.loads((self.directory / "results.json").read_text())["complete"])

    def test_on_the_wall_clock_claims_are_checked_with_what_sinks_saw(self):
        for discipline, claims in (("fifo", ("prop14_lower_bound", "prop17_upper_bound", "stability")),
                                   ("processor_sharing", ("ps_exact_butterfly", "ps_cross_holds_0", "stability"))):
            with self.subTest(discipline=discipline):
                out = self.directory / discipline
                text = self.measure(GREEDY, "--out", out, "--clock", "wall", "--set", "d=3", "--set", "rho=0.5",
                                    "--set", "p=0.5", "--set", "slot=0", "--set", "seeds=1..10",
                                    "--set", "packets=4000", "--set", "unit_us=500",
                                    "--set", f"discipline={discipline}").stdout
                self.assertRegex(text, r"\d+ PASS, 0 FAIL")
                self.assertIn("workers fell behind by", text)
                results = json.loads(self.results(out))
                verdicts = {claim["id"]: (claim["verdict"], claim.get("reason", "")) for claim in results["claims"]}
                self.assertEqual(verdicts["stability"], ("PASS", ""))
                for claim in claims:
                    verdict, reason = verdicts[claim]
                    if "_holds_" in claim:
                        self.assertEqual(verdict, "NOT APPLICABLE")
                        self.assertIn("the wall clock does not measure", reason)
                    elif verdict != "PASS":  # on a busy machine
                        self.assertEqual(verdict, "NOT APPLICABLE")
                        self.assertIn("workers were late by", reason)
                point = results["series"][0]
                self.assertGreater(point["late_us"]["mean"], 0)
                self.assertGreaterEqual(point["late_us"]["max"], point["late_us"]["p99"])
                self.assertEqual(point["mean_delay"], point["delivered_delay"])
                self.assertGreater(point["mean_delay"], point["links_delay"])

    def test_on_the_wall_clock_links_are_used_the_same_share_of_the_time_while_workers_lose_their_cpu(self):
        out = self.directory / "stopped"
        words = [BFLY, "measure", GREEDY, "--out", out, "--clock", "wall", "--set", "d=3", "--set", "rho=0.5", "--set", "p=0.5",
                 "--set", "slot=0", "--set", "seeds=1..10", "--set", "packets=4000", "--set", "unit_us=500"]
        chance = random.Random(1)
        end = time.monotonic() + 60
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(chance.uniform(0.03, 0.15))
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.06)  # a quarter of what is measured
                process.send_signal(signal.SIGCONT)
            said = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 0, said)
        results = json.loads(self.results(out))
        claims = {claim["id"]: claim for claim in results["claims"]}
        for name in ("prop15_cross", "prop15_straight", "prop15_mean_cross", "prop15_mean_straight"):
            self.assertEqual(claims[name]["verdict"], "PASS", claims[name])
        # Without stops the half-width is some 0.016; where a stop at either end counts, it is some 0.13.
        for name in ("prop15_mean_cross", "prop15_mean_straight"):
            self.assertLess(claims[name]["high"] - claims[name]["low"], 0.08, claims[name])
        self.assertGreater(results["series"][0]["late_us"]["max"], 30000, "the workers were stopped")

    def test_what_cannot_be_measured_is_refused_before_anything_is_written(self):
        out = self.directory / "out"
        for words, text in ((["--set", "rho=-0.5"], "rho"), (["--set", "p=1.5"], "p"),
                            (["--set", "d=[]"], "d"), (["--clock", "wall", "--set", "unit_us=0.001"], "raise it to"),
                            (["--clock", "wall", "--set", "discipline=priority", "--set", "class_shares=[0.5, 0.5]"],
                             "measured under the virtual clock alone"),
                            (["--set", "no_such_key=1"], "no_such_key"), (["--clock", "sundial"], "sundial")):
            with self.subTest(words=words):
                done = self.measure(GREEDY, "--out", out, *words, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
