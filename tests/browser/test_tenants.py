"""Bringing a customer live, as a person does it: with scripts, and without them."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks

STEPS = ("Settings", "First administrator", "Channels", "Companies", "Review")


def onboard(page: Page, name: str, bot: str) -> None:
    page.goto("/tenants/")
    page.get_by_role("link", name="New tenant").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Reserve and continue").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Onboard {name}")
    page.get_by_label("Teams", exact=True).check()
    page.get_by_label("Messages per day").fill("2500")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_label("Id", exact=True).first.fill("robin")
    page.get_by_label("Email").fill("robin@customer.example")
    page.locator("#id_identity-0-type").fill("slack")
    page.locator("#id_identity-0-id").fill("U12345")
    page.get_by_role("button", name="Save and continue").click()
    page.locator("#id_channel-0-type").fill("teams")
    page.locator("#id_channel-0-id").fill(bot)
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Save and continue").click()
    expect(page.get_by_role("heading", name="Review")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_whole_onboarding(open_page, scripts):
    page = open_page("onboarding", java_script_enabled=scripts)
    name, bot = f"Whole {'One' if scripts else 'Two'}", f"bot-{'one' if scripts else 'two'}"
    onboard(page, name, bot)
    expect(page.get_by_text(bot)).to_be_visible()
    # Back to a step: what was typed is there.
    page.get_by_role("link", name="First administrator").click()
    expect(page.get_by_label("Email")).to_have_value("robin@customer.example")
    page.go_back()
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_text("Saved. Nothing is missing")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_text("Continue onboarding")).to_have_count(0)
    # The review, from a bookmark, knows what was written.
    overview = page.url
    page.goto(f"{overview}onboarding/review/")
    expect(page.get_by_text("robin@customer.example")).to_be_visible()
    expect(page.get_by_text(bot)).to_be_visible()
    expect(page.get_by_role("button", name="Finish")).to_have_count(0)
    expect(page.get_by_role("link", name="Activate")).to_be_visible()
    page.goto(overview)
    page.get_by_role("link", name="Activate it").click()
    page.get_by_role("button", name="Activate the tenant").click()
    expect(page.locator(".head").get_by_text("active")).to_be_visible()
    # What a webhook would carry leads to it.
    page.goto("/channels/resolve/")
    page.get_by_label("What the webhook sent").fill(f'{{"recipient": {{"id": "28:{bot}"}}}}')
    page.get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("would be served")).to_be_visible()
    expect(page).not_to_have_url(re.compile(bot))
    page.get_by_role("link", name=name).click()
    page.get_by_role("link", name="History").click()
    for words in ("began to onboard", "changed the tenant's settings", "onboarded the tenant", "activated the tenant"):
        expect(page.get_by_text(words)).to_be_visible()


def test_the_id_is_proposed_while_the_name_is_typed(open_page):
    page = open_page("onboarding")
    page.goto("/tenants/new/")
    page.get_by_label("Name").fill("Zoë & Söhne GmbH")
    expect(page.locator("#id_tenant_id")).to_have_attribute("placeholder", "zoe-sohne-gmbh")


def test_readiness_comes_into_the_rows(open_page):
    page = open_page("onboarding")
    page.goto("/tenants/")
    expect(page.locator("tr", has_text="lumen-dental").get_by_text("Ready", exact=True)).to_be_visible()
    page.locator("tr", has_text="to fix").first.get_by_role("link", name="to fix").click()
    expect(page).to_have_url(re.compile(r"/tenants/[^/]+/readiness/$"))


def test_readiness_without_scripts_is_one_link_away(open_page):
    page = open_page("onboarding", java_script_enabled=False)
    page.goto("/tenants/")
    page.locator("tr", has_text="lumen-dental").get_by_role("link", name="Check").click()
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()


def test_two_people_who_change_the_settings_are_shown_both_versions(open_page):
    first, second = open_page("onboarding"), open_page("admin")
    for page in (first, second):
        page.goto("/tenants/northwind-energy/settings/change/")
    first.get_by_label("Messages remembered").fill("31")
    first.get_by_label("AI model").fill("theirs")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("The settings are saved.")).to_be_visible()
    second.get_by_label("Messages remembered").fill("47")
    second.get_by_label("Messages per day").fill("48")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_text("Somebody else changed these settings in the meantime.")).to_be_visible()
    table = second.locator("table.versions")
    expect(table).to_contain_text("31")
    expect(table).to_contain_text("47")
    by = {"AI model": "someone else", "Messages per day": "you", "Messages remembered": "both of you"}
    for setting, who in by.items():
        expect(table.locator("tr", has_text=setting).get_by_role("cell").last).to_have_text(who)
    check_looks(second, "settings-conflict")
    expect(second.get_by_label("Messages remembered")).to_have_value("47")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_text("The settings are saved.")).to_be_visible()
