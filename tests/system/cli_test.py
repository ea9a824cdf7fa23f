# SPDX-License-Identifier: Apache-2.0
"""The life of a fabric as the command line has it: up, look, circuits, traffic, links, down; and what it
says when something is wrong. No devices: built-in sources carry the traffic."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from lab import BUILD, PATIENCE, require_root, wait_until

BFLY = BUILD / "bfly"
LCORES = sorted(os.sched_getaffinity(0))

BB16 = f"""
name: life
network: {{kind: two_fold_butterfly, rows: 16, seed: 7}}
placement:
  - {{stages: 0-3, lcore: {LCORES[0]}}}
  - {{stages: 4-7, lcore: {LCORES[-1]}}}
"""


def balances(account):
    return account["injected"] == account["delivered"] + account["dropped"] + account["in_flight"]


def alive(pid):
    """A process that ended may wait to be reaped: it has no command line any more."""
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_bytes() != b""
    except OSError:
        return False


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"bfly-cli-{os.getpid()}-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.run_dir = self.directory / "run"
        self.addCleanup(self.bfly, "down", check=False)
        self.file = self.write("bb16.yaml", BB16)

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        return path

    def bfly(self, *words, check=True):
        done = subprocess.run([BFLY, *map(str, words), "--run-dir", self.run_dir], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=2 * PATIENCE, check=False)
        if check:
            self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def json(self, *words):
        return json.loads(self.bfly(*words, "--json").stdout)

    def pids(self):
        return [int(path.read_text().split()[0]) for path in self.run_dir.glob("*.pid")]

    def test_a_fabric_comes_up_carries_circuits_and_goes_down_with_a_closed_account(self):
        out = self.bfly("up", self.file).stdout
        self.assertIn("life is up", out)
        self.assertRegex(out, "hugepages")
        self.assertIn("bfly down", out)
        status = self.json("status")
        self.assertEqual((status["loaded"], status["rows"], status["stages"]), (True, 16, 8))
        self.assertEqual([worker["stages"] for worker in status["data_planes"][0]["workers"]],
                         [[0, 1, 2, 3], [4, 5, 6, 7]] if len(LCORES) > 1 else [list(range(8))])

        circuit = self.json("circuit", "setup", 3, 12)
        self.assertEqual((circuit["rows"][0], circuit["rows"][-1], len(circuit["rows"])), (3, 12, 9))
        self.bfly("traffic", "start", "--rows", "3", "--rate", 0, "--packets", 1000)
        path = [(stage, row, next_row) for stage, (row, next_row)
                in enumerate(zip(circuit["rows"], circuit["rows"][1:]))]

        def all_delivered():
            counters = self.json("counters")
            self.assertTrue(balances(counters["conservation"]), counters["conservation"])
            return counters if counters["conservation"]["delivered"] == 1000 else None

        counters = wait_until(all_delivered, "1000 packets are delivered")
        carried = {(link["stage"], link["row"], link["next_row"]): link["packets"]
                   for link in counters["links"] if link["packets"]}
        self.assertEqual(carried, {link: 1000 for link in path})
        self.assertEqual(self.json("circuit", "list")["total"], 1)
        self.assertEqual(self.json("circuit", "release", circuit["id"])["output"], 12)
        self.assertEqual(self.json("circuit", "list")["total"], 0)

        pids = self.pids()
        self.assertEqual(len(pids), 2)
        account = self.json("down")["conservation"]
        self.assertEqual((account["injected"], account["in_flight"]), (1000, 0))
        self.assertTrue(balances(account))
        for pid in pids:
            self.assertFalse(alive(pid))
        self.assertEqual(list(self.run_dir.iterdir()), [])

    def test_going_down_twice_is_as_good_as_once(self):
        self.bfly("up", self.file)
        self.bfly("down")
        self.assertIn("nothing runs", self.bfly("down").stdout)

    def test_a_second_up_says_that_a_fabric_runs_already(self):
        self.bfly("up", self.file)
        pids = self.pids()
        second = self.bfly("up", self.file, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn("already", second.stderr)
        self.assertEqual(self.pids(), pids)
        self.assertTrue(self.json("status")["loaded"])

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

    def test_circuits_come_and_go(self):
        dry = self.json("circuit", "churn", "--dry-run", "--network", self.file, "--rate", 100, "--holding", 0.1,
                        "--duration", 20, "--seed", 2)
        self.assertAlmostEqual(sum(dry["share"]), 1, places=6)
        self.assertAlmostEqual(dry["seconds"], 20)
        self.assertEqual(dry["set_up"], dry["released"] + dry["standing"])
        self.assertEqual(dry["requests"], dry["set_up"] + dry["no_free_row"] + dry["refused"])
        steps = self.write("steps", "setup 0 3\nsetup 1 2\nrelease 0\n")
        self.bfly("up", self.file)
        live = self.json("circuit", "churn", "--arrivals", f"adversary:{steps}", "--rate", 100)
        self.assertEqual((live["set_up"], live["released"]), (2, 1))
        # What it set up is released at the end.
        self.assertEqual(self.json("circuit", "list")["total"], 0)
        self.assertEqual(self.json("counters")["circuits"]["asked"], 2)
        wrong = self.bfly("circuit", "churn", "--arrivals", "adversary:/nowhere", check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("/nowhere", wrong.stderr)

    def test_protocols_are_measured_beside_the_textbook(self):
        bench = self.json("bench", "circuits", "--protocol", "collision", "--rows", 64, "--runs", 1)
        self.assertGreater(bench["operations_per_second"], 0)
        self.assertAlmostEqual(bench["operations_per_second"] * bench["seconds"], 64, places=3)
        self.assertGreater(bench["ratio"], 0)

    def test_what_comes_to_a_link_that_is_down_is_dropped_and_counted(self):
        self.bfly("up", self.file)
        rows = self.json("circuit", "setup", 2, 9)["rows"]
        port = next(link["port"] for link in self.json("counters", "--stages", 4)["links"]
                    if (link["row"], link["next_row"]) == (rows[4], rows[5]))
        self.bfly("link", "down", 4, rows[4], port)
        self.bfly("traffic", "start", "--rows", "2", "--rate", 0, "--packets", 500)

        def all_dropped():
            counters = self.json("counters")
            self.assertTrue(balances(counters["conservation"]))
            return counters if counters["conservation"]["dropped"] == 500 else None

        counters = wait_until(all_dropped, "500 packets are dropped")
        self.assertIn({"reason": "link_down", "packets": 500}, counters["drops"])
        self.bfly("link", "up", 4, rows[4], port)

    def test_every_error_of_a_file_is_shown_with_its_line_and_nothing_is_started(self):
        bad = self.write("bad.yaml", "name: bad\nnetwork: {kind: torus, rows: 12}\nplacement:\n"
                                     "  - {stages: 0-7, lcore: 0}\ncolour: blue\n")
        for verb in ("describe", "up"):
            refused = self.bfly(verb, bad, check=False)
            self.assertEqual(refused.returncode, 1)
            for what in ("bad.yaml:2", "torus", "12", "bad.yaml:5", "colour"):
                self.assertIn(what, refused.stderr)
        self.assertFalse(self.run_dir.exists() and list(self.run_dir.iterdir()))

    def test_what_the_machine_cannot_do_is_said_and_what_was_started_is_stopped(self):
        nowhere = self.write("nowhere.yaml", BB16 + "ports:\n  - {name: h0, rows: 0, "
                             "device: 'net_af_xdp,iface=bfly-nix'}\n")
        refused = self.bfly("up", nowhere, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("bfly-nix", refused.stderr)
        self.assertEqual(self.pids(), [])

    def test_a_namespace_that_is_not_there_is_named(self):
        file = self.write("netns.yaml", BB16 + "data_planes:\n  - {name: dp0, network_namespace: bfly-nix}\n")
        refused = self.bfly("up", file, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ip netns add bfly-nix", refused.stderr)
        self.assertEqual(self.pids(), [])

    def test_errors_of_the_controller_name_the_field(self):
        self.bfly("up", self.file)
        for words, what in ((("circuit", "setup", 99, 3), "input"), (("circuit", "setup", 3, 99), "output"),
                            (("circuit", "release", 77), "77"), (("link", "down", 99, 0, 0), "stage"),
                            (("traffic", "start", "--rows", "3-99"), "rows")):
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn(what, refused.stderr)
            self.assertTrue(refused.stderr.startswith("bfly: "))

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
        self.assertRegex(text, r"(?m)^hot +0-3 +poisson 2k/s +hotspot +80 ")
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
                            (("--process", "bernoulli", "--rate", 1000, "--slot", "1s"), "no probability")):
            refused = self.bfly("traffic", "start", *words, check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn(what, refused.stderr)
        for words in (("--p", "1.5"), ("--rate", "-1"), ("--slot", "5"), ("--process", "burst"), ("--duty", "2"),
                      ("--trace", far, "--rate", "5")):
            self.assertEqual(self.bfly("traffic", "start", *words, check=False).returncode, 2, words)
        self.assertEqual(len(self.json("traffic", "list")["sources"]), 2)

    def test_without_a_fabric_every_verb_says_how_to_start_one(self):
        for words in (("status",), ("counters",), ("counters", "--watch"), ("circuit", "list"), ("traffic", "stop")):
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn("bfly up FILE", refused.stderr)

    def test_wrong_usage_has_an_exit_code_of_its_own(self):
        for words in (("nonsense",), ("describe",), ("circuit", "setup", "1"), ("counters", "--top", "none")):
            self.assertEqual(self.bfly(*words, check=False).returncode, 2, words)

    def test_what_a_killed_fabric_left_is_no_obstacle(self):
        self.bfly("up", self.file)
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in self.pids()), "they are dead")
        self.bfly("up", self.file)
        self.assertTrue(self.json("status")["loaded"])

    def test_in_the_foreground_an_interrupt_takes_the_fabric_down(self):
        process = subprocess.Popen([BFLY, "up", self.file, "--foreground", "--run-dir", self.run_dir], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        wait_until(lambda: self.bfly("status", check=False).stdout.startswith("life"), "the fabric is up")
        pids = self.pids()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=2 * PATIENCE)
        self.assertEqual(process.returncode, 0, out)
        self.assertIn("conservation: injected 0", out)
        for pid in pids:
            self.assertFalse(alive(pid))

    def test_pictures_come_as_lines_where_there_is_no_terminal_and_as_json_when_asked(self):
        self.bfly("up", self.file)
        self.bfly("circuit", "permutation", "--seed", 1, "--traffic", 1000)
        lines = self.bfly("counters", "--watch", "--interval", 100, "--seconds", 2).stdout.splitlines()
        self.assertGreater(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"conservation: injected \d+ = delivered \d+ \+ dropped \d+ \+ in flight \d+")
            self.assertNotIn("\x1b", line)
        documents = [json.loads(line) for line in
                     self.bfly("counters", "--watch", "--json", "--interval", 100, "--seconds", 2).stdout.splitlines()]
        self.assertGreater(len(documents), 2)
        for document in documents:
            self.assertTrue(balances(document["conservation"]), document["conservation"])

    def test_the_drawing_gives_the_terminal_back_when_interrupted(self):
        self.bfly("up", self.file)
        self.bfly("circuit", "permutation", "--seed", 1, "--traffic", 1000)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([BFLY, "counters", "--watch", "--interval", "100", "--run-dir", self.run_dir],
                                   stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm-256color"})
        self.addCleanup(process.kill)
        os.close(theirs)
        seen = ""
        deadline = time.monotonic() + PATIENCE
        while seen.count("injected") < 3:
            self.assertLess(time.monotonic(), deadline, seen)
            seen += os.read(ours, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        try:
            while more := os.read(ours, 65536):
                seen += more.decode(errors="replace")
        except OSError:  # the terminal's other end is closed
            pass
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        for begin, end in (("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h")):
            self.assertEqual(seen.count(begin), 1)
            self.assertEqual(seen.count(end), 1)
        # The last picture stays on the ordinary screen.
        self.assertRegex(re.sub(r"\x1b\[[0-9;]*m", "", seen.split("\x1b[?1049l")[1]), "conservation: injected")


if __name__ == "__main__":
    unittest.main(verbosity=2)
