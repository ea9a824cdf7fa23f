#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bfly-exporter and what deploy/monitoring has, with the real Prometheus: promtool's checks, the rules, and one run of
Prometheus on loopback that scrapes the exporter and answers the dashboard's queries."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from command_line import CommandLineTest
from lab import BUILD, PATIENCE, ROOT, wait_until

MONITORING = ROOT / "deploy" / "monitoring"


def is_ready(url):
    try:
        return bool(get(url))
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        return False


def get(url, timeout=PATIENCE):
    # Proxies of the environment are for the outside world.
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=timeout) as answer:
        return answer.read().decode()


def series(text):
    """{name{labels}: value} of a page of metrics."""
    return {name: float(value) for name, value in re.findall(r"^([a-z]\S*) (\S+)$", text, re.MULTILINE)}


class MonitoringTest(CommandLineTest):
    def exporter(self, *words):
        """A bfly-exporter at a free port; its address."""
        log = open(self.directory / "exporter.log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        self.process = subprocess.Popen(
            [BUILD / "bfly-exporter", "--run-dir", self.run_dir, "--listen", "127.0.0.1:0", *map(str, words)],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)

        def port():
            self.assertIsNone(self.process.poll(), pathlib.Path(log.name).read_text())
            return re.search(r"at port (\d+)", pathlib.Path(log.name).read_text())

        return f"127.0.0.1:{wait_until(port, 'the exporter says its port')[1]}"

    def metrics(self, address, path="/metrics"):
        return series(get(f"http://{address}{path}"))

    def traffic(self):
        self.bfly("circuit", "permutation", "--seed", 1, "--traffic", 1000)

    def test_the_metrics_are_the_counters(self):
        self.bfly("up", self.file)
        self.bfly("traffic", "start", "--rows", "0-15", "--rate", 0, "--packets", 100, "--to", "uniform")
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] == 1600, "1,600 packets are delivered")
        counters = self.json("counters")
        address = self.exporter("--top", 5)
        found = self.metrics(address)
        self.assertEqual(found["bfly_up"], 1)
        self.assertEqual(found["bfly_packets_injected_total"], 1600)
        self.assertEqual(found["bfly_packets_in_flight"], 0)
        for stage in range(8):
            self.assertEqual(found[f'bfly_stage_packets_total{{stage="{stage}",data_plane="dp0"}}'], 1600)
        links = [name for name in found if name.startswith("bfly_link_packets_total")]
        self.assertEqual(len(links), 5)
        # Every link on request, and each has the packets that `bfly counters` tells.
        every = self.metrics(address, "/metrics/links")
        for link in counters["links"]:
            name = 'bfly_link_packets_total{{stage="{stage}",row="{row}",port="{port}",data_plane="dp0"}}'.format(**link)
            self.assertEqual(every.get(name, 0), link["packets"], name)
        self.assertEqual(every["bfly_links_left_out"], 0)
        lcores = {name for name in found if name.startswith("bfly_worker_hops_total")}
        self.assertEqual(len(lcores), 2)

    def test_promtool_finds_nothing_wrong(self):
        self.bfly("up", self.file)
        self.bfly("traffic", "start", "--rows", "0-15", "--rate", "1k", "--to", "uniform", "--latency")
        address = self.exporter()
        wait_until(lambda: 'bfly_latency_seconds_count{part="end_to_end"}' in self.metrics(address), "latencies")
        for path in ("/metrics", "/metrics/links"):
            # The library counts its own transfers in the same page, under names of its own.
            page = "".join(line + "\n" for line in get(f"http://{address}{path}").splitlines() if "exposer_" not in line)
            checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True,
                                     timeout=PATIENCE, check=False)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        for words in (("check", "rules", MONITORING / "rules.yaml"), ("test", "rules", MONITORING / "rules-test.yaml"),
                      ("check", "config", MONITORING / "prometheus.yaml")):
            done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_metric_that_is_used_is_told_and_every_one_told_is_documented(self):
        self.bfly("up", self.file)
        self.traffic()
        told = {re.sub(r"[{ ].*", "", name) for name in self.metrics(self.exporter())}
        documented = set(re.findall(r"`(bfly_\w+)`", (ROOT / "docs" / "monitoring.md").read_text()))
        self.assertEqual({name for name in told if name.startswith("bfly_")} - documented, set())
        used = (MONITORING / "rules.yaml").read_text() + (MONITORING / "dashboard.json").read_text()
        names = {name for name in re.findall(r"\bbfly_\w+", used)}
        self.assertTrue(names)
        self.assertEqual(names - documented, set())

    def test_a_controller_that_is_gone_or_stands_still_is_told_in_time(self):
        self.bfly("up", self.file)
        self.traffic()
        address = self.exporter("--timeout", 1)
        before = self.metrics(address)
        controller = int((self.run_dir / "controller.pid").read_text().split()[0])
        self.addCleanup(self.resume, controller)
        os.kill(controller, signal.SIGSTOP)
        start = time.monotonic()
        silent = self.metrics(address)
        took = time.monotonic() - start
        self.metrics(address)
        os.kill(controller, signal.SIGCONT)
        self.assertEqual(silent["bfly_up"], 0)
        self.assertEqual([name for name in silent if name.startswith("bfly_")], ["bfly_up", "bfly_scrape_duration_seconds"])
        self.assertGreaterEqual(took, 0.9)
        self.assertGreaterEqual(silent["bfly_scrape_duration_seconds"], 0.9)
        self.assertLess(silent["bfly_scrape_duration_seconds"], 30)
        # It comes back by itself, and its counters went on.
        again = wait_until(lambda: self.answered(address), "the controller is found again")
        self.assertGreaterEqual(again["bfly_packets_injected_total"], before["bfly_packets_injected_total"])
        # The log says why, once for all scrapes with this reason, and when it is over.
        log = (self.directory / "exporter.log").read_text()
        self.assertEqual(log.count("does not answer: Fabric.Status: Deadline Exceeded"), 1, log)
        self.assertIn("answers again", log)
        # The same for one that is killed, and another that takes its data plane over.
        os.kill(controller, signal.SIGKILL)
        wait_until(lambda: self.metrics(address)["bfly_up"] == 0, "the controller is missed")
        successor = subprocess.Popen([BUILD / "bfly-controller", "--run-dir", self.run_dir], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
        self.addCleanup(successor.wait)
        self.addCleanup(successor.kill)
        self.addCleanup(self.bfly, "down", check=False)
        taken_over = wait_until(lambda: self.answered(address), "the next controller is found")
        self.assertGreaterEqual(taken_over["bfly_packets_injected_total"], again["bfly_packets_injected_total"])

    def answered(self, address):
        found = self.metrics(address)
        return found if found["bfly_up"] == 1 and found["bfly_fabric_loaded"] == 1 else None

    @staticmethod
    def resume(pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def test_a_data_plane_that_is_away_has_no_counters_and_never_falls_to_zero(self):
        self.bfly("up", self.file)
        self.traffic()
        address = self.exporter()
        wait_until(lambda: self.metrics(address)["bfly_packets_delivered_total"] > 100, "traffic flows")
        os.kill(int((self.run_dir / "dp0.pid").read_text().split()[0]), signal.SIGKILL)

        def away():
            found = self.metrics(address)
            values = [value for name, value in found.items() if name.startswith("bfly_stage_packets_total")]
            self.assertTrue(all(value > 0 for value in values), found)
            return found if found['bfly_data_plane_up{data_plane="dp0"}'] == 0 else None

        gone = wait_until(away, "the data plane is missed")
        self.assertFalse([name for name in gone if name.startswith(("bfly_stage_packets", "bfly_link_packets"))])

    def test_it_serves_loopback_unless_told_otherwise(self):
        refused = subprocess.run([BUILD / "bfly-exporter", "--listen", "0.0.0.0:0"], capture_output=True, text=True,
                                 timeout=PATIENCE, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--allow-remote", refused.stderr)
        address = self.exporter()
        self.assertEqual(self.metrics(address)["bfly_up"], 0)  # no fabric was started
        with self.assertRaises(urllib.error.HTTPError) as missing:
            get(f"http://{address}/other")
        self.assertEqual(missing.exception.code, 404)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 0)

    def test_connections_that_ask_nothing_keep_no_scrape_out(self):
        address = self.exporter()
        host, port = address.split(":")
        for _ in range(8):
            self.addCleanup(socket.create_connection((host, int(port)), PATIENCE).close)
        time.sleep(0.2)  # each has a thread of the exporter
        self.assertIn("bfly_up", get(f"http://{address}/metrics", timeout=10))

    def test_prometheus_scrapes_it_and_answers_the_dashboard(self):
        self.bfly("up", self.file)
        self.traffic()
        address = self.exporter()
        config = (MONITORING / "prometheus.yaml").read_text().replace("127.0.0.1:9745", address)
        config = config.replace("- rules.yaml", f"- {MONITORING / 'rules.yaml'}").replace("5s", "1s")
        file = self.write("prometheus.yaml", config)
        log = open(self.directory / "prometheus.log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        prometheus = subprocess.Popen(
            ["prometheus", f"--config.file={file}", "--web.listen-address=127.0.0.1:0",
             f"--storage.tsdb.path={self.directory / 'tsdb'}", "--log.format=json"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)

        def listening():
            self.assertIsNone(prometheus.poll(), pathlib.Path(log.name).read_text())
            return re.search(r'"address":"(127\.0\.0\.1:\d+)","[^\n]*"msg":"Listening on"', pathlib.Path(log.name).read_text())

        server = wait_until(listening, "Prometheus listens")[1]

        def query(expression):
            text = get(f"http://{server}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
            return json.loads(text)["data"]["result"]

        def rate():
            found = query("rate(bfly_packets_delivered_total[30s])")
            return float(found[0]["value"][1]) if found else 0

        # Prometheus listens before it has read what it stored, and refuses queries with 503 until then.
        wait_until(lambda: is_ready(f"http://{server}/-/ready"), "Prometheus is ready")
        wait_until(lambda: query("bfly_up == 1"), "the exporter is scraped")
        wait_until(lambda: rate() > 0, "packets are delivered")
        wait_until(lambda: len(query("bfly:stage_packets:rate1m")) == 8, "the rules give sums of stages")
        rules = json.loads(get(f"http://{server}/api/v1/rules"))["data"]["groups"][0]["rules"]
        self.assertTrue(all(rule["health"] in ("ok", "unknown") for rule in rules), rules)
        # Every query of the dashboard is one that Prometheus understands, and those of a fabric with traffic have answers.
        dashboard = json.loads((MONITORING / "dashboard.json").read_text())
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$instance", address).replace("$__rate_interval", "30s")
                found = query(expression)
                if not re.search("port|> 0|latency", expression):
                    self.assertTrue(found, expression)


if __name__ == "__main__":
    unittest.main(verbosity=2)
