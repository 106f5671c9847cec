"""The platform at work, and locked, as the person sees it who takes the conversation from its AI."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks
from tests.browser.test_conversation import Talk, instant, look_again, talk  # noqa: F401 a fixture

ASKED, MORE = "orders can be cancelled?", "and what does it cost?"
REFUSED = "The platform accepts no messages from this customer right now, and tells them to wait."
SOON = 30_000


@pytest.fixture
def locked(demo, talk):  # noqa: F811
    """A conversation that the platform has locked, with words in its stage."""
    credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    resource = boto3.resource("dynamodb", endpoint_url=demo.endpoint, region_name=demo.region, **credentials)
    stage = resource.Table(demo.tables["CONVERSATIONS_STAGE"])
    one = talk(channel_method="whatsapp")
    one.change(conversation_status="processing_reply")
    now = datetime.now(UTC).replace(tzinfo=None)
    for ago, body in ((20, ASKED), (9, MORE)):
        at = (now - timedelta(seconds=ago)).isoformat()
        stage.put_item(Item={**one.key, "message_sid": f"SM{uuid.uuid4().hex}", "body": body, "received_at": at})
    return one


def at_work(page: Page):
    return page.locator("[data-at-work]")


def expect_words(page: Page) -> None:
    expect(at_work(page)).to_contain_text("The AI is still answering:")
    expect(at_work(page).locator("li")).to_have_text([re.compile(re.escape(f"«{each}»")) for each in (ASKED, MORE)])
    expect(at_work(page)).to_contain_text(REFUSED)


def take(page: Page) -> None:
    page.locator("#hand-off").get_by_role("button", name="Take over").click()
    expect(page.locator("#hand-off .state")).to_have_text("You have this conversation")


def answer(one: Talk) -> None:
    """The worker writes what it was given and its answer, and ends its lock."""
    written = [
        {"message_id": "SM1", "role": "user", "content": f"{ASKED}\n{MORE}", "timestamp": instant()},
        {"message_id": "SM2", "role": "assistant", "content": "Yes, until noon.", "timestamp": instant()},
    ]
    one.change(messages=[*one.item["messages"], *written], conversation_status="reply_sent")


def test_the_page_shows_what_the_ai_answers_before_and_after_a_take_until_it_has(open_page, locked):
    page = locked.open(open_page("agent"))
    expect_words(page)
    check_looks(page, "conversation-locked")
    take(page)
    expect_words(page)
    expect(page.locator("#recipient")).to_contain_text("The AI may still answer what the customer wrote before.")
    expect(page.locator("#recipient")).not_to_contain_text("silent")
    check_looks(page, "conversation-locked-held")
    answer(locked)
    look_again(page)
    late = page.locator(".msg.ai", has_text="Yes, until noon.")
    expect(late).to_contain_text("the AI answered after you took over", timeout=SOON)
    expect(at_work(page)).to_be_empty()
    page.reload()
    expect(page.locator("#recipient")).to_contain_text("The AI stays silent until you return it.")
    check_looks(page, "conversation-answered-late")


def test_without_scripts(open_page, locked):
    page = locked.open(open_page("agent", java_script_enabled=False))
    expect_words(page)
    take(page)
    expect_words(page)
