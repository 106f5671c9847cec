"""Answering customers, as a person does it: below the messages, by keyboard, on a phone, without scripts."""

import json
import re
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import sign_in
from tests.browser.looks import check_look, check_looks
from tests.browser.test_conversation import Talk, instant, talk  # noqa: F401 a fixture
from tests.browser.test_receiving import SOON, take, waiting, write  # noqa: F401 a fixture

CONFIGURED = {
    "channel_config": {
        "whatsapp": {
            "company_whatsapp_number": "+447700900811",
            "whatsapp_credentials_id": "whatsapp/cucumber-recruitment/pi-cuc-cv/twilio",
        }
    },
    "recipient_first_name": "Jo",
}
WRITTEN = {"message_id": "SM1", "role": "user", "content": "Where is my contract?"}


def answerable(talk, minutes: int = 5, **attributes: Any) -> Talk:  # noqa: F811
    """A conversation that waits, whose customer wrote so many minutes ago."""
    one = waiting(talk, **CONFIGURED | attributes)
    one.change(messages=[*one.item["messages"], WRITTEN | {"timestamp": instant(minutes)}])
    return one


@pytest.fixture
def sent(demo) -> Callable[[Talk], list[str]]:
    """What the provider has for that conversation's customer, oldest first."""

    def texts(one: Talk) -> list[str]:
        basic = b64encode(f"{demo.provider_account}:{demo.provider_token}".encode()).decode()
        url = f"{demo.provider}/2010-04-01/Accounts/{demo.provider_account}/Messages.json?PageSize=200"
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Basic {basic}"})) as answer:
            messages = json.load(answer)["messages"]
        return [each["body"] for each in messages if each["to"].endswith(one.item["primary_channel"])][::-1]

    return texts


def box(page: Page):
    return page.get_by_label("Your reply")


def test_an_agents_day_by_keyboard_alone(open_page, talk, write, sent):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent"))
    page.keyboard.press("t")
    expect(page.locator("#hand-off .state")).to_have_text("You have this conversation")
    expect(page.locator("#reply-rules")).to_contain_text("You can reply until")
    check_looks(page, "reply-box")
    # With a saved reply.
    page.keyboard.press("w")
    expect(box(page)).to_be_focused()
    page.keyboard.press("/")
    search = page.locator("[data-picker] [data-filter]")
    expect(search).to_be_focused()
    check_looks(page, "reply-picker")
    page.keyboard.type("moment")
    page.keyboard.press("Enter")
    expect(box(page)).to_be_focused()
    expect(box(page)).to_have_value(re.compile("Jo"))
    page.keyboard.press("Control+a")
    page.keyboard.type("A moment, Jo: <b>I am looking</b>.")
    page.keyboard.press("Control+Enter")
    mine = page.locator(".msg.human", has_text="A moment, Jo: <b>I am looking</b>.")
    expect(mine).to_contain_text("Amira Haddad")
    expect(mine.get_by_role("button", name="Undo")).to_be_visible()
    expect(box(page)).to_have_value("")
    check_looks(page, "reply-sending")
    # It leaves after ten seconds, and what became of it shows by itself.
    expect(mine.locator(".delivery")).to_contain_text(re.compile("Delivered|Read"), timeout=SOON)
    expect(mine.locator(".delivery")).to_contain_text("Read", timeout=SOON)
    assert sent(one) == ["A moment, Jo: <b>I am looking</b>."]
    write(one, "Thank you!")
    expect(page.locator(".msg.user", has_text="Thank you!")).to_be_visible(timeout=SOON)
    check_looks(page, "reply-read")
    page.keyboard.press("w")
    page.keyboard.type("You are welcome.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".msg.human", has_text="You are welcome.")).to_be_visible()
    # Return it with a note, in the question that the key asks once everything is answered.
    page.keyboard.press("Escape")
    expect(page.locator("#return summary")).to_have_count(0, timeout=SOON)
    page.keyboard.press("r")
    dialog = page.locator("#ask")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Note for the next person").fill("Wants the contract by Friday")
    check_look(page, "reply-hand-back")
    dialog.get_by_role("button", name="Return to AI").click()
    expect(page.locator("#hand-off .state")).to_have_text("The AI has this conversation")
    expect(page.locator("#hand-off")).to_contain_text("Wants the contract by Friday")
    expect(page.get_by_role("button", name="Undo: take it back")).to_be_visible()
    expect(box(page)).to_have_count(0)


def test_undo_brings_the_text_back(open_page, talk, sent):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent"))
    take(page)
    box(page).fill("Too early")
    page.get_by_role("button", name="Send").click()
    mine = page.locator(".msg.human", has_text="Too early")
    mine.get_by_role("button", name="Undo").click()
    expect(mine).to_have_count(0)
    expect(box(page)).to_have_value("Too early")
    expect(box(page)).to_be_focused()
    assert sent(one) == []


def test_a_draft_outlives_a_reload_and_is_no_plain_text(open_page, talk):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent"))
    take(page)
    box(page).fill("Half a sentence with a canary")
    expect(page.locator("[data-count]")).to_contain_text("29 of 1,600")
    page.wait_for_timeout(600)
    stored = page.evaluate("JSON.stringify(localStorage)")
    assert "console-draft" in stored
    assert "canary" not in stored
    page.reload()
    expect(box(page)).to_have_value("Half a sentence with a canary")
    # Nor is it anybody else's, in the same browser.
    box(page).fill("")
    page.wait_for_timeout(600)
    page.reload()
    expect(box(page)).to_have_value("")


def test_signed_out_and_in_again_in_another_tab_the_reply_still_goes(demo, open_page, talk):  # noqa: F811
    one = answerable(talk)
    page = open_page(None)
    sign_in(page, demo, "agent")
    take(one.open(page))
    box(page).fill("It is on its way.")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_role("heading", level=1)).to_contain_text("Sign in")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("[data-said]")).to_contain_text("You are signed out, so nothing was sent. Your text is kept.")
    expect(box(page)).to_have_value("It is on its way.")
    sign_in(other, demo, "agent")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".talk")).to_contain_text("It is on its way.")
    expect(box(page)).to_have_value("")


def test_who_loses_it_keeps_the_draft_to_copy(open_page, talk, sent):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent"))
    take(page)
    box(page).fill("I was about to say this")
    one.change(hand_off_agent="tom", hand_off_action_id="theirs", gsi_hand_off_queue="held#ci-cuc-001")
    lost = page.locator("#reply")
    expect(lost).to_contain_text("You no longer have this conversation", timeout=SOON)
    expect(lost.get_by_label("Your text was not sent")).to_have_value("I was about to say this")
    expect(box(page)).to_have_count(0)
    expect(page.locator("#hand-off .state")).to_have_text("Tom Becker has this conversation")
    check_looks(page, "reply-lost")


def test_after_24_hours_the_template_with_its_blanks(open_page, talk, sent):  # noqa: F811
    one = answerable(talk, minutes=3 * 24 * 60)
    page = one.open(open_page("agent"))
    take(page)
    reply = page.locator("#reply")
    expect(reply).to_contain_text("WhatsApp only allows an approved template")
    for width, height in ((1366, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(page.url)
        expect(reply.get_by_role("button", name="Load the template")).to_be_in_viewport()
    blank = page.get_by_label("Blank 1")
    for _ in range(15):
        if blank.count():
            break
        reply.get_by_role("button", name=re.compile("Load the template|Refresh")).click()
        page.wait_for_timeout(700)
    blank.fill("Jo")
    page.get_by_label("Blank 2").fill("your contract")
    expect(reply.locator("[data-preview]")).to_contain_text("Hello Jo, we have news about your contract.")
    check_looks(page, "reply-template")
    page.get_by_role("button", name="Send the template").click()
    expect(page.locator(".msg.human", has_text="Hello Jo, we have news")).to_be_visible()
    page.get_by_role("button", name=re.compile("Undo")).click()
    expect(page.get_by_label("Blank 1")).to_have_value("Jo")
    expect(reply).to_contain_text("Not sent. Your template is filled in as it was.")
    expect(page.locator("#messages")).to_be_empty()


def test_a_reply_that_is_too_long_is_kept_and_not_sent(open_page, talk, sent):  # noqa: F811
    page = answerable(talk).open(open_page("agent"))
    take(page)
    box(page).fill("x" * 1_860)
    expect(page.locator("#reply-count")).to_contain_text("260 too many: up to 1,600")
    page.get_by_role("button", name="Send").click()
    expect(box(page)).to_have_value("x" * 1_860)
    expect(page.locator(".msg.human")).to_have_count(0)
    box(page).fill("x" * 1_600)
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".msg.human")).to_have_count(1)


def test_a_customer_who_cannot_be_reached_and_a_second_try(open_page, talk):  # noqa: F811
    one = answerable(talk, recipient_tel="+447700900038")
    page = one.open(open_page("agent"))
    take(page)
    box(page).fill("Hello?")
    page.get_by_role("button", name="Send").click()
    failed = page.locator(".msg.human", has_text="Hello?")
    expect(failed.locator(".delivery.bad")).to_contain_text("not on WhatsApp", timeout=SOON)
    check_looks(page, "reply-failed")
    # The next one can be sent at once.
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    failed.get_by_role("button", name="Try again").click()
    expect(page.locator(".msg.human", has_text="Hello?")).to_have_count(2)
    expect(failed.first.get_by_role("button", name="Try again")).to_have_count(0)


def test_without_scripts(open_page, talk):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent", java_script_enabled=False))
    take(page)
    page.get_by_role("link", name="Saved replies").last.click()
    page.locator("main a[href*='saved=']").first.click()
    expect(box(page)).not_to_have_value("")
    box(page).fill("By a form alone")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages")).to_contain_text("Your reply is on its way.")
    mine = page.locator(".msg.human", has_text="By a form alone")
    mine.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Not sent. Your text is below.")).to_be_visible()
    expect(box(page)).to_have_value("By a form alone")


def test_on_a_phone(open_page, talk):  # noqa: F811
    one = answerable(talk)
    page = one.open(open_page("agent", width=360, height=740, dark=True))
    take(page)
    box(page).fill("On the go")
    check_look(page, "reply-phone")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".msg.human", has_text="On the go")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
