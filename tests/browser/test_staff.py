"""A new colleague: made by an administrator, sets password and second factor, is signed out elsewhere, is disabled."""

import random
import re
import string

import pyotp
import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import check_looks

PASSWORD = "a long enough passphrase"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_colleague_comes_signs_in_with_a_second_factor_and_goes(open_page, scripts):
    # Letters only: an address may not hold what could be a phone number.
    username = "new.person-" + "".join(random.choices(string.ascii_lowercase, k=8))
    admin = open_page("admin", java_script_enabled=scripts)
    link = made_account(admin, username)
    if scripts:
        check_looks(admin, "staff-link")
    page = open_page(None, java_script_enabled=scripts)
    set_password(page, link, scripts)
    sign_in(page, username, PASSWORD)
    expect(page.get_by_role("heading", level=1)).to_contain_text("waiting")

    key, codes = second_factor_set_up(page)
    if scripts:
        check_looks(page, "account-recovery-codes")
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_text("10 recovery codes are left")).to_be_visible()
    if scripts:
        check_looks(page, "account-second-factor-on")

    elsewhere = open_page(None, java_script_enabled=scripts)
    sign_in(elsewhere, username, PASSWORD)
    expect(elsewhere.get_by_role("heading", level=1)).to_have_text("Enter your code")
    if scripts:
        check_looks(elsewhere, "sign-in-code")
    elsewhere.locator("#id_code").fill("000 000" if pyotp.TOTP(key).now() != "000000" else "111 111")
    elsewhere.get_by_role("button", name="Sign in").click()
    expect(elsewhere.get_by_role("heading", level=1)).to_have_text("Enter your code")
    elsewhere.locator("#id_code").fill(codes[0])
    elsewhere.get_by_role("button", name="Sign in").click()
    expect(elsewhere.get_by_role("heading", level=1)).to_contain_text("waiting")

    elsewhere.goto("/account/")
    expect(elsewhere.locator(".sessions li")).to_have_count(2)
    other = elsewhere.locator(".sessions li").filter(has_not_text="this browser")
    other.get_by_role("button").click()
    elsewhere.locator("#id_current_password").fill(PASSWORD)
    elsewhere.get_by_role("button", name="End the session").click()
    expect(elsewhere.locator(".sessions li")).to_have_count(1)
    page.goto("/account/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")

    admin.goto(f"/staff/{username}/")
    if scripts:
        check_looks(admin, "staff-account-signed-in")
    admin.get_by_role("link", name="Disable").click()
    admin.get_by_role("button", name=re.compile("Disable")).click()
    expect(admin.get_by_text("disabled").first).to_be_visible()
    elsewhere.goto("/account/")
    expect(elsewhere.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in(elsewhere, username, PASSWORD)
    expect(elsewhere.get_by_text("Username and password do not match")).to_be_visible()


def test_refusals_say_what_is_wrong_and_keep_what_was_typed(open_page):
    page = open_page("admin")
    page.goto("/staff/new/")
    page.get_by_label("Username").fill("amira")
    page.locator("#id_display_name").fill("Second Amira")
    page.locator("input[name=role][value=agent]").check()
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_text("There is already an account named")).to_be_visible()
    expect(page.locator("#id_display_name")).to_have_value("Second Amira")
    check_looks(page, "staff-new-taken")
    page = open_page("agent")
    page.goto("/account/password/")
    page.get_by_label("Current password").fill("certainly not it")
    for field in page.locator("input[autocomplete=new-password]").all():
        field.fill(PASSWORD)
    page.locator("main .btn.primary").click()
    expect(page.locator(".errorlist").first).to_be_visible()
    check_looks(page, "account-password-refused")


def made_account(page: Page, username: str) -> str:
    """An agent's account, made in the pages; the link that they show once."""
    page.goto("/staff/")
    page.get_by_role("link", name="New account").click()
    page.get_by_label("Username").fill(username)
    page.locator("#id_display_name").fill("New Person")
    page.locator("input[name=role][value=agent]").check()
    page.locator('input[name=companies][value="company:ci-cuc-001"]').check()
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_text("Shown only once.")).to_be_visible()
    link = page.locator("#password-link").inner_text()
    assert "/set-password/#" in link
    assert "#" not in page.url
    return link


def set_password(page: Page, link: str, scripts: bool) -> None:
    page.goto(link)
    if not scripts:
        page.get_by_label("Code from the link").fill(link.partition("#")[2])
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def sign_in(page: Page, username: str, password: str) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def second_factor_set_up(page: Page) -> tuple[str, list[str]]:
    """The key that the page shows, and the recovery codes once its code was typed."""
    page.goto("/account/")
    page.goto("/account/second-factor/")
    expect(page.locator(".qr-frame svg")).to_be_visible()
    key = page.locator("#key").inner_text().replace(" ", "")
    page.locator("#id_code").fill(pyotp.TOTP(key).now())
    page.locator("#id_current_password").fill(PASSWORD)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The second factor is on")
    shown = page.locator("#codes").inner_text()
    codes = re.findall(r"^[a-z2-9]{5}(?:-[a-z2-9]{5}){2}$", shown, re.MULTILINE)
    assert len(codes) == 10
    return key, codes


@pytest.mark.parametrize(
    "path", ["/staff/", "/tenants/", "/tenants/lumen-dental/users/", "/tenants/lumen-dental/channels/"]
)
def test_headers_of_lists_stand_in_one_line(open_page, path):
    page = open_page("admin")
    page.goto(path)
    heights = page.locator("thead th").evaluate_all("all => all.map(each => each.getBoundingClientRect().height)")
    assert heights
    assert max(heights) < 60
