"""The sources of a timeline page: streams, each a bounded read that continues where the previous page ended.

An item without a readable time blocks nothing: it comes with the page on which its stream reaches it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from console import clock
from console.audit.queries import belongs_to_company, has_record_index, read_entries, read_records
from console.audit.state import StateMoment
from console.store.streams import BEGINNING, END, Candidate, Chunk, Place, Stream
from console.trail.actions import instant_of
from console.trail.models import AuditEntry, IdempotencyRecord
from conversations.messages.message import StoredMessages
from conversations.messages.transcript import HandOffChange

T = TypeVar("T")

NEWEST = datetime.max.replace(tzinfo=UTC)
OLDEST = datetime.min.replace(tzinfo=UTC)
PAGE_SIZE = 50
# Entries that DynamoDB reads before it filters them by kind.
FILTERED_LIMIT = 200


@dataclass(frozen=True, slots=True)
class MessageAt:
    """The number of a message that is not read yet."""

    number: int


Item = MessageAt | AuditEntry | IdempotencyRecord | StateMoment | HandOffChange


def messages(start: Place, stored: StoredMessages) -> Stream[Item]:
    """Return the stream of messages, by their times alone. A message without a time gets its neighbour's."""
    if start is END:
        return Stream("messages", END)
    moments = [stored.at(number) for number in range(1, len(stored) + 1)]
    items: dict[Dated, Item] = {dated: MessageAt(dated.tie) for dated in with_neighbours(moments)}
    return stream_of_list("messages", start, items)


def moments(start: Place, found: Iterable[StateMoment]) -> Stream[Item]:
    """Return the stream of the state's dated facts. A fact without a readable time comes first."""
    items: dict[Dated, Item] = {Dated(each.at or NEWEST, tie): each for tie, each in enumerate(found)}
    return stream_of_list("state", start, items)


def hand_off_stream(start: Place, events: Iterable[HandOffChange]) -> Stream[Item]:
    """Return the stream of hand-offs that only the conversation shows."""
    items: dict[Dated, Item] = {Dated(each.at, tie): each for tie, each in enumerate(events)}
    return stream_of_list("hand-off", start, items)


def entries(
    name: str, start: Place, trail: str, company_id: str, *, epochs: bool, hand_off: bool | None
) -> Stream[Item]:
    """Return the stream of trail entries with timestamps, or of services that write epochs. Raises the store's errors.

    `hand_off` as in `read_entries`.
    """
    if start is END:
        return Stream(name, END)
    limit = PAGE_SIZE if hand_off is None else FILTERED_LIMIT
    found, end = read_entries(trail, epochs=epochs, after=_text(start), limit=limit, hand_off=hand_off)
    now = clock.now()
    candidates: list[Candidate[Item]] = [
        Candidate(
            instant_of(entry) or NEWEST,
            entry.plain("ts_action_id"),
            entry
            if belongs_to_company(entry, company_id) and not clock.is_expired(entry.plain("expires_at"), now)
            else None,
        )
        for entry in found
    ]
    return Stream(name, start, Chunk(candidates, end))


def records(name: str, start: Place, conversation_id: str, reference: str, *, epochs: bool) -> Stream[Item] | None:
    """Return the stream of idempotency records by conversation, None without their index. Raises the store's errors."""
    if start is END:
        return Stream(name, END)
    after = (str(start[0]), str(start[1])) if isinstance(start, list) and len(start) == 2 else None
    if not has_record_index():
        return None
    found, end = read_records(conversation_id, epochs=epochs, after=after, limit=PAGE_SIZE)
    now = clock.now()
    candidates: list[Candidate[Item]] = [
        Candidate(
            clock.parse_instant(record.plain("created_at")) or NEWEST,
            [record.plain("created_at"), record.plain("event_id")],
            record if is_shown(record, reference, now) else None,
        )
        for record in found
    ]
    return Stream(name, start, Chunk(candidates, list(end) if end else END))


def is_shown(record: IdempotencyRecord, reference: str, now: datetime) -> bool:
    """Return whether a record is not expired and belongs to this conversation, not to another one with the same id."""
    return record.plain("reference") in (None, "", reference) and not clock.is_expired(record.plain("expires_at"), now)


def _text(place: Any) -> str:
    return place if isinstance(place, str) else BEGINNING


# --- Lists in memory --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Dated:
    """The place of an item in a list in memory: its instant, and a number among those with the same instant."""

    order: datetime
    tie: int

    @property
    def place(self) -> Place:
        """The place as JSON."""
        return [self.order.isoformat(), self.tie]

    @classmethod
    def of(cls, place: Place) -> "Dated | None":
        """Read a place from JSON, None if it is invalid."""
        match place:
            case [str() as order, int() as tie]:
                return cls(datetime.fromisoformat(order), tie)
        return None


def stream_of_list(name: str, start: Place, items: Mapping[Dated, T], size: int = PAGE_SIZE) -> Stream[T]:
    """Return the stream of items in memory: the next `size` of them from `start` on."""
    if start is END:
        return Stream(name, END)
    behind = Dated.of(start)
    ordered = sorted((dated for dated in items if behind is None or dated < behind), reverse=True)
    found = [Candidate(dated.order, dated.place, items[dated]) for dated in ordered[:size]]
    return Stream(name, start, Chunk(found, found[-1].place if len(ordered) > size else END))


def with_neighbours(moments: Sequence[datetime | None]) -> Iterator[Dated]:
    """Yield a time for each item: its own, else that of the item before it, else the first one known."""
    known = next((moment for moment in moments if moment is not None), OLDEST)
    for number, moment in enumerate(moments, 1):
        known = moment or known
        yield Dated(known, number)
