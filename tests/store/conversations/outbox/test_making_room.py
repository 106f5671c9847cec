"""A conversation without room: what is refused and how, the move of its oldest messages, and that nothing is lost."""

import json
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from console import caching, clock
from console.errors import ConsoleError, Forbidden, Invalid, ItemFull, NotFound
from console.permissions import Role, Scope
from conversations.handoff import perform
from conversations.handoff.full_items import full_keys, is_nearly_full, room_in
from conversations.handoff.notes import save_note
from conversations.indexer.handling import handle as index
from conversations.indexer.handling import handle_item
from conversations.insight.episodes import episodes_of
from conversations.insight.totals import totals_of
from conversations.messages import older_messages
from conversations.messages.older_messages import with_older
from conversations.models import Conversation
from conversations.outbox.making_room import AT_ONCE, STAY, WANTED_ROOM, make_room
from conversations.outbox.rows import messages_of
from conversations.receiving.handling import Handled
from conversations.receiving.worker import sweep
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import Store, to_dynamodb
from tests.items import url_of
from tests.people import OTHER_COMPANY, member, signed_in
from tests.store.conversations.receiving.test_handling import bring
from tests.support.conversations.full_items import LIMIT, entries, put_full, refusing
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    staff,
    stored,
    trail,
)

KB = 1024


def read() -> Conversation:
    return Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)


def transcript() -> list[Any]:
    """Every message as stored, wherever it is."""
    item = read()
    found = messages_of(item, item.raw.get("messages"))
    return [found.entry(number) for number in range(1, len(found) + 1)]


def room(store: Store) -> int:
    with refusing(store):
        return make_room(CHANNEL, CONVERSATION, ANA)


def leave(store: Store, size: int) -> None:
    """Fill the item until so many bytes are left."""
    raw = read().raw
    store.update("CONVERSATIONS", KEY, x_filler="x" * (len(raw["x_filler"]["S"]) + room_in(raw) - size))


def later(hours: int = 1) -> datetime:
    return clock.now() + timedelta(hours=hours)


def platform_writes(store: Store) -> list[dict[str, Any]]:
    """The platform appends a message and its answer, of a kilobyte each."""
    new = [
        {**each, "message_id": f"N{each['message_id']}", "timestamp": "2026-02-01T09:00:00Z"}
        for each in entries(2, 1000)
    ]
    store.client.update_item(
        TableName=store.name("CONVERSATIONS"),
        Key=to_dynamodb(KEY),
        UpdateExpression="SET messages = list_append(messages, :new)",
        ExpressionAttributeValues={":new": to_dynamodb({"v": new})["v"]},
    )
    return new


@pytest.mark.dynoxide_only
@pytest.mark.parametrize(
    ("kilobytes", "indexed", "is_full"),
    [(350, False, False), (380, False, False), (399, False, True), (70, True, False), (79, True, True)],
)
def test_full_conversation_is_taken_and_the_platform_goes_on(store, kilobytes, indexed, is_full):
    put_full(store, kilobytes * KB, indexed=indexed, **WAITING)
    before, totals = transcript(), totals_of(read(), messages_of(read(), read().raw["messages"]), None)
    assert is_nearly_full(read().raw) is is_full
    if is_full:
        assert make_room(CHANNEL, CONVERSATION, ANA) > 0
    perform(form("take"), ANA)
    assert transcript() == before
    assert totals_of(read(), messages_of(read(), read().raw["messages"]), None) == totals
    new = platform_writes(store)
    assert transcript() == [*before, *new]
    assert stored(store)["hand_off_agent"] == "ana"


@pytest.mark.dynoxide_only
@pytest.mark.parametrize(("size", "indexed"), [(400 * KB - 100, False), (LIMIT, True)])
def test_store_refuses_to_take_what_has_no_room_and_takes_it_after_room_was_made(store, size, indexed):
    put_full(store, size, indexed=indexed, **WAITING)
    before = transcript()
    with pytest.raises(ItemFull):
        perform(form("take"), ANA)
    make_room(CHANNEL, CONVERSATION, ANA)
    perform(form("take"), ANA)
    assert transcript() == before
    assert platform_writes(store) == transcript()[-2:]


def test_each_form_says_that_there_is_no_room_and_offers_to_make_some(store):
    item = put_full(store, LIMIT, **WAITING)
    client = signed_in(member())
    page = client.get(url_of(item)).content.decode()
    assert "This conversation is full." in page
    assert "Make room</button>" in page
    token = page.split('name="intent" value="')[1].split('"')[0]
    with refusing(store):
        answer = client.post(url_of(item) + "hand-off/", {"intent": token})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "Nothing was changed." in text
    assert "room/" in text
    assert "again" not in text.split("This conversation is full.")[1].split("</form>")[0]
    [entry] = [each for each in trail(store) if each["action_type"] == "hand_off.take"]
    assert entry["result"] == "failed: the conversation has no room left"
    assert list(full_keys()) == [(CHANNEL, CONVERSATION)]
    caching.invalidate_all()
    assert "1 conversation has no room left" in client.get("/queue/?tab=attention").content.decode()
    with refusing(store):
        done = client.post(url_of(item) + "room/", follow=True).content.decode()
    assert "There is room again." in done
    assert "This conversation is full." not in done
    assert "no room left" not in client.get("/queue/?tab=attention").content.decode()


def test_another_companys_agent_sees_no_full_conversation_and_makes_no_room(store):
    put_full(store, LIMIT, **WAITING)
    handle_item(read().raw)
    assert list(full_keys()) == [(CHANNEL, CONVERSATION)]
    assert "no room left" not in signed_in(member(scope=[OTHER_COMPANY])).get("/queue/?tab=attention").content.decode()
    with pytest.raises(NotFound):
        make_room(CHANNEL, CONVERSATION, staff("eve", scope=Scope.of(["other"])))
    with pytest.raises(Forbidden):
        make_room(CHANNEL, CONVERSATION, staff("aud", Role.AUDITOR))


def test_move_keeps_every_entry_of_any_type_in_its_place(store):
    odd = [None, "bare", 5, {"role": "user", "b": b"\x00\xff", "s": {"a", "b"}, "deep": [None, {"n": 1.5}]}, ["list"]]
    put_full(store, 30_000, count=20, **held_by("ana"))
    store.update("CONVERSATIONS", KEY, messages=[*odd, *entries(120)])
    leave(store, 100)
    before = transcript()
    moved = room(store)
    assert moved > len(odd)
    assert transcript() == before
    assert len(stored(store)["messages"]) == len(before) - moved
    assert stored(store)["hand_off_older"] == moved
    [entry] = [each for each in trail(store) if each["action_type"] == "room.made"]
    assert (entry["result"], entry["actor"]) == ("success", "ana")
    assert json.loads(entry["action_payload_redacted"])["messages"] == moved


@pytest.mark.dynoxide_only
def test_latest_messages_stay_and_steps_are_bounded(store):
    put_full(store, LIMIT, count=0)
    store.update("CONVERSATIONS", KEY, messages=entries(850, 10), x_filler="")
    leave(store, 100)
    before = transcript()
    with store.calls() as calls:
        room(store)
    removed = [
        each.request["UpdateExpression"].count("#messages[") for each in calls if "#messages[0]" in str(each.request)
    ]
    assert max(removed) <= AT_ONCE
    assert transcript() == before
    leave(store, 100)
    room(store)
    assert len(stored(store)["messages"]) == STAY
    assert transcript() == before
    with pytest.raises(Invalid, match="Nothing was moved"):
        room(store)


def test_enough_room_is_left_alone(store):
    put_full(store, LIMIT + 90 - WANTED_ROOM)
    before = stored(store)
    assert room(store) == 0
    assert stored(store) == before


@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after])
def test_process_that_dies_at_any_call_loses_and_doubles_nothing(store, fault):
    nth, seen = 0, None
    while seen is None or seen.struck:
        put_full(store, LIMIT, count=150, **held_by("ana"))
        before, nth = transcript(), nth + 1
        with fault("", nth=nth) as seen, suppress(ConsoleError):
            make_room(CHANNEL, CONVERSATION, ANA)
        assert transcript() == before
        make_room(CHANNEL, CONVERSATION, ANA)
        assert [*before, *platform_writes(store)] == transcript()
    assert nth > 7


def test_two_who_make_room_at_once_move_each_message_once(store):
    put_full(store, LIMIT, **held_by("ana"))
    before = transcript()
    with faults.before("UpdateItem", lambda: make_room(CHANNEL, CONVERSATION, ANA), table_key="CONVERSATIONS"):
        room(store)
    assert transcript() == before


def test_message_to_a_full_conversation_is_received_once_shown_and_finished_with_room(store, settings):
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put_full(store, LIMIT + 90, auto_queue_reply_message=True)
    before = transcript()
    with refusing(store):
        assert bring() is Handled.RECEIVED
        assert bring(name="again") is Handled.AGAIN
        for hours in (1, 2, 3):
            sweep(later(hours))
        assert [each["content"] for each in transcript()[-1:]] == ["Where is my parcel?"]
        assert list(full_keys()) == [(CHANNEL, CONVERSATION)]
        make_room(CHANNEL, CONVERSATION, ANA)
        sweep(later(4))
    assert [each["content"] for each in transcript()] == [*(each["content"] for each in before), "Where is my parcel?"]
    # And somebody is asked for.
    assert stored(store)["hand_off_to_human"] is True
    assert not [row for row in store.all("MESSAGES") if "gsi_due" in row]


def test_full_conversation_holds_up_no_other(store):
    put_full(store, LIMIT + 90, hand_off_to_human=True)
    with refusing(store):
        changed = StreamChange(None, read().raw, clock.now())
        for _ in range(3):
            index(changed)
            handle_item(read().raw)
    assert list(full_keys()) == [(CHANNEL, CONVERSATION)]
    room(store)
    index(StreamChange(changed.new, read().raw, clock.now()))
    assert list(full_keys()) == []
    assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")


def test_note_says_that_there_is_no_room(store):
    put_full(store, LIMIT + 90, **held_by("ana"))
    with refusing(store), pytest.raises(ItemFull):
        save_note(CHANNEL, CONVERSATION, ANA, "calls at noon")
    assert list(full_keys()) == [(CHANNEL, CONVERSATION)]


def test_insight_counts_messages_that_were_moved(store):
    put_full(store, LIMIT, **held_by("ana"))
    before = episodes_of(read().raw)
    room(store)
    assert episodes_of(with_older(read().raw)) == before
    assert episodes_of(read().raw) != before


def test_moved_messages_go_with_their_item_and_not_before(store):
    put_full(store, LIMIT, **held_by("ana"))
    moved = room(store)
    kept = [row for row in store.all("MESSAGES") if row["conversation"].startswith("older\n")]
    assert len(kept) == moved
    assert all("expires_at" not in row for row in kept)
    old = read().raw
    # A record of the stream about an earlier item with the same key.
    index(StreamChange(old, None, clock.now()))
    assert len(transcript()) > moved
    store.delete("CONVERSATIONS", **KEY)
    index(StreamChange(old, None, clock.now()))
    assert not [row for row in store.all("MESSAGES") if row["conversation"].startswith("older\n")]


def test_page_says_how_many_moved_messages_are_missing(store):
    put_full(store, LIMIT, **held_by("ana"))
    room(store)
    older_messages.remove_older(read().raw)
    found = messages_of(read(), read().raw["messages"])
    assert found.notice == f"{stored(store)['hand_off_older']} older messages are missing."
