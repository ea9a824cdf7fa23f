# SPDX-License-Identifier: Apache-2.0
"""The units of systemd: they are sound, they give no more than is needed, and the daemons say how they are."""

import functools
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import fabric
import lab
from notices import NotifySocket, StoppedThreads

UNITS = ["bfly-controller.service", "bfly-dataplane@.service"]
OPERATE = lab.ROOT / "docs" / "operate.md"
# Runs a command that may make these system calls and no others: FILTERED "CALL CALL ..." COMMAND...
FILTERED = """
import errno, os, sys
import seccomp
calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for name in sys.argv[1].split():
    if seccomp.resolve_syscall(seccomp.Arch(), name) >= 0:
        calls.add_rule(seccomp.ALLOW, name)
calls.load()
os.execv(sys.argv[2], sys.argv[2:])
"""
WATCHDOG_S = 2
# The daemons say that they are alive four times within WATCHDOG_S.
LONG_ENOUGH_S = 2 * WATCHDOG_S


@functools.cache
def system_calls_of(name):
    """The system calls of a set such as "@privileged", or of a name alone."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True,
                          timeout=lab.PATIENCE, check=True).stdout
    lines = [line.strip() for line in said.splitlines()[1:]]
    return set().union(*(system_calls_of(line) for line in lines if line and not line.startswith("#")))


class UnitsTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.folder = self.lab.directory / "units"
        self.folder.mkdir()
        for unit in UNITS:
            text = (lab.BUILD / "deploy" / unit).read_text()
            (self.folder / unit).write_text(re.sub(r"ExecStart=\S*/(bfly-\w+)", rf"ExecStart={lab.BUILD}/\1", text))

    def setting(self, unit, key):
        return re.search(rf"^{key}=(.*)$", (self.folder / unit).read_text(), re.M)[1]

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_finds_nothing_wrong(self):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(self.folder / unit for unit in UNITS)],
                              capture_output=True, text=True, timeout=lab.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_their_exposure_is_what_the_documentation_says(self):
        for unit in UNITS:
            # An instance of the template.
            path = self.folder / unit.replace("@.", "@dp0.")
            if not path.exists():
                path.write_text((self.folder / unit).read_text())
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", path],
                                  capture_output=True, text=True, timeout=lab.PATIENCE, check=False)
            level = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
            self.assertIsNotNone(level, done.stdout + done.stderr)
            self.assertIn(f"| `{unit}` | {level[1]} |", OPERATE.read_text())

    def with_privileges_of(self, unit, *command):
        """The command with the capabilities and the system calls of the unit and no others, as root that the kernel does
        not obey."""
        names = [name.removeprefix("CAP_").lower() for name in self.setting(unit, "CapabilityBoundingSet").split()]
        return ["setpriv", "--no-new-privs", "--bounding-set", ",".join(["-all"] + [f"+{name}" for name in names]),
                "/usr/bin/python3", "-c", FILTERED, " ".join(sorted(self.system_calls(unit))), *command]

    def system_calls(self, unit):
        """What systemd makes of the lines SystemCallFilter= of the unit."""
        calls = system_calls_of("@default") | {"execve"}
        for line in re.findall(r"^SystemCallFilter=(.*)$", (self.folder / unit).read_text(), re.M):
            named = set().union(*map(system_calls_of, line.removeprefix("~").split()))
            calls = calls - named if line.startswith("~") else calls | named
        return calls

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_the_daemons_need_no_more_privileges_and_bfly_up_uses_them_as_they_run(self):
        switch = self.lab.namespace("sw")
        hosts = [self.lab.host(f"h{row}", switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in range(2)]
        net = fabric.Fabric(self.lab, switch, fabric.topology([fabric.host_port(row) for row in range(2)]))
        self.lab.on_close(net.close)
        data_plane = switch.spawn(*self.with_privileges_of(UNITS[1], lab.BUILD / "bfly-dataplane", "--name", "dp0",
                                                           "--run-dir", net.run_dir), name="dp0-unit")
        data_plane.wait_for("answers at")
        controller = switch.spawn(*self.with_privileges_of(UNITS[0], lab.BUILD / "bfly-controller", "--run-dir",
                                                           net.run_dir, "--state-dir", self.lab.directory / "state",
                                                           "--resume"), name="controller-unit")
        controller.wait_for("answers at")
        out = net.bfly("up", net.file)
        self.assertIn("is up", out)
        self.assertNotIn("process 0", out)
        hosts[0].ping(hosts[1].address)
        self.assertEqual(list(net.run_dir.glob("*.pid")), [])
        net.down()
        # They go on without a fabric.
        self.assertFalse(net.status()["loaded"])
        for daemon in (controller, data_plane):
            daemon.popen.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.popen.wait(lab.PATIENCE), 0)


class NoticesTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.run_dir = self.lab.directory / "run"
        self.manager = NotifySocket(self.lab.directory / "notify")
        self.addCleanup(self.manager.close)

    def start(self, program, *words, **more):
        process = subprocess.Popen([lab.BUILD / program, "--run-dir", self.run_dir, *map(str, words)],
                                   stdout=subprocess.DEVNULL, text=True,
                                   env=self.manager.environment(WATCHDOG_S), **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_data_plane(self):
        topology = self.lab.directory / "t.yaml"
        topology.write_text("name: t\nnetwork: {kind: butterfly, rows: 8}\nplacement: [{stages: 0-2, lcore: 0}]\n")
        return self.start("bfly-dataplane", "--topology", topology, "--no-huge", "--memory-mb", 64)

    def alive(self, seconds=LONG_ENOUGH_S):
        return self.manager.heard_for(seconds).count("WATCHDOG=1")

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.manager.wait_for("STOPPING=1")
        self.assertEqual(process.wait(lab.PATIENCE), 0)

    def expect_watched(self, process, threads):
        """It is alive, it is not while these threads do nothing, and it is again once they go on."""
        self.manager.wait_for("WATCHDOG=1")
        self.manager.wait_for("WATCHDOG=1")
        with StoppedThreads(process.pid, threads):
            # What was on its way when the threads stopped may still be told.
            self.assertLessEqual(self.alive(), 1)
        self.manager.wait_for("WATCHDOG=1")
        self.end(process)

    def test_a_controller_is_ready_once_it_serves_and_alive_while_its_queue_goes_on(self):
        controller = self.start("bfly-controller")
        self.assertIn("STATUS=no fabric is loaded", self.manager.wait_for("READY=1"))
        self.assertTrue((self.run_dir / "controller.sock").exists())
        self.expect_watched(controller, "bfly-queue")

    def test_a_data_plane_is_ready_once_it_serves_and_alive_while_its_workers_go_on(self):
        data_plane = self.start_data_plane()
        self.assertIn("STATUS=fabric t, 1 worker", self.manager.wait_for("READY=1"))
        self.assertTrue((self.run_dir / "dp0.sock").exists())
        self.expect_watched(data_plane, "rte-worker")

    def test_a_data_plane_without_a_fabric_is_alive(self):
        data_plane = self.start("bfly-dataplane", "--no-huge", "--memory-mb", 64)
        self.assertIn("STATUS=no fabric is loaded", self.manager.wait_for("READY=1"))
        self.manager.wait_for("WATCHDOG=1")
        self.manager.wait_for("WATCHDOG=1")
        self.end(data_plane)

    def test_lines_for_the_journal_have_their_level(self):
        log = self.lab.directory / "journal"
        with open(log, "wb") as stream:
            status = pathlib.Path(log).stat()
            environment = {**self.manager.environment(), "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
            wrong = subprocess.run([lab.BUILD / "bfly-controller", "--run-dir", log], stderr=stream, env=environment,
                                   timeout=lab.PATIENCE, check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertRegex(log.read_text(), "^<3>bfly-controller: ")
        # The journal itself gets fields, by its own protocol.
        journal = self.lab.directory / "journal-dir"
        journal.mkdir()
        records = NotifySocket(journal / "socket")
        self.addCleanup(records.close)
        mounted = f"mount -t tmpfs run /run && mkdir -p /run/systemd/journal && mount --bind {journal} /run/systemd/journal"
        with open(log, "wb") as stream:
            subprocess.run(["unshare", "--mount", "sh", "-c", f'{mounted} && exec "$0" --run-dir {log}',
                            lab.BUILD / "bfly-dataplane"], stderr=stream, env=environment, timeout=lab.PATIENCE, check=False)
        record = records.wait_for("MESSAGE=").splitlines()
        self.assertEqual(log.read_text(), "")
        for field in ("PRIORITY=3", "SYSLOG_IDENTIFIER=bfly-dp0", "BFLY_DATA_PLANE=dp0"):
            self.assertIn(field, record)
        # A file that is not the journal gets no levels.
        plain = subprocess.run([lab.BUILD / "bfly-controller", "--run-dir", log], capture_output=True, text=True,
                               env=environment, timeout=lab.PATIENCE, check=False)
        self.assertRegex(plain.stderr, "^bfly-controller: ")


if __name__ == "__main__":
    lab.require_root()
    unittest.main(verbosity=2)
