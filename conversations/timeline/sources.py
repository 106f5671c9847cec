"""What a page of a timeline is merged from: each source a bounded read from where the page before left it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from console.audit.history import has_record_index, read_entries, read_records
from console.audit.models import AuditEntry, IdempotencyRecord
from console.audit.queries import instant_of, is_of
from console.audit.state import StateMoment
from conversations.events import Event
from conversations.messages import StoredMessages
from conversations.timeline.merging import (
    AT_ONCE,
    BEGINNING,
    END,
    Candidate,
    Dated,
    Place,
    Source,
    held_whole,
    with_neighbours,
)

# A filter on the kind of action is applied by DynamoDB after it has looked at so many.
FILTERED_LIMIT = 200


@dataclass(frozen=True, slots=True)
class MessageAt:
    """The message of that number, not yet read."""

    number: int


Item = MessageAt | AuditEntry | IdempotencyRecord | StateMoment | Event


def messages(start: Place, stored: StoredMessages, size: int) -> Source[Item]:
    """The messages, of which only the times are looked at. Those without one stand with their neighbours."""
    if start is END:
        return Source("messages", END)
    moments = [stored.at(number) for number in range(1, len(stored) + 1)]
    items: dict[Dated, Item] = {dated: MessageAt(dated.tie) for dated in with_neighbours(moments)}
    return held_whole("messages", start, items, size)


def moments(start: Place, found: Iterable[StateMoment], size: int) -> Source[Item]:
    """What the state dates. What has no readable time is as of now, as the state is."""
    items: dict[Dated, Item] = {Dated(each.at or AT_ONCE, tie): each for tie, each in enumerate(found)}
    return held_whole("state", start, items, size)


def untold(start: Place, events: Iterable[Event], size: int) -> Source[Item]:
    """Hand-offs that only the conversation tells."""
    items: dict[Dated, Item] = {Dated(each.at, tie): each for tie, each in enumerate(events)}
    return held_whole("hand-off", start, items, size)


def entries(
    name: str, start: Place, trail: str, company_id: str, *, epochs: bool, hand_off: bool | None, size: int
) -> Source[Item]:
    """Entries of the trail: those with timestamps, or those of services that write epochs. Raises the store's errors.

    `hand_off` as of `read_entries`.
    """
    if start is END:
        return Source(name, END)
    limit = size if hand_off is None else FILTERED_LIMIT
    found, end = read_entries(trail, epochs=epochs, after=_text(start), limit=limit, hand_off=hand_off)
    now = clock.now()
    candidates: list[Candidate[Item]] = [
        Candidate(
            instant_of(entry) or AT_ONCE,
            entry.plain("ts_action_id"),
            entry if is_of(entry, company_id) and not clock.is_expired(entry.plain("expires_at"), now) else None,
        )
        for entry in found
    ]
    return Source(name, start, candidates, end)


def records(
    name: str, start: Place, conversation_id: str, reference: str, *, epochs: bool, size: int
) -> Source[Item] | None:
    """Idempotency records by the index of conversations; None where that is not there. Raises the store's errors."""
    if start is END:
        return Source(name, END)
    after = (str(start[0]), str(start[1])) if isinstance(start, list) and len(start) == 2 else None
    if not has_record_index():
        return None
    found, end = read_records(conversation_id, epochs=epochs, after=after, limit=size)
    now = clock.now()
    candidates: list[Candidate[Item]] = [
        Candidate(
            clock.parse_instant(record.plain("created_at")) or AT_ONCE,
            [record.plain("created_at"), record.plain("event_id")],
            record if is_shown(record, reference, now) else None,
        )
        for record in found
    ]
    return Source(name, start, candidates, list(end) if end else END)


def is_shown(record: IdempotencyRecord, reference: str, now: datetime) -> bool:
    """Whether a record is there and of this conversation: the console's say to which one of that id they belong."""
    return record.plain("reference") in (None, "", reference) and not clock.is_expired(record.plain("expires_at"), now)


def _text(place: Any) -> str:
    return place if isinstance(place, str) else BEGINNING
