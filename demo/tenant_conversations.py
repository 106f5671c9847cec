"""Conversations of the demo's tenants with their assistant (`dialogues/tenant-conversations.txt`)."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from console.clock import to_epoch, to_iso
from demo.dialogues import Turn, read

# How long the platform stores a conversation after its last message.
RETENTION = timedelta(days=30)
# Between two messages.
PAUSE = timedelta(seconds=40)
HEADERS = {"last", "cut", "set"}
_ROLES = {"system": "system", "customer": "user", "assistant": "assistant"}


def items(now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the items of the tenants' conversations. Raises `DialogueError`."""
    for dialogue in read("tenant-conversations", 2, HEADERS, {*_ROLES, "raw"}):
        conversation_id, tenant_id = dialogue.words
        last = now - dialogue.span("last")
        said = [_message(turn, last - PAUSE * before) for before, turn in enumerate(dialogue.turns[::-1])][::-1]
        messages = json.dumps(said, ensure_ascii=False)
        item = {
            "pk": tenant_id,
            "sk": conversation_id,
            "messages": messages[: len(messages) - int(dialogue.get("cut", "0"))],
            "updated_at": to_iso(last, "seconds"),
            "ttl": to_epoch(last + RETENTION),
        }
        yield "TENANT_CONVERSATIONS", dialogue.as_written(item)


def _message(turn: Turn, at: datetime) -> Any:
    if turn.kind == "raw":
        return turn.json()
    written = {"metadata": {"timestamp": to_iso(at, "seconds")}}
    return {"role": _ROLES[turn.kind], "content": turn.text, **written, **turn.more}
