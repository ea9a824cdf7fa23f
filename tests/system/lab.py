# SPDX-License-Identifier: Apache-2.0
"""A laboratory of network namespaces: hosts, wires between them, processes in them, all with a deadline.

    with Lab() as lab:
        switch = lab.namespace("sw")
        host = lab.host("h0", switch, "bf0", "10.77.0.1/24")
        host.ping("10.77.0.2")

Everything a lab makes has the lab's own name in it and is gone when the block ends, however it ends.
"""

import atexit
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BFLY_BUILD", ROOT / "build"))
# Where Python finds the package bfly.
PYTHON_PATH = str(BUILD / "control/python")

# Both cores of a small machine may be busy with other tests.
PATIENCE = 60.0

_open_labs = []


def _close_labs():
    for lab in list(_open_labs):
        lab.close()


def _on_signal(number, _frame):
    # Raised in the main thread, so that every `with` on the way out closes its lab.
    sys.exit(128 + number)


atexit.register(_close_labs)
for _number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(_number, _on_signal)


def require_root():
    """System tests cannot do less: without root they fail and say so, they do not skip."""
    if os.geteuid() != 0:
        raise AssertionError("system tests make network namespaces and need root: run them with sudo")


def wait_until(predicate, what, timeout=PATIENCE):
    """Polls until predicate() is true and returns its value; fails with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:.0f} s: {what}")
        time.sleep(0.05)


def signal_midway(argv, number, folder, progress, attempts=5):
    """Runs a command that works in `folder`, and sends it signal `number` once progress() is greater than before. On
    a busy machine the command may be through before the signal comes: it then begins again, in the folder as it was.
    Returns the process, which has ended, and what it wrote on standard error."""
    as_it_was = pathlib.Path(tempfile.mkdtemp(prefix="bfly-as-it-was-")) / "folder"
    try:
        if folder.exists():
            shutil.copytree(folder, as_it_was)
        for _ in range(attempts):
            before = progress()
            process = subprocess.Popen([str(word) for word in argv], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            try:
                wait_until(lambda: progress() > before or process.poll() is not None, "a part of it is done")
                process.send_signal(number)
                _, said = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
                process.wait()
            if process.returncode != 0:
                return process, said
            shutil.rmtree(folder)
            if as_it_was.exists():
                shutil.copytree(as_it_was, folder)
        raise AssertionError(f"{argv[0]} was through {attempts} times before its signal came, or takes no notice of it")
    finally:
        shutil.rmtree(as_it_was.parent, ignore_errors=True)


class CommandFailed(AssertionError):
    def __init__(self, argv, code, out, err):
        super().__init__(f"{' '.join(map(str, argv))}: exit {code}\n{out}{err}")
        self.code, self.out, self.err = code, out, err


class Process:
    """A process started by a lab. Its output goes to a file that can be read while it runs."""

    def __init__(self, lab, argv, name, stdin=False, env=None):
        self.argv = list(map(str, argv))
        self.name = name
        self.log = lab.directory / f"{name}.{len(lab.processes)}.log"
        with open(self.log, "wb") as log:
            self.popen = subprocess.Popen(
                self.argv, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
        lab.processes.append(self)

    @property
    def pid(self):
        return self.popen.pid

    def text(self):
        return self.log.read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def wait_for(self, text, timeout=PATIENCE):
        """Until the process has printed `text`; fails at once if it ends before."""

        def seen():
            ended = not self.running()
            if text in self.text():
                return True
            if ended:
                raise AssertionError(
                    f"{self.name} ended with {self.popen.returncode} before it said '{text}':\n{self.text()}")
            return False

        wait_until(seen, f"{self.name} says '{text}'\n{self.text()}", timeout)
        return self

    def send(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def kill(self):
        """SIGKILL, as a crash would."""
        self.popen.kill()
        self.popen.wait()

    def stop(self, timeout=20.0):
        """SIGTERM, then SIGKILL for its whole session. Returns the exit code."""
        if self.popen.stdin:
            self.popen.stdin.close()
        if self.running():
            self.popen.terminate()
            try:
                self.popen.wait(timeout)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return self.popen.wait()

    def finish(self, timeout=PATIENCE):
        """Waits for its own end; fails unless it ends well and in time. Returns what it printed."""
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout:.0f} s:\n{self.text()}") from None
        if code != 0:
            raise CommandFailed(self.argv, code, self.text(), "")
        return self.text()


class Namespace:
    def __init__(self, lab, name):
        self.lab = lab
        self.name = name
        self.short = name.rsplit("-", 1)[-1]

    def argv(self, *command):
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command, timeout=PATIENCE, check=True, env=None):
        return run(*self.argv(*command), timeout=timeout, check=check, env=env)

    def spawn(self, *command, name=None, stdin=False, env=None):
        return Process(self.lab, self.argv(*command), name or pathlib.Path(command[0]).name, stdin, env)

    def ip(self, *arguments):
        return run("ip", "-n", self.name, *arguments)


class Host(Namespace):
    """A namespace with one interface, eth0, and an address: nothing else is configured."""

    address = None

    def set_up(self, address, mtu=1500):
        """Gives eth0 an address ("10.77.0.1/24")."""
        self.run("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=1")
        self.ip("link", "set", "eth0", "mtu", mtu, "up")
        if address:
            self.address = address.split("/")[0]
            self.ip("addr", "add", address, "dev", "eth0")

    def ping(self, address, count=3, timeout=PATIENCE):
        """All `count` echoes must be answered; a first one lost to a cold cache is asked again."""

        def answered():
            code = subprocess.run(self.argv("ping", "-c", "1", "-W", "1", address),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30,
                                  check=False).returncode
            return code == 0

        wait_until(answered, f"{self.short} reaches {address}", timeout)
        return self.run("ping", "-c", count, "-i", "0.05", "-W", "5", address, timeout=timeout)

    def iperf3(self, server, seconds=2, *options):
        """A TCP transfer to host `server` over the wire between them. Returns iperf3's JSON."""
        port = random.randint(20000, 60000)
        listener = server.spawn("iperf3", "-s", "-1", "--forceflush", "-p", port, name="iperf3-server")
        listener.wait_for("listening")
        text = self.run("iperf3", "-J", "-c", server.address, "-p", port, "-t", seconds, *options,
                        timeout=PATIENCE + seconds)
        listener.stop()
        return json.loads(text)


def run(*argv, timeout=PATIENCE, check=True, env=None):
    """Runs to the end and returns standard output."""
    argv = list(map(str, argv))
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False, env=env,
                          stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise CommandFailed(argv, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Lab:
    _count = 0

    def __init__(self):
        require_root()
        Lab._count += 1
        self.tag = f"bfly{os.getpid()}x{Lab._count}"
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.tag}-"))
        self.processes = []
        self.namespaces = []
        self._closers = []
        _open_labs.append(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        if kind is not None and kind is not SystemExit:
            self.show_logs()
        self.close()

    def show_logs(self):
        for process in self.processes:
            text = process.text()
            if text.strip():
                print(f"--- {process.name} (pid {process.pid}) said:\n{text[-4000:]}", file=sys.stderr)

    def on_close(self, closer):
        """`closer` runs before the lab's own processes and namespaces go."""
        self._closers.append(closer)

    def close(self):
        """Ends every process and removes every namespace, with the interfaces in it."""
        if self not in _open_labs:
            return
        _open_labs.remove(self)
        for closer in reversed(self._closers):
            closer()
        for process in reversed(self.processes):
            process.stop(timeout=5.0)
        for namespace in self.namespaces:
            # Daemons are nobody's children; whoever still runs in a namespace of this lab was started by it.
            for pid in run("ip", "netns", "pids", namespace.name, check=False).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", namespace.name], check=False, timeout=PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _add(self, kind, name):
        namespace = kind(self, f"{self.tag}-{name}")
        run("ip", "netns", "add", namespace.name)
        self.namespaces.append(namespace)
        namespace.ip("link", "set", "lo", "up")
        return namespace

    def namespace(self, name):
        return self._add(Namespace, name)

    def wire(self, left, left_interface, right, right_interface, mtu=1500, queues=1):
        """A veth pair between two namespaces, both ends up, each with as many queues each way."""
        many = ("numrxqueues", queues, "numtxqueues", queues)
        left.ip("link", "add", left_interface, "mtu", mtu, *many, "type", "veth", "peer", "name", right_interface,
                "mtu", mtu, *many, "netns", right.name)
        for end, interface in ((left, left_interface), (right, right_interface)):
            # Linux sends router solicitations and the like of its own accord; tests count frames.
            end.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1")
            end.ip("link", "set", interface, "up")

    def host(self, name, switch, switch_interface, address=None, mtu=1500, queues=1):
        """A host wired to `switch`. It gets an address and nothing else: its MAC is random."""
        host = self.bare_host(name)
        self.wire(switch, switch_interface, host, "eth0", mtu, queues)
        host.set_up(address, mtu)
        return host

    def bare_host(self, name):
        """A host whose eth0 comes later."""
        return self._add(Host, name)
