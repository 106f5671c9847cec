"""One entry of a trail with everything that it says."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console import clock
from console.audit import scoping
from console.audit.queries import instant_of, rows_and_records, without_names_in
from console.audit.records import TrailRow
from console.audit.review.changes import SettingChange, changes_of
from console.audit.rows import as_payload, reference_of, text_in
from console.errors import ConsoleError, NotFound
from console.permissions import Staff
from console.redaction import redact, without_names
from console.schema.tables import table_name
from console.store.calls import beside
from console.store.connection import call
from console.trail.models import AuditEntry

# How far back in its trail an entry's previous action is looked for.
PREVIOUS_READ = 200


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One entry. Texts are redacted, but for `trail` and `key`, which only go into sealed references.

    `written_at` is the instant of its sort key, `row.at` when it happened, if that is told. `previous` is the sealed
    reference of the action before it, "" where it names none or it is gone. `changes`: before and after of settings.
    `has_record`: the idempotency record of its key was found. `names_company`: the entry says so itself, otherwise
    `company` is whose conversation it is, if that is known.
    """

    row: TrailRow
    trail: str = field(repr=False)
    key: str = field(repr=False)
    has_record: bool
    action_type: str
    actor: str
    company: str
    names_company: bool
    action_id: str
    previous_id: str
    previous: str
    written_at: datetime | None
    expires_at: datetime | None
    changes: tuple[SettingChange, ...]
    notices: tuple[str, ...]


def load_entry(trail: str, sort_key: str, staff: Staff) -> EntryRecord:
    """The entry of that key: one strongly consistent GetItem, then in parallel its record and its actor's name.

    Beside these one Query for the recipient's names of a conversation, which are masked. A previous action costs one
    Query more, and so does a conversation whose company it does not name. Raises
    `Forbidden` for a role that may not read trails of that kind, `NotFound` where it is not there, past its TTL or out
    of scope, and the store's errors.
    """
    scoping.check_role(trail, staff)
    entry = _read(trail, sort_key)
    company = text_in(entry, "company_id") if entry else ""
    owners = scoping.check_scope(trail, staff, [company] if company else [])
    if entry is None:
        raise NotFound
    with beside(scoping.recipient_names, trail) as reading:
        rows, records, missing = rows_and_records([entry])
    names = reading.result()
    [row] = without_names_in(rows, names)
    previous_id = text_in(entry, "previous_action_id")
    return EntryRecord(
        row=row,
        trail=trail,
        key=text_in(entry, "idempotency_key"),
        has_record=any(True for _ in records),
        action_type=redact(text_in(entry, "action_type")),
        actor=redact(text_in(entry, "actor")),
        company=redact(company or scoping.describe_owners(owners or _owners(trail))),
        names_company=bool(company),
        action_id=redact(text_in(entry, "action_id") or sort_key.partition("#")[2]),
        previous_id=redact(previous_id),
        previous=_previous(trail, sort_key, previous_id) if previous_id else "",
        written_at=instant_of(entry),
        expires_at=clock.parse_instant(entry.plain("expires_at")),
        changes=changes_of(without_names(as_payload(entry.plain("action_payload_redacted")), names)),
        notices=(missing,) if missing else (),
    )


def _read(trail: str, sort_key: str) -> AuditEntry | None:
    try:
        entry = AuditEntry.get(trail, sort_key, consistent_read=True)
    except NotFound:
        return None
    return None if clock.is_expired(entry.plain("expires_at"), clock.now()) else entry


def _owners(trail: str) -> frozenset[str]:
    """Of a conversation whose entry names none. The entry stands without them."""
    try:
        return scoping.companies_of(trail) if scoping.is_conversation_trail(trail) else frozenset()
    except ConsoleError:
        return frozenset()


def _previous(trail: str, sort_key: str, action_id: str) -> str:
    """The reference of the latest entry before this one that bears that action id. One Query."""
    request: dict[str, Any] = {
        "TableName": table_name("AUDIT"),
        "KeyConditionExpression": "conversation_id = :trail AND ts_action_id < :key",
        "FilterExpression": "action_id = :id",
        "ProjectionExpression": "conversation_id, ts_action_id",
        "ExpressionAttributeValues": {":trail": {"S": trail}, ":key": {"S": sort_key}, ":id": {"S": action_id}},
        "ScanIndexForward": False,
        "ConsistentRead": True,
        "Limit": PREVIOUS_READ,
        "ReturnConsumedCapacity": "TOTAL",
    }
    items = call("Query", **request).get("Items", [])
    return reference_of(AuditEntry.from_raw_data(items[0])) if items else ""
