"""The kill switches last seen for a conversation: from the newest record of the middleware, never a guess."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.audit.queries import has_record_index
from console.audit.state import read_switches
from console.store import presence
from console.store.calls import table_name
from tests import faults

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
INDEX = "conversation-id-index"


def put(store, number: int, minutes_ago: float, **attributes) -> None:
    record = {
        "event_id": f"evt:rp:c1:{number}",
        "conversation_id": "c1",
        "created_at": clock.to_iso(NOW - timedelta(minutes=minutes_ago)),
        "mode": "route_only",
        "status": "processed",
        "safe_mode": False,
        "automation_enabled": True,
    }
    record |= attributes
    store.put("IDEMPOTENCY", {name: value for name, value in record.items() if value is not ...})


def seen(conversation_id: str = "c1"):
    found = read_switches(conversation_id, NOW)
    return [switch.words for switch in found.switches], found.ago, found.notice


def test_the_newest_record_tells(store):
    put(store, 1, 60)
    put(store, 2, 12, safe_mode=True, automation_enabled=False)
    assert has_record_index()
    with store.calls() as calls:
        assert seen() == (["Safe mode on", "Automation disabled"], "12 min ago", "")
    assert [(call.operation, call.index, call.request["Limit"]) for call in calls] == [("Query", INDEX, 20)]
    put(store, 3, 1)
    assert seen() == (["Safe mode off", "Automation enabled"], "1 min ago", "")


def test_the_consoles_own_records_tell_nothing(store):
    put(store, 1, 12, safe_mode=True)
    put(store, 2, 1, mode="console", automation_enabled=False)
    assert seen()[:2] == (["Safe mode on", "Automation enabled"], "12 min ago")
    store.delete("IDEMPOTENCY", event_id="evt:rp:c1:1")
    assert seen() == ([], "", "No recorded event names the kill switches.")


def test_records_past_their_ttl_tell_nothing(store):
    put(store, 1, 12, expires_at=clock.to_epoch(NOW) - 1)
    assert seen() == ([], "", "No recorded event names the kill switches.")


def test_what_the_record_does_not_tell_is_not_taken_from_an_older_one(store):
    put(store, 1, 60, safe_mode=True)
    put(store, 2, 12, safe_mode=..., automation_enabled="yes")
    words, ago, _ = seen()
    assert words == ["Safe mode unknown: not in the record", "Automation unknown: text instead of boolean"]
    assert ago == "12 min ago"


def test_times_compare_as_instants(store):
    put(store, 1, 0, created_at="2026-03-02T13:30:00+02:00", safe_mode=True)  # 11:30 UTC
    put(store, 2, 20)  # 11:40 UTC, the smaller text
    assert seen()[:2] == (["Safe mode off", "Automation enabled"], "20 min ago")


def test_another_conversation_is_another(store):
    put(store, 1, 12, conversation_id="c2")
    assert seen()[0] == []
    assert seen("c2")[0] == ["Safe mode off", "Automation enabled"]


# --- Without the index --------------------------------------------------------------------------------------------


@pytest.fixture
def without_index(bare_store):
    """The tables, the idempotency table as the middleware makes it."""
    bare_store.create_tables("AUDIT")
    bare_store.client.create_table(
        TableName=table_name("IDEMPOTENCY"),
        AttributeDefinitions=[{"AttributeName": "event_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "event_id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return bare_store


def test_without_the_index_the_records_that_the_trail_names_tell(without_index):
    put(without_index, 1, 60)
    put(without_index, 2, 12, safe_mode=True)
    put(without_index, 3, 1, safe_mode=True)
    put(without_index, 4, 2, conversation_id="c2")
    for number in (1, 2, 4):
        entry = {"conversation_id": "c1", "ts_action_id": f"2026-03-02T11:0{number}:00Z#{number}"}
        without_index.put("AUDIT", entry | {"idempotency_key": f"evt:rp:c1:{number}"})
    assert seen() == (["Safe mode on", "Automation enabled"], "12 min ago", "")


def test_without_the_index_and_without_entries_it_cannot_be_told(without_index):
    put(without_index, 1, 1)
    assert seen() == (
        [],
        "",
        "The idempotency table has no index by conversation here, so the kill switches are unknown.",
    )


def test_without_the_table_or_an_answer_it_is_one_line(bare_store):
    assert seen()[2] == "There is no idempotency table, so the kill switches are unknown."
    bare_store.create_tables("IDEMPOTENCY")
    presence.forget()
    with faults.fail_before("Query", table_key="IDEMPOTENCY", times=faults.ALWAYS):
        assert seen()[2] == "The kill switches could not be read. Try again in a moment."
