"""The facts of the events that the middleware processed (table A): one per conversation and day.

The fields of `data`: `events`: for each event, by pseudonym, a string of words: its mode, its intent, then `safe` (safe
mode was on), `off` (automation was disabled) and `again` (it was delivered again and stopped); `expires`. Records
expire sooner than facts, so what was known of expired ones is merged with the present ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from console import clock
from console.audit.events.keys import decode
from console.audit.state import CONSOLE_MODE, first_processed_at
from console.store.connection import batch_get
from console.trail.models import IdempotencyRecord
from conversations.handoff.stored import Raw
from conversations.insight.facts import InsightFact, fact_data
from conversations.insight.identity import pseudonym_of
from conversations.insight.of_middleware import MiddlewareSubject, is_alive
from conversations.insight.subjects import KnownFacts, Place, SourceReference, counted_day, hash_content, latest_expiry
from conversations.insight.words import code_of
from conversations.messages.content import whole_number

EVENT, EVENTS = "middleware event", "events"
READ = (
    *("event_id", "conversation_id", "created_at", "received_at", "last_processed_at", "expires_at", "mode", "intent"),
    *("safe_mode", "automation_enabled", "attempts"),
)
# The most events counted for a conversation and day.
MOST_EVENTS = 3_000
# A message is redelivered after a minute or more; the first attempt takes seconds.
AGAIN_AFTER = timedelta(minutes=1)


@dataclass
class EventsSubject(MiddlewareSubject):
    """Events of a conversation; `event_ids` by their days. `records` are the stored ones, once read."""

    event_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    records: tuple[IdempotencyRecord, ...] = ()

    part = EVENTS

    def places(self) -> list[Place]:
        """Return one place for each day."""
        return self.places_on(*self.event_ids)

    def read(self) -> Self | None:
        """Read the records that have not expired; None if there are none. One BatchGetItem per hundred."""
        keys = [{"event_id": each} for ids in self.event_ids.values() for each in ids]
        found = [IdempotencyRecord.from_raw_data(raw) for raw in batch_get("IDEMPOTENCY", keys, consistent=True)]
        kept = tuple(each for each in found if is_alive(each, clock.now()))
        return replace(self, records=kept) if kept else None

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return one fact for each day: what was known, merged with the records."""
        found = []
        for (day, fact_id), before in known.items():
            events = dict((before or {}).get("events", {}))
            ends = [(before or {}).get("expires")] if before else []
            for record in self.records:
                name = pseudonym_of(EVENT, str(record.plain("event_id")))[:12]
                if counted_day(first_processed_at(record)) == day.day and (name in events or len(events) < MOST_EVENTS):
                    events[name] = _words_of(record)
                    ends.append(record.plain("expires_at"))
            if events:
                found.append(InsightFact(day, fact_id, fact_data(events=events, expires=latest_expiry(ends))))
        return found

    def way_back(self) -> SourceReference:
        """Return the link to the conversation's id."""
        expires = latest_expiry([each.plain("expires_at") for each in self.records])
        return SourceReference(self.pseudonym, (self.conversation_id,), expires)


def events_in(items: list[Raw]) -> Iterator[EventsSubject]:
    """Yield the conversations that have events of the middleware in a page of events."""
    now = clock.now()
    found: dict[str, list[IdempotencyRecord]] = {}
    for record in map(IdempotencyRecord.from_raw_data, items):
        if record.plain("mode") != CONSOLE_MODE and is_alive(record, now):
            found.setdefault(_conversation_of(record), []).append(record)
    for conversation_id, records in found.items():
        ids: dict[str, tuple[str, ...]] = {}
        for record in records:
            day = counted_day(first_processed_at(record))
            ids[day] = (*ids.get(day, ()), str(record.plain("event_id")))
        yield EventsSubject(
            conversation_id,
            ids,
            name=("events", conversation_id, str(records[0].plain("event_id"))),
            state=hash_content([each.raw for each in records]),
        )


def _conversation_of(record: IdempotencyRecord) -> str:
    """Return the conversation that a record or its key names; the key itself if neither does."""
    event_id, named = str(record.plain("event_id")), record.plain("conversation_id")
    if isinstance(named, str) and named:
        return named
    decoded = decode(event_id)
    return decoded.conversation if decoded.certain and decoded.conversation else event_id


def _words_of(record: IdempotencyRecord) -> str:
    words = [code_of(record.plain("mode")), code_of(record.plain("intent"))]
    words += ["safe"] if record.plain("safe_mode") is True else []
    words += ["off"] if record.plain("automation_enabled") is False else []
    return " ".join([*words, *(["again"] if _came_again(record) else [])])


def _came_again(record: IdempotencyRecord) -> bool:
    """Return whether an event was delivered again later, and stopped by its record."""
    if (whole_number(record.plain("attempts")) or 0) > 1:
        return True
    first, last = (clock.parse_instant(record.plain(name)) for name in ("created_at", "last_processed_at"))
    return first is not None and last is not None and last - first >= AGAIN_AFTER
