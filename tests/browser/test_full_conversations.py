"""Full conversations and quoted text: room is made and the conversation taken; what an email quotes is folded."""

import pytest
from playwright.sync_api import Browser, expect

from console.schema.sizes import size_of
from tests.browser.looks import check_looks
from tests.browser.test_conversation import Talk, talk  # noqa: F401
from tests.dynamodb import to_dynamodb
from tests.support.conversations.full_items import LIMIT, entries

QUOTE = "On Monday, the shop wrote:\n> Your order is on its way."


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_room_is_made_in_a_full_conversation_which_is_then_taken(browser: Browser, demo, signed_in, talk, scripts):  # noqa: F811
    one = talk(0, hand_off_to_human=True)
    one.change(messages=entries(140), x_filler="")
    item = one.platform.get_item(Key=one.key)["Item"]
    one.change(x_filler="x" * (LIMIT - size_of(to_dynamodb(item))))
    context = browser.new_context(
        base_url=demo.url,
        storage_state=signed_in("agent"),
        java_script_enabled=scripts,
        viewport={"width": 820, "height": 860},
    )
    page = one.open(context.new_page())
    expect(page.locator("#full")).to_contain_text("This conversation is full.")
    if scripts:
        check_looks(page, "conversation-full")
    page.get_by_role("button", name="Make room").click()
    expect(page.get_by_text("There is room again.")).to_be_visible()
    expect(page.locator("#full")).to_have_count(0)
    expect(page.locator(".totals")).to_contain_text("140 messages")
    page.get_by_role("button", name="Take").first.click()
    expect(page.locator("#hand-off")).to_contain_text("You have this conversation")
    page.get_by_role("link", name="Show the 40 earlier messages").click()
    expect(page.get_by_text("message 0 ")).to_be_visible()
    context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_quoted_text_of_an_email_is_folded_and_shown_when_asked_for(browser: Browser, demo, signed_in, talk, scripts):  # noqa: F811
    one: Talk = talk(2, channel_method="email")
    email = {"message_id": "<1@post.example>", "role": "user", "content": f"Please cancel it.\n\n{QUOTE}"}
    one.change(messages=[*one.item["messages"], email])
    context = browser.new_context(
        base_url=demo.url,
        storage_state=signed_in("agent"),
        java_script_enabled=scripts,
        viewport={"width": 820, "height": 860},
    )
    page = one.open(context.new_page())
    expect(page.get_by_text("Please cancel it.")).to_be_visible()
    expect(page.get_by_text("Your order is on its way.")).to_be_hidden()
    if scripts:
        check_looks(page, "conversation-quote-folded")
    page.get_by_text("Show quoted text").click()
    expect(page.get_by_text("Your order is on its way.")).to_be_visible()
    if scripts:
        check_looks(page, "conversation-quote-open")
    context.close()
