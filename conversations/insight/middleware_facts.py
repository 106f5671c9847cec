"""The facts of what the middleware did about a conversation: the entries of its trail, its events, and its flows.

One fact for each conversation, day and part. The fields of `data`:

- of `actions` (table C): `done`: number of entries, by `ACTION|OUTCOME`; `failed`: number of failed ones, by
  `ACTION|CAUSE`. A day that has lost entries since keeps its previous fact;
- of `events` (table A): `events`: for each event, by pseudonym, a string of words: its mode, its intent, then `safe`
  (safe mode was on), `off` (automation was disabled) and `again` (it was delivered again and stopped). Records expire
  sooner than facts, so what was known of expired ones is merged with the present ones;
- of `flow` (table B), on the day it asked: the customer has not answered the middleware for more than a day. `flow`:
  what was asked for; `since`: when; `on`: the conversation went on later;
- of each: `expires`: when the last of the items expires, in epoch seconds.

Entries and records written by the console are about people, and do not count as the middleware's. Facts belong to the
company that an entry or the conversation names; once known, this never changes. Schema
middleware-state-idempotency-audit.
"""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from console import clock
from console.audit.events.keys import decode
from console.audit.scoping import is_conversation_trail
from console.audit.state import CONSOLE_MODE, first_processed_at
from console.store.connection import batch_get
from console.store.models import ForeignModel
from console.trail.actions import Result, outcome_of, reason_of
from console.trail.models import AuditEntry, ConversationState, IdempotencyRecord
from conversations.finding.lookups import known_conversation
from conversations.handoff.stored import Raw
from conversations.insight.facts import (
    FactDay,
    FactKey,
    FactKind,
    InsightFact,
    StoredFact,
    fact_data,
    get_or_create_day,
    read_first_day,
    write_first_day,
)
from conversations.insight.identity import pseudonym_of
from conversations.insight.sources import (
    FactSource,
    FactWrite,
    KnownFacts,
    SourceReference,
    counted_day,
    hash_content,
    latest_expiry,
    latest_items,
)
from conversations.insight.words import code_of, reason_code
from conversations.messages.content import whole_number

ABOUT, EVENT = "middleware", "middleware event"
TRAIL_READ = ("conversation_id", "ts_action_id", "action_type", "result", "actor", "company_id", "expires_at")
EVENTS_READ = (
    *("event_id", "conversation_id", "created_at", "received_at", "last_processed_at", "expires_at", "mode", "intent"),
    *("safe_mode", "automation_enabled", "attempts"),
)
FLOWS_READ = ("conversation_id", "updated_at", "expires_at", "pending_flow")
# The most events counted for a conversation and day.
MOST_EVENTS = 3_000
# A message is redelivered after a minute or more; the first attempt takes seconds.
AGAIN_AFTER = timedelta(minutes=1)
STALLED_AFTER = timedelta(days=1)
# The cause is the first one whose pattern matches.
_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (cause, re.compile(words, re.IGNORECASE))
    for cause, words in (
        ("rate_limited", r"\b429\b|rate.?limit|throttl|too many"),
        ("timeout", r"time[d -]?out|deadline|took too long"),
        ("locked", r"\block|\bconflict|concurren"),
        ("not_allowed", r"\b40[13]\b|denied|forbidden|unauthor|not approved|not allowed|permission"),
        ("not_found", r"\b404\b|not found|no such"),
        ("invalid", r"\b4(?:00|22)\b|invalid|malformed|validation|bad request|schema"),
        ("unavailable", r"\b5\d\d\b|unavailable|connection|refused|unreachable|internal"),
    )
)

T = TypeVar("T")
Known = Mapping[str, Any] | None


@dataclass
class MiddlewareSource(FactSource):
    """What the middleware did about a conversation, of which only the id is known. `items` are its items, once read.

    `named`: the companies that items name. `company` is set once known.
    """

    part: ClassVar[str]

    conversation_id: str
    items: tuple[Any, ...] = field(default=(), kw_only=True)
    named: frozenset[str] = field(default=frozenset(), kw_only=True, compare=False)
    company: str = field(default="", kw_only=True, compare=False)

    def keys_on(self, *days: str) -> list[FactKey]:
        """Return the keys of its facts on these days."""
        owner = self._owner()
        return [(FactDay(FactKind.MIDDLEWARE, owner, day), self._fact_id) for day in sorted(days)]

    def related(self, key: FactKey, seen: StoredFact) -> list[FactKey]:
        """Return the key without an owner, of a fact that was stored before the company was known."""
        return [_without_owner(key)] if key[0].owner and not seen.revision else []

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return one fact for each day; what was stored without an owner belongs to the company now."""
        unowned = {_without_owner(key) for key in known if key[0].owner}
        found = []
        for (day, fact_id), before in known.items():
            if (day, fact_id) not in unowned:
                data = self.data_on(day.day, before or known.get(_without_owner((day, fact_id))))
                found += [InsightFact(day, fact_id, data)] if data is not None else []
        return found

    @abstractmethod
    def data_on(self, day: str, before: Known) -> Known:
        """Return the fact of a day, given the previous one; None for none."""

    def writes(self, known: KnownFacts) -> Iterator[FactWrite]:
        """Yield the facts, and the removal of those that moved to the company."""
        for write in super().writes(known):
            yield write
            old = _without_owner(write.key)
            if known[write.key] is None and old != write.key and known.get(old) is not None:
                yield FactWrite(old, None)

    def reference(self) -> SourceReference:
        """Return the conversation's id, until its last item expires."""
        return SourceReference(self.pseudonym, (self.conversation_id,), self._expires)

    @property
    def pseudonym(self) -> str:
        """The pseudonym of the conversation."""
        return pseudonym_of(ABOUT, self.conversation_id)

    @property
    def _fact_id(self) -> str:
        return f"{self.pseudonym}#{self.part}"

    @property
    def _expires(self) -> int | None:
        return _last_expiry(self.items)

    def _owner(self) -> str:
        """Return the conversation's company; "" if unknown. At most a GetItem, a Query and a PutItem."""
        if not self.company:
            found = get_or_create_day(FactKind.MIDDLEWARE, self.pseudonym, self._found_owner)
            self.company = found.owner if found is not None else ""
        return self.company

    def _found_owner(self) -> FactDay | None:
        companies = self.named if len(self.named) == 1 else known_conversation(self.conversation_id).companies
        return FactDay(FactKind.MIDDLEWARE, next(iter(companies)), "") if len(companies) == 1 else None


def _without_owner(key: FactKey) -> FactKey:
    day, fact_id = key
    return replace(day, owner=""), fact_id


def _last_expiry(items: Iterable[ForeignModel]) -> int | None:
    return latest_expiry([each.plain("expires_at") for each in items])


def _by_day(items: Iterable[T], day_of: Callable[[T], str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for each in items:
        found.setdefault(day_of(each), []).append(each)
    return found


def _alive(items: list[Any]) -> list[Any]:
    """Return the items that have not expired."""
    now = clock.now()
    return [each for each in items if not clock.is_expired(each.plain("expires_at"), now)]


# --- Actions: entries of the trail ------------------------------------------------------------------------------------


@dataclass
class TrailSource(MiddlewareSource):
    """The entries of some days of a conversation's trail; `items` are those of the whole trail."""

    part = "actions"

    days: frozenset[str] = frozenset()

    def keys(self) -> list[FactKey]:
        """Return one key for each day."""
        return self.keys_on(*self.days)

    def read(self) -> Self | None:
        """Read the entries that have not expired; None if there are none. A Query for each MB of the trail."""
        is_theirs = AuditEntry.actor.does_not_exist()
        found = latest_items(AuditEntry, self.conversation_id, only=is_theirs, limit=5000, attributes=TRAIL_READ)
        entries = _alive([AuditEntry.from_raw_data(each) for each in found])
        return replace(self, items=tuple(entries)) if entries else None

    @cached_property
    def _entries(self) -> dict[str, list[AuditEntry]]:
        return _by_day(self.items, _day_of_entry)

    def data_on(self, day: str, before: Known) -> Known:
        """Count a day's entries; keep the previous fact if some have expired since."""
        entries = self._entries.get(day, [])
        done = Counter(f"{code_of(each.plain('action_type'))}|{outcome_of(each)}" for each in entries)
        if before is not None and done.total() < _total(before.get("done")):
            return dict(before)
        failed = Counter(
            f"{code_of(each.plain('action_type'))}|{cause_of(each.plain('result'))}"
            for each in entries
            if outcome_of(each) == Result.FAILED
        )
        expires = _last_expiry(entries)
        return fact_data(done=dict(done), failed=dict(failed), expires=expires) if entries else None


def trails_in(items: list[Raw]) -> Iterator[TrailSource]:
    """Yield the conversations that have entries of the middleware in a page of the trail."""
    found: dict[str, list[AuditEntry]] = {}
    for entry in _alive([AuditEntry.from_raw_data(each) for each in items]):
        conversation_id = str(entry.plain("conversation_id"))
        if entry.plain("actor") is None and is_conversation_trail(conversation_id):
            found.setdefault(conversation_id, []).append(entry)
    for conversation_id, entries in found.items():
        named = (each.plain("company_id") for each in entries)
        yield TrailSource(
            conversation_id,
            frozenset(_by_day(entries, _day_of_entry)),
            named=frozenset(each for each in named if isinstance(each, str) and each),
            name=("trail", conversation_id, str(entries[0].plain("ts_action_id"))),
            state=hash_content([each.raw for each in entries]),
        )


def cause_of(result: Any) -> str:
    """Return why something failed: one of a few kinds, or the code in the result, or `other`."""
    reason = reason_of(result)
    found = next((cause for cause, pattern in _CAUSES if pattern.search(reason[:2_000])), "")
    return found or reason_code(reason).lower()


def _day_of_entry(entry: AuditEntry) -> str:
    return counted_day(clock.parse_instant(str(entry.plain("ts_action_id")).partition("#")[0]))


def _total(counts: Any) -> int:
    return sum(counts.values()) if isinstance(counts, dict) else 0


# --- Events -----------------------------------------------------------------------------------------------------------


@dataclass
class EventsSource(MiddlewareSource):
    """Events of a conversation; `event_ids` by their days. `items` are the stored records."""

    part = "events"

    event_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def keys(self) -> list[FactKey]:
        """Return one key for each day."""
        return self.keys_on(*self.event_ids)

    def read(self) -> Self | None:
        """Read the records that have not expired; None if there are none. One BatchGetItem per hundred."""
        keys = [{"event_id": each} for ids in self.event_ids.values() for each in ids]
        found = [IdempotencyRecord.from_raw_data(raw) for raw in batch_get("IDEMPOTENCY", keys, consistent=True)]
        kept = _alive(found)
        return replace(self, items=tuple(kept)) if kept else None

    @cached_property
    def _records(self) -> dict[str, list[IdempotencyRecord]]:
        return _by_day(self.items, _day_of_event)

    def data_on(self, day: str, before: Known) -> Known:
        """Merge what was known with the day's records."""
        events = dict((before or {}).get("events", {}))
        ends = [before.get("expires")] if before else []
        for record in self._records.get(day, ()):
            name = pseudonym_of(EVENT, str(record.plain("event_id")))[:12]
            if name in events or len(events) < MOST_EVENTS:
                events[name] = _words_of(record)
                ends.append(record.plain("expires_at"))
        return fact_data(events=events, expires=latest_expiry(ends)) if events else None


def events_in(items: list[Raw]) -> Iterator[EventsSource]:
    """Yield the conversations that have events of the middleware in a page of events."""
    found: dict[str, list[IdempotencyRecord]] = {}
    for record in _alive([IdempotencyRecord.from_raw_data(each) for each in items]):
        if record.plain("mode") != CONSOLE_MODE:
            found.setdefault(_conversation_of(record), []).append(record)
    for conversation_id, records in found.items():
        days = _by_day(records, _day_of_event)
        yield EventsSource(
            conversation_id,
            {day: tuple(str(each.plain("event_id")) for each in theirs) for day, theirs in days.items()},
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


def _day_of_event(record: IdempotencyRecord) -> str:
    return counted_day(first_processed_at(record))


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


# --- Flows ------------------------------------------------------------------------------------------------------------


@dataclass
class FlowSource(MiddlewareSource):
    """The flow that a conversation waits for. `asked` is None if there is none, or if it is at most a day old."""

    part = "flow"

    flow: str = ""
    asked: datetime | None = None

    def keys(self) -> list[FactKey]:
        """Return the keys of the previous stalled flow, if known, and of this one."""
        last = read_first_day(FactKind.MIDDLEWARE, self._fact_id)
        keys = [] if last is None else [(last, self._fact_id)]
        return list(dict.fromkeys([*keys, *self._current()]))

    def _current(self) -> list[FactKey]:
        return [] if self.asked is None else self.keys_on(counted_day(self.asked))

    def read(self) -> Self | None:
        """Read the state with one GetItem. None if it is gone: then it is unknown how the flow went on."""
        stored = ConversationState.find(self.conversation_id)
        states = _alive([] if stored is None else [stored])
        if not states:
            return None
        flow, asked = _stalled(states[0], clock.now())
        return replace(self, flow=flow, asked=asked, items=tuple(states))

    def data_on(self, day: str, before: Known) -> Known:
        """Return the fact of this flow, or that of the previous one, marked as having gone on."""
        if self.asked is not None and counted_day(self.asked) == day:
            return fact_data(flow=self.flow, since=clock.to_iso(self.asked, "seconds"), expires=self._expires)
        return None if before is None else {**before, "on": True}

    def settle(self) -> None:
        """Note where this flow's fact is: the state no longer names the flow once the conversation has gone on."""
        for day, fact_id in self._current():
            if read_first_day(FactKind.MIDDLEWARE, fact_id) != day:
                write_first_day(fact_id, day)


def flows_in(items: list[Raw]) -> Iterator[FlowSource]:
    """Yield the conversations of a page of states; their `state` changes when a flow becomes older than a day."""
    now = clock.now()
    for state in _alive([ConversationState.from_raw_data(each) for each in items]):
        conversation_id = str(state.plain("conversation_id"))
        flow, asked = _stalled(state, now)
        seen = hash_content(state.raw.get("pending_flow"), asked is None)
        yield FlowSource(conversation_id, flow, asked, items=(state,), name=("flow", conversation_id), state=seen)


def _stalled(state: ConversationState, now: datetime) -> tuple[str, datetime | None]:
    """Return the flow that the customer was asked about, and when, if more than a day ago; else nothing."""
    pending = state.plain("pending_flow")
    if pending in (None, "", [], {}):
        return "", None
    flow = pending if isinstance(pending, dict) else {"type": pending}
    asked = clock.parse_instant(flow.get("requested_at")) or clock.parse_instant(state.plain("updated_at"))
    return (code_of(flow.get("type")), asked) if asked is not None and now - asked >= STALLED_AFTER else ("", None)
