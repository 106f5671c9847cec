"""Lists as files: the rows of all pages, masked for the reader, on record first, and never silently short."""

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qsl, urlencode

import pytest
from django.template import Template
from django.test.utils import instrumented_test_render  # type: ignore[attr-defined]
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console import clock, exports
from console.lookups.personal_searches import pseudonym_of
from console.refs import seal
from console.trail.actions import Action
from conversations.companies import register
from conversations.converting import seal_list_context
from conversations.lists.exporting import reading, service
from conversations.lists.exporting.rows import COLUMNS
from conversations.records import Family
from tests import faults
from tests.answers import text_of
from tests.items import conversation, put_conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.queue import swept
from tests.store.conversations.queue.test_queue import held, waiting

pytestmark = pytest.mark.pages

URL = "/conversations/export/"
TEL = "+447700900123"
OF_COMPANY = {"list": "company", "company": COMPANY, "filters": {}}


def address(context) -> str:
    return f"{URL}?{urlencode({'in': seal_list_context(context)})}"


def body(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return b"".join(answer.streaming_content).decode("utf-8-sig")


def rows_of(answer) -> list[dict]:
    return [json.loads(line) for line in body(answer).splitlines()]


def known(*companies: str) -> None:
    for company in companies:
        register(company, company.upper(), "test", clock.to_iso(clock.now()))


def exported(client, context=OF_COMPANY) -> list[dict]:
    return rows_of(client.post(address(context), {"format": "jsonl"}))


def noted(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == Action.CONVERSATIONS_EXPORTED]


@pytest.fixture(autouse=True)
def _contexts_kept(monkeypatch):
    """With the contexts of pages, which tests are otherwise without."""
    monkeypatch.setattr(Template, "_render", instrumented_test_render)


@pytest.fixture
def client(store):
    return signed_in(auditor())


# --- The rows of all pages --------------------------------------------------------------------------------------------


def listed(client, url: str) -> tuple[list[str], str]:
    """The short ids of all pages of a list from that address on, and where its first page exports it."""
    found, export = [], ""
    while url:
        answer = client.get(url)
        assert answer.status_code == 200
        shown = answer.context
        export = export or shown["export_url"]
        found += [each.get("short_id") or each["summary"].short_id for each in shown["rows"]]
        url = shown["next_url"]
    return found, export


def many(count: int = 130) -> list[dict]:
    """Conversations of one recipient in every state, some without the keys of an index, some gone, some of others."""
    now = clock.now()
    statuses = ["reply_sent", "failed_unknown", "processing_reply", "odd one", "completed"]
    items = []
    for number in range(count):
        at = clock.to_iso(now - timedelta(hours=number % 40, minutes=number))
        agent = {"hand_off_agent": ("ada.admin", "tom")[number % 2]} if number % 7 == 0 else {}
        items.append(
            conversation(
                request_id=f"r{number}",
                project_id=f"pi-{number % 3}",
                company_id=OTHER_COMPANY if number % 11 == 10 else COMPANY,
                conversation_status=statuses[number % 5],
                channel_method=("whatsapp", "sms", "fax")[number % 3],
                hand_off_to_human=number % 3 == 0,
                task_complete=number % 2,
                created_at=... if number % 13 == 12 else at,
                updated_at=... if number % 17 == 16 else at,
                ttl=clock.to_epoch(now) - 60 if number % 19 == 18 else ...,
                **agent,
            )
        )
    return items


CHOICES = {
    "status": ["", "completed", "odd one", *(f"is:{each}" for each in Family)],
    "channel": ["", "whatsapp", "fax"],
    "hand_off": ["", "waiting", "held", "ai"],
    "task": ["", "0", "1"],
    "order": ["", "project"],
    "since": ["", f"{clock.now() - timedelta(days=1):%Y-%m-%d}"],
}
FILTERS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})
RECIPIENT = reverse("recipient", args=[seal("recipient", TEL)])
LISTS = [
    reverse("company", args=[COMPANY]),
    reverse("project", args=[COMPANY, "pi-1"]),
    RECIPIENT,
    reverse("replies", args=[seal("replies", "whatsapp", "+447588713814", TEL)]),
]


@pytest.mark.slow
@pytest.mark.parametrize("url", LISTS)
def test_the_rows_are_those_of_all_pages_with_these_filters(store, url):
    store.put_all("CONVERSATIONS", many())
    people = [signed_in(each) for each in (auditor(), auditor("lea.limited", [COMPANY]))]

    @given(FILTERS, st.sampled_from(people))
    @hypothesis_settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    def check(filters, client):
        found, export = listed(client, f"{url}?{urlencode(filters)}")
        rows = rows_of(client.post(export, {"format": "jsonl"}))
        assert [row["conversation"] for row in rows] == found

    check()
    everything, _ = listed(people[0], url)
    assert len(everything) > 30


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["waiting", "attention", "mine", "colleagues"])
def test_the_rows_of_the_queue_are_those_of_all_pages_of_the_tab(store, tab):
    known(COMPANY, OTHER_COMPANY)
    store.put_all("CONVERSATIONS", many())
    swept(store)
    client = signed_in(admin())
    for filters in ({}, {"channel": "sms"}, {"company": COMPANY}, {"project": "pi-0", "waited": "1h"}):
        found, export = listed(client, f"/queue/?{urlencode({'tab': tab} | filters)}")
        rows = rows_of(client.post(export, {"format": "jsonl"}))
        assert [row["conversation"] for row in rows] == found
    assert listed(client, f"/queue/?tab={tab}")[0]


def test_the_rows_of_a_search_are_those_it_found(store):
    put_conversation(store, request_id="one")
    put_conversation(store, request_id="two", primary_channel=TEL.lstrip("+"))
    client = signed_in(admin())
    found = client.post("/conversations/find/", {"look": "recipient", "recipient": TEL})
    page = client.get(found["Location"])
    rows = rows_of(client.post(page.context["export_url"], {"format": "jsonl"}))
    assert sorted(row["conversation"] for row in rows) == ["one", "two"]
    assert page.context["export_url"] in text_of(page)
    (entry,) = noted(store)
    assert json.loads(entry["action_payload_redacted"])["person"] == pseudonym_of(TEL)
    assert "7700900123" not in str(entry)


# --- What a row holds -------------------------------------------------------------------------------------------------


def test_a_row_says_what_the_list_shows_and_no_message(store, client):
    now = clock.now()
    asked = clock.to_iso(now - timedelta(minutes=90, seconds=5))
    put_conversation(
        store,
        request_id="r1",
        conversation_status="failed_to_send_message",
        messages=[{"role": "user", "content": "secret words", "message_timestamp": clock.to_iso(now)}],
        hand_off_to_human=True,
        hand_off_to_human_reason=f"ring {TEL}",
        hand_off_requested_at=asked,
        hand_off_agent="tom",
        created_at="2026-01-05T10:00:00+01:00",
        updated_at=1767607200,
    )
    (row,) = exported(client)
    assert row == {
        "customer": "***-***-0123",
        "hand_off": "held",
        "reason": "ring ***-***-0123",
        "holder": "tom",
        "waiting_since": asked,
        "wait_minutes": 90,
        "urgent": "",
        "needs_attention": "",
        "group": "",
        "status": "failed_to_send_message",
        "status_family": "failed",
        "channel": "whatsapp",
        "company": COMPANY,
        "company_name": "Cucumber Recruitment",
        "project": "pi-aaa-001",
        "project_name": "Clarify CV",
        "created": "2026-01-05T09:00:00.000Z",
        "updated": "2026-01-05T10:00:00.000Z",
        "conversation": "r1",
        "flaws": "updated_at: number instead of text",
    }
    text = body(client.post(address(OF_COMPANY), {"format": "csv"}))
    assert "secret words" not in text
    (as_text,) = csv.DictReader(io.StringIO(text, newline=""))
    assert (as_text["wait_minutes"], as_text["reason"]) == ("90", "ring ***-***-0123")


def test_who_reads_transcripts_sees_in_the_file_what_the_list_shows_them(store):
    put_conversation(store, primary_channel="rory@uni.example", recipient_first_name="Rory")
    (as_auditor,), (as_admin,) = (exported(signed_in(each)) for each in (auditor(), admin()))
    assert as_auditor["customer"] == "***@***"
    assert as_admin["customer"] == "Rory · r…@uni.example"


def test_the_queue_says_why_a_row_needs_attention_and_what_is_urgent(store):
    swept(store)
    known(COMPANY)
    failed = {"hand_off_to_human": False, "conversation_status": "failed_unknown", "hand_off_attention": "failed"}
    at = clock.to_iso(clock.now() - timedelta(minutes=30))
    put_conversation(store, request_id="broken", updated_at=at, hand_off_requested_at=at, **failed)
    store.put("CONVERSATIONS", waiting(5, request_id="now", hand_off_urgent="by hand"))
    client = signed_in(admin())
    (row,) = exported(client, {"list": "queue", "tab": "attention"})
    assert (row["hand_off"], row["needs_attention"], row["wait_minutes"]) == ("ai", "AI failed", 30)
    (row,) = exported(client, {"list": "queue", "tab": "waiting"})
    assert (row["hand_off"], row["urgent"], row["waiting_since"] > at) == ("waiting", "yes", True)


def test_no_cell_is_run_and_no_control_of_direction_is_left(store, client):
    evil = {"project_name": "=cmd|' /C calc'!A0", "hand_off_to_human": True, "hand_off_to_human_reason": "@x \u202e"}
    put_conversation(store, company_name="-1+1", **evil)
    text = body(client.post(address(OF_COMPANY), {"format": "csv"}))
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["project_name"], row["company_name"]) == ("'=cmd|' /C calc'!A0", "'-1+1")
    assert row["reason"].startswith("'@x")
    assert not set("\u202e\u2068\u2069") & set(text + str(exported(client)))


# --- The page and the file --------------------------------------------------------------------------------------------


def test_the_page_says_beforehand_what_will_be_exported(store, client, settings):
    settings.CONVERSATION_EXPORT_LIMIT = 1234
    known(COMPANY)
    put_conversation(store, conversation_status="completed")
    page = client.get(f"{reverse('company', args=[COMPANY])}?status=completed&channel=whatsapp&order=project")
    answer = client.get(page.context["export_url"])
    text = text_of(answer)
    for words in (
        "Up to 1,234 conversations",
        "status: completed",
        "WhatsApp",
        "By project",
        COMPANY.upper(),
        "waiting since",
    ):
        assert words in text
    path, _, query = answer.context["list_url"].partition("?")
    assert path == reverse("company", args=[COMPANY])
    assert dict(parse_qsl(query)) == {"status": "completed", "channel": "whatsapp", "order": "project"}
    assert noted(store) == []


def test_the_answer_is_a_file_that_nobody_keeps(store, client):
    put_conversation(store)
    answer = client.post(address(OF_COMPANY), {"format": "csv"})
    assert answer.streaming
    assert answer["Content-Type"].startswith("text/csv; charset=utf-8")
    named = r'attachment; filename="conversation-list-test-\d{8}T\d{6}Z\.csv"'
    assert re.fullmatch(named, answer["Content-Disposition"])
    assert answer["Cache-Control"] == "no-store"
    assert list(csv.DictReader(io.StringIO(body(answer), newline="")).fieldnames or ()) == list(COLUMNS)


def test_a_list_without_rows_is_a_file_without_rows(store, client):
    assert exported(client) == []


# --- On record --------------------------------------------------------------------------------------------------------


def test_exactly_one_entry_is_written_before_the_first_byte(store, client):
    put_conversation(store, conversation_status="completed")
    context = OF_COMPANY | {"filters": {"status": "completed", "task": "0", "hand_off": "junk"}}
    answer = client.post(address(context), {"format": "csv"})
    (entry,) = noted(store)
    assert (entry["conversation_id"], entry["actor"], entry["result"]) == ("STAFF#aiko.mori", "aiko.mori", "success")
    assert entry["company_id"] == COMPANY
    assert json.loads(entry["action_payload_redacted"]) == {
        "list": "one company",
        "format": "csv",
        "filters": [COMPANY, "status: completed", "task: not complete"],
        "limit": 5000,
    }
    body(answer)
    assert len(noted(store)) == 1
    text = client.get(reverse("trail", args=[seal("trail", "STAFF#aiko.mori")])).content.decode()
    assert "exported conversations of one company" in unescape(text)


def test_whose_list_it_was_is_on_record_under_a_pseudonym(store, client):
    put_conversation(store)
    for context in (
        {"list": "recipient", "reference": seal("recipient", TEL), "filters": {"since": "2026-01-05"}},
        {"list": "replies", "reference": seal("replies", "whatsapp", "+447588713814", TEL)},
    ):
        exported(client, context)
    payloads = [json.loads(each["action_payload_redacted"]) for each in noted(store)]
    assert {each["person"] for each in payloads} == {pseudonym_of(TEL)}
    assert sorted(each["list"] for each in payloads) == ["one recipient", "one recipient and one of our numbers"]
    assert ["created from 2026-01-05"] in [each["filters"] for each in payloads]
    assert "7700900123" not in str(noted(store))


@pytest.mark.parametrize("how", [faults.fail_before, faults.fail_after])
def test_where_it_cannot_be_recorded_nothing_is_exported(store, client, how):
    put_conversation(store)
    with how("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        answer = client.post(address(OF_COMPANY), {"format": "csv"})
    assert answer.status_code == 503
    assert not answer.streaming


def test_without_a_trail_nothing_is_exported(bare_store):
    bare_store.create_tables("CONVERSATIONS", "STAFF", "STAFF_SESSIONS", "CONSOLE")
    put_conversation(bare_store)
    answer = signed_in(auditor()).post(address(OF_COMPANY), {"format": "csv"})
    assert answer.status_code == 503
    assert "Lists can be exported only if the trail can record it." in text_of(answer)


def test_the_access_log_counts_it_for_the_person_the_conversation_and_the_customer(store):
    client = signed_in(admin())
    item = put_conversation(store)
    client.get(reverse("conversation", args=[seal("conversation", TEL, item["conversation_id"])]))
    exported(client)
    exported(client, {"list": "recipient", "reference": seal("recipient", TEL)})
    exported(client, {"list": "found", "look": "recipient", "terms": {"recipient": TEL}})
    put_conversation(store, primary_channel="+447700900777")
    exported(client, {"list": "recipient", "reference": seal("recipient", "+447700900777")})

    def told(name: str, value: str) -> str:
        return unescape(client.get(reverse(name, args=[value])).content.decode())

    assert "Exports across conversations" in told("access-log-person", "ada.admin")
    of_conversation = told("access-log-conversation", seal("trail", item["conversation_id"]))
    # Not the one of another recipient.
    assert "3 exports may contain it" in of_conversation
    assert "exported a list as JSON Lines · 2 times" in told("access-log-recipient", seal("recipient", TEL))


# --- Never silently short ---------------------------------------------------------------------------------------------


@pytest.fixture
def _small(settings, monkeypatch):
    settings.CONVERSATION_EXPORT_LIMIT = 60
    monkeypatch.setattr(service, "PAGES_PER_FULL_ONE", 2)


def fill(store, count: int, **more) -> None:
    items = [conversation(request_id=f"r{n}", primary_channel=f"+4477009{n:05}", **more) for n in range(count)]
    store.put_all("CONVERSATIONS", items)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("count", [60, 61, 130])
def test_reaching_the_limit_is_said_in_the_last_line(store, client, count):
    fill(store, count)
    lines = exported(client)
    rows = list(csv.DictReader(io.StringIO(body(client.post(address(OF_COMPANY), {"format": "csv"})), newline="")))
    assert len(lines) == len(rows) == 60 + (count > 60)
    assert (rows[-1]["hand_off"] == "INCOMPLETE") is (count > 60)
    if count > 60:
        assert lines[-1] == {"incomplete": "This file stops at 60 rows. Further rows are not in it."}
        assert rows[-1]["reason"] == lines[-1]["incomplete"]


@pytest.mark.usefixtures("_small")
def test_what_breaks_off_in_the_middle_is_said_in_the_last_line(store, client):
    fill(store, 60)
    answer = client.post(address(OF_COMPANY), {"format": "jsonl"})
    with faults.fail_before("Query", table_key="CONVERSATIONS", times=faults.ALWAYS):
        lines = rows_of(answer)
    assert len(lines) == 51
    assert lines[-1] == {
        "incomplete": "The export stopped early: The database did not answer. Further rows are missing."
    }


@pytest.mark.slow
@pytest.mark.usefixtures("_small")
def test_filters_that_let_nothing_through_do_not_read_for_ever(store, client, monkeypatch):
    monkeypatch.setattr("console.store.paging.FILTERED_LIMIT", 51)
    fill(store, 900)
    with store.calls() as calls:
        lines = exported(client, OF_COMPANY | {"filters": {"status": "completed"}})
    assert lines == [{"incomplete": "Few rows match the filters. Further rows were not searched."}]
    assert sum(call.operation == "Query" for call in calls) <= 4 * 4 + 2


def test_an_export_ends_in_time(store, client, monkeypatch):
    fill(store, 60)
    monkeypatch.setattr(service, "MOST_SECONDS", -1.0)
    assert "Reading took more than" in exported(client)[-1]["incomplete"]


def test_an_error_of_ours_is_logged_and_said_in_the_last_line(store, client, monkeypatch, caplog):
    fill(store, 60)
    answer = client.post(address(OF_COMPANY), {"format": "jsonl"})
    monkeypatch.setattr(reading, "read_list", lambda *_: 1 / 0)
    assert list(rows_of(answer)[-1]) == ["incomplete"]
    assert "An export broke off" in caplog.text


def test_each_page_has_time_of_its_own_and_none_is_read_ahead(store, client, settings, monkeypatch):
    settings.REQUEST_DEADLINE_SECONDS = 8.0
    fill(store, 130)
    opened = []
    budget = exports.budget
    monkeypatch.setattr(exports, "budget", lambda seconds: opened.append(seconds) or budget(seconds))
    pieces = iter(client.post(address(OF_COMPANY), {"format": "jsonl"}).streaming_content)
    with store.calls() as calls:
        assert len(next(filter(None, pieces)).splitlines()) == 50
    assert calls == []
    assert [len(each.splitlines()) for each in pieces] == [50, 30]
    assert set(opened) == {8.0}


def test_companies_of_the_queue_that_were_not_searched_are_named_in_the_last_line(store, monkeypatch):
    swept(store)
    monkeypatch.setattr("conversations.queue.reading.MOST_OPENED", 1)
    for company in (COMPANY, OTHER_COMPANY):
        store.put("CONVERSATIONS", waiting(5, company_id=company))
    filtered = {"list": "queue", "tab": "waiting", "filters": {"channel": "whatsapp"}}
    *rows, last = exported(signed_in(admin()), filtered)
    assert len(rows) == 1
    assert "1 company was not searched" in last["incomplete"]


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "context",
    [
        {"list": "company", "company": OTHER_COMPANY},
        {"list": "project", "company": OTHER_COMPANY, "project": "pi-aaa-001"},
        {"list": "recipient", "reference": seal("recipient", "+447700900999")},
        {"list": "replies", "reference": seal("replies", "whatsapp", "+447588713814", "+447700900999")},
        {"list": "replies", "reference": seal("replies", "fax", "+447588713814", TEL)},
        {"list": "recipient", "reference": "junk"},
        {"list": "found", "look": "recipient", "terms": {"recipient": "+447700900999"}},
        {"list": "found", "look": "id", "terms": {"conversation_id": "none"}},
        {"list": "found", "look": "junk", "terms": {}},
        {"list": "junk"},
    ],
)
def test_what_is_out_of_scope_or_no_list_is_not_there(store, context):
    put_conversation(store, company_id=OTHER_COMPANY, primary_channel="+447700900999")
    put_conversation(store)
    client = signed_in(auditor("lea.limited", [COMPANY]))
    for answer in (client.get(address(context)), client.post(address(context), {"format": "csv"})):
        assert answer.status_code == 404
    assert noted(store) == []


@pytest.mark.parametrize("query", ["", "?in=", "?in=junk", "?list=company"])
def test_an_address_that_names_no_list_is_not_there(client, query):
    assert client.get(URL + query).status_code == 404


def test_what_is_out_of_scope_is_not_in_the_file(store):
    put_conversation(store, request_id="ours")
    put_conversation(store, request_id="theirs", company_id=OTHER_COMPANY)
    limited = signed_in(auditor("lea.limited", [COMPANY]))
    found = exported(limited, {"list": "recipient", "reference": seal("recipient", TEL)})
    assert [row["conversation"] for row in found] == ["ours"]


@pytest.mark.parametrize("given", ["", "xlsx"])
def test_another_format_is_refused_in_words(store, client, given):
    answer = client.post(address(OF_COMPANY), {"format": given})
    assert answer.status_code == 400
    assert "format" in answer.content.decode()
    assert noted(store) == []


def test_agents_neither_export_nor_see_a_way_to(store):
    put_conversation(store)
    store.put("CONVERSATIONS", held("amira.haddad"))
    agent = signed_in(member())
    assert agent.get(address(OF_COMPANY)).status_code == 403
    for url in (*LISTS, "/queue/"):
        assert URL not in agent.get(url).content.decode()


def test_the_queue_is_exported_by_those_who_see_it(store, client):
    context = {"list": "queue", "tab": "waiting", "filters": {}}
    assert client.get(address(context)).status_code == 403
    assert client.post(address(context), {"format": "csv"}).status_code == 403
    assert signed_in(admin()).get(address(context)).status_code == 200
