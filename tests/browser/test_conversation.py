"""An open conversation: what it tells by itself, what stays where it is, and where the focus goes."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import without_polls
from tests.browser.looks import check_look, check_looks
from tests.items import conversation, key_of

COMPANY = "ci-cuc-001"


def instant(minutes_ago: float = 0) -> str:
    moment = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def said(number: int, minutes_ago: float = 0) -> dict[str, str]:
    role = "assistant" if number % 2 else "user"
    return {
        "entry_id": f"e{number}",
        "role": role,
        "content": f"number {number}.",
        "message_timestamp": instant(minutes_ago),
    }


class Talk:
    """A conversation that the platform writes."""

    def __init__(self, platform, messages: int, **more) -> None:
        self.platform, self.count = platform, messages
        self.item = conversation(
            primary_channel=f"+4477009{uuid.uuid4().int % 100000:05}",
            company_id=COMPANY,
            conversation_status="reply_sent",
            messages=[said(n, 500 - n) for n in range(1, messages + 1)],
            created_at=instant(600),
            updated_at=instant(90),
            **more,
        )
        self.key = key_of(self.item)
        platform.put_item(Item=self.item)

    def open(self, page: Page) -> Page:
        """Find it by its id, as the address that leads there is sealed."""
        page.goto("/conversations/find/")
        page.locator("#id_id_conversation_id").fill(self.key["conversation_id"])
        page.locator("section[aria-labelledby=look-id] button").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("***")
        # Until its scripts are there, links of parts of the page lead to pages of their own.
        page.wait_for_load_state()
        return page

    def say(self, number: int = 1) -> None:
        """So many more messages come."""
        new = [said(self.count + each) for each in range(1, number + 1)]
        self.count += number
        self.platform.update_item(
            Key=self.key,
            UpdateExpression="SET messages = list_append(messages, :new), updated_at = :now",
            ExpressionAttributeValues={":new": new, ":now": instant()},
        )

    def change(self, **values) -> None:
        """The platform, or a colleague's console, sets attributes."""
        values |= {"updated_at": instant()}
        self.platform.update_item(
            Key=self.key,
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            ExpressionAttributeNames={f"#{name}": name for name in values},
            ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
        )


@pytest.fixture
def talk(platform):
    """`talk(messages=3)`: a conversation of its own; gone after the test."""
    made: list[Talk] = []

    def make(messages: int = 3, **more) -> Talk:
        made.append(Talk(platform, messages, **more))
        return made[-1]

    yield make
    for each in made:
        platform.delete_item(Key=each.key)


def look_again(page: Page) -> None:
    """As when the tab is seen again: the page asks at once and not only in a while."""
    page.wait_for_load_state()
    with page.expect_response(re.compile("/updates/")):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def scrolled(page: Page) -> float:
    return page.evaluate("scrollY")


def news(page: Page):
    return page.locator("#news")


# --- What it tells by itself --------------------------------------------------------------------------------------


def test_a_new_message_is_told_and_shown_when_it_is_asked_for(open_page, talk):
    one = talk(40)
    page = one.open(open_page("agent"))
    one.say()
    look_again(page)
    expect(news(page)).to_have_text("1 new message · Show")
    expect(news(page)).to_have_attribute("role", "status")
    expect(page.get_by_text("number 41.")).to_have_count(0)
    expect(page.locator(".totals")).to_contain_text("40 messages")
    one.say()
    look_again(page)
    expect(news(page)).to_have_text("2 new messages · Show")
    news(page).get_by_role("link", name="Show").click()
    expect(page.get_by_text("number 42.")).to_be_visible()
    expect(page.locator(".msg:focus")).to_contain_text("number 41.")
    expect(page.locator(".msg:focus")).to_be_in_viewport()
    expect(page.locator(".totals")).to_contain_text("42 messages")
    expect(news(page)).to_be_empty()
    look_again(page)
    expect(news(page)).to_be_empty()


def test_the_page_asks_by_itself(open_page, talk):
    one = talk()
    page = one.open(open_page("agent"))
    one.say()
    expect(news(page)).to_contain_text("1 new message", timeout=20_000)


def test_who_reads_further_up_is_not_moved_and_is_told_the_way(open_page, talk):
    one = talk(60)
    page = one.open(open_page("agent"))
    page.evaluate("scrollTo(0, 900)")
    page.locator(".msg").nth(9).locator("summary, a").first.focus()
    page.evaluate("scrollTo(0, 900)")
    one.say(2)
    look_again(page)
    expect(news(page)).to_be_in_viewport()
    assert scrolled(page) == 900
    news(page).get_by_role("link", name="Show").focus()
    assert scrolled(page) == 900
    page.keyboard.press("Enter")
    expect(news(page)).to_have_text("The new messages are below · Go there")
    assert scrolled(page) == 900
    news(page).get_by_role("link", name="Go there").click()
    expect(page.get_by_text("number 61.")).to_be_in_viewport()
    expect(news(page)).to_be_empty()


def test_who_took_it_is_told_and_the_panel_says_so(open_page, talk):
    one = talk()
    page = one.open(open_page("agent"))
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    taken = {"hand_off_to_human": True, "hand_off_agent": "tom", "hand_off_action_id": "f" * 32}
    one.change(**taken, hand_off_taken_at=instant())
    look_again(page)
    expect(news(page)).to_have_text("Tom Becker took this conversation · Show")
    expect(page.locator("#hand-off .state")).to_have_text("Tom Becker has this conversation")
    expect(page.get_by_role("button", name="Take over")).to_have_count(0)
    news(page).get_by_role("link", name="Show").click()
    expect(page.locator(".event", has_text="Tom Becker took over")).to_be_visible()


def test_who_loses_it_to_a_colleague_loses_all_that_answers(open_page, talk):
    one = talk(hand_off_to_human=True, hand_off_requested_at=instant(60), gsi_hand_off_queue=f"waiting#{COMPANY}")
    first, second = one.open(open_page("agent")), one.open(open_page("admin"))
    first.locator("#hand-off").get_by_role("button", name="Take").click()
    expect(first.locator("#messages")).to_contain_text("You have this conversation.")
    first.get_by_role("button", name="Reveal").click()
    expect(first.locator("#recipient")).to_contain_text(one.key["primary_channel"])
    expect(first.get_by_role("heading", name="Reply over WhatsApp")).to_be_visible()
    second.reload()
    second.get_by_text("Take from Amira Haddad…").click()
    second.get_by_label("Why are you taking it?").fill("she went home")
    second.get_by_role("button", name="Take from Amira Haddad").click()
    expect(second.get_by_role("heading", name="Reply over WhatsApp")).to_be_visible()
    # The pointer rests on the panel, as it does after a click: what is typed there may stay, what answers may not.
    first.locator("#hand-off").hover()
    look_again(first)
    expect(first.locator("#hand-off .state")).to_have_text("Ada Lindqvist has this conversation")
    expect(first.get_by_text("You have this conversation")).to_have_count(0)
    expect(first.get_by_role("heading", name="Reply over WhatsApp")).to_have_count(0)
    expect(first.get_by_role("heading", name="Recipient").first).to_be_visible()
    expect(first.get_by_text("Its replies during your hand-off are marked in the conversation")).to_have_count(0)
    expect(first.locator("#recipient")).not_to_contain_text(one.key["primary_channel"])
    first.mouse.move(0, 0)
    expect(first.get_by_role("button", name="Return to AI")).to_have_count(0)
    expect(first.get_by_text("Take from Ada Lindqvist…")).to_be_visible()
    # What came in their place works.
    first.get_by_role("button", name="Reveal").click()
    expect(first.locator("#recipient")).to_contain_text(one.key["primary_channel"])


def test_who_loses_it_to_the_platform_loses_all_that_answers_by_itself(open_page, talk):
    one = talk()
    page = one.open(open_page("agent"))
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_role("heading", name="Reply over WhatsApp")).to_be_visible()
    page.mouse.move(0, 0)
    one.change(hand_off_to_human=False)
    expect(page.locator("#hand-off .state")).to_have_text("The platform overrode your take-over", timeout=20_000)
    expect(page.get_by_role("heading", name="Reply over WhatsApp")).to_have_count(0)
    expect(page.get_by_text("The conversation is yours until you return it")).to_have_count(0)
    expect(page.locator("#messages")).to_have_count(1)


def test_what_was_revealed_stays_while_its_reader_holds_nothing(open_page, talk):
    one = talk()
    page = one.open(open_page("agent"))
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#recipient")).to_contain_text(one.key["primary_channel"])
    page.mouse.move(0, 0)
    one.change(hand_off_to_human=True, hand_off_agent="tom", hand_off_action_id="f" * 32)
    look_again(page)
    expect(page.locator("#hand-off .state")).to_have_text("Tom Becker has this conversation")
    expect(page.locator("#recipient")).to_contain_text(one.key["primary_channel"])


def test_a_half_typed_note_and_an_open_menu_survive_it_all(open_page, talk):
    held = {"hand_off_to_human": True, "hand_off_agent": "amira", "hand_off_action_id": "e" * 32}
    one = talk(30, **held, hand_off_requested_at=instant(60), hand_off_taken_at=instant(50))
    page = one.open(open_page("agent"))
    page.get_by_text("Leave a note").click()
    page.locator("#note").fill("Half a sent")
    page.locator(".msg .cost, .msg .link-here").first.focus()
    page.locator("details.panel > summary").first.click()
    opened = page.locator("details.panel[open]").count()
    one.say()
    one.change(hand_off_agent="tom", hand_off_action_id="d" * 32)
    look_again(page)
    expect(news(page)).to_contain_text("1 new message · Tom Becker took this conversation")
    expect(page.locator("#hand-off .state")).to_have_text("Tom Becker has this conversation")
    news(page).get_by_role("link", name="Show").click()
    expect(page.get_by_text("number 31.")).to_be_visible()
    expect(page.locator("#note")).to_have_value("Half a sent")
    expect(page.locator("#note")).to_be_visible()
    assert page.locator("details.panel[open]").count() == opened


def test_earlier_messages_stay_when_new_ones_are_shown(open_page, talk):
    one = talk(230)
    page = one.open(open_page("agent"))
    page.locator(".earlier a").click()
    expect(page.get_by_text("number 31.", exact=True)).to_have_count(1)
    one.say()
    look_again(page)
    news(page).get_by_role("link", name="Show").click()
    expect(page.get_by_text("number 231.")).to_have_count(1)
    expect(page.locator(".msg")).to_have_count(201)
    expect(page.locator(".earlier")).to_have_count(1)
    expect(page.locator(".day")).to_have_count(page.locator(".day").count())


def test_on_an_older_page_show_brings_the_latest_messages(open_page, talk):
    one = talk(230)
    page = one.open(open_page("agent"))
    page.goto(page.locator(".earlier a").get_attribute("href"))
    expect(page.get_by_text("number 130.", exact=True)).to_have_count(1)
    one.say()
    look_again(page)
    expect(news(page)).to_have_text("1 new message · Show")
    news(page).get_by_role("link", name="Show").click()
    expect(page.get_by_text("number 231.")).to_be_in_viewport()
    expect(page.get_by_role("link", name="Later messages")).to_have_count(0)


def test_the_first_message_of_all_is_shown_too(open_page, talk):
    one = talk(0)
    page = one.open(open_page("agent"))
    expect(page.get_by_text("No messages yet")).to_be_visible()
    one.say()
    look_again(page)
    news(page).get_by_role("link", name="Show").click()
    expect(page.get_by_text("number 1.")).to_be_visible()
    expect(page.get_by_text("No messages yet")).to_have_count(0)


def test_the_line_is_accessible_in_every_look(open_page, talk):
    one = talk(40)
    page = one.open(open_page("agent"))
    one.say()
    one.change(hand_off_to_human=True, hand_off_agent="tom", hand_off_action_id="f" * 32)
    look_again(page)
    expect(news(page)).to_contain_text("Show")
    check_looks(page, "conversation-updates")


def test_signed_out_it_ends_politely(open_page, talk):
    page = talk().open(open_page("agent"))
    page.context.clear_cookies()
    look_again(page)
    expect(news(page)).to_contain_text("You are signed out, so this conversation is no longer updated.")
    expect(news(page).get_by_role("link", name="Sign in again")).to_be_visible()


def test_with_the_network_back_it_is_live_at_once(open_page, talk):
    page = talk().open(open_page("agent"))
    page.context.set_offline(True)
    for _ in range(2):
        with page.expect_event("requestfailed", lambda request: "/updates/" in request.url):
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(news(page)).to_contain_text("Not live: the server does not answer.")
    page.context.set_offline(False)
    expect(page.locator("#news")).to_be_empty()


# --- Where one is and what has the focus --------------------------------------------------------------------------


def top_of(page: Page, text: str) -> float:
    return page.get_by_text(text, exact=True).evaluate("each => each.getBoundingClientRect().top")


@pytest.mark.parametrize("offset", [0, 40])
def test_earlier_messages_do_not_move_the_reader(open_page, talk, offset):
    page = talk(230).open(open_page("agent"))
    # What colleagues tell, which stands above it all, does not come in meanwhile.
    without_polls(page)
    page.evaluate(f"scrollTo(0, {offset})")
    page.locator(".earlier a").evaluate("each => each.focus({ preventScroll: true })")
    before = top_of(page, "number 131.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("number 31.", exact=True)).to_have_count(1)
    page.wait_for_timeout(200)
    assert abs(top_of(page, "number 131.") - before) <= 1
    expect(page.locator(".earlier a:focus")).to_have_text("Show the 30 earlier messages")
    expect(page.locator("#live")).to_have_text("100 earlier messages are above")
    page.keyboard.press("Enter")
    expect(page.get_by_text("number 1.", exact=True)).to_have_count(1)
    page.wait_for_timeout(200)
    assert abs(top_of(page, "number 131.") - before) <= 1
    expect(page.locator(".msg:focus")).to_contain_text("number 31.")


@pytest.mark.parametrize("width", [1280, 360])
def test_what_was_done_is_said_where_one_sees_it(open_page, talk, width):
    page = talk(80).open(open_page("agent", width=width, height=740))
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("The conversation is yours until you return it")).to_be_in_viewport(ratio=1)
    if width == 1280:
        expect(page.get_by_role("list", name="Messages").get_by_text("number 80.")).to_be_in_viewport()
    expect(page.locator("#messages")).to_have_count(1)
    page.get_by_role("button", name="Return to queue").click()
    expect(page.get_by_text("Returned to the queue. The waiting time continues.")).to_be_in_viewport(ratio=1)


def test_what_is_revealed_has_the_focus_and_is_read_out(open_page, talk):
    one = talk()
    page = one.open(open_page("agent"))
    # Until its scripts run, the button leads to a page of its own.
    page.wait_for_load_state()
    page.get_by_role("button", name="Reveal").focus()
    page.keyboard.press("Enter")
    number = one.key["primary_channel"]
    expect(page.locator("#recipient :focus")).to_have_text(number)
    expect(page.locator("#live")).to_have_text(f"Number {number}")


# --- Handing back -------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(talk):
    """A conversation that the agent holds, and has for longer than a day."""
    held = {"hand_off_to_human": True, "hand_off_agent": "amira", "hand_off_action_id": uuid.uuid4().hex}
    held |= {"hand_off_requested_at": instant(3000), "hand_off_taken_at": instant(2900)}
    return talk(3, **held, hand_off_to_human_reason="Mine of this test", gsi_hand_off_queue=f"held#{COMPANY}")


def test_the_key_asks_before_it_hands_back(open_page, mine):
    page = mine.open(open_page("agent"))
    dialog = page.get_by_role("dialog", name="Return to AI")
    page.keyboard.press("r")
    expect(dialog).to_be_visible()
    check_look(page, "ask")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("r")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("You have this conversation")).to_be_visible()
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    expect(page.locator("#messages")).to_contain_text("Returned to the AI.")


def test_the_key_asks_in_a_row_and_one_stays_in_the_list(open_page, mine):
    page = open_page("agent")
    page.goto("/queue/?tab=mine")
    row = page.locator("[data-row]", has_text="Mine of this test")
    row.locator("[data-open]").focus()
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog", name="Return to AI")
    expect(dialog).to_contain_text(f"***-***-{mine.key['primary_channel'][-4:]}")
    dialog.get_by_role("button", name="Return to AI").click()
    page.wait_for_url("**/queue/?tab=mine")
    expect(page.locator("#messages")).to_contain_text("Returned to the AI.")
    expect(row).to_have_count(0)


def test_that_somebody_holds_it_for_long_is_not_cut_off(open_page, mine):
    page = open_page("agent")
    page.goto("/queue/?tab=mine")
    mark = page.locator("[data-row]", has_text="Mine of this test").get_by_text("held overnight")
    assert mark.evaluate(
        "each => each.getBoundingClientRect().right <= each.closest('.what').getBoundingClientRect().right"
    )


def test_talk_stands_in_the_middle_of_a_large_screen(open_page):
    """No half of it is empty, and no line is too long to read."""
    page = open_page("agent", width=1920)
    page.goto("/queue/?tab=mine")
    page.locator("[data-open]").first.click()
    expect(page.locator(".talk")).to_be_visible()
    left, right, width, longest = page.evaluate("""() => {
      const boxOf = selector => document.querySelector(selector).getBoundingClientRect();
      const [main, talk] = [boxOf('.split > .main'), boxOf('.talk')];
      const longest = Math.max(...[...document.querySelectorAll('.msg')].map(each => each.clientWidth));
      return [talk.left - main.left, main.right - talk.right, talk.width, longest];
    }""")
    assert abs(left - right) <= 1
    assert left < width / 3
    assert longest <= 640
