"""The platform's stage table as the source of customers' messages: what counts, once, in order, and never lost."""

import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from conversations.handoff import perform, settle
from conversations.indexer.lease import LEASE
from conversations.indexer.streams import events, following
from conversations.indexer.streams.records import StreamChange
from conversations.indexer.streams.shards import Shards, stream_of_table
from conversations.receiving import handling, stage_lambda_handler
from conversations.receiving.handling import Handled
from conversations.receiving.leaving import leave_to_ai
from conversations.receiving.rows import NOT_PLACED
from conversations.receiving.stage import NOT_FOR_PEOPLE, STAGE, StageReceiver, take_fragment
from conversations.receiving.worker import sweep
from tests import faults
from tests.dynamodb import Store, to_dynamodb
from tests.store.conversations.receiving.test_handling import bring, rows, said
from tests.support.conversations.handoff.kit import ANA, CHANNEL, CONVERSATION, form, held_by, put, stored, trail
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
    """One that begins with what is staged from now on: DynamoDB Local keeps a stream through the session."""
    if store.local:
        _go_to_the_end(store)
    return StageReceiver(interval=0.05)


def _go_to_the_end(store: Store) -> None:
    arn = stream_of_table("CONVERSATIONS_STAGE")
    reader = _readers.setdefault(arn, Shards(arn))
    reader.refresh()
    mark = {"conversation_id": "mark", "message_sid": uuid.uuid4().hex}
    store.put("CONVERSATIONS_STAGE", mark)
    deadline = time.monotonic() + 10
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
    assert received(store) == (["Where is my parcel?"] if is_for_people else [])


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


def test_what_came_before_people_handed_it_back_is_theirs(store, settings):
    settings.HAND_OFF_ROUTING, settings.HANDOFF_QUEUE_URL = "held", "https://sqs.example/handoff"
    put(store)
    perform(form("take_over"), ANA)
    written = clock.now()
    time.sleep(0.01)
    perform(form("hand_back"), ANA, note="done")
    assert "auto_queue_reply_message" not in stored(store)
    at = clock.to_iso(written)
    assert take(at=written, received_at=at)[Handled.RECEIVED] == 1
    # The AI was never told of it: people are asked for. What comes later is the AI's.
    assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")
    later = clock.now() + timedelta(seconds=1)
    assert take("SM2", at=later, received_at=clock.to_iso(later)) == {"read": 1, NOT_FOR_PEOPLE: 1}


def test_what_came_before_people_took_it_was_the_ais(store, settings):
    settings.HAND_OFF_ROUTING, settings.HANDOFF_QUEUE_URL = "held", "https://sqs.example/handoff"
    put(store)
    written = clock.now()
    time.sleep(0.01)
    perform(form("take_over"), ANA)
    assert stored(store)["auto_queue_reply_message"] is True
    assert take(at=written, received_at=clock.to_iso(written)) == {"read": 1, NOT_FOR_PEOPLE: 1}
    now = clock.now()
    assert take("SM2", at=now, received_at=clock.to_iso(now))[Handled.RECEIVED] == 1


def test_what_a_rule_routed_before_people_took_it_was_theirs_already(store, settings):
    settings.HAND_OFF_ROUTING, settings.HANDOFF_QUEUE_URL = "held", "https://sqs.example/handoff"
    put(store, auto_queue_reply_message=True)
    written = clock.now()
    time.sleep(0.01)
    perform(form("take_over"), ANA)
    assert take(at=written, received_at=clock.to_iso(written))[Handled.RECEIVED] == 1


def test_what_people_left_to_the_ai_is_staged_anew_and_not_theirs_again(store, queue, settings):
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queue}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, auto_queue_reply_message=True)
    take()
    leave_to_ai(form("leave_to_ai"), ANA)
    [staged] = store.all("CONVERSATIONS_STAGE")
    item, [row] = stored(store), rows(store)
    assert "gsi_hand_off_queue" not in item
    assert take_fragment(StreamChange(None, to_dynamodb(staged), clock.now()))["read"] == 1
    assert (stored(store), rows(store)) == (item, [row])


def test_the_sweep_asks_for_nobody_where_a_message_was_left_to_the_ai(store, queue, settings):
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queue}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, auto_queue_reply_message=True)
    # It was put onto the item and asked for; that its row is finished was not written any more.
    with faults.fail_before("UpdateItem", table_key="MESSAGES", times=faults.ALWAYS), suppress(ConsoleError):
        take()
    assert rows(store)[0]["gsi_due"]
    leave_to_ai(form("leave_to_ai"), ANA)
    assert sweep(clock.now() + timedelta(minutes=2)) == 1
    assert "gsi_hand_off_queue" not in stored(store)
    assert "gsi_due" not in rows(store)[0]


def test_a_conversation_that_nobody_ever_took_costs_one_read(store):
    put(store)
    with store.calls() as calls:
        take()
    assert [call.operation for call in calls] == ["GetItem"]


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
    other.run(once=True)
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
    place = handling.placing.place

    def picky(message, ahead):
        if message.message_id == "bad":
            raise RuntimeError("+447700900123")
        return place(message, ahead)

    monkeypatch.setattr(handling.placing, "place", picky)
    receiver.run(once=True)
    assert received(store) == ["line good"]
    [row] = rows(store, NOT_PLACED)
    assert "line bad" in row["body"]
    assert row["not_placed_because"] == "The console could not handle it."


def test_what_the_store_does_not_let_be_handled_is_kept_after_many_tries(store, receiver, monkeypatch):
    put(store, **held_by("ana", auto_queue_reply_message=True))
    monkeypatch.setattr(following, "ROUNDS", 2)
    stage(store, "1")

    def never(message):
        raise StoreUnavailable

    monkeypatch.setattr(handling.placing, "place", never)
    with faults.fail_before("TransactWriteItems", times=1, whole_calls=True):
        # Nor can it be kept at first: it is not passed over.
        for _ in range(4):
            receiver.cycle()
    monkeypatch.undo()
    stage(store, "2")
    receiver.run(once=True)
    [row] = rows(store, NOT_PLACED)
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
        if store.local:
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
        assert stage_lambda_handler(event) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert len(rows(store)) == 1
    assert stage_lambda_handler(event) == {"batchItemFailures": []}
    assert len(rows(store)) == 3
    assert store.get("CONSOLE", pk=STAGE, sk=LEASE)["mode"] == "lambda"


def test_a_lambda_keeps_what_it_can_never_handle(store):
    event = {"Records": [{"dynamodb": {"SequenceNumber": "1", "NewImage": {"body": {"S": "+44 7700"}}}}, {"x": 1}]}
    assert stage_lambda_handler(event) == {"batchItemFailures": []}
    assert [row["not_placed_because"] for row in rows(store, NOT_PLACED)] == ["The console could not handle it."] * 2


def test_nothing_of_a_message_is_logged(store, caplog):
    with faults.fail_before("GetItem", times=faults.ALWAYS):
        stage_lambda_handler({"Records": [record("1")]})
    assert "parcel" not in caplog.text
    assert CHANNEL not in caplog.text
