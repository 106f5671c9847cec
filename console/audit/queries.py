"""Reading trails: bounded pages, newest first, of entries that several services write (data model, section 5).

Sort keys of entries and records begin with a timestamp (`2026-…`), those of some services with an epoch (`17…` until
2033). Each kind is in order of time by itself; to get one order, the two are merged as instants.
"""

import heapq
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from console import clock, refs
from console.audit import scoping
from console.audit.records import HandOffEntry, TrailPage
from console.audit.rows import STAFF_ROLES, row_of_record, rows_and_records
from console.errors import NotAccepted, TableMissing
from console.permissions import Staff
from console.redaction import redact
from console.store.calls import parallel
from console.store.models import query
from console.store.presence import any_item, index_ready, table_ready
from console.trail.actions import (
    ANSWER_PREFIX,
    HAND_OFF_ACTIONS,
    HAND_OFF_PREFIX,
    instant_of,
    is_live,
    outcome_of,
    payload_of,
    text_in,
)
from console.trail.models import ActorIndex, AuditEntry, CompanyIndex, ConversationEventsIndex, IdempotencyRecord
from console.trees import text_of

# The first character of timestamps; epochs, until 2033, come before it.
SPLIT = "2"
RECORD_INDEX = ConversationEventsIndex.Meta.index_name


def read_entries(
    trail: str, *, epochs: bool, after: str = "", limit: int, hand_off: bool | None = None, answers: bool = False
) -> tuple[list[AuditEntry], str | None]:
    """Return entries older than the sort key `after` ("": the newest), and the sort key to continue after, or None.

    One strongly consistent Query that reads `limit` entries. `hand_off`: True for hand-off actions only, False for all
    others; `answers`: besides, what people said about whether an answer is needed. Raises the store's errors.
    """
    key = AuditEntry.ts_action_id
    # An entry without a readable type does not count as a hand-off.
    is_hand_off = AuditEntry.action_type.startswith(HAND_OFF_PREFIX)
    if answers:
        is_hand_off |= AuditEntry.action_type.startswith(ANSWER_PREFIX)
    items, end = query(
        AuditEntry,
        trail,
        key < SPLIT if epochs else key >= SPLIT,
        only=None if hand_off is None else is_hand_off if hand_off else ~is_hand_off,
        limit=limit,
        forward=False,
        consistent=True,
        start={"conversation_id": {"S": trail}, "ts_action_id": {"S": after}} if after else None,
    )
    return [AuditEntry.from_raw_data(raw) for raw in items], str(end["ts_action_id"]["S"]) if end else None


def trails_of(username: str, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the trails with that prefix in which a member of staff has entries, latest first.

    One Query of their newest `limit` entries; empty without the index by actor. Raises the store's errors.
    """
    index = ActorIndex.Meta.index_name
    if not index_ready("AUDIT", index):
        return ()
    items, _ = query(AuditEntry, username, index=index, limit=limit, forward=False)
    trails = (raw["conversation_id"].get("S", "") for raw in items)
    return tuple(dict.fromkeys(each for each in trails if each.startswith(prefix)))


def has_record_index() -> bool:
    """Return whether records can be queried by conversation. At most one DescribeTable a minute.

    Raises `TableMissing` without an idempotency table, and the store's other errors.
    """
    if not table_ready("IDEMPOTENCY"):
        raise TableMissing("IDEMPOTENCY")
    return index_ready("IDEMPOTENCY", RECORD_INDEX)


def read_records(
    conversation_id: str, *, epochs: bool | None = None, after: tuple[str, str] | None = None, limit: int
) -> tuple[list[IdempotencyRecord], tuple[str, str] | None]:
    """Return idempotency records after a (creation time, key) pair (None: the newest), and the pair to continue after.

    One Query of the index by conversation, which must exist. `epochs`: True for records dated by epochs, False for the
    others, None for both in text order, in which epochs come last. Raises the store's errors.
    """
    key = IdempotencyRecord.created_at
    names = ("conversation_id", "created_at", "event_id")
    items, end = query(
        IdempotencyRecord,
        conversation_id,
        None if epochs is None else key < SPLIT if epochs else key >= SPLIT,
        index=RECORD_INDEX,
        limit=limit,
        forward=False,
        start={name: {"S": value} for name, value in zip(names, (conversation_id, *after), strict=True)}
        if after
        else None,
    )
    place = (str(end["created_at"]["S"]), str(end["event_id"]["S"])) if end else None
    return [IdempotencyRecord.from_raw_data(raw) for raw in items], place


PAGE_SIZE = 50
# Hand-off entries of one conversation that its page reads: far more than people make.
HAND_OFFS_READ = 400
_RANGES = ("recent", "epochs")
_LATEST, _OLDEST = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)


def trail_page(trail: str, staff: Staff, cursor: str = "") -> TrailPage:
    """Return one page of a trail, newest first, merged with the idempotency records that its entries name.

    Checks role and scope. Two Queries and, for a conversation, one for its companies and its recipient's names, in
    parallel; then at most two BatchGetItems in parallel. Raises `Forbidden`, `NotFound` (out of scope), `TableMissing`
    and the store's other errors. A foreign or stale cursor gives the first page.
    """
    scoping.check_role(trail, staff)
    binding = ("trail", trail, staff.username)
    stored = refs.unseal_cursor(cursor, *binding) if cursor else None
    place = stored if isinstance(stored, dict) else {}
    starts = {name: place.get(name, "") for name in _RANGES}
    read: list[Any] = parallel(
        *(partial(_read_range, trail, start, name) for name, start in starts.items()),
        partial(scoping.known_conversation, trail),
    )
    known = read.pop()
    entries, after = _merge(starts, read)
    companies = {str(entry.plain("company_id")) for entry in entries if entry.plain("company_id")}
    companies.update(place.get("companies") or ())
    scoping.check_scope(trail, staff, companies, known)
    rows, records, missing = rows_and_records(entries, known.names)
    rows += [row for record in records if (row := row_of_record(record, known.names)) is not None]
    rows.sort(key=lambda row: row.at or _OLDEST, reverse=True)
    any_left = any(each is not None for each in after.values())
    return TrailPage(
        rows=tuple(rows),
        next=refs.seal_cursor(after | {"companies": sorted(companies)}, *binding) if any_left else "",
        notices=(missing,) if missing else (),
        recipient=known.names,
    )


def _merge(
    starts: dict[str, Any], read: list[tuple[list[AuditEntry], bool]]
) -> tuple[list[AuditEntry], dict[str, Any]]:
    """Merge the next entries of both ranges by instant; also return the place where the next page begins.

    A place maps each range to the sort key it continues after: "" for its beginning, None for its end.
    """
    tagged = ([(name, entry) for entry in entries] for name, (entries, _) in zip(starts, read, strict=True))
    # Entries without a readable time come first, so that they do not block those after them.
    merged = heapq.merge(*tagged, key=lambda pair: instant_of(pair[1]) or _LATEST, reverse=True)
    page = list(islice(merged, PAGE_SIZE))
    after: dict[str, Any] = {}
    for (name, start), (entries, more) in zip(starts.items(), read, strict=True):
        taken = [entry for of, entry in page if of == name]
        last = str(taken[-1].plain("ts_action_id")) if taken else start
        after[name] = last if more or len(taken) < len(entries) else None
    now = clock.now()
    return [entry for _, entry in page if is_live(entry, now)], after


def _read_range(trail: str, after: str | None, name: str) -> tuple[list[AuditEntry], bool]:
    if after is None:
        return [], False
    entries, end = read_entries(trail, epochs=name == "epochs", after=after, limit=PAGE_SIZE)
    return entries, end is not None


def company_has_entries(company_id: str) -> bool:
    """Return whether any entry names a company, tenant or organisation: one Query of one key of the index by company.

    False without that index. Raises the store's errors.
    """
    index = CompanyIndex.Meta.index_name
    try:
        return any_item("AUDIT", "gsi_company_id", company_id, index)
    except (NotAccepted, TableMissing):
        if index_ready("AUDIT", index):
            raise
        return False


def belongs_to_company(entry: AuditEntry, company_id: str) -> bool:
    """Return whether an entry belongs to that company's conversation, not to another company's with the same id.

    True for an entry that names no company, and if `company_id` is "" (unknown).
    """
    return not company_id or entry.plain("company_id") in (None, "", company_id)


def hand_off_entries(conversation_id: str, company_id: str = "") -> tuple[tuple[HandOffEntry, ...], bool]:
    """Return the hand-off actions among a conversation's latest entries, and whether the whole trail was read.

    With them, what people said about whether an answer is needed.
    Entries that name another company than `company_id` ("" if unknown) are left out. One strongly consistent Query:
    only the console writes these, with timestamps.
    """
    entries, more = read_entries(conversation_id, epochs=False, limit=HAND_OFFS_READ, hand_off=True, answers=True)
    now = clock.now()
    found = (_hand_off(entry) for entry in entries if belongs_to_company(entry, company_id) and is_live(entry, now))
    return tuple(each for each in found if each is not None), more is None


def _hand_off(entry: AuditEntry) -> HandOffEntry | None:
    action, at = str(entry.plain("action_type")), instant_of(entry)
    if not (action in HAND_OFF_ACTIONS or action.startswith(ANSWER_PREFIX)) or at is None:
        return None
    payload = payload_of(entry)
    reason = payload.get("reason")
    return HandOffEntry(
        at=at,
        action=action,
        actor=redact(text_of(entry.plain("actor") or "")),
        is_staff=text_in(entry, "actor_role") in STAFF_ROLES,
        outcome=outcome_of(entry),
        action_id=entry.action_id or "",
        reason=redact(text_of(reason))[:300] if isinstance(reason, str) else "",
        to=redact(text_of(payload.get("colleague") or "")),
    )
