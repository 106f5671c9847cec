"""The link with which people set their password, and the code after it: what scripts do with them."""

from playwright.sync_api import expect

LINK = "/set-password/#abcDEF-123_code"


def test_code_of_the_link_goes_into_the_form_and_out_of_the_address(open_page, demo):
    page = open_page(None)
    page.goto("/sign-in/")
    page.goto(LINK)
    code = page.locator("[data-from-fragment]")
    expect(code).to_have_value("abcDEF-123_code")
    expect(code).to_be_hidden()
    expect(page).to_have_url(f"{demo.url.rstrip('/')}/set-password/")
    page.get_by_label("New password").fill("one long passphrase")
    page.get_by_label("The same password again").fill("another long passphrase")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("The passwords do not match")).to_be_visible()
    expect(code).to_have_value("abcDEF-123_code")
    expect(page.get_by_label("New password")).to_have_value("")
    page.go_back()
    page.go_back()
    expect(page).to_have_title("Sign in · demo")


def test_page_without_a_code_asks_for_it(open_page):
    page = open_page(None)
    page.goto("/set-password/")
    expect(page.get_by_label("Code from the link")).to_be_visible()


def test_without_scripts_the_code_is_pasted_by_hand(open_page):
    page = open_page(None, java_script_enabled=False)
    page.goto(LINK)
    expect(page.get_by_text("If this is empty, paste the part of your link after the")).to_be_visible()
    page.get_by_label("Code from the link").fill("abcDEF-123_code")
    page.get_by_label("New password").fill("one long passphrase")
    page.get_by_label("The same password again").fill("one long passphrase")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("This link has expired or was already used")).to_be_visible()


def test_small_screen_has_room_for_it(open_page):
    page = open_page(None, width=360)
    for path in ("/sign-in/", "/set-password/", LINK):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
