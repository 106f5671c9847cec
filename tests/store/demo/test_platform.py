"""The platform's part in the demo: what stands in its queue at the start, and customers who write to people."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from console import clock
from console.store import queues
from console.store.calls import table_name
from conversations.converting import hand_off_of
from conversations.handoff.locked import is_locked
from conversations.models import Conversation
from conversations.outbox.at_work import work_on
from conversations.outbox.rows import NOT_PLACED, messages_of, to_place_partition
from conversations.providers import credentials
from conversations.receiving.first_messages import read_first_messages
from conversations.receiving.other_conversations import others_of
from conversations.receiving.witnessing import note_routing
from conversations.receiving.worker import Receiver
from conversations.records import HandOffState
from demo import conversations, platform
from demo.conversations import DROPPED, NEXT, QUEUED, STAGED, dialogues, key_of
from demo.provider import DemoProvider
from tests.dynamodb import Store
from tests.support.conversations.replies import send_all_due

# What the store takes of it other tests say; moto will do.
pytestmark = pytest.mark.pages

NOW = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
STEPHEN = ("+447700900399", "ci-lum-003#pi-lum-aft#req-871cda4b#447700900399")
HELD = {
    "hand_off_to_human": True,
    "hand_off_agent": "tom",
    "hand_off_taken_at": "2026-02-01T12:00:10Z",
    "hand_off_requested_at": "2026-02-01T11:00:00Z",
    "gsi_hand_off_queue": "held#ci-lum-003",
    "auto_queue_reply_message": True,
}


@pytest.fixture
def demo(store: Store, settings, monkeypatch) -> Iterator[Store]:
    """Some of the demo's conversations, its queues, and a clock that stands."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(conversations, "FILES", ("waiting", "by-rule", "asia", "at-work"))
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    settings.HAND_OFF_ROUTING = "held"
    store.put_all("CONVERSATIONS", [item for table, item in conversations.items(NOW) if table == "CONVERSATIONS"])
    platform.create_queues(store.endpoint)
    yield store
    for url in platform.queue_urls().values():
        queues.client().delete_queue(QueueUrl=url)


def come(seconds: float, monkeypatch, provider: DemoProvider | None = None) -> list[dict[str, Any]]:
    """What customers have put into the queue, in so many seconds after the demo began."""
    passed = count(0, 2)
    monkeypatch.setattr(clock, "now", lambda: NOW)

    def wait(_: float) -> bool:
        at = next(passed)
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=at))
        return at > seconds

    customers = platform.Customers(wait, provider or DemoProvider())
    customers.run()
    found: list[dict[str, Any]] = []
    while batch := queues.receive(platform.queue_urls()["HANDOFF"], wait=0):
        found += [json.loads(each.body) for each in batch]
    return found


def hold(demo: Store, **changes: Any) -> dict[str, Any]:
    """Let Tom have Stephen's conversation."""
    key = dict(zip(("primary_channel", "conversation_id"), STEPHEN, strict=True))
    demo.update("CONVERSATIONS", key, **{**HELD, **changes})
    item = demo.get("CONVERSATIONS", **key)
    assert item is not None
    return item


def test_a_photo_and_a_place_that_the_platform_dropped_are_found_at_the_provider(demo, settings):
    with DemoProvider() as provider:
        platform.create_secrets(demo.endpoint if demo.embedded else settings.SQS_ENDPOINT, provider)
        platform.fill_provider(provider, NOW)
        platform.fill_queue(NOW)
        Receiver().run(once=True)
        [dialogue] = [each for each in dialogues() if any(turn.kind == DROPPED for turn in each.turns)]
        item = Conversation.get(*key_of(dialogue), consistent_read=True)
        note_routing(item.raw, {})
        send_all_due()
        forget_secrets()
    found = Conversation.get(*key_of(dialogue), consistent_read=True).plain("messages")[-2:]
    assert [each["content"] for each in found] == [
        "Photo (JPEG)",
        "Message without words (a location, contact or reaction: the provider does not say which)",
    ]
    assert {each["found_at"] for each in found} == {"provider"}


def test_three_conversations_one_first_message_and_two_messages_to_place_wait(demo):
    platform.fill_queue(NOW)
    Receiver().run(once=True)
    reasons = {}
    for dialogue in (each for each in dialogues() if any(turn.kind == QUEUED for turn in each.turns)):
        item = Conversation.get(*key_of(dialogue), consistent_read=True)
        queued = [turn for turn in dialogue.turns if turn.kind == QUEUED]
        assert [entry["content"] for entry in item.plain("messages")[-len(queued) :]] == [
            turn.words(1)[1] for turn in queued
        ]
        assert item.plain("messages")[-1]["role"] == "user"
        assert hand_off_of(item).state is HandOffState.WAITING
        assert hand_off_of(item).requested_at == NOW - queued[0].ago
        reasons[item.company_id] = item.hand_off_to_human_reason
    assert reasons == {
        "ci-nwe-002": "Rule: all replies in this conversation go to people.",
        "ci-lum-003": "Rule: replies from this sender go to people.",
    }
    [first] = read_first_messages(["ci-cuc-001"]).rows
    assert (first.name, first.recipient, first.channel) == ("Beatriz", "+447700900873", "whatsapp")
    assert first.rule == "All first messages of this project wait for approval."
    [stray] = [row for row in demo.all("MESSAGES") if row["conversation"] == NOT_PLACED]
    assert stray["not_placed_because"] == "No conversation has this sender."
    [elsewhere] = [row for row in demo.all("MESSAGES") if row["conversation"] == to_place_partition("ci-nwe-002")]
    assert elsewhere["candidates"] == {"ci-nwe-002#pi-nwe-out#req-5be0c71a#447700900277\n+447700900277"}
    [mark] = [row for row in demo.all("MESSAGES") if row["position"] == "opt-out"]
    assert (mark["state"], mark["channel"]) == ("out", "sms")


def test_what_the_ai_is_answering_is_in_the_stage_alone(demo):
    platform.fill_queue(NOW)
    staged = [each for each in dialogues() if any(turn.kind == STAGED for turn in each.turns)]
    items = [Conversation.get(*key_of(dialogue), consistent_read=True) for dialogue in staged]
    [item] = [each for each in items if is_locked(each.raw)]
    transcript = messages_of(item, item.raw["messages"])
    # Nobody follows the stage here: the page tells by the lock.
    work = work_on(item, transcript, [])
    assert [each.line for each in work.messages(raw=True)] == [
        "sorry one more thing, I've moved house",
        "do I have to send you a meter reading for the old flat?",
    ]
    assert work.heard_at == NOW - timedelta(seconds=11)


def test_the_customer_of_two_conversations_writes_to_the_finished_one(demo):
    platform.fill_queue(NOW)
    finished = next(
        each for each in map(Conversation.from_raw_data, demo.all_raw("CONVERSATIONS")) if _is_finished(each)
    )
    [waiting] = others_of(finished)
    assert hand_off_of(waiting).state is HandOffState.WAITING
    [staged] = [each for each in demo.all("CONVERSATIONS_STAGE") if each["conversation_id"] == finished.conversation_id]
    assert staged["body"].startswith("is it two weeks or three")


def _is_finished(item: Conversation) -> bool:
    return item.conversation_id.startswith("ci-nwe-002#pi-nwe-mov#req-1f93c6b7")


@pytest.mark.slow
def test_a_customer_writes_three_times_with_the_whole_item_around_it(demo, monkeypatch):
    item = hold(demo)
    found = come(300, monkeypatch)
    assert [each["body"] for each in found] == [
        "hi, are you a dentist? i'm at home",
        "temp still 38.9, took paracetamol an hour ago",
        "my wife can drive me, just tell me where to go",
    ]
    after = [clock.parse_instant(each["received_at"]) - NOW - timedelta(seconds=10) for each in found]
    assert timedelta(seconds=4) < after[0] < timedelta(seconds=10) < after[1] < after[2]
    assert len({each["message_sid"] for each in found}) == 3
    first = found[0]
    assert first["message_sid"].startswith("SM")
    assert (first["channel_type"], first["from"], first["to"]) == (
        "whatsapp",
        f"whatsapp:{STEPHEN[0]}",
        "whatsapp:+447700900831",
    )
    assert set(item) < set(first)
    assert first["ttl"] == item["ttl"]
    staged = demo.get("CONVERSATIONS_STAGE", conversation_id=STEPHEN[1], message_sid=first["message_sid"])
    assert staged is not None
    assert (staged["body"], staged["primary_channel"]) == (first["body"], STEPHEN[0])
    assert f"{staged['received_at']}Z" == first["received_at"]
    assert first["messages"] == json.loads(json.dumps(item["messages"]))


@pytest.mark.slow
def test_the_same_lines_come_each_time_with_the_same_ids(demo, monkeypatch):
    hold(demo)
    first = come(300, monkeypatch)
    monkeypatch.setattr(clock, "now", lambda: NOW)
    assert [each["message_sid"] for each in come(300, monkeypatch)] == [each["message_sid"] for each in first]


@pytest.mark.parametrize(
    "changes",
    [
        {"auto_queue_reply_message": False},
        {"hand_off_taken_at": "2026-02-01T11:59:00Z"},
        {"gsi_hand_off_queue": "waiting#ci-lum-003"},
    ],
    ids=["routed to the AI", "taken before", "released"],
)
def test_a_customer_writes_to_nobody_else(demo, monkeypatch, changes):
    hold(demo, **changes)
    assert come(60, monkeypatch) == []


def test_an_item_that_no_service_could_read_keeps_nobody_from_writing(demo, monkeypatch):
    item = hold(demo)
    odd = {"primary_channel": "+447700900001", "conversation_id": "ci-lum-003#odd", "channel_method": ["fax"]}
    demo.put("CONVERSATIONS", item | odd)
    assert {each["conversation_id"] for each in come(20, monkeypatch)} == {item["conversation_id"]}


@pytest.mark.slow
def test_the_rule_of_a_sender_is_the_platforms_too(demo, monkeypatch):
    hold(demo, auto_queue_reply_message=False, auto_queue_reply_message_from_number=[STEPHEN[0]])
    assert len(come(20, monkeypatch)) == 1


@pytest.mark.slow
def test_who_has_no_lines_writes_in_the_language_of_the_conversation(demo, monkeypatch):
    item = next(
        item
        for item in demo.all("CONVERSATIONS")
        if "Language: Japanese" in str(item["messages"][:1]) and not item["hand_off_to_human"]
    )
    key = {name: item[name] for name in ("primary_channel", "conversation_id")}
    demo.update("CONVERSATIONS", key, **HELD | {"gsi_hand_off_queue": f"held#{item['company_id']}"})
    [first] = come(20, monkeypatch)
    assert first["body"] == "お返事ありがとうございます。担当の方でしょうか。"


def test_everybody_who_waits_has_lines_and_every_language_too():
    for dialogue in dialogues():
        lines = [turn.text for turn in dialogue.turns if turn.kind == NEXT]
        assert len(lines) <= len(platform.PAUSES)
        if dialogue.place.startswith(("waiting", "by-rule", "held")) and dialogue.get("expires") != "-40m":
            assert lines, dialogue.place
    told = {name for each in dialogues() for name in re.findall(r"Language: (\w+)", str(each.turns[:1]))}
    assert told == set(platform.in_languages(NEXT))


def test_what_people_held_before_is_routed_to_them_and_what_they_gave_back_is_not(settings):
    settings.HAND_OFF_ROUTING = "held"
    items = [item for table, item in conversations.items(NOW) if table == "CONVERSATIONS"]
    held = [item for item in items if item.get("hand_off_agent") and "-drift-" not in item["conversation_id"]]
    assert len(held) == 8
    assert all(item["auto_queue_reply_message"] is True for item in held)
    assert all(item["hand_off_routing_before"] == [False] for item in held)
    others = [item for item in items if not item.get("hand_off_agent")]
    assert not any("hand_off_routing_before" in item for item in others)
    assert sum(item.get("auto_queue_reply_message") is True for item in others) == 2


class Answered(DemoProvider):
    """A provider that has brought a message to somebody, so many seconds after the demo began."""

    def __init__(self, recipient: str, *seconds: float) -> None:
        super().__init__()
        self._sent: list[dict[str, Any]] = [
            {"to": f"whatsapp:{recipient}", "at": NOW + timedelta(seconds=each)} for each in seconds
        ]

    def messages(self) -> list[dict[str, Any]]:
        return [each for each in self._sent if each["at"] <= clock.now()]


@pytest.mark.slow
def test_who_is_answered_writes_soon(demo, monkeypatch):
    hold(demo)
    assert len(come(30, monkeypatch)) == 1
    assert len(come(30, monkeypatch, Answered(STEPHEN[0], 19, 20))) == 2
    assert len(come(30, monkeypatch, Answered("+447700900999", 19, 20))) == 1


def test_who_was_never_reached_never_answers(demo, monkeypatch):
    monkeypatch.setattr(platform, "UNREACHABLE", {STEPHEN[0]: 63024})
    hold(demo)
    assert len(come(30, monkeypatch, Answered(STEPHEN[0], 19, 20))) == 1


@pytest.mark.slow
def test_each_project_has_its_credentials(demo, settings):
    settings.SECRETS_ENDPOINT = ""
    with DemoProvider() as provider:
        platform.create_secrets(demo.endpoint if demo.embedded else settings.SQS_ENDPOINT, provider)
        names = {
            item["channel_config"][channel][f"{channel}_credentials_id"]
            for item in demo.all("CONVERSATIONS")
            for channel in ("whatsapp", "sms", "email")
            if channel in item.get("channel_config", {})
        }
        assert names
        for name in names:
            assert credentials.secret_for("sms", name, "any company")
        forget_secrets()


def forget_secrets() -> None:
    while listed := credentials.client().list_secrets()["SecretList"]:
        for each in listed:
            credentials.client().delete_secret(SecretId=each["Name"], ForceDeleteWithoutRecovery=True)
    credentials.forget_all()
