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
# Of a page that differs little from another one: its colours are those of the other, and take half of axe's time.
BUT_COLOURS: dict[str, object] = EVERYTHING | {
    "rules": {"color-contrast": {"enabled": False}, "target-size": {"enabled": True}}
}
# name: width in CSS pixels (640 is 1280 at 200 %), colour scheme, what axe looks for: each width and scheme once
LOOKS = {
    "light": (1280, "light", EVERYTHING),
    "dark": (1280, "dark", None),
    "light-zoomed": (640, "light", None),
    "light-360": (360, "light", None),
    "dark-360": (360, "dark", OF_LOOKS),
}

# A picture and axe for each page; the other looks only for whether they scroll sideways, unless ALL_LOOKS is set.
ALWAYS = tuple(LOOKS) if os.environ.get("ALL_LOOKS") else ("light", "dark-360")
# Of a page that differs little from another one.
FEWER = ("light", "dark-360") if os.environ.get("ALL_LOOKS") else ("dark-360",)


def settle(page: Page) -> None:
    """Wait until the page has loaded and htmx has put in what was asked for."""
    page.wait_for_load_state()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")).to_have_count(0)


def check_looks(page: Page, name: str, looks: Iterable[str] = tuple(LOOKS)) -> None:
    """The page as it is now, in every look, or in these."""
    settle(page)
    for look in looks:
        width, scheme, axe = LOOKS[look]
        if tuple(looks) == ("dark-360",):
            axe = BUT_COLOURS
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 860})
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


def check_look(page: Page, name: str, axe: dict[str, object] | None = EVERYTHING) -> None:
    """One look: a picture of the first screen, no sideways scrolling, and no violation that axe, told so, finds."""
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    check_width(page, name)
    if axe is not None:
        # What a click scrolled under the bar at the top is not too small to be hit.
        page.evaluate("window.scrollTo(0, 0)")
        if not page.evaluate("'axe' in window"):
            # Half a megabyte, once for each document and not for each look at it.
            page.evaluate(AXE.axe_script)
        found = AxeResults(page.evaluate("options => axe.run(options)", axe))
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
