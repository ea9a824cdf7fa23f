# SPDX-License-Identifier: Apache-2.0
"""A test of `bfly lab` in a machine of its own, with a file of four hosts, and what may be left behind."""

import json
import os
import pathlib
import subprocess
import sys

from command_line import BFLY, LCORES, CommandLineTest
from lab import PATIENCE, require_root, run, wait_until

HOSTS = 4
# Line 6 is the first host.
FOUR = f"""name: four
network: {{kind: two_fold_butterfly, rows: 16, seed: 1}}
placement: [{{stages: 0-3, lcore: {LCORES[0]}}}, {{stages: 4-7, lcore: {LCORES[-1]}}}]
data_planes: [{{name: dp0, memory_mb: 256}}]
hosts:
""" + "".join(f"  - {{name: h{i}, rows: {5 * i}, addresses: 10.77.0.{i + 1}/24}}\n" for i in range(HOSTS))


def machine():
    """What a lab could leave behind: names of namespaces, and interfaces, addresses and routes outside of them."""
    return {"names": sorted(path.name for path in pathlib.Path("/run/netns").iterdir()),
            "links": run("ip", "-o", "link"), "addresses": run("ip", "-o", "addr"),
            "routes": run("ip", "route", "show", "table", "all"),
            "mounts": [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                       if "/run/netns/" in line]}


class LabCase(CommandLineTest):
    def setUp(self):
        self.before = machine()
        super().setUp()
        self.name = f"labtest{os.getpid()}"
        self.four = self.write("four.yaml", FOUR)
        self.addCleanup(self.bfly, "lab", "down", check=False)
        self.foreign = []
        self.addCleanup(lambda: [run("ip", "netns", "del", name, check=False) for name in self.foreign])

    def foreign_namespace(self, name):
        run("ip", "netns", "add", name)
        self.foreign.append(name)
        return name

    def up(self, file, *words, check=True):
        return self.bfly("lab", "up", file, "--name", self.name, *words, check=check)

    def execute(self, host, *words):
        return subprocess.run([BFLY, "lab", "exec", host, "--run-dir", self.run_dir, "--", *map(str, words)],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)

    def ping(self, source, address):
        """The first echo waits for ARP, and a busy machine may lose one."""
        wait_until(lambda: self.execute(source, "ping", "-c", 1, "-W", 2, address).returncode == 0,
                   f"{source} reaches {address}")

    def is_as_before(self):
        self.assertEqual(machine(), self.before)
        left = []
        for process in pathlib.Path("/proc").iterdir():
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.run_dir).encode() in command:
                left.append(command)
        self.assertEqual(left, [])
        self.assertFalse((self.run_dir / "lab.journal").exists())

    def not_well(self, wrong):
        """What `bfly lab status` shows; it fails and says that this is `wrong`, and nothing else."""
        done = self.bfly("lab", "status", "--json", check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"lab {self.name}: {wrong}\n", done.stderr)
        return json.loads(done.stdout)

    def refused(self, text, *said):
        before = machine()
        done = self.up(self.write("wrong.yaml", text), check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        for words in said:
            self.assertIn(words, done.stderr)
        self.assertEqual(machine(), before)
        self.assertFalse((self.run_dir / "lab.journal").exists())

    def down(self):
        done = self.bfly("lab", "down")
        self.is_as_before()
        return done.stdout


def in_a_machine_of_its_own():
    """Other tests make and remove namespaces meanwhile: this one sees only what it makes itself."""
    if os.environ.get("BFLY_LAB_TEST") != "inside":
        require_root()
        os.environ["BFLY_LAB_TEST"] = "inside"
        os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    # Namespaces of other tests stay mounted here, until those tests end.
    for line in reversed(pathlib.Path("/proc/self/mounts").read_text().splitlines()):
        if "/run/netns/" in line:
            # The other test may have just removed it.
            run("umount", "--lazy", line.split()[1], check=False)
    run("mount", "-t", "tmpfs", "lab-test", "/run/netns")
    run("ip", "link", "set", "lo", "up")
