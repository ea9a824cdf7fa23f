# SPDX-License-Identifier: Apache-2.0
"""What a fabric was meant to be outlives all of its processes, the run directory and the machine's reboot."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import unittest

from command_line import BB16, LCORES, CommandLineTest, balances
from lab import BUILD, wait_until

# The paths are written down here, not chosen by bfly: BB_16 from row 0 by row 15 to row 3, from row 9 straight on.
PATHS = {0: [0, 8, 12, 14, 15, 7, 3, 3, 3], 9: [9, 9, 9, 9, 9, 9, 9, 9, 9]}
# Where the second path is 9 -> 9 all the way, a link of stage 3 at row 5 is not part of either.
DOWN = (3, 5, 1)
DISKS = f"""
name: disks
network: {{kind: randomly_wired_butterfly, rows: 16, seed: 7}}
placement:
  - {{stages: 0-3, lcore: {LCORES[0]}}}
"""


class ResumeTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.state_dir = self.directory / "state"

    def up(self, *words, file=None, check=True):
        return self.bfly("up", file or self.file, "--state-dir", self.state_dir, *words, check=check)

    def reboot(self):
        """Nothing of /run is left: no socket, no pid file, no log."""
        shutil.rmtree(self.run_dir)

    def kill_everything(self):
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: _ended(pid), f"process {pid} is gone")

    def set_everything_up(self):
        for row, path in PATHS.items():
            self.bfly("circuit", "setup", row, path[-1], "--path", ",".join(map(str, path)))
        self.bfly("circuit", "setup", 4, 4)
        self.bfly("circuit", "release", self.circuits()[4][0])
        self.bfly("link", "set", "s2 r9", "--delay", "50us")
        self.bfly("link", "down", *DOWN)
        self.bfly("traffic", "start", "--name", "steady", "--rows", 0, "--rate", 2000)

    def schedule(self):
        """Of the schedule that runs, what was asked for, and the circuits of each slot; nothing if none runs."""
        return self.read_schedule(self.json("circuit", "schedule", "status"))

    def read_schedule(self, status):
        return {} if "schedule" not in status else (status["schedule"], [slot["circuits"] for slot in status["slots"]])

    def schedule_runs(self):
        """The same, but nothing also while one that runs on is not taken over, which status says and fails."""
        done = self.bfly("circuit", "schedule", "status", "--json", check=False)
        if "is taken over in a moment" in done.stderr:
            return {}
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read_schedule(json.loads(done.stdout))

    def circuits(self):
        """By input: id, output and path."""
        return {circuit["input"]: (int(circuit["id"]), circuit["output"], circuit["rows"])
                for circuit in self.json("circuit", "list")["circuits"]}

    def delay_at(self, row):
        groups = self.json("link", "show", f"s2 r{row}")["links"]
        self.assertTrue(groups)
        return {group["delay"] for group in groups}

    def expect_everything(self):
        self.assertEqual({row: (output, rows) for row, (_, output, rows) in self.circuits().items()},
                         {row: (path[-1], path) for row, path in PATHS.items()})
        self.assertEqual(self.delay_at(9), {"50us"})
        self.assertNotEqual(self.delay_at(8), {"50us"})
        down = self.json("link", "show", "all").get("down", [])
        self.assertEqual([(link["stage"], link["row"], link["port"]) for link in down], [DOWN])
        sources = self.json("traffic", "list")["sources"]
        self.assertEqual([source["source"]["name"] for source in sources], ["steady"])

    def expect_traffic_over(self, path):
        """The source sends again, and its packets take the circuit's links."""
        def carried():
            counters = self.json("counters")
            self.assertTrue(balances(counters["conservation"]), counters["conservation"])
            packets = {(link["stage"], link["row"], link["next_row"]): link["packets"] for link in counters["links"]}
            return min(packets[stage, path[stage], path[stage + 1]] for stage in range(len(path) - 1)) > 100

        wait_until(carried, "packets cross every link of the circuit")

    def test_down_and_reboot_and_resume_bring_everything_back(self):
        self.assertIn("is up", self.up().stdout)
        self.set_everything_up()
        ids = {row: circuit[0] for row, circuit in self.circuits().items()}
        down = self.bfly("down").stdout
        self.assertIn("kept 2 circuits, 1 change to links, 1 link down, 1 source", down)
        self.assertEqual(list(self.run_dir.iterdir()), [])
        self.reboot()
        up = self.up("--resume").stdout
        self.assertIn(f"resumed: 2 circuits, 1 change to links, 1 link down, 1 source, from {self.state_dir}/intent.db",
                      up)
        self.expect_everything()
        self.assertEqual({row: circuit[0] for row, circuit in self.circuits().items()}, ids)
        self.expect_traffic_over(PATHS[0])
        # New circuits get ids of their own, and what came after the resume is kept too.
        self.bfly("circuit", "setup", 5, 5)
        self.assertEqual(len({circuit[0] for circuit in self.circuits().values()}), 3)
        self.bfly("down")
        self.up("--resume")
        self.assertEqual(sorted(self.circuits()), [0, 5, 9])
        self.bfly("down")

    def test_without_resume_the_fabric_begins_anew_and_says_where_the_old_intent_is(self):
        self.up()
        self.set_everything_up()
        self.bfly("down")
        out = self.up().stdout
        aside = self.state_dir / "intent.db.before"
        self.assertIn("not resumed: what was kept of life (2 circuits, 1 change to links, 1 link down, 1 source) is "
                      f"set aside in {aside}", out)
        self.assertEqual(self.circuits(), {})
        self.assertEqual(self.json("traffic", "list").get("sources", []), [])
        # A fabric in which nothing was set up is not worth keeping, and does not push out what was set aside.
        self.assertNotIn("kept", self.bfly("down").stdout)
        self.assertNotIn("aside", self.up().stdout)
        self.bfly("down")
        aside.rename(self.state_dir / "intent.db")
        self.up("--resume")
        self.expect_everything()
        self.bfly("down")

    def test_another_topology_is_refused_and_nothing_is_lost(self):
        self.up()
        self.set_everything_up()
        self.bfly("down")
        others = {"name": BB16.replace("name: life", "name: other"),
                  "rows": BB16.replace("rows: 16", "rows: 8").replace("4-7", "4-5"),
                  "seed": BB16.replace("seed: 7", "seed: 8")}
        for what, text in others.items():
            with self.subTest(what):
                refused = self.up("--resume", file=self.write(f"{what}.yaml", text), check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(f'what is kept in {self.state_dir}/intent.db is of "life", a two_fold_butterfly of 16 '
                              "rows", refused.stderr)
                self.assertEqual(self.pids(), [])
        both = self.up("--resume", "--replace", check=False)
        self.assertEqual(both.returncode, 2)
        # Workers may be placed elsewhere: circuits belong to the network.
        elsewhere = self.write("elsewhere.yaml", BB16[:BB16.index("placement")] +
                               f"placement:\n  - {{stages: 0-7, lcore: {LCORES[-1]}}}\n")
        self.up("--resume", file=elsewhere)
        self.expect_everything()
        self.bfly("down")

    def test_a_topology_without_room_for_what_is_kept_is_refused(self):
        self.up()
        # Both cross the links from row 0 of stages 1 to 3 straight on.
        for row, path in {0: "0,0,0,0,0,0,0,0,0", 8: "8,0,0,0,0,8,8,8,8"}.items():
            self.bfly("circuit", "setup", row, row, "--path", path)
        self.bfly("down")
        narrow = self.write("narrow.yaml", BB16 + "circuits: {capacity: 1}\n")
        refused = self.up("--resume", file=narrow, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("does not fit this topology any more", refused.stderr)
        self.up("--resume")
        self.assertEqual(sorted(self.circuits()), [0, 8])
        self.bfly("down")

    def test_objects_and_who_reads_them_come_back(self):
        file = self.write("disks.yaml", DISKS)
        self.up(file=file)
        self.bfly("data-server", "place", "--object", 7, "--disks", "3,12")
        self.bfly("data-server", "place", "--objects", 16, "--first", 100, "--seed", 3)
        self.bfly("data-server", "request", 5, 7)
        reads = self.circuits()
        self.assertIn("1 circuit, 17 objects", self.bfly("down").stdout)
        self.reboot()
        self.up("--resume", file=file)
        status = self.json("data-server", "status")
        self.assertEqual((int(status["objects"]), int(status["reads"])), (17, 1))
        self.assertEqual(self.circuits(), reads)
        taken = self.bfly("data-server", "request", 6, 7, check=False)
        self.assertIn("read", taken.stderr)
        self.assertEqual(self.json("data-server", "release", 5)["path"]["object"], 7)
        self.bfly("down")

    def test_a_power_cut_leaves_what_was_written_and_the_controller_resumes_it_by_itself(self):
        self.up()
        self.set_everything_up()

        def written():
            with sqlite3.connect(f"file:{self.state_dir}/intent.db?mode=ro", uri=True) as database:
                circuits = [row for (row,) in database.execute("SELECT input FROM circuits ORDER BY input")]
            return circuits == sorted(PATHS) and b"steady" in self.state_on_disk()

        wait_until(written, "the last change is on disk")
        self.kill_everything()
        self.reboot()
        with self.units() as processes:
            wait_until(self.runs, "the data plane runs the fabric again")
            self.expect_everything()
            self.expect_traffic_over(PATHS[0])
            # After `down` nobody wants the fabric back: the next controller leaves it alone.
            self.bfly("down")
            for process in processes:
                process.terminate()
                self.assertEqual(process.wait(60), 0)
            processes.append(subprocess.Popen([BUILD / "bfly-controller", "--run-dir", self.run_dir, "--state-dir",
                                               self.state_dir, "--resume"], stdout=subprocess.PIPE, text=True))
            self.assertIn("answers", processes[-1].stdout.readline())
            status = self.json("status")
            self.assertFalse(status["loaded"])
            self.assertEqual(int(status["kept"]["circuits"]), 2)
            self.assertIn("kept of life: 2 circuits", self.bfly("status").stdout)

    @contextlib.contextmanager
    def units(self):
        """As the units do: a controller that resumes, and a data plane that knows nothing, in whatever order."""
        self.run_dir.mkdir()
        processes = [subprocess.Popen([BUILD / program, "--run-dir", self.run_dir, *more], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
                     for program, more in (("bfly-controller", ["--state-dir", self.state_dir, "--resume"]),
                                           ("bfly-dataplane", ["--name", "dp0", "--no-huge"]))]
        try:
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.wait()
                if process.stdout:
                    process.stdout.close()

    def state_on_disk(self):
        with sqlite3.connect(f"file:{self.state_dir}/intent.db?mode=ro", uri=True) as database:
            return database.execute("SELECT bytes FROM state").fetchone()[0]

    def rotor(self):
        """A topology file that can carry a rotor on its greedy paths."""
        return self.write("rotor.yaml", BB16.replace("two_fold_butterfly, rows: 16, seed: 7", "butterfly, rows: 16")
                          .replace("  - {stages: 4-7, lcore: %d}\n" % LCORES[-1], ""))

    def test_a_schedule_comes_back_after_a_power_cut(self):
        self.up(file=self.rotor())
        self.bfly("circuit", "schedule", "rotor", "--slot", "77ms")
        schedule = self.schedule()
        wait_until(lambda: b"77ms" in self.state_on_disk(), "the schedule is on disk")
        self.kill_everything()
        self.reboot()
        with self.units():
            wait_until(self.runs, "the data plane runs the fabric again")
            wait_until(self.schedule_runs, "the schedule runs again")
            self.assertEqual(self.schedule(), schedule)
            self.bfly("down")

    def test_a_schedule_comes_back_and_takes_the_frames_of_its_slots(self):
        file = self.rotor()
        self.up(file=file)
        self.bfly("circuit", "schedule", "rotor", "--slot", "1ms", "--guard", "100us")
        schedule, circuits = self.schedule()
        self.assertEqual((schedule["sequence"], schedule["slot"], circuits), ("rotor", "1ms", [16] * 15))
        self.assertIn("kept 1 schedule; ", self.bfly("down").stdout)
        self.assertIn("resumed: 1 schedule, from", self.up("--resume", file=file).stdout)
        wait_until(self.schedule_runs, "the schedule runs again")
        self.assertEqual(self.schedule(), (schedule, circuits))
        self.bfly("traffic", "start", "--rows", 3, "--to", 7, "--packets", 50, "--rate", 2000)
        # Row 3 has output 7 in slot 3, and in no other.
        wait_until(lambda: int(self.json("circuit", "schedule", "status")["slots"][3].get("frames", 0)) == 50,
                   "slot 3 took the packets")
        # A link that went down meanwhile breaks its slots, and they come back as they were.
        self.bfly("link", "down", 0, 3, 0)
        wait_until(lambda: self.broken() > 0, "slots are broken")
        broken = self.broken()
        self.bfly("down")
        self.up("--resume", file=file)
        wait_until(self.schedule_runs, "the schedule runs again")
        self.assertEqual((self.schedule(), self.broken()), ((schedule, circuits), broken))
        # A fabric that begins anew has none, and what was stopped stays so.
        self.bfly("down")
        self.up(file=file)
        self.assertEqual(self.schedule(), {})
        self.bfly("circuit", "schedule", "rotor")
        self.bfly("circuit", "schedule", "stop")
        self.assertNotIn("schedule", self.bfly("down").stdout)
        self.up("--resume", file=file)
        self.assertEqual(self.schedule(), {})

    def test_a_schedule_without_room_is_named_and_not_begun(self):
        capacity = "circuits: {capacity: %d}\n"
        self.up(file=self.write("two.yaml", BB16 + capacity % 4))
        self.bfly("circuit", "schedule", self.write("slots.yaml", "slots: [{permutation: random, seed: 3}]\n"))
        congestion = self.json("circuit", "schedule", "status")["slots"][0]["congestion"]
        self.assertGreater(congestion, 1)
        self.bfly("down")
        self.up("--resume", file=self.write("one.yaml", BB16 + capacity % (congestion - 1)))
        wait_until(lambda: "the one that was kept does not fit any more" in self.bfly("events").stdout, "it is said")
        self.assertEqual(self.schedule(), {})
        self.assertNotIn("schedule", self.bfly("down").stdout)

    def broken(self):
        return self.json("circuit", "schedule", "status").get("broken_slots", 0)

    def runs(self):
        done = self.bfly("status", check=False)
        return done.returncode == 0 and "life:" in done.stdout

    def test_two_controllers_cannot_share_a_state_directory(self):
        self.up()
        second = subprocess.run([BUILD / "bfly-controller", "--run-dir", self.directory / "second", "--state-dir",
                                 self.state_dir], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"another controller works with the state directory {self.state_dir}", second.stderr)
        self.bfly("down")

    def test_the_run_directory_of_one_controller_is_not_the_state_directory_of_another(self):
        """Without --state-dir the intent is kept in the run directory."""
        own = [BUILD / "bfly-controller", "--run-dir", self.run_dir]
        other = [BUILD / "bfly-controller", "--run-dir", self.directory / "second", "--state-dir", self.run_dir]
        for first, second in ((own, other), (other, own)):
            with subprocess.Popen(first, stdout=subprocess.PIPE, text=True) as process:
                self.assertIn("answers", process.stdout.readline())
                refused = subprocess.run(second, capture_output=True, text=True, timeout=60, check=False)
                process.terminate()
                self.assertEqual(process.wait(60), 0)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"another controller works with the state directory {self.run_dir}", refused.stderr)

    def test_what_was_set_aside_is_put_back_while_the_daemons_run_on(self):
        with self.units():
            wait_until(lambda: self.bfly("status", check=False).returncode == 0, "the controller answers")
            wait_until((self.run_dir / "dp0.sock").exists, "the data plane answers")
            self.bfly("up", self.file)
            self.set_everything_up()
            self.bfly("down")
            self.bfly("up", self.file)
            self.bfly("circuit", "setup", 5, 5)
            self.bfly("down")
            self.assertEqual({path.name for path in self.state_dir.glob("intent.db*")},
                             {"intent.db", "intent.db.before"})
            (self.state_dir / "intent.db.before").rename(self.state_dir / "intent.db")
            self.bfly("up", self.file, "--resume")
            self.expect_everything()
            self.bfly("down")


def _ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


if __name__ == "__main__":
    unittest.main(verbosity=2)
