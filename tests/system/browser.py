# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that shows bfly's page, driven by chromium-driver."""

import io
import os

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from lab import PATIENCE, wait_until


class Browser:
    """Closed by `close`. Every wait ends."""

    def __init__(self, folder, dark=False, still=False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                     "--window-size=1400,1000", "--force-device-scale-factor=1", f"--user-data-dir={folder}/profile",
                     "--disable-background-networking", "--disable-component-update", "--no-first-run"):
            options.add_argument(word)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        if still:
            options.add_argument("--force-prefers-reduced-motion")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        environment = {**os.environ, "HOME": str(folder)}
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver", env=environment), options=options)
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)

    def close(self):
        self.driver.quit()

    def open(self, url):
        self.driver.get(url)
        self.fresh()

    def js(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, element_id):
        return self.driver.find_element(By.ID, element_id)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, element_id):
        return self.find(element_id).text

    def fresh(self, readings=2):
        """Waits until the page has asked for everything again, with what was true when this was called."""
        wait_until(lambda: self.js("return typeof window.bfly !== 'undefined'"), "the page's program runs")
        enough = self.js("return window.bfly.state.readings") + readings
        wait_until(lambda: self.js("return window.bfly.state.readings") >= enough, "the page reads again")

    def link(self, stage, row, port):
        """What the page knows of a link in view."""
        return self.js("return (window.bfly.scene.links ?? []).find((link) => link.stage === arguments[0] && "
                       "link.row === arguments[1] && link.port === arguments[2])", stage, row, port)

    def point_on(self, link, along):
        """A point of the canvas on a link."""
        x0, y0, x1, y1 = self.js("return window.bfly.view.line(arguments[0])", link)
        return x0 + along * (x1 - x0), y0 + along * (y1 - y0)

    def click(self, x, y):
        """Clicks at a point of the canvas, in its own pixels from its top left corner."""
        canvas = self.find("fabric")
        self.js("arguments[0].scrollIntoView()", canvas)
        size = canvas.size
        ActionChains(self.driver).move_to_element_with_offset(
            canvas, round(x - size["width"] / 2), round(y - size["height"] / 2)).click().perform()

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def picture(self, element_id="fabric"):
        """A screenshot of an element; pixels are (red, green, blue)."""
        self.js("if (arguments[0] === 'fabric') window.bfly.drawNow()", element_id)
        return Image.open(io.BytesIO(self.find(element_id).screenshot_as_png)).convert("RGB")

    def colour(self, name):
        """A colour of style.css as the page has it now, as (red, green, blue)."""
        text = self.js("return getComputedStyle(document.documentElement).getPropertyValue('--' + arguments[0])", name)
        text = text.strip().lstrip("#")
        return tuple(int(text[at:at + 2], 16) for at in (0, 2, 4))

    def complaints(self):
        """What the browser's console has of errors, blocked resources among them."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


def near(picture, point, colour, reach=4):
    """How many pixels around a point have nearly this colour."""
    x, y = map(round, point)
    found = 0
    for at_x in range(max(0, x - reach), min(picture.width, x + reach + 1)):
        for at_y in range(max(0, y - reach), min(picture.height, y + reach + 1)):
            pixel = picture.getpixel((at_x, at_y))
            found += all(abs(a - b) <= 12 for a, b in zip(pixel, colour))
    return found
