# SPDX-License-Identifier: Apache-2.0
"""The fabric that chaos works on, what it must be by what was asked of it, and the comparison of the two."""
import json
import os
import pathlib
import re
import subprocess
import time

import fabric
import lab

MOST_MIB = {"controller": 400, "dp": 700}
SANITIZED = os.environ.get("BFLY_SANITIZED") == "1"
SICK = re.compile(r"ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error:|Assertion|terminate called|bfly: internal")


def memif(the_lab, name):
    device = f"id=0,socket={the_lab.directory}/fabric-run/{name}.sock,socket-abstract=no"
    return {"from_device": f"net_memif0,role=server,{device}", "to_device": f"net_memif1,role=client,{device}"}


def topologies(the_lab):
    """(rows, content) by name. Host ports are at rows 0 and 3, but for the one that is split."""
    ports = [fabric.host_port(row) for row in (0, 3)]
    both_halves = [{"stages": "0-5", "rows": "0-31", "lcore": 0}, {"stages": "0-5", "rows": "32-63", "lcore": 1}]
    return {
        "two-fold": (16, fabric.topology(ports)),
        "dilated": (64, fabric.topology(ports, rows=64, kind="butterfly", placement=both_halves)
                    | {"network": {"kind": "dilated_butterfly", "rows": 64, "multiplicity": 2}}),
        "multibutterfly": (64, fabric.topology(ports, rows=64, kind="butterfly", placement=both_halves)
                           | {"network": {"kind": "multibutterfly", "rows": 64, "multiplicity": 2, "seed": 3}}),
        "split": (16, fabric.topology(
            [], data_planes=[{"name": "dp0"}, {"name": "dp1"}],
            placement=[{"stages": "0-3", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "4-7", "lcore": 1, "data_plane": "dp1"}],
            trunks=[{"name": "middle", "after_stage": 3, "from": "dp0", "to": "dp1", **memif(the_lab, "middle")}])),
    }


def keep_sanitizer_reports(path):
    """Processes that start from now on write what a sanitizer finds into path.PID. `bfly down` removes their logs.
    UBSan of GCC writes into the logs all the same."""
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        os.environ[name] = ":".join(filter(None, [os.environ.get(name), f"log_path={path}"]))


class Subject:
    SPARE_PORTS = 2  # so many more host ports have buffers

    def __init__(self, the_lab):
        self.lab = the_lab
        keep_sanitizer_reports(the_lab.directory / "sanitizer")
        self.switch = the_lab.namespace("sw")
        self.hosts = [the_lab.host(f"h{row}", self.switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in (0, 3)]
        the_lab.host("spare", self.switch, "bfspare", "10.77.1.16/24")
        self.spare_interface = "bfspare"
        self.topologies = topologies(the_lab)
        self.net = None
        self.injected = 0  # at least; processes that are killed take counts along
        self.highest = {}  # MiB by process name
        self.loads = 0

    def load(self, dice):
        """Loads a random topology, in place of the one that runs."""
        name = dice.choice(sorted(self.topologies))
        self.rows, content = self.topologies[name]
        self.loads += 1
        content = content | {"name": f"{name}-{self.loads}"}
        if self.net is None:
            self.net = fabric.Fabric(self.lab, self.switch, content)
            self.net.up()
        else:
            self.net.file.write_text(json.dumps(content, indent=1))
            self.net.bfly("up", "--replace", self.net.file)
        self.planes = [plane["name"] for plane in content.get("data_planes", [{"name": "dp0"}])]
        self.forget()
        return name

    def forget(self):
        self.circuits = {}  # by input: (output, rows)
        self.sources = set()
        self.ports = {}  # devices of the host ports that were added, by name
        self.down = set()  # links, as (stage, row, port)
        self.schedule = None  # the sequence that was started
        self.trunk_is_unknown = False
        self.counts_again()

    def counts_again(self, only_the_controller_knows=False):
        """Some counts are gone, with a process or a fabric."""
        self.injected = 0
        # What a process counted that was killed: the controller has it, and nobody else.
        self.only_the_controller_knows = only_the_controller_knows

    def try_to(self, *words):
        """The answer as JSON, or None if bfly refused. A refusal says why, and is not a crash."""
        done = subprocess.run(self.switch.argv(str(lab.BUILD / "bfly"), *map(str, words), "--json", "--run-dir",
                                               str(self.net.run_dir)),
                              capture_output=True, text=True, timeout=lab.PATIENCE, check=False, stdin=subprocess.DEVNULL)
        if done.returncode == 0:
            return json.loads(done.stdout) if done.stdout.strip() else {}
        if done.returncode != 1 or not done.stderr.strip():
            raise AssertionError(f"bfly {' '.join(map(str, words))}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return None

    def listed(self):
        return {c["input"]: c for c in self.net.json("circuit", "list")["circuits"]}

    def take_circuits_as_listed(self):
        """After protocols that choose many paths: each goes from its input to its output, and is long enough."""
        self.circuits = {}
        for row, circuit in self.listed().items():
            path = circuit["rows"]
            if path[0] != row or path[-1] != circuit["output"] or max(path) >= self.rows:
                raise AssertionError(f"no path from its input to its output: {circuit}")
            self.circuits[row] = (circuit["output"], path)
        outputs = [output for output, _ in self.circuits.values()]
        if len(set(outputs)) != len(outputs):
            raise AssertionError(f"two circuits end at one output: {sorted(outputs)}")

    def port_names(self):
        return {port["port"]["name"] for port in self.net.json("port", "list").get("ports", [])}

    def port_rows(self):
        """Rows of host ports by what was asked for."""
        of_the_file = [] if len(self.planes) > 1 else [0, 3]
        return {*of_the_file, *(int(name[1:]) for name in self.ports)}

    def stages(self):
        return self.net.json("status")["stages"]

    def start_again(self, name):
        self.start(name)
        lab.wait_until(self.answers, f"the controller answers after {name} began again")

    def start(self, name):
        """As a service manager would after a crash, and so that `bfly down` finds it."""
        process = self.net.start_controller("--resume") if name == "controller" else self.net.start_data_plane(name)
        self.net.note_pid(name, process)

    def wait_until_kept(self):
        """Until what was answered is on disk: the controller writes a moment later."""
        def written():
            return [path.stat().st_mtime_ns for path in sorted(self.net.run_dir.glob("intent.db*"))]

        def rests():
            before = written()
            time.sleep(1)
            return before == written()

        lab.wait_until(rests, "the controller has written all that it was told")

    def answers(self):
        try:
            return bool(self.net.status()["data_planes"])
        except (lab.CommandFailed, KeyError):
            return False

    def all_run(self):
        status = self.net.status()
        return all(plane["state"] == "running" for plane in status["data_planes"]) and not status.get("problem")

    def come_to(self):
        """Until all that check() asks holds: what was pushed to a new process needs a moment."""
        def holds():
            try:
                self.check()
            except (AssertionError, KeyError) as not_yet:
                self.wrong = not_yet
                return False
            return True

        try:
            lab.wait_until(holds, "what was there before is there again")
        except AssertionError as never:
            raise AssertionError(f"{never}: {self.wrong}") from None

    def check(self):
        account = self.net.counters()["conservation"]  # which balances
        if account["injected"] < self.injected:
            raise AssertionError(f"injected was {self.injected} and is {account['injected']}")
        self.injected = account["injected"]
        found = {row: (c["output"], c["rows"]) for row, c in self.listed().items()}
        if found != self.circuits:
            raise AssertionError(f"circuits: {differences(self.circuits, found)}")
        sources = {source["source"]["name"] for source in self.net.json("traffic", "list")["sources"]}
        if sources != self.sources:
            raise AssertionError(f"sources: {sorted(self.sources)} were started, {sorted(sources)} run")
        down = {(link["stage"], link["row"], link["port"]) for link in self.net.json("link", "show", "all").get("down", [])}
        if down != self.down:
            raise AssertionError(f"links down: {sorted(self.down)} were taken down, {sorted(down)} are")
        steps = bool(self.net.json("circuit", "schedule", "status").get("slots"))
        if steps != (self.schedule is not None):
            raise AssertionError(f"the schedule that was started is {self.schedule}, and one {'steps' if steps else 'does not step'}")
        ports, wanted = self.port_names(), {f"{'p' if f'p{row}' in self.ports else 'h'}{row}" for row in self.port_rows()}
        if ports != wanted:
            raise AssertionError(f"host ports: {sorted(wanted)} should be there, {sorted(ports)} are")
        self.check_processes()
        self.check_logs()

    def check_processes(self):
        for name in ["controller", *self.planes]:
            status = pathlib.Path("/proc", str(self.net.pid(name)), "status")
            if not status.exists():
                raise AssertionError(f"{name} has ended by itself")
            mib = int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]) // 1024
            self.highest[name] = max(mib, self.highest.get(name, 0))
            # A sanitizer keeps what was freed for a while.
            if mib > MOST_MIB["dp" if name.startswith("dp") else name] * (3 if SANITIZED else 1):
                raise AssertionError(f"{name} takes {mib} MiB")

    def check_logs(self):
        """Of all processes, and what a sanitizer said of those that have ended."""
        for log in [*self.net.run_dir.glob("*.log"), *self.lab.directory.glob("sanitizer.*"),
                    *(process.log for process in self.lab.processes)]:
            if log.exists() and (sick := SICK.search(text := log.read_text(errors="replace"))):
                raise AssertionError(f"{log.name}: {text[sick.start():sick.start() + 3000]}")

    def end(self):
        """Whatever was done: the fabric comes to rest, and its account closes."""
        self.net.bfly("traffic", "stop")
        if not self.trunk_is_unknown:
            self.net.settled()
        self.check_processes()
        account = json.loads(self.net.bfly("down", "--json", check=False) or "{}").get("conservation")
        self.check_logs()
        if not account or account["injected"] != account["delivered"] + account["dropped"]:
            raise AssertionError(f"the closing account does not balance: {account}")

    def summary(self):
        return f"{self.loads} topologies; most memory: " + ", ".join(f"{name} {mib} MiB" for name, mib in sorted(self.highest.items()))


def differences(wanted, found):
    return "; ".join(f"at {row} should be {wanted.get(row)} and is {found.get(row)}"
                     for row in sorted({*wanted, *found}) if wanted.get(row) != found.get(row))
