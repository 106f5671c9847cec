"""Opening a record of a store, on record before anything of it is shown; and doing something to one, with its entry."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from console import clock
from console.errors import Conflict, ConsoleError, NotAccepted, TableMissing, Throttled
from console.permissions import Permission, Staff
from console.store.errors import ConditionFailed
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry
from console.trail.recording import Actor, NoTrail, TrailEntry, build, record_once_an_hour
from conversations.stores.adapter import Adapter, ListParameters, Subject
from conversations.stores.records import RecordPage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedRecord:
    """A record opened by one person. `is_raw`: on record, and the role may see it as it is; else redacted."""

    page: RecordPage
    subject: Subject
    is_raw: bool


def open_record(adapter: Adapter, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> OpenedRecord:
    """Open a record to read it: loaded, then put on record (once per person, record and hour), then shown.

    Where the entry cannot be written, nothing is returned; where there is no trail at all, everything is redacted.
    Raises `Forbidden`, `NotFound` (no such record, expired, out of scope: all the same) and the store's errors.
    """
    staff.require(Permission.CONVERSATION_READ)
    loaded = adapter.load(parts, staff, parameters)
    subject = adapter.subject(loaded)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    is_raw = _record_opened(subject, staff, raw=may_see) and may_see
    return OpenedRecord(adapter.page(loaded, staff, parameters, raw=is_raw), subject, is_raw)


def _record_opened(subject: Subject, staff: Staff, *, raw: bool) -> bool:
    payload = {**subject.payload, "shown": "raw" if raw else "redacted"}
    try:
        record_once_an_hour(_entry(replace(subject, payload=payload), Action.TRANSCRIPT_OPENED, staff))
    except TableMissing:
        return False
    return True


def carry_out(subject: Subject, action: Action, staff: Staff, write: Callable[[], None]) -> None:
    """Do one conditional write with its entry in the trail, which says pending until its outcome is known.

    `write` raises `ConditionFailed` where the item is no longer as it was seen: that is told as `Conflict`. Raises
    `NoTrail` where there is no trail, and the store's errors; where no answer came, the entry stays pending.
    """
    item = build(replace(_entry(subject, action, staff), result=Result.PENDING), clock.now())
    try:
        item.save()
    except TableMissing as missing:
        raise NoTrail("Changes are made", "nothing was changed") from missing
    except ConsoleError:
        # It may be there all the same, and nothing was begun.
        _settle(item, f"{Result.FAILED}: not begun")
        raise
    try:
        write()
    except Throttled:
        _settle(item, f"{Result.FAILED}: the store was busy")
        raise
    except ConditionFailed as lost:
        _settle(item, f"{Result.CONFLICT}: it had changed")
        raise Conflict("It changed in the meantime, so nothing was done.") from lost
    except NotAccepted:
        _settle(item, f"{Result.FAILED}: refused as invalid")
        raise
    _settle(item, Result.SUCCESS)


def _settle(item: AuditEntry, result: str) -> None:
    """Write the outcome, twice if need be; where that fails what was done is done, and the entry stays pending."""
    for _ in range(2):
        try:
            item.update(actions=[AuditEntry.result.set(result)], condition=AuditEntry.result == str(Result.PENDING))
            return
        except ConditionFailed:  # the first one was carried out
            return
        except ConsoleError as error:
            failure = type(error).__name__
    logger.warning("The outcome of %s could not be recorded: %s", item.action_type, failure)


def _entry(subject: Subject, action: Action, staff: Staff) -> TrailEntry:
    return TrailEntry(subject.trail, action, Actor.of(staff), subject.company_id, payload=subject.payload)
