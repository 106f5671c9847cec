"""Every page in light and dark, wide and 360 px: no accessibility violation, no sideways scrolling, a screenshot."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

SCREENSHOTS = Path(__file__).resolve().parent.parent / "screenshots"
LOOKS = {"light": (1280, False), "dark": (1280, True), "light-360": (360, False), "dark-360": (360, True)}

# role, name of the page, path, and the links or rows to follow from there
PAGES = [
    (None, "sign-in", "/sign-in/", []),
    ("agent", "queue-waiting", "/queue/", []),
    ("agent", "queue-mine", "/queue/?tab=mine", []),
    ("agent", "queue-colleagues", "/queue/?tab=colleagues", []),
    ("agent", "queue-empty", "/queue/?company=ci-none", []),
    ("agent", "conversations", "/conversations/", []),
    ("agent", "company", "/conversations/companies/ci-cuc-001/", []),
    ("agent", "company-filtered", "/conversations/companies/ci-cuc-001/?status=failed", []),
    ("agent", "conversation-waiting", "/queue/", ["[data-open]"]),
    ("agent", "conversation-held", "/queue/?tab=mine", ["[data-open]"]),
    ("agent", "conversation-ai", "/conversations/companies/ci-cuc-001/?hand_off=ai", ["[data-open]"]),
    ("auditor", "conversation-redacted", "/conversations/companies/ci-cuc-001/", ["[data-open]"]),
    ("auditor", "audit", "/audit/", []),
    ("admin", "system", "/system/", []),
    ("agent", "error-403", "/system/", []),
    ("agent", "error-404", "/conversations/companies/ci-none/", []),
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("role", "name", "path", "follow"), PAGES, ids=[page[1] for page in PAGES])
def test_page_is_accessible_and_fits(open_page, role, name, path, follow, look):
    width, dark = LOOKS[look]
    page = open_page(role, width=width, dark=dark)
    page.goto(path)
    for selector in follow:
        page.locator(selector).first.click()
        page.wait_for_load_state()
    page.wait_for_load_state("networkidle")
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}-{look}.png", full_page=name != "conversation-ai")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    # No key of any item, phone number or address is in the address bar.
    assert not re.search(r"(\d{7}|%2B\d|@|%40)", re.sub(r"[A-Za-z0-9_-]{40,}", "", page.url))
