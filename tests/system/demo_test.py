# SPDX-License-Identifier: Apache-2.0
"""deploy/demo runs the main job, and leaves nothing behind however it ends."""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import unittest

from lab import BUILD, PATIENCE, ROOT, require_root, run, wait_until
from terminal import settle

sys.path.insert(0, str(ROOT / "deploy/lib"))
from demo import Interrupts  # noqa: E402

# In place of bfly: it runs until SIGTERM comes, and takes its time to end.
BFLY_THAT_ENDS_LATE = """#!/bin/sh
trap 'touch DIRECTORY/ending; while [ -d DIRECTORY ] && [ ! -e DIRECTORY/go ]; do sleep 0.05; done; touch DIRECTORY/ended; exit 1' TERM
touch DIRECTORY/begun
while [ -d DIRECTORY ]; do sleep 0.05; done
"""


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

    def test_a_second_signal_does_not_break_off_the_clean_up_that_the_first_began(self):
        interrupts = Interrupts()
        with self.assertRaises(KeyboardInterrupt):
            interrupts.on_signal(signal.SIGINT, None)
        interrupts.on_signal(signal.SIGINT, None)
        with interrupts:
            interrupts.on_signal(signal.SIGTERM, None)


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def run_demo(self, stdout, *, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, preexec_fn=None, **environment):
        process = subprocess.Popen([ROOT / "deploy/demo", "--no-build", "--seconds", "3"], stdin=stdin, stdout=stdout, stderr=stderr,
                                   env={**os.environ, "BFLY_BUILD": str(BUILD), **environment}, start_new_session=True,
                                   preexec_fn=preexec_fn)
        self.addCleanup(process.kill)
        return process

    def start(self, **environment):
        with tempfile.NamedTemporaryFile("w", prefix="demo-log-", delete=False) as log:
            self.addCleanup(os.unlink, log.name)
            return self.run_demo(log, **environment), pathlib.Path(log.name)

    def test_everything_is_as_it_should_be(self):
        state = pathlib.Path(tempfile.mkdtemp(prefix="demo-state-"))
        self.addCleanup(shutil.rmtree, state)
        (state / "of-the-caller").touch()
        demo, log = self.start(BFLY_STATE_DIR=str(state))
        self.addCleanup(lambda: self.assertEqual([path.name for path in state.iterdir()], ["of-the-caller"]))
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
        self.assertNotIn("Traceback", log.read_text())
        self.assertEqual(leftovers(demo.pid), [], log.read_text())

    def test_interrupted_while_hosts_and_fabric_come_up(self):
        self.interrupted("== bfly lab up", signal.SIGINT)

    def test_interrupted_again_while_the_first_interrupt_ends_bfly(self):
        build = pathlib.Path(tempfile.mkdtemp(prefix="demo-build-"))
        self.addCleanup(shutil.rmtree, build)
        (build / "bfly").write_text(BFLY_THAT_ENDS_LATE.replace("DIRECTORY", str(build)))
        (build / "bfly").chmod(0o755)
        demo, log = self.start(BFLY_BUILD=str(build))
        self.addCleanup((build / "go").touch)
        for moment in ("begun", "ending"):
            wait_until((build / moment).exists, moment)
            demo.send_signal(signal.SIGINT)
        settle()
        self.assertIsNone(demo.poll(), log.read_text())  # it waits for bfly
        (build / "go").touch()
        self.assertEqual(demo.wait(timeout=PATIENCE), 130, log.read_text())
        self.assertTrue((build / "ended").exists())
        self.assertNotIn("Traceback", log.read_text())
        self.assertEqual(leftovers(demo.pid), [], log.read_text())

    def test_interrupted_while_hosts_ping(self):
        self.interrupted("host 0 -> host 1", signal.SIGTERM)

    def test_interrupted_while_traffic_runs(self):
        self.interrupted("== iperf3", signal.SIGINT)

    def test_interrupted_while_it_goes_down(self):
        self.interrupted("== bfly lab down", signal.SIGHUP)

    def stops_reading(self, demo, ours, moment):
        """Reads what the demo prints until this moment and closes the file then. Returns the demo's exit code."""
        seen = ""
        with open(ours, "rb", buffering=0) as reader:
            while moment not in seen:
                self.assertTrue(select.select([reader], [], [], 2 * PATIENCE)[0], seen)
                seen += reader.read(4096).decode()
                self.assertIsNone(demo.poll(), seen)
        return demo.wait(timeout=2 * PATIENCE)

    def test_its_reader_stops_reading(self):
        ours, theirs = os.pipe()
        with tempfile.TemporaryFile("w+") as errors:
            demo = self.run_demo(theirs, stderr=errors)
            os.close(theirs)
            self.assertEqual(self.stops_reading(demo, ours, "== bfly lab status"), 1)
            errors.seek(0)
            self.assertRegex(errors.read(), r"\Adeploy/demo: .*Broken pipe\n\Z")
        self.assertEqual(leftovers(demo.pid), [])

    def test_its_terminal_closes(self):
        ours, theirs = pty.openpty()
        demo = self.run_demo(theirs, stdin=theirs, stderr=theirs, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        # Either SIGHUP comes first or a write that fails.
        self.assertIn(self.stops_reading(demo, ours, "host 0 -> host 1"), (130, 1))
        self.assertEqual(leftovers(demo.pid), [])

    def test_without_a_build_it_says_so(self):
        demo, log = self.start(BFLY_BUILD="/nonexistent")
        self.assertEqual(demo.wait(timeout=PATIENCE), 1)
        self.assertIn("deploy/demo: [Errno 2] No such file or directory: '/nonexistent/bfly'", log.read_text())
        self.assertNotIn("Traceback", log.read_text())
        self.assertEqual(leftovers(demo.pid), [])

    def test_it_builds_in_build_alone(self):
        done = subprocess.run([ROOT / "deploy/demo"], env={**os.environ, "BFLY_BUILD": str(BUILD)}, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("BFLY_BUILD is for --no-build", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
