"""Telling other systems: a lead adds a webhook, tests it until it arrives, looks at its secret, and deletes it."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks

WIDTHS = (360, 820, 1280)
# The demo's notifier looks every second.
TRIES = 30


def of_company(page: Page) -> None:
    """Go to the notifications of the company that the demo's receiver is of."""
    page.goto("/team/")
    page.get_by_role("row", name=re.compile("Cucumber")).get_by_role("link", name="Notifications").click()
    expect(page.get_by_role("heading", name="Notifications", level=1)).to_be_visible()


def address_of_receiver(page: Page) -> str:
    """Where the demo's own receiver is: its seeded destination says so."""
    page.get_by_role("link", name="Help desk").click()
    address = page.locator("dt:text-is('Address') + dd").inner_text()
    assert urlsplit(address).hostname == "127.0.0.1"
    page.go_back()
    return address


def check_widths(page: Page, name: str) -> None:
    """No sideways scrolling at any width, light and dark, and nothing that axe finds."""
    check_looks(page, name)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), width
    page.emulate_media(color_scheme="light")


def until_shown(page: Page, words: str) -> None:
    """Reload as the page says, until it is there."""
    for _ in range(TRIES):
        page.reload()
        if page.locator("section[aria-labelledby]").get_by_text(words, exact=True).count():
            return
        page.wait_for_timeout(500)
    raise AssertionError(f"never {words}")


def test_a_webhook_is_added_tested_and_deleted(open_page):
    page = open_page("admin")
    of_company(page)
    address = address_of_receiver(page)
    expect(page.get_by_role("row", name=re.compile("Help desk"))).to_contain_text("Webhook")
    check_widths(page, "notifications")
    page.get_by_role("link", name="New destination").click()
    page.get_by_label("Name").fill("Pager")
    page.get_by_label("Kind").select_option(label="Webhook")
    page.get_by_label("Address").fill("http://10.0.0.1/pager")
    page.get_by_label("A conversation waits for a human").check()
    page.get_by_role("button", name="Add the destination").click()
    # What was typed is still there, and the field says what is wrong.
    expect(page.get_by_text("Enter an address that begins with https://.").first).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Pager")
    check_widths(page, "notifications-new-wrong")
    # It leads to the demo's receiver, which does not know its secret; the address alone is the one of *Help desk*.
    page.get_by_label("Address").fill(f"{address}?pager")
    page.get_by_role("button", name="Add the destination").click()
    expect(page.get_by_text("The destination is added. Open it to send a test.")).to_be_visible()
    page.get_by_role("link", name="Pager", exact=True).click()
    expect(page.locator("#secret")).to_have_count(0)
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("A test is on its way.")).to_be_visible()
    until_shown(page, "Not delivered")
    expect(page.get_by_text("It answered with status 401.")).to_be_visible()
    check_widths(page, "notifications-destination")
    page.get_by_role("button", name="Show the signing secret").click()
    expect(page.locator("#secret code")).to_have_text(re.compile(r"^whsec_[A-Za-z0-9+/]{43}=$"))
    check_widths(page, "notifications-secret")
    page.get_by_role("link", name="Change").click()
    page.get_by_text("Delete…").click()
    page.get_by_role("button", name="Delete the destination").click()
    expect(page.get_by_text("The destination is deleted.")).to_be_visible()
    expect(page.get_by_role("link", name="Pager", exact=True)).to_have_count(0)


def test_a_test_of_the_companys_own_system_arrives(open_page):
    page = open_page("admin")
    of_company(page)
    page.get_by_role("link", name="Help desk").click()
    page.get_by_role("button", name="Send a test").click()
    # A page that is on its way elsewhere cannot be reloaded.
    expect(page.get_by_text("A test is on its way.")).to_be_visible()
    test = page.get_by_role("table", name="Latest notifications").get_by_role("row", name=re.compile("^Test"))
    for _ in range(TRIES):
        page.reload()
        if "delivered" in test.first.inner_text():
            break
        page.wait_for_timeout(500)
    expect(test.first).to_contain_text("delivered")


@pytest.mark.parametrize("name", ["New destination", "Help desk"])
def test_everything_is_reached_by_keyboard(open_page, name):
    page = open_page("admin")
    of_company(page)
    link = page.get_by_role("link", name=name)
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/team/notifications/.+"))
    page.locator("main").wait_for()
    # What asks before it does something irrevocable is opened by its own key.
    for summary in page.locator("main details.menu > summary").all():
        summary.focus()
        page.keyboard.press("Enter")
    page.evaluate("document.activeElement.blur()")
    wanted = page.locator("main").locator("input:not([type=hidden]), select, button, a[href]")
    missing = {wanted.nth(number).evaluate("each => each.outerHTML.slice(0, 200)") for number in range(wanted.count())}
    for _ in range(150):
        page.keyboard.press("Tab")
        missing.discard(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
    assert not missing
