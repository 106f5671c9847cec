"""Sending one reply from the outbox: handed to the provider at most once, and never lost silently.

A conditional write marks the start of sending before the provider is called; only a certain "not accepted" leads back.
If the answer was lost, the provider is asked what it has, and the text is never sent again automatically.
"""

import json
import logging
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.errors import ConsoleError, NotFound
from console.store.calls import ConditionFailed, TransactionRefused, table_name
from console.trail.actions import Result
from console.trail.recording import Actor
from conversations.converting import is_gone
from conversations.handoff.stored import has_stage
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.replying import ReplyDraft, ReplyFacts, channel_words, explain_obstacle
from conversations.outbox.rows import (
    TO_ASK,
    TO_SEND,
    TO_SETTLE,
    MessageRow,
    conversation_of,
    messages_of,
    note_answered,
)
from conversations.outbox.staging import remove_staged, routed_since
from conversations.outbox.states import ReplyState
from conversations.providers import (
    CannotAsk,
    CredentialsRejected,
    NoAnswer,
    NotReached,
    Outgoing,
    Provider,
    Rejected,
    credentials,
)
from conversations.providers.choice import make
from conversations.providers.emails import subject_and_answers
from conversations.sending.rates import Rates
from conversations.sending.replies import close, count_state, facts_of, obstacles_in

logger = logging.getLogger(__name__)

SENDER = Actor("sender", "service")
# Longer than any call of a provider takes: another process may be sending during this time.
BUSY_FOR = timedelta(seconds=30)
# A process that is held up for longer after it begins must not hand over the reply: the provider will be asked instead.
HELD_UP = timedelta(seconds=10)
# A message unknown to the provider after this was never accepted; one not handed over by then is given up.
GIVEN_UP_AFTER = timedelta(minutes=10)
SETTLED_EVERY = timedelta(seconds=15)
# When to ask the provider for the delivery of an accepted message, after its sending, until the state is final.
ASKED_AFTER = tuple(timedelta(seconds=each) for each in (5, 30, 120, 600, 3_600))
# Rows of a conversation to read, in search of replies that must leave first.
LOOKED_BACK = 60

_GONE = "The conversation no longer exists."
_NOT_KNOWN = "The provider does not have it, so the customer did not get it."
_NEVER_REACHED = "The provider could not be reached for ten minutes."
_CANNOT_ASK = "The provider did not answer, and cannot be asked. Check with the customer before you send it again."


def send(conversation: str, position: str, rates: Rates) -> float | None:
    """Send one reply if it is due and next in its conversation; return None if there is nothing left to do now.

    Otherwise the reply may not leave yet: return the seconds after which it must be delivered again. Safe to call
    repeatedly and concurrently for the same reply. Raises the store's errors.
    """
    rows = list(
        MessageRow.query(
            conversation,
            MessageRow.position <= position,
            scan_index_forward=False,
            limit=LOOKED_BACK,
            consistent_read=True,
        )
    )
    if not rows or rows[0].position != position or rows[0].state != ReplyState.QUEUED:
        return None
    row, now = rows[0], clock.now()
    leaves = clock.parse_instant(row.not_before)
    if leaves is not None and leaves > now:
        return (leaves - now).total_seconds()
    if any(_leaves_before(each, now) for each in rows[1:]):
        return 1.0
    if (item := live_conversation_of(row)) is None:
        _refuse(row, _GONE)
        return None
    facts = facts_of(item)
    draft = ReplyDraft(row.author or "", row.content or "", is_template=bool(row.template), is_accepted=True)
    if obstacles := obstacles_in(facts, now, draft):
        _refuse(row, " ".join(explain_obstacle(each, channel_words(item)) for each in obstacles))
        return None
    if wait := rates.wait_for(facts.sender, now):
        return wait
    return _Sending(row, item, facts, rates).run()


def doubt(conversation: str, position: str) -> bool:
    """Mark a queued reply as begun, as if its sender had died: the provider is asked, and nothing is sent.

    Returns False if it is no longer queued, or its conversation is gone, which the row then notes. Raises the store's
    errors.
    """
    row = MessageRow.get(conversation, position, consistent_read=True)
    if row.state != ReplyState.QUEUED:
        return False
    if (item := live_conversation_of(row)) is None:
        _refuse(row, _GONE)
        return False
    left = clock.parse_instant(row.not_before) or clock.now()
    return _Sending(row, item, facts_of(item), Rates())._begin(left)


def live_conversation_of(row: MessageRow) -> Conversation | None:
    """Return a reply's conversation as `conversation_of` does, None if it has expired too."""
    item = conversation_of(row)
    return None if item is None or is_gone(item, clock.now()) else item


def _leaves_before(row: MessageRow, now: datetime) -> bool:
    """Return whether an earlier row of the conversation is a reply that must leave first, or is leaving.

    Customers' messages are never in these states.
    """
    begun = clock.parse_instant(row.begun_at)
    return row.state == ReplyState.QUEUED or (
        row.state == ReplyState.SENDING and begun is not None and now - begun < BUSY_FOR
    )


def _refuse(row: MessageRow, words: str) -> None:
    """Close a reply that may no longer be sent, with the reason."""
    with suppress(TransactionRefused, ConditionFailed):
        _close_failed(row, ReplyState.NOT_SENT, words, ReplyState.QUEUED)


def _close_failed(row: MessageRow, state: ReplyState, words: str, *before: ReplyState, **values: Any) -> None:
    """Close a reply that did not arrive, or may not have, with the reason. Raises as `close`."""
    close(row, state, f"{Result.FAILED}: {words}", *before, error=words, **values)


class _Sending:
    """One attempt to hand over a reply."""

    def __init__(self, row: MessageRow, item: Conversation, facts: ReplyFacts, rates: Rates) -> None:
        self.row, self.item, self.facts, self.rates = row, item, facts, rates

    def run(self) -> float | None:
        row = self.row
        try:
            provider = provider_of(self.facts.channel, self.facts.credentials, row.company_id or "")
        except Rejected as error:
            self._fail(error, ReplyState.QUEUED)
            return None
        except NotReached as error:
            return self._put_off(error, ReplyState.QUEUED)
        begun = clock.now()
        if not self._begin(begun):
            return None
        if clock.now() - begun > HELD_UP:
            return None
        try:
            provider_id = provider.send(outgoing_of(row))
        except Rejected as error:
            self._fail(error, ReplyState.SENDING)
            return None
        except NotReached as error:
            self.rates.pause(self.facts.sender, error.retry_after)
            return self._put_off(error, ReplyState.SENDING)
        except NoAnswer:
            row.update(
                actions=[
                    MessageRow.state.set(ReplyState.UNKNOWN.value),
                    MessageRow.state_at.set(clock.to_iso(clock.now())),
                    MessageRow.due_at.set(clock.to_iso(clock.now() + timedelta(seconds=2))),
                ],
                condition=(MessageRow.state == ReplyState.SENDING.value) & (MessageRow.sending_id == row.sending_id),
            )
            count_state(ReplyState.UNKNOWN)
            return None
        credentials.note_works(self.facts.credentials)
        accepted(row, provider_id, self.item)
        return None

    def _begin(self, now: datetime) -> bool:
        """Mark the start of sending, with the values handed over; return False if the reply is no longer queued."""
        row, facts = self.row, self.facts
        row.sending_id = secrets.token_hex(8)
        row.begun_at, row.sender, row.recipient = clock.to_iso(now), facts.sender, facts.recipient
        row.credentials = facts.credentials
        if facts.channel == "email":
            row.subject, answers = subject_and_answers(self.item)
            row.answers = json.dumps(answers)
        names = ("sending_id", "begun_at", "sender", "recipient", "credentials", "subject", "answers")
        values = [getattr(MessageRow, name).set(value) for name in names if (value := getattr(row, name)) is not None]
        try:
            row.update(
                actions=[
                    *values,
                    MessageRow.state.set(ReplyState.SENDING.value),
                    MessageRow.state_at.set(row.begun_at),
                    MessageRow.gsi_due.set(TO_SETTLE),
                    MessageRow.due_at.set(clock.to_iso(now + BUSY_FOR)),
                ],
                condition=MessageRow.state == ReplyState.QUEUED.value,
            )
        except ConditionFailed:
            # The write may have succeeded with its answer lost, and then been repeated.
            with suppress(NotFound):
                stored = MessageRow.get(row.conversation, row.position, consistent_read=True)
                return bool(stored.state == ReplyState.SENDING and stored.sending_id == row.sending_id)
            return False
        return True

    def _fail(self, error: Rejected, before: ReplyState) -> None:
        """Close a reply that the provider rejected, or would reject."""
        if isinstance(error, CredentialsRejected) and error.code != credentials.UNUSABLE:
            credentials.forget_secret(self.facts.credentials)
            credentials.note_problem(self.facts.credentials, "the provider does not accept what is in it")
        _close_failed(self.row, ReplyState.FAILED, error.words, before, error_code=error.code or None)

    def _put_off(self, error: NotReached, before: ReplyState) -> float | None:
        """Queue a reply again that was certainly not accepted, unless it has waited for too long; return as `send`."""
        row, now = self.row, clock.now()
        leaves = clock.parse_instant(row.not_before) or now
        if now - leaves > GIVEN_UP_AFTER:
            _close_failed(row, ReplyState.NOT_SENT, _NEVER_REACHED, before)
            return None
        wait = max(1.0, error.retry_after) if error.retry_after else 2.0
        condition = MessageRow.state == before.value
        if before is ReplyState.SENDING:
            condition &= MessageRow.sending_id == row.sending_id
        row.update(
            actions=[
                MessageRow.state.set(ReplyState.QUEUED.value),
                MessageRow.gsi_due.set(TO_SEND),
                MessageRow.due_at.set(clock.to_iso(now + timedelta(seconds=wait))),
                MessageRow.sending_id.remove(),
            ],
            condition=condition,
        )
        return wait


def provider_of(channel: str, name: str, company_id: str) -> Provider:
    """Return the adapter of a channel with a company's credentials. Raises as `Provider.send`, except `NoAnswer`."""
    try:
        return make(channel, credentials.secret_for(channel, name, company_id))
    except LookupError:
        raise Rejected("provider", "No provider is set up for this channel. Tell an administrator.") from None


def outgoing_of(row: MessageRow) -> Outgoing:
    """Return a reply whose sending has begun, in the shape that a provider takes."""
    return Outgoing(
        reply_id=row.message_id or "",
        channel=row.channel or "",
        sender=row.sender or "",
        recipient=row.recipient or "",
        text=row.content or "",
        begun_at=clock.parse_instant(row.begun_at) or clock.now(),
        template=row.template or "",
        variables=json.loads(row.variables or "{}"),
        subject=row.subject or "",
        answers=tuple(json.loads(row.answers or "[]")),
        row={"table": table_name("MESSAGES"), "conversation": row.conversation, "position": row.position},
    )


def accepted(row: MessageRow, provider_id: str, item: Conversation | None) -> None:
    """Note that the provider accepted a reply: append it to its conversation's item, then close row, entry and record.

    Raises the store's errors; the provider is then asked, and confirms it again.
    """
    on_item = False
    with suppress(ConsoleError):
        # Otherwise it is appended when the provider is asked for the delivery.
        on_item = item is not None and appending.append(row, item)
    now = clock.now()
    try:
        close(
            row,
            ReplyState.SENT,
            Result.SUCCESS,
            ReplyState.SENDING,
            ReplyState.UNKNOWN,
            provider_id=provider_id,
            sent_at=clock.to_iso(now),
            on_item=on_item,
            error=None,
            error_code=None,
            gsi_due=TO_ASK,
            due_at=clock.to_iso(now + ASKED_AFTER[0]),
        )
    except (TransactionRefused, ConditionFailed):
        # Another process settled it first.
        return
    if item is not None and (item.hand_off_messages_apart or item.plain("hand_off_message_ids")):
        note_answered(row.conversation)
        _remove_answered(row, item)


def _remove_answered(row: MessageRow, item: Conversation) -> None:
    """Remove what the reply answers from the platform's stage, so that the AI is not asked as well. Never raises."""
    written_at = clock.parse_instant(row.received_at)
    if written_at is None or not has_stage():
        return
    try:
        known = messages_of(item, item.raw.get("messages")).ids
        remove_staged(item, routed_since(item.raw), written_at, known)
    except ConsoleError as error:
        # The return to the AI does it then.
        logger.warning("Answered messages stay staged for now: %s", type(error).__name__)


# --- The sweep --------------------------------------------------------------------------------------------------------


def settle(row: MessageRow) -> None:
    """Find out whether a reply was accepted after its sender died or got no answer. Raises the store's errors."""
    before = (ReplyState.SENDING, ReplyState.UNKNOWN)
    if row.state not in before:
        return
    now, begun = clock.now(), clock.parse_instant(row.begun_at)
    is_over = begun is None or now - begun > GIVEN_UP_AFTER
    others = [each for each in _latest_rows(row) if each.position != row.position]
    earlier = [each for each in others if each.position < row.position and each.content == row.content]
    if any(each.gsi_due == TO_SETTLE for each in earlier):
        # The provider's list does not tell which of two equal texts is which: the earlier one has the earlier message.
        row.update(
            actions=[MessageRow.due_at.set(clock.to_iso(now + SETTLED_EVERY))],
            condition=MessageRow.gsi_due == TO_SETTLE,
        )
        return
    try:
        message = replace(outgoing_of(row), others=frozenset(each.provider_id for each in others if each.provider_id))
        found = provider_of(row.channel or "", row.credentials or "", row.company_id or "").find(message)
    except CannotAsk:
        _close_failed(row, ReplyState.UNKNOWN, _CANNOT_ASK, *before)
        return
    except (Rejected, NotReached, NoAnswer) as error:
        logger.warning("A provider could not be asked about a reply: %s", type(error).__name__)
        if is_over:
            _close_failed(row, ReplyState.UNKNOWN, _CANNOT_ASK, *before)
            return
        found = None
    if found is not None:
        accepted(row, found, live_conversation_of(row))
    elif is_over:
        _close_failed(row, ReplyState.NOT_SENT, _NOT_KNOWN, *before)
    else:
        row.update(
            actions=[
                MessageRow.state.set(ReplyState.UNKNOWN.value),
                MessageRow.due_at.set(clock.to_iso(now + SETTLED_EVERY)),
            ],
            condition=MessageRow.state.is_in(*(each.value for each in before)),
        )


def _latest_rows(row: MessageRow) -> list[MessageRow]:
    """Return the latest rows of a reply's conversation."""
    return list(MessageRow.query(row.conversation, scan_index_forward=False, limit=LOOKED_BACK, consistent_read=True))
