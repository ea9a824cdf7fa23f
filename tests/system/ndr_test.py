# SPDX-License-Identifier: Apache-2.0
"""bfly bench ndr: the throughput of a fabric whose links say what it is."""

import csv
import json
import math
import pathlib
import signal
import subprocess
import unittest

from command_line import BFLY, LCORES, CommandLineTest, balances
from lab import PATIENCE, wait_until

# Bit complement on a butterfly: no two packets share a link, so a row carries what one link carries.
BITS_PER_SECOND = 1_000_000
BYTES = 100
CAPACITY = BITS_PER_SECOND / (8 * BYTES)
QUEUE = 8
FABRIC = f"""
name: ndr
network: {{kind: butterfly, rows: 4}}
placement: [{{stages: 0-1, lcore: {LCORES[-1]}}}]
links: {{rate: {BITS_PER_SECOND // 1_000_000}Mbps, queue_limit: {QUEUE}}}
"""
FINAL = 0.5


class Throughput(CommandLineTest):
    def refused(self, *words, code=1):
        done = self.bfly("bench", "ndr", *words, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr

    def check_histograms(self, path, latencies, ndr):
        with open(path) as file:
            lines = list(csv.DictReader(file))
        for latency in latencies:
            part = latency["part_of_ndr"]
            of_load = [line for line in lines if float(line["part_of_ndr"]) == part]
            self.assertTrue(of_load)
            self.assertEqual(sum(int(line["frames"]) for line in of_load), latency["frames"])
            ends = [float(line["latency_up_to_ns"]) for line in of_load]
            self.assertEqual(ends, sorted(set(ends)))
            self.assertAlmostEqual(ends[-1], latency["max_ns"], delta=0.1)
            self.assertGreaterEqual(ends[0], 2e9 / CAPACITY)
            for line in of_load:
                self.assertEqual(line["frame_bytes"], str(BYTES))
                self.assertAlmostEqual(float(line["frames_per_second_of_a_row"]), part * ndr, delta=0.1)
            # A percentile is the end of the first bucket up to which there are so many frames.
            for name, fraction in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999)):
                wanted = math.ceil(fraction * latency["frames"])
                up_to = 0
                for line, end in zip(of_load, ends):
                    up_to += int(line["frames"])
                    if up_to >= wanted:
                        break
                self.assertAlmostEqual(end, latency[name], delta=0.1)
                # Of all frames, so lost ones are never up to here.
                self.assertAlmostEqual(float(line["part_up_to_here"]), up_to / latency["intended"], delta=1e-8)
                self.assertGreaterEqual(up_to / latency["frames"], fraction)

    def test_is_what_the_links_carry(self):
        self.assertIn("bfly up", self.refused())
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        report = self.json("bench", "ndr", "--bytes", BYTES, "--most", "4k", "--width", "0.02",
                           "--initial-duration", "100ms", "--final-duration", f"{FINAL}s",
                           "--histogram", self.directory / "latency.csv")
        self.assertIs(report["complete"], True)
        (size,) = report["sizes"]
        self.assertEqual(size["senders"], 4)
        self.assertIsNone(size["unpaced_load"], "--most says the largest load")
        ndr, pdr = size["goals"]
        for goal, least, most in (
                # What the queue and the link hold at the end of the trial is carried too.
                (ndr, CAPACITY, CAPACITY + (QUEUE + 1) / FINAL),
                (pdr, CAPACITY, CAPACITY / 0.995 + (QUEUE + 1) / FINAL)):
            self.assertTrue(goal["regular"], goal)
            # The bounds are at most 2 % apart, and the capacity lies between them.
            self.assertGreaterEqual(goal["relevant_upper_bound"], least, goal)
            self.assertLessEqual(goal["relevant_lower_bound"], most, goal)
            self.assertGreaterEqual(goal["relevant_lower_bound"], least * 0.97, goal)
            self.assertLessEqual(goal["relevant_upper_bound"], most * 1.03, goal)
            self.assertEqual(goal["limit"], "the fabric: queue_full", goal)
            self.assertAlmostEqual(goal["fabric_throughput"], 4 * goal["conditional_throughput"], places=3)
        self.assertEqual([latency["part_of_ndr"] for latency in size["latency"]], [0.1, 0.5, 0.9])
        for latency in size["latency"]:
            # Two links, each of which takes 8 * BYTES / BITS_PER_SECOND.
            self.assertGreaterEqual(latency["p50_ns"], 2e9 / CAPACITY, latency)
            # Every frame of the trial that was not lost is in it, also those that arrived last.
            load = latency["part_of_ndr"] * ndr["relevant_lower_bound"]
            self.assertEqual(latency["intended"], 4 * round(load * FINAL), latency)
            self.assertLessEqual(latency["frames"], latency["intended"])
            self.assertGreaterEqual(latency["frames"], round(latency["intended"] * (1 - latency["loss_ratio"])))
        self.check_histograms(self.directory / "latency.csv", size["latency"], ndr["relevant_lower_bound"])
        for trial in size["trials"]:
            self.assertLessEqual(trial["sent"], trial["intended"])
            self.assertEqual(trial["others"], 0, trial)
        self.assertTrue(balances(self.json("counters")["conservation"]))
        self.assertEqual(self.json("traffic", "list")["sources"], [], "the sources are stopped")

        # Without --most the sources say how much to try.
        (size,) = self.json("bench", "ndr", "--bytes", BYTES, "--width", "0.5", "--initial-duration", "100ms",
                            "--final-duration", "100ms")["sizes"]
        self.assertGreater(size["unpaced_load"], CAPACITY)
        self.assertAlmostEqual(size["max_load"] / size["unpaced_load"], 1.25)

        # A file that exists can be written, but its directory takes no file from which it could be replaced.
        for path in (self.directory / "none" / "latency.csv", "/proc/self/comm"):
            text = self.refused("--histogram", path)
            self.assertIn("cannot be written", text)
            self.assertNotIn("frames/s", text, "before any trial")
        for fact in ("cpus_of_core_0", "numa_nodes", "governor", "isolated_cpus", "hugepages", "clock_source", "ports"):
            self.assertIn(fact, report["machine"])
        self.assertIn("'63' is not a frame size", self.refused("--bytes", "63"))
        self.assertIn("row 4 is outside 0..3", self.refused("--rows", "2-4"))
        self.assertIn("--duration-sum: 1 s is less than one full-length trial, 3 s",
                      self.refused("--duration-sum", "1s", "--final-duration", "3s"))
        self.assertIn("--initial-duration: 2 s is more than one full-length trial, 1 s",
                      self.refused("--initial-duration", "2s", "--final-duration", "1s"))
        done = self.bfly("bench", "ndr", "--bytes", f"{BYTES},9000", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--bytes 9000: sources[0].bytes: 9000 is outside 64..1518", done.stderr)
        self.assertNotIn("frames/s", done.stdout + done.stderr, "before any trial")
        self.assertIn("need circuits", self.refused("--to", "circuit"))
        self.bfly("traffic", "start", "--name", "mine", "--rate", "10", "--to", "uniform", "--latency")
        self.assertEqual(self.json("traffic", "latency")["histogram"], [], "nobody asked for it")
        before = (self.directory / "latency.csv").read_text()
        self.assertIn("such as mine", self.refused("--histogram", self.directory / "latency.csv"))
        self.assertEqual((self.directory / "latency.csv").read_text(), before, "an older file stays")
        self.assertIn("such as mine", self.refused("--histogram", self.directory / "new.csv"))
        self.assertEqual(list(self.directory.glob("new.csv*")), [], "a search that is refused leaves no file")
        self.bfly("traffic", "stop")
        self.bfly("traffic", "start", "--name", "over", "--rate", "1k", "--to", "uniform", "--packets", "1")
        wait_until(lambda: self.json("traffic", "list")["sources"][0]["finished"], "the source has finished")
        # One load, which passes: it is no upper bound, and the exit code says so. A source that has finished is no
        # obstacle, and a default above --final-duration is lowered to it.
        self.assertIn("--most sets the largest", self.refused("--most", "200", "--bytes", BYTES, "--final-duration", "100ms"))
        self.bfly("traffic", "stop")
        text = self.refused("--most", "200", "--bytes", BYTES, "--initial-duration", "100ms",
                            "--final-duration", "100ms")
        self.assertIn("--most sets the largest", text)

    def test_a_load_may_take_more_trials_than_300(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        # Half of 700 trials at the only load.
        text = self.refused("--bytes", BYTES, "--most", "200", "--initial-duration", "1ms", "--final-duration", "1ms",
                            "--duration-sum", "700ms", "--exceed-ratio", "0.5")
        self.assertIn("--most sets the largest", text)

    def test_writes_histograms_into_devices_and_standard_streams(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        done = self.bfly("bench", "ndr", "--bytes", BYTES, "--most", "200", "--initial-duration", "100ms",
                         "--final-duration", "100ms", "--json", "--histogram", "/dev/stderr", check=False)
        self.assertIn("--most sets the largest", done.stderr)
        self.assertIs(json.loads(done.stdout)["complete"], True)
        lines = done.stderr.splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("frame_bytes,part_of_ndr,"))
        parts = [line.split(",")[1] for line in lines[begin + 1:] if line.startswith(f"{BYTES},")]
        self.assertEqual(sorted(set(parts)), ["0.1", "0.5", "0.9"])

    def test_names_the_option_for_smaller_loads(self):
        # A link carries 100,000 / (8 * 1,514) = 8 frames a second.
        slow = FABRIC.replace(f"rate: {BITS_PER_SECOND // 1_000_000}Mbps, queue_limit: {QUEUE}",
                              "rate: 100kbps, queue_limit: 2")
        self.bfly("up", self.write("fabric.yaml", slow))
        words = ("--bytes", 1514, "--most", "100", "--width", "0.5")
        text = self.refused(*words, "--final-duration", "200ms")
        self.assertIn("--initial-duration sets the smallest", text)
        self.assertNotIn("--most sets", text)
        # Of 5 frames a second none meets another.
        done = self.bfly("bench", "ndr", *words, "--initial-duration", "2s", "--final-duration", "2s")
        self.assertIn("1514 bytes, 4 rows send to bitcomp (--ways both), ", done.stdout)
        self.assertIn("a loss ratio is an upper bound", done.stdout)

    def begin(self, *words, before=()):
        command = [*before, BFLY, "bench", "ndr", *map(str, words), "--json", "--run-dir", self.run_dir]
        bench = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 stdin=subprocess.DEVNULL)
        self.addCleanup(bench.communicate)
        self.addCleanup(bench.kill)
        return bench

    def await_source(self, bench, what, wanted):
        def runs():
            self.assertIsNone(bench.poll(), f"ended before there was {what}")
            return any(wanted(one["source"]) for one in self.json("traffic", "list")["sources"])
        wait_until(runs, what)

    def test_latencies_say_how_many_frames_of_others_they_have(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        bench = self.begin("--bytes", BYTES, "--most", "200", "--initial-duration", "5s", "--final-duration", "5s")
        self.await_source(bench, "the first trial that records latencies", lambda source: source.get("latency"))
        frames = 50
        self.bfly("traffic", "start", "--name", "other", "--rows", "0", "--rate", "500", "--to", "bitcomp", "--packets",
                  frames, "--bytes", BYTES)
        out, err = bench.communicate(timeout=2 * PATIENCE)
        self.assertEqual(bench.returncode, 1, err)  # no upper bound
        (size,) = json.loads(out)["sizes"]
        self.assertEqual([latency["others"] for latency in size["latency"]], [frames, 0, 0])
        self.assertEqual(size["latency"][0]["frames"], size["latency"][0]["intended"] + frames)

    def test_what_was_found_before_an_interrupt_is_told(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        bench = self.begin("--bytes", f"{BYTES},{2 * BYTES}", "--most", "200", "--initial-duration", "1s",
                           "--final-duration", "1s", "--histogram", self.directory / "latency.csv")
        # The one frame with which each size is tried before is no trial.
        self.await_source(bench, "a trial of the second size",
                          lambda source: source["bytes"] == 2 * BYTES and source["packets"] > 1)
        bench.send_signal(signal.SIGINT)
        out, err = bench.communicate(timeout=PATIENCE)
        self.assertNotEqual(bench.returncode, 0)
        self.assertIn("interrupted", err)
        report = json.loads(out)
        self.assertIs(report["complete"], False)
        self.assertEqual([size["bytes"] for size in report["sizes"]], [str(BYTES)])
        with open(self.directory / "latency.csv") as file:
            self.assertEqual({line["frame_bytes"] for line in csv.DictReader(file)}, {str(BYTES)})
        self.assertEqual(self.json("traffic", "list")["sources"], [], "the sources are stopped")

    def test_the_end_of_the_terminal_stops_the_sources_unless_nohup_said_otherwise(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC))
        words = ("--bytes", BYTES, "--most", "200", "--initial-duration", "30s", "--final-duration", "30s")
        for before, number in (((), signal.SIGHUP), (("nohup",), signal.SIGTERM)):
            bench = self.begin(*words, before=before)
            self.await_source(bench, "a trial", lambda source: source["packets"] > 1)
            status = pathlib.Path("/proc", str(bench.pid), "status").read_text().splitlines()
            (ignored,) = (int(line.split()[1], 16) for line in status if line.startswith("SigIgn:"))
            self.assertEqual(ignored >> (signal.SIGHUP - 1) & 1, 1 if before else 0)
            bench.send_signal(number)
            if number == signal.SIGHUP:
                bench.send_signal(number)  # the shell and the kernel may both send it
            _, err = bench.communicate(timeout=PATIENCE)
            self.assertEqual(bench.returncode, 1, err)
            self.assertIn("interrupted", err)
            self.assertEqual(self.json("traffic", "list")["sources"], [], "the sources are stopped")

    def test_of_queues_without_a_limit_is_what_arrives_within_two_seconds(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC.replace(f", queue_limit: {QUEUE}", "")))
        (size,) = self.json("bench", "ndr", "--bytes", BYTES, "--most", "10k", "--width", "0.1", "--initial-duration",
                            f"{FINAL}s", "--final-duration", f"{FINAL}s")["sizes"]
        # In the trial and in the two seconds after it a link carries so many frames. What a trial leaves in the queues is
        # not there any more when the next one begins.
        capacity = CAPACITY * (FINAL + 2) / FINAL
        ndr = size["goals"][0]
        self.assertEqual(ndr["limit"], "the fabric: not delivered in time")
        self.assertLessEqual(ndr["relevant_lower_bound"], 1.05 * capacity)
        self.assertGreaterEqual(ndr["relevant_upper_bound"], 0.95 * capacity)
        self.assertLessEqual(ndr["relevant_upper_bound"], 1.15 * ndr["relevant_lower_bound"])

    def test_does_not_measure_what_was_inside_before(self):
        self.bfly("up", self.write("fabric.yaml", FABRIC.replace(f", queue_limit: {QUEUE}", "")))
        seconds = 12
        self.bfly("traffic", "start", "--name", "before", "--to", "bitcomp", "--bytes", BYTES, "--rate", "200k",
                  "--packets", round(seconds * CAPACITY))
        wait_until(lambda: self.json("counters")["conservation"]["injected"] == 4 * seconds * CAPACITY, "all are inside")
        self.bfly("traffic", "stop")
        done = self.bfly("bench", "ndr", "--bytes", BYTES, "--most", "200", "--initial-duration", f"{FINAL}s",
                         "--final-duration", f"{FINAL}s", "--json", check=False)
        # The links carry the largest load, so there is no upper bound.
        self.assertEqual(done.returncode, 1, done.stderr)
        (size,) = json.loads(done.stdout)["sizes"]
        # At a sixth of the capacity nobody waits: a frame takes two links of 8 * BYTES / BITS_PER_SECOND, and what was
        # inside before would have it wait for seconds.
        for latency in size["latency"]:
            self.assertLess(latency["max_ns"], 1e9, latency)


if __name__ == "__main__":
    unittest.main()
