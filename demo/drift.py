"""Conversations of writers that keep to the schema less than they should, each in its own way.

Key attributes of the table's indexes drift by absence only: DynamoDB refuses a key attribute of another type.
"""

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from console.clock import parse_instant, to_epoch

Item = dict[str, Any]
Change = Callable[[Item, datetime], None]


def _without(*names: str) -> Change:
    def change(item: Item, now: datetime) -> None:
        for name in names:
            item.pop(name, None)

    return change


def _with(**attributes: Any) -> Change:
    return lambda item, now: item.update(attributes)


def _all(*changes: Change) -> Change:
    def change(item: Item, now: datetime) -> None:
        for each in changes:
            each(item, now)

    return change


def _ends_as_text(item: Item, now: datetime) -> None:
    item["ttl"] = str(to_epoch(now + timedelta(days=30)))


def _messages(change: Callable[[list[Item]], Any]) -> Change:
    def apply(item: Item, now: datetime) -> None:
        item["messages"] = change(item["messages"])

    return apply


def _other_names(messages: Iterable[Item]) -> list[Item]:
    senders = {"assistant": "bot", "user": "customer"}
    return [
        {"timestamp": entry["message_timestamp"], "text": entry["content"], "sender": senders[entry["role"]]}
        for entry in messages
    ]


def _structured(messages: Iterable[Item]) -> list[Item]:
    slots = {"name": "find_free_slots", "input": {"days": 3, "with": "any"}}
    picture = {"type": "image", "source": {"type": "url", "url": "https://media.example/in/4821.jpg"}}
    found = {"type": "tool_result", "tool_use_id": "toolu_03", "content": '{"slots": ["9:20", "11:00"]}'}
    made: list[Item] = []
    for place, entry in enumerate(messages):
        said: list[Item] = [{"type": "text", "text": entry["content"]}]
        if place > 1:
            call = {"type": "tool_use", "id": f"toolu_{place:02}", **slots}
            said = [*said, call] if entry["role"] == "assistant" else [picture, *said]
        made.append(entry | {"content": said})
    return [*made, {"role": "tool", "content": [found]}]


def _strange(messages: list[Item]) -> list[Any]:
    return ["Hello, is anybody there?", None, *messages[:2], {"role": "system", "content": ""}, 17, {}]


def _other_times(item: Item, now: datetime) -> None:
    created = parse_instant(item["created_at"]) or now
    item["created_at"] = created.isoformat() + "Z"
    item["updated_at"] = str(to_epoch(parse_instant(item["updated_at"]) or now))
    item["initial_request_timestamp"] = Decimal(str(round(created.timestamp(), 3)))
    for place, entry in enumerate(item["messages"]):
        at = parse_instant(entry["message_timestamp"]) or now
        spellings = (int(at.timestamp() * 1000), at.isoformat() + "Z", at.isoformat(), str(to_epoch(at)), "yesterday")
        entry["message_timestamp"] = spellings[place % len(spellings)]


KINDS: dict[str, Change] = {
    "missing-attributes": _without(
        "company_name", "project_name", "messages", "comms_consent", "function_call", "task_complete",
        "hand_off_to_human",
    ),
    "null-flag": _all(_with(hand_off_to_human=None, comms_consent=None), _messages(lambda messages: messages[:3])),
    "wrong-types": _all(
        _with(comms_consent="yes", function_call=1, processing_time_ms="2150", hand_off_to_human="false"),
        _with(recipient_first_name=["Dana"]),
        _ends_as_text,
        _without("task_complete"),
    ),
    "messages-as-json": _messages(lambda messages: json.dumps(messages, ensure_ascii=False)),
    "other-message-names": _messages(_other_names),
    "structured-content": _messages(_structured),
    "other-times": _other_times,
    "unknown-attributes": _all(
        _with(sentiment={"label": "negative", "score": Decimal("0.83")}, _migration_batch=41),
        _with(tags={"imported", "2024-archive"}, assignee_email="old.inbox@northwind.example"),
        _messages(lambda messages: [entry | {"reactions": ["👍"], "delivered": True} for entry in messages]),
    ),
    "unknown-status": _with(conversation_status="paused_by_ops", channel_method="telegram"),
    "sets-for-lists": _with(
        allowed_channels={"whatsapp", "email"},
        auto_queue_reply_message_from_email={"help@northwind.example", "night@northwind.example"},
        auto_queue_reply_message_from_number={Decimal(447700900821)},
    ),
    "no-update-time": _without("updated_at", "ttl", "request_id"),
    "other-shapes": _with(
        project_data=[{"key": "account", "value": "moved"}],
        company_rep='{"company_rep_1": "Sinead Walsh"}',
        ai_config=None,
        channel_config="see parameter store",
    ),
    "strange-messages": _messages(_strange),
    "no-company": _without("company_id", "project_id", "created_at"),
}  # fmt: skip


def drift(item: Item, kind: str, now: datetime) -> Item:
    """The item with one kind of drift. Raises `KeyError` for a kind that is not there."""
    KINDS[kind](item, now)
    return item


def is_drifted(item: Item) -> bool:
    """Whether the item is one of these."""
    return "#req-drift-" in str(item["conversation_id"])
