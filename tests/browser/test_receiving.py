"""What customers write to people, as a person sees it: it appears by itself, and can be decided about."""

import json
import re
import uuid
from collections.abc import Callable

import boto3
import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_look, check_looks
from tests.browser.test_conversation import Talk, instant, talk  # noqa: F401 a fixture

Write = Callable[..., None]
# Receiver, indexer and pages each look again within seconds.
SOON = 30_000


@pytest.fixture
def write(demo) -> Write:
    """`write(talk, "text")`: its customer writes, and the platform routes that to people; `more` is in the body too."""
    credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    sqs = boto3.client("sqs", endpoint_url=demo.sqs_endpoint, region_name=demo.region, **credentials)

    def send(one: Talk, text: str, **more: str) -> None:
        sender = one.item["primary_channel"]
        body = {"channel_type": "whatsapp", "from": f"whatsapp:{sender}", "message_sid": f"SM{uuid.uuid4().hex}"}
        sqs.send_message(
            QueueUrl=demo.queues["HANDOFF"], MessageBody=json.dumps(body | {"body": text, **one.key, **more})
        )

    return send


def waiting(talk, **attributes) -> Talk:  # noqa: F811
    return talk(
        hand_off_to_human=True,
        hand_off_requested_at=instant(60),
        gsi_hand_off_queue="waiting#ci-cuc-001",
        channel_method="whatsapp",
        **attributes,
    )


def take(page: Page) -> None:
    page.locator("#hand-off").get_by_role("button", name="Take").click()
    expect(page.locator("#hand-off .state")).to_have_text("You have this conversation")


def test_what_the_customer_writes_appears_by_itself_and_is_read_out(open_page, talk, write):  # noqa: F811
    one = waiting(talk)
    page = one.open(open_page("agent"))
    take(page)
    expect(page.locator("#recipient")).to_contain_text("The AI stays silent until you return it.")
    page.locator("#hand-off").get_by_text("Leave a note").click()
    note = page.locator("#note")
    note.fill("calls back")
    write(one, "Are you there? <b>Hello</b>")
    arrived = page.locator(".msg", has_text="Are you there? <b>Hello</b>")
    expect(arrived).to_be_visible(timeout=SOON)
    expect(page.locator("#live")).to_contain_text("Customer: Are you there?")
    # Whoever is writing goes on writing.
    expect(note).to_be_focused()
    expect(note).to_have_value("calls back")
    expect(arrived).to_have_count(1)
    check_looks(page, "conversation-arrived")


def test_once_the_customer_has_written_there_is_time_to_answer_again(open_page, talk, write):  # noqa: F811
    # Only the AI has said something so far.
    config = {"company_whatsapp_number": "+447700900811", "whatsapp_credentials_id": "a/b/c/twilio"}
    one = waiting(talk, messages=1, channel_config={"whatsapp": config})
    page = one.open(open_page("agent"))
    take(page)
    rules = page.locator("#reply-rules")
    expect(rules).to_contain_text("WhatsApp only allows an approved template.")
    # Before its scripts have run, the button leads to a page of its own.
    page.wait_for_load_state()
    page.locator("#recipient").get_by_role("button", name="Reveal").click()
    revealed = page.locator("#recipient [data-revealed]").first
    expect(revealed).to_be_visible()
    write(one, "Are you there?")
    expect(rules).to_contain_text("You can reply until", timeout=SOON)
    expect(page.get_by_label("Your reply")).to_be_visible()
    expect(revealed).to_be_visible()


def test_on_a_phone_too(open_page, talk, write):  # noqa: F811
    one = waiting(talk)
    page = one.open(open_page("agent", width=360, dark=True))
    take(page)
    write(one, "Still waiting")
    expect(page.locator(".msg", has_text="Still waiting")).to_be_visible(timeout=SOON)
    check_look(page, "conversation-arrived-phone")


def test_colleagues_are_told_that_something_came(open_page, talk, write):  # noqa: F811
    one = waiting(talk)
    take(one.open(open_page("agent")))
    colleague = one.open(open_page("admin"))
    write(one, "Anybody?")
    expect(colleague.locator("#news")).to_contain_text("1 new message", timeout=SOON)
    expect(colleague.locator(".msg", has_text="Anybody?")).to_have_count(0)
    colleague.locator("#news").get_by_role("link", name="Show").click()
    expect(colleague.locator(".msg", has_text="Anybody?")).to_be_visible()


def test_the_open_queue_says_what_was_written_and_how_much_is_unanswered(open_page, talk, write):  # noqa: F811
    one = waiting(talk)
    page = open_page("agent")
    page.goto("/queue/?reason=none")
    write(one, "Where is my contract?")
    row = page.locator("[data-row]", has_text="Where is my contract?")
    expect(row).to_contain_text("1 unanswered message", timeout=SOON)
    check_looks(page, "queue-unanswered")


def test_a_first_message_is_rejected_with_a_reason_or_approved(open_page):
    page = open_page("agent")
    page.goto("/queue/")
    page.get_by_role("link", name=re.compile("To approve")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 first message to approve")
    page.get_by_text("Raw data").click()
    check_looks(page, "to-approve")
    page.get_by_text("Reject…").click()
    page.get_by_label("Why should it not be sent?").fill("")
    page.get_by_role("button", name="Reject", exact=True).click()
    # The field is required: nothing was sent.
    expect(page.get_by_label("Why should it not be sent?")).to_be_visible()
    page.locator(".decisions").get_by_role("button", name="Approve").click()
    expect(page.locator("#messages")).to_contain_text("Approved. The message goes out within a minute.")
    expect(page.get_by_role("heading", level=1)).to_have_text("First messages")
    check_looks(page, "approved")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 first message to approve")
    page.locator(".decisions").get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("First messages")


def test_what_was_not_placed_is_discarded_with_a_reason(open_page):
    page = open_page("admin")
    page.goto("/system/")
    page.get_by_role("link", name="Messages not placed").click()
    page.get_by_text("What was received").first.click()
    check_looks(page, "not-placed")
    page.locator(".decisions").get_by_role("button", name="Try again").first.click()
    expect(page.locator("#messages")).to_contain_text("It still cannot be placed.")
    page.get_by_text("Discard…").first.click()
    page.get_by_label("Why are you discarding it?").first.fill("Wrong number")
    page.get_by_role("button", name="Discard", exact=True).first.click()
    expect(page.locator("#messages")).to_contain_text("Discarded.")
