"""Reading idempotency records: one by its key, those of a conversation, and the entries of the trail beside one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from console import clock
from console.audit import scoping
from console.audit.events.keys import decode
from console.audit.events.records import DIGESTS, EventPage, ProcessedEvent, UnrecordedKey, parts_of, record_of
from console.audit.names import name_of
from console.audit.queries import display_names, instant_of
from console.audit.records import TrailPage, TrailRow
from console.audit.review.streams import EPOCHS, TIMESTAMPS, bounds
from console.audit.rows import row_of_entry
from console.errors import ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.schema.tables import table_name
from console.store.calls import parallel
from console.store.connection import call
from console.store.keys import SORT_KEY_BYTES, fits
from console.store.paging import PageSource, read_page
from console.store.presence import index_ready, table_ready
from console.trail.models import AuditEntry, ConversationEventsIndex, IdempotencyRecord

INDEX = ConversationEventsIndex.Meta.index_name
# The trail is searched from a little before the event came in, as clocks differ: rounds of two Queries of so many.
EARLIER = timedelta(minutes=5)
ROUNDS, PER_READ = 3, 200
ENTRIES_SHOWN = 20

NO_INDEX = (
    "The idempotency table has no index by conversation here, so you can only find records by event id. An "
    "operator can add the index with manage.py tables apply --foreign."
)
NO_TRAIL = "This environment has no trail table, so entries are not shown."
TRAIL_UNREADABLE = "The trail could not be read. Try again in a moment."
ENTRY_GONE = "The trail entry it names does not exist or has expired."
NO_ENTRY = "No entry in the conversation's trail has this key, or it has expired."


def read_event(key: str, staff: Staff) -> ProcessedEvent | UnrecordedKey:
    """A record, or what its key says alone where there is none, with the entries in the trail that bear the key.

    Raises as `check_key`; a trail that cannot be read is said.
    """
    item = check_key(key, staff)
    if item:
        return ProcessedEvent(record_of(item, clock.now()), *_attempted(partial(_entries_of, item, staff)))
    decoded = decode(key)
    entries = partial(_entries_with, key, decoded.conversation, staff)
    parts = parts_of(decoded)
    return UnrecordedKey(
        decoded.shown, decoded.description, parts, decoded.certain, decoded.conversation, *_attempted(entries)
    )


def check_key(key: str, staff: Staff) -> IdempotencyRecord | None:
    """As `find_event`, but None for a key that has no record and tells by itself of which conversation it is."""
    item = _in_scope(key, staff)
    conversation = decode(key).conversation
    if item is None and not (fits(key) and fits(conversation) and scoping.is_conversation_trail(conversation)):
        raise NotFound
    return item


def find_event(key: str, staff: Staff) -> IdempotencyRecord:
    """The record of a key: one strongly consistent GetItem, and its conversation's scope.

    Raises `Forbidden` without `audit:review`, `NotFound` where there is none, where it has expired and where it is out
    of scope (which costs the same), `TableMissing` and the store's other errors. A record that names no conversation is
    for scope "all" only.
    """
    item = _in_scope(key, staff)
    if item is None:
        raise NotFound
    return item


def _in_scope(key: str, staff: Staff) -> IdempotencyRecord | None:
    """The record of a key, None where that person may know that it is not there."""
    staff.require(Permission.AUDIT_REVIEW)
    item = _stored(key)
    if staff.scope.everything:
        return item
    named, conversation = _conversation_of(item) if item else "", decode(key).conversation
    try:
        scoping.check_scope(named or conversation or key, staff, ())
    except NotFound:
        if not conversation or named in ("", conversation):
            raise
        # Of two conversations that disagree the key's may still be theirs: for them it has no record.
        scoping.check_scope(conversation, staff, ())
        return None
    return item if named else None


def _stored(key: str) -> IdempotencyRecord | None:
    if not fits(key):
        return None
    try:
        item = IdempotencyRecord.get(key, consistent_read=True)
    except NotFound:
        return None
    return None if clock.is_expired(item.plain("expires_at"), clock.now()) else item


def _conversation_of(item: IdempotencyRecord) -> str:
    found = item.plain("conversation_id")
    return found if isinstance(found, str) else ""


# --- The records of a conversation --------------------------------------------------------------------------------


def check_conversation(conversation_id: str, staff: Staff) -> None:
    """Raise `Forbidden` without `audit:review`, `NotFound` for what is no conversation in the person's scope."""
    staff.require(Permission.AUDIT_REVIEW)
    if not fits(conversation_id) or not scoping.is_conversation_trail(conversation_id):
        raise NotFound
    scoping.check_scope(conversation_id, staff, ())


def has_index() -> bool:
    """Whether records can be found by conversation; also where that cannot be told just now. Never raises."""
    try:
        return not table_ready("IDEMPOTENCY") or index_ready("IDEMPOTENCY", INDEX)
    except ConsoleError:
        return True


def events_of(conversation_id: str, staff: Staff, cursor: str = "") -> EventPage:
    """A page of a conversation's records, newest first: one Query of the index.

    Without the index an empty page says so. Raises as `check_conversation`, `TableMissing` and the store's errors.
    """
    check_conversation(conversation_id, staff)
    name = name_of(conversation_id)
    if not table_ready("IDEMPOTENCY"):
        raise TableMissing("IDEMPOTENCY")
    if not index_ready("IDEMPOTENCY", INDEX):
        return EventPage(name, notice=NO_INDEX)
    page = read_page(records_of(conversation_id), staff.username, cursor)
    now = clock.now()
    return EventPage(name, tuple(record_of(item, now) for item in page.items), page.next, page.back)


def records_of(conversation_id: str) -> PageSource[IdempotencyRecord]:
    """The list of a conversation's records, newest first, with the attributes that schema and console know."""
    known = (attribute.attr_name for attribute in IdempotencyRecord.get_attributes().values())
    return PageSource(IdempotencyRecord, conversation_id, (*known, *DIGESTS), index=INDEX, descending=True)


# --- The entries of the trail that bear a key ---------------------------------------------------------------------

Rows = tuple[tuple[TrailRow, ...], str]


def _attempted(read: Callable[[], Rows]) -> tuple[TrailPage, str]:
    """The entries, and why there are none: what a key or record says stands without them."""
    try:
        rows, note = read()
    except TableMissing:
        rows, note = (), NO_TRAIL
    except ConsoleError:
        rows, note = (), TRAIL_UNREADABLE
    return TrailPage(rows), note


def _entries_of(item: IdempotencyRecord, staff: Staff) -> Rows:
    conversation, named = _conversation_of(item), item.plain("ts_action_id")
    if not conversation:
        return (), "The record names no conversation, so it has no trail."
    if isinstance(named, str) and fits(named, SORT_KEY_BYTES):
        try:
            found, note = [AuditEntry.get(conversation, named, consistent_read=True)], ENTRY_GONE
        except NotFound:
            return (), ENTRY_GONE
    else:
        found, note = _search(str(item.plain("event_id")), conversation, _since(item))
    return _rows(found, note, staff, item)


def _entries_with(key: str, conversation: str, staff: Staff) -> Rows:
    return _rows(*_search(key, conversation, None), staff, None)


def _rows(found: list[AuditEntry], note: str, staff: Staff, item: IdempotencyRecord | None) -> Rows:
    now = clock.now()
    shown = [entry for entry in found if not clock.is_expired(entry.plain("expires_at"), now)]
    shown = [entry for entry in shown if _is_in_scope(entry, staff)][:ENTRIES_SHOWN]
    names = display_names(shown)
    return tuple(row_of_entry(entry, instant_of(entry), names, item) for entry in shown), "" if shown else note


def _is_in_scope(entry: AuditEntry, staff: Staff) -> bool:
    """An entry that names another company is of another conversation with the same id."""
    company = entry.plain("company_id")
    return not company or staff.scope.covers_company(str(company))


def _search(key: str, conversation: str, since: datetime | None) -> tuple[list[AuditEntry], str]:
    """Entries with the key among those made since its event came in, and what to say where there are none.

    Timestamps and epochs at once, in at most `ROUNDS` rounds; the first round that finds any is the last.
    """
    # Without a date the range of timestamps holds the epochs too.
    ranges = (TIMESTAMPS, EPOCHS) if since else (TIMESTAMPS,)
    walks = [_EventWalk(conversation, key, *bounds(number, since, None)) for number in ranges]
    for _ in range(ROUNDS):
        parallel(*(walk.read for walk in walks if not walk.ended))
        found = [entry for walk in walks for entry in walk.found]
        if found or all(walk.ended for walk in walks):
            return found, NO_ENTRY
    looked_at = sum(walk.looked_at for walk in walks)
    return [], f"No entry with this key is among the {looked_at:,} entries of the trail that were looked at."


def _since(item: IdempotencyRecord) -> datetime | None:
    times = [clock.parse_instant(item.plain(name)) for name in ("received_at", "created_at")]
    known = [each for each in times if each is not None]
    return min(known) - EARLIER if known else None


@dataclass(slots=True)
class _EventWalk:
    """A range of a trail, read from its beginning for entries with one key."""

    trail: str
    key: str
    low: str
    high: str
    found: list[AuditEntry] = field(default_factory=list)
    looked_at: int = 0
    ended: bool = False
    _start: dict[str, Any] | None = None

    def read(self) -> None:
        """One Query. Raises the store's errors."""
        request: dict[str, Any] = {
            "TableName": table_name("AUDIT"),
            "KeyConditionExpression": "conversation_id = :trail AND ts_action_id BETWEEN :low AND :high",
            "FilterExpression": "idempotency_key = :key",
            "ExpressionAttributeValues": {
                ":trail": {"S": self.trail},
                ":low": {"S": self.low},
                ":high": {"S": self.high},
                ":key": {"S": self.key},
            },
            "ConsistentRead": True,
            "Limit": PER_READ,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self._start:
            request["ExclusiveStartKey"] = self._start
        answer = call("Query", **request)
        self.found += [AuditEntry.from_raw_data(raw) for raw in answer["Items"]]
        self.looked_at += int(answer.get("ScannedCount") or 0)
        self._start = answer.get("LastEvaluatedKey")
        self.ended = self._start is None
