"""What an agent does: find a conversation, read it, take it over, hand it back, and see that in its trail."""

import re

import pytest
from playwright.sync_api import expect


def test_company_project_conversation_take_over_hand_back_trail(open_page):
    page = open_page("agent")
    page.goto("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Conversations").click()
    page.get_by_role("link", name="Northwind Energy").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Northwind Energy")
    page.get_by_role("link", name="Billing").first.click()
    page.get_by_label("Hand-off").select_option(label="with the AI")
    page.wait_for_url(re.compile("hand_off=[^&]"))
    page.get_by_label("Status").select_option(label="waiting for the customer")
    page.wait_for_url(re.compile("status=[^&]"))
    page.get_by_role("link", name="***-***-").nth(2).click()
    expect(page.locator("ol.talk")).to_be_visible()
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("You took over. The conversation is yours")).to_be_visible()
    expect(page.get_by_text("You have this conversation")).to_be_visible()
    page.get_by_text("Leave a note").click()
    page.locator("#note").fill("Wants a call after 5 pm")
    page.get_by_role("button", name="Return to AI").click()
    expect(page.get_by_text("Returned to the AI.")).to_be_visible()
    expect(page.get_by_text("The AI has this conversation")).to_be_visible()
    expect(page.get_by_text("Wants a call after 5 pm")).to_be_visible()
    page.get_by_role("link", name="Trail").first.click()
    expect(page.get_by_text("took over").first).to_be_visible()
    expect(page.get_by_text("returned it to the AI").first).to_be_visible()


def test_two_agents_take_the_same_row_and_the_second_is_told_who_won(open_page):
    # Without scripts a page stays as it was when it was opened.
    first, second = open_page("agent"), open_page("admin", java_script_enabled=False)
    first.goto("/queue/?tab=waiting&company=ci-cuc-001")
    row = first.locator("[data-row]").first
    link = row.locator("[data-open]").get_attribute("href")
    reference = link.split("?")[0]
    second.goto("/queue/?tab=waiting&company=ci-cuc-001")
    row.get_by_role("button", name="Take").click()
    expect(first.get_by_text("You have this conversation").first).to_be_visible()
    second.locator("[data-row]").filter(has=second.locator(f'[data-open][href^="{reference}"]')).get_by_role(
        "button", name="Take"
    ).click()
    expect(second.get_by_text("took this conversation first")).to_be_visible()
    expect(second.locator("#talk")).to_be_visible()
    expect(second.get_by_text("amira").first).to_be_visible()


def test_the_keyboard_takes_the_focused_row(open_page):
    page = open_page("agent")
    page.goto("/queue/")
    expect(page.locator("[data-row]").nth(1)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("[data-row]").nth(1).locator(":focus")).to_have_count(1)
    page.keyboard.press("t")
    expect(page.get_by_text("You have this conversation").first).to_be_visible()


def test_it_all_works_without_javascript(open_page):
    page = open_page("agent", java_script_enabled=False)
    page.goto("/queue/")
    page.locator("[data-row]").first.get_by_role("button", name="Take").click()
    expect(page.get_by_text("You have this conversation").first).to_be_visible()
    page.get_by_role("button", name="Return to queue").click()
    expect(page.get_by_text("Waiting for a human").first).to_be_visible()


@pytest.mark.parametrize("role", ["auditor", "onboarding"])
def test_other_roles_have_no_queue(open_page, role):
    page = open_page(role)
    expect(page.get_by_role("link", name="Queue")).to_have_count(0)
    assert page.goto("/queue/").status == 403
    expect(page.get_by_role("heading", level=1)).to_contain_text("not part of your role")
