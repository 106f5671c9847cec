"""Conversations of the demo's tenants with their assistant (`dialogues/tenant-conversations.txt`)."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from console.clock import to_epoch, to_iso
from demo.dialogues import Dialogue, DialogueError, Turn, read

Item = dict[str, Any]
# As long as the platform keeps a talk after its last message.
KEPT = timedelta(days=30)
HEADERS = {"last", "cut", "drift"}
_ROLES = {"system": "system", "customer": "user", "assistant": "assistant"}


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Items of the tenants' conversations. Raises `DialogueError`."""
    for dialogue in read("tenant-conversations", 2, HEADERS, {*_ROLES, "raw"}):
        yield "TENANT_CONVERSATIONS", _conversation(dialogue, now)


def _conversation(dialogue: Dialogue, now: datetime) -> Item:
    conversation_id, tenant_id = dialogue.words
    last = now - dialogue.span("last")
    messages = json.dumps([_message(turn) for turn in dialogue.turns], ensure_ascii=False)
    ttl = to_epoch(last + KEPT)
    item: Item = {
        "pk": tenant_id,
        "sk": conversation_id,
        "messages": messages[: -int(dialogue.get("cut"))] if dialogue.get("cut") else messages,
        "updated_at": to_iso(last, "seconds"),
        "ttl": ttl,
    }
    return item | {"ttl": str(ttl), "model": "claude-sonnet-4-5-20250929"} if dialogue.get("drift") else item


def _message(turn: Turn) -> Any:
    if turn.kind != "raw":
        return {"role": _ROLES[turn.kind], "content": turn.text, **turn.more}
    try:
        return json.loads(turn.text)
    except ValueError as error:
        raise DialogueError(turn.place, f"not JSON: {error}") from None
