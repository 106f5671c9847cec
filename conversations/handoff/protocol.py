"""The order of writes of one action (data model, section 4), so that no flip lacks its trail and no retry doubles it.

1. `begin`: one transaction over our own records, the idempotency record and the trail entry, both pending;
2. `send`: the one conditional UpdateItem on the conversation, never in a transaction;
3. `close`: the result on both records, once, on condition that they are pending.

An action may send more than one write: a form submitted twice, or a retry after a lost answer. Each write beyond the
first is announced in the record's `attempts`, so that "refused" is final only where no other write can still arrive.
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
from console.errors import ConsoleError, NotAccepted, NotFound, StoreUnavailable, TableMissing, Throttled
from console.store.calls import ConditionFailed, TransactionRefused, table_name
from console.store.connection import call
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import Actor, TrailEntry, build, conversation_trail
from conversations import giving
from conversations.handoff.stored import ATTRIBUTES, Raw, is_processing, reason_digest, status_in, text
from conversations.models import Conversation
from conversations.reading import reference_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
TRIES = 3
MODE = "console"
READ_ONLY = "This environment has no trail tables, so nothing can be changed."


@dataclass(frozen=True, slots=True)
class Sent:
    """What is known after step 2: whether the store said yes or no (None: it said neither), and the item if given.

    `only_write`: no other write of this call can still be on its way.
    """

    accepted: bool | None
    item: Raw | None
    only_write: bool = False
    error: ConsoleError | None = None


def send(update: dict[str, Any]) -> Sent:
    """The conditional UpdateItem. Never raises the store's errors: they are part of what is known.

    Where no answer came, or it lacked the item, the item is read strongly consistent: a refusal without item and
    without error is a conversation that is gone.
    """
    try:
        return Sent(True, retried(lambda: call("UpdateItem", **update))["Attributes"])
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
    """Whether botocore sent it only once until this answer: an earlier attempt without answer may still arrive."""
    cause = refused.__cause__
    return isinstance(cause, ClientError) and not cause.response["ResponseMetadata"].get("RetryAttempts", 0)


def read_raw(key: Raw, attributes: Sequence[str] = ATTRIBUTES) -> Raw | None:
    """A conversation's hand-off attributes, strongly consistent, as DynamoDB JSON; None where there is no item."""
    try:
        found = Conversation.get(
            key["primary_channel"]["S"],
            key["conversation_id"]["S"],
            consistent_read=True,
            attributes_to_get=list(attributes),
        )
    except NotFound:
        return None
    return found.raw


def retried(work: Callable[[], T]) -> T:
    """Try a write again that met a transaction over the same item (a double click): that is over in milliseconds.

    Such a write was not carried out. Rate limits are not tried again: botocore did, with pauses.
    """
    for _ in range(TRIES - 1):
        try:
            return work()
        except Throttled as busy:
            cause = busy.__cause__
            if not isinstance(cause, ClientError) or not cause.response["Error"]["Code"].startswith("Transaction"):
                raise
    return work()


@dataclass(frozen=True, slots=True)
class HandOffAct:
    """An action about to be carried out. `seen` is what it was based on; only its hash is stored.

    `item` is the conversation as read just before: what a service at work on it then may write back later.
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
        """Key of its idempotency record."""
        return event_key(self.conversation_id, self.action_id)

    @property
    def concerns_others(self) -> bool:
        """Whether somebody else gets the conversation or loses it, and is told."""
        return not self.payload.keys().isdisjoint(("colleague", "group", "held by"))

    def entry(self, at: datetime, result: str) -> AuditEntry:
        """Its entry in the trail, not yet written."""
        told = TrailEntry(
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
        return build(told, at)


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """An action's records as stored. `attempts`: how many times it was, or is about to be, sent.

    `nobody_to_tell`: nobody else gets the conversation or loses it. Where that is not known the trail is asked.
    """

    event_id: str
    trail: str
    sort_key: str
    status: str
    attempts: int
    reference: str
    action: str = ""
    nobody_to_tell: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether its result is still to be written."""
        return self.status == Result.PENDING


def event_key(conversation_id: str, action_id: str) -> str:
    """Key of the idempotency record of a hand-off action."""
    return f"act:hand_off:{conversation_id}:{action_id}"


def begin(act: HandOffAct, at: datetime) -> tuple[RecordedAction, bool]:
    """Write both records, pending; or find those of an earlier submission. Returns them, and whether they are new.

    Raises `TableMissing` before anything is written where a table of the trail is absent, `Throttled`,
    `StoreUnavailable`.
    """
    entry = act.entry(at, Result.PENDING)
    record = record_of(act, entry, at)
    puts = [
        _put("IDEMPOTENCY", record.serialize(), "event_id", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        _put("AUDIT", entry.serialize(), "conversation_id"),
    ]
    try:
        retried(lambda: call("TransactWriteItems", TransactItems=puts))
    except TransactionRefused as refused:
        found = _found_by(refused) or lookup(act.event_id)
        if found is None:
            raise StoreUnavailable("The trail could not be written, so nothing was changed.") from refused
        return found, False
    except TableMissing as missing:
        raise _read_only(missing) from missing
    return recorded_of(record.serialize()), True


def record_of(act: HandOffAct, entry: AuditEntry, at: datetime) -> IdempotencyRecord:
    """Its idempotency record, pending, as table A of the middleware's schema: the hash in place of the content."""
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
        # A person decided: neither the middleware's safe mode nor its automation had a part in it.
        safe_mode=False,
        automation_enabled=False,
        payload_sha256=hashlib.sha256(normalised).hexdigest(),
        payload_bytes=len(normalised),
        intent=act.action.value,
        ts_action_id=entry.ts_action_id,
        attempts=1,
        reference=reference_of(act.primary_channel, act.conversation_id),
        nobody_to_tell=None if act.concerns_others else True,
        # What was read by a service at work may be written back over this action.
        during_status=status_in(act.item) if is_processing(act.item) else None,
        during_reason=reason_digest(act.conversation_id, act.item) if is_processing(act.item) else None,
    )


def announce_resend(recorded: RecordedAction, at: datetime) -> RecordedAction | None:
    """Say in the record that another write is about to be sent; None if the action was closed meanwhile."""
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
        answer = retried(lambda: call("UpdateItem", **update))
    except ConditionFailed:
        return None
    return recorded_of(answer["Attributes"])


def close(recorded: RecordedAction, result: str, at: datetime, *, only_write: bool = False) -> bool:
    """Write the result on both records, if they are pending; `only_write`: and if no other was announced.

    Before that, whoever got or lost the conversation by it is told: what is closed has been told, whoever closes it.
    Returns whether it is this result that was written. Raises the store's errors.
    """
    status, now = result.partition(":")[0], clock.to_iso(at)
    if status == Result.SUCCESS and not recorded.nobody_to_tell and giving.concerns_others(recorded.action):
        giving.tell_of(recorded.trail, recorded.sort_key, recorded.reference)
    record = _settle("IDEMPOTENCY", {"event_id": text(recorded.event_id)}, "status", status, touched=now)
    entry_key = {"conversation_id": text(recorded.trail), "ts_action_id": text(recorded.sort_key)}
    entry = _settle("AUDIT", entry_key, "result", result)
    if only_write:
        record["ConditionExpression"] += " AND attempts = :one"
        record["ExpressionAttributeValues"][":one"] = {"N": "1"}
    updates = [{"Update": record}, {"Update": entry}]
    try:
        retried(lambda: call("TransactWriteItems", TransactItems=updates))
    except TransactionRefused as refused:
        return not only_write and _close_what_is_left([record, entry], refused)
    return True


def _close_what_is_left(updates: list[dict[str, Any]], refused: TransactionRefused) -> bool:
    """One of the two records may have expired before the other; what is there is settled alone."""
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
    """`close` for an action whose outcome is certain already: what fails here is settled later by `reconcile`."""
    try:
        close(recorded, result, clock.now(), only_write=only_write)
    except ConsoleError as error:
        logger.warning("A hand-off action stays pending until it is reconciled: %s", type(error).__name__)


def lookup(event_id: str) -> RecordedAction | None:
    """The idempotency record of a hand-off action, strongly consistent, or None."""
    try:
        return recorded_of(IdempotencyRecord.get(event_id, consistent_read=True).raw)
    except NotFound:
        return None


def recorded_of(raw: Raw) -> RecordedAction:
    """An idempotency record of a hand-off action, from DynamoDB JSON."""
    record = IdempotencyRecord.from_raw_data(raw)
    return RecordedAction(
        event_id=record.event_id,
        trail=record.conversation_id or "",
        sort_key=record.ts_action_id or "",
        status=record.status or "",
        attempts=int(record.attempts or 0),
        reference=record.reference or "",
        action=record.intent or "",
        nobody_to_tell=bool(record.nobody_to_tell),
    )


def _found_by(refused: TransactionRefused) -> RecordedAction | None:
    return recorded_of(refused.items[0]) if refused.items and refused.items[0] else None


def _put(table_key: str, item: Raw, key: str, **options: str) -> dict[str, Any]:
    put = {"TableName": table_name(table_key), "Item": item, "ConditionExpression": f"attribute_not_exists({key})"}
    return {"Put": {**put, **options}}


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
