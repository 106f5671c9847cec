"""Settling what was left pending: what is found, on which conversation, what is judged, and what is said of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import StoreUnavailable
from console.trail.actions import Result
from conversations.converting import reference_of
from conversations.handoff import HandOffAction, perform, resolution, settle
from conversations.handoff.protocol import close, event_key, lookup
from conversations.handoff.reconciliation import FENCED, REFUSED, pending_trails
from conversations.handoff.resolution import trail_links
from tests import faults
from tests.store.conversations.handoff.test_resolution import left_open
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CONVERSATION,
    ON_CONVERSATION,
    WAITING,
    conversation,
    form,
    put,
    results,
    stored,
    trail,
)

A = HandOffAction
AT_ONCE = timedelta(0)


def entry(action_id: str, **changes: Any) -> dict[str, Any]:
    """A pending entry of the trail, as far as settling needs it."""
    return {
        "conversation_id": CONVERSATION,
        "ts_action_id": f"2026-01-31T10:00:00.000Z#{action_id}",
        "action_id": action_id,
        "action_type": "hand_off.take",
        "result": "pending",
        **changes,
    }


def said(settled) -> dict[str, tuple[str, str]]:
    return {each.action_id: (each.result, each.note) for each in settled}


def test_only_pending_actions_of_the_console_are_found_and_only_where_they_name_a_trail(store):
    mine = {"mode": "console", "status": "pending", "conversation_id": "mine"}
    store.put_all(
        "IDEMPOTENCY",
        [
            {"event_id": "1", **mine},
            {"event_id": "2", **mine, "conversation_id": "closed", "status": "success"},
            {"event_id": "3", **mine, "conversation_id": "theirs", "mode": "route_only"},
            {"event_id": "4", "mode": "console", "status": "pending"},
        ],
    )
    assert list(pending_trails()) == [(4, frozenset({"mine"}))]


def test_where_nothing_is_pending_no_conversation_is_looked_for(store):
    with store.calls() as calls:
        assert settle("of no conversation") == []
    assert [(each.operation, each.tables) for each in calls] == [("Query", ("AUDIT",))]


def test_pending_entries_of_other_kinds_are_none_of_it(store):
    put(store, **WAITING)
    store.put("AUDIT", entry("note", action_type="note.saved"))
    assert settle(CONVERSATION, older_than=AT_ONCE) == []


# --- Which conversation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["garbage", None], ids=["no reference", "of another conversation"])
def test_a_record_that_leads_nowhere_is_passed_over_for_the_index(store, reference):
    put(store, **WAITING)
    other = conversation(**WAITING, primary_channel="+447700900999", conversation_id="another")
    store.put("CONVERSATIONS", other)
    intent = left_open()
    key = {"event_id": event_key(CONVERSATION, intent.action_id)}
    store.update("IDEMPOTENCY", key, reference=reference or reference_of("+447700900999", "another"))
    settled = settle(CONVERSATION, older_than=AT_ONCE)
    assert said(settled)[intent.action_id] == (FENCED, "")
    assert stored(store)["hand_off_action_id"] != intent.action_id
    assert store.get("CONVERSATIONS", primary_channel="+447700900999", conversation_id="another") == other


# --- Which actions ----------------------------------------------------------------------------------------------------


def test_no_fence_is_put_up_against_what_was_recorded_meanwhile(store):
    """What was pending at first took effect; another action is recorded before the item is read."""
    put(store, **WAITING)
    first = form(A.TAKE)
    with faults.fail_before("TransactWriteItems", nth=2):
        perform(first, ANA)
    later = []
    with faults.before("GetItem", lambda: later.append(left_open(A.RELEASE)), table_key="CONVERSATIONS"):
        # A limit in the future: clocks of two machines differ.
        settled = settle(CONVERSATION, older_than=timedelta(hours=-1))
    assert said(settled) == {first.action_id: ("success", "")}
    assert results(store) == {first.action_id: "success", later[0].action_id: "pending"}
    assert stored(store)["hand_off_action_id"] == first.action_id


@pytest.mark.parametrize(("more", "is_old"), [(timedelta(0), True), (timedelta(milliseconds=-1), False)])
def test_an_action_is_old_after_exactly_that_time(store, monkeypatch, more, is_old):
    put(store, **WAITING)
    at = datetime(2026, 2, 1, 10, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: at)
    intent = left_open()
    monkeypatch.setattr(clock, "now", lambda: at + timedelta(minutes=10) + more)
    expected = (FENCED, "") if is_old else ("", "still open")
    assert said(settle(CONVERSATION))[intent.action_id] == expected


def test_an_entry_without_a_time_is_old(store):
    put(store, **WAITING)
    store.put("AUDIT", entry("x", ts_action_id="no time#x"))
    assert said(settle(CONVERSATION, older_than=timedelta(days=900)))["x"] == (FENCED, "")


# --- What is said -----------------------------------------------------------------------------------------------------


def test_what_the_trail_disproves_did_not_take_effect_and_is_not_fenced(store):
    put(store, **WAITING)
    intent = left_open()
    perform(form(A.TAKE), BEN)
    assert said(settle(CONVERSATION, dry_run=True)) == {intent.action_id: (REFUSED, "not written")}
    assert results(store)[intent.action_id] == "pending"
    assert said(settle(CONVERSATION)) == {intent.action_id: (REFUSED, "")}
    assert results(store)[intent.action_id] == REFUSED


def test_what_another_process_settles_first_is_said(store):
    put(store, **WAITING)
    intent = left_open()
    perform(form(A.TAKE), BEN)
    recorded = lookup(event_key(CONVERSATION, intent.action_id))
    assert recorded is not None
    with faults.before("TransactWriteItems", lambda: close(recorded, "failed: x", clock.now())):
        settled = settle(CONVERSATION)
    assert said(settled) == {intent.action_id: (REFUSED, "settled by another process in the meantime")}
    assert results(store)[intent.action_id] == "failed: x"


def test_a_fence_of_which_nothing_is_known_leaves_all_open(store):
    put(store, **WAITING)
    intent = left_open()
    unread = faults.fail_before("GetItem", table_key="CONVERSATIONS", nth=2)
    with faults.fail_before(**ON_CONVERSATION), unread:
        settled = settle(CONVERSATION, older_than=AT_ONCE)
    assert len(settled) == 2, "the action and the fence itself"
    assert said(settled)[intent.action_id] == ("", "still open")
    assert "hand_off_action_id" not in stored(store)


@pytest.mark.parametrize("named", [True, False])
def test_a_record_is_found_by_the_key_that_its_entry_names_or_by_its_action(store, named):
    put(store, **WAITING)
    key = "of another version" if named else event_key(CONVERSATION, "x")
    of_trail = entry("x", **({"idempotency_key": key} if named else {}))
    store.put("AUDIT", of_trail)
    recorded = {name: of_trail[name] for name in ("conversation_id", "ts_action_id")}
    store.put("IDEMPOTENCY", {"event_id": key, "status": "pending", "mode": "console", **recorded})
    assert said(settle(CONVERSATION))["x"] == (FENCED, "")
    assert store.get("IDEMPOTENCY", event_id=key)["status"] == "failed"
    assert [each["result"] for each in trail(store) if each["action_id"] == "x"] == [FENCED]


# --- Long trails ------------------------------------------------------------------------------------------------------


def test_a_trail_of_more_pages_than_may_be_read_is_not_judged(store, monkeypatch):
    long = {"payload": "x" * 380_000, "result": Result.SUCCESS.value}
    for number in range(4):
        store.put("AUDIT", entry(f"a{number}", ts_action_id=f"2026-01-31T10:00:0{number}.000Z#a{number}", **long))
    monkeypatch.setattr(resolution, "PAGES", 1)
    with pytest.raises(StoreUnavailable, match="too long to be settled"):
        trail_links(CONVERSATION)
    monkeypatch.setattr(resolution, "PAGES", 2)
    assert set(trail_links(CONVERSATION)) == {"a0", "a1", "a2", "a3"}
