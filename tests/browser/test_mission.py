"""The whole of what each role comes for, walked by one person of it from the sign-in to what is on record."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Demo, sign_in

TOM, IVO = "+447700900302", "447700900304"


def begin(open_page, demo: Demo, role: str, heading: str) -> Page:
    """Sign in by the form; where the role's work begins."""
    page = open_page(None)
    sign_in(page, demo, role)
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    return page


def to(page: Page, section: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=section).click()


def search(page: Page, typed: str) -> None:
    page.keyboard.press("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search")
    page.get_by_label("Search").fill(typed)
    page.keyboard.press("Enter")


def test_an_agent_takes_who_waits_longest_reads_answers_and_hands_back(open_page, demo):
    page = begin(open_page, demo, "agent", "waiting")
    page.goto("/queue/?company=ci-nwe-002")
    page.get_by_role("button", name="Take the next one").click()
    expect(page.get_by_text("You have this conversation").first).to_be_visible()
    expect(page.locator("ol.talk .msg").first).to_be_visible()
    page.locator("#recipient form.do button").first.click()
    expect(page.locator("#recipient").get_by_role("link").first).to_be_visible()
    page.locator("#timeline .btn").first.click()
    expect(page.locator("#timeline")).to_contain_text(re.compile("took it"))
    page.get_by_text("Leave a note").click()
    page.locator("#note").fill("Is called back at five")
    # The customer has no answer yet.
    page.locator("#return summary").click()
    page.get_by_role("button", name="Return without an answer").click()
    expect(page.get_by_text("Returned to the AI.")).to_be_visible()
    page.get_by_role("link", name="Trail").first.click()
    for words in ("took it from the queue", "revealed the recipient", "returned it to the AI"):
        expect(page.get_by_text(words).first).to_be_visible()
    # Found again by the number, and what else there is of the same person.
    search(page, "0044 7700 900011")
    expect(page.get_by_role("heading", level=1)).to_contain_text("***-***-0011")
    page.get_by_role("link", name="This customer in other systems").click()
    expect(page.get_by_role("heading", name="Conversations", exact=True)).to_be_visible()
    # What colleagues asked the assistant, and what they thought of its answers.
    to(page, "Threads")
    page.get_by_role("link", name="Northwind Energy").click()
    page.get_by_role("link", name="Feedback").click()
    page.locator("tbody [data-open]").first.click()
    expect(page.locator(".msg.at .feedback")).to_contain_text("thumbs down")
    to(page, "Audit")
    expect(page.get_by_text("looked up one person in all stores").first).to_be_visible()


def test_onboarding_brings_a_tenant_live_and_finds_it_by_its_channel(open_page, demo):
    page = begin(open_page, demo, "onboarding", "Tenants")
    page.get_by_role("link", name="New tenant").click()
    page.get_by_label("Name").fill("Mission Bikes")
    page.get_by_role("button", name="Reserve and continue").click()
    page.get_by_label("Slack", exact=True).check()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_label("Id", exact=True).first.fill("rae")
    page.get_by_label("Email").fill("rae@mission.example")
    page.get_by_role("button", name="Save and continue").click()
    page.locator("#id_channel-0-type").fill("slack")
    page.locator("#id_channel-0-id").fill("T0MISSION")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Finish").click()
    expect(page.locator("#messages")).to_contain_text("Saved. ")
    page.get_by_role("link", name="Activate", exact=True).click()
    page.get_by_role("button", name="Activate the tenant").click()
    expect(page.locator(".head").get_by_text("active")).to_be_visible()
    # By its channel, and by its administrator's address.
    for typed, tab in (("slack:T0MISSION", "Channels"), ("rae@mission.example", "Users")):
        search(page, typed)
        expect(page.get_by_role("heading", level=1)).to_have_text("Mission Bikes")
        expect(page.get_by_role("link", name=tab).and_(page.locator("[aria-current=page]"))).to_be_visible()
    to(page, "Resolve a channel")
    page.get_by_label("What the webhook sent").fill('{"team_id": "T0MISSION"}')
    page.get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("would be served")).to_be_visible()
    page.goto("/tenants/mission-bikes/history/")
    expect(page.get_by_text("activated the tenant")).to_be_visible()
    # Nothing of conversations is theirs to see.
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Conversations")).to_have_count(0)


def test_an_auditor_finds_what_was_done_and_who_looked_and_sees_nothing_personal(open_page, demo):
    page = begin(open_page, demo, "auditor", "Audit")
    page.goto("/audit/?action=hand_off.take")
    page.locator("[data-open]").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("took it from the queue")
    page.get_by_role("link", name="All entries with this key").click()
    expect(page.locator("[data-open]").first).to_be_visible()
    page.goto("/audit/looks/people/amira/")
    expect(page.get_by_text(re.compile("opened|revealed")).first).to_be_visible()
    page.goto("/audit/export/?group=hand-off")
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("Export|Download")).first.click()
    exported = download.value.path().read_text()
    assert "hand_off." in exported
    assert not re.search(r"\+?447700900\d{3}", exported)
    # A transcript, a chat and a thread: to be read, with nothing personal in them.
    page.goto("/conversations/companies/ci-cuc-001/")
    page.locator("[data-open]").first.click()
    expect(page.get_by_text("tracking numbers are masked for your role")).to_be_visible()
    search(page, TOM)
    page.get_by_label("Reason").fill("a complaint")
    page.get_by_role("button", name="Search").click()
    page.locator("tbody [data-open]").first.click()
    expect(page.get_by_text("tracking numbers are masked for your role")).to_be_visible()
    assert not re.search(r"7700\s?900", page.locator("main").inner_text())
    to(page, "Audit")
    expect(page.locator(".entries, .timeline").get_by_text("exported the audit review").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Queue")).to_have_count(0)


def test_an_admin_sees_to_accounts_chats_feedback_tables_and_what_is_on_record(open_page, demo):
    page = begin(open_page, demo, "admin", "waiting")
    to(page, "Staff")
    page.get_by_role("link", name="New account").click()
    page.get_by_label("Username").fill("mission.agent")
    page.locator("#id_display_name").fill("Mission Agent")
    page.locator("input[name=role][value=agent]").check()
    page.locator('input[name=companies][value="company:ci-cuc-001"]').check()
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_text("Shown only once.")).to_be_visible()
    search(page, "mission.agent")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Mission Agent")
    # A session that runs is ended.
    to(page, "Chats")
    page.locator("#id_phone_phone").fill(IVO)
    page.locator("section[aria-labelledby=look-phone] button").click()
    page.locator("tbody [data-open]").first.click()
    page.get_by_role("link", name="End session").click()
    page.get_by_role("button", name="End session").click()
    expect(page.get_by_text("The session is ended.")).to_be_visible()
    expect(page.locator(".head").get_by_text("finished")).to_be_visible()
    # Feedback is corrected.
    to(page, "Threads")
    page.get_by_role("link", name="Cucumber Recruitment").click()
    page.locator("tbody [data-open]").first.click()
    page.locator(".feedback .btn").first.click()
    page.get_by_label("Thumbs down").check()
    page.get_by_label("Comment").fill("Not what the client asked for")
    page.get_by_role("button", name="Save the feedback").click()
    expect(page.locator(".msg.at .feedback")).to_contain_text("Not what the client asked for")
    to(page, "System")
    expect(page.get_by_role("heading", name="Chats")).to_be_visible()
    expect(page.get_by_text("Every table and index is there.").first).to_be_visible()
    page.goto("/audit/?actor=ada")
    for words in ("changed the feedback on an answer", "ended the running session", "created the account"):
        expect(page.locator(".entries").get_by_text(words).first).to_be_visible()
