# SPDX-License-Identifier: Apache-2.0
"""A network of 65,536 rows: its two million links are read in little memory, and tell what was sent."""

import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from command_line import BFLY, CommandLineTest, LCORES
from lab import PATIENCE, wait_until

DIMENSION = 16
ROWS = 1 << DIMENSION
LINKS = 2 * DIMENSION * ROWS

# Peaks in MiB: of the command line, and what a process of the fabric takes more than before.
MOST_OF_BFLY = 64
MOST_MORE = 100

BUTTERFLY = """
name: large
network: {kind: butterfly, rows: %d, seed: 7}
placement:
  - {stages: 0-%d, lcore: %d}
""" % (ROWS, DIMENSION - 1, LCORES[0])

# Every row sends this many to its complement, so that every cross link carries as many and no straight one any.
EACH = 2
# Beside them one row sends to another, over one link of each stage.
HOT_FROM, HOT_TO, HOT_PACKETS = 12345, 54321, 1000


def path(source, to):
    """The links of the one path, as (stage, row, port, next row), most significant bit first."""
    row, links = source, []
    for stage in range(DIMENSION):
        bit = 1 << (DIMENSION - 1 - stage)
        next_row = (row & ~bit) | (to & bit)
        links.append((stage, row, 1 if to & bit else 0, next_row))
        row = next_row
    return links


def packets_on(link):
    """What the link has carried after all of it, from the paths alone."""
    _, row, _, next_row = link
    return (EACH if row != next_row else 0) + (HOT_PACKETS if link in set(path(HOT_FROM, HOT_TO)) else 0)


class LargeNetwork(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.bfly("up", self.write("large.yaml", BUTTERFLY))
        self.bfly("traffic", "start", "--name", "all", "--to", "bitcomp", "--packets", EACH)
        self.bfly("traffic", "start", "--name", "hot", "--rows", HOT_FROM, "--to", HOT_TO,
                  "--packets", HOT_PACKETS)
        sent = ROWS * EACH + HOT_PACKETS
        wait_until(lambda: self.json("counters", "--top", 1)["conservation"]["delivered"] == sent,
                   f"{sent} packets arrive")
        self.pid_of = {name: int((self.run_dir / f"{name}.pid").read_text().split()[0])
                       for name in ("controller", "dp0")}

    def memory(self, name, field):
        status = pathlib.Path("/proc", str(self.pid_of[name]), "status").read_text()
        return int(re.search(field + r":\s+(\d+) kB", status).group(1)) / 1024

    def measured(self, *words, consume=lambda out: out.read()):
        """Runs the command and gives its output to `consume`; checks the peak memory of the command and of the fabric."""
        before = {}
        for name, pid in self.pid_of.items():
            pathlib.Path("/proc", str(pid), "clear_refs").write_text("5")  # the peak begins anew
            before[name] = self.memory(name, "VmRSS")
        start = time.monotonic()
        process = subprocess.Popen([BFLY, *map(str, words), "--run-dir", self.run_dir], stdout=subprocess.PIPE)
        printed = consume(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        self.assertEqual(process.returncode, 0)
        of_bfly = usage.ru_maxrss / 1024
        more = {name: self.memory(name, "VmHWM") - before[name] for name in self.pid_of}
        print(f"bfly {' '.join(map(str, words))}: {time.monotonic() - start:.2f} s, {of_bfly:.0f} MiB, more: " +
              ", ".join(f"{name} {mib:.0f} MiB" for name, mib in more.items()), flush=True)
        self.assertLess(of_bfly, MOST_OF_BFLY)
        for name, mib in more.items():
            self.assertLess(mib, MOST_MORE, name)
        return printed

    def test_the_top_links_are_those_of_the_hot_path(self):
        links = json.loads(self.measured("counters", "--top", DIMENSION, "--json"))["links"]
        # Among equal links the lower stage comes first, which is the order of the path.
        expected = sorted(path(HOT_FROM, HOT_TO), key=lambda link: (-packets_on(link), link))
        self.assertEqual([(link["stage"], link["row"], link["port"], link["next_row"]) for link in links], expected)
        self.assertEqual([link["packets"] for link in links], [packets_on(link) for link in expected])
        by_bytes = json.loads(self.measured("counters", "--top", 3, "--by", "bytes", "--json"))["links"]
        self.assertEqual([link["row"] for link in by_bytes], [link[1] for link in expected[:3]])

    def test_the_links_of_some_rows_are_all_that_is_told(self):
        rows, stages = "12340-12349,54321", "0,3-4,15"
        counters = json.loads(self.measured("counters", "--rows", rows, "--stages", stages, "--json"))
        wanted = [*range(12340, 12350), 54321]
        self.assertEqual([(link["stage"], link["row"], link["port"]) for link in counters["links"]],
                         [(stage, row, port) for stage in (0, 3, 4, 15) for row in wanted for port in (0, 1)])
        for link in counters["links"]:
            self.assertEqual(link["packets"],
                             packets_on((link["stage"], link["row"], link["port"], link["next_row"])))
        self.assertEqual(list(counters)[:4], ["time_ns", "links", "ports", "conservation"])

    def test_all_links_come_as_a_stream(self):
        def add_up(out):
            links, packets, used, rest = 0, 0, 0, b""
            # Links are six columns in; what was dropped on them is farther in.
            figure = re.compile(rb'\n      "packets": (\d+),')
            while chunk := out.read(1 << 22):
                text = rest + chunk
                end = text.rfind(b"\n")
                for value in figure.findall(text[:end]):
                    links += 1
                    packets += int(value)
                    used += value != b"0"
                rest, last = text[end:], text[-3:]
            return links, packets, used, last

        links, packets, used, end = self.measured("counters", "--json", consume=add_up)
        self.assertEqual(links, LINKS)
        self.assertEqual(packets, (ROWS * EACH + HOT_PACKETS) * DIMENSION)
        straight = sum(row == next_row for _, row, _, next_row in path(HOT_FROM, HOT_TO))
        self.assertEqual(used, LINKS // 2 + straight)
        self.assertEqual(end, b"\n}\n")

    def test_watching_shows_the_fullest_links(self):
        lines = self.measured("counters", "--watch", "--seconds", 1.5, "--interval", 500, "--top", 1).decode()
        stage, row, port, next_row = min(path(HOT_FROM, HOT_TO), key=lambda link: (-packets_on(link), link))
        self.assertIn(f"s{stage} r{row} p{port} -> r{next_row}", lines)

    def test_it_goes_down_with_a_closed_account(self):
        start = time.monotonic()
        done = self.bfly("down", "--json")
        account = json.loads(done.stdout)["conservation"]
        self.assertEqual(account["injected"], ROWS * EACH + HOT_PACKETS)
        self.assertEqual(account["delivered"], account["injected"])
        self.assertLess(time.monotonic() - start, PATIENCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
