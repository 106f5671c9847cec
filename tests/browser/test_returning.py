"""Returning a conversation to the AI with messages that nobody has answered, as a person does it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks
from tests.browser.test_conversation import Talk, instant, talk  # noqa: F401 a fixture
from tests.browser.test_receiving import SOON, take, waiting, write  # noqa: F401 a fixture

ASKED = [
    {"message_id": "SM1", "role": "user", "content": "What is my refund?", "timestamp": instant(4)},
    {"message_id": "SM2", "role": "user", "content": "And when does it come?", "timestamp": instant(3)},
]


def unanswered(talk) -> Talk:  # noqa: F811
    one = waiting(talk)
    one.change(messages=[*one.item["messages"], *ASKED])
    return one


def opened(page: Page):
    """The choice of how to return it, opened with its key."""
    page.keyboard.press("r")
    choice = page.locator("#return details")
    expect(choice).to_contain_text("2 messages have no answer")
    expect(choice.locator(".unanswered li")).to_have_text(
        [re.compile("What is my refund[?]$"), re.compile("And when does it come[?]$")]
    )
    return choice


@pytest.mark.parametrize(
    ("button", "said"),
    [
        ("Let the AI answer them", "The AI has been asked to answer the customer."),
        ("Return without an answer", "Returned to the AI."),
    ],
)
def test_two_messages_go_back_as_the_person_decides(open_page, talk, button, said):  # noqa: F811
    one = unanswered(talk)
    page = one.open(open_page("agent"))
    take(page)
    choice = opened(page)
    check_looks(page, "return-unanswered")
    choice.get_by_role("button", name=button).click()
    expect(page.locator("#messages")).to_contain_text(said)
    expect(page.locator("#hand-off .state")).to_have_text("The AI has this conversation")


def test_a_third_message_that_the_open_choice_lacks_is_shown_first(open_page, talk, write):  # noqa: F811
    one = unanswered(talk)
    page = one.open(open_page("agent"))
    take(page)
    choice = opened(page)
    write(one, "Are you there?")
    expect(page.locator(".msg.user", has_text="Are you there?")).to_be_visible(timeout=SOON)
    choice.get_by_role("button", name="Return without an answer").click()
    expect(page.get_by_text("The customer has written again.")).to_be_visible()
    expect(page.locator("#return details")).to_contain_text("3 messages have no answer")
    check_looks(page, "return-refused")
    page.get_by_role("button", name="Return without an answer").click()
    expect(page.locator("#messages")).to_contain_text("Returned to the AI.")


def test_without_scripts(open_page, talk):  # noqa: F811
    one = unanswered(talk)
    page = one.open(open_page("agent", java_script_enabled=False))
    take(page)
    page.locator("#return summary").click()
    page.get_by_role("button", name="Return without an answer").click()
    expect(page.locator("#messages")).to_contain_text("Returned to the AI.")
