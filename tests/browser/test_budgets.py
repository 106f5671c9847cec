"""A lead sets a budget and sees that it is reached; the weekly summary reads, prints and needs no script."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks

COMPANY = re.compile("Cucumber")
# The demo sums up what it begins with within its first seconds.
TRIES = 2 * 60


def set_budget(page: Page, dollars: str) -> None:
    page.goto("/team/")
    page.get_by_role("row", name=COMPANY).get_by_role("link", name="Budget").click()
    page.get_by_label("US dollars a month").fill(dollars)
    page.get_by_role("button", name="Save").click()


def until_spent(page: Page, dollars: float) -> None:
    """Reload the cost report until this month's tokens cost so much."""
    for _ in range(TRIES):
        page.goto("/insight/cost/?company=ci-cuc-001&period=month")
        shown = page.locator("dt:text-is('Cost') + dd")
        if shown.count() and float(shown.inner_text().strip("$").split()[0].replace(",", "")) >= dollars:
            return
        page.wait_for_timeout(500)
    raise AssertionError("nothing is spent")


def to_summary(page: Page) -> None:
    """From the overview of the company, to the week that has begun: the demo's conversations are of the last days."""
    page.goto("/insight/")
    page.get_by_label("Company").select_option(label="Cucumber Recruitment")
    if page.get_by_role("button", name="Apply").is_visible():
        page.get_by_role("button", name="Apply").click()
    page.get_by_role("link", name="Weekly summary").click()
    expect(page.get_by_role("heading", name="Weekly summary")).to_be_visible()


def test_a_budget_is_set_reached_and_raised(open_page):
    page = open_page("admin")
    until_spent(page, 0.02)
    set_budget(page, "0")
    expect(page.get_by_role("main")).to_contain_text("Enter at least 0.01, or leave it empty.")
    check_looks(page, "budget-wrong", ("light", "dark-360"))
    set_budget(page, "0.01")
    expect(page.get_by_text("Saved: $")).to_be_visible()
    notice = page.locator(".notice", has_text="of its budget for")
    for address in ("/team/", "/queue/?tab=attention"):
        page.goto(address)
        expect(notice).to_contain_text(re.compile(r"has spent \d[\d,]*% of its budget for \w+: \$0\.\d\d of \$0\.01"))
        check_looks(page, f"budget-reached-{address.split('/')[1]}", ("light", "dark-360"))
    notice.get_by_role("link").click()
    expect(page.get_by_role("heading", name="against the budget")).to_be_visible()
    expect(page.get_by_text("Over the budget", exact=True)).to_be_visible()
    check_looks(page, "budget-cost")
    page.goto("/insight/cost/")
    expect(page.get_by_role("table", name="This month’s budgets")).to_contain_text("over")
    check_looks(page, "budget-cost-all", ("light", "light-360", "dark-360"))
    set_budget(page, "1000000")
    page.goto("/queue/?tab=attention")
    expect(page.locator("#queue")).to_be_visible()
    expect(notice).to_have_count(0)


def test_a_week_in_short_leads_to_its_reports_and_to_the_weeks_beside_it(open_page):
    page = open_page("auditor")
    to_summary(page)
    heading = page.locator("main h1 + p")
    last = heading.inner_text()
    page.get_by_role("link", name="Week after").click()
    expect(heading).to_contain_text("not over yet")
    expect(page.get_by_role("list").filter(has_text="began")).to_be_visible()
    check_looks(page, "weekly-summary")
    page.get_by_role("link", name="Week before").click()
    expect(heading).to_have_text(last)
    page.get_by_role("link", name="Waits report").click()
    expect(page.get_by_label("Period", exact=True)).to_have_value("days")
    expect(page.get_by_label("Compare with the period before")).to_be_checked()


@pytest.mark.parametrize("has_script", [True, False])
def test_it_prints_on_two_pages_at_most(open_page, has_script):
    page = open_page("auditor", java_script_enabled=has_script)
    page.goto("/insight/summary/ci-cuc-001/")
    page.get_by_role("link", name="Week after").click()
    expect(page.get_by_role("table", name="Conversations", exact=True)).to_be_visible()
    pages = re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))
    assert 1 <= len(pages) <= 2
    page.emulate_media(media="print")
    for name in ("Week before", "Overview", "Waits report"):
        expect(page.get_by_role("link", name=name)).to_be_hidden()
    expect(page.get_by_role("table", name="Outcomes")).to_be_visible()
