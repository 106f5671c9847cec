"""Opening is on record first; clearing and its entry happen together, and only to what the person saw."""

import json

import pytest

from console.context import read_only_reason
from console.errors import Conflict, Forbidden, StoreUnavailable
from console.permissions import Role
from console.refs import seal
from console.trail.recording import NoTrail
from conversations.stores.tenant_conversations import clearing, services
from conversations.stores.tenant_conversations.reading import reference_of
from tests import faults
from tests.support.conversations.stores.tenant_conversations.kit import (
    ADMIN,
    AUDITOR,
    CONVERSATION,
    KEY,
    REF,
    TALK,
    TENANT,
    item,
    staff,
)


def trail(store) -> list[dict]:
    return [entry for entry in store.all("AUDIT") if entry["conversation_id"] == f"TENANT#{TENANT}"]


def payload(entry: dict) -> dict:
    return json.loads(entry["action_payload_redacted"])


def to_clear():
    found = clearing.load_to_clear(TENANT, REF, ADMIN)
    return found, clearing.seen_of(found)


# --- Opening ---------------------------------------------------------------------------------------------------------


def test_opening_is_recorded_once_an_hour_for_each_person_and_conversation(store):
    number = "wa-+447700900123"
    store.put_all("TENANT_CONVERSATIONS", [item(), item(number)])
    for _ in range(2):
        for reader in (ADMIN, AUDITOR):
            _, is_raw = services.open_conversation(TENANT, REF, reader)
            assert is_raw == (reader is ADMIN)
    services.open_conversation(TENANT, reference_of(TENANT, number), AUDITOR)
    entries = trail(store)
    assert sorted(
        (each["actor"], payload(each)["shown"], payload(each)["tenant_conversation"]) for each in entries
    ) == [
        ("admin.person", "raw", CONVERSATION),
        ("auditor.person", "redacted", CONVERSATION),
        ("auditor.person", "redacted", "wa-***-***-0123"),
    ]
    for each in entries:
        assert (each["action_type"], each["company_id"], each["result"]) == ("transcript.opened", TENANT, "success")
        assert "7700900123" not in repr(each)


def test_what_cannot_be_recorded_is_not_shown(store):
    store.put("TENANT_CONVERSATIONS", item())
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        services.open_conversation(TENANT, REF, ADMIN)


def test_without_a_trail_it_is_shown_redacted(bare_store):
    bare_store.create_tables("TENANT_CONVERSATIONS")
    bare_store.put("TENANT_CONVERSATIONS", item())
    assert not services.open_conversation(TENANT, REF, ADMIN)[1]


# --- Clearing --------------------------------------------------------------------------------------------------------


def test_a_conversation_is_removed_with_its_entry_in_one_transaction(store):
    store.put_all(
        "TENANT_CONVERSATIONS", [item(updated_at="2026-02-21T14:30:00Z"), item("conv-other"), item(pk="other")]
    )
    found, seen = to_clear()
    with store.calls() as calls:
        clearing.clear(found, seen, ADMIN)
    assert [(call.operation, set(call.tables)) for call in calls] == [
        ("TransactWriteItems", {"TENANT_CONVERSATIONS", "AUDIT"})
    ]
    left = [(each["pk"], each["sk"]) for each in store.all("TENANT_CONVERSATIONS")]
    assert left == [("other", CONVERSATION), (TENANT, "conv-other")]
    [entry] = trail(store)
    assert (entry["action_type"], entry["actor"], entry["company_id"]) == (
        "tenant_conversation.cleared",
        "admin.person",
        TENANT,
    )
    assert payload(entry) == {
        "tenant_conversation": CONVERSATION,
        "messages": 2,
        "bytes": len(json.dumps(TALK)),
        "last_activity": "2026-02-21T14:30:00.000Z",
    }


CHANGES = {
    "another turn": {"messages": json.dumps([*TALK, {"role": "user", "content": "thanks"}])},
    "another turn within the second": {"messages": json.dumps(TALK[:1])},
    "later, the same": {"updated_at": "2030-01-01T00:00:00Z"},
    "of another type": {"messages": TALK},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("when", ["before it is read", "before it is written"])
def test_what_changed_since_it_was_seen_stays(store, change, when):
    store.put("TENANT_CONVERSATIONS", item())
    found, seen = to_clear()
    if when == "before it is read":
        store.update("TENANT_CONVERSATIONS", KEY, **change)
        found, _ = to_clear()
        with pytest.raises(Conflict):
            clearing.clear(found, seen, ADMIN)
    else:
        write = lambda: store.update("TENANT_CONVERSATIONS", KEY, **change)  # noqa: E731
        with faults.before("TransactWriteItems", write), pytest.raises(Conflict):
            clearing.clear(found, seen, ADMIN)
    assert store.get("TENANT_CONVERSATIONS", **KEY)["messages"]
    assert not trail(store)


@pytest.mark.parametrize(
    "odd",
    [
        {"messages": None, "updated_at": None},
        {"messages": ..., "updated_at": ...},
        {"messages": {"a": [1, None, {"B": b"\x01"}]}, "updated_at": 7},
        {"messages": {b"\x00", b"\x01"}, "updated_at": {"S": "x"}},
        {"messages": b"\x00", "updated_at": "", "ttl": "soon"},
        {"messages": "[" + '"' + "x" * 380_000 + '"]'},
    ],
)
def test_what_drifted_is_cleared_like_any_other(store, odd):
    store.put("TENANT_CONVERSATIONS", item(**odd))
    clearing.clear(*to_clear(), ADMIN)
    assert not store.all("TENANT_CONVERSATIONS")
    assert len(trail(store)) == 1


@pytest.mark.parametrize("change", [{"messages": "[]"}, {"updated_at": "2026-02-21T14:30:00Z"}])
def test_what_was_absent_and_came_meanwhile_stays(store, change):
    store.put("TENANT_CONVERSATIONS", item(messages=..., updated_at=...))
    found, seen = to_clear()
    write = lambda: store.update("TENANT_CONVERSATIONS", KEY, **change)  # noqa: E731
    with faults.before("TransactWriteItems", write), pytest.raises(Conflict):
        clearing.clear(found, seen, ADMIN)
    assert store.all("TENANT_CONVERSATIONS")


def test_what_is_gone_is_said_to_be_gone(store):
    store.put("TENANT_CONVERSATIONS", item())
    found, seen = to_clear()
    remove = lambda: store.delete("TENANT_CONVERSATIONS", **KEY)  # noqa: E731
    with faults.before("TransactWriteItems", remove), pytest.raises(clearing.ConversationGone):
        clearing.clear(found, seen, ADMIN)
    with pytest.raises(clearing.ConversationGone):
        clearing.load_to_clear(TENANT, REF, ADMIN)
    assert not trail(store)


def test_an_answer_that_was_lost_makes_no_second_entry(store):
    store.put("TENANT_CONVERSATIONS", item())
    found, seen = to_clear()
    with faults.fail_after("TransactWriteItems"), pytest.raises(StoreUnavailable):
        clearing.clear(found, seen, ADMIN)
    with pytest.raises(clearing.ConversationGone):
        clearing.load_to_clear(TENANT, REF, ADMIN)
    assert len(trail(store)) == 1


def test_nothing_is_cleared_without_a_trail(bare_store):
    bare_store.create_tables("TENANT_CONVERSATIONS")
    bare_store.put("TENANT_CONVERSATIONS", item())
    found, seen = to_clear()
    with pytest.raises(NoTrail, match="nothing was cleared"):
        clearing.clear(found, seen, ADMIN)
    assert bare_store.all("TENANT_CONVERSATIONS")
    assert read_only_reason().startswith("Read-only")


@pytest.mark.parametrize("role", [Role.AGENT, Role.ONBOARDING, Role.AUDITOR])
def test_only_admins_clear(store, role):
    store.put("TENANT_CONVERSATIONS", item())
    found, seen = to_clear()
    for ask in (
        lambda: clearing.load_to_clear(TENANT, REF, staff(role)),
        lambda: clearing.clear(found, seen, staff(role)),
    ):
        with pytest.raises(Forbidden):
            ask()
    assert store.all("TENANT_CONVERSATIONS")


def test_the_references_of_others_do_not_lead_to_it(store):
    store.put("TENANT_CONVERSATIONS", item())
    for reference in (reference_of("other", CONVERSATION), seal("conversation", TENANT, CONVERSATION), "x"):
        with pytest.raises(services.NotFound):
            clearing.load_to_clear(TENANT, reference, ADMIN)
