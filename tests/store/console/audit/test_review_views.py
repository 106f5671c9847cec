"""`/audit/` for those who review, and `/audit/find/`."""

import html
import json
import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from console import clock
from console.audit.review import plan
from console.audit.review.forms import CONVERSATION, KEY, About
from console.audit.review.page import READ_LAST
from console.redaction import redact
from console.refs import seal
from console.staff.models import StaffAccount
from console.store import presence
from console.trail.actions import Action
from conversations.companies import register
from tests import faults, items
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in, signed_in_before

pytestmark = pytest.mark.pages

AUDIT = "/audit/"
PHONE = "447700900123"
ID = f"{COMPANY}#pi-aaa-001#req-1#{PHONE}"
KEY_OF_TAG = f"act:rp_tag:{ID}:vip:m1"
HTMX = {"HX-Request": "true"}


def entry(number: int, action: str = "route", trail: str = ID, **more) -> dict:
    """An entry, `number` minutes old."""
    return items.entry(clock.now() - timedelta(minutes=number), action, trail, tie=number, **more)


def ours(number: int, action: Action, actor: str = "amira.haddad", company: str = COMPANY, **more) -> dict:
    return entry(number, action, actor=actor, company=company, **more)


@pytest.fixture
def reviewer(store):
    return signed_in_before(store, auditor())


def text_of(client, url: str = AUDIT, **headers) -> str:
    answer = client.get(url, headers=headers)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def sentences(client, url: str = AUDIT) -> list[str]:
    """The list's sentences, newest first."""
    return re.findall(r"<a data-open [^>]*><bdi>([^<]*)</bdi></a>", text_of(client, url))


def plain(words: list[str]) -> list[str]:
    """Without the isolates around names."""
    return [re.sub("[⁦-⁩]", "", each) for each in words]


# --- What is listed ---------------------------------------------------------------------------------------------


def test_entries_of_all_conversations_are_sentences_newest_first(store, reviewer):
    member()
    store.put_all(
        "AUDIT",
        [
            entry(3, "route", "c1", action_payload_redacted='{"team": "Returns"}'),
            ours(2, Action.HAND_OFF_TAKE, trail="c2"),
            entry(1, "tag", "c3", action_payload_redacted='{"tag": "vip"}', result="failed: no such tag"),
        ],
    )
    assert plain(sentences(reviewer)) == [
        "Tried to tag vip",
        "Amira Haddad took it from the queue",
        "Routed to Returns",
    ]
    shown = text_of(reviewer)
    assert "no such tag" in shown
    assert "Action types: middleware, hand-off, looking at personal data, accounts, tenants." in shown
    assert "Choose other types to see their entries" in shown


def test_privileged_changes_are_shown_charted_and_exported_by_default(store, reviewer):
    changes = (Action.STAFF_CREATED, Action.TENANT_SUSPENDED, Action.CHANNEL_MOVED, Action.USER_REMOVED)
    for number, action in enumerate(changes):
        store.put("AUDIT", entry(number + 1, action, "SYSTEM", actor="olaf.admin"))
    shown = text_of(reviewer)
    for action in changes:
        assert f"<code>{action}</code>" in shown
    # What is printed says when, also of what happened today.
    today = clock.now().astimezone(clock.zone_of(auditor().time_zone))
    assert f">{today.day} {today:%b %Y}, " in shown
    assert f" {today:%Z}</time>" in shown
    assert "4 entries read" in reviewer.get("/audit/picture/").content.decode()
    file = reviewer.post("/audit/export/", {"format": "csv"}).getvalue().decode()
    assert all(action in file for action in changes)


def test_look_ups_of_orders_are_listed_and_types_that_nobody_offers_where_they_are_named(store, reviewer):
    looked = {"action_payload_redacted": '{"order": "***4821"}', "idempotency_key": "act:shopify_lookup:c1:104821"}
    store.put_all("AUDIT", [entry(1, "shopify_lookup", "c1", **looked), entry(2, "own_word", "c1")])
    assert sentences(reviewer) == ["Looked up an order: ***4821"]
    assert sentences(reviewer, f"{AUDIT}?group=middleware") == ["Looked up an order: ***4821"]
    assert (
        sentences(reviewer, f"{AUDIT}?action=own_word")
        == sentences(reviewer, f"{AUDIT}?other=own_word")
        == ["Own word"]
    )
    shown = text_of(reviewer, f"{AUDIT}?action=own_word")
    assert re.search(
        r'<input[^>]*name="other"[^>]*value="own_word"|<input[^>]*value="own_word"[^>]*name="other"', shown
    )
    entry_url = re.search(r'<a data-open href="([^"]+)"', shown)[1]
    assert f'href="{AUDIT}?action=own_word"' in text_of(reviewer, entry_url)


def test_rows_of_a_page_stand_in_the_order_of_the_times_that_they_show(store, reviewer):
    noon = clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    opened = json.dumps({"at": clock.to_iso(noon + timedelta(minutes=45))})
    epoch = clock.to_epoch(noon + timedelta(minutes=20))
    store.put_all(
        "AUDIT",
        [
            ours(0, Action.TRANSCRIPT_OPENED, ts_action_id=f"{clock.to_iso(noon)}#o", action_payload_redacted=opened),
            *(entry(0, "route", ts_action_id=f"{clock.to_iso(noon + timedelta(minutes=n))}#r{n}") for n in (15, 30)),
            entry(0, "tag", ts_action_id=f"{epoch}#t"),
            entry(0, "escalate", ts_action_id="2026-13-13#whenever"),
        ],
    )
    expected = ["amira.haddad opened the transcript", "Routed", "Tagged", "Routed", "Escalated"]
    assert plain(sentences(reviewer)) == expected
    assert READ_LAST in text_of(reviewer)


@pytest.mark.slow
def test_pages_go_on_where_reading_ended_whatever_the_order_of_rows(store, reviewer):
    noon = clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    for n in range(120):
        opened = json.dumps({"at": clock.to_iso(noon + timedelta(minutes=n % 60))})
        key = f"{clock.to_iso(noon)}#o{n:03}"
        store.put("AUDIT", ours(0, Action.TRANSCRIPT_OPENED, ts_action_id=key, action_payload_redacted=opened))
    seen, url = [], AUDIT
    for _ in range(3):
        shown = text_of(reviewer, url)
        seen += re.findall(r'<a data-open href="([^"]+)"', shown)
        following = re.search(r'rel="next" href="([^"]+)"', shown)
        url = following[1] if following else ""
    assert (len(seen), len(set(seen)), url) == (120, 120, "")


def test_a_row_tells_conversation_company_role_key_and_payload_redacted(store, reviewer):
    payload = '{"excerpt": "call me on +447700900123"}'
    store.put("AUDIT", ours(1, Action.HAND_OFF_TAKE, idempotency_key=KEY_OF_TAG, action_payload_redacted=payload))
    shown = text_of(reviewer)
    row = shown[shown.index('<ol class="rows entries"') : shown.index("</ol>")]
    assert f"<bdi>{COMPANY}</bdi>" in row
    assert "agent · <code>hand_off.take</code>" in row
    assert "no idempotency record" in row
    assert "excerpt" in row
    assert PHONE not in shown


@pytest.mark.parametrize(("scope", "query"), [([COMPANY], ""), (None, f"?company={COMPANY}")])
def test_the_company_of_the_middleware_s_entries_is_told_where_it_was_looked_up(store, scope, query):
    client = signed_in(auditor("lea.limited", scope) if scope else auditor())
    store.put("CONVERSATIONS", conversation(conversation_id=ID))
    store.put("AUDIT", entry(1))
    assert f"<bdi>{COMPANY}</bdi></b>" in text_of(client, f"{AUDIT}{query}")


def test_to_tell_the_company_nothing_is_read_and_for_its_projects_names_one_item_each(store, reviewer):
    store.put("CONVERSATIONS", conversation(conversation_id=ID))
    store.put_all("AUDIT", [entry(1), entry(2, Action.TENANT_CHANGED, f"TENANT#{COMPANY}"), entry(3, trail="c3")])
    with store.calls() as seen:
        shown = text_of(reviewer, f"{AUDIT}?action=route&action=tenant.changed")
    asked = [each.index for each in seen if "CONVERSATIONS" in each.tables]
    # Beside the project's name, those of the two recipients, which the rows mask.
    assert sorted(asked) == ["company-id-project-id-index", *["conversation-id-index"] * 2]
    # What the trail's own key tells costs nothing: a tenant's, or a conversation's id of the platform's form.
    assert shown.count(f"<bdi>{COMPANY}</bdi></b>") == 2
    with store.calls() as seen:
        text_of(reviewer, f"{AUDIT}?action=route&action=tenant.changed")
    assert not any("CONVERSATIONS" in each.tables for each in seen)


def test_names_stand_first_and_ids_second(store, reviewer):
    register(COMPANY, "Cucumber Recruitment", "test", "2026-03-02T09:00:00Z")
    member("amira.haddad")
    store.put("CONVERSATIONS", conversation(conversation_id=ID, project_name="Clarify CV"))
    store.put_all("AUDIT", [ours(1, Action.HAND_OFF_TAKE), entry(2, Action.TENANT_CHANGED, f"TENANT#{COMPANY}")])
    shown = text_of(reviewer, f"{AUDIT}?action=hand_off.take&action=tenant.changed")
    wheres = re.findall(r'<div class="where">.*?</div>', shown)
    first = re.sub(r"<[^>]+>", "|", wheres[0])
    words = [each.strip() for each in first.split("|") if each.strip()]
    assert words[0] == "Cucumber Recruitment"
    assert words[1] == "Clarify CV · ***-***-0123"
    assert words[-1] == redact(ID)
    assert f'title="{COMPANY}"' in wheres[0]
    assert "Amira Haddad" in shown


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("Cucumber Recruitment", COMPANY),
        ("cucumber recruitment", COMPANY),
        ("recruit", COMPANY),
        (COMPANY, COMPANY),
        ("Lumen Lamps", "ci-lum-003"),
    ],
)
def test_the_company_filter_takes_names(store, reviewer, typed, found):
    register(COMPANY, "Cucumber Recruitment", "test", "2026-03-02T09:00:00Z")
    for company, name in (("ci-lum-003", "Lumen Lamps"), ("ci-lum-004", "Lumen Lamps and Lights")):
        register(company, name, "test", "2026-03-02T09:00:00Z")
    store.put_all("AUDIT", [ours(1, Action.HAND_OFF_TAKE), ours(2, Action.HAND_OFF_TAKE, company="ci-lum-003")])
    shown = text_of(reviewer, f"{AUDIT}?{urlencode({'company': typed})}")
    assert shown.count("data-row") == 1
    assert f"company={found}" in shown
    # The field says the name, and the list of suggestions has it.
    name = "Lumen Lamps" if "lum" in found else "Cucumber Recruitment"
    assert f'name="company" value="{name}"' in shown
    assert f'<option value="{name}">{found}</option>' in shown


def test_a_name_of_several_companies_lists_them_and_a_number_is_none(store, reviewer):
    for company, name in (("ci-lum-003", "Lumen Lamps"), ("ci-lum-004", "Lumen Lights")):
        register(company, name, "test", "2026-03-02T09:00:00Z")
    shown = text_of(reviewer, f"{AUDIT}?company=Lumen")
    assert "Several have that name: Lumen Lamps (ci-lum-003), Lumen Lights (ci-lum-004). Choose one." in shown
    for typed in (PHONE, "jo@doe.example"):
        shown = text_of(reviewer, f"{AUDIT}?{urlencode({'company': typed})}")
        assert "Enter a company's name or id, not a number or an address." in shown


def test_names_of_companies_out_of_scope_are_not_told(store):
    register(OTHER_COMPANY, "Lumen Lamps", "test", "2026-03-02T09:00:00Z")
    shown = text_of(signed_in(auditor("lea.limited", [COMPANY])), f"{AUDIT}?company=Lumen+Lamps")
    assert OTHER_COMPANY not in shown
    assert "No company in your scope has that name or id." in shown


def test_the_filter_of_staff_takes_names(store, reviewer):
    for username in ("amira.haddad", "a.smith", "ann.smith"):
        member(username)
    StaffAccount.get("a.smith").update(actions=[StaffAccount.display_name.set("Ann Smith")])
    store.put_all("AUDIT", [ours(1, Action.HAND_OFF_TAKE), ours(2, Action.HAND_OFF_TAKE, "tom.becker")])
    for typed in ("Amira Haddad", "amira haddad", "Amira", "amira.haddad"):
        shown = text_of(reviewer, f"{AUDIT}?{urlencode({'actor': typed})}")
        assert shown.count("data-row") == 1, typed
        assert "actor=amira.haddad" in shown
    shown = text_of(reviewer, f"{AUDIT}?actor=Ann+Smith")
    assert "Several have that name: Ann Smith (a.smith), Ann Smith (ann.smith). Enter a username." in shown
    assert "No member of staff has that name. Enter a username or a name." in text_of(reviewer, f"{AUDIT}?actor=Zoe+Q")


def test_a_row_leads_to_its_entry_and_its_conversation(store, reviewer):
    item = conversation(conversation_id=ID)
    store.put("CONVERSATIONS", item)
    store.put_all("AUDIT", [entry(1), entry(2, Action.STAFF_CHANGED, "STAFF#tom.becker")])
    shown = text_of(reviewer, f"{AUDIT}?action=route&action=staff.changed")
    found = re.findall(r'<(?:a data-open|div class="where">(?:<b.*?</b>)?<a) href="([^"]+)"', shown)
    links = [html.unescape(each) for each in found]
    assert len(links) == 4
    assert [reviewer.get(link).status_code for link in links] == [200, 302, 200, 200]
    assert reviewer.get(links[1])["Location"].startswith("/conversations/")
    assert links[3] == f"/audit/trails/{seal('trail', 'STAFF#tom.becker')}/"
    assert not any(PHONE in link for link in links)


def test_one_batch_read_is_all_that_rows_cost(store, reviewer):
    store.put_all("AUDIT", [ours(n, Action.HAND_OFF_TAKE, trail=f"c{n}", idempotency_key=f"k{n}") for n in range(60)])
    reviewer.get(AUDIT)
    with store.calls() as seen:
        reviewer.get(f"{AUDIT}?action=hand_off.take")
    mine = [(each.operation, each.tables) for each in seen if not set(each.tables) & {"STAFF_SESSIONS"}]
    assert [each for each in mine if each[0] == "Query"] == [("Query", ("AUDIT",))]
    batches = sorted(each[1] for each in mine if each[0] == "BatchGetItem")
    assert batches == [("IDEMPOTENCY", "STAFF")]


def test_pages_follow_each_other_by_one_cursor(store, reviewer):
    store.put_all("AUDIT", [entry(n, ["route", "tag"][n % 2], f"c{n}") for n in range(60)])
    first = text_of(reviewer, f"{AUDIT}?group=middleware")
    assert first.count("data-open") == 50
    link = re.search(r'rel="next" href="([^"]+)"', first).group(1)
    assert parse_qsl(urlsplit(link).query)[0] == ("group", "middleware")
    second = text_of(reviewer, link)
    assert second.count("data-open") == 10
    assert 'rel="next"' not in second
    assert f'href="{AUDIT}?group=middleware"' in second
    assert text_of(reviewer, f"{AUDIT}?page=junk").count("data-open") == 50


def test_a_thin_page_says_that_the_list_goes_on(store, reviewer, monkeypatch):
    monkeypatch.setattr("console.audit.review.reading.READS_PER_PAGE", 1)
    store.put_all("AUDIT", [entry(n, "route", f"c{n}", result="failed" if n == 3 else "success") for n in range(60)])
    some = text_of(reviewer, f"{AUDIT}?action=route&result=failed")
    # Back to the 50th minute.
    assert re.search(r"Few entries match: 1 of the 50 searched, back to <time[^>]+>", some)
    nothing = text_of(reviewer, f"{AUDIT}?action=route&result=conflict")
    assert re.search(r"None of the 50 entries searched so far match, back to <time[^>]+>", nothing)
    assert nothing.count('rel="next"') == 1


# --- Filters ----------------------------------------------------------------------------------------------------


@pytest.fixture
def lively(store):
    store.put_all(
        "AUDIT",
        [
            entry(10, "route", "c1"),
            entry(9, "tag", "c1", result="failed"),
            ours(8, Action.HAND_OFF_TAKE, "amira.haddad", COMPANY, trail="c2", idempotency_key=KEY_OF_TAG),
            ours(7, Action.HAND_OFF_RELEASE, "tom.becker", OTHER_COMPANY, trail="c3"),
            ours(6, Action.TRANSCRIPT_OPENED, "tom.becker", COMPANY, trail="c2"),
            entry(3 * 1440, "escalate", "c4"),
        ],
    )
    store.put("IDEMPOTENCY", {"event_id": KEY_OF_TAG, "conversation_id": "c2", "status": "processed"})


def days_ago(number: int) -> str:
    return f"{clock.now() - timedelta(days=number):%Y-%m-%d}"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["opened", "returned", "took", "tag", "Routed", "Escalated"]),
        ("group=middleware", ["tag", "Routed", "Escalated"]),
        ("action=route&action=hand_off.take", ["took", "Routed"]),
        ("actor=tom.becker", ["opened", "returned"]),
        ("actor=tom.becker&action=hand_off.release", ["returned"]),
        ("nobody=on", ["tag", "Routed", "Escalated"]),
        ("result=failed", ["tag"]),
        (f"company={OTHER_COMPANY}", ["returned"]),
        ("until={two}", ["Escalated"]),
        ("since={two}&group=middleware", ["tag", "Routed"]),
        ("since={three}&until={three}", ["Escalated"]),
        ("about={conversation}", ["opened", "took"]),
        ("about={conversation}&actor=tom.becker", ["opened"]),
        ("about={key}", ["took"]),
        ("actor=nobody.here", []),
    ],
)
def test_each_filter_narrows_the_list(lively, reviewer, query, found):
    named = {"two": days_ago(2), "three": days_ago(3)}
    named |= {"conversation": About(CONVERSATION, "c2").sealed, "key": About(KEY, KEY_OF_TAG).sealed}
    shown = plain(sentences(reviewer, f"{AUDIT}?{query.format(**named)}"))
    assert len(shown) == len(found), shown
    assert all(word in line for word, line in zip(found, shown, strict=True)), shown


def test_what_is_wrong_stands_at_its_field_and_the_rest_is_applied(lively, reviewer):
    shown = text_of(reviewer, f"{AUDIT}?since=2026-05-02&until=2026-05-01&result=failed&since=2026-05-02")
    assert "The last day is before the first." in shown
    assert '<ul class="errorlist" id="id_until_error">' in shown
    assert "To: The last day is before the first. This filter was ignored." in shown
    assert "Group: Choose one of the listed groups of action types. This filter was ignored." in text_of(
        reviewer, f"{AUDIT}?group=no"
    )
    fragment = text_of(reviewer, f"{AUDIT}?since=tomorrow", **HTMX)
    assert "From: Enter a valid date. This filter was ignored." in fragment


def test_htmx_gets_the_list_alone(lively, reviewer):
    fragment = text_of(reviewer, f"{AUDIT}?result=failed", **HTMX)
    assert fragment.strip().startswith('<div id="review">')
    assert "<html" not in fragment
    assert 'id="filters"' not in fragment
    assert "ried to tag" in fragment


def test_an_unknown_company_is_refused_on_every_page_of_the_review(lively, reviewer):
    words = "No company or tenant has the name or id ci-nope."
    for path in (AUDIT, "/audit/picture/", "/audit/export/"):
        shown = text_of(reviewer, f"{path}?company=ci-nope")
        assert words in shown
        assert "Keep searching" not in shown
        assert words not in text_of(reviewer, f"{path}?company={COMPANY}")
    assert reviewer.post("/audit/export/?company=ci-nope", {"format": "csv"}).status_code == 400


def test_a_company_is_found_by_its_entry_in_a_scope(store, reviewer):
    store.put("AUDIT", ours(1, Action.TENANT_CREATED, company="acme"))
    assert len(sentences(reviewer, f"{AUDIT}?company=tenant:acme")) == 1
    assert "No company or tenant has the name or id other." in text_of(reviewer, f"{AUDIT}?company=tenant:other")


def test_a_review_of_one_company_says_that_it_shows_all_action_types(store, reviewer):
    types = (Action.MESSAGE_RECEIVED, Action.TARGET_MISSED, Action.HAND_OFF_TAKE, "crm_sync")
    store.put_all("AUDIT", [ours(number, each) for number, each in enumerate(types)])
    for path in (AUDIT, "/audit/picture/", "/audit/export/"):
        assert "Action types: all." in text_of(reviewer, f"{path}?company={COMPANY}")
    assert f"<code>{Action.MESSAGE_RECEIVED}</code>" in text_of(reviewer, f"{AUDIT}?company={COMPANY}")
    assert "4 entries read" in text_of(reviewer, f"/audit/picture/?company={COMPANY}")
    file = reviewer.post(f"/audit/export/?company={COMPANY}", {"format": "csv"}).getvalue().decode()
    assert all(each in file for each in types)


def test_a_company_without_entries_is_not_called_unknown(store, reviewer):
    store.put("CONVERSATIONS", conversation(company_id="ci-quiet"))
    assert "is known here" not in text_of(reviewer, f"{AUDIT}?company=ci-quiet")


def test_a_key_that_tells_no_conversation_is_explained(store, reviewer):
    store.put("AUDIT", entry(1, idempotency_key="@SUM(1+1)"))
    assert "Find its entries from its record, or from an entry's page" in text_of(
        reviewer, f"{AUDIT}?about={About(KEY, '@SUM(1+1)').sealed}"
    )
    assert "Find its entries from its record, or from an entry's page" not in text_of(
        reviewer, f"{AUDIT}?about={About(KEY, KEY_OF_TAG).sealed}"
    )


def test_an_entry_without_a_time_is_listed_last_and_flagged(store, reviewer):
    garbage = {"conversation_id": ID, "ts_action_id": "garbage", "action_type": "tag", "result": "success"}
    store.put_all("AUDIT", [entry(1), entry(2, "tag"), garbage, garbage | {"ts_action_id": "#1"}])
    for query in ("", "action=tag&action=route", f"about={About(CONVERSATION, ID).sealed}"):
        page = text_of(reviewer, f"{AUDIT}?{query}")
        assert page.count("data-row") == 4
        assert page.index("no time") > page.rindex("<time")
    today = clock.now().date()
    assert text_of(reviewer, f"{AUDIT}?since={today - timedelta(days=1)}").count("data-row") == 2


def test_empty_says_what_to_do(store, reviewer):
    assert "Nothing is recorded yet" in text_of(reviewer)
    filtered = text_of(reviewer, f"{AUDIT}?result=failed&actor=amira.haddad")
    assert "No entry matches" in filtered
    assert "Clear the filters" in filtered


# --- One conversation or key -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "value"), [(CONVERSATION, ID), (KEY, KEY_OF_TAG)])
def test_what_is_typed_leads_to_its_review_sealed_with_the_filters_kept(store, reviewer, what, value):
    store.put("AUDIT", entry(1, "tag", idempotency_key=KEY_OF_TAG))
    store.put("IDEMPOTENCY", {"event_id": KEY_OF_TAG, "conversation_id": ID, "status": "processed"})
    page = text_of(reviewer, f"{AUDIT}?result=success")
    action = re.search(r'<form class="form about" method="post" action="([^"]+)"', page).group(1)
    answer = reviewer.post(action, {"what": what, "value": value, "reason": "complaint 4711"})
    assert answer.status_code == 302
    assert answer["Location"] == f"{AUDIT}?result=success&about={About(what, value).sealed}"
    shown = text_of(reviewer, answer["Location"])
    assert ("Entries with one idempotency key" if what == KEY else "Entries of one conversation") in shown
    assert "***-***-0123" in shown
    assert PHONE not in shown
    assert PHONE not in answer["Location"]
    assert f'<a class="btn small" href="{AUDIT}?result=success">' in shown
    assert len(sentences(reviewer, answer["Location"])) == 1
    assert f'name="about" value="{About(what, value).sealed}"' in shown


def test_a_wrong_or_missing_id_is_told_on_a_page_of_its_own(store, reviewer):
    answer = reviewer.post("/audit/find/?result=failed", {"what": "key", "value": ""})
    shown = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert "Enter an id or a key." in shown
    assert 'action="/audit/find/?result=failed"' in shown
    assert "One conversation or key" in text_of(reviewer, "/audit/find/")


# --- Scope ------------------------------------------------------------------------------------------------------


@pytest.fixture
def limited(store):
    return signed_in(auditor("lea.limited", [COMPANY]))


def test_only_what_is_in_scope_is_listed(lively, limited):
    assert [line for line in plain(sentences(limited)) if "returned" in line] == []
    assert len(sentences(limited)) == 2
    assert plain(sentences(limited, f"{AUDIT}?actor=tom.becker")) == ["tom.becker opened the transcript"]
    assert "No company in your scope has that name or id" in text_of(limited, f"{AUDIT}?company={OTHER_COMPANY}")


def test_accounts_and_the_system_are_not_listed_for_who_sees_some_companies(store, limited):
    store.put("AUDIT", ours(1, Action.STAFF_CHANGED, trail="STAFF#tom.becker"))
    store.put("AUDIT", ours(2, Action.COMPANIES_DISCOVERED, trail="SYSTEM"))
    mine = sentences(limited, f"{AUDIT}?group=accounts&group=operations&group=signing-in")
    assert plain(mine) == ["Lea Limited signed in"]


def test_one_conversation_out_of_scope_is_as_one_that_is_not_there(store, limited):
    theirs = [ours(n, Action.HAND_OFF_TAKE, "a", OTHER_COMPANY, trail="c9", idempotency_key="k9") for n in range(60)]
    store.put_all("AUDIT", theirs + [entry(100 + n, "route", "c9") for n in range(60)])
    store.put("IDEMPOTENCY", {"event_id": "k9", "conversation_id": "c9", "status": "processed"})
    # Names of companies are remembered.
    limited.get(AUDIT)
    for what, there, absent in ((CONVERSATION, "c9", "c8"), (KEY, "k9", "k8")):
        answers = []
        for value in (there, absent):
            with store.calls() as seen:
                shown = text_of(limited, f"{AUDIT}?about={About(what, value).sealed}", **HTMX)
            calls = [(each.operation, each.tables, each.index) for each in seen]
            # A seal is not opened for whoever holds it.
            assert f"<code>{value}</code>" not in shown
            answers.append((shown, calls))
        assert answers[0] == answers[1]
        assert "No entry" in answers[0][0]


def test_how_much_a_colleague_does_elsewhere_is_not_told(store, limited):
    store.put_all("AUDIT", [ours(n, Action.HAND_OFF_TAKE, "tom.becker", OTHER_COMPANY) for n in range(120)])
    text_of(limited, f"{AUDIT}?actor=somebody")
    answers = []
    for name in ("tom.becker", "nobody.here"):
        with store.calls() as seen:
            shown = text_of(limited, f"{AUDIT}?actor={name}", **HTMX)
        answers.append((shown.replace(name, "X"), [(each.operation, each.tables, each.index) for each in seen]))
    assert answers[0] == answers[1]


def test_an_empty_scope_says_so(store):
    shown = text_of(signed_in(auditor("eve.empty", [])))
    assert 'id="review"' not in shown
    assert "Your own trail" in shown


# --- What is not there ------------------------------------------------------------------------------------------


def test_without_the_index_it_says_so_and_leads_to_single_trails(store, reviewer, monkeypatch):
    monkeypatch.setattr(plan, "index_ready", lambda table, name: False)
    store.put("AUDIT", entry(1))
    shown = text_of(reviewer)
    assert plan.TRAIL_BY_TRAIL in shown
    assert "One trail at a time" in shown
    assert shown.count('class="form about"') == 1
    assert "System trail" in shown
    assert plain(sentences(reviewer, f"{AUDIT}?about={About(CONVERSATION, ID).sealed}")) == ["Routed"]


def test_without_its_table_the_section_says_so(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT")
    client = signed_in(auditor())
    bare_store.client.update_table(TableName=bare_store.name("AUDIT"), DeletionProtectionEnabled=False)
    bare_store.client.delete_table(TableName=bare_store.name("AUDIT"))
    presence.forget()
    for headers in ({}, HTMX):
        answer = client.get(AUDIT, headers=headers)
        assert answer.status_code == (503 if headers else 200)
        assert "is not available in this environment" in answer.content.decode()


def test_without_the_idempotency_table_entries_stand_without_records(store, reviewer):
    store.put("AUDIT", entry(1, idempotency_key=KEY_OF_TAG))
    with faults.refuse("BatchGetItem", code="ResourceNotFoundException", table_key="IDEMPOTENCY", times=faults.ALWAYS):
        shown = text_of(reviewer)
    assert "This environment has no idempotency table, so the trail is shown without records" in shown
    assert "no idempotency record" not in shown
    assert "Routed" in shown


def test_a_store_that_fails_is_a_designed_answer(store, reviewer):
    with faults.refuse("Query", code="InternalServerError", table_key="AUDIT", times=faults.ALWAYS):
        assert reviewer.get(AUDIT).status_code == 503
        assert reviewer.get(AUDIT, headers=HTMX)["HX-Retarget"] == "#problem"


# --- Who --------------------------------------------------------------------------------------------------------


def test_who_does_not_review_keeps_the_overview_of_their_own(lively):
    shown = text_of(signed_in(member()))
    assert "Your own trail" in shown
    assert 'id="review"' not in shown
    assert 'id="review"' in text_of(signed_in(admin()))


def test_the_systems_trail_is_for_those_who_see_everything(store, limited, reviewer):
    assert "System trail" in text_of(reviewer)
    assert "System trail" not in text_of(limited)
