"""What the indexer's tests share: the platform's hand, the stream, what is stored, and what has to hold in the end."""

from typing import Any

from console import clock
from console.store.calls import table_name
from console.trail.actions import Action
from conversations.indexer.handling import handle
from conversations.indexer.sweep import Sweep
from conversations.queue.pages import entry_of
from conversations.queue_index.refreshing import TouchedPartitions
from conversations.records import HandOffState
from conversations.workers.streams.records import StreamChange, change_of
from conversations.workers.streams.shards import Shards, stream_of_table
from tests.dynamodb import Store
from tests.support.conversations.handoff.kit import COMPANY, KEY, conversation

OURS = ("gsi_hand_off_queue", "hand_off_requested_at")


def platform(store: Store, *, key: dict[str, str] | None = None, **values: Any) -> None:
    """The platform writes attributes of an item; its own time moves unless told otherwise."""
    values.setdefault("updated_at", clock.to_iso(clock.now()))
    store.update("CONVERSATIONS", key or KEY, **values)


def asks(store: Store, at: str, reason: str = "wants a person", **more: Any) -> None:
    platform(store, hand_off_to_human=True, hand_off_to_human_reason=reason, updated_at=at, **more)


def drops(store: Store, at: str, **more: Any) -> None:
    platform(store, hand_off_to_human=False, hand_off_to_human_reason=None, updated_at=at, **more)


class Stream:
    """The table's stream from now on: all changes since this began, each time they are asked for."""

    def __init__(self) -> None:
        self._shards = Shards(stream_of_table("CONVERSATIONS"))
        self._found: list[dict[str, Any]] = []
        self._read()
        self._found.clear()

    def _read(self) -> None:
        quiet = 0
        self._shards.refresh()
        while quiet < 2:
            read = [record for shard in self._shards.ready() for record in self._shards.read(shard)]
            self._found += read
            quiet = 0 if read else quiet + 1

    def records(self) -> list[dict[str, Any]]:
        self._read()
        return list(self._found)

    def changes(self) -> list[StreamChange]:
        return [change_of(each) for each in self.records()]

    def handle_all(self) -> None:
        """Handle every change since the beginning, those that handling itself makes included."""
        seen, touched = 0, TouchedPartitions()
        while len(changes := self.changes()) > seen:
            for change in changes[seen:]:
                touched.note(change)
                handle(change)
            touched.refresh()
            seen = len(changes)


def sweep() -> Sweep:
    done = Sweep()
    while not done.is_over:
        done.step()
    return done


def requests_of(store: Store, conversation_id: str = KEY["conversation_id"]) -> list[dict[str, Any]]:
    """The platform's requests in a conversation's trail."""
    return [
        entry
        for entry in store.all("AUDIT")
        if entry["conversation_id"] == conversation_id
        and entry["action_type"] == Action.HAND_OFF_REQUEST
        and entry["actor"] == "platform"
    ]


def times(store: Store, conversation_id: str = KEY["conversation_id"]) -> list[str]:
    return [entry["ts_action_id"].partition("#")[0] for entry in requests_of(store, conversation_id)]


def indexed(store: Store, company: str = COMPANY) -> dict[str, set[str]]:
    """Conversation ids of the queue's index by kind of partition; rows whose flag and key disagree are left out."""
    found: dict[str, set[str]] = {}
    for kind in ("waiting", "urgent", "held"):
        answer = store.client.query(
            TableName=table_name("CONVERSATIONS"),
            IndexName="hand-off-queue-index",
            KeyConditionExpression="gsi_hand_off_queue = :key",
            ExpressionAttributeValues={":key": {"S": f"{kind}#{company}"}},
        )
        rows = {item["conversation_id"]["S"] for item in answer["Items"]}
        found.setdefault("waiting" if kind == "urgent" else kind, set()).update(rows)
    return found


def oracle(store: Store, company: str = COMPANY) -> dict[str, set[str]]:
    """The same as all items of the table say."""
    found: dict[str, set[str]] = {"waiting": set(), "held": set()}
    for raw in store.all_raw("CONVERSATIONS"):
        entry = entry_of(raw, clock.now())
        if entry is None or entry.summary.company_id != company or entry.hand_off.state is HandOffState.AI:
            continue
        kind = "waiting" if entry.hand_off.state is HandOffState.WAITING else "held"
        found[kind].add(entry.item.conversation_id)
    return found


__all__ = ["COMPANY", "KEY", "OURS", "conversation"]
