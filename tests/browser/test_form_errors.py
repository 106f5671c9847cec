"""A form that is refused: the focus is on what is to be corrected, the title says so, with scripts and without them."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks


def focus(page: Page) -> str:
    return page.evaluate("(({ id, className, tagName }) => id || className || tagName)(document.activeElement)")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_the_only_bad_field_has_the_focus(open_page, scripts):
    page = open_page("onboarding", java_script_enabled=scripts)
    page.goto("/tenants/new/")
    assert focus(page) == "id_name"
    page.get_by_label("Name").fill("Bad Books")
    page.locator("#id_tenant_id").fill("Bad ID!!")
    page.get_by_role("button", name="Reserve and continue").click()
    expect(page.get_by_text("lower-case letters", exact=False).last).to_be_visible()
    expect(page).to_have_title(re.compile(r"^Error: New tenant"))
    expect(page.locator("#id_tenant_id")).to_be_focused()
    expect(page.locator(".errors")).to_have_count(0)


def test_several_bad_fields_are_listed_with_links(open_page):
    page = open_page("onboarding")
    page.goto("/tenants/northwind-energy/settings/change/")
    for label in ("Tokens per message", "Messages per day", "Messages remembered"):
        page.get_by_label(label).fill("many")
    page.get_by_role("button", name="Save").click()
    summary = page.get_by_role("group", name="Correct 3 fields.")
    expect(summary).to_be_focused()
    expect(summary.get_by_role("link")).to_have_text(["Tokens per message", "Messages per day", "Messages remembered"])
    expect(page).to_have_title(re.compile("^Error: "))
    check_looks(page, "form-errors")
    summary.get_by_role("link", name="Messages per day").click()
    expect(page.get_by_label("Messages per day")).to_be_focused()


def test_rows_are_listed_with_their_number(open_page):
    page = open_page("onboarding")
    page.goto("/tenants/northwind-energy/users/new/")
    page.get_by_label("Id", exact=True).first.fill("robin")
    page.locator("#id_identity-1-type").fill("slack")
    page.get_by_role("button", name="Add the user").evaluate("button => button.form.noValidate = true")
    page.get_by_role("button", name="Add the user").click()
    links = page.locator(".errors a")
    expect(links).to_have_text(["Email", "Id, row 2"])
    links.last.click()
    expect(page.locator("#id_identity-1-id")).to_be_focused()


@pytest.mark.parametrize(
    ("role", "path", "fill", "button", "focused"),
    [
        ("admin", "/staff/new/", {"#id_username": "0770 900", "#id_display_name": "Some One"}, "Create", None),
        ("admin", "/account/password/", {"#id_current_password": "wrong"}, "Change the password", None),
        ("onboarding", "/channels/resolve/", {"#id_carried": " "}, "Resolve", "id_carried"),
        ("onboarding", "/tenants/lumen-dental/channels/new/", {"#id_type": "sms", "#id_id": "1"}, "Add", "id_id"),
        ("admin", "/staff/olga/change/", {"#id_other": "a#b"}, "Save", "id_other"),
    ],
)
def test_every_refused_form_says_so(open_page, role, path, fill, button, focused: str | None):
    page = open_page(role)
    page.goto(path)
    for field, text in fill.items():
        page.locator(field).fill(text)
    pressed = page.get_by_role("button", name=button)
    pressed.evaluate("button => button.form.noValidate = true")
    pressed.click()
    expect(page).to_have_title(re.compile("^Error: "))
    # The script that moves the focus runs after the title is there.
    expect(page.locator(f"#{focused}" if focused else ".notice.bad.errors")).to_be_focused()


def test_a_filter_that_is_not_understood_takes_no_focus(open_page):
    page = open_page("onboarding")
    page.goto("/tenants/?status=odd")
    expect(page).not_to_have_title(re.compile("Error"))
    assert focus(page) == "BODY"
