"""What facts are made from, and the one way in which they are written: always from the source as it is now.

A *source* is a conversation, a thread, a session, or what the middleware did about a conversation. The facts stored so
far are read first, then the source, strongly consistent; they are replaced unless somebody else changed them in
between. Everything may therefore happen twice, late, in any order and concurrently.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from pynamodb.expressions.condition import Condition

from console import clock
from console.errors import Throttled
from console.store.models import ForeignModel, query
from conversations.handoff.stored import Raw
from conversations.insight.facts import (
    UNDATED,
    FactDay,
    FactKey,
    FactKind,
    InsightFact,
    StoredFact,
    day_of,
    expiry,
    get_or_create_day,
    mark_changed,
    note_owner,
    read_fact,
    remove_fact,
    write_fact,
)
from conversations.insight.identity import extend_link

TRIES = 8
TOO_BUSY = "These facts change too fast to be written."
# A page is 1 MB; only the latest items of longer partitions are counted.
PAGES = 20
# Writers use extreme dates for "never".
_SANE = timedelta(days=36_500)

# The facts of a source so far; None where there is none yet.
KnownFacts = Mapping[FactKey, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class SourceReference:
    """What a pseudonym stands for, and until when that exists (epoch seconds; None for permanently)."""

    pseudonym: str
    parts: tuple[str, ...]
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class FactWrite:
    """The next data of a fact, None to remove it. `always`: write it even if it is stored, to stop earlier readers."""

    key: FactKey
    data: Mapping[str, Any] | None
    always: bool = False


@dataclass
class FactSource(ABC):
    """A source as it was found: possibly incomplete or out of date.

    `name` identifies it among the sources of a walk, `state` is a hash of what was seen. All methods raise the store's
    errors.
    """

    name: tuple[str, ...] = field(default=(), kw_only=True)
    state: int = field(default=0, kw_only=True, compare=False)

    @abstractmethod
    def keys(self) -> list[FactKey]:
        """Return the keys of its facts, if known, with as few reads as possible."""

    @abstractmethod
    def read(self) -> Self | None:
        """Read its current state, strongly consistent; None if nothing of it exists."""

    @abstractmethod
    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Make its facts, with keys that are in `known`."""

    @abstractmethod
    def reference(self) -> SourceReference:
        """Return what its pseudonym stands for."""

    def related(self, key: FactKey, seen: StoredFact) -> list[FactKey]:
        """Return the keys of more facts to read, given one that was read."""
        return []

    def is_ready(self, known: KnownFacts) -> bool:
        """Return whether its facts can be written now; False to read it again."""
        return True

    def writes(self, known: KnownFacts) -> Iterator[FactWrite]:
        """Yield what to write, in that order."""
        now = clock.to_epoch(clock.now())
        yield from (FactWrite(each.key, each.data) for each in self.facts(known) if expiry(each.day) > now)

    def prepare(self, changed: Sequence[InsightFact], seen: Mapping[FactKey, StoredFact]) -> None:
        """Store what must be known before changed facts are: their owners, and the link back for long enough."""
        for fact in changed:
            note_owner(fact.day.kind, fact.day.owner)
        before = [seen[each.key].data for each in changed]
        if any(
            known is None or known.get("expires") != fact.data.get("expires")
            for fact, known in zip(changed, before, strict=True)
        ):
            reference = self.reference()
            extend_link(reference.pseudonym, reference.parts, reference.expires)

    def settle(self) -> None:
        """Store what must be known next time, after the facts are written."""
        return

    def forget(self) -> None:
        """Undo what was stored before it proved to be gone."""
        return


@dataclass
class OneFactSource(FactSource):
    """A source with one fact, on the day on which it was first counted."""

    kind: ClassVar[FactKind]

    @property
    @abstractmethod
    def pseudonym(self) -> str:
        """Its pseudonym."""

    @abstractmethod
    def first_day(self) -> FactDay | None:
        """Return the day that it belongs to now; None if it is gone."""

    def keys(self) -> list[FactKey]:
        """Return its one key, which never changes."""
        day = get_or_create_day(self.kind, self.pseudonym, self.first_day)
        return [] if day is None else [(day, self.pseudonym)]

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return its one fact."""
        return [InsightFact(*key, self.data(before or {})) for key, before in known.items()]

    @abstractmethod
    def data(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of its fact, given the previous ones."""


def write_facts(source: FactSource, *, again: bool = False) -> bool:
    """Write the current facts of a source; return whether any changed. `again`: mark unchanged days as changed, too.

    Raises the store's errors, and `Throttled` after `TRIES` lost races.
    """
    seen: dict[FactKey, StoredFact] = {}
    for _ in range(TRIES):
        unread = source.keys()
        while unread:
            if (key := unread.pop()) not in seen:
                seen[key] = read_fact(*key)
                unread += source.related(key, seen[key])
        found = source.read()
        if found is None:
            source.forget()
            return False
        # Facts that are not in `seen` are read first, and then the source again.
        if seen.keys() >= set(found.keys()) and found.is_ready({key: each.data for key, each in seen.items()}):
            if (written := _write(found, seen, again=again)) is not None:
                found.settle()
                return written
            seen = {}
        source = found
    raise Throttled(TOO_BUSY)


def _write(source: FactSource, seen: dict[FactKey, StoredFact], *, again: bool) -> bool | None:
    """Write what changed; return whether anything did, None if another writer was faster."""
    writes = list(source.writes({key: each.data for key, each in seen.items()}))
    made = [InsightFact(*each.key, each.data) for each in writes if each.data is not None]
    source.prepare([each for each in made if each.data != seen[each.key].data], seen)
    changed = False
    for write in writes:
        before, (day, fact_id) = seen[write.key], write.key
        if before.revision and before.data == write.data and not write.always:
            if again and write.data is not None:
                # The process that wrote it may have died before the day was summed up.
                mark_changed(day)
            continue
        if write.data is None:
            is_written = remove_fact(day, fact_id, before)
        else:
            is_written = write_fact(InsightFact(day, fact_id, write.data), before)
        if not is_written:
            return None
        seen[write.key] = StoredFact(write.data, before.revision + 1)
        changed = changed or before.data != write.data
    return changed


def hash_content(*content: Any) -> int:
    """Return a hash of stored items or their parts, whatever the order of attributes: DynamoDB leaves it open."""
    return hash(json.dumps(content, sort_keys=True, default=repr))


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
