# SPDX-License-Identifier: Apache-2.0
"""Links and nodes that go down under circuits, and circuits that go around them, as the command line has them."""

import signal
import subprocess
import unittest

from command_line import BB16, BFLY, LCORES, CommandLineTest, balances
from lab import wait_until

# Of the 16 rows of each copy, a stage sets one position: the leftmost first.
DIMENSION = 4


def butterfly(rows):
    stages = rows.bit_length() - 1
    return (f"name: b{rows}\nnetwork: {{kind: butterfly, rows: {rows}}}\n"
            f"placement: [{{stages: 0-{stages - 1}, lcore: {LCORES[0]}}}]\n")


def link_of(circuit, stage):
    """Link `stage` of a circuit's path; its port is the bit that the stage sets."""
    row, after = circuit["rows"][stage:stage + 2]
    return f"s{stage} r{row} p{after >> (DIMENSION - 1 - stage % DIMENSION) & 1}"


# A Fabric of 8 rows, 3 stages, 2 ports and 4 levels, in its wire format, that refuses every third change.
REFUSES_EVERY_THIRD = """
import sys, grpc
from concurrent import futures
changes = 0
def change(request, context):
    global changes
    changes += 1
    if changes % 3 == 0:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "enough")
    return b""
answers = {"Status": lambda *_: bytes([10, 8, 8, 1, 32, 8, 40, 3, 88, 2]),
           "Describe": lambda *_: bytes([24, 8, 32, 4, 40, 3]), "SetLinkState": change, "SetNodeState": change}
server = grpc.server(futures.ThreadPoolExecutor(1))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bfly.v1.Fabric", {
    name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in answers.items()})])
server.add_insecure_port(sys.argv[1])
server.start()
print("serves", flush=True)
sys.stdin.read()
"""


class Faults(CommandLineTest):
    def up(self, on_failure=None):
        more = f"circuits: {{on_failure: {on_failure}}}\n" if on_failure else ""
        self.bfly("up", self.write("faults.yaml", BB16 + more))

    def refused(self, *words, code=1):
        done = self.bfly(*words, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "")
        return done.stderr

    def watch(self):
        process = subprocess.Popen([BFLY, "circuit", "list", "--watch", "--run-dir", str(self.run_dir)],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def broken(self):
        return [circuit["id"] for circuit in self.json("circuit", "list", "--broken")["circuits"]]

    def send(self, row, packets):
        """The packets that a row sent over its circuit: (delivered, dropped)."""
        before = self.json("counters")["conservation"]
        self.bfly("traffic", "start", "--name", "some", "--to", "circuit", "--rows", row, "--rate", 0, "--packets", packets)

        def arrived():
            now = self.json("counters")["conservation"]
            done = tuple(now[what] - before[what] for what in ("delivered", "dropped"))
            return done if sum(done) == packets else None

        became = wait_until(arrived, "every packet is delivered or dropped")
        self.bfly("traffic", "stop", "some")
        return became

    def test_a_circuit_over_a_link_that_goes_down_is_broken_until_it_is_moved(self):
        self.up()
        circuit = self.json("circuit", "setup", 0, 7)
        other = self.json("circuit", "setup", 9, 2)["id"]
        self.assertEqual(self.send(0, 100), (100, 0))
        watch = self.watch()
        for _ in range(3):
            watch.stdout.readline()
        link = link_of(circuit, 1)
        self.assertEqual(self.bfly("link", "down", link).stdout, f"link {link} is down\n")
        self.assertRegex(watch.stdout.readline(), rf"^~ circuit {circuit['id']}: 0 -> 7, .*, broken at {link}$")
        listed = self.bfly("circuit", "list", "--broken").stdout
        self.assertRegex(listed, rf"(?m)^circuit {circuit['id']}: 0 -> 7, .*, broken at {link}$")
        self.assertNotIn(f"circuit {other}:", listed)
        self.assertIn("2 circuits, 1 broken", self.bfly("status").stdout)
        self.assertIn("2 stand, 1 broken", self.bfly("counters").stdout)
        self.assertIn(f"down: {link}\n", self.bfly("link", "show").stdout)
        self.assertEqual(self.send(0, 100), (0, 100))

        moved = self.json("circuit", "move", circuit["id"])
        self.assertEqual((moved["id"], moved["input"], moved["output"]), (circuit["id"], 0, 7))
        self.assertEqual((circuit["choice"], moved["choice"]), ("p", "p_prime"))
        # Between its ends it has no node with the old path in common.
        self.assertFalse(set(enumerate(moved["rows"][1:-1])) & set(enumerate(circuit["rows"][1:-1])))
        self.assertRegex(watch.stdout.readline(), rf"^~ circuit {circuit['id']}: 0 -> 7, path p_prime, .*congestion 1$")
        self.assertEqual(self.bfly("circuit", "list", "--broken").stdout, "0 circuits\n")
        self.assertEqual(self.send(0, 100), (100, 0))
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(timeout=10), 0)

    def test_a_dry_run_on_a_file_refuses_what_a_fabric_of_the_file_refuses(self):
        for part, protocol, why in (("faults: {links: [{stages: \"0\", rows: \"0\"}]}", "greedy", "paths[0]"),
                                     ("circuits: {capacity: 1}", "collision", "has room for 1")):
            with self.subTest(part=part):
                file = self.write("planned.yaml", butterfly(16) + part + "\n" if protocol == "greedy" else BB16 + part + "\n")
                words = ("circuit", "permutation", "--protocol", protocol, "--permutation", "bitrev")
                self.bfly("up", file)
                live = self.refused(*words)
                self.bfly("down")
                self.assertIn(why, live)
                # The controller's errors have a line for each field behind the message.
                self.assertIn(self.refused(*words, "--dry-run", "--network", file).strip(), live)

    def test_a_circuit_is_whole_again_when_its_link_is_back(self):
        self.up("keep")
        circuit = self.json("circuit", "setup", 0, 7)
        link = link_of(circuit, 5)
        self.bfly("link", "down", link)
        self.assertEqual(self.broken(), [circuit["id"]])
        self.assertEqual(self.bfly("link", "up", link).stdout, f"link {link} is up\n")
        self.assertEqual(self.broken(), [])
        self.assertEqual(self.json("circuit", "list")["circuits"][0]["rows"], circuit["rows"])
        self.assertEqual(self.send(0, 100), (100, 0))

    def test_set_ups_and_moves_go_around_links_that_are_down_or_to_be_avoided(self):
        self.up()
        p = self.json("circuit", "setup", 0, 7)
        p_prime = self.json("circuit", "move", p["id"], "--avoid", link_of(p, 3))
        self.assertEqual((p["choice"], p_prime["choice"]), ("p", "p_prime"))
        # Only that request avoids the link.
        self.assertEqual(self.json("circuit", "move", "--input", 0)["rows"], p["rows"])
        down, left = link_of(p, 2), link_of(p_prime, 4)
        self.bfly("link", "down", down)
        said = f"bfly: link: {down} is down\n"
        self.assertEqual(self.refused("circuit", "move", p["id"], "--avoid", left), said)
        # The move that was refused changed nothing.
        self.assertEqual(self.json("circuit", "list")["circuits"][0]["rows"], p["rows"])
        self.bfly("circuit", "release", p["id"])
        self.assertEqual(self.refused("circuit", "setup", 0, 7, "--avoid", left), said)
        self.assertEqual(self.json("circuit", "setup", 0, 7)["rows"], p_prime["rows"])
        self.assertIn(f"link: {down} is down", self.refused("circuit", "move", "--input", 0, "--path",
                                                            ",".join(map(str, p["rows"]))))
        self.bfly("link", "up", down)
        self.bfly("circuit", "release", "--all")
        self.assertEqual(self.json("circuit", "setup", 0, 7, "--avoid", left)["rows"], p["rows"])
        self.assertEqual(self.refused("circuit", "move", "--input", 0, "--avoid", link_of(p, 3), "--avoid", left),
                         f"bfly: link: {link_of(p, 3)} is to be avoided\n")
        self.assertEqual(self.json("counters")["conservation"]["dropped"], 0)

    def test_a_permutation_goes_around_links_and_names_the_one_it_cannot(self):
        self.up()
        whole = self.json("circuit", "permutation", "--seed", 5)
        first = whole["paths"][3]
        self.bfly("link", "down", link_of(first, 2))
        self.assertGreater(len(self.broken()), 0)
        around = self.json("circuit", "permutation", "--seed", 5, "--replace")
        self.assertEqual(self.broken(), [])
        self.assertNotEqual(around["paths"][3]["rows"], first["rows"])
        self.assertNotIn(link_of(first, 2), {link_of(path, 2) for path in around["paths"]})
        # Both links by which row 3 enters the network.
        said = self.refused("circuit", "permutation", "--seed", 5, "--replace", "--avoid", "s0 r3")
        self.assertRegex(said, r"^bfly: paths\[3\]\.link: s\d r\d+ p[01] is (down|to be avoided)\n$")

    def test_repair_moves_circuits_before_the_link_is_down(self):
        self.up("repair")
        circuit = self.json("circuit", "setup", 0, 7)
        self.bfly("link", "down", link_of(circuit, 1))
        now, = self.json("circuit", "list")["circuits"]
        self.assertEqual((now["id"], now["choice"]), (circuit["id"], "p_prime"))
        self.assertEqual(self.broken(), [])
        self.assertEqual(self.send(0, 100), (100, 0))
        # Without another path it stays, broken, and is moved when there is one.
        self.bfly("link", "down", link_of(now, 6))
        self.assertEqual(self.broken(), [circuit["id"]])
        self.bfly("link", "up", link_of(circuit, 1))
        now, = self.json("circuit", "list")["circuits"]
        self.assertEqual((now["id"], now["rows"]), (circuit["id"], circuit["rows"]))
        self.assertEqual(self.broken(), [])

    def test_release_ends_what_crosses_a_link_that_goes_down(self):
        self.up("release")
        circuit = self.json("circuit", "setup", 0, 7)
        other = self.json("circuit", "setup", 9, 2)
        watch = self.watch()
        for _ in range(3):
            watch.stdout.readline()
        self.bfly("link", "down", link_of(circuit, 1))
        self.assertTrue(watch.stdout.readline().startswith(f"- circuit {circuit['id']}: 0 -> 7"))
        self.assertEqual([left["id"] for left in self.json("circuit", "list")["circuits"]], [other["id"]])
        self.assertEqual(self.json("circuit", "setup", 0, 7)["choice"], "p_prime")

    def test_circuits_go_around_a_node_that_is_down(self):
        self.up()
        circuit = self.json("circuit", "setup", 0, 7)
        node = (3, circuit["rows"][3])
        watch = self.watch()
        for _ in range(2):
            watch.stdout.readline()
        self.assertEqual(self.bfly("node", "down", *node).stdout, f"node l{node[0]} r{node[1]} is down\n")
        # The links of the path into the node and out of it.
        at = f"{link_of(circuit, 2)}, {link_of(circuit, 3)}"
        self.assertRegex(watch.stdout.readline(), rf"^~ circuit {circuit['id']}: 0 -> 7, .*, broken at {at}$")
        self.assertEqual(self.broken(), [circuit["id"]])
        self.assertIn(f"down: node l{node[0]} r{node[1]}\n", self.bfly("link", "show").stdout)
        self.assertEqual(self.send(0, 100), (0, 100))
        moved = self.json("circuit", "move", circuit["id"])
        self.assertNotEqual(moved["rows"][3], circuit["rows"][3])
        self.assertEqual(self.send(0, 100), (100, 0))
        said = f"bfly: link: {link_of(circuit, 2)} is down with node l{node[0]} r{node[1]}\n"
        self.assertEqual(self.refused("circuit", "move", circuit["id"], "--avoid", link_of(moved, 4)), said)
        # A link taken down by itself stays down.
        own = link_of(circuit, 3)
        self.bfly("link", "down", own)
        answer = self.json("node", "up", *node)
        self.assertEqual((answer["level"], answer["row"], answer["up"]), (*node, True))
        shown = self.bfly("link", "show").stdout
        self.assertIn(f"down: {own}\n", shown)
        self.assertNotIn("down: node", shown)
        self.bfly("link", "up", own)
        self.assertEqual(self.json("circuit", "move", circuit["id"], "--avoid", link_of(moved, 4))["rows"], circuit["rows"])

    def test_an_end_that_is_down_lets_nothing_through(self):
        self.up()
        self.json("circuit", "setup", 0, 7)
        self.json("circuit", "setup", 9, 2)
        self.json("circuit", "setup", 5, 5)
        self.bfly("node", "down", 0, 0)
        self.bfly("node", "down", "l8 r2")
        self.assertEqual(self.send(0, 100), (0, 100))
        self.assertEqual(self.send(9, 100), (0, 100))
        self.assertEqual(self.send(5, 100), (100, 0))
        counters = self.json("counters")
        self.assertEqual({drop["reason"]: drop["packets"] for drop in counters["drops"]}, {"link_down": 200})
        self.assertTrue(balances(counters["conservation"]))
        self.assertIn("is down with node l8 r2", self.refused("circuit", "move", "--input", 9))
        down = {key: value for key, value in self.json("link", "show").items() if key.startswith("down")}
        self.assertEqual(down, {"down": [], "down_nodes": [{"level": 0, "row": 0}, {"level": 8, "row": 2}]})
        self.bfly("node", "up", 0, 0)
        self.bfly("node", "up", 8, "0-3")
        self.assertEqual(self.send(0, 100), (100, 0))
        self.assertEqual(self.send(9, 100), (100, 0))

    def test_what_fails_is_answered_with_what_cannot_be_reached_any_more(self):
        self.bfly("up", self.write("b8.yaml", butterfly(8)))
        said = self.bfly("link", "fail", "s1 r6 p1").stdout
        self.assertEqual(said, """\
link s1 r6 p1 failed
1 link is down; 4 of 64 pairs of input and output row have no path any more: 2 -> 6, 2 -> 7, 6 -> 6, 6 -> 7
  3 switches are not down but count as faulty: every edge of a direction is down or leads to a faulty switch
""")
        answer = self.json("node", "fail", 3, 1)
        self.assertEqual((answer["up"], answer["links"], answer["nodes"]), (False, [], [{"level": 3, "row": 1}]))
        self.assertEqual(answer["faults"]["unreachable_pairs"], 12)
        self.assertEqual(answer["faults"]["cut_off_outputs"], "1")
        status = self.bfly("status").stdout
        self.assertIn("1 link and 1 node are down; 12 of 64 pairs", status)
        self.assertIn("  cut off: no path leads to output row 1\n", status)
        self.assertEqual(self.json("status")["faults"], answer["faults"])
        # Rows that no fault cuts off go on talking, under the account of all packets.
        self.bfly("traffic", "start", "--name", "t", "--to", "uniform", "--rate", 1000)
        self.bfly("node", "fail", "l1 r0-7")
        self.assertIn("no path leads from input row 0-7", self.bfly("status").stdout)
        self.assertTrue(balances(self.json("counters")["conservation"]))
        self.bfly("node", "restore", "l1 r0-7")
        before = self.json("counters")["conservation"]["delivered"]
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] > before + 100, "packets arrive again")
        self.bfly("node", "restore", 3, 1)
        said = self.bfly("link", "restore", "all").stdout
        self.assertTrue(said.endswith("nothing is down; every pair of input and output row has a path\n"), said)
        self.assertNotIn("faults", self.json("status"))
        self.bfly("traffic", "stop", "t")
        self.assertIn("level 4 is outside 0..3", self.refused("node", "fail", 4, 0))
        self.assertIn("row 8 is outside 0..7", self.refused("node", "restore", 3, 8))
        self.assertIn("stage 3 is outside 0..2", self.refused("link", "fail", "s3"))
        self.assertIn("port: 2 is outside 0..1", self.refused("link", "restore", "s2 r0 p2"))
        for line in "link fail", "node fail", "node restore 3":
            self.refused(*line.split(), code=2)

    def test_an_error_says_what_was_changed_before_it(self):
        address = f"unix:{self.directory}/third.sock"
        fabric = subprocess.Popen(["/usr/bin/python3", "-c", REFUSES_EVERY_THIRD, address],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(fabric.communicate)
        self.addCleanup(fabric.kill)
        self.assertEqual(fabric.stdout.readline(), "serves\n")
        for error, said in ((self.refused("link", "fail", "s0 r0-3 p0", "--controller", address),
                             "2 of 4 links were taken down before this, the last s0 r1 p0"),
                            (self.refused("node", "restore", 2, "4-7", "--controller", address),
                             "2 of 4 nodes were brought back before this, the last l2 r5")):
            self.assertIn("enough", error)
            self.assertTrue(error.endswith(f"\n{said}\n"), error)

    def test_everything_can_be_restored_in_a_network_of_many_links(self):
        self.bfly("up", self.write("bb1024.yaml", "name: many\nnetwork: {kind: two_fold_butterfly, rows: 1024}\n"
                                   f"placement: [{{stages: 0-19, lcore: {LCORES[0]}}}]\n"))
        links = 20 * 1024 * 2
        self.assertIn(f"'all' selects {links} links (allowed: at most 4096", self.refused("link", "fail", "all"))
        self.bfly("link", "down", "s7 r1000 p1")
        answer = self.json("link", "restore", "all")
        self.assertEqual((answer["links"], "faults" in answer), ([{"stage": 7, "row": 1000, "port": 1}], False))
        self.bfly("link", "down", "s7 r999-1000 p0")
        self.assertEqual(self.bfly("link", "up", "s7 r1000-1010").stdout, "link s7 r1000 p0 is up\n")
        self.assertEqual(self.bfly("link", "up", "all").stdout, "link s7 r999 p0 is up\n")
        none = "none of these links was taken down by itself\n"
        self.assertEqual(self.bfly("link", "up", "all").stdout, none)
        self.bfly("node", "down", "3", "7")
        self.assertEqual(self.bfly("link", "up", "all").stdout, none)
        self.assertIn("stage 20 is outside 0..19", self.refused("link", "restore", "s20"))

    def test_a_fabric_begins_with_the_faults_of_its_file(self):
        file = self.write("faulty.yaml", butterfly(8) + "faults: {nodes: [{levels: 3, rows: 1}], adversarial: {nodes: 2}}\n")
        described = self.bfly("describe", file).stdout
        # The adversary cuts off the outputs 0 and 1.
        self.assertIn("3 nodes are down; 16 of 64 pairs", described)
        self.assertIn("no path leads to output row 0-1", described)
        faults = self.json("describe", file)["faults"]
        self.assertEqual((faults["nodes"], faults["unreachable_pairs"], faults["exact"]), (3, 16, True))
        self.bfly("up", file)
        self.assertEqual(self.json("status")["faults"], faults)
        self.json("circuit", "setup", 0, 2)
        self.assertEqual(self.send(0, 100), (100, 0))
        self.assertIn("is down with node", self.refused("circuit", "setup", 1, 1))
        self.bfly("node", "restore", 2, "0-1")
        self.assertEqual(self.json("node", "restore", 3, 1).get("faults"), None)
        self.json("circuit", "setup", 1, 1)
        self.assertEqual(self.send(1, 100), (100, 0))
        wrong = self.write("wrong.yaml", butterfly(8) + "faults: {nodes: [{levels: 4}]}\n")
        self.assertIn("faults.nodes[0].levels: level 4 is outside 0..3", self.refused("describe", wrong))

    def test_what_is_wrong_is_refused_and_named(self):
        self.up()
        self.assertIn("level 9 is outside 0..8", self.refused("node", "down", 9, 0))
        self.assertIn("row 16 is outside 0..15", self.refused("node", "up", "l8 r16"))
        for words in (("down",), ("down", 3), ("down", "s3 r5"), ("up", 1, 2, 3)):
            self.refused("node", *words, code=2)
        self.assertIn("stage", self.refused("link", "down", "s8 r0 p0"))
        self.assertIn("row", self.refused("link", "down", "s0 r16 p0"))
        self.assertEqual(self.refused("circuit", "move", 99), "bfly: id: there is no circuit 99\n")
        self.assertEqual(self.refused("circuit", "move", "--input", 5), "bfly: input: there is no circuit at row 5\n")
        self.assertIn("avoid[0].row: ", self.refused("circuit", "setup", 0, 7, "--avoid", "s1 r16 p0"))
        self.assertIn('"s1" names no link', self.refused("circuit", "setup", 0, 7, "--avoid", "s1"))
        # Text without words is not "all": an empty variable of a script would take every link down.
        for verb in ("fail", "down", "restore", "up", "set", "show"):
            more = ("--loss", 1) if verb == "set" else ()
            for nothing in ("", " "):
                self.assertIn("selects no links", self.refused("link", verb, nothing, *more, code=2))
        self.assertEqual(self.json("link", "show")["down"], [])
        for words in (("circuit", "move"), ("link", "down"), ("link", "down", "x3"),
                      ("circuit", "move", 1, "--protocol", "magic")):
            self.refused(*words, code=2)
        self.assertEqual(self.json("circuit", "list")["total"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
