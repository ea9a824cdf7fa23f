# SPDX-License-Identifier: Apache-2.0
"""deploy/demo runs the main job, and leaves nothing behind however it ends."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from lab import BUILD, PATIENCE, ROOT, require_root, run, wait_until

sys.path.insert(0, str(ROOT / "deploy/lib"))
from demo import Interrupts  # noqa: E402


def leftovers(pid):
    """What the demo with this pid left behind: namespaces, processes, directories."""
    left = [line.split()[0] for line in run("ip", "netns", "list").splitlines()
            if f"bfly-demo-{pid}-" in line]
    for process in pathlib.Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if f"bfly-demo-{pid}-".encode() in command:
            left.append(command.replace(b"\0", b" ").decode())
    return left + [str(path) for path in pathlib.Path(tempfile.gettempdir()).glob(f"bfly-demo-{pid}-*")]


class ASignalWhileAProcessStarts(unittest.TestCase):
    def test_it_ends_the_demo_once_and_not_its_clean_up(self):
        interrupts = Interrupts()
        with self.assertRaises(KeyboardInterrupt):
            with interrupts:
                interrupts.on_signal(signal.SIGINT, None)
        with interrupts:
            pass


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def start(self):
        log = tempfile.NamedTemporaryFile("w", prefix="demo-log-", delete=False)
        self.addCleanup(os.unlink, log.name)
        process = subprocess.Popen([ROOT / "deploy/demo", "--no-build", "--seconds", "3"], stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, "BFLY_BUILD": str(BUILD)}, start_new_session=True)
        log.close()
        self.addCleanup(process.kill)
        return process, pathlib.Path(log.name)

    def test_everything_is_as_it_should_be(self):
        demo, log = self.start()
        self.assertEqual(demo.wait(timeout=4 * PATIENCE), 0, log.read_text())
        out = log.read_text()
        self.assertIn("everything was as it should be", out)
        self.assertRegex(out, r"conservation: injected \d+ = delivered \d+ \+ dropped \d+ \+ in flight 0")
        self.assertEqual(leftovers(demo.pid), [])

    def interrupted(self, moment, number):
        demo, log = self.start()
        wait_until(lambda: moment in log.read_text() or demo.poll() is not None, moment, 2 * PATIENCE)
        self.assertIsNone(demo.poll(), log.read_text())
        demo.send_signal(number)
        self.assertEqual(demo.wait(timeout=2 * PATIENCE), 130, log.read_text())
        self.assertIn("interrupted", log.read_text())
        self.assertEqual(leftovers(demo.pid), [], log.read_text())

    def test_interrupted_while_hosts_and_fabric_come_up(self):
        self.interrupted("== bfly lab up", signal.SIGINT)

    def test_interrupted_while_hosts_ping(self):
        self.interrupted("host 0 -> host 1", signal.SIGTERM)

    def test_interrupted_while_traffic_runs(self):
        self.interrupted("== iperf3", signal.SIGINT)

    def test_interrupted_while_it_goes_down(self):
        self.interrupted("== bfly lab down", signal.SIGHUP)


if __name__ == "__main__":
    unittest.main(verbosity=2)
