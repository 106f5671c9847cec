"""One page of the queue, longest wait first, over any number of companies.

The index has a partition for each company and state. One Query of their rows (`handoff.partitions`) says how long
somebody in each may have waited, so a page opens only those partitions that may have a row on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pynamodb.expressions.condition import Condition

from console import clock
from console.errors import ConsoleError, NotAccepted, TableMissing
from console.permissions import Staff
from console.staff.colleagues import away_key
from console.store.calls import parallel
from console.store.connection import batch_get
from console.store.models import plain_item, query
from console.store.presence import index_absent
from console.store.streams import BEGINNING, Candidate, Chunk, Keyset, Merged, Place, Stream, merge, read_on
from conversations.companies import REVISION as COMPANIES_REVISION
from conversations.handoff.partitions import REVISION_KEY, PartitionSummary, QueueState, read_partitions
from conversations.models import SUMMARY_ATTRIBUTES, Conversation
from conversations.queue.pages import (
    STATES,
    URGENT,
    USUAL,
    QueueEntry,
    QueueFilters,
    QueuePage,
    QueueParameters,
    count_needed,
    count_tab,
    entry_of,
)
from conversations.queue_index.readiness import INDEX, indexer_health
from conversations.workers.beats import IndexerHealth, health_of
from conversations.workers.lease import INDEXER, LAMBDA, LEASE, STREAM

PAGE_SIZE = 25
# Maximum reads of a partition for a page. Without filters one is enough, unless rows have to be dropped.
READS_PER_PARTITION = 4
# Maximum rows of one read if they must be checked one by one.
FILTERED_LIMIT = 200
# Partitions that a page with filters opens first, each time twice as many, and at most. Without filters the counts tell
# how many are needed.
FIRST_OPENED, MOST_OPENED = 8, 120
# Sorts after every time.
_FOR_EVER = "~"


@dataclass(frozen=True, slots=True)
class QueuePulse:
    """The small items that a page of the queue depends on.

    `revision` changes after everything that its pages show, and `companies_revision` with the registry of companies.
    """

    health: IndexerHealth
    revision: str = ""
    companies_revision: str = ""
    is_away: bool = False

    @property
    def tells_changes(self) -> bool:
        """Whether the revision can be relied upon: the indexer follows the stream, and has heard of everything."""
        follows = self.health.mode in (STREAM, LAMBDA) and not self.health.is_behind
        return bool(self.revision) and self.health.is_reliable and follows


def read_pulse(staff: Staff) -> QueuePulse:
    """Read the items that a person's page of the queue depends on: one BatchGetItem.

    If it fails, only the indexer's health is known, at most `HEALTH_SECONDS` old. Raises the store's errors.
    """
    keys = [REVISION_KEY, COMPANIES_REVISION, {"pk": INDEXER, "sk": LEASE}, away_key(staff.username)]
    try:
        items = batch_get("CONSOLE", keys)
    except ConsoleError:
        return QueuePulse(indexer_health())
    found = {each["pk"]: each for each in map(plain_item, items)}
    revision, of_companies = (str(found.get(each["pk"], {}).get("revision", 0)) for each in keys[:2])
    return QueuePulse(health_of(found.get(INDEXER, {}), clock.now()), revision, of_companies, keys[3]["pk"] in found)


def read_tab(
    tab: str,
    staff: Staff,
    filters: QueueFilters,
    *,
    place: Keyset | None = None,
    back: bool = False,
    size: int = PAGE_SIZE,
    health: IndexerHealth | None = None,
    known: Sequence[PartitionSummary] | None = None,
) -> QueuePage:
    """Read rows of a tab after a place, longest wait first, or with `back` before it, shortest first.

    One Query of the partitions' rows, and one or two for each company whose longest wait may be on the page; one call
    less with the indexer's `health`, and with the `known` rows of a read just before. Raises the store's errors.
    """
    if not (health or indexer_health()).has_partitions:
        return QueuePage(indexed=False)
    partitions = partitions_in_scope(staff, read_partitions() if known is None else known)
    parameters = QueueParameters(tab, staff.username, filters, size, clock.now(), place, back)
    sources = [_Source(each, parameters) for each in partitions if each.state in STATES[tab]]
    try:
        page = _read_page([each for each in sources if each.may_list], parameters)
    except (NotAccepted, TableMissing):
        # DynamoDB refuses a missing index, so checking only now saves a call.
        if not index_absent("CONVERSATIONS", INDEX):
            raise
        return QueuePage(indexed=False)
    return replace(page, partitions=partitions)


def partitions_in_scope(staff: Staff, partitions: Iterable[PartitionSummary]) -> tuple[PartitionSummary, ...]:
    """Return those partitions whose company is in a person's scope."""
    return tuple(each for each in partitions if staff.scope.covers_company(each.company_id))


@dataclass(slots=True)
class _Source:
    """One partition of a page, opened when it may have the next row."""

    partition: PartitionSummary
    parameters: QueueParameters
    chunk: Chunk[QueueEntry] | None = None

    @property
    def rank(self) -> str:
        return URGENT if self.partition.state == QueueState.URGENT else USUAL

    @property
    def first(self) -> str:
        """The earliest order of its rows."""
        return self.rank + self.partition.since

    @property
    def last(self) -> str:
        """The latest order of its rows."""
        return self.rank + ((self.partition.last or "") if self.partition.is_certain else _FOR_EVER)

    @property
    def nearest(self) -> str:
        """The order of the row that a page may begin with."""
        return self.last if self.parameters.back else self.first

    @property
    def count(self) -> int:
        """The number of rows that the tab lists, when the indexer last looked."""
        return count_tab(self.parameters.tab, [self.partition], self.parameters.username).number

    @property
    def may_list(self) -> bool:
        """Whether it may have a row of the page."""
        filters, place = self.parameters.filters, self.parameters.place
        if filters.company and self.partition.company_id != filters.company:
            return False
        if self.partition.is_certain and not self.count:
            return False
        latest = filters.latest_since(self.parameters.now)
        if latest and self.partition.since > latest:
            return False
        return place is None or (self.first <= place.at if self.parameters.back else self.last >= place.at)


def _read_page(sources: list[_Source], parameters: QueueParameters) -> QueuePage:
    """Open partitions, the nearest first, until no other can have a row of the page, or the budget is spent."""
    closed = sorted(sources, key=lambda each: each.nearest, reverse=parameters.back)
    opened: list[_Source] = []
    wave, left = FIRST_OPENED, MOST_OPENED
    while True:
        merged = _merge(opened, closed, parameters)
        missing = parameters.size + 1 - len(merged.items)
        if missing <= 0 or not closed or not left:
            break
        if parameters.filters.narrows_rows:
            count = min(wave, left)
            wave, left = 2 * wave, left - count
        else:
            count = count_needed((each.count for each in closed), missing)
        opening, closed = closed[:count], closed[count:]
        parallel(*(partial(_open, each) for each in opening))
        opened += opening
    entries = [entry for entry, _ in merged.items]
    shown, at = tuple(entries[: parameters.size]), ""
    if missing <= 0:
        at = shown[-1].order[0]
    elif merged.after is not None and merged.reached is not None and not closed:
        at = merged.reached[0]
    seen = (each.mark for each in shown if each.order[0] == at)
    return QueuePage(
        shown,
        (parameters.place or Keyset()).after(at, *seen) if at else None,
        looked_at=sum(len(each.chunk.candidates) for each in opened if each.chunk is not None),
        thin=bool(at) and len(shown) < parameters.size,
        left_out=len({each.partition.company_id for each in closed}) if missing > 0 else 0,
    )


def _merge(opened: list[_Source], closed: list[_Source], parameters: QueueParameters) -> Merged[QueueEntry]:
    """Merge what was read; no further than where the nearest closed partition may have a row."""
    streams = [Stream(chunk=each.chunk) for each in opened if each.chunk is not None]
    if closed:
        below = (closed[0].nearest, _FOR_EVER if parameters.back else "")
        streams.append(Stream(chunk=Chunk(end=BEGINNING, below=below)))
    return merge(streams, parameters.size + 1, descending=parameters.back)


def _open(source: _Source) -> None:
    """Read the rows of a partition from the place on. Raises the store's errors."""
    parameters, rank = source.parameters, source.rank
    place, low, high = parameters.place, "", parameters.filters.latest_since(parameters.now)
    if place is not None and place.at[:1] == rank:
        low = "" if parameters.back else place.at[1:]
        high = min(filter(None, (high, place.at[1:]))) if parameters.back else high
    if low and high and low > high:
        source.chunk = Chunk()
        return
    seen = len(place.seen) if place else 0
    # Held conversations are of several persons.
    checks_rows = source.partition.state == QueueState.HELD or parameters.filters.narrows_rows
    limit = FILTERED_LIMIT if checks_rows else parameters.size + 1 + seen

    def read(start: Place) -> Chunk[QueueEntry]:
        items, end = query(
            Conversation,
            source.partition.sk,
            _between(low, high),
            limit=limit,
            index=INDEX,
            forward=not parameters.back,
            start=start or None,
            attributes=SUMMARY_ATTRIBUTES,
        )
        return Chunk([_candidate(raw, rank, parameters) for raw in items], end)

    source.chunk = read_on(read, BEGINNING, parameters.size + 1, READS_PER_PARTITION)


def _between(low: str, high: str) -> Condition | None:
    since = Conversation.hand_off_requested_at
    if low and high:
        return since.between(low, high)
    return since >= low if low else since <= high if high else None


def _candidate(raw: dict[str, dict[str, Any]], rank: str, parameters: QueueParameters) -> Candidate[QueueEntry]:
    """Build a candidate from a row of the index; one without an entry still marks how far the partition was read."""
    entry = entry_of(raw, parameters.now, rank)
    if entry is None:
        return Candidate((rank + raw["hand_off_requested_at"]["S"], ""), BEGINNING, None)
    return Candidate(entry.order, BEGINNING, entry if parameters.wants(entry) else None)


def read_index(partition: str, attributes: Iterable[str], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Read the `limit` longest waits of a partition of the index, as stored, and return whether there are more."""
    items, end = query(Conversation, partition, limit=limit, index=INDEX, attributes=attributes)
    return items, end is not None


def neighbour_in_tab(
    tab: str, staff: Staff, filters: QueueFilters, item: Conversation | None, *, back: bool
) -> QueueEntry | None:
    """Return the row after (or before) a conversation in a tab. One that has left the tab keeps its place by its wait.

    After one that is gone (`item` is None) or was handed back, return the first row.
    """
    row = QueueEntry.of(item, clock.now()) if item else None
    place = Keyset(*row.order[:1], (row.mark,)) if row and row.since else None
    if place is None and back:
        return None
    found = read_tab(tab, staff, filters, place=place, back=back, size=1)
    return found.entries[0] if found.entries else None
