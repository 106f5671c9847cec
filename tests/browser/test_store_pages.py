"""Pages of the other stores, of the search box and of help: in light and dark, wide, at 360 px, accessible."""

import base64
import re

import pytest
from playwright.sync_api import expect

from demo.chats import image_id
from tests.browser.looks import FEWER, LOOKS, check_looks, walk

ROSA, TOM, MEI, IVO = "+447700900301", "+447700900302", "+447700900303", "447700900304"
ALLOTMENT = "a small allotment in June seen from above, beds of lettuce and beans, watercolour"
# One pixel, as PNG.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
OPEN = "tbody [data-open]"
FEEDBACK = ".tabs >> text=Feedback"
LUMEN, NORTHWIND = (f"a[data-open]:has-text('{name}')" for name in ("Lumen", "Northwind"))
CHATS, THREADS, SEARCH = "/chats/", "/threads/", "/search/"


def look_up(look: str, field: str, typed: str) -> list:
    return [(f"#id_{look}_{field}", typed), f"section[aria-labelledby=look-{look}] button"]


def phone(number: str) -> list:
    return look_up("phone", "phone", number)


def search(typed: str) -> list:
    return [("#id_typed", typed), "form.search .btn"]


# role, name of the page, path, what to click or fill in from there, and the heading that then stands above the page
PAGES = [
    ("admin", "chats", CHATS, [], "Chats"),
    ("agent", "chats-out-of-scope", CHATS, [], "Chats"),
    ("admin", "chats-nothing", CHATS, phone("+447700999999"), "Chats"),
    ("admin", "chats-user", CHATS, phone(ROSA), "User"),
    ("admin", "chats-over-time", CHATS, [*phone(ROSA), "text=Chats over time"], "User"),
    ("admin", "chats-images", CHATS, [*phone(ROSA), ".tabs >> text=Images"], "User"),
    ("admin", "chats-session", CHATS, [*phone(ROSA), OPEN, "text=Configuration"], "Session"),
    ("auditor", "chats-session-redacted", CHATS, [("#id_phone_reason", "a complaint"), *phone(ROSA), OPEN], "Session"),
    ("admin", "chats-session-finished", CHATS, [*phone(TOM), OPEN], "Session"),
    ("admin", "chats-session-expired", CHATS, [*phone(MEI), f"{OPEN} >> nth=-1"], "Session"),
    ("admin", "chats-session-drifted", CHATS, [*phone(IVO), OPEN], "Session"),
    ("admin", "chats-session-end", CHATS, [*phone(ROSA), OPEN, "a:has-text('End session')"], "End this session"),
    ("admin", "chats-image", CHATS, look_up("image", "image_id", image_id(ALLOTMENT, ROSA)), "Image"),
    ("admin", "chats-prompt", CHATS, look_up("prompt", "prompt", ALLOTMENT), "prompt"),
    ("admin", "threads", THREADS, [], "Threads"),
    ("agent", "threads-nothing", THREADS, look_up("organisation", "organisation", "ci-none"), "Threads"),
    ("admin", "threads-organisation", THREADS, [LUMEN], "Threads of"),
    ("admin", "threads-feedback", THREADS, [LUMEN, FEEDBACK], "Feedback in"),
    ("auditor", "threads-feedback-redacted", THREADS, [LUMEN, FEEDBACK], "Feedback in"),
    ("admin", "threads-user", THREADS, [LUMEN, f"{OPEN}:has-text('recall')", "text=All threads of"], "Threads of"),
    ("admin", "threads-thread", THREADS, [LUMEN, f"{OPEN}:has-text('Cancellations')"], "Cancellations"),
    ("auditor", "threads-thread-redacted", THREADS, [LUMEN, f"{OPEN}:has-text('Cancellations')"], "Cancellations"),
    ("agent", "threads-thread-tools", THREADS, [NORTHWIND, f"{OPEN}:has-text('October')", ".more summary"], "October"),
    ("agent", "threads-thread-long", THREADS, [NORTHWIND, f"{OPEN}:has-text('Portfolio')", ".earlier a"], "Portfolio"),
    ("agent", "threads-thread-drifted", THREADS, [NORTHWIND, f"{OPEN}:has-text('Direct debits')"], "Direct debits"),
    ("admin", "threads-message", THREADS, [LUMEN, FEEDBACK, OPEN], "recall"),
    ("admin", "threads-feedback-given", THREADS, [LUMEN, FEEDBACK, OPEN, ".msg.at .feedback .btn"], "eedback"),
    ("agent", "search", SEARCH, [], "Search"),
    ("admin", "search-found", SEARCH, search("replies@cucumber.example"), "Search"),
    ("agent", "search-not-recognised", SEARCH, search("what is this?"), "Search"),
    ("agent", "search-nothing", SEARCH, search("+447700999999"), "Search"),
    ("agent", "elsewhere", SEARCH, [*search("+447700900011"), "text=This customer in other systems"], "in all stores"),
    ("agent", "help-agent", "/help/", [], "Help"),
    ("onboarding", "help-onboarding", "/help/", [], "Help"),
    ("auditor", "help-auditor", "/help/", [], "Help"),
    ("admin", "help-admin", "/help/", [], "Help"),
]
# Pages that say that there is nothing, or the same as another with fewer rights, or other words.
ALIKE = re.compile(r".*-(nothing|redacted|finished|not-recognised|onboarding|auditor|agent|prompt|out-of-scope)")


@pytest.mark.parametrize(("role", "name", "path", "steps", "heading"), PAGES, ids=[page[1] for page in PAGES])
def test_page_is_accessible_and_fits(kept_page, role, name, path, steps, heading):
    page = kept_page(role)
    walk(page, path, steps)
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile(heading))
    check_looks(page, name, FEWER if ALIKE.fullmatch(name) else LOOKS)


def test_an_image_is_loaded_on_a_click_and_from_nowhere_before(open_page):
    page = open_page("admin")
    asked: list[str] = []
    picture = base64.b64decode(PIXEL)

    def serve(route):
        asked.append(route.request.url)
        route.fulfill(body=picture, content_type="image/png")

    page.context.route("https://images.example/**", serve)
    walk(page, CHATS, [*phone(ROSA), OPEN])
    link = page.get_by_role("link", name="Load it from images.example")
    expect(link).to_be_visible()
    assert asked == []
    link.click()
    shown = page.get_by_role("img", name=ALLOTMENT)
    expect(shown).to_have_js_property("naturalWidth", 1)
    assert len(asked) == 1


def test_the_slash_key_searches(open_page):
    page = open_page("agent")
    page.goto("/queue/")
    page.keyboard.press("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search")
    page.keyboard.type("+44 7700 900011")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("***-***-0011")


def test_crumbs_name_the_organisation_and_the_record(open_page):
    page = open_page("admin")
    page.goto("/threads/")
    page.get_by_role("link", name="Cucumber Recruitment").click()
    page.locator("[data-open]").first.click()
    crumbs = page.get_by_label("Breadcrumbs").get_by_role("listitem")
    expect(crumbs.nth(1)).to_have_text("Cucumber Recruitment")
    title = page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("link", name="Feedback").first.click()
    expect(crumbs).to_have_text(["Threads", "Cucumber Recruitment", title, "Feedback on an answer"])
