# SPDX-License-Identifier: Apache-2.0
"""docs/examples/matching.py on hosts: after the demand changes, circuits follow within three reports."""
import itertools
import statistics
import sys
import time
import unittest

import fabric
import lab

sys.path[:0] = [lab.PYTHON_PATH, str(lab.ROOT / "docs/examples")]
import bfly  # noqa: E402
import matching  # noqa: E402

HOSTS = 4
REPORTS = 3
# Sends a frame to a row every 2 ms until its standard input closes, and at most for two minutes. It says when it has sent ten.
SENDER = """
import select, socket, sys, time
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("eth0", 0))
frame = bytes([2, 0xBF, 0, 0, 0, int(sys.argv[1])]) + bytes([2, 0, 0, 0, 0, 9]) + b"\\x90\\x00" + bytes(50)
for number in range(60000):
    port.send(frame)
    if number == 9:
        print("sends", flush=True)
    if select.select([sys.stdin], [], [], 0.002)[0]:
        break
"""


def best_weight(demand):
    """The largest weight of a matching, by trying all of them."""
    rows = range(HOSTS)
    return max(sum(demand.get((i, o), 0) for i, o in zip(rows, outputs)) for outputs in itertools.permutations(rows))


class MatchingTest(unittest.TestCase):
    def test_a_greedy_matching_has_half_of_the_largest_weight(self):
        worst = 1.0
        for seed in range(300):
            demand = {(i, o): (seed * 31 + i * 17 + o * 101 + i * o * 7) * 2654435761 % 100 for i in range(HOSTS) for o in range(HOSTS)}
            chosen = matching.matching(demand)
            self.assertEqual(len({i for i, _ in chosen}), len(chosen))
            self.assertEqual(len({o for _, o in chosen}), len(chosen))
            worst = min(worst, sum(demand[pair] for pair in chosen) / best_weight(demand))
        self.assertGreaterEqual(worst, 0.5)
        self.assertLess(worst, 1.0, "no seed shows the difference")

    def test_circuits_follow_the_demand(self):
        with lab.Lab() as the_lab:
            switch = the_lab.namespace("sw")
            hosts = [the_lab.host(f"h{row}", switch, f"bf{row}") for row in range(HOSTS)]
            self.taken = []
            content = fabric.topology([fabric.host_port(row) for row in range(HOSTS)])
            with fabric.Fabric(the_lab, switch, content) as net, bfly.connect(run_dir=net.run_dir) as client, client.primary():
                reports = matching.follow(client)
                # Pairs that share no row, then pairs that want the rows of others, then one that leaves others alone.
                for pairs in ({(0, 1), (2, 3)}, {(0, 3), (1, 2)}, {(3, 0)}):
                    senders = [hosts[source].spawn("/usr/bin/python3", "-c", SENDER, target, stdin=True) for source, target in pairs]
                    for sender in senders:
                        sender.wait_for("sends")
                    self.follows(reports, pairs, time.time_ns())
                    listed = {(c["input"], c["output"]) for c in net.json("circuit", "list")["circuits"]}
                    self.assertLessEqual(pairs, listed)
                    for sender in senders:
                        sender.popen.stdin.close()
                        sender.popen.stdin = None
                        sender.finish()
                # The controller of the example looks at least ten times a second.
                gaps = [after - before for before, after in itertools.pairwise(self.taken)]
                self.assertGreaterEqual(len(gaps), 5)
                self.assertLessEqual(statistics.median(gaps), 0.1e9, gaps)
                # 3 -> 0 shares no row with the pairs before it.
                self.assertEqual(listed, {(0, 3), (1, 2), (3, 0)})

    def follows(self, reports, pairs, since):
        """Of the reports after that time the third at the latest has circuits for all pairs."""
        late = 0
        for taken, circuits in reports:
            self.taken.append(taken)
            if pairs <= circuits:
                return
            late += taken > since
            self.assertLess(late, REPORTS, f"circuits for {circuits}, {late} reports after {pairs} sent")


if __name__ == "__main__":
    unittest.main(verbosity=2)
