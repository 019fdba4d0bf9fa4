"""A real browser that looks at pages as people do: on a phone, at a desk, in the dark."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PHONE, DESK = 390, 1280
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
# what sticks out of the window sideways and is not inside a box that scrolls
STICKING_OUT = """() => {
  const width = document.scrollingElement.clientWidth;
  const scrolls = element => element && (
    ['auto', 'scroll'].includes(getComputedStyle(element).overflowX)
    || scrolls(element.parentElement));
  const found = [...document.body.querySelectorAll('*')].filter(element =>
    element.getBoundingClientRect().right > width + 1 && !scrolls(element.parentElement));
  const text = found.map(element => `${element.tagName} ${element.textContent.slice(0, 60)}`);
  if (document.scrollingElement.scrollWidth > width) text.push('the page itself');
  return text;
}"""
# the lowest contrast of text with what is behind it, as the guidelines for accessibility count it
LOWEST_CONTRAST = """() => {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const numbers = colour => (colour.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = ([r, g, b, a = 1], below) =>
    [r, g, b].map((value, i) => value * a + below[i] * (1 - a));
  const behind = element => {
    if (!element) return dark ? [18, 18, 18] : [255, 255, 255];
    return over(numbers(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  const light = rgb => rgb.map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  let lowest = [21, ''];
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), back = behind(element);
    const front = over(numbers(element.closest('svg') ? style.fill : style.color), back);
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < lowest[0]) lowest = [ratio, element.textContent.slice(0, 60)];
  }
  return lowest;
}"""


@dataclass
class Viewed:
    """A page in the browser, and what it did while it was opened."""

    page: Any  # playwright's
    requests: list[str] = field(default_factory=list)  # all but the page itself
    dialogs: list[str] = field(default_factory=list)  # what a script would have shown
    complaints: list[str] = field(default_factory=list)  # errors, of the page and on its console

    def sticking_out(self):
        """What is wider than the window and cannot be scrolled to."""
        return self.page.evaluate(STICKING_OUT)

    def lowest_contrast(self):
        """The contrast of the text that is hardest to read, and the text."""
        return tuple(self.page.evaluate(LOWEST_CONTRAST))

    def count(self, selector):
        """How many elements match a CSS selector."""
        return self.page.locator(selector).count()


@contextmanager
def open_browser():
    """Start a browser; skip the test with a reason where there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine: pages are not looked at")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def viewed(browser, place, *, width=DESK, dark=False):
    """Open a file or a web address in a window of this width, light or dark."""
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        served = str(place).startswith("http://")
        page, address = context.new_page(), place if served else Path(place).resolve().as_uri()
        seen = Viewed(page)

        def noted(request):
            if request.url != address:
                seen.requests.append(request.url)

        def dismissed(dialog):
            seen.dialogs.append(dialog.message)
            dialog.dismiss()

        def said(message):
            if message.type == "error":
                seen.complaints.append(message.text)

        page.on("request", noted)
        page.on("dialog", dismissed)
        page.on("console", said)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.goto(address, wait_until="load")
        yield seen
    finally:
        context.close()


@contextmanager
def looking(browser, address):
    """Yield a function that opens a page of a service.

    In the end none may have asked another host, complained or shown a dialog.
    """
    opened = []

    def opener(part="", **options):
        context = viewed(browser, f"{address}/{part}", **options)
        seen = context.__enter__()
        opened.append((context, seen))
        seen.page.set_default_timeout(20_000)
        return seen

    yield opener
    for context, seen in opened:
        context.__exit__(None, None, None)
        assert seen.complaints == []
        assert seen.dialogs == []
        assert all(asked.startswith(address) for asked in seen.requests)
    assert opened
