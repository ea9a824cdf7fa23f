# SPDX-License-Identifier: Apache-2.0
"""`bfly lab`: hosts and fabric from one file, and afterwards the machine is as it was, however it ended."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import unittest

from command_line import BFLY, LCORES, alive
from lab import PATIENCE, run, wait_until
from lab_case import FOUR, HOSTS, LabCase, in_a_machine_of_its_own, machine

NOBODY = 65534
# A program for tc: it puts the tag of VLAN 5 beside every frame. Helper 18 is bpf_skb_vlan_push.
TAGS_ALL = """
static long (*vlan_push)(void*, unsigned short, unsigned short) = (void*)18;
__attribute__((section("tc"), used)) int tag(void* frame) {
  vlan_push(frame, __builtin_bswap16(0x8100), 5);
  return 0;
}
char _license[] __attribute__((section("license"), used)) = "Apache-2.0";
"""


class LabUpTest(LabCase):
    def test_what_was_set_up_is_there_again_after_down_and_up(self):
        self.up(self.four)
        self.bfly("circuit", "setup", 0, 5)
        self.bfly("link", "set", "s2", "--delay", "1ms")
        self.down()
        said = self.up(self.four, "--resume").stdout
        self.assertIn("resumed: ", said)
        self.assertEqual([(circuit["input"], circuit["output"]) for circuit in self.json("circuit", "list")["circuits"]], [(0, 5)])
        self.ping("h0", "10.77.0.2")
        # Without it the fabric begins anew.
        self.down()
        self.assertIn("not resumed", self.up(self.four).stdout)
        self.assertEqual(self.json("circuit", "list").get("circuits", []), [])
        self.down()

    # -- what it makes -----------------------------------------------------------------------------

    def test_four_hosts_reach_each_other_and_nothing_is_left(self):
        self.up(self.four)
        for source, destination in itertools.permutations(range(HOSTS), 2):
            self.ping(f"h{source}", f"10.77.0.{destination + 1}")
        lab = self.json("lab", "status")
        self.assertEqual((lab["name"], lab["whole"], lab["fabric_runs"]), (self.name, True, True))
        self.assertEqual([(host["name"], host["rows"], host["state"], host["addresses"]) for host in lab["hosts"]],
                         [(f"h{i}", str(5 * i), "up", [f"10.77.0.{i + 1}/24"]) for i in range(HOSTS)])
        self.assertIn("h3           rows 15     namespace port bf15, eth0 10.77.0.4/24, up",
                      self.bfly("lab", "status").stdout)
        link = json.loads(run("ip", "-j", "-n", f"{self.name}-h3", "link", "show", "eth0"))[0]
        self.assertEqual((link["address"], link["mtu"]), ("02:bf:00:00:00:0f", 1500))
        # Linux sends nothing of its own: what the fabric carried is ARP and ICMP over IPv4.
        self.assertNotIn("inet6", run("ip", "-n", f"{self.name}-h3", "addr", "show", "eth0"))
        counters = self.json("counters")
        self.assertEqual(counters["conservation"]["dropped"], 0, counters["drops"])
        again = self.up(self.four, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("a fabric runs in", again.stderr)
        self.assertRegex(self.down(), r"in flight 0\n(.*\n)*removed the hosts of lab \w+: 5 network namespaces, "
                                      "4 pairs of interfaces")

    def arp_requests(self):
        """What host h1 sees of h0's ARP request, whose sender has put VLAN 5 beside the frame."""
        seen = subprocess.Popen(["ip", "netns", "exec", f"{self.name}-h1", "timeout", str(PATIENCE), "tcpdump", "-i", "eth0", "-e",
                                 "-n", "-U", "-c", "1", "broadcast"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(seen.wait)
        self.addCleanup(seen.kill)
        self.assertIn("listening", next(line for line in seen.stderr if "listening" in line))
        self.execute("h0", "ping", "-c", 1, "-W", 1, "10.77.0.2")
        return seen.communicate()[0]

    def test_vlan_tags_of_hosts_are_in_their_frames(self):
        self.up(self.four)
        inside = ("ip", "netns", "exec", f"{self.name}-h0")
        features = run(*inside, "ethtool", "-k", "eth0").replace("\t", "")
        for feature in ("tx-vlan-offload", "tx-vlan-stag-hw-insert", "tx-checksum-sctp"):
            self.assertIn(f"\n{feature}: off", features)
        self.assertIn("tx-checksumming: on", features)
        # As a VLAN interface does it, which not every kernel has.
        (self.directory / "tag.c").write_text(TAGS_ALL)
        program = self.directory / "tag.o"
        run("clang", "-O2", "-target", "bpf", "-c", self.directory / "tag.c", "-o", program)
        run(*inside, "tc", "qdisc", "add", "dev", "eth0", "clsact")
        run(*inside, "tc", "filter", "add", "dev", "eth0", "egress", "bpf", "da", "obj", program, "sec", "tc")
        self.assertIn("vlan 5, ", self.arp_requests())
        run(*inside, "ethtool", "-K", "eth0", "txvlan", "on")
        self.assertRegex(self.arp_requests(), "ethertype ARP .* who-has", "then the tag is lost")

    def test_commands_run_in_hosts_and_their_exit_code_is_told(self):
        self.up(self.four)
        self.assertEqual(self.execute("h2", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.execute("h2", "sh", "-c", "ls /sys/class/net").stdout.split(), ["eth0", "lo"])
        self.assertEqual(self.execute("h2", "sh", "-c", "kill -9 $$").returncode, -signal.SIGKILL)
        for words, code, said in [(("h2", "no-such-command"), 127, "cannot run no-such-command: No such file"),
                                  (("h2", "/tmp"), 126, "cannot run /tmp: Permission denied"),
                                  (("h9", "true"), 125, "is not a host of lab .*allowed: one of h0, h1, h2, h3")]:
            done = self.execute(*words)
            self.assertEqual(done.returncode, code)
            self.assertRegex(done.stderr, said)
        # The command has the words that were typed, and wrong usage has no code of a command.
        words = ("[a,b]", "[]", "[[ -e /x ]]", "", "\x01[", "{}")
        self.assertEqual(self.execute("h2", "printf", "%s\\n", *words).stdout, "".join(f"{word}\n" for word in words))
        self.assertEqual(self.execute("h2", "sh", "-c", "[ 1 = 2 ]").returncode, 1)
        self.assertEqual(self.bfly("lab", "exec", "h2", "echo", "[a,b]").stdout, "[a,b]\n")
        for wrong, said in ((("h2",), "command is required"), (("h2", "--jsno"), "has no option --jsno")):
            done = self.bfly("lab", "exec", *wrong, check=False)
            self.assertEqual((done.returncode, said in done.stderr), (125, True), done.stderr)
        # `bfly down` takes the fabric alone; the hosts stay until `bfly lab down`.
        self.bfly("down")
        self.assertEqual(self.execute("h2", "true").returncode, 0)
        self.assertFalse(self.not_well("the controller does not run")["fabric_runs"])
        refused = self.up(self.four, check=False)
        self.assertIn(f"lab {self.name} is in {self.run_dir} already; remove it with `bfly lab down`", refused.stderr)
        self.down()
        self.assertEqual(self.execute("h2", "true").returncode, 125)
        self.assertIn("there is no lab in", self.bfly("lab", "down", check=False).stderr)

    def as_nobody(self, *words):
        """The command of a user without rights, in a run directory of that user: in others it is refused before."""
        for path in (self.run_dir, *self.run_dir.iterdir()):
            os.chown(path, NOBODY, -1)
        done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--clear-groups", BFLY, *words[:2], "--run-dir", self.run_dir,
                               *words[2:]], capture_output=True, text=True, timeout=PATIENCE, check=False)
        for path in (self.run_dir, *self.run_dir.iterdir()):
            os.chown(path, 0, -1)
        return done

    def test_without_rights_nothing_is_removed_and_nothing_is_called_gone(self):
        self.up(self.four)
        self.directory.chmod(0o755)
        # The controller and the data plane are root's.
        for words in (("down",), ("lab", "down")):
            done = self.as_nobody(*words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stderr, r"not stopped: controller \(process \d+\) belongs to another user, stop it with sudo; dp0 ")
            self.assertTrue(self.json("lab", "status")["fabric_runs"])
        self.bfly("down")
        done = self.as_nobody("lab", "down")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("try with sudo", done.stderr)
        self.assertNotIn("removed", done.stdout)
        self.assertEqual(self.as_nobody("lab", "status").stdout.count("not known without sudo"), HOSTS)
        done = self.as_nobody("lab", "exec", "h0", "--", "true")
        self.assertEqual((done.returncode, "try with sudo" in done.stderr), (125, True), done.stderr)
        self.assertEqual([host["state"] for host in self.not_well("the controller does not run")["hosts"]], ["up"] * HOSTS)
        # A journal that cannot be read is not a lab that is not there.
        (self.run_dir / "lab.journal").chmod(0)
        self.assertIn("Permission denied", self.as_nobody("lab", "status").stderr)
        self.down()

    def test_status_fails_for_what_is_not_as_it_was_made(self):
        self.up(self.four)
        run("ip", "-n", f"{self.name}-h3", "link", "set", "eth0", "down")
        self.not_well("host h3 is down")
        pid = int((self.run_dir / "dp0.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the data plane is dead")
        self.not_well("host h3 is down, data plane dp0 does not run")
        # There is no account of a data plane that was killed.
        told = json.loads(self.bfly("lab", "down", "--json", check=False).stdout)
        self.assertEqual((told["namespaces"], told["links"]), (5, 4))
        self.is_as_before()

    def test_down_tells_the_same_object_with_and_without_a_fabric(self):
        for ended in (False, True):
            self.up(self.four)
            if ended:
                self.bfly("down")
            told = self.json("lab", "down")
            # By hand: four hosts and the data plane have a namespace each, and each host a pair of interfaces.
            self.assertEqual((list(told), told["namespaces"], told["links"]), (["account", "namespaces", "links"], 5, 4))
            self.assertEqual("conservation" in told["account"], not ended)
            self.is_as_before()

    def test_a_lab_that_cannot_be_told_of_leaves_nothing(self):
        for words in (("--json",), ()):
            self.unheard("lab", "up", self.four, "--name", self.name, *words)
            self.is_as_before()

    def test_addresses_routes_and_mtu_are_those_of_the_file(self):
        self.up(self.write("more.yaml", FOUR.replace(
            "rows: 15, addresses: 10.77.0.4/24", "rows: 15, mtu: 1400, interface: net1, port_interface: last, "
            "addresses: [10.77.0.4/24, \"fd77::4/64\"], routes: [{to: 10.78.0.0/16, via: 10.77.0.1}, "
            "{to: default, via: 10.77.0.2}, {to: 10.79.0.0/16}, {to: \"fd78::/64\", via: \"fd77::1\"}]")))
        namespace = f"{self.name}-h3"
        link = json.loads(run("ip", "-j", "-n", namespace, "addr", "show", "net1"))[0]
        self.assertEqual(link["mtu"], 1400)
        self.assertEqual([f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"] if a["scope"] == "global"],
                         ["10.77.0.4/24", "fd77::4/64"])
        routes = {route["dst"]: route.get("gateway") for version in ("-4", "-6")
                  for route in json.loads(run("ip", "-n", namespace, version, "-j", "route"))}
        self.assertEqual({to: routes.get(to, "missing") for to in
                          ("10.78.0.0/16", "default", "10.79.0.0/16", "fd78::/64", "10.77.0.0/24")},
                         {"10.78.0.0/16": "10.77.0.1", "default": "10.77.0.2", "10.79.0.0/16": None,
                          "fd78::/64": "fd77::1", "10.77.0.0/24": None})
        self.ping("h0", "10.77.0.4")
        self.down()

    def test_containers_and_interfaces_that_are_there_already(self):
        switch = self.foreign_namespace(f"{self.name}-sw")
        peer = self.foreign_namespace(f"{self.name}-peer")
        run("ip", "-n", switch, "link", "add", "there0", "type", "veth", "peer", "name", "eth0", "netns", peer)
        for namespace, interface in ((switch, "there0"), (peer, "eth0")):
            run("ip", "-n", namespace, "link", "set", interface, "up")
        run("ip", "-n", peer, "addr", "add", "10.77.0.3/24", "dev", "eth0")
        container = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
        self.addCleanup(container.wait)
        self.addCleanup(container.kill)
        wait_until(lambda: b"sleep" in pathlib.Path("/proc", str(container.pid), "cmdline").read_bytes(), "it sleeps")
        # After setUp(): these are not the lab's, and stay.
        self.before = machine()
        file = FOUR.split("hosts:")[0].replace("name: dp0,", f"name: dp0, network_namespace: {switch},")
        self.up(self.write("mixed.yaml", file + f"""hosts:
  - {{name: own, rows: 0, addresses: 10.77.0.1/24}}
  - {{name: box, rows: 1, kind: container, pid: {container.pid}, addresses: 10.77.0.2/24}}
  - {{name: there, rows: 2, kind: interface, port_interface: there0}}
  - {{name: vm, rows: 3, kind: machine, vhost_socket: {self.directory}/vm.sock}}
"""))
        self.ping("own", "10.77.0.2")
        self.ping("box", "10.77.0.3")
        self.assertTrue((self.directory / "vm.sock").is_socket())
        self.assertEqual([host["state"] for host in self.json("lab", "status")["hosts"]], ["up", "up", "up", ""])
        self.assertIn("of kind machine", self.execute("vm", "true").stderr)
        self.down()
        self.assertEqual(run("ip", "-n", switch, "-br", "link").split()[0::3].count("bf0"), 0)
        self.assertIn("there0", run("ip", "-n", switch, "link"))
        interfaces = pathlib.Path("/proc", str(container.pid), "net/dev").read_text()
        self.assertNotIn("eth0", interfaces)

    # -- what it refuses ---------------------------------------------------------------------------

    def test_names_that_somebody_has_are_refused_and_left_alone(self):
        name = self.foreign_namespace(f"{self.name}-h2")
        run("ip", "-n", name, "link", "add", "theirs", "type", "veth", "peer", "name", "theirs1")
        self.refused(FOUR, "wrong.yaml:8: hosts[2].name: network namespace", "is there already and not this lab's")
        switch = self.foreign_namespace(f"{self.name}-sw")
        run("ip", "-n", switch, "link", "add", "bf5", "type", "veth", "peer", "name", "theirs1")
        planes = FOUR.replace("name: dp0,", f"name: dp0, network_namespace: {switch},")
        self.refused(planes, "wrong.yaml:7: hosts[1].port_interface: interface bf5 is there already in network "
                             f"namespace {switch}", "hosts[2].name")
        self.assertIn("theirs", run("ip", "-n", name, "link"))
        # A lab does not set up interfaces that are somebody else's.
        there = FOUR.split("hosts:")[0] + "hosts:\n  - {name: there, rows: 0, kind: interface, port_interface: PORT}\n"
        planes = there.replace("name: dp0,", f"name: dp0, network_namespace: {switch},")
        self.refused(planes.replace("PORT", "bf5"), f"hosts[0].port_interface: interface bf5 in network namespace {switch}"
                     " is down", "ip link set bf5 up")

    def test_wrong_input_is_refused_with_its_line_before_anything_is_made(self):
        self.refused(FOUR + "  - {name: h4, rows: 0, adresses: 1}\n",
                     "wrong.yaml:10: hosts[4].adresses: unknown key; did you mean addresses?",
                     "wrong.yaml:10: hosts[4].rows: row 0 is attached to hosts[0] already")
        self.refused(FOUR.split("hosts:")[0], "hosts: is missing, a lab has at least one host")
        self.refused(FOUR + "  - {name: h4, rows: 4, kind: container, pid: 4194304}\n",
                     "wrong.yaml:10: hosts[4].pid: cannot open the network namespace of process 4194304")
        self.refused(FOUR + f"  - {{name: h4, rows: 4, kind: container, pid: {os.getpid()}}}\n",
                     "has no network namespace of its own")
        self.refused(FOUR + "  - {name: h4, rows: 4, addresses: 10.77.0.9/24, routes: [{to: 10.77.0.0/24}]}\n",
                     'wrong.yaml:10: hosts[4].routes[0].to: "10.77.0.0/24" is the prefix of an address of the host')
        done = self.bfly("lab", "up", self.four, "--name", "a/b", check=False)
        self.assertIn('"a/b" is not the name of a lab', done.stderr)
        # The data plane finds out that the machine does not have this CPU.
        self.refused(FOUR.replace(f"lcore: {LCORES[-1]}}}", "lcore: 1000}"), "lcore")
        inside = self.foreign_namespace(f"{self.name}-in")
        before = machine()
        done = subprocess.run(["ip", "netns", "exec", inside, BFLY, "lab", "up", self.four, "--run-dir", self.run_dir],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn("run it outside", done.stderr)
        self.assertEqual((done.returncode, machine()), (1, before))

    # -- how it ends -------------------------------------------------------------------------------

    def start(self, *words):
        process = subprocess.Popen([BFLY, "lab", "up", self.four, "--name", self.name, "--run-dir", self.run_dir,
                                    *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def lines(self):
        journal = self.run_dir / "lab.journal"
        return len(journal.read_text().splitlines()) if journal.exists() else 0

    def test_killed_at_any_moment_it_leaves_a_journal_of_what_is_there(self):
        moments = {"the head": lambda: self.lines() >= 1, "a namespace": lambda: self.lines() >= 3,
                   "a link": lambda: self.lines() >= 7, "every link": lambda: self.lines() >= 10,
                   "a process": lambda: (self.run_dir / "dp0.pid").exists(),
                   "the controller": lambda: (self.run_dir / "controller.sock").exists(),
                   "all of it": lambda: self.lines() >= 11}
        for what, reached in moments.items():
            with self.subTest(what):
                process = self.start()
                wait_until(lambda: reached() or process.poll() is not None, what)
                process.kill()
                process.wait()
                self.assertTrue(reached(), what)
                self.down()

    def test_what_others_removed_meanwhile_is_no_error(self):
        self.up(self.four)
        run("ip", "netns", "del", f"{self.name}-h1")
        run("ip", "-n", f"{self.name}-fabric", "link", "del", "bf10")
        # Somebody else's namespace has the name now.
        name = self.foreign_namespace(f"{self.name}-h1")
        states = [host["state"] for host in self.not_well("host h1 is gone, host h2 is gone")["hosts"]]
        self.assertEqual(states, ["up", "gone", "gone", "up"])
        self.assertIn("is gone", self.execute("h1", "true").stderr)
        self.bfly("lab", "down")
        self.assertEqual([kept for kept in machine()["names"] if self.name in kept], [name])
        run("ip", "netns", "del", name)
        self.is_as_before()

    def test_after_a_reboot_it_is_made_anew(self):
        self.up(self.four)
        self.bfly("circuit", "setup", 0, 5)
        # As a loss of power leaves a run directory on a disk.
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: not alive(pid), "it is dead")
        for name in set(machine()["names"]) - set(self.before["names"]):
            run("ip", "netns", "del", name)
        journal = self.run_dir / "lab.journal"
        head, others = journal.read_text().split("\n", 1)
        journal.write_text(json.dumps({**json.loads(head), "boot": "00000000-0000-0000-0000-000000000000"}) + "\n" + others)
        self.assertIn("resumed: ", self.up(self.four, "--resume").stdout)
        self.ping("h0", "10.77.0.2")
        self.down()

    def test_in_the_foreground_it_ends_with_a_signal(self):
        for number in (signal.SIGINT, signal.SIGHUP):
            process = self.start("--foreground")
            wait_until(lambda: self.lines() >= 11 or process.poll() is not None, "the lab is up")
            self.assertIn("one with --foreground stays there until Ctrl-C or SIGTERM", self.bfly("lab", "down", check=False).stderr)
            process.send_signal(number)
            said, _ = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, said)
            self.assertIn("5 network namespaces, 4 pairs of interfaces", said)
            self.is_as_before()


if __name__ == "__main__":
    in_a_machine_of_its_own()
    unittest.main(verbosity=2)
