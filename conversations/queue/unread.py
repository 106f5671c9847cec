"""What customers wrote since a person last looked: marked on the conversations that they hold.

When somebody opens a conversation that they hold, the console notes the time in its own table (`SEEN#{username}`, kept
`KEPT`); the conversation itself is not touched.
"""

import hashlib
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from console import clock
from console.errors import ConsoleError
from console.refs import as_letters
from console.store.calls import table_name
from console.store.connection import batch_get, call
from console.store.models import plain
from conversations.messages import StoredMessages
from conversations.queue.pages import QueueEntry

logger = logging.getLogger(__name__)

KEPT = timedelta(days=30)
_MESSAGES = ("primary_channel", "conversation_id", "messages")


def note_seen(username: str, reference: str) -> None:
    """Note that a person looks at a conversation now. A failure costs a mark, not the page."""
    now = clock.now()
    try:
        call(
            "PutItem",
            TableName=table_name("CONSOLE"),
            Item={
                "pk": {"S": f"SEEN#{username}"},
                "sk": {"S": _name_of(reference)},
                "seen_at": {"S": clock.to_iso(now)},
                "expires_at": {"N": str(clock.to_epoch(now + KEPT))},
            },
        )
    except ConsoleError as error:
        logger.warning("Could not note when a conversation was looked at: %s", type(error).__name__)


def unread_of(entries: Sequence[QueueEntry], username: str) -> frozenset[str]:
    """Return references of the conversations in which the customer wrote since the person last looked or took them.

    One BatchGetItem, and another for those that changed since. A failure costs the marks, not the page.
    """
    held = [entry for entry in entries if entry.hand_off.agent == username]
    if not held:
        return frozenset()
    try:
        seen = _seen(held, username)
        changed = [entry for entry in held if _may_have_updates(entry, seen)]
        return frozenset(_with_updates(changed, seen)) if changed else frozenset()
    except ConsoleError as error:
        logger.warning("Could not tell which conversations have updates: %s", type(error).__name__)
        return frozenset()


def _seen(entries: Sequence[QueueEntry], username: str) -> dict[str, datetime]:
    """When the person last looked at each, by reference; if unknown, when they took it."""
    names = {_name_of(entry.summary.reference): entry for entry in entries}
    found = batch_get("CONSOLE", [{"pk": f"SEEN#{username}", "sk": name} for name in names], ("sk", "seen_at"))
    noted = {plain(raw["sk"]): clock.parse_instant(plain(raw.get("seen_at", {"NULL": True}))) for raw in found}
    seen = {entry.summary.reference: noted.get(name) or entry.hand_off.taken_at for name, entry in names.items()}
    return {reference: at for reference, at in seen.items() if at is not None}


def _may_have_updates(entry: QueueEntry, seen: dict[str, datetime]) -> bool:
    """Writers change `updated_at` with every message; a row without it is read to be sure."""
    since, updated = seen.get(entry.summary.reference), entry.summary.updated_at
    return since is not None and (updated is None or updated > since)


def _with_updates(entries: Sequence[QueueEntry], seen: dict[str, datetime]) -> list[str]:
    keys = {entry.key: entry.summary.reference for entry in entries}
    wanted = [{"primary_channel": channel, "conversation_id": each} for channel, each in keys]
    updates = []
    for raw in batch_get("CONVERSATIONS", wanted, _MESSAGES):
        reference = keys[raw["primary_channel"]["S"], raw["conversation_id"]["S"]]
        at = StoredMessages.of(raw.get("messages")).last_by_customer
        if at is not None and at > seen[reference]:
            updates.append(reference)
    return updates


def _name_of(reference: str) -> str:
    return as_letters(hashlib.sha256(reference.encode()).digest()[:16])
