"""Giving work: a lead assigns a conversation, and the colleague hears of it whatever page they have open."""

import re

from playwright.sync_api import Route, expect

from tests.browser.looks import check_looks

QUEUE = "/queue/?company=ci-cuc-001"
# Every open page asks every eight seconds.
WITHIN_MS = 20_000


def test_a_lead_assigns_and_the_colleague_is_told_on_whatever_page_they_have(open_page):
    agent, lead = open_page("agent"), open_page("admin")
    agent.goto("/saved-replies/")
    lead.goto(QUEUE)
    lead.locator("[data-row] [data-open]").last.click()
    lead.get_by_role("link", name="Transfer…").click()
    check_looks(lead, "give")
    lead.set_viewport_size({"width": 1280, "height": 860})
    # Without a reason it stays as it was.
    lead.get_by_label("Who gets it").select_option(label="Amira Haddad")
    lead.get_by_label("Why").fill("Knows the candidate")
    lead.get_by_label("Why").press("Enter")
    expect(lead.get_by_text("Transferred. Your colleague can see it now.")).to_be_visible()
    expect(lead.locator("#hand-off .state")).to_have_text("Amira Haddad has this conversation")
    told = agent.locator("#notices")
    expect(told).to_contain_text(
        "Ada Lindqvist transferred this conversation to you: Knows the candidate", timeout=WITHIN_MS
    )
    expect(agent).to_have_title(re.compile(r"^\(\d+\) Saved replies"))
    # On the next page there is room for it before its words come, so that nothing moves.
    polls: list[Route] = []
    agent.set_viewport_size({"width": 360, "height": 740})
    agent.goto("/saved-replies/")
    expect(told).to_contain_text("Knows the candidate")
    agent.route("**/*", lambda route: polls.append(route) if "x-poll" in route.request.headers else route.continue_())
    agent.goto("/help/")
    expect(told).to_have_text("New for you")
    before = agent.get_by_role("heading", level=1).bounding_box()
    assert "Knows" not in agent.evaluate("JSON.stringify([sessionStorage, localStorage])")
    agent.unroute("**/*")
    for each in polls:
        each.continue_()
    expect(told).to_contain_text("Knows the candidate")
    assert agent.get_by_role("heading", level=1).bounding_box() == before
    told.get_by_role("link", name="Open it").click()
    expect(agent.locator("#hand-off .state")).to_have_text("You have this conversation")
    # Who opened it has seen it.
    agent.goto("/notices/")
    expect(agent.get_by_text("Knows the candidate")).to_have_count(0)
    agent.goto("/help/")
    expect(told).to_be_hidden()


def test_who_is_away_says_so_and_is_shown_so(open_page):
    agent, lead = open_page("agent"), open_page("admin")
    agent.goto("/notices/")
    agent.get_by_role("button", name="I am away").click()
    check_looks(agent, "told-away")
    lead.goto("/team/")
    expect(lead.get_by_role("row", name=re.compile("Amira Haddad"))).to_contain_text("away")
    agent.get_by_role("button", name="I am back").click()
    expect(agent.get_by_role("button", name="I am away")).to_be_visible()


def test_what_needs_attention_is_left_until_something_changes(open_page):
    page = open_page("agent")
    page.goto(f"{QUEUE}&tab=attention")
    rows = page.locator("[data-row]")
    count = rows.count()
    assert count > 1
    shown = rows.first.locator(".where, .what p").all_inner_texts()
    rows.first.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("Dismissed. It comes back if something changes.")).to_be_visible()
    assert shown not in [each.locator(".where, .what p").all_inner_texts() for each in rows.all()]


def test_who_else_reads_and_answers_is_said(open_page):
    agent, lead = open_page("agent"), open_page("admin")
    # One that can be answered in words of one's own.
    agent.goto("/queue/?tab=mine")
    for url in [each.get_attribute("href") for each in agent.locator("[data-row] [data-open]").all()]:
        agent.goto(url)
        if agent.locator("#reply-text").is_visible():
            break
    expect(agent.locator("#hand-off .state")).to_have_text("You have this conversation")
    lead.goto(agent.url.partition("?")[0])
    expect(lead.locator("#presence")).to_have_text("Amira Haddad is reading this too.", timeout=WITHIN_MS)
    expect(agent.locator("#presence")).to_have_text("Ada Lindqvist is reading this too.", timeout=WITHIN_MS)
    check_looks(agent, "presence", ("light", "dark-360"))
    agent.locator("#reply-text").fill("One moment")
    expect(lead.locator("#presence")).to_have_text("Amira Haddad is answering.", timeout=2 * WITHIN_MS)
    agent.locator("#reply-text").fill("")
    lead.goto("/team/")
    expect(agent.locator("#presence")).to_be_empty(timeout=5 * WITHIN_MS)
