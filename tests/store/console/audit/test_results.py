"""What an entry's result says: the outcome by its first word, and all the rest as the reason."""

import html
import json
import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.audit.rows import row_of_entry
from console.trail.actions import Action, outcome, outcome_of, reason_of
from console.trail.models import AuditEntry
from tests import items
from tests.dynamodb import to_dynamodb
from tests.people import auditor, member, signed_in


def entry(**attributes) -> AuditEntry:
    values = {"conversation_id": "c1", "ts_action_id": "2026-03-02T09:00:00Z#a1", "action_type": "tag", **attributes}
    return AuditEntry.from_raw_data(to_dynamodb(values))


def row(**attributes):
    return row_of_entry(entry(**attributes), {}, None)


@pytest.mark.parametrize(
    ("result", "said", "note"),
    [
        ("fail: timeout", "failed", "timeout"),
        ("fail - timeout", "failed", "timeout"),
        ("fail – timeout", "failed", "timeout"),
        ("fail-timeout", "failed", "timeout"),
        ("fail_timeout", "failed", "timeout"),
        ("fail (timeout)", "failed", "timeout"),
        ("fail (timeout) after 10 s", "failed", "(timeout) after 10 s"),
        ("fail (a (b))", "failed", "(a (b))"),
        ("fail timeout", "failed", "timeout"),
        ("fail: -5 left", "failed", "-5 left"),
        ("fail -5 left", "failed", "-5 left"),
        ("failed; timeout", "failed", "timeout"),
        ("failure, 429", "failed", "429"),
        ("[FAIL] timeout", "failed", "timeout"),
        ("error 429", "failed", "429"),
        ("fail\ntimeout", "failed", "timeout"),
        # A word of its own that begins like one of ours is not cut off.
        ("failover to the other region", "failed", "failover to the other region"),
        ("success (cached)", "success", "cached"),
        ("ok", "success", ""),
        ("conflict - taken", "conflict", "taken"),
        ("pending", "pending", ""),
        ("done: 3", "unknown", "done: 3"),
        ("429 after a failure", "unknown", "429 after a failure"),
        ("…", "unknown", "…"),
        ("", "unknown", ""),
        (None, "unknown", ""),
        (True, "unknown", "true"),
        (429, "unknown", "429"),
        (["fail", "timeout"], "unknown", '["fail", "timeout"]'),
        ({"status": "fail", "reason": "timeout"}, "failed", "timeout"),
        ({"Result": "FAILED - timeout", "code": 429}, "failed", "timeout, code: 429"),
        ({"outcome": "success", "message": None}, "success", ""),
        ({"status": "fail", "error": {"type": "Throttled", "after": 3}}, "failed", "type Throttled after 3"),
        ('{"status": "fail", "reason": "timeout"}', "failed", "timeout"),
        ({"error": "timeout"}, "unknown", '{"error": "timeout"}'),
        ({"status": ["fail"]}, "unknown", '{"status": ["fail"]}'),
        ({}, "unknown", "{}"),
    ],
    ids=str,
)
def test_the_first_word_decides_and_the_rest_is_the_reason(result, said, note):
    shown = row(result=result)
    assert (shown.outcome, shown.note) == (said, note)
    assert outcome_of(entry(result=result)) == said


@pytest.mark.parametrize(
    "result",
    [
        "fail (ring +447700900123)",
        "fail - +447700900123",
        "+447700900123 failed",
        {"status": "fail", "reason": "ring +447700900123"},
        {"status": "fail", "phone": "+447700900123"},
        {"status": "fail", "+447700900123": "x"},
        {"status": "+447700900123", "order_number": "N484-65899"},
        {"status": "fail", "order_number": "N484-65899"},
        json.dumps({"status": "fail", "error": {"order_number": "N484-65899"}}),
    ],
    ids=str,
)
def test_a_reason_is_redacted_however_it_is_stored(result):
    shown = repr(row(result=result))
    assert "7700900123" not in shown
    assert "48465899" not in shown.replace("-", "")


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=30) | st.integers(-(10**37), 10**37), lambda inner: st.lists(inner)
    )
)
def test_any_result_has_an_outcome(result):
    item = entry(result=result)
    assert outcome_of(item) in ("pending", "success", "conflict", "failed", "unknown")
    reason_of(item.plain("result")).encode()


@pytest.mark.parametrize(
    ("word", "said"), [("processed", "unknown"), ("FAILURE", "failed"), ("failed_for_good", "failed"), ("x", "unknown")]
)
def test_the_words_of_records_are_read_in_the_same_way(word, said):
    assert outcome(word) == said


@pytest.mark.parametrize("result", ["success", "failed: an auditor may not", None])
def test_a_denial_is_refused_whatever_is_stored(result):
    denied = {"conversation_id": "STAFF#aiko.mori", "action_type": "staff.denied", "actor": "aiko.mori"}
    shown = row(**denied, result=result)
    assert (shown.outcome, shown.tone) == ("refused", "bad")
    assert shown.sentence == "aiko.mori tried something that the role does not allow"
    assert outcome_of(entry(**denied, result=result)) == "failed"


# --- On the pages -------------------------------------------------------------------------------------------------


def put(store, minutes: int, action: str, trail: str = "c1", **attributes) -> None:
    at = clock.now() - timedelta(minutes=minutes)
    store.put("AUDIT", items.entry(at, action, trail, tie=minutes, **attributes))


def listed(client, query: str) -> list[str]:
    """The rows of the review, as text on one line."""
    page = html.unescape(client.get(f"/audit/?{query}").content.decode())
    return [
        " ".join(re.sub("<[^>]*>", " ", row).split()) for row in re.findall("<li data-row.*?</li>", page, re.DOTALL)
    ]


def test_the_review_finds_failures_by_any_spelling_and_denials_among_them(store):
    put(store, 1, "route", result="fail (timeout)")
    put(store, 2, "route", result={"status": "fail", "reason": "throttled"})
    put(store, 3, "route", result="success (cached)")
    denied = {"actor": "tom.becker", "actor_role": "agent", "gsi_actor": "tom.becker"}
    put(store, 4, Action.ACCESS_DENIED, "STAFF#tom.becker", result="success", **denied)
    client = signed_in(auditor())
    rows = listed(client, "result=failed&action=route&action=staff.denied")
    assert len(rows) == 3
    for row, words in zip(rows, ("timeout", "throttled", "refused"), strict=True):
        assert words in row
    assert "success" not in rows[2]
    assert rows[2].endswith("refused")
    (row,) = listed(client, "result=success&action=route&action=staff.denied")
    assert "cached" in row


def test_who_acted_where_nobody_is_named_is_the_middleware_in_every_list(store):
    put(store, 1, "route", result="success")
    client = signed_in(auditor())
    (row,) = listed(client, "action=route")
    assert "Middleware · route" in row
    entry_url = re.search(r'<a data-open href="([^"]+)"', client.get("/audit/?action=route").content.decode())[1]
    assert "Middleware" in client.get(entry_url).content.decode()


def test_a_refusal_is_no_success_on_its_page_and_in_its_trail(store):
    put(store, 1, Action.ACCESS_DENIED, "STAFF#tom.becker", result="success", actor="tom.becker", actor_role="agent")
    client = signed_in(auditor())
    page = client.get("/audit/?action=staff.denied").content.decode()
    entry_page = client.get(re.search(r'<a data-open href="([^"]+)"', page)[1]).content.decode()
    trail_url = re.search(r'href="(/audit/trails/[^"]+)"', entry_page)[1]
    for shown in (entry_page, client.get(trail_url).content.decode()):
        assert re.search(r'class="tag bad"[^<]*>(<[^>]*>)*[^<]*refused', shown)
        assert ">success<" not in shown


def test_a_colleague_s_name_is_read_with_the_actor_s(store):
    member()
    member("tom.becker")
    told = json.dumps({"held by": "amira.haddad"})
    taken = {"actor": "tom.becker", "actor_role": "agent", "action_payload_redacted": told}
    put(store, 1, "hand_off.take_from_colleague", result="success", **taken)
    client = signed_in(auditor())
    listed(client, "action=hand_off.take_from_colleague")
    with store.calls() as seen:
        (row,) = listed(client, "action=hand_off.take_from_colleague")
    assert "Tom Becker took it from Amira Haddad" in row
    assert sum(call.operation == "BatchGetItem" and "STAFF" in call.tables for call in seen) <= 2
