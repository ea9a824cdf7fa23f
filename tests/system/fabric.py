# SPDX-License-Identifier: Apache-2.0
"""A running fabric in a lab: `bfly up` in a namespace, a run directory of its own, its counters, its end."""

import json
import os
import pathlib
import signal
import subprocess

import lab


def host_port(row, interface=None, **more):
    """A kernel interface of the switch namespace, as a host port of one row."""
    return {"name": f"h{row}", "device": f"net_af_xdp,iface={interface or f'bf{row}'}", "rows": str(row), **more}


def topology(ports, rows=16, kind="two_fold_butterfly", placement=None, **more):
    """A topology file's content: by default BB_16 with half of its stages on each of two workers."""
    stages = (rows.bit_length() - 1) * (2 if kind == "two_fold_butterfly" else 1)
    half = stages // 2
    return {
        "name": "lab",
        "network": {"kind": kind, "rows": rows, "seed": 1},
        "placement": placement or [{"stages": f"0-{half - 1}", "lcore": 0},
                                   {"stages": f"{half}-{stages - 1}", "lcore": 1}],
        "ports": ports,
        **more,
    }


class Fabric:
    """`with Fabric(lab, namespace, topology) as fabric:` is up inside the block."""

    def __init__(self, the_lab, namespace, content, name="fabric"):
        self.lab = the_lab
        self.namespace = namespace
        self.run_dir = the_lab.directory / f"{name}-run"
        self.file = the_lab.directory / f"{name}.yaml"
        # YAML reads JSON.
        self.file.write_text(json.dumps(content, indent=1))

    def __enter__(self):
        return self.up()

    def __exit__(self, kind, _value, _trace):
        if kind is not None:
            self.show_logs()
        self.close()

    def up(self):
        self.lab.on_close(self.close)
        self.bfly("up", self.file)
        return self

    def bfly(self, *arguments, check=True, timeout=lab.PATIENCE):
        return self.namespace.run(lab.BUILD / "bfly", *arguments, "--run-dir", self.run_dir, check=check,
                                  timeout=timeout)

    def json(self, *arguments):
        return json.loads(self.bfly(*arguments, "--json"))

    def status(self):
        """What `bfly status` prints, also while it fails because a data plane is gone."""
        try:
            return self.json("status")
        except lab.CommandFailed as failed:
            if not failed.out:
                raise
            return json.loads(failed.out)

    def counters(self):
        """Counters of a fabric that balances at the moment it is asked."""
        counters = self.json("counters")
        account = counters["conservation"]
        if account["injected"] != account["delivered"] + account["dropped"] + account["in_flight"]:
            raise AssertionError(f"packets are lost or made up: {account}")
        return counters

    def settled(self, predicate=lambda counters: True, what="nothing is in flight"):
        """The counters once every packet has arrived and `predicate` holds."""

        def quiet():
            counters = self.counters()
            return counters if counters["conservation"]["in_flight"] == 0 and predicate(counters) else None

        return lab.wait_until(quiet, what)

    def counters_when(self, predicate, what="traffic flows"):
        """The counters as soon as `predicate` holds, also while packets are in flight."""

        def holds():
            counters = self.counters()
            return counters if predicate(counters) else None

        return lab.wait_until(holds, what)

    def pid(self, name):
        return int((self.run_dir / f"{name}.pid").read_text().split()[0])

    def kill(self, name):
        """SIGKILL to one process of the fabric, as a crash would."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        lab.wait_until(lambda: _has_ended(pid), f"process {pid} is gone")

    def start_data_plane(self, name="dp0"):
        """Starts a data plane again after kill(), as a service manager would."""
        return self.namespace.spawn(lab.BUILD / "bfly-dataplane", "--name", name, "--run-dir", self.run_dir,
                                    name=f"{name}-again")

    def start_controller(self, *options):
        return self.namespace.spawn(lab.BUILD / "bfly-controller", "--run-dir", self.run_dir, *options,
                                    name="controller-again")

    def note_pid(self, name, process):
        """So that bfly takes the process for its own, and `down` ends it."""
        began = pathlib.Path("/proc", str(process.pid), "stat").read_text().rsplit(")", 1)[1].split()[19]
        (self.run_dir / f"{name}.pid").write_text(f"{process.pid} {began}\n")

    def show_logs(self):
        for log in sorted(self.run_dir.glob("*.log")):
            print(f"--- {log.name}:\n{log.read_text(errors='replace')[-4000:]}")

    def down(self):
        """Ends the fabric and returns its closing account, which must balance with nothing in flight."""
        return self._closing_account(self.bfly("down", "--json"))

    def down_incomplete(self):
        """Ends a fabric some of whose processes were killed: the account and the exit code say that counts are missing."""
        done = subprocess.run([*self.namespace.argv(lab.BUILD / "bfly", "down", "--json", "--run-dir", self.run_dir)],
                              capture_output=True, text=True, timeout=lab.PATIENCE, check=False)
        if done.returncode != 1 or "the closing account is not complete" not in done.stderr:
            raise AssertionError(f"exit {done.returncode}: {done.stdout}{done.stderr}")
        return self._closing_account(done.stdout), json.loads(done.stdout)["unknown"]

    def _closing_account(self, text):
        account = json.loads(text)["conservation"]
        if account["in_flight"] != 0 or account["injected"] != account["delivered"] + account["dropped"]:
            raise AssertionError(f"the closing account does not balance: {account}")
        return account

    def close(self):
        """However the test ended: nothing of the fabric is left."""
        if not self.run_dir.exists():
            return
        try:
            self.bfly("down", check=False, timeout=40)
        except subprocess.TimeoutExpired:
            pass


def _has_ended(pid):
    """True if every thread of the process has ended; its parent may not have reaped it yet."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return True
    state, threads = fields[0], int(fields[17])
    return state in "ZX" and threads <= 1


def ports_by_name(counters):
    return {port["name"]: port for port in counters["ports"]}
