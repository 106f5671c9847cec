"""Messages of writers that keep to the schema less than they should, and sets where lists belong."""

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from console.clock import to_epoch

Item = dict[str, Any]


def _as_json(item: Item) -> None:
    item["messages"] = json.dumps(item["messages"], ensure_ascii=False)


def _other_names(item: Item) -> None:
    senders = {"assistant": "bot", "user": "customer"}
    item["messages"] = [
        {"timestamp": entry["message_timestamp"], "text": entry["content"], "sender": senders[entry["role"]]}
        for entry in item["messages"]
    ]


def _structured(item: Item) -> None:
    slots = {"name": "find_free_slots", "input": {"days": 3, "with": "any"}}
    picture = {"type": "image", "source": {"type": "url", "url": "https://media.example/in/4821.jpg"}}
    found = {"type": "tool_result", "tool_use_id": "toolu_03", "content": '{"slots": ["9:20", "11:00"]}'}
    for place, entry in enumerate(item["messages"]):
        said: list[Item] = [{"type": "text", "text": entry["content"]}]
        if place > 1:
            call = {"type": "tool_use", "id": f"toolu_{place:02}", **slots}
            said = [*said, call] if entry["role"] == "assistant" else [picture, *said]
        entry["content"] = said
    item["messages"].append({"role": "tool", "content": [found]})


def _strange(item: Item) -> None:
    empty = {"role": "system", "content": ""}
    item["messages"] = ["Hello, is anybody there?", None, *item["messages"][:2], empty, 17, {}]


def _other_times(item: Item) -> None:
    created, updated = datetime.fromisoformat(item["created_at"]), datetime.fromisoformat(item["updated_at"])
    item |= {"created_at": f"{created.isoformat()}Z", "updated_at": str(to_epoch(updated))}
    item["initial_request_timestamp"] = Decimal(str(round(created.timestamp(), 3)))
    for place, entry in enumerate(item["messages"]):
        at = datetime.fromisoformat(entry["message_timestamp"])
        spellings = (int(at.timestamp() * 1000), at.isoformat() + "Z", at.isoformat(), str(to_epoch(at)), "yesterday")
        entry["message_timestamp"] = spellings[place % len(spellings)]


def _sets(item: Item) -> None:
    item["allowed_channels"] = set(item["allowed_channels"])
    item["auto_queue_reply_message_from_email"] = {"help@northwind.example", "night@northwind.example"}
    item["auto_queue_reply_message_from_number"] = {Decimal(447700900821)}


KINDS: dict[str, Callable[[Item], None]] = {
    "messages-as-json": _as_json,
    "other-message-names": _other_names,
    "structured-content": _structured,
    "other-times": _other_times,
    "sets-for-lists": _sets,
    "strange-messages": _strange,
}
