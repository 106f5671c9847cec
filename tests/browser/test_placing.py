"""What agents decide about customers' messages: where one belongs, that none is wanted, that no answer is needed."""

import re

from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks
from tests.browser.test_conversation import Talk, talk  # noqa: F401 a fixture
from tests.browser.test_receiving import SOON, take, waiting, write  # noqa: F401 a fixture

OURS = "+447700900811"
STRANGER = {"from": "whatsapp:+447700900968", "to": f"whatsapp:{OURS}"}
LOST = "It is me, on my neighbour’s phone."


def of_ours(talk) -> Talk:  # noqa: F811
    config = {"company_whatsapp_number": OURS, "whatsapp_credentials_id": "a/b/c/twilio"}
    return waiting(talk, gsi_company_whatsapp_number=OURS, channel_config={"whatsapp": config}, comms_consent=True)


def attention(page: Page) -> Page:
    """The tab with what needs attention, once it lists the message."""
    page.goto("/queue/?tab=attention")
    expect(page.locator("#to-place").get_by_text(LOST).first).to_be_visible(timeout=SOON)
    return page


def test_an_agent_puts_a_message_where_it_belongs_with_one_click(open_page, talk, write):  # noqa: F811
    one = of_ours(talk)
    write(one, LOST, **STRANGER)
    page = attention(open_page("agent"))
    check_looks(page, "attention-to-place")
    one.open(page)
    place = page.locator(".to-place", has_text=LOST)
    expect(place).to_contain_text("A message may belong here.")
    expect(place).not_to_contain_text("900968")
    check_looks(page, "conversation-to-place")
    place.get_by_role("button", name="Put it here").click()
    expect(page.locator("#messages")).to_contain_text("The message is in this conversation now.")
    expect(page.locator(".msg", has_text=LOST)).to_contain_text("placed here by a colleague")
    expect(page.locator(".to-place", has_text=LOST)).to_have_count(0)


def test_without_scripts_it_is_put_there_from_the_list(open_page, talk, write):  # noqa: F811
    one = of_ours(talk)
    write(one, LOST, **STRANGER)
    attention(open_page("agent"))
    page = attention(open_page("agent", java_script_enabled=False))
    page.locator("#to-place").get_by_role("button", name=re.compile("^Put it here")).last.click()
    expect(page.locator("#messages")).to_contain_text("The message is in this conversation now.")


def test_after_stop_nobody_can_write_until_a_reason_lifts_it(open_page, talk, write):  # noqa: F811
    one = of_ours(talk)
    page = one.open(open_page("agent"))
    take(page)
    write(one, "STOP", to=f"whatsapp:{OURS}")
    expect(page.locator(".msg", has_text="STOP")).to_contain_text("asks for no more messages", timeout=SOON)
    rules = page.locator("#reply")
    expect(rules).to_contain_text("This customer asked for no more messages (STOP).", timeout=SOON)
    page.reload()
    expect(page.get_by_label("Your reply")).to_have_count(0)
    page.get_by_text("Allow messages again…").click()
    check_looks(page, "opted-out")
    page.get_by_label("Why can this customer get messages again?").fill("asked on the phone to go on")
    page.get_by_role("button", name="Allow messages").click()
    expect(page.locator("#messages")).to_contain_text("You can reply again.")
    expect(page.get_by_label("Your reply")).to_be_visible()


def test_no_answer_needed_stops_the_clock_and_can_be_undone(open_page, talk, write):  # noqa: F811
    one = of_ours(talk)
    page = one.open(open_page("agent"))
    take(page)
    write(one, "Thanks a lot!")
    page.locator("#return").get_by_role("button", name="No answer needed").click(timeout=SOON)
    expect(page.locator("#messages")).to_contain_text("Noted: no answer needed.")
    expect(page.locator("#return")).to_contain_text("You said that no answer is needed.")
    check_looks(page, "no-answer-needed")
    page.locator("#return").get_by_role("button", name="Undo").click()
    expect(page.locator("#return")).to_contain_text("has no answer")
    check_looks(page, "answer-needed")
