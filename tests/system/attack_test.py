# SPDX-License-Identifier: Apache-2.0
"""What other users of the machine must not be able to do to a fabric that root runs."""

import contextlib
import json
import os
import socket
import subprocess
import time
import unittest

import fabric
import lab
from raw_http2 import Connection

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c")
ATTACKER = (lab.ROOT / "tests/system/attacker.py").read_text()
LCORE = min(os.sched_getaffinity(0))


# Holds connections open until its input ends: HOLD PATH COUNT. Prints how many of them the server took and kept.
HOLD = """
import socket, struct, sys
held = []
for _ in range(int(sys.argv[2])):
    one = socket.socket(socket.AF_UNIX)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 5, 0))
    try:
        one.connect(sys.argv[1])
    except OSError:
        break
    held.append(one)
print(len(held), flush=True)
sys.stdin.readline()
def is_open(one):
    one.settimeout(0)
    try:
        return one.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
print(sum(map(is_open, held)), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def as_nobody():
    """Sockets that are connected meanwhile are those of user nobody."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class AttackTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.run_dir = self.lab.directory / "run"
        # Every user may read it, so only the checks of bfly stop the attacker.
        self.lab.directory.chmod(0o755)

    def daemon(self, program, *arguments):
        return lab.Process(self.lab, [lab.BUILD / program, "--run-dir", self.run_dir, *arguments], program)

    def attack(self, address, device):
        """The answer that user nobody gets from the controller when it asks for a port on this device."""
        return lab.run(*NOBODY, ATTACKER, address, device, LCORE)

    def test_nobody_writes_a_file_as_root(self):
        target = self.lab.directory / "written-by-root"
        port = free_port()
        self.daemon("bfly-dataplane", "--no-huge").wait_for("answers at")
        controller = self.daemon("bfly-controller", "--listen", f"127.0.0.1:{port}")
        lab.wait_until(lambda: not controller.running() or "answers at" in controller.text(),
                       "the controller serves or refuses")
        if controller.running():
            print("nobody was told:", self.attack(f"127.0.0.1:{port}", f"net_pcap0,tx_pcap={target}"))
        self.assertFalse(target.exists(), f"nobody had root write {target}")
        self.assertIn("--tls-listen", controller.text())

        # Nobody is an operator, and still no file is written.
        self.daemon("bfly-controller", "--operator", "user:65534").wait_for("answers at")
        address = f"unix:{self.run_dir}/controller.sock"
        link = self.run_dir / "link"
        link.symlink_to(target)
        for path in (target, f"{self.run_dir}/../written-by-root", link):
            said = self.attack(address, f"net_pcap0,tx_pcap={path}")
            self.assertRegex(said, "INVALID_ARGUMENT .*ports\\[0\\].device.*--device-dir")
            self.assertFalse(target.exists(), said)
        said = self.attack(address, f"net_failsafe0,exec(touch {target})")
        self.assertRegex(said, "INVALID_ARGUMENT .*ports\\[0\\].device")
        self.assertFalse(target.exists(), said)
        # The run directory is the data plane's own.
        self.assertEqual(self.attack(address, f"net_pcap0,tx_pcap={self.run_dir}/out.pcap").strip(), "OK")

    def test_names_that_only_look_like_loopback_are_no_addresses(self):
        for flag in ("--listen", "--tls-listen"):
            controller = self.daemon("bfly-controller", flag, "127.evil.example:7380")
            controller.popen.wait(20)
            self.assertNotIn("answers at", controller.text())
            self.assertIn("127.evil.example", controller.text())

    def test_a_socket_with_a_mode_too_wide_still_answers_its_owner_only(self):
        self.daemon("bfly-dataplane", "--no-huge").wait_for("answers at")
        self.daemon("bfly-controller").wait_for("answers at")
        for name in ("controller.sock", "dp0.sock", "dp0.updates"):
            self.assertEqual((self.run_dir / name).stat().st_mode & 0o777, 0o660)
            (self.run_dir / name).chmod(0o666)
        address = f"unix:{self.run_dir}/controller.sock"
        self.assertIn("UNAVAILABLE", self.attack(address, "net_null0"))
        self.assertFalse(fabric_status(self.run_dir)["loaded"])
        # The socket of updates is not gRPC, so it reads a message before it closes the connection.
        closed = lab.run(*NOBODY, "import socket, sys\n"
                         "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                         "s.settimeout(20)\ns.connect(sys.argv[1])\nprint(len(s.recv(10)))", self.run_dir / "dp0.updates")
        self.assertEqual(closed.strip(), "0")
        self.assertEqual(lab.run("/usr/bin/python3", "-c", ATTACKER, address, "net_null0", LCORE).strip(), "OK")

    def test_a_run_directory_of_somebody_else_is_not_used(self):
        """The owner of the run directory could make root write logs and process ids through links."""
        self.run_dir.mkdir()
        os.chown(self.run_dir, 65534, 65534)
        victim = self.lab.directory / "victim"
        victim.write_text("precious")
        (self.run_dir / "dp0.log").symlink_to(victim)
        file = self.lab.directory / "fabric.yaml"
        file.write_text(f"name: x\nnetwork: {{kind: butterfly, rows: 2}}\nplacement: [{{stages: 0, lcore: {LCORE}}}]\n")
        self.addCleanup(lab.run, lab.BUILD / "bfly", "down", "--run-dir", self.run_dir, check=False)
        for argv in (["bfly", "up", file], ["bfly-controller"], ["bfly-dataplane"]):
            done = subprocess.run([lab.BUILD / argv[0], *argv[1:], "--run-dir", self.run_dir], text=True,
                                  capture_output=True, timeout=lab.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, f"{argv}: {done.stdout}{done.stderr}")
            self.assertIn("belongs to another user", done.stderr)
        self.assertEqual(victim.read_text(), "precious")

    def test_a_viewer_that_holds_connections_does_not_keep_the_owner_out(self):
        controller = self.daemon("bfly-controller", "--viewer", "user:65534")
        controller.wait_for("answers at")
        subprocess.run(["prlimit", f"--pid={controller.popen.pid}", "--nofile=256:256"], check=True, timeout=10)
        with subprocess.Popen([*NOBODY, HOLD, self.run_dir / "controller.sock", "400"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as viewer:
            self.assertEqual(viewer.stdout.readline().strip(), "400")
            begin = time.monotonic()
            fabric_status(self.run_dir)
            self.assertLess(time.monotonic() - begin, 5)
            # The owner's connection came after all of these, so each of them was taken or closed.
            viewer.stdin.write("\n")
            viewer.stdin.flush()
            self.assertEqual(viewer.stdout.readline().strip(), "64")
            viewer.stdin.close()
        # What is closed makes room: the viewer comes in again.
        def is_answered():
            connection = self.viewer("/bfly.v1.Fabric/Status", 1)
            end = time.monotonic() + 2
            while connection.sent and not connection.closed and time.monotonic() < end:
                connection.step()
                time.sleep(0.01)
            return not connection.sent

        lab.wait_until(is_answered, "the viewer gets an answer again")

    def viewer(self, method, calls, answer_window=65535):
        with as_nobody():
            connection = Connection(self.run_dir / "controller.sock", method, calls, b"", answer_window=answer_window)
        self.addCleanup(connection.close)
        return connection

    def test_a_viewer_that_reads_no_answers_leaves_half_of_the_places(self):
        self.daemon("bfly-controller", "--viewer", "user:65534", "--viewer-calls", 0).wait_for("answers at")
        self.leave_unread("/bfly.v1.Fabric/Status", 1100, 512, "reads")
        self.leave_unread("/bfly.v1.Events/Watch", 64, 32, "event_streams")

    def leave_unread(self, method, calls, kept, name):
        """A viewer makes calls and reads no answer. Of the resource of this name it gets `kept` places."""
        connection = self.viewer(method, calls, answer_window=0)

        def holds(most):
            connection.step()
            return len(connection.sent) <= most

        lab.wait_until(lambda: holds(kept), "calls beyond half of the places are refused")
        uses = {use["name"]: use for use in fabric_status(self.run_dir)["resources"]}
        self.assertGreaterEqual(int(uses[name]["refused"]), calls - kept)
        lab.run(lab.BUILD / "bfly", "events", "--run-dir", self.run_dir)
        # Once nothing was read for five seconds, calls are ended until there is room for another viewer.
        lab.wait_until(lambda: holds(kept - 1), "a call whose answer nobody reads is ended")
        self.assertFalse(connection.closed)

    def test_what_the_own_file_names_may_be_used(self):
        """Root's own file may name any path: `bfly up` tells the data plane which."""
        capture = self.lab.directory / "capture.pcap"
        ports = [{"name": "out", "device": f"net_pcap0,tx_pcap={capture}", "rows": "0-1"}]
        content = fabric.topology(ports, rows=2, kind="butterfly", placement=[{"stages": "0", "lcore": LCORE}])
        with fabric.Fabric(self.lab, self.lab.namespace("sw"), content) as net:
            self.assertTrue(capture.exists())
            net.down()


def fabric_status(run_dir):
    return json.loads(lab.run(lab.BUILD / "bfly", "status", "--json", "--run-dir", run_dir))


if __name__ == "__main__":
    unittest.main(verbosity=2)
