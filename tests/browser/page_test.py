"""gsan-report's page of HTML in a browser: it fetches nothing, fits narrow and wide windows, can be read in light and dark, and by the
keyboard; whatever names the run had.

    page_test.py recorded FOLDER     recorded runs; screenshots go to FOLDER
    page_test.py broken              pages that break one of these rules each, which must be seen
"""
import glob
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import expect  # noqa: E402
from browser import Browser  # noqa: E402
from png import pixel  # noqa: E402

WIDE, NARROW = 1200, 420
# What a report never holds: what is fetched or runs; a drawing is of these elements, and its links lead into the page.
FOREIGN = "a[href]:not([href^=\"#\"]),iframe,img,link,object,script,video,svg :not(text,polyline,a,line,circle,title)"
COLORS = """[...document.querySelectorAll("body, .race, .formal")].map(e => getComputedStyle(e).color.match(/[\\d.]+/g).map(Number))"""


def luminance(color):
    """WCAG 2: of red, green and blue from 0 to 255."""
    parts = [part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in color[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def look(browser, path, width, dark):
    """What holds of every page; its screenshot."""
    browser.open(path, width, dark)
    where = f"{path}, {width} wide, {'dark' if dark else 'light'}"
    expect.need(not browser.asked_for(), f"{where}: fetches {browser.asked_for()}")
    expect.need(not browser.complaints(), f"{where}: the browser says {browser.complaints()}")
    foreign = browser.value(f"[...document.querySelectorAll('{FOREIGN}')].map(e => e.outerHTML.slice(0, 80))")
    expect.need(not foreign, f"{where}: holds {foreign}")
    beyond = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect.need(beyond <= 0, f"{where}: {beyond} pixels wider than the window")
    image = browser.screenshot()
    paper = pixel(image, 2, 2)
    expect.need((luminance(paper) < 0.2) == dark, f"{where}: the background is {paper}")
    for color in browser.value(COLORS):
        expect.need(contrast(color, paper) >= 4.5, f"{where}: text of {color} on {paper}")
    return image


def is_of(browser, path):
    """The page says what summary.json does."""
    with open(os.path.join(os.path.dirname(path), "summary.json"), errors="replace") as file:
        summary = json.load(file)
    formal = sum(finding.get("formal", False) for finding in summary["findings"])
    title, details = browser.value("document.querySelector('h1').textContent"), browser.value("document.querySelectorAll('details').length")
    expect.need(f" {len(summary['findings']) - formal} finding" in title, f"{path}: {title}")
    expect.need(details >= len(summary["findings"]), f"{path}: {details} details of {len(summary['findings'])} findings")
    return len(summary["findings"])


def sides(browser, beside):
    """Both accesses of the first finding, side by side or below each other."""
    tops = browser.value("[...document.querySelector('.sides').children].slice(0, 2).map(e => e.getBoundingClientRect().top)")
    expect.need((tops[0] == tops[1]) == beside, f"the sides begin at {tops}")


def keyboard(browser):
    """The tabulator comes to the first finding, behind tables that scroll, and Enter closes and opens it."""
    reached = []
    while len(reached) < 5 and reached[-1:] != ["SUMMARY"]:
        browser.press("Tab")
        reached.append(browser.value("document.activeElement.tagName"))
    expect.need(reached[-1] == "SUMMARY", f"the tabulator reaches {reached}")
    state = "document.activeElement.parentElement.open"
    states = [browser.value(state)]
    for _ in range(2):
        browser.press("Enter", "\r")
        states.append(browser.value(state))
    expect.need(states[0] == states[2] != states[1], f"open, by Enter: {states}")


def recorded(folder):
    paths = sorted(glob.glob(os.path.join(HERE, "..", "golden", "report", "*", "report.html")))
    expect.need(len(paths) >= 10, f"{paths}")
    os.makedirs(folder, exist_ok=True)
    with Browser() as browser:
        for path in paths:
            for width in (WIDE, NARROW):
                for dark in (False, True):
                    image = look(browser, path, width, dark)
                    name = f"{os.path.basename(os.path.dirname(path))}-{width}-{'dark' if dark else 'light'}.png"
                    with open(os.path.join(folder, name), "wb") as file:
                        file.write(image)
                if is_of(browser, path):
                    sides(browser, width == WIDE)
                    keyboard(browser)


HEAD = "<!DOCTYPE html><meta charset=utf-8><style>:root{color-scheme:light dark}</style><title>t</title><body>"
BROKEN = {  # what is said of it: the page
    "pixels wider": HEAD + "<div style='width:3000px'>x</div>",
    "fetches": HEAD + "<p style='background:url(other.png)'>x</p>",
    "the browser says": HEAD + "<meta http-equiv='Content-Security-Policy' content=\"style-src 'none'\"><p style='color:red'>x</p>",
    "holds": HEAD + "<iframe srcdoc='x'></iframe>",
    "the background is": HEAD.replace(" dark", "") + "x",
    "text of": HEAD + "<p class=race style='color:#555'>x</p>",
}


def broken(_folder=None):
    with Browser() as browser, tempfile.TemporaryDirectory() as scratch:
        good = os.path.join(scratch, "good.html")
        for path, text in ((good, HEAD + "x"), *((os.path.join(scratch, f"{i}.html"), text) for i, text in enumerate(BROKEN.values()))):
            with open(path, "w") as file:
                file.write(text)
        look(browser, good, WIDE, True)
        for i, what in enumerate(BROKEN):
            try:
                look(browser, os.path.join(scratch, f"{i}.html"), WIDE, True)
            except expect.Unexpected as error:
                expect.need(what in str(error), f"{what}: {error}")
                continue
            raise expect.Unexpected(f"{what}: not seen")


if __name__ == "__main__":
    try:
        {"recorded": recorded, "broken": broken}[sys.argv[1]](*sys.argv[2:])
    except (expect.Unexpected, OSError, ValueError) as error:
        sys.exit(f"page_test: {error}")
