"""Reading trails: bounded pages, newest first, of entries that several services write (data model, section 5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from console import clock, refs
from console.audit import scoping
from console.audit.history import read_entries
from console.audit.records import HandOffEntry, TrailPage, TrailRow
from console.audit.rows import as_payload, colleagues_in, may_be_later, moment_of, row_of_entry, row_of_record
from console.errors import ConsoleError, NotAccepted, TableMissing
from console.permissions import Role, Staff
from console.redaction import redact, without_names
from console.staff.models import StaffAccount
from console.store.batches import batch_get
from console.store.calls import beside, parallel
from console.store.existence import any_item
from console.store.keys import fits
from console.store.presence import index_ready
from console.trail.actions import HAND_OFF_ACTIONS
from console.trail.models import AuditEntry, CompanyIndex, IdempotencyRecord
from console.trail.results import outcome_of
from console.trees import clean, text_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PAGE_SIZE = 50
# Hand-offs of one conversation that its page looks at: far more than people make.
HAND_OFFS_READ = 400
# What a trail's page or an export shows of an entry: `sentence`, `note` and `payload` tell what somebody wrote.
Row = TypeVar("Row", bound="DataclassInstance")
STAFF_ROLES = frozenset(role.value for role in Role)


def trail_page(trail: str, staff: Staff, cursor: str = "") -> TrailPage:
    """One page of a trail for a person: role and scope checked, newest first, the idempotency records beside it.

    Two Queries in parallel, then at most two BatchGetItems in parallel, and of a conversation beside them one Query for
    its recipient's names, which its rows do not tell. Raises `Forbidden`, `NotFound` (out of scope),
    `TableMissing` and the store's other errors. A foreign or stale cursor gives the first page.
    """
    scoping.check_role(trail, staff)
    position = refs.unseal_cursor(cursor, "trail", trail, staff.username) if cursor else None
    entries, position = _read_page(trail, position)
    companies = {str(entry.plain("company_id")) for entry in entries if entry.plain("company_id")}
    position.companies = sorted(companies.union(position.companies))
    scoping.check_scope(trail, staff, position.companies)
    with beside(scoping.recipient_names, trail) as reading:
        page = page_of(entries, next_cursor=_seal(position, trail, staff))
    names = reading.result()
    return replace(page, rows=without_names_in(page.rows, names), recipient=names)


def exists(company_id: str) -> bool:
    """Whether any entry names a company, tenant or organisation: one Query of one key of the index of companies.

    Without that index nothing is found by a company: False. Raises the store's errors.
    """
    try:
        return any_item("AUDIT", "gsi_company_id", company_id, CompanyIndex.Meta.index_name)
    except (NotAccepted, TableMissing):
        if index_ready("AUDIT", CompanyIndex.Meta.index_name):
            raise
        return False


def is_of(entry: AuditEntry, company_id: str) -> bool:
    """Whether an entry is of that company's conversation: one that names another is of one with the same id.

    "" stands for an unknown company, of which every entry may be.
    """
    return not company_id or entry.plain("company_id") in (None, "", company_id)


def hand_off_entries(conversation_id: str, company_id: str = "") -> tuple[tuple[HandOffEntry, ...], bool]:
    """The hand-off actions among the latest entries of a conversation's trail, and whether that was all of it.

    Entries that name another company than `company_id` ("" for an unknown one) are left out.

    One strongly consistent Query: only the console writes these, with timestamps.
    """
    entries, more = read_entries(conversation_id, epochs=False, limit=HAND_OFFS_READ, hand_off=True)
    now = clock.now()
    found = (_hand_off(entry, now) for entry in entries if is_of(entry, company_id))
    return tuple(each for each in found if each is not None), more is None


def _hand_off(entry: AuditEntry, now: datetime) -> HandOffEntry | None:
    action, at = str(entry.plain("action_type")), instant_of(entry)
    if action not in HAND_OFF_ACTIONS or at is None or clock.is_expired(entry.plain("expires_at"), now):
        return None
    payload = as_payload(entry.plain("action_payload_redacted"))
    reason = payload.get("reason") if isinstance(payload, dict) else None
    return HandOffEntry(
        at=at,
        action=action,
        actor=redact(text_of(entry.plain("actor") or "")),
        is_staff=entry.plain("actor_role") in STAFF_ROLES,
        outcome=outcome_of(entry),
        action_id=entry.action_id or "",
        reason=redact(text_of(reason))[:300] if isinstance(reason, str) else "",
    )


def instant_of(entry: AuditEntry) -> datetime | None:
    """When an entry was made: the timestamp that its sort key begins with, in whichever spelling."""
    return clock.parse_instant(str(entry.plain("ts_action_id") or "").split("#", 1)[0])


def happened_at(entry: AuditEntry) -> datetime | None:
    """When it was, as its row shows it: the instant of its key, or a later one of the same period that it tells."""
    at, action = instant_of(entry), entry.plain("action_type")
    if at is None or not may_be_later(action, at):
        return at
    return moment_of(action, at, as_payload(entry.plain("action_payload_redacted")))


@dataclass(slots=True)
class _TrailPosition:
    """Where a page ended: the sort key after which each range goes on ("" for its beginning, None for its end)."""

    recent: str | None = ""
    epochs: str | None = ""
    companies: Sequence[str] = ()

    @classmethod
    def of(cls, stored: Any) -> "_TrailPosition":
        if not isinstance(stored, dict):
            return cls()
        return cls(stored.get("recent"), stored.get("epochs"), stored.get("companies") or ())


def _seal(position: _TrailPosition, trail: str, staff: Staff) -> str:
    if position.recent is None and position.epochs is None:
        return ""
    stored = {"recent": position.recent, "epochs": position.epochs, "companies": list(position.companies)}
    return refs.seal_cursor(stored, "trail", trail, staff.username)


def _read_page(trail: str, stored: Any) -> tuple[list[AuditEntry], _TrailPosition]:
    """The next entries of both ranges, merged as instants, and where the page after them begins."""
    position = _TrailPosition.of(stored)
    (recent, more_recent), (epochs, more_epochs) = parallel(
        partial(_range, trail, position.recent, epochs=False),
        partial(_range, trail, position.epochs, epochs=True),
    )
    page, used_recent, used_epochs = _merge(recent, epochs)
    after = _TrailPosition(
        _resume(position.recent, recent[:used_recent], more=more_recent or used_recent < len(recent)),
        _resume(position.epochs, epochs[:used_epochs], more=more_epochs or used_epochs < len(epochs)),
        position.companies,
    )
    now = clock.now()
    return [entry for entry in page if not clock.is_expired(entry.plain("expires_at"), now)], after


def _merge(recent: list[AuditEntry], epochs: list[AuditEntry]) -> tuple[list[AuditEntry], int, int]:
    """The newest entries of both ranges, and how many of each: always its first, so that none is skipped."""
    page: list[AuditEntry] = []
    one = other = 0
    while len(page) < PAGE_SIZE and (one < len(recent) or other < len(epochs)):
        if other == len(epochs) or (one < len(recent) and _newest(recent[one]) >= _newest(epochs[other])):
            page.append(recent[one])
            one += 1
        else:
            page.append(epochs[other])
            other += 1
    return page, one, other


def _newest(entry: AuditEntry) -> datetime:
    """For merging: what has no readable time goes first, so that it does not hold up what lies behind it."""
    return instant_of(entry) or datetime.max.replace(tzinfo=UTC)


def _resume(before: str | None, taken: list[AuditEntry], *, more: bool) -> str | None:
    """The sort key after which a range goes on; None at its end."""
    if not more:
        return None
    return str(taken[-1].plain("ts_action_id")) if taken else before


def _range(trail: str, after: str | None, *, epochs: bool) -> tuple[list[AuditEntry], bool]:
    if after is None:
        return [], False
    entries, end = read_entries(trail, epochs=epochs, after=after, limit=PAGE_SIZE)
    return entries, end is not None


def page_of(entries: Sequence[AuditEntry], next_cursor: str = "") -> TrailPage:
    """Rows of entries and of the idempotency records that they name, in one order of time, newest first."""
    rows, records, missing = rows_and_records(entries)
    rows += [row for record in records if (row := row_of_record(record)) is not None]
    oldest = datetime.min.replace(tzinfo=UTC)
    rows.sort(key=lambda row: row.at or oldest, reverse=True)
    return TrailPage(tuple(rows), next_cursor, (missing,) if missing else ())


def rows_of(entries: Sequence[AuditEntry]) -> TrailPage:
    """Rows of these entries alone, in their order: each tells of its record, which has no row. No cursor.

    Two BatchGetItems in parallel for up to 100 entries: the records, and the names of staff.
    """
    rows, _, missing = rows_and_records(entries)
    return TrailPage(tuple(rows), notices=(missing,) if missing else ())


def without_names_in(rows: Iterable[Row], names: tuple[str, ...]) -> tuple[Row, ...]:
    """Rows of one conversation's trail in which its recipient's names are masked (`scoping.recipient_names`)."""
    if not names:
        return tuple(rows)
    fields = ("sentence", "note", "payload")
    return tuple(replace(row, **{name: without_names(getattr(row, name), names) for name in fields}) for row in rows)


def rows_and_records(entries: Sequence[AuditEntry]) -> tuple[list[TrailRow], Iterable[IdempotencyRecord], str]:
    """A row of each entry, in their order; the records that they name; and a line on why those could not be read.

    Two BatchGetItems in parallel for up to 100 entries: the records, and the names of staff.
    """
    keys = _keys_of(entries)
    found: list[Any] = parallel(partial(_records, keys), partial(display_names, entries))
    (records, missing), names = found
    rows = [row_of_entry(entry, instant_of(entry), names, records.get(key_of(entry))) for entry in entries]
    if missing:
        # What could not be read is not said to be absent.
        rows = [replace(row, record="") for row in rows]
    return rows, records.values(), missing


def key_of(entry: AuditEntry) -> str:
    """The idempotency key that an entry names; "" where it names none that could be one."""
    key = entry.plain("idempotency_key")
    # Longer ones cannot be keys of the table, and one would fail the whole batch.
    return key if isinstance(key, str) and fits(key) else ""


def _keys_of(entries: Iterable[AuditEntry]) -> list[str]:
    return list(dict.fromkeys(key for entry in entries if (key := key_of(entry))))


def _records(keys: list[str]) -> tuple[dict[str, IdempotencyRecord], str]:
    """The idempotency records of these keys that are there, and a line on why none could be read."""
    try:
        found = batch_get("IDEMPOTENCY", [{"event_id": key} for key in keys])
    except TableMissing:
        return {}, "This environment has no idempotency table, so the trail is shown without records."
    except ConsoleError:
        return {}, "The idempotency records could not be read. Try again in a moment."
    now = clock.now()
    records = (IdempotencyRecord.from_raw_data(raw) for raw in found)
    kept = (each for each in records if not clock.is_expired(each.plain("expires_at"), now))
    return {str(each.plain("event_id")): each for each in kept}, ""


def display_names(entries: Iterable[AuditEntry]) -> dict[str, str]:
    """Names of the staff in these entries by username; a trail reads without them too."""
    of_staff = [entry for entry in entries if entry.plain("actor_role") in STAFF_ROLES]
    wanted = {clean(str(entry.plain("actor"))) for entry in of_staff}
    wanted.update(who for entry in of_staff for who in colleagues_in(entry))
    usernames = sorted(name for name in wanted if fits(name))
    try:
        found = batch_get("STAFF", [{"username": name} for name in usernames], ("username", "display_name"))
    except ConsoleError:
        return {}
    accounts = (StaffAccount.from_raw_data(raw) for raw in found)
    return {account.username: account.display_name for account in accounts if account.display_name}
