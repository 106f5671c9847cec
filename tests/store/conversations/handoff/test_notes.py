"""The holder's note: who may save it, on what, and what the trail says of it."""

import pytest

from console import clock
from console.errors import Forbidden, Invalid, NotFound
from console.permissions import Role
from conversations.handoff.notes import save_note
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    CHANNEL,
    CONVERSATION,
    UPDATED_AT,
    WAITING,
    conversation,
    foreign,
    held_by,
    ours,
    put,
    staff,
    stored,
    trail,
)


def save(person, note="calls at noon") -> None:
    save_note(CHANNEL, CONVERSATION, person, note)


def test_it_changes_the_note_and_the_time_and_nothing_else(store):
    before = put(store, **held_by("ana"))
    with store.calls() as calls:
        save(ANA)
    after = stored(store)
    assert after["hand_off_note"] == "calls at noon"
    noted = {"hand_off_note": "calls at noon", "hand_off_note_by": "ana", "hand_off_note_at": after["updated_at"]}
    assert ours(after) == ours(before) | noted
    assert foreign(after) == foreign(before)
    assert UPDATED_AT < after["updated_at"] <= clock.to_iso(clock.now())
    [entry] = trail(store)
    assert (entry["action_type"], entry["company_id"], entry["result"]) == ("note.saved", "ci-aaa-001", "success")
    [read] = [each.request for each in calls if each.operation == "GetItem"]
    assert read["ConsistentRead"] is True
    assert "messages" not in read["ExpressionAttributeNames"].values()
    save(ANA, "")
    assert "hand_off_note" not in stored(store)


def test_it_may_be_as_long_as_it_may_be(store):
    put(store, **held_by("ana"))
    save(ANA, "n" * 2000)
    with pytest.raises(Invalid, match="1 too many: a note can have up to 2,000 characters"):
        save(ANA, "n" * 2001)
    assert stored(store)["hand_off_note"] == "n" * 2000


@pytest.mark.parametrize(
    ("changes", "person"),
    [
        (held_by("ben"), ANA),
        (WAITING, ANA),
        ({}, ANA),
        (held_by("ana", hand_off_to_human=False), ANA),
        (held_by("ana"), ADMIN),
        (held_by("ana"), staff("ana", Role.AUDITOR)),
    ],
    ids=["a colleague's", "nobody's", "the AI's", "overridden", "for the holder", "without the permission"],
)
def test_only_the_holder_saves_one(store, changes, person):
    before = put(store, **changes)
    with pytest.raises(Forbidden):
        save(person)
    assert stored(store) == before
    assert trail(store) == []


@pytest.mark.parametrize(
    ("changes", "person"),
    [
        (held_by("ana", company_id="ci-bbb-002"), ANA),
        (held_by("ana", ttl=1), ANA),
    ],
    ids=["of another company", "expired"],
)
def test_what_is_out_of_scope_or_expired_is_not_there(store, changes, person):
    before = put(store, **changes)
    with pytest.raises(NotFound):
        save(person)
    assert stored(store) == before
    assert trail(store) == []


def test_one_of_no_company_is_for_who_sees_everything(store):
    item = {name: value for name, value in conversation(**held_by("root")).items() if name != "company_id"}
    store.put("CONVERSATIONS", item)
    save(ADMIN)
    [entry] = trail(store)
    assert not entry.get("company_id")
    with pytest.raises(NotFound):
        save(ANA)
