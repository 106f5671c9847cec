"""An open queue: what appears in it by itself, what does not move, and who gets the longest waiting."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import sign_in
from tests.items import conversation, key_of

COMPANY = "ci-cuc-001"
# The first answer of an open page comes within a second, the next ones every eight; then the indexer's own.
SOON = 20_000


@pytest.fixture
def asked(platform):
    """Asks for a human, as the platform does; what was asked for is over at the end of the test."""
    keys = []

    def ask(reason: str, **more) -> dict[str, str]:
        item = conversation(
            primary_channel=f"+44770090{len(keys) + 5000}",
            company_id=COMPANY,
            conversation_status="awaiting_reply",
            messages=[],
            **more,
        )
        platform.put_item(Item=item)
        key = key_of(item)
        keys.append(key)
        platform.update_item(
            Key=key,
            UpdateExpression="SET hand_off_to_human = :true, hand_off_to_human_reason = :reason",
            ExpressionAttributeValues={":true": True, ":reason": reason},
        )
        return key

    yield ask
    for key in keys:
        platform.delete_item(Key=key)


def row(page: Page, reason: str):
    return page.locator("[data-row]").filter(has_text=reason)


def open_queue(page: Page) -> Page:
    page.goto(f"/queue/?company={COMPANY}")
    # The pointer is somewhere else.
    page.mouse.move(2, 2)
    return page


def test_who_asks_for_a_human_appears_in_an_open_queue_and_leaves_it_when_taken_elsewhere(open_page, asked):
    first, second = open_queue(open_page("agent")), open_queue(open_page("admin"))
    asked("Sudden question of a stranger")
    for page in (first, second):
        expect(row(page, "Sudden question")).to_be_visible(timeout=SOON)
    expect(first.locator("#live")).to_contain_text("new")
    row(first, "Sudden question").get_by_role("button", name="Take").click()
    expect(first.get_by_text("You have this conversation").first).to_be_visible()
    expect(row(second, "Sudden question")).to_have_count(0, timeout=SOON)
    expect(second.get_by_text("You have this conversation")).to_have_count(0)


def test_nothing_moves_under_the_pointer_and_what_is_new_is_counted(open_page, asked):
    page = open_queue(open_page("agent"))
    expect(page.locator("[data-row]").first).to_be_visible()
    page.locator("[data-row]").first.hover()
    before = page.locator("[data-row]").evaluate_all("rows => rows.map((row) => row.id)")
    asked("Waits behind the pointer")
    news = page.get_by_role("button", name="1 new")
    expect(news).to_be_visible(timeout=SOON)
    assert page.locator("[data-row]").evaluate_all("rows => rows.map((row) => row.id)") == before
    news.click()
    expect(row(page, "Waits behind the pointer")).to_be_visible()
    expect(news).to_be_hidden()


def test_the_number_beside_the_queue_is_there_on_other_pages_too(open_page):
    page = open_page("agent")
    page.goto("/conversations/")
    count = page.locator("#rail [data-waiting-count]")
    expect(count).to_be_visible()
    expect(count).to_contain_text("waiting")
    assert int(count.locator("span").first.inner_text()) > 0


def test_t_takes_the_next_one_urgent_first_then_longest_wait(open_page, asked):
    long_ago = (datetime.now(UTC) - timedelta(days=400)).isoformat(timespec="seconds").replace("+00:00", "Z")
    page = open_queue(open_page("agent"))
    asked("Older than everybody", updated_at=long_ago, hand_off_urgent="by hand")
    expect(row(page, "Older than everybody")).to_be_visible(timeout=SOON)
    page.keyboard.press("t")
    expect(page.get_by_text("You have this conversation").first).to_be_visible()
    expect(page.get_by_text("Older than everybody").first).to_be_visible()


def test_an_open_queue_stops_politely_when_one_is_signed_out(demo, open_page):
    page = open_page(None)
    sign_in(page, demo, "agent")
    cookies = page.context.cookies()
    page.context.clear_cookies()
    expect(page.get_by_text("You are signed out")).to_be_visible(timeout=SOON)
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    page.context.add_cookies(cookies)
    page.get_by_role("button", name="Sign out").click()


def test_filters_and_pages_work_without_javascript(open_page):
    page = open_page("agent", java_script_enabled=False)
    page.goto("/queue/")
    page.get_by_label("Waiting").select_option(label="Over a day")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_text("matching the filters")).to_be_visible()
    page.get_by_role("link", name="Waiting times").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Waiting times")


def test_on_a_narrow_screen_the_tab_that_one_is_in_is_in_view(open_page):
    page = open_page("agent", width=360)
    for tab in ("attention", "colleagues"):
        page.goto(f"/queue/?tab={tab}")
        expect(page.locator("#queue-tabs [aria-current]")).to_be_in_viewport(ratio=0.99)
    with page.expect_response(lambda response: "x-poll" in response.request.headers and "/queue/?" in response.url):
        pass
    expect(page.locator("#queue-tabs [aria-current]")).to_be_in_viewport(ratio=0.99)


def test_on_a_narrow_screen_a_row_says_its_project_and_its_channel(open_page):
    page = open_page("agent", width=360)
    page.goto("/queue/")
    for where in page.locator("[data-row] .where").all():
        assert where.evaluate("each => each.scrollWidth <= each.clientWidth")
