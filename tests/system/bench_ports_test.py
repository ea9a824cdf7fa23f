# SPDX-License-Identifier: Apache-2.0
"""`bfly bench ports`: what it measures, beside what, and that it comes to an end."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from command_line import BFLY, LCORES, CommandLineTest, balances
from lab import wait_until

# Stands for dpdk-testpmd: it says what it is told to, and then nothing any more.
MUTE = """#!{python}
import time
print({words!r}, flush=True)
time.sleep(1000)
"""


def interfaces_of(pid):
    return [line.split(":")[0].strip() for line in pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()]


def namespaces():
    """The network namespaces of all processes."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found.add(os.readlink(process / "ns/net"))
        except OSError:  # it has ended
            pass
    return found


class BenchPorts(CommandLineTest):
    def test_ports_of_a_kind_are_not_for_the_closed_measurement(self):
        done = self.bfly("bench", "ports", "--closed", "--ports", "af_xdp", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--ports", done.stderr)

    def test_links_that_let_no_two_packets_through_have_no_rate(self):
        # 1,000 bytes at 1 Mbit/s take 8 ms a link, so the first leaves 10 stages after 80 ms.
        done = self.bfly("bench", "links", "--seconds", "50ms", "--runs", 1, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("fewer than two packets crossed 10 stages at 1000000 bit/s in 0.05 s; give --seconds more", done.stderr)
        self.assertNotIn("nan", done.stdout)

    def closed(self, *words):
        done = self.bfly("bench", "ports", "--closed", "--stages", 4, "--runs", 1, "--seconds", "100ms", "--patience", "60s",
                         "--json", *words, check=False)
        self.assertTrue(done.stdout, done.stderr)
        out = json.loads(done.stdout)
        # A ratio is told only where nothing but the workers set the pace.
        modes = ("io", "mac", "macswap")
        self.had_cpus = out["on_cpu"]
        least = {"on_cpu": 1 - 0.2 / len(out["cpus"]), "open_vswitch_on_cpu": 1 - 0.2 / len(out["cpus"]),
                 **{f"testpmd_{mode}_on_cpu": 1 - 0.2 / out["port_pairs"] for mode in modes}, "one_core_busy": 0.95}
        self.set_the_pace = out["dropped_part"] <= 0.05 and all(out.get(name, 1) >= share for name, share in least.items())
        self.assertEqual(done.returncode, 0 if self.set_the_pace else 1, done.stderr)
        if not self.set_the_pace:
            self.assertIn("for a ratio", done.stderr)
        self.assert_over(out, "over_one_core", out["one_core_pps"])
        for mode in modes:
            self.assert_over(out, f"over_testpmd_{mode}", out[f"testpmd_{mode}_pps"])
        return out

    def assert_over(self, out, name, other):
        if self.set_the_pace:
            self.assertAlmostEqual(out[name]["median"], out["bfly_pps"] / other)
        else:
            self.assertIsNone(out[name])

    def refused(self, *words):
        refused = self.bfly("bench", "ports", *words, check=False)
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        return refused.stderr

    def test_the_closed_bench_stands_beside_testpmd_itself_without_circuits_and_open_vswitch(self):
        out = self.closed("--circuits", "--placement", "rows" if len(LCORES) > 1 else "one")
        for figure in ("bfly_pps", "one_core_pps", "no_circuits_pps", "testpmd_io_pps", "testpmd_macswap_pps", "busy"):
            self.assertGreater(out[figure], 0, figure)
        # Where a row has no circuit, its frames are dropped and the bench fails.
        self.assertTrue(out["circuits"])
        self.assert_over(out, "over_no_circuits", out["no_circuits_pps"])
        self.assertTrue(balances(out["conservation"]), out["conservation"])
        self.assertEqual(out["conservation"]["in_flight"], 0)
        if out["open_vswitch"] is None:
            self.assertRegex(out["no_open_vswitch"], "no ovs-vswitchd with DPDK is installed")
        else:
            self.assertRegex(out["open_vswitch"], r"^\d+\.\d+\.\d+, DPDK \d+\.\d+")
            self.assertGreater(out["open_vswitch_uncached_pps"]["median"], 0)
            self.assert_over(out, "over_open_vswitch", out["open_vswitch_pps"]["median"])

    def test_the_closed_bench_puts_a_multibutterfly_beside_the_plain_butterfly(self):
        out = self.closed("--network", "multibutterfly", "--multiplicity", 3, "--rule", "random")
        self.assertEqual((out["network"], out["multiplicity"]), ("multibutterfly", 3))
        self.assert_over(out, "over_plain", out["plain_pps"])
        self.assertTrue(balances(out["conservation"]), out["conservation"])
        for words, text in ((("--rule", "random"), "--rule: a butterfly has one link a direction"),
                            (("--network", "multibutterfly", "--multiplicity", 17), "17 is outside 1..16"),
                            (("--network", "multibutterfly", "--circuits"),
                             "circuits: they are measured on a butterfly, not on a multibutterfly"),
                            (("--open-vswitch", "/bin/true"), "/bin/true is not an ovs-vswitchd with DPDK"),
                            (("--network", "benes"), "--network: benes not in")):
            self.assertIn(text, self.refused("--closed", *words))

    def test_frames_that_go_round_in_rings_keep_going_round(self):
        out = self.closed("--devices", "ring")
        self.assertEqual(out["devices"], "ring")
        account = out["conservation"]
        self.assertTrue(balances(account), account)
        self.assertEqual((account["dropped"], account["in_flight"]), (0, 0))
        # Each ring has 512 frames. More come through only if they come back.
        self.assertGreater(account["delivered"], 2 * 512)
        for words in (("--circuits",), ("--placement", "rows"), ("--open-vswitch", "/bin/true")):
            if words[0] != "--placement" or len(LCORES) > 1:
                self.assertIn("devices: with ring, one core is measured, without circuits and Open vSwitch",
                              self.refused("--closed", "--devices", "ring", *words))
        self.assertIn("--devices: tap not in", self.refused("--closed", "--devices", "tap"))

    def test_the_loaded_bench_tells_a_ratio_only_where_the_device_was_the_limit(self):
        for kind in ("memif", "vhost", "af_xdp"):
            with self.subTest(ports=kind):
                self.loaded(kind)
        for words, text in ((("--ports", "tap"), "--ports: tap not in"),
                            (("--stages", "4,21"), "stages: 21 is outside 1..20"),
                            (("--stages", "4,six"), "--stages"),
                            (("--closed", "--stages", "4,2"), "stages: 2 is outside 3..20")):
            self.assertIn(text, self.refused(*words))

    def loaded(self, kind):
        done = self.bfly("bench", "ports", "--ports", kind, "--stages", "1,4", "--runs", 1, "--seconds", "100ms",
                         "--patience", "60s", "--json", check=False)
        if len(LCORES) < 2:
            self.assertIn("two CPUs are needed", done.stderr)
            return
        self.assertTrue(done.stdout, done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual(out["ports"], kind)
        self.assertGreater(out["hand_over_ns"]["median"], 0)
        rows = out["rows"]
        self.assertEqual([row.get("forward", row.get("stages")) for row in rows], ["io", "mac", "macswap", 1, 4])
        # bfly counts the frames that it sends, and the load counts those of the measured time.
        measured = sum(row["pps"]["median"] for row in rows[3:]) * out["seconds"]
        self.assertGreaterEqual(out["conservation"]["delivered"], measured)
        self.assertTrue(balances(out["conservation"]), out["conservation"])
        self.assertEqual([row["lost"] is None for row in rows], [kind == "af_xdp"] * 5)
        if kind == "af_xdp":  # the kernel copies each frame
            self.assertGreater(max(row["in_kernel"]["median"] for row in rows), 0)
        io = rows[0]
        limits = [self.was_the_limit(row, out["alone_pps"]["median"]) for row in rows]
        for row, limit in zip(rows, limits):
            self.assertGreater(row["pps"]["median"], 0)
            self.assertLessEqual(row["in_kernel"]["median"], 1)
            if limits[0] and limit:
                self.assertAlmostEqual(row["over_io"]["median"], row["pps"]["median"] / io["pps"]["median"])
            else:
                self.assertEqual((row["over_io"], row["cpu_over_io"]), (None, None))
        self.assertEqual(done.returncode, 0 if all(limits) else 1, done.stderr)
        self.assertEqual("are needed for a ratio" in done.stderr, not all(limits), done.stderr)

    @staticmethod
    def was_the_limit(row, alone):
        shares = (row["fed"]["median"], row["drained"]["median"])
        return min(shares) >= 0.95 and row["on_cpu"]["median"] >= 0.8 and alone >= 1.2 * row["pps"]["median"]

    def test_the_closed_bench_tells_no_ratio_where_other_programs_had_the_cpu(self):
        """Two programs without rest on the CPU of the bench leave a third of it to bfly and to testpmd."""
        rest = [subprocess.Popen(["/usr/bin/taskset", "--cpu-list", str(LCORES[-1]), "/usr/bin/timeout", "120", "/bin/sh", "-c",
                                  "while :; do :; done"]) for _ in range(2)]
        try:
            out = self.closed()
        finally:
            for process in rest:
                process.terminate()
                process.wait()
        self.assertLess(self.had_cpus, 0.8)
        self.assertIsNone(out["over_testpmd_io"])

    def test_the_closed_bench_tells_no_ratio_where_links_set_the_pace(self):
        """The first links, two for each row of the capture, carry less than a core moves, and drop the rest."""
        out = self.closed("--link-rate", "10Mbps", "--link-queue", "100")
        self.assertGreater(out["dropped_part"], 0.5)
        self.assertIsNone(out["over_testpmd_io"])

    def test_the_closed_bench_measures_several_numbers_of_stages(self):
        done = self.bfly("bench", "ports", "--closed", "--stages", "3,5", "--runs", 1, "--seconds", "100ms", "--patience", "60s",
                         "--json", check=False)
        self.assertEqual([report["stages"] for report in json.loads(done.stdout)], [3, 5], done.stderr)

    @unittest.skipIf(len(LCORES) < 2, "the bench needs two CPUs")
    def test_the_interfaces_of_the_bench_end_with_it_however_it_ends(self):
        interfaces = set(os.listdir("/sys/class/net"))
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with subprocess.Popen([BFLY, "bench", "ports", "--ports", "af_xdp", "--seconds", "60s"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=dict(os.environ, TMPDIR=str(self.directory))) as bench:
                wait_until(lambda: "load1" in interfaces_of(bench.pid), "interfaces of the bench")
                self.assertEqual(set(os.listdir("/sys/class/net")), interfaces)
                namespace = os.readlink(f"/proc/{bench.pid}/ns/net")
                bench.send_signal(signal_number)
            wait_until(lambda: namespace not in namespaces(), "the end of all processes of the bench")
            self.assertEqual(set(os.listdir("/sys/class/net")), interfaces)

    @unittest.skipUnless(os.geteuid() == 0 and len(LCORES) > 1, "needs root and two CPUs")
    def test_two_real_time_workers_need_a_third_cpu(self):
        """The programs of the workers would get no CPU to answer the bench."""
        def become_real_time():
            os.sched_setaffinity(0, LCORES[:2])
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        if subprocess.run(["/usr/bin/chrt", "--fifo", "1", "/bin/true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("needs CAP_SYS_NICE")
        for placement in "rows", "stages":
            refused = subprocess.run([BFLY, "bench", "ports", "--closed", "--placement", placement, "--testpmd", "/dev/null"],
                                     preexec_fn=become_real_time, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("run it without chrt", refused.stderr)

    def test_a_testpmd_that_falls_silent_ends_the_bench_with_what_it_said_last(self):
        for name, words, text in (("dead", "EAL: half way", "had not started after 0.3 s"),
                                  ("mute", "testpmd> ", "had not said what it counted after 0.3 s")):
            program = self.write(name, MUTE.format(python=sys.executable, words=words))
            program.chmod(0o755)
            began = time.monotonic()
            error = self.refused("--closed", "--testpmd", program, "--seconds", "100ms", "--patience", "300ms")
            self.assertLess(time.monotonic() - began, 25)  # it would wait for 30 s by itself
            self.assertIn(f"{program} {text}; it printed last: {words}", error)
        self.assertIn("patience: 0 is outside 0.1..600", self.refused("--closed", "--patience", "0s"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
