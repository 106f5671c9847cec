"""Keeps the rows of the queue's partitions true to the index (see `handoff.partitions`), after changes and when due."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import product

from console import clock
from console.errors import NotFound
from console.store.calls import ConditionFailed, parallel
from console.store.models import SORT_KEY_BYTES, fits, query
from console.store.presence import index_ready
from conversations.attention.causes import EXPIRES_WITHIN, causes_of, expires_at, is_awaited
from conversations.companies import all_companies
from conversations.handoff.partitions import (
    PARTITION,
    VISIBLE_WITHIN,
    PartitionSummary,
    QueueState,
    move_revision,
    new_revision,
    read_partitions,
)
from conversations.handoff.stored import (
    AGENT,
    ANSWERED_AT,
    ATTENTION,
    FLAG,
    HEARD_AT,
    QUEUE,
    REPLY_FAILED_AT,
    REQUESTED_AT,
    TAKEN_AT,
    Raw,
    flag_in,
    has_people,
    is_over,
    text_in,
)
from conversations.models import Conversation, HandOffQueueIndex
from conversations.workers.lease import INDEXER, read_heartbeats, write_heartbeat
from conversations.workers.streams.records import StreamChange

# Maximum conversations of a partition that are counted; of the held ones, whose holders are counted.
COUNTED, HELD_COUNTED = 100, 200
# When to look again if the index does not show yet what the stream has shown.
AGAIN_AFTER = timedelta(seconds=2)
TRIES = 3
# What the rows are made of.
_READ = (FLAG, AGENT, REQUESTED_AT, ATTENTION, HEARD_AT, TAKEN_AT, ANSWERED_AT, REPLY_FAILED_AT, "ttl")

ItemKey = tuple[str, str]
# The conversations that the stream showed of a partition: the time of each that is there, None for each that has left.
Expected = Mapping[ItemKey, str | None]


@dataclass(slots=True)
class PartitionContent:
    """What the index shows of a partition. `keys`: of all that was read; `again_at`: when time alone changes it."""

    keys: set[ItemKey] = field(default_factory=set)
    first: str | None = None
    last: str | None = None
    has_more: bool = False
    count: int = 0
    holders: Counter[str] = field(default_factory=Counter)
    awaited: Counter[str] = field(default_factory=Counter)
    troubled: int = 0
    again_at: datetime | None = None

    def add(self, raw: Raw, state: str, now: datetime) -> None:
        """Add the next conversation."""
        self.keys.add((raw["primary_channel"]["S"], raw["conversation_id"]["S"]))
        self.last = raw[REQUESTED_AT]["S"]
        self.first = self.first or self.last
        if is_over(raw, now):
            return
        if (expires := expires_at(raw)) is not None:
            times = (expires, expires - EXPIRES_WITHIN, self.again_at)
            self.again_at = min((at for at in times if at is not None and at > now), default=None)
        agent, causes = text_in(raw, AGENT), causes_of(raw, now)
        if state == QueueState.HELD and agent:
            self.holders[agent] += 1
            self.awaited[agent] += is_awaited(raw)
            self.troubled += bool(causes)
        # One that does not fit the state is about to leave the partition.
        match state:
            case QueueState.HELD:
                self.count += bool(agent)
            case QueueState.ATTENTION:
                self.count += bool(causes) and not has_people(raw)
            case _:
                self.count += flag_in(raw) and not agent


# Readers of the partitions that are not in the index, by state: see `register_reader`.
_readers: dict[str, Callable[[str], PartitionContent]] = {}


def register_reader(state: str, read: Callable[[str], PartitionContent]) -> None:
    """Register what reads a company's partition of a state that is not in the queue's index, once at start-up."""
    _readers[state] = read


def read_partition(partition: str, now: datetime) -> PartitionContent:
    """Read what the index shows of a partition: one Query. Raises the store's errors."""
    state, _, company_id = partition.partition("#")
    if state in _readers:
        return _readers[state](company_id)
    items, end = query(
        Conversation,
        partition,
        limit=HELD_COUNTED if state == QueueState.HELD else COUNTED,
        index=HandOffQueueIndex.Meta.index_name,
        attributes=("primary_channel", "conversation_id", *_READ),
    )
    found = PartitionContent(has_more=end is not None)
    for raw in items:
        found.add(raw, state, now)
    return found


def refresh(partition: str, expected: Expected | None = None) -> bool:
    """Write into a partition's row what the index shows now; return whether it was written.

    Not if somebody enters all the time: the row is due soon then. Raises the store's errors.
    """
    for _ in range(TRIES):
        try:
            row = PartitionSummary.get(PARTITION, partition, consistent_read=True)
        except NotFound:
            row = PartitionSummary(PARTITION, partition)
        now = clock.now()
        if _write(row, read_partition(partition, now), expected or {}, now):
            return True
    return False


def _write(row: PartitionSummary, found: PartitionContent, expected: Expected, now: datetime) -> bool:
    """Write the row if it is still as read, or delete it if there is nothing to say; return whether that was done."""
    as_read = PartitionSummary.revision == row.revision if row.revision else PartitionSummary.sk.does_not_exist()
    changed = changed_row(row, found, expected, now)
    try:
        if changed is None:
            if row.revision is not None:
                row.delete(as_read)
        else:
            attributes = PartitionSummary.get_attributes()
            row.update(
                actions=[
                    attributes[name].remove() if value is None else attributes[name].set(value)
                    for name, value in changed.items()
                ],
                condition=as_read,
            )
    except ConditionFailed:
        return False
    return True


def changed_row(
    row: PartitionSummary, found: PartitionContent, expected: Expected, now: datetime
) -> dict[str, object] | None:
    """Return the new values of a row's attributes, None to delete it. No I/O.

    An entry stays noted for `VISIBLE_WITHIN` after this process saw it, whatever the clock of whoever noted it says. An
    entry that the stream showed, but not the index, is noted again.
    """
    noted: list[str | None] = [row.entering, row.entered]
    turned_at = clock.parse_instant(row.turned_at)
    if any(noted) and (turned_at is None or now - turned_at > VISIBLE_WITHIN):
        noted, turned_at = [None, row.entering], now
    unseen = [
        since
        for key, since in expected.items()
        if since is not None and key not in found.keys and (not found.has_more or since <= (found.last or ""))
    ]
    entering, entered = min(filter(None, (noted[0], *unseen)), default=None), noted[1]
    if not (entering or entered or found.keys):
        return None
    lingers = any(since is None and key in found.keys for key, since in expected.items())
    due = [
        found.again_at,
        now + AGAIN_AFTER if unseen or lingers else None,
        (turned_at or now) + VISIBLE_WITHIN if entering or entered else None,
    ]
    due_at = min(filter(None, due), default=None)
    return {
        "revision": new_revision(),
        "first": found.first,
        "last": found.last,
        "entering": entering,
        "entered": entered,
        "turned_at": clock.to_iso(turned_at) if turned_at and (entering or entered) else None,
        "due_at": clock.to_iso(due_at) if due_at else None,
        "count": found.count,
        "has_more": found.has_more or None,
        "holders": dict(found.holders) or None,
        "awaited": dict(+found.awaited) or None,
        "troubled": found.troubled or None,
    }


def has_index() -> bool:
    """Return whether the queue's index can be read; looked up at most once a minute."""
    return index_ready("CONVERSATIONS", HandOffQueueIndex.Meta.index_name)


class TouchedPartitions:
    """The partitions that changes touched, until their rows are refreshed. Changes may be noted in parallel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: dict[str, dict[ItemKey, str | None]] = defaultdict(dict)
        self._is_news = False

    def note(self, change: StreamChange) -> None:
        """Note a record of the stream, after it was handled."""
        old, new = change.old or {}, change.new or {}
        before, after = text_in(old, QUEUE), text_in(new, QUEUE)
        if not before and not after:
            return
        with self._lock:
            self._is_news = True
            if before == after and all(old.get(name) == new.get(name) for name in _READ):
                return
            either = new or old
            key = either["primary_channel"]["S"], either["conversation_id"]["S"]
            if before:
                self._expected[before][key] = None
            if after:
                self._expected[after][key] = text_in(new, REQUESTED_AT)

    def refresh(self) -> None:
        """Refresh the rows, and tell open pages that there is something new. Raises the store's errors; repeatable."""
        if not self._is_news:
            return
        if has_index():
            refresh_all(self._expected, self._expected)
        self._expected.clear()
        move_revision()
        self._is_news = False


def refresh_all(partitions: Iterable[str], expected: Mapping[str, Expected] | None = None) -> None:
    """Refresh the rows of partitions, in parallel. Raises the store's errors."""
    known = [each for each in partitions if fits(each, SORT_KEY_BYTES)]
    parallel(*(partial(refresh, each, (expected or {}).get(each)) for each in known))


def refresh_due(now: datetime) -> int:
    """Refresh the rows that are due, and return their number. Raises the store's errors."""
    if not has_index():
        return 0
    due = [each.sk for each in read_partitions() if each.due_at is not None and each.due_at <= clock.to_iso(now)]
    if due:
        refresh_all(due)
        move_revision()
    return len(due)


def partitions_of_companies() -> Iterable[str]:
    """Yield the partitions of all known companies. Raises the store's errors."""
    return (state.of(each.company_id) for state, each in product(QueueState, all_companies()))


def fill_partitions(found: Iterable[str]) -> None:
    """Refresh the rows of the partitions that were found, and all others; from then on pages rely on the rows.

    Does nothing without the index. Raises the store's errors.
    """
    if not has_index():
        return
    refresh_all({*found, *(each.sk for each in read_partitions())})
    write_heartbeat(INDEXER, partitions_at=clock.now())
    move_revision()


def are_partitions_filled() -> bool:
    """Return whether the rows were ever filled: not by earlier versions. One read; raises the store's errors."""
    return bool(read_heartbeats([INDEXER])[INDEXER].get("partitions_at"))
