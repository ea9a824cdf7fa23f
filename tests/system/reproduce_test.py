# SPDX-License-Identifier: Apache-2.0
"""`bfly reproduce` as a user runs it: killed and continued, on a page that stands alone, and what it refuses."""

import html
import html.parser
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

import lab

BFLY = lab.BUILD / "bfly"
EXPERIMENT = """name: {name}
title: "Delay <of> {name}"
network: butterfly
d: 1
p: 0.5
rho: [0.3, 0.6]
slot: 0
seeds: 1..10
packets: 1000000
"""
LIST = """papers:
  - name: greedy
    title: "Greedy & <routing>"
    cited_as: "Stamoulis & Tsitsiklis"
    not_measured:
      - {source: Theorem 99, statement: "the sky is blue", reason: "no experiment looks up"}
  - {name: other, title: Another paper}
experiments:
  - {file: one.yaml, paper: greedy, quick: ["packets=20000"]}
  - {file: two.yaml, paper: greedy, quick: ["packets=150000", "seeds=1..200"]}
  - {file: three.yaml, paper: other}
"""


class Outside(html.parser.HTMLParser):
    """Collects the text of a page, what it refers to, and the places that it has."""

    def __init__(self, text):
        super().__init__()
        self.references, self.ids, self.words, self.tags = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "srcset", "poster", "background"):
                self.references.append(value)
            if name.startswith("on") or "url(" in (value or ""):
                self.references.append(f"{tag} {name}={value}")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        self.words.append(data)


class ReproduceTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"bfly-reproduce-{os.getpid()}-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.list = self.directory / "list.yaml"
        self.list.write_text(LIST)
        for name in ("one", "two", "three"):
            (self.directory / f"{name}.yaml").write_text(EXPERIMENT.format(name=name))
        self.out = self.directory / "out"
        self.words = [BFLY, "reproduce", "--out", self.out, "--list", self.list, "--quick", "--paper", "greedy"]

    def reproduce(self, words=None, cwd=None):
        return subprocess.run([str(word) for word in words or self.words], capture_output=True, text=True, cwd=cwd,
                              stdin=subprocess.DEVNULL, timeout=3 * lab.PATIENCE, check=False)

    def page(self):
        return (self.out / "index.html").read_text()

    def record(self, name):
        """What reproduction.json says of an experiment."""
        file = self.out / "reproduction.json"
        records = json.loads(file.read_text())["experiments"] if file.exists() else {}
        return records.get(name, {"finished": False, "seconds": 0})

    def trials(self, name):
        file = self.out / "results" / name / "trials.jsonl"
        return file.read_text().splitlines() if file.exists() else []

    def stop(self, number, name="two", progress=None):
        """Starts the run, sends it a signal in the middle of an experiment, and gives what it said."""
        process, said = lab.signal_midway(self.words, number, self.out, progress or (lambda: len(self.trials(name))))
        self.assertNotEqual(process.returncode, 0)
        return said

    def test_killed_it_goes_on_and_the_page_stands_alone(self):
        self.stop(signal.SIGKILL)
        first = self.trials("one")
        said = self.stop(signal.SIGINT)
        self.assertIn("interrupted: 1 of 2 experiments are done", said)
        self.assertIn("the same command goes on", said)
        self.assertIn("s left", said)
        self.assertIn("1 of 2 experiments have run", self.page())
        kept = self.trials("two")
        self.assertLess(len(kept), 400)
        done = self.reproduce()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.trials("one"), first)
        self.assertEqual(self.trials("two")[:len(kept)], kept)
        self.assertEqual(len(self.trials("two")), 400)
        self.assertFalse((self.out / "results/three").exists())

        text = self.page()
        page = Outside(text)
        self.assertNotIn("This page is incomplete", text)
        self.assertTrue(page.references)
        for reference in page.references:
            self.assertTrue(reference.startswith("#"), reference)
            self.assertIn(reference[1:], page.ids)
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertNotIn("@import", text)
        self.assertFalse({"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags))
        self.assertEqual(page.tags.count("svg"), 2)
        for words in ("Greedy & <routing>", "Delay <of> two", "Theorem 99", "the sky is blue", "Proposition 17"):
            self.assertTrue(any(words in some for some in page.words), words)
        # Nothing runs again.
        before = (self.out / "results/two/results.json").stat().st_mtime_ns
        done = self.reproduce([*self.words, "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertTrue(told["complete"])
        self.assertGreater(told["papers"][0]["statements"]["PASS"], 5)
        self.assertEqual((self.out / "results/two/results.json").stat().st_mtime_ns, before)

    def test_interrupted_in_the_first_its_page_has_the_last_that_was_done_before(self):
        short, long = '["packets=20000"]', '["packets=150000", "seeds=1..200"]'
        self.list.write_text(LIST.replace(short, long).replace("paper: other}", f"paper: other, quick: {short}}}"))
        everything = self.words[:-2]
        self.words[-1] = "other"
        self.assertEqual(self.reproduce().returncode, 0)
        self.words = everything
        said = self.stop(signal.SIGINT, "one")
        self.assertIn("interrupted: 1 of 3 experiments are done", said)
        self.assertIn("1 of 3 experiments have run", self.page())
        self.assertEqual(self.page().count("It has not run yet."), 2)
        self.assertIn('<a href="#experiment-three">', self.page())
        self.assertEqual(Outside(self.page()).tags.count("svg"), 1)

    def test_the_time_of_a_killed_run_counts_and_so_does_the_machine_that_measured(self):
        def seconds_so_far():
            record = self.record("two")
            return 0 if record["finished"] else record["seconds"]

        self.words += ["--jobs", "1"]  # two takes more than the second after which its time is kept
        self.stop(signal.SIGKILL, progress=seconds_so_far)
        killed = self.record("two")
        self.assertFalse(killed["finished"])
        self.assertGreater(killed["seconds"], 0)
        self.assertEqual(self.reproduce().returncode, 0)
        self.assertGreater(self.record("two")["seconds"], killed["seconds"])
        state = self.out / "reproduction.json"
        state.write_text(re.sub(r'"machine": "[^"]*"', '"machine": "7 cores of <elsewhere>"', state.read_text()))
        self.assertEqual(self.reproduce().returncode, 0)
        self.assertRegex(self.page(), "2 experiments in [^<]* on 7 cores of &lt;elsewhere&gt;, built by")

    def test_the_commands_of_the_page_can_be_pasted_where_the_run_was_started(self):
        mine, elsewhere = self.directory / "it's mine", self.directory / "elsewhere"
        mine.mkdir()
        elsewhere.mkdir()
        shutil.copy(self.directory / "one.yaml", mine)
        (mine / "list.yaml").write_text(re.sub(r".*(two|three)\.yaml.*\n", "", LIST))
        for number, (cwd, file) in enumerate(((mine, "one.yaml"), (self.directory, "it's mine/one.yaml"),
                                              (elsewhere, str(mine.resolve() / "one.yaml")))):
            with self.subTest(cwd=cwd):
                self.out = mine / f"out {number}"
                words = [*self.words[:3], self.out, "--list", mine / "list.yaml", "--quick"]
                if cwd == mine:
                    words[5] = "list.yaml"
                done = self.reproduce(words, cwd)
                self.assertEqual(done.returncode, 0, done.stderr)
                again = re.findall(r"<pre>(bfly measure [^<]*)</pre>", self.page())
                self.assertEqual([shlex.split(html.unescape(text)) for text in again],
                                 [["bfly", "measure", file, "--out", "/tmp/one", "--set", "packets=20000"]])
                self.assertTrue((cwd / file).is_file())
                whole = html.unescape(re.search(r"<code>(bfly reproduce [^<]*)</code>", self.page())[1])
                self.assertEqual(shlex.split(whole), ["bfly", "reproduce", "--out", str(self.out), "--quick", "--list",
                                                      str(words[5])])

    def test_a_failure_is_shown_and_makes_the_exit_code_1(self):
        self.assertEqual(self.reproduce().returncode, 0)
        # Somebody's delays of the first experiment are halved: below what Proposition 14 allows.
        file = self.out / "results/one/trials.jsonl"
        trials = [json.loads(line) for line in file.read_text().splitlines()]
        for trial in trials:
            trial["mean_delay"] /= 2
        file.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
        done = self.reproduce()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("prop14_lower_bound (Proposition 14)", done.stderr)
        self.assertRegex(self.page(), r"statements? failed:</b> .*Proposition 14")
        self.assertIn('<span class="verdict FAIL">FAIL</span>', self.page())

    def test_what_it_refuses(self):
        self.assertEqual(self.reproduce().returncode, 0)
        page = self.page()
        letter = self.directory / "letter"
        letter.mkdir()
        (letter / "text").write_text("dear")
        words = [BFLY, "reproduce", "--list", self.list]
        for wrong, text in (([*words, "--out", self.list], "is a file"),
                            ([*words, "--out", letter], "holds something else"),
                            ([*words, "--out", "/proc/none"], "cannot make the folder"),
                            ([*words, "--out", self.out], "holds a quick run"),
                            ([*self.words[:-1], "gredy"], "did you mean greedy?"),
                            ([*words, "--quick"], "--out is required")):
            with self.subTest(text=text):
                done = self.reproduce(wrong)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)
        (self.directory / "two.yaml").write_text(EXPERIMENT.format(name="two").replace("0.6", "0.7"))
        done = self.reproduce()
        self.assertEqual(done.returncode, 1)
        self.assertIn("results/two come from another version of the experiment file", done.stderr)
        state = self.out / "reproduction.json"
        state.write_text(re.sub(r'"bfly": "[^"]*"', '"bfly": "0.0.1 (old)"', state.read_text()))
        done = self.reproduce()
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds results of bfly 0.0.1 (old)", done.stderr)
        self.assertEqual(self.page(), page)

    def test_help_names_every_paper_of_the_shipped_list(self):
        told = self.reproduce([BFLY, "reproduce", "--help"]).stdout
        names = re.findall(r"^  - name: (\S+)", (lab.ROOT / "topologies/reproduction.yaml").read_text(), re.MULTILINE)
        self.assertGreaterEqual(len(names), 5)
        for name in names:
            self.assertIn(name, told.replace("\n", " "))

    def test_a_full_disk_is_said_and_nothing_that_was_measured_is_lost(self):
        lab.require_root()
        disk = self.directory / "disk"
        disk.mkdir()
        self.words[3] = disk / "out"
        command = " ".join(f"'{word}'" for word in self.words)
        # The trials of the first experiment fit, not all of its results. Then the disk grows.
        script = f"""
            mount -t tmpfs -o size=24k none {disk} || exit 90
            {command} > {self.directory}/said 2>&1 && exit 91
            cp {disk}/out/results/one/trials.jsonl {self.directory}/kept || exit 92
            mount -o remount,size=16m {disk} || exit 93
            {command} > {self.directory}/said_then 2>&1 || exit 94
            cp {disk}/out/results/one/trials.jsonl {self.directory}/whole
        """
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                              timeout=3 * lab.PATIENCE, check=False)
        said = (self.directory / "said").read_text()
        self.assertEqual(done.returncode, 0, f"{said}{done.stdout}{done.stderr}")
        self.assertIn("No space left on device", said)
        kept = (self.directory / "kept").read_text().splitlines()
        kept = [line for line in kept if line.endswith("}")]
        self.assertGreater(len(kept), 0)
        self.assertEqual((self.directory / "whole").read_text().splitlines()[:len(kept)], kept)


if __name__ == "__main__":
    unittest.main(verbosity=2)
