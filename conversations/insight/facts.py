"""Facts as stored: one item each, in partitions of a day, replaced only if unchanged since they were read.

- `pk = FACTS#{kind}#{owner}#{day}`, `sk = {pseudonym}#{part}`: the fact, as JSON text;
- `pk = CHANGED`, `sk = {kind}#{owner}#{day}`: facts of that day have changed since it was summed up, or may have;
- `pk = PLACE#{kind}#{pseudonym}`, `sk = PLACE`: the day and owner that a source was first counted on, which the source
  itself may forget;
- `pk = OWNERS#{kind}`, `sk = OWNER#{owner}`: an owner with facts of a kind.

A writer reads the fact, then its source, and writes on condition that the fact is unchanged. A later write is therefore
based on a later read of the source, and duplicate, late or unordered stream records do no harm.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any, Self
from urllib.parse import quote, unquote

from django.conf import settings
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from console import clock
from console.caching import cached_for
from console.store.calls import ConditionFailed, table_name
from console.store.models import ForeignModel, TableMeta

# The day of facts without a readable time. No period includes it.
UNDATED = "undated"
# A mark allows facts to change for this long; one that is still valid for a while is not written again.
MARKED_FOR, MARK_AGAIN = timedelta(minutes=2), timedelta(minutes=1)
CHANGED = "CHANGED"
# No write is in flight for longer.
REMOVED_FOR = timedelta(days=1)
# Raised when facts are made differently: a rebuild then writes all of them again.
VERSION = 1
# Owners are noted again this often, so that they do not expire before their facts.
NOTED_SECONDS = 86_400


class FactKind(StrEnum):
    """The kind of source that a fact counts."""

    CONVERSATIONS = "conversations"
    THREADS = "threads"
    CHATS = "chats"
    MIDDLEWARE = "middleware"
    TENANTS = "tenants"


@dataclass(frozen=True, slots=True)
class FactDay:
    """A day's facts of one kind and owner: a company, an organisation or a tenant; "" if no owner is known.

    `day` is ISO, in UTC, or `UNDATED`.
    """

    kind: FactKind
    owner: str
    day: str

    @property
    def key(self) -> str:
        """The day as a part of keys."""
        return f"{self.kind}#{escaped(self.owner)}#{self.day}"

    @classmethod
    def of(cls, key: str) -> "FactDay":
        """Read a key. Raises `ValueError`."""
        kind, owner, day = key.split("#")
        return cls(FactKind(kind), unquote(owner), day)


# The key of a fact: its day, and its id in that day.
FactKey = tuple[FactDay, str]


@dataclass(frozen=True, slots=True)
class InsightFact:
    """One fact. `id` is its sort key; `data` are JSON values, documented in the modules that make them."""

    day: FactDay
    id: str
    data: Mapping[str, Any]

    @property
    def key(self) -> FactKey:
        """Its key."""
        return self.day, self.id


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A stored fact, and the revision that a replacement must match: 0 if nothing is stored.

    `data` is None if there is none, or if it was removed.
    """

    data: Mapping[str, Any] | None = None
    revision: int = 0


def escaped(text: str) -> str:
    """Return an id escaped for a key."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def day_of(at: datetime | None) -> str:
    """Return the UTC day of an instant in the form that keys use."""
    return UNDATED if at is None else at.astimezone(UTC).date().isoformat()


def serialize_fact(data: Mapping[str, Any]) -> str:
    """Return a fact in the form that is stored."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def fact_data(**values: Any) -> dict[str, Any]:
    """Return the data of a fact: the values that are not empty, and the version of how it was made."""
    return {"v": VERSION} | {name: value for name, value in values.items() if value not in (None, "", 0, [], {}, False)}


class InsightItem(ForeignModel):
    """An item of INSIGHT. `expires_at` is in epoch seconds. A drifted item never fails the read of others."""

    class Meta(TableMeta):
        table_key = "INSIGHT"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    expires_at = NumberAttribute()

    @classmethod
    def read_pages(
        cls, partition: str, condition: Condition | None = None, *, consistent: bool = False
    ) -> Iterator[list[Self]]:
        """Yield a partition's items, one page per read. `condition` is on the sort key. Raises the store's errors."""
        for page in cls.query(partition, condition, consistent_read=consistent).page_iter:
            yield [cls.from_raw_data(each) for each in page["Items"]]


class _FactItem(InsightItem):
    """A fact, or for a while what is left of a removed one."""

    fact = UnicodeAttribute(null=True)
    revision = NumberAttribute()

    @property
    def data(self) -> Mapping[str, Any] | None:
        try:
            found = json.loads(self.fact or "")
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def read_fact(day: FactDay, fact_id: str) -> StoredFact:
    """Read one fact, strongly consistent. Raises the store's errors."""
    item = _FactItem.find(f"FACTS#{day.key}", fact_id)
    return StoredFact() if item is None else StoredFact(item.data, int(item.revision))


def write_fact(fact: InsightFact, seen: StoredFact) -> bool:
    """Replace the fact that was read; return False if it has changed since. Raises the store's errors.

    Mark the day as changed first, so that it is summed up even if a process dies in between.
    """
    return _replace(fact.day, fact.id, seen, serialize_fact(fact.data), expiry(fact.day))


def remove_fact(day: FactDay, fact_id: str, seen: StoredFact) -> bool:
    """Remove a fact under the same condition as `write_fact`. Raises the store's errors.

    An item without content remains for a day, so that late writers who read the old fact, or none, fail their
    condition.
    """
    return _replace(day, fact_id, seen, None, clock.to_epoch(clock.now() + REMOVED_FOR))


def _replace(day: FactDay, fact_id: str, seen: StoredFact, text: str | None, until: int) -> bool:
    begun = clock.now()
    mark_changed(day)
    item = _FactItem(f"FACTS#{day.key}", fact_id, fact=text, revision=seen.revision + 1, expires_at=until)
    try:
        item.save(_FactItem.revision == seen.revision if seen.revision else _FactItem.pk.does_not_exist())
    except ConditionFailed:
        return False
    finally:
        if clock.now() - begun > MARK_AGAIN / 2:
            # After a delay the day may have been summed up before the write.
            mark_changed(day, again=True)
    return True


def expiry(day: FactDay) -> int:
    """Return when facts and sums of a day expire, in epoch seconds."""
    begun = clock.now().date() if day.day == UNDATED else date.fromisoformat(day.day)
    return _retained_from(clock.midnight(begun, clock.zone_of("UTC")))


def _retained_from(at: datetime) -> int:
    return clock.to_epoch(at + timedelta(days=settings.INSIGHT_RETENTION_DAYS))


def facts_of(day: FactDay, after: str = "", *, consistent: bool = False) -> Iterator[list[InsightFact]]:
    """Yield a day's facts in the order of their ids, one page per read, after `after`. Raises the store's errors."""
    condition = _FactItem.sk > after if after else None
    for items in _FactItem.read_pages(f"FACTS#{day.key}", condition, consistent=consistent):
        now = clock.now()
        yield [
            InsightFact(day, each.sk, data)
            for each in items
            if (data := each.data) is not None and not clock.is_expired(each.expires_at, now)
        ]


# --- Days whose facts change ------------------------------------------------------------------------------------------

_lock = threading.Lock()
# Days that this process has marked, and until when no new mark is needed.
_marked: dict[str, datetime] = {}


class ChangedDay(InsightItem):
    """A day to sum up; its facts may change until `until`."""

    until = UnicodeAttribute()

    @property
    def day(self) -> FactDay:
        """The day. Raises `ValueError`."""
        return FactDay.of(self.sk)

    def is_settled_at(self, at: datetime) -> bool:
        """Return whether no facts could change any more at an instant."""
        until = clock.parse_instant(self.until)
        return until is not None and until < at


def mark_changed(day: FactDay, *, again: bool = False) -> None:
    """Mark a day to be summed up again. One write a minute for each day and process, unless `again`.

    Raises the store's errors.
    """
    now, name = clock.now(), f"{table_name('INSIGHT')}#{day.key}"
    with _lock:
        known = _marked.get(name)
        if not again and known is not None and now < known <= now + MARK_AGAIN:
            return
    ChangedDay(CHANGED, day.key, until=clock.to_iso(now + MARKED_FOR), expires_at=expiry(day)).save()
    with _lock:
        if len(_marked) > 10_000:
            _marked.clear()
        _marked[name] = now + MARK_AGAIN


def changed_days() -> list[ChangedDay]:
    """Return every day that needs to be summed up, strongly consistent. Raises the store's errors."""
    return [each for items in ChangedDay.read_pages(CHANGED, consistent=True) for each in items]


def clear_changed_mark(changed: ChangedDay) -> bool:
    """Remove the mark of a summed-up day; False if it was marked again meanwhile. Raises the store's errors."""
    try:
        changed.delete(ChangedDay.until == changed.until)
    except ConditionFailed:
        return False
    return True


def forget_marks() -> None:
    """Forget which days were marked: for tests, each of which has its own database."""
    with _lock:
        _marked.clear()


# --- What sources forget: when they began, and whose they were --------------------------------------------------------


class _FirstDay(InsightItem):
    """The owner and day of all facts of a source, once known."""

    sk = UnicodeAttribute(range_key=True, default="PLACE")
    owner = UnicodeAttribute()
    day = UnicodeAttribute()


class _OwnerItem(InsightItem):
    """An owner with facts of a kind."""


def get_or_create_day(kind: FactKind, pseudonym: str, find: Callable[[], FactDay | None]) -> FactDay | None:
    """Return the day that the facts of a source are stored on; on first use, store the one that `find` returns.

    None if `find` returns None. Strongly consistent. Raises the store's errors.
    """
    if (known := read_first_day(kind, pseudonym)) is not None:
        return known
    if (found := find()) is None:
        return None
    try:
        write_first_day(pseudonym, found, _FirstDay.pk.does_not_exist())
    except ConditionFailed:
        # Another process stored it first: use its day.
        return read_first_day(kind, pseudonym) or found
    return found


def read_first_day(kind: FactKind, pseudonym: str) -> FactDay | None:
    """Return the day that the facts of a source are stored on; None if there is none. One GetItem, consistent."""
    item = _FirstDay.find(f"PLACE#{kind}#{pseudonym}", "PLACE")
    return FactDay(kind, item.owner, item.day) if item else None


def write_first_day(pseudonym: str, day: FactDay, condition: Condition | None = None) -> None:
    """Write the day that the facts of a source are stored on, replacing any other. Raises the store's errors."""
    key = f"PLACE#{day.kind}#{pseudonym}"
    _FirstDay(key, owner=day.owner, day=day.day, expires_at=_retained_from(clock.now())).save(condition)


@cached_for(NOTED_SECONDS, entries=10_000)
def note_owner(kind: FactKind, owner: str) -> bool:
    """Note that an owner has facts of a kind. One write a day for each process. Raises the store's errors."""
    _OwnerItem(f"OWNERS#{kind}", f"OWNER#{escaped(owner)}", expires_at=_retained_from(clock.now())).save()
    return True
