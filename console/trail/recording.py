"""Writing the trail. The console never writes domain data or shows personal data without an entry."""

import json
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, NotAccepted, TableMissing, Throttled
from console.permissions import Staff
from console.redaction import redact_value
from console.store.calls import ConditionFailed, table_name
from console.store.connection import note_absent, transaction
from console.store.presence import table_ready
from console.trail.actions import REVIEW_PARTITION_OF, Action, Result
from console.trail.models import AuditEntry

logger = logging.getLogger(__name__)

MINUTE = timedelta(minutes=1)

# Partition prefixes of the trails that do not belong to a conversation.
STAFF_TRAIL, TENANT_TRAIL, CHAT_TRAIL, THREAD_TRAIL = "STAFF#", "TENANT#", "CHAT#", "THREAD#"
SYSTEM_TRAIL = "SYSTEM"


def conversation_trail(conversation_id: str) -> str:
    """Return the partition of a conversation's trail."""
    return conversation_id


def staff_trail(username: str) -> str:
    """Return the partition of a member of staff's own trail (sign-ins, changes of the account)."""
    return f"{STAFF_TRAIL}{username}"


def tenant_trail(tenant_id: str) -> str:
    """Return the partition of a tenant's trail."""
    return f"{TENANT_TRAIL}{tenant_id}"


def chat_trail(session_id: str) -> str:
    """Return the partition of the trail of a chatbot's session, or of its user (schema chatbot-sessions)."""
    return f"{CHAT_TRAIL}{session_id}"


def thread_trail(organisation: str, key: str) -> str:
    """Return the partition of a thread's trail; `key` is the part of its own key after the organisation."""
    return f"{THREAD_TRAIL}{organisation}#{key}"


class NoTrail(TableMissing):
    """The trail's table is missing, so nothing that must be recorded can be done."""

    def __init__(self, what: str, so: str) -> None:
        super().__init__("AUDIT")
        self.args = (
            f"{what} only if the trail can record it. The trail's table is missing in this environment, so {so}.",
        )


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of an action: a member of staff, a service, or an operator at the command line."""

    name: str
    role: str

    @classmethod
    def of(cls, staff: Staff) -> "Actor":
        """Return the actor for a signed-in member of staff."""
        return cls(staff.username, staff.role.value)


PLATFORM = Actor("platform", "service")
COMMAND_LINE = Actor("command-line", "operator")


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """An entry to record. `payload` is redacted before it is written, but should contain no free text of customers."""

    trail: str
    action: Action
    actor: Actor
    company_id: str = ""
    result: str = Result.SUCCESS
    payload: dict[str, Any] = field(default_factory=dict)
    action_id: str = ""
    idempotency_key: str = ""
    previous_action_id: str = ""


def new_action_id() -> str:
    """Make a new action id: 32 hex digits."""
    return uuid.uuid4().hex


def sort_key(at: datetime, action_id: str) -> str:
    """Return the `ts_action_id` of an entry: UTC timestamp and action id."""
    return f"{clock.to_iso(at)}#{action_id}"


def build(entry: TrailEntry, at: datetime) -> AuditEntry:
    """Build the item of an entry without writing it, for transactions."""
    action_id = entry.action_id or new_action_id()
    return AuditEntry(
        conversation_id=entry.trail,
        ts_action_id=sort_key(at, action_id),
        action_type=entry.action.value,
        action_payload_redacted=json.dumps(redact_value(entry.payload), ensure_ascii=False, sort_keys=True),
        idempotency_key=entry.idempotency_key or None,
        result=entry.result,
        expires_at=clock.to_epoch(at + timedelta(days=settings.AUDIT_RETENTION_DAYS)),
        actor=entry.actor.name,
        actor_role=entry.actor.role,
        company_id=entry.company_id or None,
        gsi_actor=entry.actor.name,
        gsi_company_id=entry.company_id or None,
        gsi_review=REVIEW_PARTITION_OF.get(entry.action),
        action_id=action_id,
        previous_action_id=entry.previous_action_id or None,
    )


def record(entry: TrailEntry, at: datetime | None = None) -> None:
    """Write one entry. Raises the store's errors: no entry, no action."""
    # The key contains a new id, so repeating the put after a lost response writes the same item again.
    build(entry, at or clock.now()).save()


def save_once(item: AuditEntry) -> bool:
    """Write an entry whose key is derived from its content, unless it exists; return whether this call wrote it.

    It records nothing that the console did, so it has no action id. Raises the store's errors.
    """
    item.action_id = None
    # An entry that is recorded late lives as long as others.
    item.expires_at = clock.to_epoch(clock.now() + timedelta(days=settings.AUDIT_RETENTION_DAYS))
    try:
        item.save(condition=AuditEntry.conversation_id.does_not_exist())
    except ConditionFailed:
        return False
    return True


def record_where_possible(entry: TrailEntry) -> None:
    """Write one entry if this environment has a trail: for what must work without one, such as signing in."""
    try:
        record(entry)
    except TableMissing:
        logger.warning("Not recorded, because there is no trail in this environment: %s", entry.action.value)


def write_with_entry(entry: AuditEntry, add: Callable[[TransactWrite], None]) -> None:
    """Write to the console's own tables together with the trail entry, in one transaction.

    Without a trail table only the other writes are made: otherwise nobody could sign in to read.
    """
    try:
        with transaction() as writes:
            add(writes)
            writes.save(entry)
    except TableMissing:
        if table_ready("AUDIT"):
            raise
        note_absent(table_name("AUDIT"))
        logger.warning("Not recorded, because there is no trail in this environment: %s", entry.action_type)
        with transaction() as writes:
            add(writes)


def record_once(entry: TrailEntry, about: str, period: timedelta) -> None:
    """Write an entry unless its trail has one of that action and `about` in this period.

    The key consists of the start of the period, the action and `about`, so concurrent requests write one entry; the
    payload has the exact time. `period` divides a day.
    """
    with suppress(ConditionFailed):
        _build_for_period(entry, about, period).save(condition=AuditEntry.conversation_id.does_not_exist())


def _build_for_period(entry: TrailEntry, about: str, period: timedelta) -> AuditEntry:
    now = clock.now()
    payload = entry.payload | {"at": clock.to_iso(now)}
    unique = replace(entry, action_id=f"{entry.action.value}.{about}", payload=payload)
    return build(unique, clock.floored(now, period))


def record_counted(entry: TrailEntry, about: str) -> None:
    """Write an entry, or add one to `times` of the entry with that action and `about` in this minute.

    Repetition cannot fill a trail. It is one write, first or not, so its cost reveals nothing; a write repeated after a
    lost response may count twice. Raises the store's errors.
    """
    counted = _build_for_period(entry, about, MINUTE)
    stored = [
        (each, value)
        for name, each in AuditEntry.get_attributes().items()
        if (value := getattr(counted, name)) is not None and not (each.is_hash_key or each.is_range_key)
    ]
    first = [each.set(each | value) for each, value in stored]
    counted.update(actions=[*first, AuditEntry.times.set((AuditEntry.times | 0) + 1)])


def record_once_an_hour(entry: TrailEntry) -> None:
    """Write one entry per actor and hour, as `record_once` does; redacted and raw views are recorded separately."""
    shown = entry.payload.get("shown", "raw")
    about = entry.actor.name if shown == "raw" else f"{shown}:{entry.actor.name}"
    record_once(entry, about, timedelta(hours=1))


def write_with_pending_entry(entry: TrailEntry, write: Callable[[], None]) -> None:
    """Make one conditional write with its entry in the trail, which is pending until the outcome is known.

    `write` raises `ConditionFailed` if the item has changed since it was read, which becomes `Conflict`. Raises
    `NoTrail` without a trail, and the store's errors; if no response came, the entry stays pending.
    """
    item = build(replace(entry, result=Result.PENDING), clock.now())
    try:
        item.save()
    except TableMissing as missing:
        raise NoTrail("Changes are made", "nothing was changed") from missing
    except ConsoleError:
        # The entry may have been written all the same, but the action was not begun.
        _record_outcome(item, f"{Result.FAILED}: not begun")
        raise
    try:
        write()
    except Throttled:
        _record_outcome(item, f"{Result.FAILED}: the store was busy")
        raise
    except ConditionFailed as lost:
        _record_outcome(item, f"{Result.CONFLICT}: it had changed")
        raise Conflict("It changed in the meantime, so nothing was done.") from lost
    except NotAccepted:
        _record_outcome(item, f"{Result.FAILED}: refused as invalid")
        raise
    _record_outcome(item, Result.SUCCESS)


def _record_outcome(item: AuditEntry, result: str) -> None:
    """Write the outcome, with one retry. If that fails the entry stays pending: the action is already done."""
    for _ in range(2):
        try:
            item.update(actions=[AuditEntry.result.set(result)], condition=AuditEntry.result == str(Result.PENDING))
            return
        except ConditionFailed:  # the first one was carried out
            return
        except ConsoleError as error:
            failure = type(error).__name__
    logger.warning("The outcome of %s could not be recorded: %s", item.action_type, failure)
