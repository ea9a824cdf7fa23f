#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands /bfly/... of DPDK's telemetry socket, by its protocol and by dpdk-telemetry.py, beside `bfly counters`."""

import json
import shutil
import socket
import subprocess
import threading
import unittest

from command_line import LCORES, CommandLineTest
from lab import PATIENCE, wait_until

ROWS, STAGES, PACKETS = 64, 12, 20
NETWORK = f"""
name: watched
network: {{kind: two_fold_butterfly, rows: {ROWS}, seed: 7}}
placement:
  - {{stages: 0-5, lcore: {LCORES[0]}}}
  - {{stages: 6-11, lcore: {LCORES[-1]}}}
links: {{overrides: [{{stages: "2", rate: 10Mbps}}]}}
"""


class Telemetry:
    """A client of the socket: one message asks, one message answers."""

    def __init__(self, pid):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(f"/var/run/dpdk/bfly{pid}/dpdk_telemetry.v2")
        self.most = json.loads(self.socket.recv(1024))["max_output_len"]

    def ask(self, command):
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(self.most))[command.partition(",")[0]]

    def all(self, command, name):
        """The items of all answers that follow one another. Their numbers go up by one."""
        answer = self.ask(command)
        items = []
        while True:
            assert [int(number) for number in answer[name]] == list(range(len(items), len(items) + len(answer[name]))), answer
            items += answer[name].values()
            if "next" not in answer:
                return items
            assert answer["next"] == len(items), answer
            answer = self.ask(f"{command},{answer['next']}")

    def close(self):
        self.socket.close()


class DpdkTelemetryTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.bfly("up", self.write("watched.yaml", NETWORK))
        self.pid = int((self.run_dir / "dp0.pid").read_text().split()[0])
        self.telemetry = self.client()

    def client(self):
        telemetry = Telemetry(self.pid)
        self.addCleanup(telemetry.close)
        return telemetry

    def run_packets(self):
        self.bfly("circuit", "permutation", "--seed", 3)
        self.bfly("traffic", "start", "--rate", 2000, "--packets", PACKETS)

        def quiet():
            counters = self.json("counters")
            account = counters["conservation"]
            return counters if account["in_flight"] == 0 and account["injected"] == ROWS * PACKETS else None

        return wait_until(quiet, "every packet arrived")

    def test_figures_are_those_of_counters(self):
        counters = self.run_packets()
        fabric = self.telemetry.ask("/bfly/fabric")
        for key in ("injected", "delivered", "dropped", "in_flight"):
            self.assertEqual(fabric[key], counters["conservation"][key])
        self.assertEqual((fabric["rows"], fabric["stages"], fabric["first_stage"], fabric["last_stage"]),
                         (ROWS, STAGES, 0, STAGES - 1))
        stages = self.telemetry.all("/bfly/stages", "stages")
        self.assertEqual([stage["stage"] for stage in stages], list(range(STAGES)))
        for stage in stages:
            self.assertEqual(stage["packets"], ROWS * PACKETS)  # each crosses one link of each stage
            links = self.telemetry.all(f"/bfly/links,{stage['stage']}", "links")
            expected = [link for link in counters["links"] if link["stage"] == stage["stage"]]
            self.assertEqual(len(links), 2 * ROWS)
            for link, counted in zip(links, expected):
                for key in ("row", "port", "next_row", "packets", "bytes"):
                    self.assertEqual(link[key], counted[key])
                self.assertEqual((link["queued"], link["busy_ns"]), (counted["occupancy"], counted["busy_ns"]))
            for key in ("packets", "bytes", "queued", "dropped", "busy_ns"):
                self.assertEqual(stage[key], sum(link[key] for link in links), key)
            self.assertEqual(stage["queue_peak"], max(link["queue_peak"] for link in links))
        # 64 bytes at 10 Mbit/s take 51.2 us.
        self.assertAlmostEqual(stages[2]["busy_ns"], ROWS * PACKETS * 51_200, delta=ROWS * PACKETS)

    def test_workers_and_ports(self):
        self.run_packets()
        answer = self.telemetry.ask("/bfly/workers")
        self.assertGreater(answer["tsc_hz"], 1_000_000)
        self.assertEqual([worker["lcore"] for worker in answer["workers"].values()], [LCORES[0], LCORES[-1]])
        for worker in answer["workers"].values():
            self.assertEqual(worker["hops"], ROWS * PACKETS * STAGES // 2)
            self.assertGreater(worker["passes"], worker["idle_passes"])
            self.assertGreater(worker["busy_cycles"], 0)
        self.assertEqual(self.telemetry.ask("/bfly/ports"), {"ports": {}})
        self.assertEqual(self.telemetry.ask("/bfly/workers,2")["workers"], {})

    def test_what_is_wrong_is_said(self):
        for command, error in (("/bfly/links", "the stage is missing"),
                               ("/bfly/links,12", "stage 12 is outside 0..11, the stages that run here"),
                               ("/bfly/links,x", "the stage: 'x' is not a whole number"),
                               ("/bfly/links,-1", "the stage: '-1' is not a whole number"),
                               ("/bfly/links,1,2,3", "3 parameters are too many: at most 2"),
                               ("/bfly/links,1," + "9" * 30, "the first link: '99999999999999999999' is not a whole number"),
                               ("/bfly/stages,a\"b", "the first stage: 'a?b' is not a whole number"),
                               ("/bfly/fabric,1", "the command takes no parameters")):
            self.assertEqual(self.telemetry.ask(command), {"error": error}, command)
        self.assertEqual(self.telemetry.ask("/bfly/links,1,18446744073709551615")["links"], {})
        self.assertEqual(self.telemetry.ask("/bfly/stages,18446744073709551615")["stages"], {})

    def test_the_program_of_dpdk_reads_them(self):
        program = shutil.which("dpdk-telemetry.py")
        self.assertIsNotNone(program, "deploy/install --packages brings dpdk")
        done = subprocess.run([program, "-f", f"bfly{self.pid}"], input="/\n/bfly/stages\n/help,/bfly/links\nquit\n", text=True,
                              capture_output=True, timeout=PATIENCE, check=True)
        for command in ("fabric", "links", "ports", "stages", "workers"):
            self.assertIn(f"/bfly/{command}", done.stdout)
        self.assertIn("STAGE[,FIRST]", done.stdout)
        self.assertIn('"stages"', done.stdout)

    def test_clients_that_ask_while_the_fabric_comes_and_goes(self):
        stop = threading.Event()
        answers, problems = [], []

        def ask_on():
            client = self.client()
            try:
                while not stop.is_set():
                    for command in ("/bfly/links,3", "/bfly/stages", "/bfly/workers"):
                        answers.append(client.ask(command))
            except (OSError, ValueError, KeyError) as problem:
                problems.append(problem)

        threads = [threading.Thread(target=ask_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                self.bfly("up", self.directory / "watched.yaml", "--replace")
            self.assertEqual(int((self.run_dir / "dp0.pid").read_text().split()[0]), self.pid)
        finally:
            stop.set()
            for thread in threads:
                thread.join(timeout=PATIENCE)
        self.assertFalse(problems)
        self.assertGreater(len(answers), 20)
        for answer in answers:
            self.assertTrue("error" not in answer or answer["error"] == "no fabric is loaded", answer)


if __name__ == "__main__":
    unittest.main(verbosity=2)
