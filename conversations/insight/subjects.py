"""The subjects of facts of the other stores, and how these are written: always made from the current source.

A walk (`walking`) finds *subjects*: a thread, a session, what the middleware did about a conversation. Its facts are
read first, then its source, strongly consistent; they are written unless somebody else changed them in between.
Everything may therefore happen twice, late, in any order and concurrently, as with the facts of conversations
(`writing`).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from pynamodb.expressions.condition import Condition

from console import clock
from console.errors import Throttled
from console.store.models import ForeignModel, query
from conversations.handoff.stored import Raw
from conversations.insight.facts import (
    UNDATED,
    FactDay,
    InsightFact,
    StoredFact,
    day_of,
    expiry,
    mark_changed,
    read_fact,
    remove_fact,
    write_fact,
)
from conversations.insight.identity import extend_link
from conversations.insight.places import note_owner

TRIES = 5
TOO_BUSY = "These facts change too fast to be written."
# A page is 1 MB; only the latest items of longer partitions are counted.
PAGES = 20
# Writers use extreme dates for "never".
_SANE = timedelta(days=36_500)

# The position of a fact: its day, and its id in that day.
Place = tuple[FactDay, str]
# The facts of a subject so far; None where there is none yet.
KnownFacts = Mapping[Place, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class SourceReference:
    """The source of a pseudonym, and until when it exists (epoch seconds; None for permanently)."""

    pseudonym: str
    parts: tuple[str, ...]
    expires: int | None = None


def hash_content(*content: Any) -> int:
    """Return a hash of stored items or their parts, whatever the order of attributes: DynamoDB leaves it open."""
    return hash(json.dumps(content, sort_keys=True, default=repr))


@dataclass
class FactSubject(ABC):
    """Something of another store, as found by a walk: possibly incomplete or out of date.

    `name` identifies it among the subjects of a walk, `state` is a hash of what was seen. All methods raise the store's
    errors.
    """

    name: tuple[str, ...] = field(default=(), kw_only=True)
    state: int = field(default=0, kw_only=True, compare=False)

    @abstractmethod
    def places(self) -> list[Place]:
        """Return where its facts are stored, if known, with as few reads as possible."""

    @abstractmethod
    def read(self) -> Self | None:
        """Read its current state, strongly consistent; None if nothing of it exists."""

    @abstractmethod
    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Make its facts, at places that are in `known`. Reads nothing."""

    @abstractmethod
    def way_back(self) -> SourceReference:
        """Return the source of its pseudonym."""

    def moved_from(self, place: Place) -> Place | None:
        """Return where a fact was stored before its owner was known; None if nowhere."""
        return None

    def settle(self) -> None:
        """Store what must be known next time, after the facts are written."""
        return


def write_facts(subject: FactSubject, *, again: bool = False) -> bool:
    """Write the current facts of a subject; return whether any changed. `again`: mark unchanged days as changed, too.

    Raises the store's errors, and `Throttled` after `TRIES` lost races.
    """
    for _ in range(TRIES):
        places = subject.places()
        seen = {place: read_fact(*place) for place in places}
        moved = _unowned(subject, seen)
        found = subject.read()
        if found is None:
            return False
        if not set(found.places()) <= set(places):
            # Its facts belong elsewhere: read the facts stored there first.
            subject = found
            continue
        written = _write(found, seen, moved, again=again)
        if written is not None:
            found.settle()
            return written
        subject = found
    raise Throttled(TOO_BUSY)


def latest_items(
    model: type[ForeignModel], partition: str, condition: Condition | None = None, **options: Any
) -> Iterator[Raw]:
    """Yield the items of a partition, latest first, strongly consistent; no more than `PAGES` pages.

    `options` are those of `query`. One Query for each page.
    """
    start: Raw | None = None
    for _ in range(PAGES):
        items, start = query(model, partition, condition, forward=False, start=start, consistent=True, **options)
        yield from items
        if not start:
            return


def counted_day(at: datetime | None) -> str:
    """Return the day of a fact: `day_of`, or `UNDATED` for times more than a century away."""
    return UNDATED if at is None or abs(at - clock.now()) > _SANE else day_of(at)


def latest_expiry(values: list[Any]) -> int | None:
    """Return when the last of some items expires, by their TTL attributes, in epoch seconds; None if any never does."""
    ends = [clock.expiry_of(each) for each in values]
    known = [clock.to_epoch(each) for each in ends if each is not None]
    return max(known) if known and len(known) == len(ends) else None


def _unowned(subject: FactSubject, seen: Mapping[Place, StoredFact]) -> dict[Place, tuple[Place, StoredFact]]:
    """Return the facts stored before their owner was known, for places that have none yet."""
    old = {place: subject.moved_from(place) for place, each in seen.items() if not each.revision}
    found = {place: (before, read_fact(*before)) for place, before in old.items() if before is not None}
    return {place: each for place, each in found.items() if each[1].data is not None}


def _write(
    subject: FactSubject,
    seen: Mapping[Place, StoredFact],
    moved: Mapping[Place, tuple[Place, StoredFact]],
    *,
    again: bool,
) -> bool | None:
    """Write what changed; None if another writer was faster."""
    known = {place: moved[place][1].data if place in moved else each.data for place, each in seen.items()}
    facts = [each for each in subject.facts(known) if expiry(each.day) > clock.to_epoch(clock.now())]
    if any((known[each.day, each.id] or {}).get("expires", 0) != each.data.get("expires", 0) for each in facts) or any(
        not seen[each.day, each.id].revision for each in facts
    ):
        way = subject.way_back()
        extend_link(way.pseudonym, way.parts, way.expires)
    changed = False
    for fact in facts:
        place = (fact.day, fact.id)
        if seen[place].data != fact.data:
            note_owner(fact.day.kind, fact.day.owner)
            if not write_fact(fact, seen[place]):
                return None
            changed = True
        elif again:
            # The process that wrote it may have died before the day was summed up.
            mark_changed(fact.day)
        if place in moved:
            (day, fact_id), before = moved[place]
            remove_fact(day, fact_id, before)
    return changed
