"""Every page in light and dark, wide, at 200 % zoom, at 360 px: accessible, no sideways scrolling, and a picture."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import without_polls
from tests.browser.looks import FEWER, LOOKS, check_look, check_looks, walk

COMPANY = "/conversations/companies/ci-cuc-001/"
FIND = "/conversations/find/"
EVENTS = "/audit/events/"
TALKS = "/tenants/outlocks/conversations/"
OPEN = "[data-open]"
LONG = "ci-nwe-002#pi-nwe-mtr#req-64e5dd56#447700900144"
HANDLED = "ci-lum-003#pi-lum-aft#req-871cda4b#447700900399"
STRUCTURED = "ci-nwe-002#pi-nwe-mtr#req-drift-structured-content#447700900387"


def by_id(conversation_id: str) -> list:
    return [("#id_id_conversation_id", conversation_id), "section[aria-labelledby=look-id] button"]


def events_of(conversation_id: str) -> list:
    return [
        ("#id_conversation_conversation_id", conversation_id),
        ("#id_conversation_reason", "a complaint"),
        "section[aria-labelledby=look-conversation] button",
    ]


def by_event(event_id: str) -> list:
    return [("#id_event_event_id", event_id), "section[aria-labelledby=look-event] button"]


def by_recipient(number: str) -> list:
    return [("#id_recipient_recipient", number), "section[aria-labelledby=look-recipient] button"]


# role, name of the page, path, what to click or fill in from there, and the heading that then stands above the page
PAGES = [
    (None, "sign-in", "/sign-in/", [], "Sign in"),
    (
        None,
        "sign-in-error",
        "/sign-in/",
        [("#id_username", "no.body"), ("#id_password", "-"), ".signin .btn"],
        "Sign in",
    ),
    ("agent", "queue-waiting", "/queue/", [], "waiting"),
    ("agent", "queue-mine", "/queue/?tab=mine", [], "You hold"),
    ("agent", "queue-colleagues", "/queue/?tab=colleagues", [], "Colleagues hold"),
    ("agent", "queue-attention", "/queue/?tab=attention", [], "attention"),
    ("agent", "waiting-times", "/queue/waiting-times/", [], "Waiting times"),
    ("agent", "queue-filtered", "/queue/?company=ci-nwe-002&channel=whatsapp", [], "waiting"),
    ("agent", "queue-empty", "/queue/?company=ci-none", [], "No conversations match"),
    ("agent", "conversations", "/conversations/", [], "Conversations"),
    ("agent", "find-nothing", FIND, by_recipient("+447700999999"), "Find a conversation"),
    ("agent", "find-error", FIND, by_recipient("nobody"), "Find a conversation"),
    ("agent", "company", COMPANY, [], "Cucumber Recruitment"),
    ("agent", "company-page-2", COMPANY, ["[rel=next]"], "Cucumber Recruitment"),
    ("agent", "company-filtered", f"{COMPANY}?status=failed", [], "Cucumber Recruitment"),
    ("agent", "company-nothing", f"{COMPANY}?status=nothing", [], "Cucumber Recruitment"),
    ("agent", "company-last-message", COMPANY, ["td.last a"], "Cucumber Recruitment"),
    ("agent", "project", "/conversations/companies/ci-nwe-002/projects/pi-nwe-bil/", [], "Billing"),
    ("agent", "recipient", FIND, by_recipient("+447700900011"), "Recipient"),
    (
        "agent",
        "replies",
        FIND,
        [
            ("#id_replies_ours", "+447700900821"),
            ("#id_replies_recipient", "+447700900144"),
            "section[aria-labelledby=look-replies] button",
        ],
        "Between our",
    ),
    ("agent", "conversation-waiting", "/queue/", [OPEN], r"\*\*\*"),
    ("agent", "conversation-held", "/queue/?tab=mine", [OPEN], r"\*\*\*"),
    ("agent", "conversation-colleague", "/queue/?tab=colleagues", [OPEN, ".actions summary"], r"\*\*\*"),
    ("agent", "conversation-ai", f"{COMPANY}?hand_off=ai", [OPEN], r"\*\*\*"),
    ("agent", "conversation-structured", FIND, [*by_id(STRUCTURED), ".msg details:not(.cost) > summary"], r"\*\*\*"),
    ("agent", "conversation-long", FIND, [*by_id(LONG), ".earlier a"], r"\*\*\*"),
    ("agent", "conversation-permalink", FIND, [*by_id(LONG), ".link-here"], r"\*\*\*"),
    ("agent", "reveal", "/queue/?tab=mine", [OPEN, "#recipient .do .btn"], r"\*\*\*"),
    ("agent", "timeline-in-place", "/queue/?tab=mine", [OPEN, "#timeline .btn"], r"\*\*\*"),
    (
        "agent",
        "timeline-filtered",
        "/queue/?tab=mine",
        [OPEN, "#timeline .btn", "#timeline .chip:nth-of-type(4)", "#timeline .chip:nth-of-type(5)"],
        r"\*\*\*",
    ),
    ("agent", "timeline-line", "/queue/?tab=mine", [OPEN, "#timeline .btn", "#timeline li .link-here"], "Timeline"),
    ("agent", "trail", "/queue/?tab=mine", [OPEN, "text=Open the trail"], "Trail"),
    ("auditor", "conversation-redacted", COMPANY, [OPEN], r"\*\*\*"),
    ("auditor", "conversations-export", f"{COMPANY}?status=is:failed", ["text=Export", "details summary"], "Export"),
    ("auditor", "timeline-redacted", COMPANY, [OPEN, "#timeline .btn", "#timeline details"], r"\*\*\*"),
    ("agent", "audit-own", "/audit/", [], "Audit"),
    ("auditor", "audit", "/audit/", [".entries summary"], "Audit"),
    ("auditor", "audit-action-types", "/audit/", [".types > summary", ".types details > summary"], "Audit"),
    ("auditor", "audit-filtered", "/audit/?group=hand-off&result=conflict&actor=amira", [], "Audit"),
    ("auditor", "audit-error", "/audit/?since=2026-05-02&until=2026-05-01&action=nonsense", [], "Audit"),
    ("auditor", "audit-nothing", "/audit/?actor=nobody.here", [], "Audit"),
    ("auditor", "audit-same-key", "/audit/?action=hand_off.take", [OPEN, "text=All entries with this key"], "Audit"),
    ("auditor", "audit-find", "/audit/find/", [], "One conversation or key"),
    ("auditor", "audit-entry", "/audit/?action=hand_off.take", [OPEN], "took it from the queue"),
    ("auditor", "audit-entry-changes", "/audit/?action=staff.changed", [OPEN], "changed the account"),
    ("auditor", "audit-export", "/audit/export/?group=hand-off", ["details summary"], "Export"),
    ("auditor", "audit-export-error", "/audit/export/?action=junk&since=junk", [".form .btn"], "Export"),
    ("auditor", "audit-chart", "/audit/picture/", [], "Chart"),
    ("auditor", "audit-chart-nothing", "/audit/picture/?actor=no.body", [], "Chart"),
    ("auditor", "access-review", "/audit/accounts/", ["details.after > summary"], "Access review"),
    ("auditor", "access-log", "/audit/looks/", [], "Access log"),
    ("auditor", "access-log-person", "/audit/looks/people/amira/", [], "What they looked at"),
    ("auditor", "access-log-nobody", "/audit/looks/people/no.body/", [], "What they looked at"),
    ("auditor", "access-log-unseen", "/audit/looks/", events_of(HANDLED), "Access log"),
    (
        "auditor",
        "access-log-conversation",
        "/audit/looks/people/amira/",
        # Other tests of the run may have had her look at people and exports since.
        ["tbody th a:has-text('#')", "a.btn:has-text('Access log')"],
        "Access log",
    ),
    ("auditor", "events", EVENTS, [], "Idempotency"),
    ("auditor", "events-nothing", EVENTS, by_event("evt:rp:nobody:m1"), "Message m1 of"),
    ("auditor", "events-error", EVENTS, by_event(" "), "Idempotency"),
    ("auditor", "events-list", EVENTS, events_of(HANDLED), "Idempotency records"),
    ("auditor", "events-record", EVENTS, [*events_of(HANDLED), "text=Look-up of order"], "Look-up of order"),
    ("onboarding", "tenants", "/tenants/", [], "Tenants"),
    ("onboarding", "tenants-filtered", "/tenants/?status=suspended", [], "Tenants"),
    ("onboarding", "tenants-nothing", "/tenants/?status=junk", [], "Tenants"),
    ("auditor", "tenants-redacted", "/tenants/", [], "Tenants"),
    ("onboarding", "tenant", "/tenants/lumen-dental/", [], "Lumen Dental"),
    ("onboarding", "tenant-neglected", "/tenants/cucumber-recruitment/", [], "Cucumber"),
    ("admin", "tenant-broken", "/tenants/pickle-and-sons/", [], "Pickle"),
    ("onboarding", "tenant-suspended", "/tenants/kestrel-freight/", [], "Kestrel"),
    ("onboarding", "tenant-readiness", "/tenants/cucumber-recruitment/readiness/", [], "Cucumber"),
    ("onboarding", "tenant-settings", "/tenants/lumen-dental/settings/", [], "Lumen Dental"),
    ("admin", "tenant-settings-error", "/tenants/pickle-and-sons/settings/", [], "Pickle"),
    ("onboarding", "tenant-settings-change", "/tenants/lumen-dental/settings/change/", [], "Lumen Dental"),
    (
        "onboarding",
        "tenant-settings-change-error",
        "/tenants/lumen-dental/settings/change/",
        [("#id_messages_per_day", "many"), ("#id_ai_model", " "), ".form .btn.primary"],
        "Lumen Dental",
    ),
    ("onboarding", "tenant-users", "/tenants/lumen-dental/users/", ["tbody summary"], "Lumen Dental"),
    ("auditor", "tenant-users-redacted", "/tenants/lumen-dental/users/", [], "Lumen Dental"),
    ("onboarding", "tenant-users-nobody", "/tenants/bluebird-books/users/", [], "Bluebird"),
    ("onboarding", "tenant-user-change", "/tenants/lumen-dental/users/", [OPEN], "Lumen Dental"),
    (
        "onboarding",
        "tenant-user-new-error",
        "/tenants/lumen-dental/users/new/",
        [
            ("#id_user_id", "a#b"),
            ("#id_email", "greta@lumendental.example"),
            ("#id_identity-0-id", "lonely"),
            ".form .btn.primary",
        ],
        "Lumen Dental",
    ),
    ("onboarding", "tenant-user-remove", "/tenants/lumen-dental/users/", ["text=Remove"], "Lumen Dental"),
    ("onboarding", "tenant-channels", "/tenants/cucumber-recruitment/channels/", [], "Cucumber"),
    ("onboarding", "tenant-channels-nothing", "/tenants/bluebird-books/channels/", [], "Bluebird"),
    (
        "onboarding",
        "tenant-channel-new-error",
        "/tenants/outlocks/channels/new/",
        [("#id_type", "whatsapp"), ("#id_id", "+44 7700 900831"), ".form .btn.primary"],
        "Outlocks",
    ),
    ("onboarding", "tenant-channel-move", "/tenants/outlocks/channels/", ["text=Move"], "Outlocks"),
    ("onboarding", "tenant-channel-release-alike", "/tenants/outlocks/channels/", ["text=Release"], "Outlocks"),
    ("onboarding", "tenant-company-link", "/tenants/outlocks/companies/link/", [], "Outlocks"),
    ("onboarding", "tenant-status", "/tenants/outlocks/status/suspend/", [], "Outlocks"),
    ("onboarding", "tenant-status-error", "/tenants/bluebird-books/status/activate/", [], "Bluebird"),
    ("onboarding", "tenant-history", "/tenants/lumen-dental/history/", [".timeline summary"], "Lumen Dental"),
    ("onboarding", "tenant-memories", "/tenants/lumen-dental/memories/", ["main summary"], "Lumen Dental"),
    ("onboarding", "tenant-new", "/tenants/new/", [], "New tenant"),
    (
        "onboarding",
        "tenant-new-error",
        "/tenants/new/",
        [("#id_name", "Outlocks"), ("#id_tenant_id", "outlocks"), ".form .btn.primary"],
        "New tenant",
    ),
    ("onboarding", "tenant-onboarding-settings", "/tenants/bluebird-books/onboarding/settings/", [], "Onboard"),
    ("onboarding", "tenant-onboarding-admin", "/tenants/bluebird-books/onboarding/admin/", [], "Onboard"),
    (
        "onboarding",
        "tenant-onboarding-channels-error",
        "/tenants/bluebird-books/onboarding/channels/",
        [("#id_channel-0-type", "whatsapp"), ("#id_channel-0-id", "0770"), ".form .btn.primary"],
        "Onboard",
    ),
    ("onboarding", "tenant-onboarding-companies", "/tenants/bluebird-books/onboarding/companies/", [], "Onboard"),
    ("onboarding", "tenant-onboarding-review", "/tenants/bluebird-books/onboarding/review/", [], "Onboard"),
    ("onboarding", "resolve", "/channels/resolve/", [], "Resolve a channel"),
    (
        "onboarding",
        "resolve-clash",
        "/channels/resolve/",
        [("#id_carried", "replies@cucumber.example"), ".form .btn.primary"],
        "Resolve a channel",
    ),
    (
        "onboarding",
        "resolve-error",
        "/channels/resolve/",
        [("#id_carried", "nothing at all"), ".form .btn.primary"],
        "Resolve a channel",
    ),
    ("admin", "tenant-conversations", TALKS, [], "Outlocks"),
    ("admin", "tenant-conversations-none", "/tenants/nobody/conversations/", [], "nobody"),
    ("admin", "tenant-conversation", TALKS, ["text=sprint-status", ".msg details > summary"], "sprint-status"),
    ("admin", "tenant-conversation-long", TALKS, ["text=on-call", ".earlier a"], "on-call"),
    ("auditor", "tenant-conversation-malformed", TALKS, ["text=conv-e27b-import"], "import"),
    ("auditor", "tenant-conversation-drifted", "/tenants/lumen-dental/conversations/", ["text=rota"], "rota"),
    ("admin", "tenant-conversation-clear", TALKS, ["text=retro", "text=Clear this"], "Clear this conversation"),
    (
        "admin",
        "tenant-conversation-clear-error",
        TALKS,
        ["text=retro", "text=Clear this", ("#id_typed", "conv"), ".btn.danger"],
        "Clear this conversation",
    ),
    ("admin", "raw", COMPANY, [OPEN, "text=Raw item"], "Raw item"),
    ("admin", "system", "/system/", [], "System"),
    ("admin", "team", "/team/", [], "Team"),
    ("admin", "insight", "/insight/?period=90", [], "Insight"),
    ("admin", "insight-compared-alike", "/insight/waits/?period=7&compare=on", ["text=Show the numbers"], "Insight"),
    ("admin", "insight-people", "/insight/people/?company=ci-cuc-001&period=90", [], "Insight"),
    ("admin", "insight-chats", "/insight/chats/?period=90", [], "Insight"),
    ("admin", "insight-behind", "/insight/?company=ci-cuc-001&period=90", [".figures a"], "Behind the number"),
    ("admin", "insight-nothing", "/insight/failures/?period=days&since=2001-01-01&until=2001-01-02", [], "Insight"),
    ("admin", "service-levels", "/team/levels/ci-nwe-002/", [], "Service levels"),
    ("admin", "agent-groups", "/team/groups/ci-nwe-002/", [], "Groups"),
    ("agent", "notices", "/notices/", [], "For you"),
    ("admin", "staff", "/staff/", [], "Staff"),
    ("admin", "staff-filtered", "/staff/?role=agent&state=disabled", [], "Staff"),
    ("admin", "staff-nobody", "/staff/?name=zzz", [], "Staff"),
    ("admin", "staff-new", "/staff/new/", [], "New account"),
    ("admin", "staff-new-error", "/staff/new/", [("#id_username", "Not a name!"), ".form .btn.primary"], "New account"),
    ("admin", "staff-account", "/staff/tom/", [], "Tom Becker"),
    ("admin", "staff-own", "/staff/ada/", [], "Ada Lindqvist"),
    ("admin", "staff-change", "/staff/tom/change/", [], "Change Tom Becker"),
    ("admin", "staff-disable", "/staff/tom/disable/", [], "Disable"),
    ("admin", "staff-password", "/staff/tom/password/", [], "password"),
    ("agent", "account", "/account/", [], "Your account"),
    ("agent", "account-password", "/account/password/", [], "Change the password"),
    ("agent", "account-second-factor", "/account/second-factor/", [], "Set up a second factor"),
    (None, "set-password", "/set-password/", [], "Set your password"),
    ("agent", "error-403", "/system/", [], "not part of your role"),
    ("agent", "error-404", "/conversations/companies/ci-none/", [], "Page not found"),
]

# Pages that say that there is nothing, or the same as another with a filter, a message or fewer rights.
ALIKE = re.compile(
    r".*-(nothing|empty|nobody|unseen|filtered|error|redacted|mine|colleagues|page-2|permalink|own|same-key)"
    r"|sign-in-error|project|staff-(disable|password|change)|account-password|access-log-person"
    r"|tenant-(neglected|broken|suspended|channel-move|.*-alike|user-remove|onboarding-(settings|companies))"
)


@pytest.mark.parametrize(("role", "name", "path", "steps", "heading"), PAGES, ids=[page[1] for page in PAGES])
def test_page_is_accessible_and_fits(kept_page, role, name, path, steps, heading):
    page = kept_page(role)
    walk(page, path, steps)
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile(heading))
    check_looks(page, name, FEWER if ALIKE.fullmatch(name) else LOOKS)


def test_timeline_has_a_page_of_its_own(open_page):
    page = open_page("agent")
    page.goto("/queue/?tab=mine")
    page.locator(OPEN).first.click()
    page.goto(page.locator("#timeline .btn").first.get_attribute("href"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Timeline")
    check_looks(page, "timeline")


def test_lost_race_page(open_page):
    agent, admin = open_page("agent"), open_page("admin")
    # Its queue does not learn of the other one in time.
    without_polls(agent, "**/queue/**")
    agent.goto("/queue/?company=ci-nwe-002")
    row = agent.locator("[data-row]").last
    admin.goto(row.locator(OPEN).get_attribute("href").split("?")[0])
    admin.get_by_role("button", name="Take").click()
    expect(admin.get_by_text("You have this conversation").first).to_be_visible()
    row.get_by_role("button", name="Take").click()
    expect(agent.get_by_text("took this conversation first")).to_be_visible()
    check_looks(agent, "lost-race")
    admin.get_by_role("button", name="Return to queue").click()


def test_refused_take_keeps_the_panel(open_page):
    page = open_page("agent")
    page.goto("/queue/?tab=colleagues")
    page.locator(OPEN).first.click()
    page.get_by_text("Take from").first.click()
    page.locator("input[name=reason]").evaluate("field => field.required = false")
    page.get_by_role("button", name="Take from").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not done")
    check_looks(page, "hand-off-refused")


def test_menu_filters_and_keys_open_over_the_page(open_page):
    page = open_page("agent", width=360)
    page.goto(COMPANY)
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Queue")).to_be_visible()
    check_look(page, "menu-360")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Status").select_option("is:failed")
    page.wait_for_url(lambda url: "status=is%3Afailed" in url)
    check_look(page, "filters-360")
    page.get_by_role("button", name="Show the list").click()
    expect(page.get_by_label("Status")).to_be_hidden()
    expect(page.get_by_role("button", name="Filters on")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 860})
    expect(page.get_by_role("link", name="Clear")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    check_look(page, "keys")


def test_lists_are_dense_enough_for_a_phone(open_page):
    """Four rows at least are wholly on the first screen of a phone."""
    page = open_page("agent", width=360, height=740)
    for path in ("/queue/", COMPANY):
        page.goto(path)
        bottom = page.locator("[data-row]").nth(3).evaluate("row => row.getBoundingClientRect().bottom")
        assert bottom <= 740, path


def test_words_and_masked_numbers_are_not_broken(open_page):
    """A masked number stands on one line in every list, wide and narrow."""
    page = open_page("agent")
    for path in ("/queue/", COMPANY):
        page.goto(path)
        for width in (1280, 900, 360):
            page.set_viewport_size({"width": width, "height": 860})
            tallest = page.locator("[data-row] .nowrap").evaluate_all(
                # A name from right to left is a box of its own on the same line.
                "all => Math.max(...all.map("
                "each => new Set([...each.getClientRects()].map(box => Math.round(box.bottom))).size))"
            )
            assert tallest == 1, (path, width)
            # Only a longer word than any of the demo's is cut.
            cut = page.locator("[data-row] :is(.nowrap, .tag)").evaluate_all(
                "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
            )
            assert cut == [], (path, width)


def test_conversation_leads_back_to_its_list(open_page):
    page = open_page("agent")
    page.goto(f"{COMPANY}?status=failed")
    page.locator(OPEN).first.click()
    page.get_by_role("link", name="Back to the list").click()
    expect(page).to_have_url(re.compile(r"/companies/ci-cuc-001/\?status=failed$"))
