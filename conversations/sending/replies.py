"""Accepting a reply: its row, its pending trail entry and its idempotency record are written in one transaction.

Then it is put into the outbox queue; if that fails, the sweep finds the row by its due time. Nothing here sends.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock, instrumentation
from console.errors import Conflict, Invalid, NotFound, StoreUnavailable
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest, seal_data, unseal_data
from console.staff.throttling import count_use
from console.store import queues
from console.store.calls import TransactionRefused, put_new
from console.store.connection import transaction
from console.trail.actions import TAKEN_BACK, Action, Result
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import Actor, TrailEntry, build, conversation_trail, new_action_id
from conversations.converting import is_true
from conversations.finding.queries import load_key
from conversations.handoff.protocol import write_together
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.at_work import latest_staged
from conversations.outbox.replying import Obstacle, ReplyDraft, ReplyFacts, channel_words, check_reply, explain_obstacle
from conversations.outbox.rows import (
    MARKS,
    TO_SEND,
    MessageRow,
    customers_of,
    expiry,
    is_configured,
    key_in,
    partition_of,
)
from conversations.outbox.states import NOT_ARRIVED, OUTBOUND, ReplyState
from conversations.receiving import opt_outs
from conversations.receiving.recording import record_of

logger = logging.getLogger(__name__)

MINUTE = timedelta(minutes=1)
# The queue delivers a reply when it may leave; the sweep takes it this long afterwards.
SWEPT_AFTER = timedelta(seconds=10)
LOST = "You no longer have this conversation, so the reply was not sent."
ITEM = (
    *("messages", "channel_config", "allowed_channels", "comms_consent", "recipient_tel", "recipient_email"),
    *MARKS,
)


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """A rendered form: its conversation, and the id by which a second submission finds the first."""

    primary_channel: str
    conversation_id: str
    reply_id: str


def seal_form(primary_channel: str, conversation_id: str, staff: Staff) -> str:
    """Seal the form of a new reply in a conversation, for this person only."""
    return seal_data("reply", [staff.username, primary_channel, conversation_id, new_action_id()])


def unseal_form(token: str, staff: Staff) -> ReplyForm:
    """Unseal the form that a page carried. Raises `NotFound` if it is invalid or another person's."""
    data = unseal_data("reply", token)
    if not isinstance(data, list) or len(data) != 4 or data[0] != staff.username:
        raise NotFound
    return ReplyForm(*map(str, data[1:]))


def obstacles_in(facts: ReplyFacts, now: datetime, draft: ReplyDraft | None) -> tuple[Obstacle, ...]:
    """Return the obstacles that `check_reply` finds, without missing consent if the settings allow that."""
    found = check_reply(facts, now, draft).obstacles
    return tuple(each for each in found if each is not Obstacle.CONSENT or not settings.REPLY_WITHOUT_CONSENT)


def accept(
    form: ReplyForm, staff: Staff, text: str, *, template: str = "", variables: Mapping[str, str] | None = None
) -> MessageRow:
    """Put a reply into the outbox, once, however often its form is submitted; return its row.

    Raises `Forbidden`, `NotFound` (out of scope), `TooManyAttempts`, `Conflict` (no longer theirs, or the form was used
    for another text), `Invalid` (may not be sent, and why), and the store's errors; it is safe to submit again then.
    """
    staff.require(Permission.HAND_OFF)
    if not is_configured():
        raise Invalid("Replies are not set up here.")
    text = text.replace("\r\n", "\n").strip()
    count_use("replies", staff.username, settings.REPLIES_PER_MINUTE, MINUTE, "You sent many replies in a short time.")
    item, facts = _load(form, staff)
    now = clock.now()
    draft = ReplyDraft(staff.username, text, is_template=bool(template))
    obstacles = obstacles_in(facts, now, draft)
    row = _row(form, item, facts, staff, text, now)
    row.template = template or None
    row.variables = json.dumps(dict(variables or {})) if template else None
    if obstacles and (found := _earlier(row)) is not None:
        # It was accepted while it could still be sent.
        return _enqueue_if_queued(found)
    if Obstacle.HOLDER in obstacles:
        raise Conflict(LOST)
    if obstacles:
        raise Invalid(" ".join(explain_obstacle(each, channel_words(item)) for each in obstacles))
    try:
        _write(row, item, staff, now)
    except TransactionRefused as refused:
        found = _earlier(row)
        if found is None:
            raise StoreUnavailable("The reply could not be put into the outbox. It was not sent.") from refused
        return _enqueue_if_queued(found)
    count_state(ReplyState.QUEUED)
    return _enqueue_if_queued(row)


def _enqueue_if_queued(row: MessageRow) -> MessageRow:
    """Enqueue a reply that is still queued, even if accepted before: its enqueuing may have failed. Return its row."""
    if row.state == ReplyState.QUEUED:
        enqueue(row)
    return row


def enqueue(row: MessageRow) -> None:
    """Put a reply into the outbox queue; if that fails, the sweep finds it. Never raises."""
    body = json.dumps({"conversation": row.conversation, "position": row.position})
    try:
        queues.send(
            settings.OUTBOX_QUEUE_URL,
            body,
            group=keyed_digest(row.conversation)[:32],
            once=row.message_id or "",
            # The person waits for it, and the sweep does not need it.
            patient=False,
        )
    except StoreUnavailable as error:
        logger.warning("A reply waits for the sweep, as the outbox queue did not take it: %s", type(error).__name__)


def _load(form: ReplyForm, staff: Staff) -> tuple[Conversation, ReplyFacts]:
    item = load_key(form.primary_channel, form.conversation_id, staff, *ITEM)
    if item is None:
        raise NotFound
    return item, facts_of(item)


def facts_of(item: Conversation) -> ReplyFacts:
    """Return the facts that decide about replies in a conversation read with its messages (`ITEM`). One GetItem.

    Words that the AI has not taken yet count, too: one Query of the stage if only they can open the channel's window.
    """
    facts = replace(ReplyFacts.of(item, customers_of(item).last_by_customer), is_opted_out=opt_outs.is_opted_out(item))
    if Obstacle.WINDOW in check_reply(facts, clock.now()).obstacles and (heard_at := latest_staged(item)) is not None:
        return replace(facts, heard_at=heard_at)
    return facts


def _row(form: ReplyForm, item: Conversation, facts: ReplyFacts, staff: Staff, text: str, now: datetime) -> MessageRow:
    at = clock.to_iso(now, "microseconds")
    leaves = now + timedelta(seconds=settings.REPLY_UNDO_SECONDS)
    return MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        # Replies of one conversation leave in this order.
        f"{at}#{form.reply_id}",
        company_id=item.company_id,
        direction=OUTBOUND,
        message_id=form.reply_id,
        channel=facts.channel,
        content=text,
        state=ReplyState.QUEUED.value,
        state_at=at,
        author=staff.username,
        author_name=staff.display_name or staff.username,
        on_item=False,
        received_at=at,
        not_before=clock.to_iso(leaves),
        event_id=f"act:reply:{item.conversation_id}:{form.reply_id}",
        expires_at=expiry(now),
        gsi_due=TO_SEND,
        due_at=clock.to_iso(leaves + SWEPT_AFTER),
    )


def _write(row: MessageRow, item: Conversation, staff: Staff, now: datetime) -> None:
    """Write all three items, or none if one exists already."""
    entry = _entry(row, item, staff, now)
    more = {"received_at": clock.to_iso(now), "intent": Action.REPLY_SEND.value}
    record = record_of(row, row.event_id or "", now, Result.PENDING, **more)
    row.ts_action_id = record.ts_action_id = entry.ts_action_id
    puts = [
        put_new("IDEMPOTENCY", record.serialize(), "event_id"),
        put_new("MESSAGES", row.serialize(), "conversation"),
        put_new("AUDIT", entry.serialize(), "conversation_id"),
    ]
    write_together(puts)


def _entry(row: MessageRow, item: Conversation, staff: Staff, now: datetime) -> AuditEntry:
    """Return the trail entry for a reply, with the text's length and keyed digest but never the text."""
    text = row.content or ""
    payload = {"channel": row.channel, "characters": len(text), "digest": keyed_digest(text)}
    since = clock.parse_instant(item.plain("hand_off_requested_at"))
    if since is not None:
        payload["waited_seconds"] = max(0, round((now - since).total_seconds()))
    if row.template:
        payload["template"] = row.template
    if not is_true(item.plain("comms_consent")):
        payload["consent"] = "none"
    entry = TrailEntry(
        conversation_trail(item.conversation_id),
        Action.REPLY_SEND,
        Actor.of(staff),
        row.company_id or "",
        Result.PENDING,
        payload,
        action_id=row.message_id or "",
        idempotency_key=row.event_id or "",
    )
    return build(entry, now)


def _earlier(row: MessageRow) -> MessageRow | None:
    """Return the reply of an earlier submission of the same form, None if there was none.

    Raises `Conflict` if that was another text.
    """
    record = IdempotencyRecord.find(row.event_id)
    if record is None:
        return None
    conversation, _, position = (record.reference or "").rpartition("\n")
    if conversation != row.conversation:
        return None
    if not is_digest_of(record.payload_sha256 or "", row.content or ""):
        raise Conflict("This form has already sent another reply. Send this text as a new one.")
    return MessageRow.find(conversation, position)


# --- Undo and retry ---------------------------------------------------------------------------------------------------


def load_reply(token: str, reference: tuple[str, str], staff: Staff) -> MessageRow:
    """Return the person's own reply that a form names, in the conversation (primary_channel, conversation_id).

    Raises `Forbidden`, and `NotFound` for everything else.
    """
    staff.require(Permission.HAND_OFF)
    data = unseal_data("sent reply", token)
    if not isinstance(data, list) or len(data) != 2 or data[0] != partition_of(*reference):
        raise NotFound
    row = MessageRow.get(data[0], data[1], consistent_read=True)
    if row.author != staff.username or not staff.scope.covers_company(row.company_id):
        raise NotFound
    return row


def undo(row: MessageRow) -> None:
    """Take a reply back before it leaves. Raises `Conflict` if it is too late, and the store's errors."""
    if row.state == ReplyState.UNDONE:
        return
    try:
        close(row, ReplyState.UNDONE, f"{Result.FAILED}: {TAKEN_BACK} before it was sent", ReplyState.QUEUED)
    except TransactionRefused as late:
        raise Conflict("It is too late to undo: the reply is being sent.") from late


def mark_retried(row: MessageRow, reply_id: str) -> None:
    """Note on a failed reply that another one was written in its place. Raises the store's errors."""
    row.update(actions=[MessageRow.retried_by.set(reply_id)], condition=MessageRow.conversation.exists())


def close(row: MessageRow, state: ReplyState, result: str, *before: ReplyState, **values: Any) -> None:
    """Write a reply's outcome to its row, its trail entry and its record, if the row is in a state of `before`.

    `values` are further attributes of the row, None to remove one. Raises `TransactionRefused` if the row is in another
    state, and the store's errors. Entry and record stay unchanged if they were closed before, or have expired.
    """
    if state in NOT_ARRIVED:
        # First: a crash after this leaves an extra mark, which the next reply removes.
        appending.note_not_delivered(row)
    now = clock.to_iso(clock.now())
    changes = {"state": state.value, "state_at": now, "gsi_due": None, "due_at": None, **values}
    actions = [
        attribute.remove() if value is None else attribute.set(value)
        for name, value in changes.items()
        if (attribute := getattr(MessageRow, name))
    ]
    condition = MessageRow.state.is_in(*(each.value for each in before))
    if row.sending_id and state is not ReplyState.UNDONE:
        condition &= MessageRow.sending_id == row.sending_id
    trail = conversation_trail(key_in(row.conversation)[1])
    entry, record = AuditEntry(trail, row.ts_action_id), IdempotencyRecord(row.event_id)
    pending = str(Result.PENDING)
    status = Result.SUCCESS if result == Result.SUCCESS else Result.FAILED
    try:
        with transaction() as writes:
            writes.update(row, actions, condition=condition)
            writes.update(entry, [AuditEntry.result.set(result)], condition=AuditEntry.result == pending)
            writes.update(
                record,
                [IdempotencyRecord.status.set(status.value), IdempotencyRecord.last_processed_at.set(now)],
                condition=IdempotencyRecord.status == pending,
            )
    except TransactionRefused as refused:
        if refused.codes[:1] != ("None",):
            raise
        row.update(actions=actions, condition=condition)
    count_state(state)
    if values.get("error_code") == opt_outs.REFUSED_CODE:
        opt_outs.note_refused(row)


def count_state(state: ReplyState) -> None:
    """Count a reply that has entered a state."""
    instrumentation.count(instrumentation.REPLIES, state)
