"""First messages that a rule holds until a person approves them: the same bytes then go to their channel's queue.

A message is decided once: its row notes who decides before anything is sent, and the outcome afterwards. If the queue
does not answer, the message may or may not have been sent: the row notes that, and a person decides again.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from django.conf import settings
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable
from console.permissions import Permission, Staff
from console.redaction import cut, redact
from console.refs import seal, unseal
from console.store import queues
from console.store.calls import TransactionRefused, parallel, put_new, table_name
from console.store.connection import call, transaction
from console.store.queues import NotSent
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, build, conversation_trail, sort_key
from conversations.handoff.protocol import retry_on_collision
from conversations.handoff.stored import text
from conversations.receiving.bodies import CHANNELS, FIRST_PARTS, NotUnderstood, parsed
from conversations.receiving.recording import expiry
from conversations.receiving.rows import MessageRow, approvals_partition, decided_partition, position_of

logger = logging.getLogger(__name__)

# The largest body that fits into a row with its other attributes.
LONGEST_BODY = 300_000
SHOWN_AT_MOST = 100
LONGEST_NAME = 80
_CHANNEL = ("channel_method", "channel_type", "comms_method", "channel")
# A decision unfinished after this long was lost with its process, or the queue did not answer.
UNFINISHED_AFTER = timedelta(minutes=1)
DECIDED = "Somebody else has already decided on this message."
UNKNOWN = "The queue did not answer. The message may have been sent. Check before you approve it again."


class Approval(StrEnum):
    """State of a first message's row."""

    HELD = "held"
    APPROVING = "approving"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """A first message that waits for approval. `content` is the router's context object.

    `is_unknown`: an earlier approval did not finish, so the message may have been sent.
    """

    reference: str
    company_id: str
    project_id: str
    channel: str
    received_at: datetime | None
    content: Mapping[str, Any]
    is_unknown: bool

    @property
    def recipient(self) -> str:
        """The recipient's number or address, "" if the body names none."""
        names = ["recipient_tel", "recipient_email"]
        ordered = names[::-1] if self.channel == "email" else names
        return next((found for name in ordered if (found := found_in(self.content, name))), "")

    @property
    def name(self) -> str:
        """The recipient's first name."""
        return cut(found_in(self.content, "recipient_first_name"), LONGEST_NAME)

    @property
    def project_name(self) -> str:
        """The project's name, or its id."""
        return redact(cut(found_in(self.content, "project_name") or self.project_id, LONGEST_NAME))

    @property
    def rule(self) -> str:
        """The rule that holds the message, in words."""
        if any(part.get("auto_queue_initial_message") is True for part in _parts(self.content)):
            return "All first messages of this project wait for approval."
        if self.recipient:
            return "First messages to this recipient wait for approval."
        return "The platform holds it for approval."


def hold(content: Mapping[str, Any], body: str, received_at: datetime, name: str) -> bool:
    """Store a first message until a decision; return whether it is new. Raises `NotUnderstood`, the store's errors."""
    company_id = found_in(content, "company_id")
    if not company_id:
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
    try:
        retry_on_collision(lambda: call("TransactWriteItems", TransactItems=writes))
    except TransactionRefused:
        return False
    return True


def waiting(company_ids: Iterable[str]) -> list[FirstMessage]:
    """Return these companies' first messages that wait for a decision, oldest first; at most `SHOWN_AT_MOST` of each.

    One Query per company. Raises the store's errors.
    """
    found = parallel(*(partial(_waiting_in, company_id) for company_id in company_ids))
    return sorted((each for rows in found for each in rows), key=lambda each: str(each.received_at))


def count(company_id: str) -> tuple[int, bool]:
    """Count a company's waiting first messages; return the count and whether there may be more. One Query."""
    rows = list(MessageRow.query(approvals_partition(company_id), limit=SHOWN_AT_MOST, attributes_to_get=["position"]))
    return len(rows), len(rows) == SHOWN_AT_MOST


def _waiting_in(company_id: str) -> list[FirstMessage]:
    return [_first_message(row) for row in MessageRow.query(approvals_partition(company_id), limit=SHOWN_AT_MOST)]


def _first_message(row: MessageRow) -> FirstMessage:
    try:
        content = parsed(row.body or "")
    except NotUnderstood:
        content = {}
    return FirstMessage(
        reference=seal("first message", row.conversation, row.position),
        company_id=row.company_id or "",
        project_id=row.project_id or "",
        channel=row.channel or "",
        received_at=clock.parse_instant(row.received_at),
        content=content,
        is_unknown=row.state == Approval.APPROVING.value,
    )


def approve(reference: str, staff: Staff) -> str:
    """Send a first message to its channel's queue once, byte for byte; return its company's id.

    Raises `NotFound` (not in scope), `Invalid` (its channel has no queue here), `Conflict` (decided already), `NotSent`
    (it waits again), and `StoreUnavailable` if it may or may not have been sent.
    """
    row = _load(reference, staff)
    url = settings.CHANNEL_QUEUE_URLS.get(row.channel or "")
    if not url:
        name = f"{(row.channel or 'channel').upper()}_QUEUE_URL"
        raise Invalid(f"Messages of this channel cannot be approved here: {name} is not set.")
    entry = _begin(row, staff)
    try:
        queues.send(url, row.body or "")
    except NotSent:
        _wait_again(row, entry)
        raise
    except StoreUnavailable as error:
        raise StoreUnavailable(UNKNOWN) from error
    _finish(row, Approval.APPROVED, MessageRow.decision_id == entry.action_id, lambda writes: _close(writes, entry))
    return row.company_id or ""


def reject(reference: str, staff: Staff, reason: str) -> str:
    """Reject a first message, so that it is never sent; return its company's id.

    Raises `NotFound`, `Invalid` (no reason), `Conflict`, and the store's errors.
    """
    row, now = _load(reference, staff), clock.now()
    if not reason.strip():
        raise Invalid("Say why you are rejecting it.")
    entry = _entry(row, Action.INITIAL_REJECT, staff, now, Result.SUCCESS, {"reason": reason.strip()})
    _finish(row, Approval.REJECTED, _undecided(now), lambda writes: writes.save(entry))
    return row.company_id or ""


def mark_possibly_sent(company_id: str) -> int:
    """Mark a company's held first messages as possibly sent; return how many. Raises the store's errors.

    People then check before they approve one, as after an approval that did not finish.
    """
    rows = list(MessageRow.query(approvals_partition(company_id), consistent_read=True))
    held = [each for each in rows if each.state == Approval.HELD]
    for row in held:
        row.update(
            actions=[
                MessageRow.state.set(Approval.APPROVING.value),
                MessageRow.decided_at.set(row.received_at or clock.to_iso(clock.now())),
            ],
            condition=MessageRow.state == Approval.HELD.value,
        )
    return len(held)


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


def _begin(row: MessageRow, staff: Staff) -> AuditEntry:
    """Note in row and trail that somebody approves it, before sending. Raises `Conflict`, the store's errors."""
    now = clock.now()
    entry = _entry(row, Action.INITIAL_APPROVE, staff, now, Result.PENDING, {})
    actions: list[UpdateAction] = [
        MessageRow.state.set(Approval.APPROVING.value),
        MessageRow.decided_by.set(staff.username),
        MessageRow.decided_at.set(clock.to_iso(now)),
        MessageRow.decision_id.set(entry.action_id),
    ]
    earlier_at, earlier_id = clock.parse_instant(row.decided_at), row.decision_id
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
    if earlier_at is not None and earlier_id:
        _give_up(row, sort_key(earlier_at, earlier_id))
    return entry


def _give_up(row: MessageRow, ts_action_id: str) -> None:
    """Close the entry of an approval that never finished."""
    try:
        AuditEntry(_trail_of(row), ts_action_id).update(
            actions=[AuditEntry.result.set(f"{Result.FAILED}: it did not finish, so the message may have been sent")],
            condition=AuditEntry.result == str(Result.PENDING),
        )
    except ConsoleError as error:
        logger.warning("An approval that did not finish could not be closed: %s", type(error).__name__)


def _undecided(now: datetime) -> Condition:
    is_unfinished = MessageRow.decided_at <= clock.to_iso(now - UNFINISHED_AFTER)
    condition: Condition = (MessageRow.state == Approval.HELD.value) | (
        (MessageRow.state == Approval.APPROVING.value) & is_unfinished
    )
    return condition


def _wait_again(row: MessageRow, entry: AuditEntry) -> None:
    """Let a message that was certainly not sent wait again."""
    with transaction() as writes:
        held: list[UpdateAction] = [MessageRow.state.set(Approval.HELD.value)]
        writes.update(row, held, condition=MessageRow.decision_id == entry.action_id)
        _close(writes, entry, f"{Result.FAILED}: the queue did not take it")


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


def _close(writes: TransactWrite, entry: AuditEntry, result: str = Result.SUCCESS) -> None:
    writes.update(entry, [AuditEntry.result.set(str(result))], condition=AuditEntry.result == str(Result.PENDING))


def found_in(content: Mapping[str, Any], name: str) -> str:
    """Return a text of the context object from any of its parts, "" if none has it."""
    values = (part.get(name) for part in _parts(content))
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the context object, its parts, and the objects one level below them."""
    parts = [content, *(part for each in FIRST_PARTS if isinstance(part := content.get(each), dict))]
    return [*parts, *(each for part in parts for each in part.values() if isinstance(each, dict))]
