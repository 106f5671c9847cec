"""Selecting rows of the queue: with the mouse, by keys, without scripts; and giving them to a colleague."""

import re
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks
from tests.items import conversation, key_of

COMPANY = "ci-cuc-001"
QUEUE = f"/queue/?company={COMPANY}"
# The first answer of an open page comes within a second, the next ones every eight; then the indexer's own.
SOON = 20_000
# Every open page asks every eight seconds.
WITHIN_MS = 10_000


@pytest.fixture
def asked(platform):
    """Asks for a human in several conversations, whose reasons begin with a word; they are gone at the end."""
    keys = []

    def ask(word: str, count: int, **more) -> None:
        for number in range(count):
            item = conversation(
                primary_channel=f"+44770090{len(keys) + 6000}",
                company_id=COMPANY,
                conversation_status="awaiting_reply",
                messages=[],
                hand_off_to_human=True,
                hand_off_to_human_reason=f"{word} {number + 1}",
                hand_off_urgent="by hand",
                **more,
            )
            platform.put_item(Item=item)
            keys.append(key_of(item))

    yield ask
    for key in keys:
        platform.delete_item(Key=key)


def rows(page: Page, word: str):
    return page.locator("[data-row]").filter(has_text=re.compile(rf"{word} \d"))


def open_tab(page: Page, tab: str, word: str, count: int) -> None:
    """Open a tab once it lists so many."""
    page.goto(f"{QUEUE}&tab={tab}")
    page.mouse.move(2, 2)
    expect(rows(page, word)).to_have_count(count, timeout=SOON)


def bar(page: Page):
    return page.locator("#selected")


def test_three_are_selected_and_taken_and_released_again(open_page, asked):
    asked("Sel-a", 4)
    page = open_page("agent")
    open_tab(page, "waiting", "Sel-a", 4)
    expect(bar(page)).to_be_hidden()
    for number in range(3):
        rows(page, "Sel-a").nth(number).get_by_role("checkbox").check()
    expect(bar(page)).to_contain_text("3 selected")
    check_looks(page, "queue-selected")
    page.set_viewport_size({"width": 820, "height": 860})
    expect(bar(page)).to_be_in_viewport()
    bar(page).get_by_role("button", name="Take").click()
    expect(page.get_by_text("You took 3 conversations.")).to_be_visible()
    open_tab(page, "waiting", "Sel-a", 1)
    open_tab(page, "mine", "Sel-a", 3)
    for number in range(3):
        rows(page, "Sel-a").nth(number).get_by_role("checkbox").check()
    bar(page).get_by_role("button", name="Return to queue").click()
    expect(page.get_by_text("Returned 3 conversations to the queue.")).to_be_visible()
    open_tab(page, "waiting", "Sel-a", 4)


def test_x_selects_the_row_that_j_and_k_move_to(open_page, asked):
    asked("Sel-b", 3)
    page = open_page("agent")
    open_tab(page, "waiting", "Sel-b", 3)
    page.keyboard.press("x")
    expect(bar(page)).to_be_hidden()
    chosen = []
    for keys in ("jx", "jx", "jxx"):
        for key in keys:
            page.keyboard.press(key)
        chosen.append(page.locator("[data-row] :focus").get_attribute("href"))
    assert len(set(chosen)) == 3
    expect(bar(page)).to_contain_text("2 selected")
    expect(page.locator("[name=selected]:checked")).to_have_count(2)
    expect(page.locator("#live")).to_have_text("2 selected")
    # Enter on a checkbox does nothing that one did not ask for.
    page.locator("[name=selected]:checked").first.press("Enter")
    expect(bar(page)).to_contain_text("2 selected")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("select the row")
    open_tab(page, "waiting", "Sel-b", 3)


def test_all_of_a_page_are_selected_and_none_again(open_page, asked):
    asked("Sel-c", 2)
    page = open_page("agent")
    open_tab(page, "waiting", "Sel-c", 2)
    every, boxes = page.get_by_label("Select all on this page"), page.locator("[name=selected]")
    every.check()
    expect(page.locator("[name=selected]:checked")).to_have_count(boxes.count())
    expect(bar(page)).to_contain_text(f"{boxes.count()} selected")
    boxes.first.uncheck()
    assert every.evaluate("each => each.indeterminate")
    bar(page).get_by_role("button", name="Clear").click()
    expect(page.locator("[name=selected]:checked")).to_have_count(0)
    expect(bar(page)).to_be_hidden()


def test_what_is_selected_stays_so_while_the_list_is_refreshed(open_page, asked):
    asked("Sel-d", 2)
    page = open_page("agent")
    open_tab(page, "waiting", "Sel-d", 2)
    rows(page, "Sel-d").filter(has_text="Sel-d 2").get_by_role("checkbox").check()
    # Nobody is about to press anything there, so the list may move.
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(2, 2)
    asked("Sel-new", 1)
    expect(rows(page, "Sel-new")).to_have_count(1, timeout=SOON)
    expect(rows(page, "Sel-d").filter(has_text="Sel-d 2").get_by_role("checkbox")).to_be_checked()
    expect(page.locator("[name=selected]:checked")).to_have_count(1)
    expect(bar(page)).to_contain_text("1 selected")


def test_without_scripts_it_is_one_plain_form(open_page, asked):
    asked("Sel-e", 3)
    open_tab(open_page("agent"), "waiting", "Sel-e", 3)
    page = open_page("agent", java_script_enabled=False)
    page.goto(f"{QUEUE}&tab=waiting")
    expect(page.get_by_label("Select all on this page")).to_be_hidden()
    # It covers nothing while nothing is selected.
    expect(bar(page)).to_be_hidden()
    for number in range(2):
        rows(page, "Sel-e").nth(number).get_by_role("checkbox").check()
    rows(page, "Sel-e").first.get_by_role("checkbox").press("Enter")
    expect(page.get_by_text("Choose what to do with the selected conversations.")).to_be_visible()
    for number in range(2):
        rows(page, "Sel-e").nth(number).get_by_role("checkbox").check()
    bar(page).get_by_role("button", name="Take").click()
    expect(page.get_by_text("You took 2 conversations.")).to_be_visible()


def test_a_lead_assigns_two_and_the_colleague_is_told_once(open_page, asked):
    asked("Sel-f", 2)
    agent, lead = open_page("agent"), open_page("admin")
    agent.goto("/saved-replies/")
    open_tab(lead, "waiting", "Sel-f", 2)
    for number in range(2):
        rows(lead, "Sel-f").nth(number).get_by_role("checkbox").check()
    bar(lead).get_by_role("button", name="Transfer…").click()
    expect(lead.get_by_role("heading", level=1)).to_have_text("Transfer 2 conversations")
    check_looks(lead, "give-selected")
    lead.set_viewport_size({"width": 1280, "height": 860})
    lead.get_by_label("Who gets them").select_option(label="Amira Haddad")
    lead.get_by_label("Why").fill("You know this client")
    lead.get_by_role("button", name="Transfer conversations").click()
    expect(lead.get_by_text("Transferred 2 conversations. Your colleague can see them now.")).to_be_visible()
    told = agent.locator("#notices")
    expect(told).to_contain_text(
        "Ada Lindqvist transferred 2 conversations to you: You know this client", timeout=WITHIN_MS
    )
    everything = agent.request.get(urljoin(agent.url, "/notices/")).text()
    assert everything.count("You know this client") == 1
    told.get_by_role("link", name="Open it").click()
    expect(agent.get_by_role("heading", level=1)).to_contain_text("You hold")
    expect(rows(agent, "Sel-f")).to_have_count(2, timeout=SOON)
