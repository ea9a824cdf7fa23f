#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the web page shows while fabrics, selections, orders and searches change under it, in a real browser."""

import socket
import unittest

from command_line import LCORES
from lab import wait_until
from selenium.webdriver.common.action_chains import ActionChains
from web_fixture import WIDE, WebFixture

LARGER = f"""
name: larger
network: {{kind: butterfly, rows: 64}}
placement:
  - {{stages: 0-5, lcore: {LCORES[-1]}}}
"""


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


class WebLiveTest(WebFixture):
    def select(self, browser, stage, row, port):
        browser.js("window.bfly.pickLink(arguments[0])", browser.link(stage, row, port))
        self.assertIn(f"Link {stage}.{row}.{port}", browser.text("selection"))

    def test_an_open_page_shows_the_fabric_of_the_next_controller(self):
        address = free_address()
        self.up(address=address)
        browser = self.browser()
        self.use_token(browser)
        self.select(browser, 2, 5, 1)
        self.assertEqual(browser.js("return window.bfly.view.rows"), 16)
        browser.find("find").send_keys("3")
        self.bfly("down")
        self.up(self.write("larger.yaml", LARGER), address)
        wait_until(lambda: browser.text("name") == "larger", "the page hears of the fabric")
        wait_until(lambda: browser.js("return window.bfly.view.rows") == 64, "the view has its rows")
        self.assertEqual(browser.text("selection"), "Nothing is selected.")
        wait_until(lambda: browser.text("role") == "viewer", "the old token is no longer known")
        self.assertEqual(browser.find("find").get_attribute("value"), "")

    def test_a_selected_link_out_of_view_has_its_figures(self):
        self.up(self.write("wide.yaml", WIDE))
        browser = self.browser()
        browser.js("window.bfly.view.show(500)")
        wait_until(lambda: browser.link(4, 500, 1), "links are drawn one by one")
        self.select(browser, 4, 500, 1)
        for look in ("view.all()", "view.show(500); window.bfly.view.move(-400)"):
            browser.js(f"window.bfly.{look}")
            self.bfly("link", "fail", 4, 500, 1)
            browser.fresh()
            self.assertIn(", down:", browser.text("selection"), look)
            self.bfly("link", "restore", 4, 500, 1)
            browser.fresh()
            self.assertNotIn("down", browser.text("selection"), look)

    def browser_whose_first_order_waits(self):
        """Link 2.5.1 is selected. window.orders has the paths of the orders that were sent; window.letGo() brings the answer to the first."""
        self.up()
        browser = self.browser()
        self.use_token(browser)
        browser.js("""
            window.orders = [];
            const held = new Promise((go) => { window.letGo = go; });
            const plain = window.fetch;
            window.fetch = async (path, ...more) => {
              const is_order = more.length > 0 && more[0].method === 'POST';
              const is_first = is_order && window.orders.length === 0;
              if (is_order) window.orders.push(path);
              const answer = await plain(path, ...more);
              if (is_first) await held;
              return answer;
            };""")
        self.select(browser, 2, 5, 1)
        browser.js("arguments[0].focus()", browser.find("fabric"))
        return browser

    def test_orders_are_sent_one_after_another_and_name_their_link(self):
        browser = self.browser_whose_first_order_waits()
        browser.keys("f", "r")
        browser.js("""for (const key of ['f', 'r'])
            document.getElementById('fabric').dispatchEvent(new KeyboardEvent('keydown', { key, repeat: true }))""")
        self.select(browser, 3, 7, 0)
        self.assertEqual(browser.js("return window.orders"), ["/api/link/fail"])
        browser.js("window.letGo()")
        wait_until(lambda: browser.text("change") == "restored link 2.5.1", "the second order is answered")
        self.assertEqual(browser.js("return window.orders"), ["/api/link/fail", "/api/link/restore"])
        self.assertEqual(self.faults(), (0, 0))

    def test_an_order_that_waits_is_not_sent_to_another_fabric(self):
        browser = self.browser_whose_first_order_waits()
        browser.keys("f", "f")
        wait_until(lambda: self.faults() == (1, 0), "the first order is carried out")
        self.bfly("up", self.write("larger.yaml", LARGER), "--replace")
        wait_until(lambda: browser.text("name") == "larger", "the page hears of the fabric")
        browser.fresh()
        browser.js("window.letGo()")
        wait_until(lambda: browser.text("change") == "link 2.5.1: another fabric was loaded meanwhile", "the second order is refused")
        self.assertEqual(browser.js("return window.orders"), ["/api/link/fail"])
        self.assertEqual(self.faults(), (0, 0))

    def test_a_wrong_search_hides_no_problem_and_freezes_no_circuit(self):
        self.up()
        circuit = self.json("circuit", "setup", 3, 12)
        browser = self.browser()
        browser.js("document.querySelector('#circuit-list button').click()")
        self.assertEqual(browser.js("return window.bfly.scene.circuit.id"), circuit["id"])
        browser.js("""
            const plain = window.fetch;
            window.fetch = async (path, ...more) => {
              if (path.startsWith('/api/ports')) return Response.json({ error: 'no ports are told' }, { status: 503 });
              const answer = await plain(path, ...more);
              if (!path.startsWith('/api/topology')) return answer;
              return Response.json({ ...await answer.json(), problems: ['a data plane is silent'] });
            };""")
        browser.find("find").send_keys("abc\n")
        wait_until(lambda: "such as 3-9" in browser.text("circuits-told"), "the page says what is wrong")
        browser.fresh()
        self.assertEqual(browser.text("problem").splitlines(), ["a data plane is silent", "no ports are told"])
        self.assertIn("such as 3-9", browser.text("circuits-told"))
        self.assertIn("1 of 1", browser.text("circuits-told"))
        self.bfly("circuit", "release", circuit["id"])
        wait_until(lambda: browser.js("return window.bfly.scene.circuit") is None, "the circuit leaves the picture")

    def test_bands_have_the_scale_of_what_is_in_view_and_the_colour_of_their_load(self):
        self.up(self.write("wide.yaml", WIDE))
        browser = self.browser()
        # All in one go, before the page reads anew. The second band is far below.
        draw = """
            const { scene, view, drawNow } = window.bfly;
            const [down, span] = arguments;
            const band = { stage: 0, from: 0, to: 0, links: 16, down, most_packet_rate: 100 };
            scene.bands = [band, { ...band, from: 60, to: 60, down: 0, most_packet_rate: 1e6 }];
            Object.assign(scene, { links: null, figure: 'rate', selection: null });
            Object.assign(view, { top: 0, span });
            drawNow();
            const [x0, y0, x1] = view.bandLine(band, 64);
            const left = Math.round(x0 + 10), width = Math.round(x1 - x0 - 20);
            const pixels = document.getElementById('fabric').getContext('2d').getImageData(left, Math.round(y0) - 1, width, 3).data;
            const colours = [];
            for (let i = 0; i < pixels.length; i += 4) colours.push([pixels[i], pixels[i + 1], pixels[i + 2]]);
            return { colours, most: document.getElementById('scale-max').textContent };"""
        self.assertEqual(browser.js(draw, 0, 1024)["most"], "1M")
        shown = {down: browser.js(draw, down, 512) for down in (0, 1, 16)}
        count = {(down, name): shown[down]["colours"].count(list(browser.colour(name))) for down in shown for name in ("scale-7", "down")}
        self.assertEqual({one["most"] for one in shown.values()}, {"100"})
        self.assertGreater(count[0, "scale-7"], 20)
        self.assertGreater(count[1, "scale-7"], count[0, "scale-7"] / 2)
        self.assertGreater(count[1, "down"], 5)
        self.assertEqual(count[16, "scale-7"], 0)
        self.assertGreater(count[16, "down"], 20)

    def test_a_hottest_link_is_pressed_while_the_table_changes(self):
        self.up()
        self.json("circuit", "setup", 3, 12)
        browser = self.browser()
        # The list above the table stays as long as it is.
        browser.find("find").send_keys("12\n")
        self.type(browser, "figure", "circuits")
        wait_until(lambda: len(browser.all("#hottest tbody tr")) == 8, "the links of the circuit are listed")
        button = browser.all("#hottest tbody button")[0]
        name = button.text
        browser.js("arguments[0].scrollIntoView()", button)
        ActionChains(browser.driver).click_and_hold(button).perform()
        # The links of this circuit come before those of the other one.
        self.json("circuit", "setup", 0, 0)
        browser.fresh()
        self.assertNotEqual(browser.all("#hottest tbody button")[0].text, name)
        ActionChains(browser.driver).release().perform()
        self.assertIn(f"Link {name} ", browser.text("selection"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
