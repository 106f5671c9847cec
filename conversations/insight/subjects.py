"""What facts of the other stores are of, and how they are kept: written anew from the source, as it is then.

A walk (`walking`) brings *subjects*: a thread, a session, what the middleware did about a conversation. The facts of
one are read first, then its source, strongly consistent; they are written unless others came in between. So everything
may be done twice, late, in any order, and by several at once, as with the facts of conversations (`writing`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from console import clock
from console.errors import Throttled
from conversations.insight.facts import (
    UNDATED,
    VERSION,
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
# Writers use the ends of the calendar for "never".
_SANE = timedelta(days=36_500)

# Where a fact is: its day, and its id there.
Place = tuple[FactDay, str]
# The facts of a subject so far, None where there is none yet.
KnownFacts = Mapping[Place, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class WayBack:
    """What a pseudonym stands for, and until when that is there (epoch seconds; None: for good)."""

    pseudonym: str
    parts: tuple[str, ...]
    expires: int | None = None


@dataclass
class FactSubject(ABC):
    """Something of another store, as a walk came by it: perhaps in part, perhaps long ago.

    `name` tells it from others of a walk, `state` what was seen of it. All methods raise the store's errors.
    """

    name: tuple[str, ...] = field(default=(), kw_only=True)
    state: int = field(default=0, kw_only=True, compare=False)

    @abstractmethod
    def places(self) -> list[Place]:
        """Where its facts are, as far as it is known. Reads as little as it can."""

    @abstractmethod
    def read(self) -> Self | None:
        """Read it as it is now, strongly consistent; None where there is nothing of it."""

    @abstractmethod
    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Make its facts, at places that are in `known`. Reads nothing."""

    @abstractmethod
    def way_back(self) -> WayBack:
        """What its pseudonym stands for."""

    def moved_from(self, place: Place) -> Place | None:
        """Where a fact was before its owner was known."""
        return None

    def settle(self) -> None:
        """Note what is to be known next time, once the facts are written."""
        return


def keep(subject: FactSubject, *, again: bool = False) -> bool:
    """Write the facts of a subject as it is now. Whether any changed; `again`: have its days summed up in any case.

    Raises the store's errors.
    """
    for _ in range(TRIES):
        places = subject.places()
        seen = {place: read_fact(*place) for place in places}
        moved = _unowned(subject, seen)
        found = subject.read()
        if found is None:
            return False
        if not set(found.places()) <= set(places):
            # What is to be written is elsewhere: read what is there first.
            subject = found
            continue
        written = _write(found, seen, moved, again=again)
        if written is not None:
            found.settle()
            return written
        subject = found
    raise Throttled(TOO_BUSY)


def fact_data(**values: Any) -> dict[str, Any]:
    """The data of a fact: what there is to tell, and how it was made."""
    return {"v": VERSION} | {name: value for name, value in values.items() if value not in (None, "", 0, [], {}, False)}


def counted_day(at: datetime | None) -> str:
    """The day of a fact: as `day_of`, but for times that no clock told."""
    return UNDATED if at is None or abs(at - clock.now()) > _SANE else day_of(at)


def latest_expiry(values: list[Any]) -> int | None:
    """When the last of some items goes, by their TTL attributes, in epoch seconds; None where one stays for good."""
    ends = [clock.expiry_of(each) for each in values]
    known = [clock.to_epoch(each) for each in ends if each is not None]
    return max(known) if known and len(known) == len(ends) else None


def _unowned(subject: FactSubject, seen: Mapping[Place, StoredFact]) -> dict[Place, tuple[Place, StoredFact]]:
    """What is known of new facts from when their owner was not."""
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
    """Write what changed; None where another was faster."""
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
            # Whoever wrote it may have died before it was summed up.
            mark_changed(fact.day)
        if place in moved:
            (day, fact_id), before = moved[place]
            remove_fact(day, fact_id, before)
    return changed
