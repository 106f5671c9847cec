"""Reading idempotency records: one by its key, those of a conversation, and the trail entries that name a key."""

from datetime import datetime, timedelta
from functools import partial

from console import clock
from console.audit import scoping
from console.audit.events.keys import decode
from console.audit.events.records import DIGESTS, EventPage, ProcessedEvent, UnrecordedKey, parts_of, record_of
from console.audit.queries import RECORD_INDEX, has_record_index
from console.audit.records import TrailPage
from console.audit.review.plan import EPOCHS, TIMESTAMPS, bounds
from console.audit.rows import display_names, note_recipients, row_of_entry
from console.errors import ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.store.calls import parallel
from console.store.models import SORT_KEY_BYTES, fits
from console.store.paging import PageSource, read_page
from console.trail.actions import is_live
from console.trail.models import AuditEntry, IdempotencyRecord

# The search of the trail starts a little before the event came in, as clocks differ.
EARLIER = timedelta(minutes=5)
ROUNDS, PER_READ = 3, 200
ENTRIES_SHOWN = 20

NO_INDEX = (
    "The idempotency table has no index by conversation here, so you can only find records by event id. "
    "To add the index, run manage.py tables check --cloudformation."
)
NO_TRAIL = "This environment has no trail table, so entries are not shown."
TRAIL_UNREADABLE = "The trail could not be read. Try again in a moment."
ENTRY_GONE = "The trail entry it names does not exist or has expired."
NO_ENTRY = "No entry in the conversation's trail has this key, or it has expired."


def read_event(key: str, staff: Staff) -> ProcessedEvent | UnrecordedKey:
    """Return a key's record, or what the key alone says, with the trail entries that name the key.

    Raises as `check_key`; if the trail cannot be read, a note says so.
    """
    item = check_key(key, staff)
    entries, note = _entries(key, item, staff)
    if item:
        names = scoping.recipient_names(_conversation_of(item))
        return ProcessedEvent(record_of(item, clock.now(), names), entries, note)
    decoded = decode(key)
    parts = parts_of(decoded)
    return UnrecordedKey(
        decoded.shown, decoded.description, parts, decoded.certain, decoded.conversation, entries, note
    )


def check_key(key: str, staff: Staff) -> IdempotencyRecord | None:
    """Return what `find_event` does, but None for a key that has no record and itself names a conversation in scope."""
    item = _in_scope(key, staff)
    conversation = decode(key).conversation
    if item is None and not (fits(key) and fits(conversation) and scoping.is_conversation_trail(conversation)):
        raise NotFound
    return item


def find_event(key: str, staff: Staff) -> IdempotencyRecord:
    """Return the record of a key: one strongly consistent GetItem, then a check of its conversation's scope.

    Raises `Forbidden` without `audit:review`; `NotFound` if it is absent, expired or out of scope, at the same cost;
    `TableMissing` and the store's other errors. A record that names no conversation is for scope "all" only.
    """
    item = _in_scope(key, staff)
    if item is None:
        raise NotFound
    return item


def _in_scope(key: str, staff: Staff) -> IdempotencyRecord | None:
    """Return the record of a key; None if it is absent and the person may know that."""
    staff.require(Permission.AUDIT_REVIEW)
    item = IdempotencyRecord.find(key) if fits(key) else None
    if item and clock.is_expired(item.plain("expires_at"), clock.now()):
        item = None
    if staff.scope.everything:
        return item
    named, conversation = _conversation_of(item) if item else "", decode(key).conversation
    try:
        scoping.check_scope(named or conversation or key, staff, ())
    except NotFound:
        if not conversation or named in ("", conversation):
            raise
        # Key and record name different conversations. If only the key's is in scope, show the key without a record.
        scoping.check_scope(conversation, staff, ())
        return None
    return item if named else None


def _conversation_of(item: IdempotencyRecord) -> str:
    found = item.plain("conversation_id")
    return found if isinstance(found, str) else ""


# --- The records of a conversation --------------------------------------------------------------------------------


def check_conversation(conversation_id: str, staff: Staff) -> None:
    """Raise `Forbidden` without `audit:review`, and `NotFound` unless the id is of a conversation in scope."""
    staff.require(Permission.AUDIT_REVIEW)
    if not fits(conversation_id) or not scoping.is_conversation_trail(conversation_id):
        raise NotFound
    scoping.check_scope(conversation_id, staff, ())


def has_index() -> bool:
    """Return whether records can be queried by conversation; True if that is unknown right now. Never raises."""
    try:
        return has_record_index()
    except ConsoleError:
        return True


def events_of(conversation_id: str, staff: Staff, cursor: str = "") -> EventPage:
    """Return a page of a conversation's records, newest first: a Query of the index, and one for its recipient's names.

    Without the index, an empty page says so. Raises as `check_conversation`, `TableMissing` and the store's errors.
    """
    check_conversation(conversation_id, staff)
    name = scoping.name_of(conversation_id)
    if not has_record_index():
        return EventPage(name, notice=NO_INDEX)
    page = read_page(records_of(conversation_id), staff.username, cursor)
    now, names = clock.now(), scoping.recipient_names(conversation_id)
    return EventPage(name, tuple(record_of(item, now, names) for item in page.items), page.next, page.back)


def records_of(conversation_id: str) -> PageSource[IdempotencyRecord]:
    """Return the source of a conversation's records, newest first, with all known attributes."""
    known = (attribute.attr_name for attribute in IdempotencyRecord.get_attributes().values())
    return PageSource(IdempotencyRecord, conversation_id, (*known, *DIGESTS), index=RECORD_INDEX, descending=True)


# --- The entries of the trail that name a key ---------------------------------------------------------------------


def _entries(key: str, item: IdempotencyRecord | None, staff: Staff) -> tuple[TrailPage, str]:
    """Return the trail entries that name a key, and a note if there are none."""
    try:
        found, note = _bearing(key, item)
    except TableMissing:
        return TrailPage(()), NO_TRAIL
    except ConsoleError:
        return TrailPage(()), TRAIL_UNREADABLE
    now = clock.now()
    shown = [entry for entry in found if is_live(entry, now) and _is_in_scope(entry, staff)][:ENTRIES_SHOWN]
    note_recipients(shown)
    names = display_names(shown)
    return TrailPage(tuple(row_of_entry(entry, names, item) for entry in shown)), "" if shown else note


def _bearing(key: str, item: IdempotencyRecord | None) -> tuple[list[AuditEntry], str]:
    """Return the entry that the record names, else those that a search finds, and a note for when there are none."""
    if item is None:
        return _search(key, decode(key).conversation, None)
    conversation, named = _conversation_of(item), item.plain("ts_action_id")
    if not conversation:
        return [], "The record names no conversation, so it has no trail."
    if not (isinstance(named, str) and fits(named, SORT_KEY_BYTES)):
        times = (clock.parse_instant(item.plain(name)) for name in ("received_at", "created_at"))
        first = min((each for each in times if each), default=None)
        return _search(key, conversation, first - EARLIER if first else None)
    try:
        return [AuditEntry.get(conversation, named, consistent_read=True)], ENTRY_GONE
    except NotFound:
        return [], ENTRY_GONE


def _is_in_scope(entry: AuditEntry, staff: Staff) -> bool:
    """Return whether the entry's company is in scope: two companies may have conversations with the same id."""
    company = entry.plain("company_id")
    return not company or staff.scope.covers_company(str(company))


def _search(key: str, conversation: str, since: datetime | None) -> tuple[list[AuditEntry], str]:
    """Return the entries with the key made since its event came in, and a note for when there are none.

    Timestamps and epochs are read in parallel, in at most `ROUNDS` rounds; the first round that finds any is the last.
    """
    # Without a date the range of timestamps includes the epochs.
    ranges = (TIMESTAMPS, EPOCHS) if since else (TIMESTAMPS,)
    walks = [
        AuditEntry.query(
            conversation,
            AuditEntry.ts_action_id.between(*bounds(number, since, None)),
            AuditEntry.idempotency_key == key,
            consistent_read=True,
            page_size=PER_READ,
        ).page_iter
        for number in ranges
    ]
    for _ in range(ROUNDS):
        pages = parallel(*(partial(next, walk, {}) for walk in walks))
        found = [AuditEntry.from_raw_data(raw) for page in pages for raw in page.get("Items", ())]
        if found or all(walk.last_evaluated_key is None for walk in walks):
            return found, NO_ENTRY
    looked_at = sum(walk.total_scanned_count for walk in walks)
    return [], f"None of the {looked_at:,} trail entries searched has this key."
