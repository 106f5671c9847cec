"""The platform's stage table as the source of customers' messages: what counts, once, in order, and never lost."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from conversations.handoff import perform, settle
from conversations.indexer import handling as indexing
from conversations.models import Conversation
from conversations.outbox.latest import last_words
from conversations.outbox.rows import NOT_PLACED, messages_of, to_place_partition
from conversations.receiving import stage as stage_module
from conversations.receiving.handling import Handled
from conversations.receiving.leaving import return_to_ai
from conversations.receiving.recording import STAGE
from conversations.receiving.stage import NOT_FOR_PEOPLE, StageReceiver, take_fragment
from conversations.receiving.worker import sweep
from conversations.records import Speaker
from conversations.work.lambdas import handle_stage_stream
from conversations.workers.lease import LEASE
from conversations.workers.streams import events, following
from conversations.workers.streams.records import StreamChange
from conversations.workers.streams.shards import Shards, stream_of_table
from tests import faults
from tests.dynamodb import Store, to_dynamodb
from tests.store.conversations.receiving.test_handling import body, bring, rows, said
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    stored,
    trail,
)
from tests.support.conversations.platform_routing import PEOPLE, route
from tests.support.tenants.kit import Killed

AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
_readers: dict[str, Shards] = {}


def fragment(sid: str = "SM1", **changes: Any) -> dict[str, Any]:
    """What the platform stages, for whoever it is: no sender, no channel, a time without a zone."""
    content = {
        "conversation_id": CONVERSATION,
        "message_sid": sid,
        "primary_channel": CHANNEL,
        "body": "Where is my parcel?",
        "received_at": "2026-02-01T10:00:00.250000",
        "expires_at": 1769940070,
        **changes,
    }
    return {name: value for name, value in content.items() if value is not ...}


def take(sid: str = "SM1", at: datetime = AT, **changes: Any) -> dict[str, int]:
    return dict(take_fragment(StreamChange(None, to_dynamodb(fragment(sid, **changes)), at)))


def received(store) -> list[str]:
    return [row["content"] for row in sorted(rows(store), key=lambda row: row["position"])]


@pytest.fixture
def receiver(store) -> StageReceiver:
    """One that begins with what is staged from now on: dynoxide keeps a stream through the session."""
    if not store.embedded:
        _go_to_the_end(store)
    return StageReceiver(interval=0.05)


def _go_to_the_end(store: Store) -> None:
    arn = stream_of_table("CONVERSATIONS_STAGE")
    reader = _readers.setdefault(arn, Shards(arn))
    reader.refresh()
    mark = {"conversation_id": "mark", "message_sid": uuid.uuid4().hex}
    store.put("CONVERSATIONS_STAGE", mark)
    deadline = time.monotonic() + 60
    seen: list[str] = []
    while mark["message_sid"] not in seen:
        assert time.monotonic() < deadline
        for shard in reader.ready():
            if records := reader.read(shard):
                shard.sequence = records[-1]["dynamodb"]["SequenceNumber"]
                seen += [each["dynamodb"]["Keys"]["message_sid"]["S"] for each in records]
    for shard in reader.ready():
        position = {"arn": arn, "sequence": shard.sequence, "done": False, "noted_at": clock.to_iso(clock.now())}
        store.put("CONSOLE", {"pk": STAGE, "sk": f"SHARD#{shard.shard_id}", **position})


def stage(store: Store, *sids: str, **changes: Any) -> None:
    for sid in sids:
        store.put("CONVERSATIONS_STAGE", fragment(sid, body=f"line {sid}", **changes))


# What counts.


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"auto_queue_reply_message": True},
        {"auto_queue_reply_message": "true"},
        {"auto_queue_reply_message_from_number": [CHANNEL]},
        {"auto_queue_reply_message_from_number": ["+447700900999"]},
        {"auto_queue_reply_message_from_email": ["jo@example.com"], "recipient_email": "jo@example.com"},
        {"hand_off_to_human": True, "hand_off_agent": "ana"},
    ],
)
def test_what_the_platform_routes_to_people_counts_and_nothing_else(store, changes):
    item = put(store, **changes)
    senders = [CHANNEL, item.get("recipient_email")]
    is_for_people = PEOPLE in [route(item, each) for each in senders]
    done = take()
    assert done == {"read": 1, (Handled.RECEIVED if is_for_people else NOT_FOR_PEOPLE): 1}
    assert [row["content"] for row in rows(store) if "content" in row] == (
        ["Where is my parcel?"] if is_for_people else []
    )


def test_it_is_handled_as_from_the_queue(store):
    put(store, auto_queue_reply_message_from_number=[CHANNEL])
    take()
    [row] = rows(store)
    assert (row["source"], row["channel"], row["received_at"]) == ("stage", "whatsapp", "2026-02-01T10:00:00.250Z")
    assert row["on_item"] is True
    assert said(store)[-1] == "Where is my parcel?"
    assert stored(store)["hand_off_to_human_reason"] == "Rule: replies from this sender go to people."
    assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")


@pytest.mark.parametrize("queue_first", [True, False])
def test_the_same_message_from_both_sources_is_one_row(store, queue_first):
    put(store, auto_queue_reply_message=True)
    both = [bring, take] if queue_first else [take, bring]
    both[0]()
    item = stored(store)
    both[1]()
    assert received(store) == ["Where is my parcel?"]
    assert stored(store) == item


def test_a_message_that_the_ai_has_answered_is_not_for_people(store):
    answered = [{"message_id": "SM1", "role": "user", "content": "Where is my parcel?"}]
    put(store, **held_by("ana", auto_queue_reply_message=True, messages=answered))
    assert take() == {"read": 1, NOT_FOR_PEOPLE: 1}
    assert rows(store) == []


def test_a_fragment_without_its_conversations_channel_is_placed_by_the_id(store):
    put(store, auto_queue_reply_message=True)
    take(primary_channel=...)
    assert received(store) == ["Where is my parcel?"]


def test_an_id_that_names_no_channel_is_looked_up(store):
    item = put(store, auto_queue_reply_message=True)
    store.put("CONVERSATIONS", {**item, "conversation_id": "odd"})
    assert take(conversation_id="odd", primary_channel=...) == {"read": 1, Handled.RECEIVED: 1}


def test_what_belongs_to_no_conversation_is_kept(store):
    assert take() == {"read": 1, Handled.NOT_PLACED: 1}
    assert take() == {"read": 1, Handled.NOT_PLACED: 1}
    [row] = rows(store, NOT_PLACED)
    assert (row["source"], row["not_placed_because"]) == ("stage", "There is no such conversation.")
    assert "parcel" in row["body"]


@pytest.mark.parametrize("body", [..., None, 7, {"a": [1]}, "", "x" * 200_000])
def test_no_body_is_too_strange(store, body):
    put(store, auto_queue_reply_message=True)
    assert take(body=body)[Handled.RECEIVED] == 1
    assert len(rows(store)) == 1


def test_what_is_removed_or_expires_is_nothing(store):
    put(store, auto_queue_reply_message=True)
    assert dict(take_fragment(StreamChange(to_dynamodb(fragment()), None, AT))) == {"read": 1}
    assert rows(store) == []


# At that moment: the receiver comes later than the customer.


@pytest.fixture
def routing(settings) -> None:
    """People get the messages of a conversation that somebody holds."""
    settings.HAND_OFF_ROUTING, settings.HANDOFF_QUEUE_URL = "held", "https://sqs.example/handoff"


def after(seconds: float) -> datetime:
    return clock.now() + timedelta(seconds=seconds)


@contextmanager
def times(begin: datetime) -> Iterator[None]:
    """Let it be that time inside."""
    real, ahead = clock.now, begin - clock.now()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: real() + ahead)
        yield


def take_at(sid: str, at: datetime, **changes: Any) -> dict[str, int]:
    """Stage a message said at that time, which the platform stamps with whole seconds."""
    return take(sid, at=at, received_at=at.replace(microsecond=0, tzinfo=None).isoformat(), **changes)


def look_again(**later: float) -> None:
    """Let the sweep run at a later time, with the store as it is."""
    while sweep(clock.now() + timedelta(**later)):
        pass


def messages(store) -> list[tuple[str, tuple[str, ...]]]:
    """What the transcript has of the customer, with what it says of each message."""
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    found = messages_of(item, item.raw["messages"])
    shown = [found.message(number, raw=True) for number in range(1, len(found) + 1)]
    return [(each.line, each.notes) for each in shown if each.speaker is Speaker.CUSTOMER]


def unanswered() -> int:
    return last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION].unanswered


DOUBT = ("said as people took over: the AI may answer it too",)


def test_what_came_before_people_handed_it_back_is_theirs(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    with times(clock.now() + timedelta(minutes=2)):
        written = after(-30)
        perform(form("hand_back"), ANA, note="done")
        assert "auto_queue_reply_message" not in stored(store)
        assert take_at("SM1", written)[Handled.RECEIVED] == 1
        # The AI was never told of it: people are asked for. What comes later is the AI's.
        assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")
        assert take_at("SM2", after(30)) == {"read": 1, NOT_FOR_PEOPLE: 1}


def test_what_came_before_people_took_it_was_the_ais(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    assert stored(store)["auto_queue_reply_message"] is True
    assert take_at("SM1", after(-30)) == {"read": 1, NOT_FOR_PEOPLE: 1}
    assert take_at("SM2", after(30))[Handled.RECEIVED] == 1
    assert messages(store) == [("Where is my parcel?", ())]


def test_what_a_rule_routed_before_people_took_it_was_theirs_already(store, routing):
    put(store, auto_queue_reply_message=True)
    written = clock.now()
    perform(form("take_over"), ANA)
    assert take_at("SM1", written)[Handled.RECEIVED] == 1
    assert messages(store) == [("Where is my parcel?", ())]


@pytest.mark.parametrize("seconds", [-5, -3, 0, 3, 4])
def test_what_is_said_in_the_second_of_a_take_shows_with_the_doubt(store, routing, seconds):
    put(store)
    perform(form("take_over"), ANA)
    assert take_at("SM1", after(seconds))[Handled.RECEIVED] == 1
    assert messages(store) == [("Where is my parcel?", DOUBT)]
    assert unanswered() == 1
    assert said(store) == ["Hello"]


def test_the_indexers_writes_of_the_switch_are_remembered_too(store, settings, routing):
    settings.HAND_OFF_ROUTING = "waiting"
    put(store, **WAITING)
    indexing.repair_item(to_dynamodb(stored(store)))
    assert stored(store)["auto_queue_reply_message"] is True
    assert take_at("SM1", clock.now())[Handled.RECEIVED] == 1
    assert messages(store) == [("Where is my parcel?", DOUBT)]


def test_a_copy_from_the_queue_ends_the_doubt(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    take_at("SM1", clock.now())
    assert bring() is Handled.AGAIN
    assert messages(store) == [("Where is my parcel?", ())]
    assert said(store) == ["Hello", "Where is my parcel?"]
    assert unanswered() == 1
    assert "gsi_due" not in rows(store)[0]


def test_what_is_said_as_it_goes_back_asks_for_nobody(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    with times(clock.now() + timedelta(minutes=2)):
        perform(form("hand_back"), ANA)
        take_at("SM1", clock.now())
        assert messages(store) == [("Where is my parcel?", ("said as it went back to the AI",))]
        assert "gsi_hand_off_queue" not in stored(store)
        assert bring() is Handled.AGAIN
    assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")
    assert messages(store) == [("Where is my parcel?", ())]
    assert unanswered() == 1


def answer(store, *words: str, at: datetime) -> None:
    """The platform's worker answers what was staged: one merged entry under the first id, stamped afterwards."""
    entries = [
        {"message_id": "SM0", "timestamp": clock.to_iso(at), "role": "user", "content": "\n".join(words)},
        {"message_id": "A1", "timestamp": clock.to_iso(at), "role": "assistant", "content": "Here it is."},
    ]
    store.update("CONVERSATIONS", KEY, messages=[*stored(store)["messages"], *entries])


WORDS = "Where is my parcel?"


@pytest.mark.parametrize(
    ("written", "is_held"),
    [
        (["and also", "Where  is my parcel?", "Thanks"], True),
        ([WORDS], True),
        ([f"{WORDS} Tell me"], False),
        (["Where is", "my parcel?"], False),
        (["Thanks"], False),
    ],
)
def test_a_doubt_becomes_the_entry_that_has_its_words(store, routing, written, is_held):
    put(store)
    perform(form("take_over"), ANA)
    take_at("SM1", clock.now())
    answer(store, *written, at=after(4))
    merged = (" ".join(" ".join(written).split()), ())
    assert messages(store) == ([merged] if is_held else [(WORDS, DOUBT), merged])
    look_again(hours=1)
    # Appended behind the AI's answer, which was not to these words.
    assert messages(store) == ([merged] if is_held else [merged, (WORDS, ())])
    assert len(said(store)) == (3 if is_held else 4)


def test_one_entry_is_not_two_messages_of_the_same_words(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    take_at("SM1", clock.now(), body="ok")
    take_at("SM2", clock.now(), body="ok")
    answer(store, "ok", at=after(4))
    assert [line for line, _ in messages(store)] == ["ok", "ok"]
    look_again(hours=1)
    assert [line for line, _ in messages(store)] == ["ok", "ok"]


def test_a_doubt_that_the_ai_has_not_answered_in_time_is_put_onto_the_item(store, routing):
    put(store)
    perform(form("take_over"), ANA)
    take_at("SM1", clock.now())
    look_again(minutes=14)
    assert said(store) == ["Hello"]
    look_again(minutes=16)
    assert said(store) == ["Hello", "Where is my parcel?"]
    assert len(messages(store)) == 1
    assert "gsi_due" not in rows(store)[0]


def test_what_the_ai_has_not_answered_after_a_minute_is_kept_whatever_becomes_of_its_row(store, routing):
    put(store)
    take_at("SM1", clock.now())
    look_again(seconds=50)
    assert messages(store) == []
    look_again(seconds=70)
    assert messages(store) == [("Where is my parcel?", ("said to the AI, which has not answered yet",))]
    assert said(store) == ["Hello"]
    look_again(minutes=20)
    assert said(store) == ["Hello", "Where is my parcel?"]


@pytest.mark.parametrize("words", ["Where is my parcel?", "Hi\nWhere is  my parcel?\nThanks"])
def test_what_the_ai_has_answered_within_a_minute_leaves_nothing_behind(store, routing, words):
    put(store)
    take_at("SM1", clock.now())
    answer(store, words, at=after(20))
    look_again(seconds=70)
    assert store.all("MESSAGES") == []


def test_each_message_that_the_ai_has_not_answered_counts_until_it_answers(store, routing):
    put(store)
    for number in (1, 2):
        take_at(f"SM{number}", after(number), body=f"line {number}")
    look_again(seconds=70)
    assert unanswered() == 2
    with times(clock.now() + timedelta(minutes=2)):
        answer(store, "line 1\nline 2", at=clock.now())
        take_at("SM3", after(20), body="line 3")
        look_again(seconds=100)
        assert unanswered() == 1


def test_an_edit_of_what_the_ai_has_answered_is_kept(store, routing):
    # Stamped after the answer, so perhaps after the edit.
    stamp = clock.to_iso(after(2))
    put(store, messages=[{"message_id": "SM1", "timestamp": stamp, "role": "user", "content": "number 12"}])
    take_at("SM1", clock.now(), body="number 12")
    take_at("SM1", clock.now(), body="number 21")
    look_again(seconds=70)
    found = dict(messages(store))
    assert found["number 12"] == ()
    assert found["number 21"][0] == "edited"
    assert len(messages(store)) == 2


def test_what_was_the_ais_as_it_was_staged_is_in_doubt_if_a_take_follows_at_once(store, routing):
    put(store)
    take_at("SM1", clock.now())
    perform(form("take_over"), ANA)
    look_again(seconds=70)
    assert messages(store) == [("Where is my parcel?", DOUBT)]


def test_a_fragment_and_a_message_of_the_queue_without_an_id_are_one(store):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    take()
    assert bring(body(message_sid=..., body="Where  is my parcel?\n")) is Handled.AGAIN
    assert bring(body(message_sid=..., body="Where  is my parcel?\n")) is Handled.AGAIN
    assert received(store) == ["Where is my parcel?"]
    # Another one of the same words is another message.
    assert bring(body(message_sid=...), name="d2") is Handled.RECEIVED
    assert take("SM2") == {"read": 1, Handled.AGAIN: 1}
    assert take("SM2") == {"read": 1, Handled.AGAIN: 1}
    assert take("SM3") == {"read": 1, Handled.RECEIVED: 1}
    assert len(received(store)) == 3


def test_a_fragment_of_an_email_says_the_words_of_a_message_with_a_subject(store):
    put(store, channel_method="email", **held_by("ana", auto_queue_reply_message=True))
    take()
    assert bring(body(message_sid=..., channel_type="email", subject="Parcel")) is Handled.AGAIN
    assert len(rows(store)) == 1


def test_an_edit_that_the_queue_brought_as_a_copy_of_the_first_is_not_lost(store):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    take(body="number 12")
    bring(body(body="number 21"))
    take(body="number 21", received_at="2026-02-01T10:00:00.500000")
    take(body="number 12")
    assert messages(store) == [("number 12", ()), ("number 21", ("edited",))]


def test_other_words_of_one_source_are_an_edit_and_of_the_other_the_same_message(store):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    take(body="number 12")
    bring(body(body="NUMBER 12"))
    bring(body(body="NUMBER 12"), name="d2")
    assert received(store) == ["number 12"]
    take(body="number 21", received_at="2026-02-01T10:00:00.500000")
    bring(body(body="number 21"), name="d3")
    assert messages(store) == [("number 12", ()), ("number 21", ("edited",))]


def unanswered_mark() -> str:
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    return messages_of(item, item.raw.get("messages")).unanswered_mark


def test_what_people_left_to_the_ai_is_staged_anew_and_not_theirs_again(store, queue, settings):
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queue}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, auto_queue_reply_message=True)
    take()
    return_to_ai(form("leave_to_ai"), ANA, shown=unanswered_mark())
    [staged] = store.all("CONVERSATIONS_STAGE")
    item, before = stored(store), rows(store)
    assert [row["state"] for row in before] == ["left to the AI", "staged"]
    assert "gsi_hand_off_queue" not in item
    assert take_fragment(StreamChange(None, to_dynamodb(staged), clock.now()))["read"] == 1
    assert (stored(store), rows(store)) == (item, before)


def test_the_sweep_asks_for_nobody_where_a_message_was_left_to_the_ai(store, queue, settings):
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queue}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, auto_queue_reply_message=True)
    # It was put onto the item and asked for; that its row is finished was not written any more.
    with faults.fail_before("UpdateItem", table_key="MESSAGES", times=faults.ALWAYS), suppress(ConsoleError):
        take()
    assert rows(store)[0]["gsi_due"]
    return_to_ai(form("leave_to_ai"), ANA, shown=unanswered_mark())
    assert sweep(clock.now() + timedelta(minutes=2)) == 2
    assert "gsi_hand_off_queue" not in stored(store)
    assert "gsi_due" not in rows(store)[0]


def test_a_conversation_that_nobody_ever_took_costs_one_read_and_a_note_to_look_again(store):
    put(store)
    with store.calls() as calls:
        take()
    assert [call.operation for call in calls] == ["GetItem", "PutItem"]


# The stream.


@pytest.mark.slow
def test_all_that_is_staged_is_received_in_order(store, receiver):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    for number in range(25):
        stage(store, f"{number:02}", received_at=f"2026-02-01T10:00:{number:02}")
    receiver.run(once=True)
    assert received(store) == [f"line {number:02}" for number in range(25)]
    assert said(store)[1:] == received(store)
    assert receiver.counts[Handled.RECEIVED] == 25


def test_another_goes_on_where_the_first_was(store, receiver):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    stage(store, "1")
    receiver.run(once=True)
    stage(store, "2", received_at="2026-02-01T10:00:09")
    second = StageReceiver(interval=0.05)
    second.run(once=True)
    assert second.counts[Handled.RECEIVED] == 1
    assert received(store) == ["line 1", "line 2"]


def test_one_at_a_time(store, receiver):
    receiver.cycle()
    other = StageReceiver(owner="other")
    other.cycle()
    assert not other.lease.is_held
    assert store.get("CONSOLE", pk=STAGE, sk=LEASE)["owner"] == receiver.lease.owner
    # Its lease is another than the indexer's.
    assert store.get("CONSOLE", pk="INDEXER", sk=LEASE) is None


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_waited_for(store, receiver):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    stage(store, "1")
    with faults.fail_before("TransactWriteItems", table_key="MESSAGES", times=2, whole_calls=True):
        receiver.run(once=True)
    assert received(store) == ["line 1"]
    assert rows(store, NOT_PLACED) == []


def test_a_message_that_never_can_be_handled_is_kept_and_blocks_nobody(store, receiver, monkeypatch):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    stage(store, "bad", "good")
    check = stage_module.placing.check

    def picky(item, message):
        if message.message_id == "bad":
            raise RuntimeError("+447700900123")
        check(item, message)

    monkeypatch.setattr(stage_module.placing, "check", picky)
    receiver.run(once=True)
    assert received(store) == ["line good"]
    [row] = rows(store, to_place_partition("ci-aaa-001"))
    assert "line bad" in row["body"]
    assert row["not_placed_because"] == "The console could not handle it."


def test_what_the_store_does_not_let_be_handled_is_kept_after_many_tries(store, receiver, monkeypatch):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    monkeypatch.setattr(following, "ROUNDS", 2)
    stage(store, "1")

    def never(item, message):
        raise StoreUnavailable

    monkeypatch.setattr(stage_module.placing, "check", never)
    with faults.fail_before("TransactWriteItems", times=1, whole_calls=True):
        # Nor can it be kept at first: it is not passed over.
        for _ in range(4):
            receiver.cycle()
    monkeypatch.undo()
    stage(store, "2")
    receiver.run(once=True)
    [row] = rows(store, to_place_partition("ci-aaa-001"))
    assert "line 1" in row["body"]
    assert received(store) == ["line 2"]


def test_who_was_away_for_longer_than_the_stream_keeps_says_so(store, receiver):
    receiver.run(once=True)
    later = StageReceiver(now=lambda: clock.now() + timedelta(hours=25))
    later.cycle()
    assert store.get("CONSOLE", pk=STAGE, sk=LEASE)["missed_at"]


def test_the_first_start_has_missed_nothing(store, receiver):
    receiver.run(once=True)
    assert "missed_at" not in store.get("CONSOLE", pk=STAGE, sk=LEASE)


def test_it_tells_how_it_goes(store, receiver):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    stage(store, "1")
    receiver.cycle()
    lease = store.get("CONSOLE", pk=STAGE, sk=LEASE)
    assert lease["mode"] == "stream"
    assert clock.parse_instant(lease["beat_at"])
    assert lease["lag"] >= 0


@pytest.mark.parametrize("absent", ["table", "stream"])
def test_without_the_table_or_its_stream_it_waits(bare_store, absent):
    bare_store.create_tables("CONSOLE", *([] if absent == "table" else ["CONVERSATIONS_STAGE"]))
    if absent == "stream":
        off = {"StreamEnabled": False}
        name = bare_store.name("CONVERSATIONS_STAGE")
        bare_store.client.update_table(TableName=name, StreamSpecification=off)
    receiver = StageReceiver()
    assert receiver.cycle() > 0
    assert receiver.lease.is_held
    assert bare_store.get("CONSOLE", pk=STAGE, sk=LEASE)["mode"] == ""


# Whatever dies, wherever.


def _die() -> None:
    raise Killed


@pytest.mark.slow
@pytest.mark.parametrize("strikes", [faults.before, faults.after])
def test_who_dies_at_any_call_loses_and_doubles_nothing(store, strikes):
    for nth in range(1, 100):
        store.empty()
        if not store.embedded:
            _go_to_the_end(store)
        put(store, auto_queue_reply_message=True)
        stage(store, "1")
        stage(store, "2", received_at="2026-02-01T10:00:01")
        died = False
        # The same owner: what it held when it died need not be waited for.
        first = StageReceiver(owner="one")
        with strikes("", _die, nth=nth) as fault:
            try:
                while first._quiet < 3:
                    first.cycle()
            except Killed:
                died = True
        StageReceiver(owner="one").run(once=True)
        sweep(clock.now() + timedelta(minutes=2))
        settle(CONVERSATION)
        assert received(store) == ["line 1", "line 2"], nth
        assert sorted(said(store)[1:]) == ["line 1", "line 2"], nth
        asked = [entry for entry in trail(store) if entry["action_type"] == "hand_off.request"]
        assert [entry["result"] for entry in asked] == ["success"], nth
        assert stored(store)["gsi_hand_off_queue"].startswith("waiting#"), nth
        if not died:
            assert nth > 15, fault.seen
            return
    pytest.fail("it never came to its end")


# As a Lambda.


def record(sequence: str, **changes: Any) -> dict[str, Any]:
    image = to_dynamodb(fragment(f"SM{sequence}", **changes))
    keys = {name: image[name] for name in ("conversation_id", "message_sid")}
    at = 1769940000
    return {
        "dynamodb": {"SequenceNumber": sequence, "ApproximateCreationDateTime": at, "Keys": keys, "NewImage": image}
    }


def test_a_lambda_handles_in_order_and_reports_what_may_succeed_later(store):
    events._beat.clear()
    put(store, **held_by("ana", auto_queue_reply_message=True))
    event = {"Records": [record("1"), record("2"), record("3")]}
    with faults.fail_before("TransactWriteItems", nth=2, whole_calls=True):
        assert handle_stage_stream(event) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert len(rows(store)) == 1
    assert handle_stage_stream(event) == {"batchItemFailures": []}
    assert len(rows(store)) == 3
    assert store.get("CONSOLE", pk=STAGE, sk=LEASE)["mode"] == "lambda"


def test_a_lambda_keeps_what_it_can_never_handle(store):
    event = {"Records": [{"dynamodb": {"SequenceNumber": "1", "NewImage": {"body": {"S": "+44 7700"}}}}, {"x": 1}]}
    assert handle_stage_stream(event) == {"batchItemFailures": []}
    assert [row["not_placed_because"] for row in rows(store, NOT_PLACED)] == ["The console could not handle it."] * 2


def test_nothing_of_a_message_is_logged(store, caplog):
    with faults.fail_before("GetItem", times=faults.ALWAYS):
        handle_stage_stream({"Records": [record("1")]})
    assert "parcel" not in caplog.text
    assert CHANNEL not in caplog.text


def test_stop_to_the_ai_is_noticed_too(store, receiver):
    put(store, channel_method="whatsapp", gsi_company_whatsapp_number="+441134960000", recipient_tel=CHANNEL)
    store.put("CONVERSATIONS_STAGE", fragment("1", body="STOP"))
    receiver.run(once=True)
    [mark] = [row for row in store.all("MESSAGES") if row["position"] == "opt-out"]
    assert mark["state"] == "out"
    assert {row["position"].partition("#")[0] for row in rows(store)} == {"check staged"}
