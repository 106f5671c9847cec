"""The order of writes of an action (docs/hand-off.md), so that every change has a trail and no retry repeats it.

1. `begin`: one transaction over our own records, the idempotency record and the trail entry, both pending;
2. `send`: the one conditional UpdateItem on the conversation, never in a transaction;
3. `close`: the result on both records, once, on condition that they are pending.

An action may send more than one write: a form submitted twice, or a retry after a lost answer. Each write beyond the
first is announced in the record's `attempts`, so that "refused" is final only if no other write can still arrive.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from django.conf import settings

from console import clock
from console.errors import ConsoleError, NotAccepted, StoreUnavailable, TableMissing, Throttled
from console.store.calls import ConditionFailed, TransactionRefused, put_new, table_name
from console.store.connection import call
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import Actor, TrailEntry, build, conversation_trail
from conversations.converting import reference_of
from conversations.handoff import hand_off_notices
from conversations.handoff.stored import ATTRIBUTES, Raw, is_processing, reason_digest, status_in, text
from conversations.models import Conversation

logger = logging.getLogger(__name__)

T = TypeVar("T")
TRIES = 3
MODE = "console"
READ_ONLY = "This environment has no trail tables, so nothing can be changed."


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of step 2: whether the store accepted the write (None: unknown), and the item if it is known.

    `only_write`: no other write of this call can still arrive.
    """

    accepted: bool | None
    item: Raw | None
    only_write: bool = False
    error: ConsoleError | None = None


def send(update: dict[str, Any]) -> Sent:
    """Send the conditional UpdateItem. Never raises the store's errors, but returns them in `Sent.error`.

    Without an answer, or without the item in it, the item is read strongly consistent. A failed condition without an
    item means that the conversation is gone.
    """
    try:
        return Sent(True, retry_on_collision(lambda: call("UpdateItem", **update))["Attributes"])
    except (ConditionFailed, NotAccepted) as refused:
        try:
            item = getattr(refused, "item", None) or read_raw(update["Key"])
        except ConsoleError as error:
            return Sent(None, None, error=error)
        return Sent(False, item, _sent_once(refused), refused)
    except ConsoleError as unanswered:
        try:
            return Sent(None, read_raw(update["Key"]), error=unanswered)
        except ConsoleError:
            return Sent(None, None, error=unanswered)


def _sent_once(refused: ConsoleError) -> bool:
    """Return whether botocore sent the request only once: an earlier attempt without an answer may still arrive."""
    cause = refused.__cause__
    return isinstance(cause, ClientError) and not cause.response["ResponseMetadata"].get("RetryAttempts", 0)


def read_raw(key: Raw, attributes: Sequence[str] = ATTRIBUTES) -> Raw | None:
    """Read a conversation's hand-off attributes, strongly consistent, as DynamoDB JSON; None if it does not exist."""
    found = Conversation.find(key["primary_channel"]["S"], key["conversation_id"]["S"], attributes=list(attributes))
    return None if found is None else found.raw


def retry_on_collision(work: Callable[[], T]) -> T:
    """Do a write, and retry it if it collides with a transaction on the same item, such as one of a double click.

    Such a write was not carried out, and the transaction ends within milliseconds. Rate limits are not retried, because
    botocore has retried them with pauses.
    """
    for _ in range(TRIES - 1):
        try:
            return work()
        except Throttled as busy:
            cause = busy.__cause__
            if not isinstance(cause, ClientError) or not cause.response["Error"]["Code"].startswith("Transaction"):
                raise
    return work()


def write_together(writes: Sequence[dict[str, Any]]) -> None:
    """Make up to 100 writes (`TransactItems`) in one transaction, retried as `retry_on_collision` does.

    Raises `TransactionRefused` if a condition does not hold, and the store's errors: nothing is written then.
    """
    retry_on_collision(lambda: call("TransactWriteItems", TransactItems=list(writes)))


@dataclass(frozen=True, slots=True)
class HandOffAct:
    """An action about to be carried out. `seen` is what it was based on; only its hash is stored.

    `item` is the conversation as read just before: a service at work on it may write these values back later.
    """

    action: Action
    actor: Actor
    primary_channel: str
    conversation_id: str
    company_id: str
    action_id: str
    previous: str
    seen: dict[str, Any]
    payload: dict[str, Any] = field(default_factory=dict)
    item: Raw = field(default_factory=dict)

    @property
    def event_id(self) -> str:
        """The key of its idempotency record."""
        return event_key(self.conversation_id, self.action_id)

    @property
    def concerns_others(self) -> bool:
        """Whether somebody else gets or loses the conversation and is notified."""
        return not self.payload.keys().isdisjoint(hand_off_notices.CONCERNED)

    def entry(self, at: datetime, result: str) -> AuditEntry:
        """Build its trail entry."""
        recorded_entry = TrailEntry(
            trail=conversation_trail(self.conversation_id),
            action=self.action,
            actor=self.actor,
            company_id=self.company_id,
            result=result,
            payload=self.payload,
            action_id=self.action_id,
            idempotency_key=self.event_id,
            previous_action_id=self.previous,
        )
        return build(recorded_entry, at)


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """An action's records as stored. `attempts` counts the writes sent or about to be sent.

    `concerns_others`: somebody else may get or lose the conversation by it, and is notified. The trail says who.
    """

    event_id: str
    trail: str
    sort_key: str
    status: str
    attempts: int
    reference: str
    concerns_others: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether its result is still to be written."""
        return self.status == Result.PENDING


def event_key(conversation_id: str, action_id: str) -> str:
    """Return the key of the idempotency record of a hand-off action."""
    return f"act:hand_off:{conversation_id}:{action_id}"


def begin(act: HandOffAct, at: datetime) -> tuple[RecordedAction, bool]:
    """Write both records as pending, or find those of an earlier submission; return them and whether they are new.

    Raises `TableMissing` before anything is written if a table of the trail is missing, `Throttled` and
    `StoreUnavailable`.
    """
    entry = act.entry(at, Result.PENDING)
    record = record_of(act, entry, at)
    puts = [
        put_new("IDEMPOTENCY", record.serialize(), "event_id", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        put_new("AUDIT", entry.serialize(), "conversation_id"),
    ]
    try:
        write_together(puts)
    except TransactionRefused as refused:
        stored = refused.items[0]
        found = recorded_of(stored) if stored else lookup(act.event_id)
        if found is None:
            raise StoreUnavailable("The trail could not be written, so nothing was changed.") from refused
        return found, False
    except TableMissing as missing:
        raise _read_only(missing) from missing
    return recorded_of(record.serialize()), True


def record_of(act: HandOffAct, entry: AuditEntry, at: datetime) -> IdempotencyRecord:
    """Build a pending idempotency record as in table A of the middleware's schema, with a hash of the content."""
    seen = json.dumps([act.action, act.actor.name, act.conversation_id, act.action_id, act.seen], sort_keys=True)
    normalised = seen.encode("utf-8", "surrogatepass")
    now = clock.to_iso(at)
    return IdempotencyRecord(
        event_id=act.event_id,
        created_at=now,
        last_processed_at=now,
        received_at=now,
        expires_at=clock.to_epoch(at + timedelta(days=settings.IDEMPOTENCY_RETENTION_DAYS)),
        status=Result.PENDING.value,
        mode=MODE,
        conversation_id=act.conversation_id,
        # A person decided, without the middleware's safe mode or its automation.
        safe_mode=False,
        automation_enabled=False,
        payload_sha256=hashlib.sha256(normalised).hexdigest(),
        payload_bytes=len(normalised),
        intent=act.action.value,
        ts_action_id=entry.ts_action_id,
        attempts=1,
        reference=reference_of(act.primary_channel, act.conversation_id),
        concerns_others=act.concerns_others,
        # A service at work may write back what it has read, over this action.
        during_status=status_in(act.item) if is_processing(act.item) else None,
        during_reason=reason_digest(act.conversation_id, act.item) if is_processing(act.item) else None,
    )


def announce_resend(recorded: RecordedAction, at: datetime) -> RecordedAction | None:
    """Count another write in the record before it is sent; return None if the action was closed meanwhile."""
    update = {
        "TableName": table_name("IDEMPOTENCY"),
        "Key": {"event_id": text(recorded.event_id)},
        "UpdateExpression": "SET last_processed_at = :now ADD attempts :one",
        "ConditionExpression": "#status = :pending",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": {
            ":now": text(clock.to_iso(at)),
            ":one": {"N": "1"},
            ":pending": text(Result.PENDING),
        },
        "ReturnValues": "ALL_NEW",
    }
    try:
        answer = retry_on_collision(lambda: call("UpdateItem", **update))
    except ConditionFailed:
        return None
    return recorded_of(answer["Attributes"])


def close(recorded: RecordedAction, result: str, at: datetime, *, only_write: bool = False) -> bool:
    """Write the result on both records if they are pending, and with `only_write` if no other write was announced.

    First notify the people who got or lost the conversation, so that a closed action has always been announced. Return
    whether this result was written. Raises the store's errors.
    """
    status, now = result.partition(":")[0], clock.to_iso(at)
    if status == Result.SUCCESS and recorded.concerns_others:
        hand_off_notices.post_notices(recorded.trail, recorded.sort_key, recorded.reference)
    record = _settle("IDEMPOTENCY", {"event_id": text(recorded.event_id)}, "status", status, touched=now)
    entry_key = {"conversation_id": text(recorded.trail), "ts_action_id": text(recorded.sort_key)}
    entry = _settle("AUDIT", entry_key, "result", result)
    if only_write:
        record["ConditionExpression"] += " AND attempts = :one"
        record["ExpressionAttributeValues"][":one"] = {"N": "1"}
    updates = [{"Update": record}, {"Update": entry}]
    try:
        write_together(updates)
    except TransactionRefused as refused:
        return not only_write and _close_what_is_left([record, entry], refused)
    return True


def _close_what_is_left(updates: list[dict[str, Any]], refused: TransactionRefused) -> bool:
    """Settle the one record that still exists, if the other has expired; return whether it was written."""
    there = [
        update
        for update, code, item in zip(updates, refused.codes, refused.items, strict=True)
        if code == "None" or item
    ]
    if len(there) != 1:
        return False
    try:
        call("UpdateItem", **there[0])
    except ConditionFailed:
        return False
    return True


def close_quietly(recorded: RecordedAction, result: str, *, only_write: bool = False) -> None:
    """Close an action whose outcome is certain. Logs the store's errors: `reconcile` then settles it later."""
    try:
        close(recorded, result, clock.now(), only_write=only_write)
    except ConsoleError as error:
        logger.warning("A hand-off action stays pending until it is reconciled: %s", type(error).__name__)


def lookup(event_id: str) -> RecordedAction | None:
    """Read the idempotency record of a hand-off action, strongly consistent; None if it does not exist."""
    found = IdempotencyRecord.find(event_id)
    return None if found is None else recorded_of(found.raw)


def recorded_of(raw: Raw) -> RecordedAction:
    """Convert an idempotency record of a hand-off action from DynamoDB JSON."""
    record = IdempotencyRecord.from_raw_data(raw)
    return RecordedAction(
        event_id=record.event_id,
        trail=record.conversation_id or "",
        sort_key=record.ts_action_id or "",
        status=record.status or "",
        attempts=int(record.attempts or 0),
        reference=record.reference or "",
        # Absent on records of earlier versions.
        concerns_others=record.concerns_others is not False and hand_off_notices.concerns_others(record.intent or ""),
    )


def _settle(table_key: str, key: Raw, attribute: str, value: str, *, touched: str = "") -> dict[str, Any]:
    expression = "SET #result = :result" + (", last_processed_at = :now" if touched else "")
    values = {":result": text(value), ":pending": text(Result.PENDING)}
    return {
        "TableName": table_name(table_key),
        "Key": key,
        "UpdateExpression": expression,
        "ConditionExpression": "#result = :pending",
        "ExpressionAttributeNames": {"#result": attribute},
        "ExpressionAttributeValues": values | ({":now": text(touched)} if touched else {}),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _read_only(missing: TableMissing) -> TableMissing:
    named = TableMissing(missing.table_key)
    named.args = (READ_ONLY,)
    return named
