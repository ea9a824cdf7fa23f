# SPDX-License-Identifier: Apache-2.0
"""A fabric of its own with its web page, and a browser that shows it."""

import json
import statistics
import urllib.parse
import urllib.request

from browser import Browser
from command_line import LCORES, CommandLineTest
from lab import wait_until

WIDE = f"""
name: wide
network: {{kind: butterfly, rows: 1024}}
placement:
  - {{stages: 0-9, lcore: {LCORES[-1]}}}
"""

STRAIGHT = 0.37  # along a link, away from nodes and from the middle, where links cross


class WebFixture(CommandLineTest):
    def up(self, file=None, address="127.0.0.1:0"):
        said = self.bfly("up", file or self.file, "--web", address).stdout
        self.url = (self.run_dir / "web.url").read_text().strip()
        self.assertIn(f"web page: {self.url}, token in {self.run_dir}/web.token", said)

    def browser(self, **more):
        browser = Browser(self.directory, **more)
        self.addCleanup(browser.close)
        browser.open(self.url)
        return browser

    def use_token(self, browser):
        browser.find("token").send_keys((self.run_dir / "web.token").read_text().strip())
        browser.find("token-button").click()
        wait_until(lambda: browser.text("role") == "operator", "the token is known")

    def faults(self):
        return self.json("status").get("faults", {}).get("links", 0), self.json("status").get("faults", {}).get("nodes", 0)

    def traffic(self, packets=100, rows="0-15"):
        self.bfly("traffic", "start", "--rows", rows, "--rate", 0, "--packets", packets, "--to", "uniform")
        low, high = map(int, rows.split("-"))
        total = (high - low + 1) * packets
        wait_until(lambda: self.json("counters")["conservation"]["delivered"] == total, f"{total} packets are delivered")

    def ask(self, path, **query):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.loads(answer.read())

    def type(self, browser, name, value):
        """Puts a value into a field or a list of the page."""
        browser.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", browser.find(name), str(value))

    def frames(self, browser, canvas="fabric", draw="drawNow"):
        """The median time of a frame: drawing, until its pixels can be read back."""
        return statistics.median(browser.js(f"""
            const times = [];
            for (let i = 0; i < 15; ++i) {{
              const begin = performance.now();
              window.bfly.{draw}();
              document.getElementById('{canvas}').getContext('2d').getImageData(0, 0, 1, 1);
              times.push(performance.now() - begin);
            }}
            return times;"""))

    def plain_frame(self, browser, lines=5000):
        """The median time of as many plain lines on a canvas of the same size: how fast this machine draws."""
        return statistics.median(browser.js("""
            const canvas = document.createElement('canvas');
            const shown = document.getElementById('fabric');
            canvas.width = shown.width; canvas.height = shown.height;
            const context = canvas.getContext('2d');
            const times = [];
            for (let i = 0; i < 15; ++i) {
              const begin = performance.now();
              for (let line = 0; line < arguments[0]; ++line) {
                context.strokeStyle = `hsl(${line % 360} 50% 50%)`;
                context.beginPath();
                context.moveTo(0, line % canvas.height);
                context.lineTo(canvas.width / 10, (line * 7) % canvas.height);
                context.stroke();
              }
              context.getImageData(0, 0, 1, 1);
              times.push(performance.now() - begin);
            }
            return times;""", lines))
