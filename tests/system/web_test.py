#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The web page in a real browser, on real fabrics with traffic: its numbers, clicks, keys and pictures."""

import json
import os
import re
import struct
import unittest
import urllib.request

from browser import near
from command_line import LCORES
from lab import wait_until
from selenium.webdriver.common.keys import Keys
from web_fixture import STRAIGHT, WIDE, WebFixture

# As many circuits as rows: two pages of the list.
LONG = f"""
name: long
network: {{kind: two_fold_butterfly, rows: 256, seed: 7}}
placement:
  - {{stages: 0-15, lcore: {LCORES[-1]}}}
"""


class WebTest(WebFixture):
    def test_the_numbers_are_those_of_the_command_line(self):
        self.up()
        self.traffic()
        browser = self.browser()
        counters = self.json("counters")
        for name, number in counters["conservation"].items():
            self.assertEqual(browser.text(name), str(number), name)
        self.assertEqual(browser.text("injected"), "1600")
        self.assertIn("two_fold_butterfly of 16 rows, 8 stages, 256 links", browser.text("network"))
        links = {(link["stage"], link["row"], link["port"]): link for link in counters["links"]}
        shown = browser.js("return window.bfly.scene.links")
        self.assertEqual(len(shown), 256)
        for link in shown:
            told = links[link["stage"], link["row"], link["port"]]
            for name in ("next_row", "packets", "bytes", "circuits", "occupancy"):
                self.assertEqual(link[name], told[name], (link, name))
        self.assertLessEqual(browser.js("return document.documentElement.scrollWidth"), 1400)
        # A second of traffic for the table of the hottest links, by packets a second and then by hand.
        self.bfly("traffic", "start", "--rows", "3-3", "--rate", "1k", "--to", 9)
        wait_until(lambda: browser.all("#hottest tbody tr"), "links get hot")
        self.assertEqual(browser.complaints(), [])

    def test_a_link_is_clicked_failed_and_restored(self):
        self.up()
        browser = self.browser()
        link = browser.link(2, 5, 1)
        browser.click(*browser.point_on(link, STRAIGHT))
        self.assertIn(f"Link 2.5.1 to row {link['next_row']}", browser.text("selection"))
        # Without the token the page only looks on.
        browser.find("fail").click()
        wait_until(lambda: "needs the header" in browser.text("change"), "the change is refused")
        self.assertEqual(self.faults(), (0, 0))
        down = browser.colour("down")
        browser.keys(Keys.ESCAPE)
        self.assertEqual(near(browser.picture(), browser.point_on(link, STRAIGHT), down, 8), 0)
        self.use_token(browser)
        browser.find("fail").click()
        wait_until(lambda: browser.text("change") == "failed link 2.5.1", "the link fails")
        self.assertEqual(self.faults(), (1, 0))
        wait_until(lambda: browser.link(2, 5, 1)["down"] == 1, "the page hears of it")
        self.assertGreater(near(browser.picture(), browser.point_on(link, STRAIGHT), down, 8), 5)
        self.assertEqual(near(browser.picture(), browser.point_on(browser.link(2, 9, 1), STRAIGHT), down), 0)
        browser.find("restore").click()
        wait_until(lambda: browser.text("change") == "restored link 2.5.1", "the link is restored")
        self.assertEqual(self.faults(), (0, 0))
        wait_until(lambda: browser.link(2, 5, 1)["down"] == 0, "the page hears of it")
        self.assertEqual(near(browser.picture(), browser.point_on(link, STRAIGHT), down, 8), 0)
        lines = [json.loads(line) for line in (self.run_dir / "audit.log").read_text().splitlines()]
        mine = [line for line in lines if "web page" in json.dumps(line)]
        self.assertEqual(len(mine), 2)
        for line in mine:
            self.assertIn("SetLinkState", json.dumps(line))
            self.assertIn("operator", json.dumps(line))

    def test_a_circuit_is_picked_and_a_broken_one_is_marked(self):
        self.up()
        circuit = self.json("circuit", "setup", 3, 12)
        self.json("circuit", "setup", 4, 5)
        browser = self.browser()
        browser.find("find").send_keys("12", Keys.ENTER)
        wait_until(lambda: len(browser.all("#circuit-list button")) == 1, "one circuit is found")
        browser.all("#circuit-list button")[0].click()
        path, down = browser.colour("path"), browser.colour("down")
        picture = browser.picture()
        hops = [{"stage": stage, "row": row, "next_row": following, "port": 0}
                for stage, (row, following) in enumerate(zip(circuit["rows"], circuit["rows"][1:]))]
        self.assertEqual(len(hops), 8)
        for hop in hops:
            self.assertGreater(near(picture, browser.point_on(hop, STRAIGHT), path), 5, hop)
        other = next(link for link in browser.js("return window.bfly.scene.links")
                     if link["stage"] == 4 and link["row"] not in circuit["rows"] and link["circuits"] == 0
                     and link["row"] == link["next_row"] and abs(link["row"] - circuit["rows"][4]) > 3)
        self.assertEqual(near(picture, browser.point_on(other, 0.05), path), 0)
        self.assertEqual(browser.text("broken"), "0")
        broken = next(link for link in browser.js("return window.bfly.scene.links")
                      if (link["stage"], link["row"], link["next_row"]) == (3, circuit["rows"][3], circuit["rows"][4]))
        self.bfly("link", "fail", 3, broken["row"], broken["port"])
        browser.fresh()
        self.assertEqual(browser.text("broken"), "1")
        self.assertIn(f"broken at 3.{broken['row']}.{broken['port']}", browser.text("circuit-list"))
        picture = browser.picture()
        self.assertGreater(near(picture, browser.point_on(hops[3], STRAIGHT), down, 8), 5)
        self.assertGreater(near(picture, browser.point_on(hops[2], STRAIGHT), path), 5)

    def test_circuits_behind_the_first_page_stay_fresh(self):
        self.up(self.write("long.yaml", LONG))
        self.bfly("circuit", "permutation", "--permutation", "identity")
        browser = self.browser()
        wait_until(lambda: browser.text("circuits-told") == "200 of 256", "the first page is shown")
        browser.find("more").click()
        wait_until(lambda: browser.text("circuits-told") == "256 of 256", "the second page is shown")
        self.assertFalse(browser.find("more").is_displayed())
        browser.js("document.querySelector('#circuit-list li:last-child button').click()")
        picked = browser.js("return window.bfly.scene.circuit")
        at, following = picked["rows"][3:5]
        port = next(link["port"] for link in self.json("counters", "--stages", 3, "--rows", at)["links"]
                    if link["next_row"] == following)
        self.bfly("link", "fail", 3, at, port)
        wait_until(lambda: f"broken at 3.{at}.{port}" in browser.text("circuit-list"), "the list says what breaks it")
        self.assertEqual(browser.js("return window.bfly.scene.circuit.broken.length"), 1)
        self.assertEqual(browser.text("circuits-told"), "256 of 256")
        self.bfly("circuit", "release", picked["id"])
        wait_until(lambda: browser.text("circuits-told") == "255 of 255", "the circuit leaves the list")
        self.assertIsNone(browser.js("return window.bfly.scene.circuit"))
        self.assertEqual(browser.complaints(), [])

    def test_everything_can_be_done_by_keys(self):
        self.up()
        browser = self.browser()
        browser.js("document.activeElement.blur()")
        seen = []
        for _ in range(60):
            browser.keys(Keys.TAB)
            seen.append(browser.js("return document.activeElement.id"))
            if seen[-1] == "find":
                break
        wanted = ["token", "token-button", "theme", "figure", "zoom-in", "zoom-out", "zoom-all", "fabric", "find"]
        self.assertEqual([name for name in seen if name in wanted], wanted)
        self.use_token(browser)
        browser.js("arguments[0].focus()", browser.find("fabric"))
        browser.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        self.assertIn("Node of level 2, row 1", browser.text("selection"))
        browser.keys("f")
        wait_until(lambda: browser.text("change") == "failed node of level 2, row 1", "the node fails")
        self.assertEqual(self.faults()[1], 1)
        browser.keys("r")
        wait_until(lambda: browser.text("change") == "restored node of level 2, row 1", "the node is restored")
        browser.keys("p")
        self.assertIn("Link 2.1.0", browser.text("selection"))
        browser.keys("p")
        self.assertIn("Link 2.1.1", browser.text("selection"))
        browser.keys(Keys.ESCAPE)
        self.assertEqual(browser.text("selection"), "Nothing is selected.")
        span = browser.js("return window.bfly.view.span")
        browser.keys("+", "+")
        self.assertLess(browser.js("return window.bfly.view.span"), span)
        browser.keys(Keys.PAGE_DOWN)
        self.assertGreater(browser.js("return window.bfly.view.top"), 0)
        browser.keys("0")
        self.assertEqual(browser.js("return window.bfly.view.span"), span)
        unnamed = browser.js("""return [...document.querySelectorAll('button, input, select, canvas')].filter((element) =>
            !element.getAttribute('aria-label') && !(element.labels && element.labels.length) && !element.textContent.trim())
            .map((element) => element.outerHTML)""")
        self.assertEqual(unnamed, [])

    def test_light_and_dark(self):
        self.up()
        browser = self.browser()
        self.assertEqual(browser.picture().getpixel((3, 300)), (255, 255, 255))
        for wanted, paper in (("light", (255, 255, 255)), ("dark", (20, 23, 26))):
            browser.find("theme").click()
            self.assertEqual(browser.text("theme"), f"Colours: {wanted}")
            self.assertEqual(browser.picture().getpixel((3, 300)), paper)
            self.assertEqual(browser.colour("paper"), paper)
        browser.find("theme").click()
        self.assertEqual(browser.text("theme"), "Colours: system")
        self.assertEqual(browser.complaints(), [])
        for shade in ("light", "dark"):
            # Text and marks can be told from the paper (WCAG 2: 4.5 for text, 3 for marks).
            browser.js("document.documentElement.dataset.shade = arguments[0]", shade)
            for name, least in (("ink", 4.5), ("frame", 4.5), ("down", 3), ("path", 3), ("accent", 3), ("scale-7", 3), ("moving", 3), ("waiting", 3), ("delivered", 3)):
                self.assertGreater(contrast(browser.colour(name), browser.colour("paper")), least, (shade, name))

    def test_1024_rows_stay_smooth(self):
        self.up(self.write("wide.yaml", WIDE))
        self.traffic(packets=20, rows="0-1023")
        browser = self.browser()
        canvas = browser.find("fabric")
        self.assertEqual(canvas.get_attribute("data-mode"), "bands")
        self.assertEqual(browser.text("delivered"), str(1024 * 20))
        # Every packet crosses every stage, and the bands of a stage have them all.
        bands = browser.js("return window.bfly.scene.bands")
        for stage in range(10):
            self.assertEqual(sum(band["packets"] for band in bands if band["stage"] == stage), 1024 * 20)
            self.assertEqual(sum(band["links"] for band in bands if band["stage"] == stage), 2048)
        frames = {"bands": self.frames(browser)}
        browser.js("arguments[0].focus()", canvas)
        for _ in range(30):
            if canvas.get_attribute("data-mode") == "links":
                break
            browser.keys("+")
            browser.fresh(1)
        self.assertEqual(canvas.get_attribute("data-mode"), "links")
        self.assertGreater(browser.js("return window.bfly.scene.links.length"), 2000)
        frames["links"] = self.frames(browser)
        # 12 packets an input are the most that a recording of this network has room for.
        for name, value in (("program", "greedy"), ("h", 12)):
            self.type(browser, name, value)
        browser.find("run").click()
        wait_until(lambda: browser.find("player").is_displayed(), "the recording is shown")
        browser.js("const { player, view } = window.bfly; view.all(); player.pick(5); player.show(5); player.time = 5.5;")
        frames["packets"] = self.frames(browser, "packets", "player.draw")
        plain = self.plain_frame(browser)
        print(f"frames: {frames} ms, 5,000 plain lines {plain} ms")
        # A page that drew each of the 20,480 links in every frame would take four times as long as the plain lines.
        for mode, milliseconds in frames.items():
            self.assertLess(milliseconds, plain, mode)
        # A link far away is shown when its row of the table is pressed.
        browser.js("window.bfly.pickLink({stage: 4, row: 1000, port: 1, next_row: 0, packets: 0, packet_rate: 0, "
                   "occupancy: 0, circuits: 0, drops: 0})")
        wait_until(lambda: browser.link(4, 1000, 1), "the link comes into view")

    def test_rates_drops_and_ports_are_shown(self):
        # 30 frames for row 2, and 5 for an address that is no row's.
        capture = self.directory / "in.pcap"
        frames = [bytes.fromhex(f"02bf0000{row:04x}02bf00000000") + b"\x88\xb6" + bytes(50)
                  for row in [2] * 30 + [0xff00] * 5]
        capture.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(
            struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames))
        self.up(self.write("ports.yaml", f"""
name: ports
network: {{kind: butterfly, rows: 4}}
placement:
  - {{stages: 0-1, lcore: {LCORES[-1]}}}
ports:
  - {{name: in, device: "net_pcap0,rx_pcap={capture},tx_pcap={self.directory}/back.pcap", rows: 0}}
  - {{name: out, device: "net_pcap1,tx_pcap={self.directory}/out.pcap", rows: 1-3}}
"""))
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] == 30, "30 frames are delivered")
        self.bfly("traffic", "start", "--rows", "1-3", "--rate", "1k", "--to", 1)
        browser = self.browser()
        ports = {port["name"]: port for port in self.json("counters")["ports"]}
        # The page makes the table anew with each sample, so it is read in one go.
        rows = {row[0]: row for row in browser.js(
            "return [...document.querySelectorAll('#ports tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))")}
        self.assertEqual(set(rows), {"in", "out"})
        lost = sum(drop["packets"] for drop in ports["in"]["drops"]) + ports["in"]["rx_missed"]
        self.assertEqual(lost, 5)
        self.assertEqual(rows["in"][2], str(ports["in"]["rx_packets"]))
        self.assertRegex(rows["in"][6], r"^5\n\w+ 5$")
        # The first samples may hold less than a second of the traffic.
        wait_until(lambda: re.fullmatch(r"(2\.[5-9]\d*|3(\.[0-4]\d*)?)k", browser.text("injected-rate")), "3,000 packets a second are shown")
        browser.fresh(3)
        history = browser.picture("history")
        colours = {history.getpixel((x, y)) for x in range(history.width) for y in range(history.height)}
        self.assertIn(browser.colour("dropped"), colours)

    def test_it_is_off_by_default_and_stays_on_this_machine(self):
        self.bfly("up", self.file)
        self.assertFalse((self.run_dir / "web.token").exists())
        refused = self.bfly("up", self.file, "--replace", "--web", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("runs already and serves a page only if it was started with --web", refused.stderr)
        self.bfly("down")
        refused = self.bfly("up", self.file, "--web", "0.0.0.0:0", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("a tunnel from other machines", refused.stderr)
        self.assertFalse((self.run_dir / "web.token").exists())
        self.up()
        self.assertEqual(os.stat(self.run_dir / "web.token").st_mode & 0o777, 0o600)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url, timeout=30) as answer:
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
            page = answer.read().decode()
        self.assertEqual([word for word in page.split('"') if word.startswith(("http:", "https:", "//"))], [])
        self.bfly("down")
        self.assertFalse((self.run_dir / "web.token").exists())


def contrast(one, other):
    def light(colour):
        parts = [value / 255 for value in colour]
        parts = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    lighter, darker = sorted((light(one), light(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)
