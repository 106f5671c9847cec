"""Giving a conversation back to the AI, and asking the AI to answer what nobody has answered.

Nothing unanswered goes back unseen: the form carries what its reader saw, and anything newer refuses it. The hand-off
goes back first, by its own conditional write, so that a colleague who was faster keeps the conversation. A row notes
beforehand what to do with the customer's messages. The sweep goes on with it after a crash, and until the platform has
written the messages to the item with the AI's answer.
"""

import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.errors import Conflict, ConsoleError, Forbidden, Invalid, NotFound
from console.permissions import Staff
from console.store import queues
from console.store.calls import ConditionFailed
from console.store.connection import call
from console.store.models import plain_item
from conversations.converting import is_gone
from conversations.handoff.actions import HandOffAction, Intent, check_allowed
from conversations.handoff.outcomes import HandOffOutcome
from conversations.handoff.service import perform
from conversations.handoff.stored import (
    HEARD_AT,
    LAST_ACTION,
    MESSAGES,
    OWED_AT,
    TO_AI_AT,
    Conditions,
    Expression,
    has_stage,
    is_processing,
    last_action_of,
    text_in,
    update_item,
)
from conversations.messages.content import CONTENT, blocks_of, first_of
from conversations.messages.message import IDENTITY, TIME, StoredMessages
from conversations.messages.repetitions import wrote_words
from conversations.models import Conversation
from conversations.outbox.routing import skew
from conversations.outbox.rows import MessageRow, expiry, messages_of, note_answered, partition_of, queue_of
from conversations.outbox.staging import AT_ONCE, read_staged, remove_staged, routed_since, stage, wait_for_trigger
from conversations.receiving.recording import INBOUND, RECEIVED
from conversations.receiving.witnessing import ask_first

logger = logging.getLogger(__name__)

# Partition of the sparse index: conversations that went to the AI, with work left.
TO_AI = "to the AI"
LEFT = "left to the AI"
# The state of such a row once its messages are staged.
STAGED = "staged"
FINISH_AFTER = timedelta(minutes=1)
# How long the platform's answer is awaited. People look much sooner.
AWAITED_FOR = timedelta(days=1)
NOT_ASKED = (
    "Nothing was changed. The provider was not asked what the customer wrote last: it has not answered in time, so "
    "photos and messages that the platform drops may be missing here. Return it anyway, or try again in a minute."
)


class UnansweredLeft(Conflict):
    """Raised if a return was refused, because its form did not show everything that the customer wrote last."""


class ProviderNotAsked(UnansweredLeft):
    """Raised if a return was refused, because the provider has not said in time what the customer wrote last."""


def return_to_ai(
    intent: Intent,
    staff: Staff,
    *,
    shown: str = "",
    note: str = "",
    unasked: bool = False,
    asked_at: datetime | None = None,
) -> HandOffOutcome:
    """Give a conversation back to the AI, or ask the AI to answer what it left, with an action that does so.

    `shown` is the `unanswered_mark` of the messages that the form showed. Leaving to the AI makes it answer them;
    otherwise they return without an answer. The provider is asked first for what the platform dropped, unless the form
    said that it was not (`unasked`); `asked_at` is when that was requested already. Raises as `perform`,
    `UnansweredLeft`, `ProviderNotAsked`, and `Invalid` if the AI has nothing to answer or its channel has no queue.
    """
    check_allowed(intent, staff)
    item = Conversation.get(intent.primary_channel, intent.conversation_id, consistent_read=True)
    if is_gone(item, clock.now()) or not staff.scope.covers_company(item.company_id):
        raise NotFound
    asks = intent.action is HandOffAction.LEAVE_TO_AI
    if asks and not queue_of(item):
        raise Invalid("The queue of this conversation's channel is not configured, so nothing can be sent to the AI.")
    is_done = last_action_of(item.raw) == intent.action_id
    if intent.returns and not is_done and not unasked:
        asked = ask_first(item, asked_at)
        if asked is False:
            raise ProviderNotAsked(NOT_ASKED)
        item = Conversation.get(*_key(item), consistent_read=True) if asked else item
    stored = messages_of(item, item.raw.get(MESSAGES))
    unanswered = stored.unanswered()
    if not is_done and intent.returns and unanswered and shown != stored.unanswered_mark:
        raise UnansweredLeft(_not_shown(len(unanswered), is_newer=bool(shown)))
    noted = None
    if not is_done and (asks or _may_be_staged(item)):
        noted = _note(intent, item, _for_ai(item, stored, intent) if asks else [])
    owed = next(filter(None, map(stored.at, unanswered)), clock.now())
    try:
        outcome = perform(
            intent,
            staff,
            note=note,
            item=item,
            owed_at=clock.to_iso(owed) if asks or (unanswered and item.hand_off_messages_apart) else "",
            as_read=(HEARD_AT, MESSAGES) if intent.returns else (),
        )
    except (Conflict, Forbidden, Invalid, NotFound):
        if noted is not None:
            noted.delete()
        raise
    if noted is not None and not outcome.replayed:
        try:
            finish_leaving(noted, Conversation.get(*_key(item), consistent_read=True))
        except ConsoleError as error:
            logger.warning("What a return leaves to do is done later: %s", type(error).__name__)
    elif noted is not None:
        # An earlier submission of the same form has done it.
        noted.delete()
    return outcome


def _not_shown(count: int, *, is_newer: bool) -> str:
    if is_newer:
        return "The customer has written again. Nothing was changed. Read it, then decide."
    which = "The customer's last message has" if count == 1 else f"The customer's last {count} messages have"
    return f"{which} no answer. Nothing was changed. Decide who answers."


def _key(item: Conversation) -> tuple[str, str]:
    return item.primary_channel, item.conversation_id


def _may_be_staged(item: Conversation) -> bool:
    """Return whether messages to people may still be staged."""
    return has_stage() and bool(item.plain("hand_off_message_ids") or item.hand_off_messages_apart)


def _for_ai(item: Conversation, stored: StoredMessages, intent: Intent) -> list[dict[str, Any]]:
    """Return what the AI is to answer: what nobody has, and what is staged and not in the transcript; oldest first."""
    if intent.asks_again and not item.hand_off_attention:
        raise Invalid("The AI has already continued this conversation, so there is nothing to try again.")
    unanswered = [entry for number in stored.unanswered() if isinstance(entry := stored.entry(number), dict)]
    names, known = {first_of(each, *IDENTITY) for each in unanswered}, stored.ids
    staged = _fragments(plain_item(each) for each in read_staged(item))
    found = _fragments(unanswered) | {name: each for name, each in staged.items() if name in names or name not in known}
    if found:
        return sorted(found.values(), key=lambda each: each["received_at"])[-AT_ONCE:]
    if intent.returns:
        raise Invalid("There is no message for the AI to answer. Return the conversation without one.")
    if not any(stored.by_customer()):
        raise Invalid(
            "The customer has not written anything yet, so there is nothing for the AI to answer. Take over to write "
            "to them."
        )
    raise Invalid("The customer's messages are no longer kept for the AI. Take over the conversation to answer.")


def _fragments(stored: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return messages of the stage table or a transcript in the shape to stage, by id, skipping those without text."""
    found, received_at = {}, ""
    for each in stored:
        name, body = first_of(each, "message_sid", *IDENTITY), _words(each)
        if (at := clock.parse_instant(first_of(each, "received_at", *TIME))) is not None:
            received_at = clock.to_iso(at)
        if isinstance(name, str) and body.strip():
            # One without a time comes right after the one before it.
            found[name] = {"message_sid": name, "body": body, "received_at": received_at}
    return found


def _words(stored: dict[str, Any]) -> str:
    """Return the text of a staged message or a transcript's entry, which may have it in parts; "" for none."""
    if isinstance(body := first_of(stored, "body", *CONTENT), str):
        return body
    return "\n".join(block.text for block in blocks_of(stored, raw=True)[0] if block.kind == "text")


def _note(intent: Intent, item: Conversation, found: list[dict[str, Any]]) -> MessageRow | None:
    """Note what to do before the hand-off goes back; return None if that was noted before.

    `found`: the messages for the AI. `begun_at`: since when the platform has routed messages to people, "" for unknown.
    """
    now, since = clock.now(), routed_since(item.raw)
    row = MessageRow(
        partition_of(*_key(item)),
        f"{TO_AI}#{intent.action_id}",
        company_id=item.company_id,
        body=json.dumps(found),
        decision_id=intent.action_id,
        begun_at="" if since is None else clock.to_iso(since),
        received_at=clock.to_iso(now),
        expires_at=expiry(now),
        gsi_due=TO_AI,
        due_at=clock.to_iso(now + FINISH_AFTER),
    )
    try:
        row.save(condition=MessageRow.conversation.does_not_exist())
    except ConditionFailed:
        return None
    return row


def finish_leaving(row: MessageRow, item: Conversation | None) -> None:
    """Do the next step with the messages of a conversation that went to the AI. Safe to repeat.

    Ends if the hand-off never went back, or somebody has acted since. `item` is the conversation, None if it is gone.
    Raises the store's errors.
    """
    if item is None or last_action_of(item.raw) != row.decision_id:
        row.delete()
        return
    found = _noted_messages(row)
    if row.state != STAGED:
        known = messages_of(item, item.raw.get(MESSAGES)).ids - {each["message_sid"] for each in found}
        until = clock.parse_instant(row.received_at) or clock.now()
        remove_staged(item, clock.parse_instant(row.begun_at), until, known)
    if found:
        _bring(row, item, found)
    else:
        row.delete()


def _bring(row: MessageRow, item: Conversation, found: list[dict[str, Any]]) -> None:
    """Stage the messages, trigger the platform's service, and look again until it has written them to the item."""
    now, begun = clock.now(), clock.parse_instant(text_in(item.raw, TO_AI_AT)) or clock.now()
    names = {each["message_sid"] for each in found}
    if wrote_words(item, [each["body"] for each in found], begun - skew()):
        _note_written(item)
        row.delete()
    elif now - begun > AWAITED_FOR:
        row.delete()
    elif is_processing(item.raw) or row.asked:
        # The service reads what is staged at the beginning of its work. A second trigger may find nothing staged.
        _look_again(row, now + FINISH_AFTER)
    elif row.state == STAGED and not any(text_in(each, "message_sid") in names for each in read_staged(item)):
        # Another trigger has brought them to the service.
        _look_again(row, now + FINISH_AFTER, MessageRow.asked.set(1))
    else:
        until = wait_for_trigger(item, names if row.state == STAGED else ())
        if row.state != STAGED:
            stage(found, item)
            _mark_left(row.conversation, found)
        if until is None:
            key = {"conversation_id": item.conversation_id, "primary_channel": item.primary_channel}
            queues.send(queue_of(item), json.dumps(key))
        asked = [] if until else [MessageRow.asked.set(1)]
        _look_again(row, until or now + FINISH_AFTER, MessageRow.state.set(STAGED), *asked)


def _look_again(row: MessageRow, at: datetime, *changes: UpdateAction) -> None:
    """Leave the next step to the sweep."""
    with suppress(ConditionFailed):
        row.update(
            actions=[*changes, MessageRow.due_at.set(clock.to_iso(at))], condition=MessageRow.conversation.exists()
        )


def _mark_left(conversation: str, found: list[dict[str, Any]]) -> None:
    """Mark the rows of messages that the AI is to answer: they ask for no human any more."""
    names, since = {each["message_sid"] for each in found}, min(each["received_at"] for each in found)
    rows = MessageRow.query(
        conversation,
        MessageRow.position >= (since or "0"),
        filter_condition=(MessageRow.direction == INBOUND) & (MessageRow.state == RECEIVED),
        consistent_read=True,
    )
    for each in rows:
        if each.message_id in names:
            each.update(actions=[MessageRow.state.set(LEFT)])
    note_answered(conversation)


def _note_written(item: Conversation) -> None:
    """Note on the item that the AI has got the messages, unless somebody has acted since."""
    if OWED_AT not in item.raw:
        return
    conditions = Conditions()
    conditions.text(LAST_ACTION, last_action_of(item.raw), item.raw)
    with suppress(ConditionFailed):
        call("UpdateItem", **update_item(*_key(item), Expression(removed=(OWED_AT,)), conditions, returns="NONE"))


def _noted_messages(row: MessageRow) -> list[dict[str, Any]]:
    """Return the messages that the AI is to answer. Earlier versions noted the positions of their rows."""
    found = []
    for each in json.loads(row.body or "[]"):
        if isinstance(each, dict):
            found.append(each)
            continue
        with suppress(NotFound):
            stored = MessageRow.get(row.conversation, each, consistent_read=True)
            found.append(
                {"message_sid": stored.message_id, "body": stored.content, "received_at": stored.received_at or ""}
            )
    return found
