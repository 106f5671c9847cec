"""Items of writers that kept to the schema less than they should, each in its own way.

The key attributes of the table's indexes drift by absence only: DynamoDB refuses a key attribute of another type.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal

from console.clock import parse_instant, to_epoch
from conversations.demo.conversation import Item


def _missing_attributes(item: Item, now: datetime) -> None:
    for name in (
        "company_name",
        "project_name",
        "messages",
        "comms_consent",
        "function_call",
        "task_complete",
        "hand_off_to_human",
    ):
        item.pop(name, None)


def _null_flag(item: Item, now: datetime) -> None:
    item |= {"hand_off_to_human": None, "comms_consent": None, "messages": item["messages"][:3]}


def _wrong_types(item: Item, now: datetime) -> None:
    item |= {
        "comms_consent": "yes",
        "function_call": 1,
        "processing_time_ms": "2150",
        "hand_off_to_human": "false",
        "ttl": str(to_epoch(now + timedelta(days=30))),
        "recipient_first_name": ["Dana"],
    }
    del item["task_complete"]


def _messages_as_json(item: Item, now: datetime) -> None:
    item["messages"] = json.dumps(item["messages"], ensure_ascii=False)


def _other_names(item: Item, now: datetime) -> None:
    senders = {"assistant": "bot", "user": "customer"}
    item["messages"] = [
        {"timestamp": entry["message_timestamp"], "text": entry["content"], "sender": senders[entry["role"]]}
        for entry in item["messages"]
    ]


def _structured_content(item: Item, now: datetime) -> None:
    for place, entry in enumerate(item["messages"]):
        entry["content"] = [{"type": "text", "text": entry["content"]}]
        if entry["role"] == "assistant" and place > 1:
            entry["content"].append(
                {
                    "type": "tool_use",
                    "id": f"toolu_{place:02}",
                    "name": "find_free_slots",
                    "input": {"days": 3, "with": "any"},
                }
            )
        elif place > 1:
            entry["content"].insert(
                0, {"type": "image", "source": {"type": "url", "url": "https://media.example/in/4821.jpg"}}
            )
    item["messages"].append(
        {
            "role": "tool",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_03", "content": '{"slots": ["9:20", "11:00"]}'}],
        }
    )


def _other_times(item: Item, now: datetime) -> None:
    created = parse_instant(item["created_at"]) or now
    item["created_at"] = created.isoformat() + "Z"
    item["updated_at"] = str(to_epoch(parse_instant(item["updated_at"]) or now))
    item["initial_request_timestamp"] = Decimal(str(round(created.timestamp(), 3)))
    for place, entry in enumerate(item["messages"]):
        at = parse_instant(entry["message_timestamp"]) or now
        spellings = (int(at.timestamp() * 1000), at.isoformat() + "Z", at.isoformat(), str(to_epoch(at)), "yesterday")
        entry["message_timestamp"] = spellings[place % len(spellings)]


def _unknown_attributes(item: Item, now: datetime) -> None:
    item |= {
        "sentiment": {"label": "negative", "score": Decimal("0.83")},
        "_migration_batch": 41,
        "tags": {"imported", "2024-archive"},
        "twilio_sid": "SM5f1c0d8e77b34b0d9f0e4cf2a6b0d913",
        "assignee_email": "old.inbox@northwind.example",
    }
    for entry in item["messages"]:
        entry |= {"reactions": ["👍"], "delivered": True}


def _unknown_status(item: Item, now: datetime) -> None:
    item |= {"conversation_status": "paused_by_ops", "channel_method": "telegram"}


def _sets_for_lists(item: Item, now: datetime) -> None:
    item |= {
        "allowed_channels": {"whatsapp", "email"},
        "auto_queue_reply_message_from_email": {"help@northwind.example", "night@northwind.example"},
        "auto_queue_reply_message_from_number": {Decimal(447700900821)},
    }


def _no_update_time(item: Item, now: datetime) -> None:
    for name in ("updated_at", "ttl", "request_id"):
        item.pop(name, None)


def _other_shapes(item: Item, now: datetime) -> None:
    item |= {
        "project_data": [{"key": "account", "value": "moved"}],
        "company_rep": json.dumps(item["company_rep"]),
        "ai_config": None,
        "channel_config": "see parameter store",
    }


def _strange_messages(item: Item, now: datetime) -> None:
    item["messages"] = [
        "Hello, is anybody there?",
        None,
        *item["messages"][:2],
        {"role": "system", "content": ""},
        17,
        {},
    ]


def _no_company(item: Item, now: datetime) -> None:
    for name in ("company_id", "project_id", "created_at"):
        item.pop(name, None)


KINDS: dict[str, Callable[[Item, datetime], None]] = {
    "missing-attributes": _missing_attributes,
    "null-flag": _null_flag,
    "wrong-types": _wrong_types,
    "messages-as-json": _messages_as_json,
    "other-message-names": _other_names,
    "structured-content": _structured_content,
    "other-times": _other_times,
    "unknown-attributes": _unknown_attributes,
    "unknown-status": _unknown_status,
    "sets-for-lists": _sets_for_lists,
    "no-update-time": _no_update_time,
    "other-shapes": _other_shapes,
    "strange-messages": _strange_messages,
    "no-company": _no_company,
}


def drift(item: Item, kind: str, now: datetime) -> Item:
    """The item with one kind of drift; its request id and conversation id say `req-drift-<kind>`."""
    request_id = f"req-drift-{kind}"
    item["conversation_id"] = item["conversation_id"].replace(item["request_id"], request_id)
    if request_id not in item["conversation_id"]:
        item["conversation_id"] = f"{item['company_id']}#{item['project_id']}#{request_id}"
    item["request_id"] = request_id
    KINDS[kind](item, now)
    return item


def is_drifted(item: Item) -> bool:
    """Whether the item is one of these."""
    return "#req-drift-" in str(item["conversation_id"])
