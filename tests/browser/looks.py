"""How a page looks: pictures of it in light and dark, wide and narrow, what axe finds, and no sideways scrolling."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

AXE = Axe()
SCREENSHOTS = Path(__file__).resolve().parent.parent / "screenshots"
# What axe found in order is not told element by element: most of its time would go into that.
EVERYTHING: dict[str, object] = {"resultTypes": ["violations"]}
# What another width or scheme can change: colours, sizes, and what has to be scrolled.
OF_LOOKS: dict[str, object] = EVERYTHING | {"runOnly": ["color-contrast", "target-size", "scrollable-region-focusable"]}
# Of a page that differs little from another one, in one look for all.
AT_ONCE: dict[str, object] = EVERYTHING | {"rules": {"target-size": {"enabled": True}}}
# name: width in CSS pixels (640 is 1280 at 200 %), colour scheme, what axe looks for: each width and scheme once
LOOKS = {
    "light": (1280, "light", EVERYTHING),
    "dark": (1280, "dark", None),
    "light-zoomed": (640, "light", None),
    "light-360": (360, "light", None),
    "dark-360": (360, "dark", OF_LOOKS),
}

# Contrast takes most of axe's time, and follows from the looks of a text and of all that it stands in: of texts whose
# looks are the same, tags and classes up to the page's included, one that was found in order stands for all of them.
# What axe cannot tell of one text, such as one with something before it, it is asked of each.
RUN_AXE = """async ([options, known]) => {
  const check = axe._audit.checks['color-contrast'], examine = check.evaluate;
  const rule = axe._audit.rules.find(each => each.id === 'color-contrast'), matches = rule.matches;
  const sound = new Set(known), fresh = [], surroundings = new Map();
  // 53 bits of a text (cyrb53): all that is told of the looks of thousands.
  const digest = text => {
    let one = 0xdeadbeef, other = 0x41c6ce57;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      one = Math.imul(one ^ code, 2654435761);
      other = Math.imul(other ^ code, 1597334677);
    }
    one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(other ^ (other >>> 13), 3266489909);
    other = Math.imul(other ^ (other >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
    return 4294967296 * (2097151 & other) + (one >>> 0);
  };
  const behind = element => {
    if (!element) return '';
    if (!surroundings.has(element)) {
      const style = getComputedStyle(element);
      surroundings.set(element, digest([
        behind(element.parentElement), element.tagName, element.getAttribute('class'), style.backgroundColor,
        style.backgroundImage, style.backgroundClip, style.opacity, style.filter, style.mixBlendMode, style.position,
        style.zIndex, style.visibility,
      ].join('|')));
    }
    return surroundings.get(element);
  };
  const looks = element => {
    const style = getComputedStyle(element);
    return digest([
      behind(element), style.color, style.fontSize, style.fontWeight, style.textShadow, style.webkitTextFillColor,
      style.webkitTextStroke,
    ].join('|'));
  };
  const hasText = element => [...element.childNodes].some(each => each.nodeType === Node.TEXT_NODE && each.data.trim());
  // Asked first: whether a text can be seen at all takes axe nearly as long as what it stands on.
  rule.matches = function (node, ...more) {
    return !(hasText(node) && sound.has(looks(node))) && matches.call(this, node, ...more);
  };
  check.evaluate = function (node, ...more) {
    const key = looks(node);
    if (sound.has(key)) return true;
    const found = examine.call(this, node, ...more);
    if (found === true) {
      sound.add(key);
      fresh.push(key);
    }
    return found;
  };
  try {
    return [await axe.run(options), fresh];
  } finally {
    [rule.matches, check.evaluate] = [matches, examine];
  }
}"""
# Until then what is to be scrolled at this width can be focused.
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# The looks of texts whose contrast was found to be enough, on any page of this run.
_sound: set[int] = set()

# A picture and axe for each page; the other looks only for whether they scroll sideways, unless ALL_LOOKS is set.
ALWAYS = tuple(LOOKS) if os.environ.get("ALL_LOOKS") else ("light", "dark-360")
# Pictures are for people to look at.
TAKES_PICTURES = not os.environ.get("CI")
# Of a page that differs little from another one.
FEWER = ("light", "dark-360") if os.environ.get("ALL_LOOKS") else ("dark-360",)


def settle(page: Page) -> None:
    """Wait until the page has loaded and htmx has put in what was asked for."""
    page.wait_for_load_state()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")).to_have_count(0)


def walk(page: Page, path: str, steps: Iterable[str | tuple[str, str]]) -> None:
    """Go there, then click each selector, or fill in what a pair says."""
    page.goto(path)
    for step in steps:
        if isinstance(step, tuple):
            page.locator(step[0]).fill(step[1])
        else:
            page.locator(step).first.click()
            settle(page)


def check_looks(page: Page, name: str, looks: Iterable[str] = tuple(LOOKS)) -> None:
    """The page as it is now, in every look, or in these."""
    settle(page)
    for look in looks:
        width, scheme, axe = LOOKS[look]
        if tuple(looks) == ("dark-360",):
            axe = AT_ONCE
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 860})
        page.evaluate(TWO_FRAMES)
        if look in ALWAYS:
            check_look(page, f"{name}-{look}", axe)
        else:
            check_width(page, f"{name}-{look}")
    # No key of any item, phone number or address is in the address bar.
    assert not re.search(r"(\d{7}|%2B\d|@|%40)", re.sub(r"[A-Za-z0-9_-]{40,}", "", page.url))


def check_width(page: Page, name: str) -> None:
    """No sideways scrolling."""
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, f"{name} scrolls sideways by {overflow} px"


def take_picture(page: Page, name: str, *, whole: bool = False) -> None:
    """A picture of the first screen, or of the whole page. None where nobody is there to look at it."""
    if TAKES_PICTURES:
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)


def check_look(page: Page, name: str, axe: dict[str, object] | None = EVERYTHING) -> None:
    """One look: a picture of the first screen, no sideways scrolling, and no violation that axe, told so, finds."""
    take_picture(page, name)
    check_width(page, name)
    if axe is not None:
        # What is scrolled under the bar at the top, or floats over at the bottom, is not too small to be hit.
        page.evaluate(
            "window.scrollTo(0, 0); document.querySelector('.latest')?.style.setProperty('position', 'static')"
        )
        if not page.evaluate("'axe' in window"):
            # Half a megabyte, once for each document and not for each look at it.
            page.evaluate(AXE.axe_script)
        told, sound = page.evaluate(RUN_AXE, [axe, list(_sound)])
        page.evaluate("document.querySelector('.latest')?.style.removeProperty('position')")
        found = AxeResults(told)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
        _sound.update(sound)
