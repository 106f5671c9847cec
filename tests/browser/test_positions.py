"""Where one is in a conversation: its newest message stands above the reply box, on any screen, at any length."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_conversation import look_again, talk  # noqa: F401 a fixture
from tests.browser.test_receiving import take, write  # noqa: F401 a fixture
from tests.browser.test_replies import answerable, box

SIZES = [(360, 640), (390, 844), (820, 1180), (1280, 800), (1366, 768), (1440, 900)]
# Whether all of the newest message stands above the reply box, or above the end of the window.
IN_VIEW = """(text) => {
    const newest = [...document.querySelectorAll("#talk .msg")].at(-1);
    const box = document.querySelector("#reply:has(#reply-text)")?.getBoundingClientRect().top ?? innerHeight;
    const bar = document.querySelector(".bar")?.getBoundingClientRect().bottom ?? 0;
    const { top, bottom } = newest.getBoundingClientRect();
    return newest.textContent.includes(text) && top >= bar && bottom <= box;
}"""


def check_newest_in_view(page: Page, text: str) -> None:
    page.wait_for_function(IN_VIEW, arg=text, timeout=10_000)


@pytest.mark.parametrize("count", [1, 5, 200])
def test_newest_message_is_in_view_whoever_has_the_conversation(open_page, talk, write, count):  # noqa: F811
    one = answerable(talk, messages=count)
    newest = "Where is my contract?"
    page = one.open(open_page("agent"))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(page.url)
        if width <= 900:
            # The hand-off comes first there.
            expect(page.get_by_role("button", name="Take", exact=True)).to_be_in_viewport()
            page.get_by_role("link", name="Latest message").click()
        check_newest_in_view(page, newest)
    page.keyboard.press("t")
    expect(page.locator("#hand-off .state")).to_have_text("You have this conversation")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(page.url)
        check_newest_in_view(page, newest)
        if width <= 900:
            page.evaluate("scrollTo(0, 0)")
            page.get_by_role("link", name="Latest message").click()
            check_newest_in_view(page, newest)
    for number, (width, height) in enumerate(SIZES[::3]):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(page.url)
        box(page).fill(f"One moment, {number}.\n\nI am looking.")
        check_newest_in_view(page, newest)
        box(page).press("Control+Enter")
        newest = f"One moment, {number}."
        check_newest_in_view(page, newest)
        expect(page.get_by_role("button", name="Undo").last).to_be_in_viewport()
        newest = f"thank you, {number}"
        write(one, newest)
        expect(page.locator(".msg", has_text=newest)).to_have_count(1)
        check_newest_in_view(page, newest)


def test_who_reads_further_up_stays_there(open_page, talk, write):  # noqa: F811
    one = answerable(talk, messages=100)
    page = one.open(open_page("agent"))
    take(page)
    check_newest_in_view(page, "Where is my contract?")
    page.evaluate("scrollTo(0, 400)")
    one.say()
    look_again(page)
    expect(page.locator("#news")).to_contain_text("The new messages are below")
    assert page.evaluate("scrollY") == 400
