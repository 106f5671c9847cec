"""The export: what it says beforehand, that it is on record first, and that no file is silently short."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.test import Client

from console import clock
from console import exports as exports_in_pieces
from console.audit.export import streaming
from console.audit.review.forms import CONVERSATION, KEY, About
from console.audit.review.page import READ_LAST
from console.staff.models import StaffAccount
from console.trail.actions import Action
from tests import faults, items
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, signed_in

pytestmark = pytest.mark.pages

PHONE = "+447700900123"
ID = f"{COMPANY}#pi-aaa-001#req1#447700900123"
URL = "/audit/export/"


def entry(number: int, trail: str = ID, action: str = "route", company: str = COMPANY, **more) -> dict:
    told = {"payload": {"team": "returns", "note": f"ring {PHONE}"}, "idempotency_key": f"act:rp_tag:{trail}:m{number}"}
    at, tie = clock.now() - timedelta(minutes=number), f"{number:05}"
    return items.entry(at, action, trail, tie=tie, company=company, **told | more)


def exports(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == Action.AUDIT_EXPORTED]


def body(answer) -> str:
    return b"".join(answer.streaming_content).decode("utf-8-sig")


def post(client: Client, form: str = "csv", **query: str):
    return client.post(f"{URL}?{'&'.join(f'{name}={value}' for name, value in query.items())}", {"format": form})


@pytest.fixture
def client(store) -> Client:
    return signed_in(auditor())


def test_the_page_says_beforehand_what_will_be_exported(store, client, settings):
    store.put("AUDIT", entry(1))
    settings.AUDIT_EXPORT_LIMIT = 1234
    text = client.get(f"{URL}?action=route&since=2026-01-05&company={COMPANY}").content.decode()
    for words in (
        "Up to 1,234 entries",
        "Action types: route",
        "From 2026-01-05 (UTC)",
        f"Company: {COMPANY}",
        "Redacted",
        READ_LAST,
    ):
        assert words in text
    assert f'action="{URL}?action=route&amp;company={COMPANY}&amp;since=2026-01-05"' in text


def test_csv_has_a_row_for_each_entry_newest_first_and_nothing_personal(store, client):
    store.put_all("AUDIT", [entry(n) for n in range(1, 6)])
    answer = post(client, action="route")
    text = body(answer)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["action_id"] for row in rows] == ["00001", "00002", "00003", "00004", "00005"]
    assert rows[0]["what_happened"] == "Routed to returns"
    assert json.loads(rows[0]["payload"]) == {"team": "returns", "note": "ring ***-***-0123"}
    assert rows[0]["trail"] == f"{COMPANY}#pi-aaa-001#req1#***-***-0123"
    assert "7700900123" not in text
    assert {row["actor"] for row in rows} == {"Middleware"}


def test_the_reason_of_a_failure_and_a_refusal_are_in_the_file(store, client):
    denied = entry(2, "STAFF#tom.becker", Action.ACCESS_DENIED, actor="tom.becker", gsi_actor="tom.becker")
    store.put_all("AUDIT", [entry(1, result="fail (timeout)"), denied, entry(3, action=Action.SIGN_IN)])
    lines = body(post(client, "jsonl", result="failed", action=f"route&action={Action.ACCESS_DENIED.value}"))
    told = [(each["result"], each["note"]) for each in map(json.loads, lines.splitlines())]
    assert told == [("failed", "timeout"), ("refused", "")]


def test_an_order_number_in_a_key_is_neither_on_the_page_nor_on_record(store, client):
    key = "act:shopify_lookup:conv123:SO-48213"
    store.put("AUDIT", entry(1, "conv123", "shopify_lookup", idempotency_key=key))
    about = About(KEY, key).sealed
    page = client.get(f"{URL}?about={about}").content.decode()
    text = body(post(client, about=about))
    (recorded,) = exports(store)
    for shown in (page, text, json.dumps(recorded)):
        assert "act:shopify_lookup:conv123:***8213" in shown
        assert "48213" not in shown


def test_the_company_of_an_entry_that_names_none_is_in_the_file_where_it_was_looked_up(store, client):
    store.put("CONVERSATIONS", conversation(conversation_id=ID))
    store.put("AUDIT", {name: value for name, value in entry(1).items() if "company" not in name})
    for sender in (signed_in(auditor("lea.limited", scope=[COMPANY])), client):
        (line,) = body(post(sender, "jsonl", action="route", company=COMPANY)).splitlines()
        assert json.loads(line)["company"] == COMPANY


def test_the_answer_is_a_file_that_nobody_keeps(store, client):
    store.put("AUDIT", entry(1))
    answer = post(client, about=About(CONVERSATION, ID).sealed)
    assert answer.streaming
    assert answer["Content-Type"].startswith("text/csv; charset=utf-8")
    assert re.fullmatch(r'attachment; filename="audit-test-\d{8}T\d{6}Z\.csv"', answer["Content-Disposition"])
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Content-Type-Options"] == "nosniff"
    body(answer)


def test_json_lines_hold_the_payload_as_json(store, client):
    store.put_all("AUDIT", [entry(n) for n in (1, 2)])
    answer = post(client, "jsonl", action="route")
    lines = [json.loads(line) for line in body(answer).splitlines()]
    assert answer["Content-Type"].startswith("application/x-ndjson")
    assert [line["payload"]["team"] for line in lines] == ["returns", "returns"]


# --- On record ------------------------------------------------------------------------------------------------------


def test_exactly_one_entry_is_written_before_the_first_byte(store, client):
    store.put_all("AUDIT", [entry(n) for n in range(1, 3)])
    answer = post(client, "jsonl", action="route", company=COMPANY)
    (noted,) = exports(store)
    assert noted["conversation_id"] == "STAFF#aiko.mori"
    assert (noted["actor"], noted["result"], noted["company_id"]) == ("aiko.mori", "success", COMPANY)
    told = json.loads(noted["action_payload_redacted"])
    assert told == {"format": "jsonl", "limit": 50000, "filters": ["Action types: route", f"Company: {COMPANY}"]}
    body(answer)
    assert len(exports(store)) == 1


def test_the_export_of_one_conversation_is_in_its_trail_without_its_number(store, client):
    store.put("AUDIT", entry(1))
    body(post(client, about=About(CONVERSATION, ID).sealed))
    (noted,) = exports(store)
    assert (noted["conversation_id"], noted["company_id"]) == (ID, COMPANY)
    assert "900123" not in noted["action_payload_redacted"]


@pytest.mark.usefixtures("_small")
def test_it_is_in_the_conversations_trail_whatever_the_filters_let_through_at_first(store, client):
    store.put_all("AUDIT", [entry(n) for n in range(1, 60)])
    store.put("AUDIT", entry(60, result="failed"))
    answer = post(client, "jsonl", about=About(CONVERSATION, ID).sealed, result="failed")
    (noted,) = exports(store)
    assert noted["conversation_id"] == ID
    assert f"Conversation {COMPANY}#pi-aaa-001#req1#***" in noted["action_payload_redacted"]
    assert json.loads(body(answer).splitlines()[0])["action_id"] == "00060"


def test_of_a_conversation_that_is_not_there_or_out_of_scope_nothing_is_written_into_its_trail(store):
    store.put("AUDIT", entry(1, company=OTHER_COMPANY))
    client = signed_in(auditor("lea.limited", scope=[COMPANY]))
    absent, there = (post(client, about=About(CONVERSATION, each).sealed) for each in ("ci-none#1", ID))
    assert body(absent) == body(there)
    noted = exports(store)
    assert [each["conversation_id"] for each in noted] == ["STAFF#lea.limited"] * 2
    assert all('"One conversation"' in each["action_payload_redacted"] for each in noted)


@pytest.mark.parametrize("how", [faults.fail_before, faults.fail_after])
def test_where_it_cannot_be_recorded_nothing_is_exported(store, client, how):
    store.put("AUDIT", entry(1))
    with how("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        answer = post(client)
    assert answer.status_code == 503
    assert not answer.streaming


def test_looking_at_the_page_leaves_no_entry(store, client):
    client.get(URL)
    assert exports(store) == []


# --- Never silently short -------------------------------------------------------------------------------------------


@pytest.fixture
def _small(settings, monkeypatch):
    settings.AUDIT_EXPORT_LIMIT = 10
    monkeypatch.setattr(streaming, "PIECE", 4)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("count", [9, 10, 11])
def test_reaching_the_limit_is_said_in_the_last_line(store, client, count):
    store.put_all("AUDIT", [entry(n) for n in range(1, count + 1)])
    lines = [json.loads(line) for line in body(post(client, "jsonl", action="route")).splitlines()]
    rows = list(csv.DictReader(io.StringIO(body(post(client, action="route")), newline="")))
    assert ("incomplete" in lines[-1], rows[-1]["action"] == "INCOMPLETE") == (count > 10, count > 10)
    assert len(lines) == len(rows) == min(count, 10) + (count > 10)
    if count > 10:
        assert "stops at 10 entries" in lines[-1]["incomplete"]
        assert "stops at 10 entries" in rows[-1]["what_happened"]


@pytest.mark.usefixtures("_small")
def test_what_breaks_off_in_the_middle_is_said_in_the_last_line(store, client):
    store.put_all("AUDIT", [entry(n) for n in range(1, 10)])
    answer = post(client, "jsonl", action="route")
    with faults.fail_before("Query", table_key="AUDIT", times=faults.ALWAYS):
        lines = [json.loads(line) for line in body(answer).splitlines()]
    assert [line.get("action_id") for line in lines[:-1]] == ["00001", "00002", "00003", "00004"]
    assert lines[-1] == {
        "incomplete": "The export stopped early: The database did not answer. Older entries are missing."
    }


@pytest.mark.usefixtures("_small")
def test_an_error_of_ours_is_logged_and_said_in_the_last_line(store, client, monkeypatch, caplog):
    store.put_all("AUDIT", [entry(n) for n in range(1, 10)])
    answer = post(client, "jsonl", action="route")
    monkeypatch.setattr(streaming, "rows_of_piece", lambda _: 1 / 0)
    lines = [json.loads(line) for line in body(answer).splitlines()]
    assert [list(line) for line in lines] == [["incomplete"]]
    assert "An export broke off" in caplog.text


@pytest.mark.usefixtures("_small")
def test_filters_that_let_nothing_through_do_not_read_for_ever(store, client):
    store.put_all("AUDIT", [entry(n) for n in range(1, 400)])
    with store.calls() as calls:
        lines = body(post(client, "jsonl", action="route", result="failed")).splitlines()
    assert [list(json.loads(line)) for line in lines] == [["incomplete"]]
    assert len(calls) < 100


def test_each_piece_has_time_of_its_own_and_no_more_than_a_piece_is_read_ahead(store, client, settings, monkeypatch):
    settings.REQUEST_DEADLINE_SECONDS = 8.0
    monkeypatch.setattr(streaming, "PIECE", 4)
    store.put_all("AUDIT", [entry(n) for n in range(1, 41)])
    opened = []
    budget = exports_in_pieces.budget
    monkeypatch.setattr(exports_in_pieces, "budget", lambda seconds: opened.append(seconds) or budget(seconds))
    answer = post(client, "jsonl", action="route")
    pieces = iter(answer.streaming_content)
    with store.calls() as calls:
        next(pieces)
        next(pieces)
    assert sum(call.operation == "Query" for call in calls) <= 1
    assert len(list(pieces)) == 9
    # One for each piece, and one for the end; DynamoDB may say that there is more where nothing is.
    assert set(opened) == {8.0}
    assert 11 <= len(opened) <= 12


# --- What is refused ------------------------------------------------------------------------------------------------


def test_a_filter_that_was_not_understood_is_never_left_out_of_a_file(store, client):
    answer = post(client, action="no_action!")
    assert answer.status_code == 400
    assert "This is not an action type" in answer.content.decode()
    assert exports(store) == []


@pytest.mark.parametrize("form", ["", "xlsx"])
def test_another_format_is_refused_in_words(store, client, form):
    answer = post(client, form)
    assert answer.status_code == 400
    assert "format" in answer.content.decode()
    assert exports(store) == []


def test_out_of_scope_is_not_in_the_file(store):
    store.put_all("AUDIT", [entry(1), entry(2, "c2", company=OTHER_COMPANY)])
    limited = signed_in(auditor("lea.limited", scope=[COMPANY]))
    assert [json.loads(line)["company"] for line in body(post(limited, "jsonl", action="route")).splitlines()] == [
        COMPANY
    ]


def test_names_that_reorder_and_run_are_neither_in_a_cell(store, client):
    account: StaffAccount = admin("eve.evil")
    account.display_name = "=cmd|' /C calc'!A0 \u05d0\u202e"
    account.save()
    names = {"actor": "eve.evil", "gsi_actor": "eve.evil", "actor_role": "admin"}
    store.put("AUDIT", entry(1, action="hand_off.take", **names))
    text = body(post(client, actor="eve.evil"))
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["what_happened"].startswith("'=cmd|' /C calc'!A0 \u05d0\\u202e took it")
