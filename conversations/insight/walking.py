"""Walks over the tables of the other stores, page by page: the console does not follow a stream of these.

One worker for each kind of facts holds a lease. It reads a page, writes the facts of what has changed since the last
walk, rests, and continues; the lease stores the position, so that another worker can resume. A walk begins again
`INSIGHT_WALK_HOURS` after the last one ended. It reads whole tables, plus a few reads and writes for each thread,
session or conversation that has changed. What is gone before a walk reads it is never counted.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

from cachetools import LRUCache
from django.conf import settings

from console import clock
from console.errors import BadReference
from console.refs import seal_data, unseal_data
from console.store.calls import submit, table_name
from console.store.connection import call
from console.store.presence import table_ready
from conversations.handoff.stored import Raw
from conversations.insight import chat_facts, episodes, middleware_facts, tenant_facts, thread_facts, writing
from conversations.insight.facts import FactKind
from conversations.insight.sources import FactSource, write_facts
from conversations.workers.counts import WorkCounts, WorkOutcome, is_transient
from conversations.workers.leased import LeasedWorker

logger = logging.getLogger(__name__)

PAGE, AT_ONCE = 100, 8
# The number of sources whose state a worker remembers.
REMEMBERED = 200_000
_SEALED_AS = "insight walk"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WalkedTable:
    """A table to walk over: the attributes to read, and the sources in a page of it.

    `hours`: set for a small table whose items expire within hours: a walk over it begins at least this often.
    """

    key: str
    attributes: tuple[str, ...]
    sources: Callable[[list[Raw]], Iterable[FactSource]]
    hours: float | None = None

    @property
    def every(self) -> timedelta:
        """The time from the end of a walk over it until the next one."""
        return timedelta(hours=min(settings.INSIGHT_WALK_HOURS, self.hours or settings.INSIGHT_WALK_HOURS))


WALKED: dict[FactKind, tuple[WalkedTable, ...]] = {
    FactKind.THREADS: (WalkedTable("THREADS", thread_facts.READ, thread_facts.threads_in),),
    FactKind.CHATS: (
        WalkedTable("SESSIONS", (), chat_facts.sessions_in, hours=1),
        WalkedTable("CHATS", chat_facts.EVENTS_READ, chat_facts.chats_in),
    ),
    FactKind.MIDDLEWARE: (
        WalkedTable("AUDIT", middleware_facts.TRAIL_READ, middleware_facts.trails_in),
        WalkedTable("IDEMPOTENCY", middleware_facts.EVENTS_READ, middleware_facts.events_in),
        WalkedTable("CONVERSATION_STATE", middleware_facts.FLOWS_READ, middleware_facts.flows_in),
    ),
    FactKind.TENANTS: (WalkedTable("TENANT_CONVERSATIONS", tenant_facts.READ, tenant_facts.conversations_in),),
}
# Conversations have a stream: their table is only read to write all facts again.
_REBUILT = WALKED | {FactKind.CONVERSATIONS: (WalkedTable("CONVERSATIONS", episodes.READ, writing.conversations_in),)}


def read_page(table_key: str, attributes: Sequence[str], start: Raw | None) -> tuple[list[Raw], Raw | None]:
    """Read a page of a table (all attributes if none are named); return it and its last key, None at the end.

    Raises the store's errors.
    """
    request: dict[str, Any] = {"TableName": table_name(table_key), "Limit": PAGE}
    if attributes:
        names = {f"#a{number}": name for number, name in enumerate(attributes)}
        request |= {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
    if start:
        request["ExclusiveStartKey"] = start
    answer = call("Scan", **request)
    return answer.get("Items", []), answer.get("LastEvaluatedKey") or None


def write_page_facts(table: WalkedTable, items: list[Raw], seen: LRUCache[int, int] | None = None) -> WorkCounts:
    """Write the facts of a page's sources that differ from `seen`, or of all of them without it; `AT_ONCE` at a time.

    Failures are counted. Raises the store's errors if a retry may succeed.
    """
    done: WorkCounts = Counter({WorkOutcome.READ: len(items)})
    changed = [each for each in table.sources(items) if seen is None or seen.get(hash(each.name)) != each.state]
    for start in range(0, len(changed), AT_ONCE):
        started = [(each, submit(_write, each, seen is None)) for each in changed[start : start + AT_ONCE]]
        for source, future in started:
            done += (counts := future.result())
            if seen is not None and not counts[WorkOutcome.FAILED]:
                seen[hash(source.name)] = source.state
    return done


def _write(source: FactSource, again: bool) -> WorkCounts:
    try:
        return +Counter({WorkOutcome.COUNTED.value: int(write_facts(source, again=again))})
    except Exception as error:
        if is_transient(error):
            raise
        # One failure must not stop the others. No message: it may quote a key.
        logger.warning("The facts of a %s could not be written: %s", source.name[0], type(error).__name__)
        return Counter({WorkOutcome.FAILED: 1})


class RetryPolicy(Protocol):
    """How work is tried: once, or with retries by `tried_again`."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Return what `work` returns. Raises what it raises."""


def no_retry(work: Callable[[], T]) -> T:
    """Try it once."""
    return work()


def walk_all(kind: FactKind, trying: RetryPolicy = no_retry) -> Iterator[WorkCounts]:
    """Write all facts of a kind, a page at a time, whether or not they changed. Raises the store's errors."""
    for table in _REBUILT[kind]:
        start: Raw | None = None
        while trying(partial(table_ready, table.key)):
            items, start = trying(partial(read_page, table.key, table.attributes, start))
            yield trying(partial(write_page_facts, table, items))
            if start is None:
                break


def absent_tables(kind: FactKind) -> list[str]:
    """Return the keys of a kind's tables that do not exist. Raises the store's errors."""
    return [each.key for each in WALKED[kind] if not table_ready(each.key)]


def lease_name(kind: FactKind) -> str:
    """Return the name of the lease of a kind's worker."""
    return f"insight-{kind}"


class FactWalker(LeasedWorker):
    """Walks over the tables of one kind and writes their facts. `counts` is what was done."""

    def __init__(self, kind: FactKind, **options: Any) -> None:
        """Take the options of `LeasedWorker` too; `interval` is the rest between two pages."""
        self.name, self.title = lease_name(kind), f"The walk of {kind}"
        super().__init__(**options)
        self.kind = kind
        self._seen: LRUCache[int, int] = LRUCache(REMEMBERED)
        self._walked: dict[str, datetime] = {}
        self._table: WalkedTable | None = None
        self._start: Raw | None = None
        self._said: set[str] = set()
        self._ran_at: datetime | None = None

    def _find_place(self) -> None:
        walked, state = self.lease.state.get("walked"), self.lease.state
        times = {name: clock.parse_instant(at) for name, at in walked.items()} if isinstance(walked, dict) else {}
        self._walked = {name: at for name, at in times.items() if at is not None}
        self._table, self._start = self._opened(state.get("place"))

    def _work(self) -> WorkCounts:
        if not table_ready("INSIGHT"):
            return Counter()
        self._table = self._table or self._due()
        if self._table is None:
            self._note_end()
            return Counter()
        items, resume_at = read_page(self._table.key, self._table.attributes, self._start)
        done = write_page_facts(self._table, items, self._seen)
        self.counts += done
        self._start = resume_at
        if resume_at is None:
            self._end(self._table)
        return done

    def _due(self) -> WalkedTable | None:
        """Return the table whose walk is due, the least recently walked first; None if none is."""
        now, never = self._now(), datetime.min.replace(tzinfo=UTC)
        walked = {table.key: self._walked.get(table.key, never) for table in WALKED[self.kind]}
        for table in sorted(WALKED[self.kind], key=lambda each: walked[each.key]):
            if now - walked[table.key] < table.every:
                continue
            if table_ready(table.key):
                return table
            if table.key not in self._said:
                self._said.add(table.key)
                self._say(f"Table {table.key} does not exist, so Insight does not count it.")
        return None

    def _end(self, table: WalkedTable) -> None:
        self._table, self._walked[table.key] = None, self._now()
        self.lease.renew(walked=dict(self._walked), place=None)

    def _note_end(self) -> None:
        """Record when everything was last read: the time of the oldest walk."""
        ran_at = min(self._walked.values(), default=self._ran_at or self._now())
        if ran_at != self._ran_at:
            self._ran_at = ran_at
            self.lease.renew(ran_at=ran_at)

    def _is_busy(self, done: WorkCounts) -> bool:
        # There is always a rest between two pages.
        return False

    def _is_through(self, done: WorkCounts) -> bool:
        return self._table is None

    def _details(self) -> dict[str, Any]:
        counts = {each.value: self.counts[each] for each in (WorkOutcome.READ, WorkOutcome.COUNTED, WorkOutcome.FAILED)}
        place = None
        if self._table is not None:
            # Table keys contain phone numbers and addresses.
            place = seal_data(_SEALED_AS, [self._table.key, self._start])
        return {"counts": counts, "place": place}

    def _opened(self, place: Any) -> tuple[WalkedTable | None, Raw | None]:
        """Return where the previous worker stopped; the beginning if that cannot be read."""
        try:
            key, start = unseal_data(_SEALED_AS, place) if isinstance(place, str) else ("", None)
        except (BadReference, TypeError, ValueError):
            return None, None
        table = next((each for each in WALKED[self.kind] if each.key == key), None)
        return table, start if table is not None else None
