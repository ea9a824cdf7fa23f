# SPDX-License-Identifier: Apache-2.0
"""The life of a fabric as the command line has it: up, look, circuits, traffic, links, down; and what it
says when something is wrong. No devices: built-in sources carry the traffic."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest

from command_line import BFLY, LCORES, BB16, balances, alive, CommandLineTest
from lab import BUILD, PATIENCE, wait_until


# Opens Fabric.Arbitrate with election id 77, in its wire format, and holds it until its standard input ends.
HOLD_THE_ROLE = """
import queue, sys, threading, grpc
wishes = queue.Queue()
wishes.put(bytes([1 << 3, 77]))
news = grpc.insecure_channel(sys.argv[1]).stream_stream("/bfly.v1.Fabric/Arbitrate")(iter(wishes.get, None))
next(news)
print("primary", flush=True)
sys.stdin.read()
"""

SHIPPED_RACK = pathlib.Path(__file__).resolve().parents[2] / "topologies/racks/rack.yaml"


class TurnsAway:
    """A door in front of the controller: it closes the first `turned_away` connections at once and carries the rest."""

    def __init__(self, path, controller, turned_away):
        self.left, self.controller, self.ends = turned_away, controller, []
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(path))
        self.door.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                client, _ = self.door.accept()
                if self.left > 0:
                    self.left -= 1
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.controller))
                self.ends += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()
        except OSError:  # the door was closed
            pass

    @staticmethod
    def carry(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # one of the ends is gone
            pass

    def close(self):
        for end in [self.door, *self.ends]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:  # the other end has gone first
                pass
            end.close()


class CommandLine(CommandLineTest):
    def test_a_call_that_the_controller_turned_away_is_tried_again(self):
        self.bfly("up", self.file)
        for turned_away, code in ((5, 0), (10**9, 1)):
            path = self.directory / f"door{turned_away}.sock"
            door = TurnsAway(path, self.run_dir / "controller.sock", turned_away)
            self.addCleanup(door.close)
            began = time.monotonic()
            done = self.bfly("status", "--json", "--controller", f"unix:{path}", check=False)
            self.assertEqual(done.returncode, code, f"{door.left} {done.stderr}")
            if code == 0:
                self.assertEqual((door.left, json.loads(done.stdout)["loaded"]), (0, True))
            else:
                self.assertIn("no bfly-controller answers", done.stderr)
                self.assertLess(door.left, 10**9 - 10)
                self.assertLess(time.monotonic() - began, 20)

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
        # What the fabric was meant to be and who changed it are kept, and nothing else.
        self.assertEqual({path.name for path in self.run_dir.iterdir()}, {"intent.db", "audit.log"})

    def test_without_a_placement_rows_are_spread_over_the_cpus(self):
        bare = self.write("bare.yaml", "name: bare\nnetwork: {kind: butterfly, rows: 64}\n")
        out = self.bfly("up", bare).stdout
        self.assertIn("the file has no placement: rows are spread over CPUs", out)
        parts = 1
        while 2 * parts <= min(len(LCORES), 64):
            parts *= 2
        workers = self.json("status")["data_planes"][0]["workers"]
        self.assertEqual([worker["lcore"] for worker in workers], LCORES[:parts])
        for part, worker in enumerate(workers):
            self.assertEqual(worker["stages"], list(range(6)))
            self.assertEqual(worker["rows"], f"{64 // parts * part}-{64 // parts * (part + 1) - 1}" if parts > 1 else "")
        self.bfly("traffic", "start", "--rows", "0-63", "--to", "uniform", "--rate", 0, "--packets", 100)
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] == 6400, "every packet is delivered")
        self.assertTrue(balances(self.json("down")["conservation"]))

    def test_status_tells_the_work_of_a_time(self):
        def frames(*over):
            return sum(worker["cost"]["frames"] for plane in self.json("status", *over)["data_planes"] for worker in plane["workers"])

        self.bfly("up", self.file)
        self.bfly("traffic", "start", "--rows", "0", "--to", "uniform", "--rate", 1000)
        wait_until(lambda: frames() > 1000, "a second of traffic is over")
        self.assertTrue(100 <= frames("--over", "200ms") < 1000)
        self.bfly("traffic", "stop")
        wait_until(lambda: self.json("counters")["conservation"]["in_flight"] == 0, "every packet is delivered")
        self.assertGreater(frames(), 1000)
        self.assertEqual(frames("--over", "200ms"), 0)
        self.bfly("down")

    @unittest.skipIf(len(LCORES) < 2, "one CPU has the worker and the controller")
    def test_the_controller_keeps_off_the_cpus_of_the_workers(self):
        one = self.write("one.yaml", "name: one\nnetwork: {kind: butterfly, rows: 16}\n"
                         f"placement:\n  - {{stages: 0-3, lcore: {LCORES[-1]}}}\n")
        self.bfly("up", one)
        controller = int((self.run_dir / "controller.pid").read_text().split()[0])
        threads = [int(thread) for thread in os.listdir(f"/proc/{controller}/task")]
        self.assertGreater(len(threads), 1)
        for thread in threads:
            self.assertEqual(os.sched_getaffinity(thread), set(LCORES[:-1]))
        self.bfly("down")

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
        # The machine is asked last; its answer has the line of the port all the same.
        self.assertRegex(refused.stderr, r"nowhere\.yaml:8: ports\[0\]\.device: .*bfly-nix")
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

    def test_without_a_fabric_every_verb_says_how_to_start_one(self):
        for words in (("status",), ("counters",), ("counters", "--watch"), ("circuit", "list"), ("traffic", "stop")):
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 1, words)
            self.assertIn("bfly up FILE", refused.stderr)

    def test_wrong_usage_has_an_exit_code_of_its_own(self):
        for words in (("nonsense",), ("describe",), ("circuit", "setup", "1"), ("counters", "--top", "none"),
                      ("describe", self.file, "--dot", "--json")):
            self.assertEqual(self.bfly(*words, check=False).returncode, 2, words)

    def test_a_plan_that_is_off_its_measurements_fails(self):
        shipped = self.json("plan", SHIPPED_RACK, "--check")
        self.assertGreater(len([row for row in shipped if not row["fitted"]]), 3)
        # By hand: a core of the six stages takes 20 + 10 + 6 ns a frame, so 27.8 million are predicted.
        rack = self.write("rack.yaml", """
costs: {driver_ns: 20, edge_ns: 10, hop_ns: 1}
measured: [{stages: 6, mpps: 25}, {stages: 6, mpps: 10, fitted: true}]
""")
        self.assertEqual(self.bfly("plan", rack, "--check").returncode, 0)
        for words in (("--within", 11), ("--set", "costs={driver_ns: 10}")):
            off = self.bfly("plan", rack, "--check", *words, check=False)
            self.assertEqual(off.returncode, 1, off.stdout)
            self.assertIn("the model is off by more than", off.stderr)
            self.assertIn("6 stages, placement one, by", off.stderr)
        self.assertEqual(self.bfly("plan", rack, "--within", 11, check=False).returncode, 2)

    def another_holds_the_role(self):
        holder = subprocess.Popen(["/usr/bin/python3", "-c", HOLD_THE_ROLE, f"unix:{self.run_dir}/controller.sock"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline().strip(), "primary")

    def test_a_controller_without_a_pid_file_that_refuses_is_not_nothing(self):
        self.bfly("up", self.file)
        self.another_holds_the_role()
        files = {path: path.read_bytes() for path in self.run_dir.iterdir() if path.suffix == ".pid" or path.name == "operator.id"}
        self.assertEqual(len(files), 3, files)
        for path in files:
            path.unlink()
        refused = self.bfly("down", check=False)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("--election-id", refused.stderr)
        self.assertTrue(self.json("status")["loaded"])
        for path, content in files.items():
            path.write_bytes(content)
        self.bfly("down")

    def test_down_names_a_data_plane_of_somebody_else_that_it_cannot_unload(self):
        daemons = [subprocess.Popen([BUILD / program, *words, "--run-dir", self.run_dir], stderr=subprocess.DEVNULL)
                   for program, *words in (("bfly-dataplane", "--name", "dp0"), ("bfly-controller",))]
        for daemon in daemons:
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.kill)
        for name in ("dp0", "controller"):
            wait_until((self.run_dir / f"{name}.sock").exists, f"{name} serves")
        self.bfly("up", self.file)
        daemons[1].kill()
        daemons[1].wait()
        refused = self.bfly("down", check=False)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("no controller runs that could unload the fabric of dp0", refused.stderr)
        daemons[0].kill()
        daemons[0].wait()
        self.assertIn("nothing runs in", self.bfly("down").stdout)

    def test_the_operator_acts_in_the_name_of_a_controller_that_holds_the_role(self):
        self.bfly("up", self.file)
        self.another_holds_the_role()
        self.assertEqual(self.json("status")["primary_election_id"], 77)
        changes = (("link", "down", 4, 3, 1), ("link", "up", 4, 3, 1), ("link", "set", "s3", "--delay", "1us"),
                   ("traffic", "start", "--rows", "3", "--packets", 5), ("traffic", "stop"),
                   ("circuit", "setup", 3, 12), ("circuit", "permutation", "--seed", 1, "--replace"),
                   ("circuit", "release", "--all"), ("circuit", "churn", "--rate", 100, "--duration", 0.2), ("down",))
        for words in changes:
            if words in (("circuit", "release", "--all"), ("down",)):
                continue  # nothing stands that could be released, and down has the owner's id
            refused = self.bfly(*words, check=False)
            self.assertEqual(refused.returncode, 1, f"{words}: {refused.stdout}")
            self.assertIn("--election-id", refused.stderr)
        for words in changes:
            self.bfly(*words, "--election-id", 77)

    def test_what_a_killed_fabric_left_is_no_obstacle(self):
        self.bfly("up", self.file)
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in self.pids()), "they are dead")
        self.bfly("up", self.file)
        self.assertTrue(self.json("status")["loaded"])

    def foreground(self, *before):
        process = subprocess.Popen([*before, BFLY, "up", self.file, "--foreground", "--run-dir", self.run_dir], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        wait_until(lambda: self.bfly("status", check=False).stdout.startswith("life"), "the fabric is up")
        return process

    def takes_the_fabric_down(self, process, number):
        pids = self.pids()
        self.assertEqual(len(pids), 2)
        process.send_signal(number)
        out, _ = process.communicate(timeout=2 * PATIENCE)
        self.assertEqual(process.returncode, 0, out)
        self.assertIn("conservation: injected 0", out)
        for pid in pids:
            self.assertFalse(alive(pid))

    def test_in_the_foreground_an_interrupt_takes_the_fabric_down(self):
        self.takes_the_fabric_down(self.foreground(), signal.SIGINT)

    def test_in_the_foreground_the_end_of_the_terminal_takes_the_fabric_down_unless_nohup_said_otherwise(self):
        self.takes_the_fabric_down(self.foreground(), signal.SIGHUP)
        process = self.foreground("nohup")
        process.send_signal(signal.SIGHUP)
        self.assertRaises(subprocess.TimeoutExpired, process.wait, 1)
        self.takes_the_fabric_down(process, signal.SIGTERM)

    def test_a_fabric_that_cannot_be_told_of_is_stopped(self):
        for words in (("--json",), ()):
            self.unheard("up", self.file, *words)
            self.assertEqual(self.pids(), [])

    def test_output_that_cannot_be_written_is_no_success(self):
        self.bfly("up", self.file)
        for words in (("describe", self.file), ("describe", self.file, "--dot"), ("describe", self.file, "--json"),
                      ("plan", SHIPPED_RACK), ("plan", SHIPPED_RACK, "--json"), ("completion", "bash"), ("status",),
                      ("circuit", "permutation", "--dry-run"), ("link", "show"), ("traffic", "list")):
            where = () if words[0] == "completion" else ("--run-dir", self.run_dir)
            with open("/dev/full", "w") as full:
                done = subprocess.run([BFLY, *map(str, words), *where], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=2 * PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write to standard output", done.stderr, words)

    def test_a_root_that_is_not_there_is_no_machine(self):
        done = self.bfly("doctor", "--root", self.directory / "nowhere", check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"--root: there is no directory {self.directory}/nowhere", done.stderr)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
