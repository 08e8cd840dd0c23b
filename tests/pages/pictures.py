"""The pictures of a page. ![WHAT, WHAT](pictures/NAME.png) shows the findings of NAME.html, which one of the page's commands made, in a browser
1,000 pixels wide: each WHAT is text of them."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "browser")]
import expect  # noqa: E402
from browser import Browser  # noqa: E402
from png import colors, size  # noqa: E402

PICTURE = re.compile(r"!\[([^\]]+)\]\((pictures/(\w+)\.png)\)")
WIDE, BYTES = 1000, 150000
FINDINGS = """(() => {
    const boxes = [...document.querySelectorAll("details")].map(e => e.getBoundingClientRect()), top = boxes[0].top + scrollY - 10;
    return {x: 0, y: top, width: innerWidth, height: Math.ceil(boxes.at(-1).bottom + scrollY + 10 - top)};
})()"""
TEXT = """[...document.querySelectorAll("details")].map(e => e.innerText).join("\\n")"""


def rendered(browser, path, place, home, shows):
    """A PNG of the findings of a report, whose folder is called home there; they hold what they are to show."""
    with open(path) as file:
        html = file.read().replace(place, home)
    with open(path, "w") as file:
        file.write(html)
    browser.open(path, WIDE, dark=False)
    text = browser.value(TEXT)
    for what in shows.split(", "):
        expect.need(what in text, f"{path} does not show {what!r}:\n{text}")
    return browser.screenshot(browser.value(FINDINGS))


def is_like(path, now):
    """The picture is of the size of what is rendered now, as far as fonts leave it, small as a file, and not blank."""
    with open(path, "rb") as file:
        kept = file.read()
    (wide, high), (now_wide, now_high) = size(kept), size(now)
    expect.need(wide == now_wide == WIDE and abs(high - now_high) <= now_high // 4, f"{path} is {wide} x {high}, not {now_wide} x {now_high}")
    expect.need(len(kept) < BYTES, f"{path} has {len(kept)} bytes")
    expect.need(len(colors(kept)) > 8, f"{path} is blank")  # paper, frames, text with its edges, marks, kinds in red


def of(page):
    """[(what it shows, its path from the page's folder, the name of the report)]"""
    with open(page) as file:
        return PICTURE.findall(file.read())


def check(page, place, home, write):
    """Of a page whose commands were run in place."""
    with Browser() as browser:
        for shows, name, report in of(page):
            path = os.path.join(os.path.dirname(page), name)
            now = rendered(browser, os.path.join(place, report + ".html"), place, home, shows)
            if write:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(now)
            is_like(path, now)
