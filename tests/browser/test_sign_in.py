"""Signing in and out by hand."""

from playwright.sync_api import expect

from tests.browser.conftest import sign_in


def test_sign_in_leads_where_one_wanted_to_go_and_sign_out_ends_it(open_page, demo):
    page = open_page(None)
    page.goto("/conversations/")
    expect(page).to_have_title("Sign in · demo")
    page.get_by_label("Username").fill(demo.staff["agent"]["username"])
    page.get_by_label("Password").fill("wrong password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Username")).to_have_value(demo.staff["agent"]["username"])
    page.get_by_label("Password").fill(demo.staff["agent"]["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conversations")
    page.get_by_role("button", name="Sign out").click()
    page.goto("/queue/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_each_role_has_its_home(open_page, demo):
    for role, heading in (
        ("agent", "waiting"),
        ("onboarding", "Tenants"),
        ("auditor", "Audit"),
        ("admin", "waiting"),
    ):
        page = open_page(None)
        sign_in(page, demo, role)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
