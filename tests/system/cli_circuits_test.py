# SPDX-License-Identifier: Apache-2.0
"""Circuits, the data server and built-in sources, by the command line."""

import concurrent.futures
import signal
import subprocess
import unittest

from command_line import BFLY, LCORES, BB16, CommandLineTest
from lab import wait_until


class Circuits(CommandLineTest):
    def test_a_permutation_has_the_same_paths_dry_and_installed(self):
        dry = self.json("circuit", "permutation", "--dry-run", "--network", self.file, "--seed", 5)
        self.bfly("up", self.file)
        installed = self.json("circuit", "permutation", "--seed", 5)
        self.assertEqual(installed["paths"], dry["paths"])
        self.assertEqual((installed["congestion"], installed["dilation"], installed["rounds"]),
                         (dry["congestion"], dry["dilation"], dry["rounds"]))
        counted = max(link["circuits"] for link in self.json("counters")["links"])
        self.assertEqual(counted, installed["congestion"])
        again = self.bfly("circuit", "permutation", "--seed", 6, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("busy", again.stderr)
        self.bfly("circuit", "permutation", "--seed", 6, "--replace")
        self.assertEqual(self.json("circuit", "list")["total"], 16)

    def test_watching_tells_what_stands_and_what_changes_until_interrupted(self):
        self.bfly("up", self.file)
        first = self.json("circuit", "setup", 3, 12)["id"]
        watch = subprocess.Popen([BFLY, "circuit", "list", "--watch", "--run-dir", str(self.run_dir)],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.assertTrue(watch.stdout.readline().startswith(f"+ circuit {first}: 3 -> 12"))
        self.assertIn("changes follow", watch.stdout.readline())
        second = self.json("circuit", "setup", 4, 5)["id"]
        self.assertTrue(watch.stdout.readline().startswith(f"+ circuit {second}: 4 -> 5"))
        self.bfly("circuit", "release", first)
        self.assertTrue(watch.stdout.readline().startswith(f"- circuit {first}: 3 -> 12"))
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(timeout=10), 0)

    def test_a_client_measures_how_fast_it_is_answered(self):
        bench = self.json("bench", "grpc", "--rows", 16, "--batch", 8, "--callers", 4, "--runs", 1, "--seconds", 0.1)
        self.assertGreater(bench["stream_operations_per_second"], 0)
        self.assertEqual(bench["stream_set_ups_per_second"], bench["stream_operations_per_second"] / 2)
        self.assertGreater(bench["unary"]["ratio"]["median"], 0)

    def test_a_file_of_outputs_and_a_choice_of_rows_make_permutations(self):
        reverse = self.write("reverse", "".join(f"{15 - row}\n" for row in range(16)))
        paths = self.json("circuit", "permutation", "--dry-run", "--network", self.file, "--permutation", reverse)["paths"]
        self.assertEqual([(path["input"], path["output"]) for path in paths], [(row, 15 - row) for row in range(16)])
        paths = self.json("circuit", "permutation", "--dry-run", "--network", self.file, "--rows", "4-15")["paths"]
        self.assertEqual(sorted(path["input"] for path in paths), list(range(4, 16)))
        self.assertEqual(sorted(path["output"] for path in paths), list(range(4, 16)))

    def test_two_paths_of_each_request_are_shown_and_who_is_left(self):
        dry = self.json("circuit", "permutation", "--dry-run", "--network", self.file, "--protocol", "collision",
                        "--c", 1, "--max-rounds", 1)
        self.assertEqual(dry["rounds"], 1)
        self.assertEqual(dry["left_per_round"], [len(dry["requests_left"])])
        for path, both in zip(dry["paths"], dry["buddies"], strict=True):
            self.assertEqual(path["rows"], both["p_prime" if path["choice"] == "p_prime" else "p"])
            self.assertEqual(path["choice"] == "arbitrary", path["input"] in dry["requests_left"])
            self.assertFalse(set(enumerate(both["p"][1:-1])) & set(enumerate(both["p_prime"][1:-1])))

    def test_workers_choose_in_band_what_the_controller_would(self):
        dry = self.json("circuit", "permutation", "--dry-run", "--network", self.file, "--seed", 5, "--protocol", "collision")
        self.bfly("up", self.file)
        found = self.json("circuit", "permutation", "--seed", 5, "--protocol", "collision", "--in-band")
        for field in ("paths", "rounds", "messages", "steps", "congestion"):
            self.assertEqual(found[field], dry[field], field)
        self.assertGreater(found["in_band"]["forward_seconds"], 0)
        circuits = self.json("circuit", "list")["circuits"]
        self.assertEqual(len(circuits), 16)
        counted = max(link["circuits"] for link in self.json("counters")["links"])
        self.assertEqual(counted, found["congestion"])
        gone = self.json("circuit", "release", circuits[3]["id"], "--in-band")
        self.assertEqual(gone["circuit"]["input"], 3)
        back = self.json("circuit", "setup", 3, gone["circuit"]["output"], "--in-band")
        # Two probes there and back over 8 links each, none of them shared.
        self.assertEqual((back["in_band"]["forward_steps"], back["in_band"]["backward_steps"]), (8, 8))
        self.assertEqual(self.json("circuit", "list")["total"], 16)
        said = self.bfly("circuit", "permutation", "--seed", 6, "--in-band", "--replace").stdout
        self.assertRegex(said, r"in band: forward [\d.]+ us, back [\d.]+ us, deciding [\d.]+ us, installing [\d.]+ us")
        refused = self.bfly("circuit", "permutation", "--protocol", "valiant", "--in-band", "--replace", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("does not run in band", refused.stderr)

    def test_workers_refuse_in_band_what_has_no_room_as_the_controller_does(self):
        self.bfly("up", self.write("narrow", BB16 + "circuits: {capacity: 1}\n"))
        said = set()
        for in_band in ((), ("--in-band",)):
            refused = self.bfly("circuit", "permutation", "--protocol", "collision", "--seed", 5, *in_band, check=False)
            self.assertEqual(refused.returncode, 1)
            said.add(refused.stderr)
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said.pop(), r"paths\[\d+\]\.link: s\d+ r\d+ p[01] carries 1 circuit and has room for 1")
        circuits = self.json("counters")["circuits"]
        self.assertEqual((circuits["standing"], circuits["blocked"]), (0, 2))
        self.assertEqual(self.json("circuit", "list")["total"], 0)

    def test_a_batch_of_the_data_server_needs_no_fabric(self):
        rb = self.write("rb", BB16.replace("two_fold_butterfly", "randomly_wired_butterfly").replace("4-7", "4-4")
                        .replace("0-3", "0-1").replace("4-4", "2-3"))
        batch = self.json("data-server", "batch", "--dry-run", "--network", rb, "--users", "all", "--copies", 2, "--seed", 3)
        readers, links = {}, {}
        for path in batch["paths"]:
            readers[path["rows"][-1]] = readers.get(path["rows"][-1], 0) + 1
            for level, link in enumerate(zip(path["rows"], path["rows"][1:])):
                links[level, link] = links.get((level, link), 0) + 1
        self.assertEqual(batch["disk_contention"], max(readers.values()))
        self.assertEqual(batch["link_congestion"], max(links.values()))
        self.assertEqual((batch["c"], batch["c_disk"], batch["left_per_round"][-1]), (5, 5, 0))
        one = self.json("data-server", "batch", "--dry-run", "--network", rb, "--copies", 1, "--seed", 3)
        self.assertEqual((one["rounds"], one["copies"], len(one["paths"])), (1, 1, 16))
        wrong = self.bfly("data-server", "batch", "--dry-run", "--network", self.file, check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("randomly_wired_butterfly", wrong.stderr)

    def test_workers_serve_reads_in_band_as_the_controller_would(self):
        rb = self.write("rb", f"""
name: server
network: {{kind: randomly_wired_butterfly, rows: 16, seed: 7}}
placement: [{{stages: 0-3, lcore: {LCORES[0]}}}]
circuits: {{capacity: 8}}
""")
        dry = self.json("data-server", "batch", "--dry-run", "--network", rb, "--seed", 3, "--users", "0-11")
        self.bfly("up", rb)
        self.json("data-server", "place", "--objects", 16, "--seed", 3)
        served = self.json("data-server", "batch", "--users", "0-11", "--in-band")
        for field in ("rounds", "left_per_round", "messages", "steps", "link_congestion", "disk_contention", "c", "c_disk"):
            self.assertEqual(served[field], dry[field], field)
        self.assertEqual([path["rows"] for path in served["paths"]], [path["rows"] for path in dry["paths"]])
        one = self.bfly("data-server", "request", 12, 15, "--in-band").stdout
        self.assertRegex(one, r"user 12 reads object 15 from disk \d+(.|\n)*in band: forward [\d.]+ us")
        self.assertEqual(self.json("data-server", "status")["reads"], 13)
        self.assertEqual(self.json("data-server", "release", 12, "--in-band")["path"]["object"], 15)
        again = self.bfly("data-server", "release", 12, "--in-band", check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("reads nothing", again.stderr)
        self.assertEqual(self.json("data-server", "status")["reads"], 12)

    def test_objects_are_placed_served_and_released_on_a_running_fabric(self):
        rb = self.write("rb", f"""
name: server
network: {{kind: randomly_wired_butterfly, rows: 16, seed: 7}}
placement: [{{stages: 0-3, lcore: {LCORES[0]}}}]
circuits: {{capacity: 8}}
""")
        self.bfly("up", rb)
        self.assertEqual(self.json("data-server", "place", "--objects", 16, "--seed", 3)["objects"], 16)
        dry = self.json("data-server", "batch", "--dry-run", "--network", rb, "--seed", 3, "--users", "0-11")
        served = self.json("data-server", "batch", "--users", "0-11")
        self.assertEqual([path["rows"] for path in served["paths"]], [path["rows"] for path in dry["paths"]])
        self.assertEqual(served["disk_contention"], dry["disk_contention"])
        one = self.json("data-server", "request", 12, 15)
        self.assertEqual((one["path"]["input"], one["path"]["object"]), (12, 15))
        # Each half of the disks has a copy, and the link of stage 0 leads to one half.
        to_half = f"s0 r12 p{one['path']['output'] // 8}"
        self.bfly("data-server", "release", 12)
        other = self.json("data-server", "request", 12, 15, "--avoid", to_half)
        self.assertNotEqual(other["path"]["output"] // 8, one["path"]["output"] // 8)
        neither = self.bfly("data-server", "batch", "--users", 13, "--avoid", "s0 r13", check=False)
        self.assertEqual(neither.returncode, 1)
        self.assertRegex(neither.stderr, r"users\[0\]\.link: s0 r13 p[01] is to be avoided")
        counters = self.json("counters")
        self.assertEqual(counters["circuits"]["standing"], 13)
        self.assertEqual(max(link["circuits"] for link in counters["links"]),
                         self.json("data-server", "status")["link_congestion"])
        self.assertTrue(all(link["circuit_capacity"] == 8 for link in counters["links"]))
        # Packets go from the users to the disks: all that are sent arrive.
        self.bfly("traffic", "start", "--to", "circuit", "--rows", "0-11", "--rate", 0, "--packets", 100)
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] == 1200, "everything arrives")
        self.bfly("data-server", "release", 12)
        again = self.bfly("data-server", "release", 12, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("reads nothing", again.stderr)

    def test_every_circuit_is_released_at_once(self):
        self.bfly("up", self.file)
        self.assertEqual(self.bfly("circuit", "release", "--all").stdout, "released 0 circuits\n")
        self.bfly("circuit", "permutation")
        self.assertEqual(self.json("circuit", "release", "--all"), {"released": 16})
        self.assertEqual(self.json("circuit", "list")["total"], 0)
        for words in ((), ("7", "--all"), ("--all", "--in-band")):
            self.assertEqual(self.bfly("circuit", "release", *words, check=False).returncode, 2, words)

    def test_what_would_be_ignored_is_refused(self):
        steps = self.write("steps", "setup 3 12\n")
        dry = ("--dry-run", "--network", self.file)
        for words, what in (
                (("circuit", "churn", "--seed", "-1"), "--seed: -1 is below 0"),
                (("circuit", "release", "18446744073709551616"), "id: 18446744073709551616 is larger than any"),
                (("data-server", "batch", "--first-object", "-3"), "--first-object: -3 is below 0"),
                (("circuit", "permutation", *dry, "--c", 3), "--c: protocol minimum does not take it, collision does"),
                (("circuit", "permutation", *dry, "--protocol", "q_limited", "--max-rounds", 3),
                 "--max-rounds: protocol q_limited does not take it, collision does"),
                (("circuit", "permutation", *dry, "--protocol", "collision", "--q", 3),
                 "--q: protocol collision does not take it, q_limited does"),
                (("data-server", "batch", *dry, "--protocol", "minimum", "--c-disk", 3),
                 "--c-disk: protocol minimum does not take it, collision does"),
                (("data-server", "batch", *dry, "--copies", 1, "--c", 3), "--c: chooses between two copies"),
                (("data-server", "batch", *dry, "--copies", 1, "--protocol", "minimum"), "--protocol: chooses between"),
                (("circuit", "churn", "--arrivals", "adversary", steps, "--holding", 3), "--holding: is for poisson"),
                (("circuit", "permutation", *dry, "--traffic", 100), "--traffic excludes --dry-run"),
                (("circuit", "permutation", *dry, "--replace"), "--replace excludes --network"),
                (("data-server", "batch", *dry, "--first-object", 100), "--first-object excludes --network"),
                (("circuit", "churn", *dry, "--interval", 3), "--interval excludes --dry-run")):
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 2, words)
            self.assertIn(what, refused.stderr, words)
        self.bfly("circuit", "permutation", *dry, "--protocol", "q_limited", "--q", 3)

    def test_requests_that_benes_moves_to_other_paths_stand(self):
        self.bfly("up", self.write("benes", f"""
name: benes
network: {{kind: benes, rows: 8}}
placement: [{{stages: 0-5, lcore: {LCORES[0]}}}]
"""))
        self.bfly("link", "down", "s1 r0-7 p1")
        said = self.bfly("circuit", "permutation", "--protocol", "benes", "--seed", 3).stdout
        self.assertRegex(said, r"requests? took another path, which may share links: inputs \d")
        self.assertNotIn("without a path", said)
        self.assertEqual(self.json("circuit", "list")["total"], 8)

    def test_circuits_stand_though_their_sources_could_not_be_started(self):
        self.bfly("up", self.file)
        # All the sources that a controller allows.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: self.bfly("traffic", "start", "--name", f"s{number}", "--to", "uniform", "--rate", 1,
                                                   "--rows", 0), range(256)))
        refused = self.bfly("circuit", "permutation", "--traffic", 100, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("16 circuits", refused.stdout)
        self.assertIn("the 16 circuits stand; no source was started", refused.stderr)
        self.assertEqual(self.json("circuit", "list")["total"], 16)

    def test_protocols_are_measured_beside_the_textbook(self):
        bench = self.json("bench", "circuits", "--protocol", "collision", "--rows", 64, "--runs", 2)
        self.assertEqual(bench["textbook_runs"], 1)
        self.assertGreater(bench["operations_per_second"], 0)
        self.assertGreaterEqual(bench["operations"], 1 << 20, "a run is long enough for the clock")
        self.assertEqual(bench["operations"] % 64, 0, "whole permutations")
        self.assertAlmostEqual(bench["operations_per_second"] * bench["seconds"], bench["operations"], places=3)
        self.assertGreater(bench["ratio"], 0)
        shared = self.json("bench", "circuits", "--protocol", "benes", "--rows", 1024, "--runs", 1, "--workers", 2)
        self.assertEqual(shared["workers"], 2)
        alone = self.bfly("bench", "circuits", "--protocol", "minimum", "--rows", 64, "--workers", 2, check=False)
        self.assertEqual(alone.returncode, 1)
        self.assertIn("workers: minimum runs on one thread", alone.stderr)

    def test_paths_do_not_depend_on_the_workers(self):
        route = ["circuit", "permutation", "--dry-run", "--network", self.file, "--protocol", "collision"]
        one, three = self.json(*route), self.json(*route, "--workers", 3)
        for answer in one, three:
            del answer["seconds"]
        self.assertEqual(one, three)
        for bad in "0", "65":
            refused = self.bfly(*route, "--workers", bad, check=False)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("not in range 1 to 64", refused.stderr)

    def test_sources_run_side_by_side_and_are_listed_with_what_they_sent(self):
        self.bfly("up", self.file)
        trace = self.write("trace.csv", "time,row,destination,bytes\n" + "".join(
            f"{i / 1000},{i % 16},{(i + 5) % 16},100\n" for i in range(50)))
        swap = self.write("swap.txt", "".join(f"{row ^ 1}\n" for row in range(16)))
        self.bfly("traffic", "start", "--name", "swap", "--to", f"permutation:{swap}", "--rate", 0, "--packets", 10,
                  "--latency")
        self.bfly("traffic", "start", "--name", "replay", "--trace", trace)
        self.bfly("traffic", "start", "--name", "hot", "--process", "poisson", "--rate", 2000, "--to", "hotspot",
                  "--hotspots", "3,7", "--weights", "2,1", "--rows", "0-3", "--packets", 20)

        def all_sent():
            listed = self.json("traffic", "list")
            sent = {s["source"]["name"]: (s["packets"], s["bytes"], s["finished"]) for s in listed["sources"]}
            return listed if all(finished for _, _, finished in sent.values()) else None

        listed = wait_until(all_sent, "every source has sent what it had")
        self.assertEqual({s["source"]["name"]: (s["packets"], s["bytes"]) for s in listed["sources"]},
                         {"swap": (160, 160 * 64), "replay": (50, 5000), "hot": (80, 80 * 64)})
        latency = wait_until(lambda: (now := self.json("traffic", "latency"))["end_to_end"]["count"] == 290 and now,
                             "every delivery is recorded")
        end_to_end = latency["end_to_end"]
        self.assertGreater(end_to_end["p50"], 0)
        for low, high in (("p50", "p90"), ("p90", "p99"), ("p99", "p999"), ("p999", "max"), ("mean", "max")):
            self.assertLessEqual(end_to_end[low], end_to_end[high])
        text = self.bfly("traffic", "list").stdout
        self.assertRegex(text, r"(?m)^hot +0-3 +poisson 2\.00k/s +hotspot +80 ")
        self.assertIn("p99.9", text)
        self.bfly("traffic", "stop", "swap")
        self.assertEqual([s["source"]["name"] for s in self.json("traffic", "list")["sources"]], ["replay", "hot"])
        self.assertIn("start a source with --latency", self.bfly("traffic", "latency", check=False).stderr)

        far = self.write("far.csv", "0,1,2,64\n1,16,2,64\n")
        short = self.write("short.txt", "1\n0\n")
        for words, what in ((("--trace", far), f"{far}:2: row: 16 is outside 0..15"),
                            (("--to", f"permutation:{short}"), "2 outputs given, the network has 16 rows"),
                            (("--to", "somewhere"), "use a row, circuit, uniform, p-flip, bitcomp"),
                            (("--to", "hotspot"), "hotspots: none is given"),
                            (("--process", "bernoulli", "--rate", 1000, "--slot", "1s"), "not a probability")):
            refused = self.bfly("traffic", "start", *words, check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn(what, refused.stderr)
        for words in (("--p", "1.5"), ("--rate", "-1"), ("--slot", "5"), ("--process", "burst"), ("--duty", "2"),
                      ("--trace", far, "--rate", "5")):
            self.assertEqual(self.bfly("traffic", "start", *words, check=False).returncode, 2, words)
        self.assertEqual(len(self.json("traffic", "list")["sources"]), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
