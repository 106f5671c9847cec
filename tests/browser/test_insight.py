"""Insight as a person reads it: from a number to the conversations behind it, on paper, and without scripts."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import check_width

OVERVIEW = "/insight/?period=90"
REPORTS = (
    *("overview", "waits", "hand-offs", "failures", "cost", "people", "feedback", "chats", "middleware", "tenants"),
)


@pytest.fixture
def counted(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """A page of the overview once all of the demo is counted."""

    def open_(**options) -> Page:
        page = open_page("admin", **options)
        page.goto("/conversations/companies/ci-cuc-001/")
        for _ in range(120):
            page.goto(OVERVIEW)
            number = page.locator(".figures a").first
            shown = number.inner_text().replace(",", "") if number.count() else ""
            # A dash as long as nothing is.
            if shown.isdecimal() and int(shown) >= 250:
                return page
            page.wait_for_timeout(500)
        raise AssertionError("the demo was not counted")

    return open_


def follow(page: Page, report: str, find: Callable[[], Locator]) -> None:
    """Go from a number of a report, which `find` finds there, to the conversations behind it: as many rows.

    A number may be a minute behind its rows (days are summed up once a minute), and earlier tests change the demo.
    """
    for _ in range(45):
        page.goto(report)
        number = find()
        shown = int(number.inner_text())
        number.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Behind the number")
        if page.locator("tbody tr").count() == shown:
            return
        page.wait_for_timeout(2000)
    raise AssertionError(f"{report}: a number has other rows behind it, and stays so")


def test_a_number_leads_to_its_conversations_and_back(counted):
    page = counted()
    failed = page.locator(".figures .panel", has_text="Failed")
    failed.get_by_text("What this means").click()
    expect(failed.get_by_text(re.compile("platform’s status says"))).to_be_visible()
    follow(page, "/insight/failures/?period=90&company=ci-cuc-001", lambda: page.locator(".figures a").first)
    rows = page.locator("tbody tr")
    assert set(rows.locator("td[data-label=Outcome]").all_inner_texts()) == {"Failed"}
    rows.locator("a").first.click()
    expect(page).to_have_url(re.compile("/conversations/"))
    page.go_back()
    page.get_by_role("link", name="Back to the report").click()
    expect(page.get_by_role("navigation", name="Reports")).to_be_visible()


def test_a_bar_has_a_number_that_leads_on_and_a_file(counted):
    page = counted()

    def last_outcome() -> Locator:
        page.get_by_text("Show the numbers").first.click()
        return page.locator("#outcomes tbody td a").last

    follow(page, "/insight/?period=28&company=ci-cuc-001", last_outcome)
    page.go_back()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="CSV of Outcomes").click()
    text = downloading.value.path().read_text()
    assert text.startswith("Day,Resolved by the AI,")
    assert len(text.splitlines()) == 29


def test_the_filters_stay_from_report_to_report(counted):
    page = counted()
    page.get_by_label("Company").select_option("ci-cuc-001")
    page.wait_for_url(re.compile("company=ci-cuc-001"))
    page.get_by_role("navigation", name="Reports").get_by_role("link", name="Cost").click()
    expect(page.get_by_label("Company")).to_have_value("ci-cuc-001")
    expect(page.get_by_label("Period", exact=True)).to_have_value("90")
    page.get_by_label("Compare with the period before").check()
    page.wait_for_url(re.compile("compare=on"))
    expect(page.get_by_text("before:").first).to_be_visible()


def test_without_scripts_the_numbers_stand_in_tables(counted, open_page):
    counted()
    page = open_page("admin", java_script_enabled=False, width=360)
    for report in REPORTS:
        page.goto(f"/insight/{report}/?period=90")
        expect(page.locator("figure.chart table").first).to_be_visible()
        check_width(page, f"insight-{report}-plain")


def test_paper_has_the_charts_and_their_numbers(counted):
    page = counted()
    page.emulate_media(media="print")
    expect(page.locator("#outcomes .plot > svg")).to_be_visible()
    expect(page.locator("#outcomes table")).to_be_visible()
    expect(page.get_by_role("navigation", name="Reports")).to_be_hidden()
