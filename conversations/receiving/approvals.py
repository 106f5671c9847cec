"""First messages that a rule holds until a person approves them: the same bytes then go to their channel's queue.

A message is decided once. An approval can be undone until the message sweep forwards the message. The row notes that
before anything is sent, and the outcome afterwards. If the queue does not answer, the message may or may not have been
sent: the row notes that, and a person decides again.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable, TableMissing
from console.permissions import Permission, Staff
from console.redaction import redact, without_names
from console.refs import unseal
from console.schema.tables import RECIPIENT_NAMES
from console.store import queues
from console.store.calls import ConditionFailed, TransactionRefused, put_new, table_name
from console.store.connection import transaction
from console.store.models import SORT_KEY_BYTES, fits
from console.store.queues import NotSent
from console.trail.actions import TAKEN_BACK, Action, Result
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, build, conversation_trail
from conversations.handoff.partitions import SINCE_EVER, QueueState, enter, move_revision
from conversations.handoff.protocol import write_together
from conversations.handoff.stored import text
from conversations.messages.bodies import CHANNELS, NotUnderstood
from conversations.models import Conversation
from conversations.outbox.rows import (
    TO_FORWARD,
    MessageRow,
    approvals_partition,
    decided_partition,
    expiry,
    position_of,
)
from conversations.providers import templates
from conversations.queue_index.refreshing import PartitionContent, refresh
from conversations.receiving.first_messages import Approval, credentials_in, first_message_of, found_in, owner_of

logger = logging.getLogger(__name__)

# The largest body that fits into a row with its other attributes.
LONGEST_BODY = 300_000
# Counted of one company.
COUNTED_AT_MOST = 100
UNDO_WITHIN = timedelta(seconds=10)
_CHANNEL = ("channel_method", "channel_type", "comms_method", "channel")
# What is unfinished this long after it was begun was lost with its process, or the queue did not answer.
UNFINISHED_AFTER = timedelta(minutes=1)
DECIDED = "Somebody else has already decided on this message."
TOO_LATE = "It is too late to undo: the message is being sent."


def hold(content: Mapping[str, Any], body: str, received_at: datetime, name: str) -> bool:
    """Store a first message until a decision; return whether it is new. Raises `NotUnderstood`, the store's errors."""
    company_id = owner_of(content)
    if not fits(QueueState.APPROVE.of(company_id), SORT_KEY_BYTES) or not company_id:
        raise NotUnderstood("The first message names no company.")
    channel = next((found for each in _CHANNEL if (found := found_in(content, each).lower()) in CHANNELS), "")
    if not channel:
        raise NotUnderstood("The first message names no known channel.")
    if len(body.encode("utf-8", "replace")) > LONGEST_BODY:
        raise NotUnderstood("The first message is too large to be held.")
    at = clock.to_iso(received_at)
    row = MessageRow(
        approvals_partition(company_id),
        position_of(at, name),
        company_id=company_id,
        project_id=found_in(content, "project_id") or None,
        channel=channel,
        state=Approval.HELD.value,
        body=body,
        received_at=at,
        expires_at=expiry(clock.now()),
    )
    not_decided = {
        "TableName": table_name("MESSAGES"),
        "Key": {"conversation": text(decided_partition(company_id)), "position": text(row.position)},
        "ConditionExpression": "attribute_not_exists(conversation)",
    }
    writes = [put_new("MESSAGES", row.serialize(), "conversation"), {"ConditionCheck": not_decided}]
    enter(QueueState.APPROVE.of(company_id), at)
    try:
        write_together(writes)
    except TransactionRefused:
        return False
    _note_change(company_id)
    _request_template(content, channel, company_id)
    return True


def _request_template(content: Mapping[str, Any], channel: str, company_id: str) -> None:
    """Have the sender fetch the template of a first message, to be shown with it. Logs the store's errors."""
    credentials = credentials_in(content, channel)
    if channel == templates.CHANNEL and credentials and settings.OUTBOX_QUEUE_URL:
        try:
            templates.request_template(credentials, company_id)
        except ConsoleError as error:
            logger.warning("The template of a first message was not requested: %s", type(error).__name__)


def read_content(company_id: str) -> PartitionContent:
    """Return how many first messages of a company wait, and since when. One Query, strongly consistent.

    Without the table, there are none. Raises the store's errors.
    """
    rows: list[MessageRow] = []
    with suppress(TableMissing):
        rows += MessageRow.query(
            approvals_partition(company_id),
            limit=COUNTED_AT_MOST,
            consistent_read=True,
            attributes_to_get=["position", "received_at", "gsi_due"],
        )
    times = [each.received_at or SINCE_EVER for each in rows]
    return PartitionContent(
        keys={(company_id, each.position) for each in rows},
        first=min(times, default=None),
        last=max(times, default=None),
        has_more=len(rows) == COUNTED_AT_MOST,
        # Approved ones are listed until they are forwarded, and wait for nobody.
        count=sum(not each.gsi_due for each in rows),
    )


def _note_change(company_id: str) -> None:
    """Refresh the count of a company after a change. Logs the store's errors: the row becomes due by itself."""
    try:
        refresh(QueueState.APPROVE.of(company_id))
        move_revision()
    except ConsoleError as error:
        logger.warning("The count of first messages could not be refreshed: %s", type(error).__name__)


def approve(reference: str, staff: Staff) -> str:
    """Approve a first message, so that the message sweep forwards it; return its company's id.

    Raises `NotFound` (not in scope), `Invalid` (its channel has no queue here), `Conflict` (decided already), and the
    store's errors.
    """
    row, now = _load(reference, staff), clock.now()
    if row.channel not in settings.CHANNEL_QUEUE_URLS:
        name = f"{(row.channel or 'channel').upper()}_QUEUE_URL"
        raise Invalid(f"Messages of this channel cannot be approved here: {name} is not set.")
    entry = _entry(row, Action.INITIAL_APPROVE, staff, now, Result.PENDING, {})
    actions: list[UpdateAction] = [
        MessageRow.state.set(Approval.APPROVING.value),
        MessageRow.decided_by.set(staff.username),
        MessageRow.decided_at.set(clock.to_iso(now)),
        MessageRow.decision_id.set(entry.action_id),
        MessageRow.begun_at.remove(),
        MessageRow.gsi_due.set(TO_FORWARD),
        MessageRow.due_at.set(clock.to_iso(now + UNDO_WITHIN)),
    ]
    try:
        with transaction() as writes:
            writes.save(entry)
            writes.update(row, actions, condition=_undecided(now))
    except TransactionRefused as lost:
        raise Conflict(DECIDED) from lost
    except StoreUnavailable:
        # Without an answer, the write may have succeeded all the same.
        if MessageRow.get(row.conversation, row.position, consistent_read=True).decision_id != entry.action_id:
            raise
    if row.decision_id:
        _give_up(_entry_of_approval(row))
    _note_change(row.company_id or "")
    return row.company_id or ""


def undo(reference: str, staff: Staff) -> str:
    """Let an approved message wait again, as long as nobody forwards it; return its company's id.

    Raises `NotFound` (not in scope), `Conflict` (too late), and the store's errors.
    """
    row = _load(reference, staff)
    if row.state == Approval.HELD.value:
        return row.company_id or ""
    try:
        _wait_again(row, _is_approved(row), f"{Result.FAILED}: {TAKEN_BACK} by {staff.username} before it was sent")
    except (TransactionRefused, NotFound) as late:
        raise Conflict(TOO_LATE) from late
    _note_change(row.company_id or "")
    return row.company_id or ""


def forward(row: MessageRow, _: Conversation | None = None) -> None:
    """Send an approved first message to its channel's queue once, byte for byte. Only for the message sweep.

    Raises `StoreUnavailable` if it may or may not have been sent, and the store's errors.
    """
    now = clock.now()
    if (row.due_at or "") > clock.to_iso(now):
        return
    try:
        row.update(
            actions=[
                MessageRow.begun_at.set(clock.to_iso(now)),
                MessageRow.gsi_due.remove(),
                MessageRow.due_at.remove(),
            ],
            condition=_is_approved(row),
        )
    except ConditionFailed:
        # It was undone, or another process forwards it.
        return
    is_ours = (MessageRow.decision_id == row.decision_id) & (MessageRow.begun_at == row.begun_at)
    try:
        queues.send(settings.CHANNEL_QUEUE_URLS[row.channel or ""], row.body or "")
    except (NotSent, KeyError):
        _wait_again(row, is_ours, f"{Result.FAILED}: the queue did not take it")
        return
    _finish(row, Approval.APPROVED, is_ours, lambda writes: _close(writes, row, Result.SUCCESS))


def reject(reference: str, staff: Staff, reason: str) -> str:
    """Reject a first message, so that it is never sent; return its company's id.

    Raises `NotFound`, `Invalid` (no reason), `Conflict`, and the store's errors.
    """
    row, now = _load(reference, staff), clock.now()
    if not reason.strip():
        raise Invalid("Say why you are rejecting it.")
    content = first_message_of(row).content
    why = without_names(redact(reason.strip()), tuple(found_in(content, name) for name in RECIPIENT_NAMES))
    entry = _entry(row, Action.INITIAL_REJECT, staff, now, Result.SUCCESS, {"reason": why})
    _finish(row, Approval.REJECTED, _undecided(now), lambda writes: writes.save(entry))
    return row.company_id or ""


def mark_possibly_sent(company_id: str) -> int:
    """Mark a company's unsent first messages as possibly sent; return how many. Raises the store's errors.

    People then check before they approve one, as after an approval that did not finish.
    """
    rows = list(MessageRow.query(approvals_partition(company_id), consistent_read=True))
    unsent = [each for each in rows if each.state == Approval.HELD or each.gsi_due]
    for row in unsent:
        row.update(
            actions=[
                MessageRow.state.set(Approval.APPROVING.value),
                MessageRow.decided_at.set(row.received_at or clock.to_iso(clock.now())),
                MessageRow.gsi_due.remove(),
                MessageRow.due_at.remove(),
            ],
            condition=MessageRow.state == row.state,
        )
    return len(unsent)


def _load(reference: str, staff: Staff) -> MessageRow:
    staff.require(Permission.HAND_OFF)
    partition, position = unseal("first message", reference, 2)
    if not staff.scope.covers_company(partition.removeprefix(approvals_partition(""))):
        raise NotFound
    try:
        return MessageRow.get(partition, position, consistent_read=True)
    except NotFound as gone:
        raise Conflict(DECIDED) from gone


def _entry(
    row: MessageRow, action: Action, staff: Staff, at: datetime, result: Result, payload: dict[str, Any]
) -> AuditEntry:
    payload = {**payload, "channel": row.channel or "", "characters": len(row.body or "")}
    return build(TrailEntry(_trail_of(row), action, Actor.of(staff), row.company_id or "", result, payload), at)


def _trail_of(row: MessageRow) -> str:
    """Return the trail of the row's project: there is no conversation yet."""
    return conversation_trail(f"{row.company_id}#{row.project_id or ''}")


def _give_up(entry: AuditEntry) -> None:
    """Close the entry of an approval that never finished."""
    try:
        entry.update(
            actions=[AuditEntry.result.set(f"{Result.FAILED}: it did not finish, so the message may have been sent")],
            condition=AuditEntry.result == str(Result.PENDING),
        )
    except ConsoleError as error:
        logger.warning("An approval that did not finish could not be closed: %s", type(error).__name__)


def _undecided(now: datetime) -> Condition:
    long_ago = clock.to_iso(now - UNFINISHED_AFTER)
    is_unfinished = MessageRow.gsi_due.does_not_exist() & (
        (MessageRow.begun_at <= long_ago) | (MessageRow.begun_at.does_not_exist() & (MessageRow.decided_at <= long_ago))
    )
    condition: Condition = (MessageRow.state == Approval.HELD.value) | (
        (MessageRow.state == Approval.APPROVING.value) & is_unfinished
    )
    return condition


def _is_approved(row: MessageRow) -> Condition:
    """Return the condition that this approval stands, and that nobody forwards the message."""
    condition: Condition = (MessageRow.decision_id == row.decision_id) & (MessageRow.gsi_due == TO_FORWARD)
    return condition


def _wait_again(row: MessageRow, condition: Condition, result: str) -> None:
    """Let a message that was certainly not sent wait again; `result` closes the approval's entry."""
    held: list[UpdateAction] = [
        MessageRow.state.set(Approval.HELD.value),
        MessageRow.begun_at.remove(),
        MessageRow.gsi_due.remove(),
        MessageRow.due_at.remove(),
    ]
    with transaction() as writes:
        writes.update(row, held, condition=condition)
        _close(writes, row, result)


def _finish(row: MessageRow, state: Approval, condition: Condition, add: Callable[[TransactWrite], None]) -> None:
    """Move the row to the decided ones, in one transaction with what `add` writes."""
    decided = MessageRow(**row.attribute_values | {"conversation": decided_partition(row.company_id or "")})
    decided.state = state.value
    try:
        with transaction() as writes:
            writes.delete(row, condition=condition)
            writes.save(decided)
            add(writes)
    except TransactionRefused as lost:
        raise Conflict(DECIDED) from lost
    _note_change(row.company_id or "")


def _close(writes: TransactWrite, row: MessageRow, result: str) -> None:
    """Close the entry of a row's approval."""
    is_pending = AuditEntry.result == str(Result.PENDING)
    writes.update(_entry_of_approval(row), [AuditEntry.result.set(str(result))], condition=is_pending)


def _entry_of_approval(row: MessageRow) -> AuditEntry:
    return AuditEntry(_trail_of(row), f"{row.decided_at}#{row.decision_id}")
