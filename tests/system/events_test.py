# SPDX-License-Identifier: Apache-2.0
"""bfly events: what happens to a fabric with hosts is told as it happens, again later, and in the logs."""

import json
import signal
import subprocess
import unittest

import fabric
import lab


class EventsTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)

    def test_links_circuits_ports_and_data_planes(self):
        switch = self.lab.namespace("sw")
        host = self.lab.host("h0", switch, "bf0", "10.77.0.16/24")
        with fabric.Fabric(self.lab, switch, fabric.topology([fabric.host_port(0)])) as net:
            follow = switch.spawn(lab.BUILD / "bfly", "events", "--follow", "--run-dir", net.run_dir, name="events")
            follow.wait_for("fabric lab loaded")
            circuit = net.json("circuit", "setup", 0, 1)["id"]
            follow.wait_for(f"1 circuit set up ({circuit}); 1 stand")
            net.bfly("link", "fail", "s7 r5 p1")
            follow.wait_for("warning link s7 r5 p1 failed")
            # The kernel says that the other end of the port's link is down.
            host.ip("link", "set", "dev", "eth0", "down")
            follow.wait_for("warning port h0 of data plane dp0: the link is down")
            host.ip("link", "set", "dev", "eth0", "up")
            follow.wait_for("info    port h0 of data plane dp0: the link is up")
            pid = int((net.run_dir / "dp0.pid").read_text().split()[0])
            lab.run("kill", "-9", pid)
            follow.wait_for("error   data plane dp0 cannot be reached")
            follow.popen.send_signal(signal.SIGINT)
            self.assertEqual(follow.popen.wait(lab.PATIENCE), 0, follow.text())
            self.assertNotIn("bfly:", follow.text())

            # The same again, for who was not there.
            past = [json.loads(line) for line in net.bfly("events", "--kind", "links", "--json").splitlines()]
            self.assertIn("began", past[0])
            self.assertEqual([(event["text"], event["severity"]) for event in past[1:]],
                             [("link s7 r5 p1 failed", "warning")])
            number = past[1]["sequence"]
            later = net.bfly("events", "--since", number, "--severity", "error")
            self.assertIn("workers on lcores 0, 1 of data plane dp0 are lost", later)
            self.assertNotIn("link s7", later)
            log = (net.run_dir / "controller.log").read_text()
            self.assertIn("bfly-controller: link s7 r5 p1 failed\n", log)
            self.assertNotIn("set up", log)  # what clients do all the time is for debug

    def test_logs_as_json_and_by_level(self):
        """The daemon ends at once: its run directory is a file."""
        file = self.lab.directory / "file"
        file.write_text("")

        def said(*words):
            done = subprocess.run([lab.BUILD / "bfly-dataplane", "--run-dir", file, *words], capture_output=True, text=True,
                                  timeout=lab.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1)
            return done.stderr

        line = json.loads(said("--log-format", "json", "--name", "dp7"))
        self.assertEqual((line["level"], line["program"], line["data_plane"]), ("error", "bfly-dataplane", "dp7"))
        self.assertEqual(said("--log-format", "text"), f"bfly-dataplane: {line['text']}\n")


if __name__ == "__main__":
    lab.require_root()
    unittest.main(verbosity=2)
