#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The packets of a program on the web page, step by step, in a real browser."""

import sys
import unittest

from browser import near
from command_line import LCORES
from lab import PYTHON_PATH, wait_until
from web_fixture import STRAIGHT, WebFixture

sys.path.insert(0, PYTHON_PATH)
import bfly  # noqa: E402

PACKETS = f"""
name: packets
network: {{kind: multibutterfly, rows: 16, multiplicity: 2, seed: 3}}
placement:
  - {{stages: 0-3, lcore: {LCORES[-1]}}}
"""


class WebProgramTest(WebFixture):
    def test_a_program_is_followed_step_by_step(self):
        file = self.write("packets.yaml", PACKETS)
        self.up(file)
        self.bfly("link", "fail", 1, 3, 2)
        browser = self.browser()
        self.assertIn("the others are refused while something is down", browser.text("program-told"))
        choice = {"program": "waves", "permutation": "bitrev", "seed": 3, "waves": 2}
        for name, value in choice.items():
            self.type(browser, name, value)
        browser.find("run").click()
        wait_until(lambda: browser.find("player").is_displayed(), "the recording is shown")
        recording = self.ask("api/program", **choice)
        with bfly.connect(run_dir=self.run_dir) as fabric:
            told = fabric.programs.dry_run(**choice)
        for name in ("inputs", "outputs", "begins", "links", "steps", "ports", "rows"):
            self.assertEqual(recording[name], list(getattr(told, name)), name)
        report = recording["report"]
        self.assertEqual(report["delivered"], 16)
        steps = report["steps"]
        self.assertEqual(browser.text("step-told"), f"step 0 of {steps}")
        for step in range(steps + 1):
            shown = browser.js("return window.bfly.player.positions()")
            self.assertEqual([(at["level"], at["row"], at["state"]) for at in shown], places(recording, step), step)
            counted = {state: browser.text(f"count-{state}") for state in ("moving", "waiting", "delivered", "to-come")}
            told = [state for _, _, state in places(recording, step)]
            self.assertEqual(counted, {state: str(told.count(state.replace("-", " "))) for state in counted})
            browser.find("step-forward").click()
        self.assertEqual(browser.text("count-delivered"), "16")
        # A phase has four steps, one for each link of a node, and a wave has whole phases.
        step = next(at for at in range(3, steps) if {"moving", "waiting"} <= {state for _, _, state in places(recording, at)})
        browser.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", browser.find("step"), step)
        before, wave = (0, report["waves"][0]) if step <= report["waves"][0]["steps"] else (report["waves"][0]["steps"], report["waves"][1])
        phase = (step - before - 1) // 4
        self.assertEqual(browser.text("phase-told"), f"wave {wave['wave']}, phase {phase + 1} of {wave['phases']}: "
                         f"{('even', 'odd')[phase % 2]} levels send, over links of colour {(step - before - 1) % 4}")
        # Marks stand where the recording says, and the path of a packet that is pressed is drawn.
        picture = browser.picture()
        point = {}
        for packet, (level, row, state) in enumerate(places(recording, step)):
            point[packet] = browser.js("return [window.bfly.view.x(arguments[0]), window.bfly.view.y(arguments[1])]", level, row)
            if state in ("moving", "waiting", "delivered"):
                self.assertGreater(near(picture, point[packet], browser.colour(state), 8), 5, (packet, state))
        packet = next(packet for packet, (_, _, state) in enumerate(places(recording, step)) if state == "moving")
        browser.click(*point[packet])
        self.assertIn(f"from row {recording['inputs'][packet]} to row {recording['outputs'][packet]}: moving", browser.text("packet-told"))
        ahead = browser.js("return window.bfly.player.recording.path(arguments[0])", packet)
        picture = browser.picture()
        for link in ahead:
            self.assertGreater(near(picture, browser.point_on(link, STRAIGHT), browser.colour("path"), 6), 3, link)
        # The same by keys: back, forward, and play to the end.
        browser.js("arguments[0].focus()", browser.find("fabric"))
        browser.keys(",", ",", ".")
        self.assertEqual(browser.text("step-told"), f"step {step - 1} of {steps}")
        browser.keys("n")
        self.assertEqual(browser.find("packet").get_attribute("value"), str((packet + 1) % 16))
        self.type(browser, "speed", 50)
        browser.js("arguments[0].focus()", browser.find("fabric"))
        browser.keys(" ")
        wait_until(lambda: browser.text("step-told") == f"step {steps} of {steps}", "it plays to the end")
        self.assertEqual(browser.text("play"), "Play")
        # What cannot run here is told, and the load of links comes back.
        self.type(browser, "program", "extra_stages")
        browser.find("run").click()
        wait_until(lambda: "extra_stages runs on" in browser.text("program-told"), "the refusal is told")
        self.assertFalse(browser.find("player").is_displayed())
        self.assertFalse(browser.js("return window.bfly.scene.is_quiet"))
        self.type(browser, "program", "greedy")
        browser.find("run").click()
        wait_until(lambda: "links or nodes are down; bring them up" in browser.text("program-told"), "only waves goes around the fault")
        self.assertFalse(browser.find("player").is_displayed())
        self.assertEqual([line for line in browser.complaints() if "api/program" not in line], [])

    def test_without_motion_the_picture_and_the_numbers_are_of_one_step(self):
        self.up(self.write("packets.yaml", PACKETS))
        browser = self.browser(still=True)
        self.type(browser, "program", "greedy")
        browser.find("run").click()
        wait_until(lambda: browser.find("player").is_displayed(), "the recording is shown")
        steps = browser.js("return window.bfly.player.recording.steps")
        self.assertGreater(steps, 2)
        browser.js("const { player } = window.bfly; player.time = 2.3; player.draw();")
        self.assertEqual(browser.text("step-told"), f"step 2 of {steps}")
        browser.js("window.bfly.player.go(-1)")
        self.assertEqual(browser.text("step-told"), f"step 1 of {steps}")

    def test_a_wrong_number_in_a_hidden_field_holds_nothing_up(self):
        self.up(self.write("packets.yaml", PACKETS))
        browser = self.browser()
        for name, value in (("program", "greedy"), ("h", 0), ("program", "waves")):
            self.type(browser, name, value)
        browser.find("run").click()
        wait_until(lambda: browser.find("player").is_displayed(), "the recording is shown")

    def test_a_recording_of_another_fabric_is_refused(self):
        self.up(self.write("packets.yaml", PACKETS))
        browser = self.browser()
        self.type(browser, "program", "greedy")
        browser.js("""
            const plain = window.fetch;
            window.fetch = async (path, ...more) => {
              const answer = await plain(path, ...more);
              if (!path.startsWith('/api/program?')) return answer;
              const recording = await answer.json();
              return Response.json({ ...recording, fabric: recording.fabric + 1 });
            };""")
        browser.find("run").click()
        wait_until(lambda: "Another fabric was loaded meanwhile" in browser.text("program-told"), "the page says so")
        self.assertFalse(browser.find("player").is_displayed())


def places(recording, step):
    """(level, row, state) of every packet at the end of a step."""
    found, at = [], 0
    for begin, row, crossed in zip(recording["begins"], recording["inputs"], recording["links"]):
        steps = recording["steps"][at:at + crossed]
        level = sum(crossing <= step for crossing in steps)
        state = "delivered" if level == 4 else "to come" if begin > step else "moving" if step in steps else "waiting"
        found.append((level, recording["rows"][at + level - 1] if level else row, state))
        at += crossed
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
