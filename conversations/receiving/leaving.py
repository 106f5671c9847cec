"""Leaving messages to the AI: they are staged again, and the replying service is notified.

These are messages that a rule sent to people, or that the AI itself left unanswered. The hand-off goes back first, by
its own conditional write, so that a colleague who was faster keeps the conversation. A row notes beforehand what to
bring to the AI; it is deleted last, and the sweep finishes what a crash interrupted. The AI is thus notified at least
once; a second time, it finds nothing staged.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from console import clock
from console.errors import Conflict, ConsoleError, Forbidden, Invalid, NotFound
from console.permissions import Staff
from console.store import queues
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import plain_item
from conversations.content import CONTENT, blocks_of, first_of
from conversations.handoff.actions import Intent, check_allowed
from conversations.handoff.outcomes import HandOffOutcome
from conversations.handoff.service import perform
from conversations.handoff.stored import last_action_of, text
from conversations.messages import IDENTITY, TIME, StoredMessages
from conversations.models import Conversation
from conversations.receiving.appending import has_message
from conversations.receiving.recording import INBOUND, RECEIVED, expiry
from conversations.receiving.rows import MessageRow, note_answered, partition_of, queue_of

logger = logging.getLogger(__name__)

# Partition of the sparse index: messages to bring to the AI.
TO_AI = "to the AI"
LEFT = "left to the AI"
FINISH_AFTER = timedelta(minutes=1)
# The platform stages a message for about a minute; ours wait for its queue, even if it is busy.
STAGED_FOR = timedelta(hours=1)
AT_ONCE = 50


def leave_to_ai(intent: Intent, staff: Staff) -> HandOffOutcome:
    """Let the AI answer the customer's messages: those to people, who give the conversation back, or those to the AI.

    Raises as `perform`, and `Invalid` if there is nothing to answer or the conversation's channel has no queue.
    """
    check_allowed(intent, staff)
    item = Conversation.get(intent.primary_channel, intent.conversation_id, consistent_read=True)
    if not staff.scope.covers_company(item.company_id):
        raise NotFound
    if not queue_of(item):
        raise Invalid("The queue of this conversation's channel is not configured, so nothing can be sent to the AI.")
    is_done = last_action_of(item.raw) == intent.action_id
    noted = None if is_done else _note(intent, _again(item) if intent.asks_again else _to_people(item), item)
    try:
        outcome = perform(intent, staff)
    except (Conflict, Forbidden, Invalid, NotFound):
        if noted is not None:
            noted.delete()
        raise
    if noted is not None and not outcome.replayed:
        try:
            _bring(noted, item)
        except ConsoleError as error:
            logger.warning("Replies left to the AI are brought later: %s", type(error).__name__)
    elif noted is not None:
        # An earlier submission of the same form has brought them already.
        noted.delete()
    return outcome


def finish_leaving(row: MessageRow, item: Conversation | None) -> None:
    """Bring messages to the AI after a crash, unless the hand-off never went back or somebody has acted since.

    `item` is the conversation, None if it is gone. Raises the store's errors.
    """
    if item is not None and last_action_of(item.raw) == row.decision_id:
        _bring(row, item)
    else:
        row.delete()


def _to_people(item: Conversation) -> list[str]:
    """Return the positions of the customer's messages to people since a human was wanted, oldest first."""
    since = item.hand_off_requested_at if isinstance(item.hand_off_requested_at, str) else ""
    rows = MessageRow.query(
        partition_of(item.primary_channel, item.conversation_id),
        MessageRow.position >= since if since else None,
        filter_condition=(MessageRow.direction == INBOUND) & (MessageRow.state == RECEIVED),
        scan_index_forward=False,
        limit=AT_ONCE,
        consistent_read=True,
    )
    found = [row.position for row in rows][::-1]
    if not found:
        raise Invalid("There is no message for the AI to answer. Hand the conversation back instead.")
    return found


def _again(item: Conversation) -> list[dict[str, str]]:
    """Return what the AI has not answered: staged messages, and the transcript's last ones, oldest first."""
    if not item.hand_off_attention:
        raise Invalid("The AI has already continued this conversation, so there is nothing to try again.")
    unanswered = list(StoredMessages.of(item.raw.get("messages")).unanswered())
    names = [first_of(each, *IDENTITY) for each in unanswered]
    # Earlier messages of the transcript have been answered.
    staged = {
        name: each for name, each in _staged_before(item).items() if name in names or not has_message(item.raw, name)
    }
    found = _fragments(unanswered) | staged
    if not found and not any(StoredMessages.of(item.raw.get("messages")).by_customer()):
        raise Invalid(
            "The customer has not written anything yet, so there is nothing for the AI to answer. Take over to write "
            "to them."
        )
    if not found:
        raise Invalid("The customer's messages are no longer kept for the AI. Take over the conversation to answer.")
    return sorted(found.values(), key=lambda each: each["received_at"])[-AT_ONCE:]


def _staged_before(item: Conversation) -> dict[str, dict[str, str]]:
    """Return the messages that the platform staged but did not process, by id. One Query."""
    answer = call(
        "Query",
        TableName=table_name("CONVERSATIONS_STAGE"),
        KeyConditionExpression="conversation_id = :id",
        ExpressionAttributeValues={":id": text(item.conversation_id)},
        ConsistentRead=True,
        Limit=AT_ONCE,
    )
    found = (plain_item(each) for each in answer.get("Items", ()))
    return _fragments(each for each in found if each.get("primary_channel") in (None, "", item.primary_channel))


def _fragments(stored: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return messages of the stage table or a transcript in the shape to stage, by id, skipping those without text."""
    found = {}
    for each in stored:
        name, body = first_of(each, "message_sid", *IDENTITY), _words(each)
        if isinstance(name, str) and body.strip():
            at = clock.parse_instant(first_of(each, "received_at", *TIME))
            found[name] = {"message_sid": name, "body": body, "received_at": clock.to_iso(at) if at else ""}
    return found


def _words(stored: dict[str, Any]) -> str:
    """Return the text of a staged message or a transcript's entry, which may have it in parts; "" for none."""
    if isinstance(body := first_of(stored, "body", *CONTENT), str):
        return body
    return "\n".join(block.text for block in blocks_of(stored, raw=True)[0] if block.kind == "text")


def _note(intent: Intent, found: Sequence[str | dict[str, str]], item: Conversation) -> MessageRow | None:
    """Note what to bring before the hand-off goes back; return None if that was noted before.

    `found`: positions of rows, or the messages themselves.
    """
    now = clock.now()
    row = MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        f"{TO_AI}#{intent.action_id}",
        company_id=item.company_id,
        body=json.dumps(found),
        decision_id=intent.action_id,
        expires_at=expiry(now),
        gsi_due=TO_AI,
        due_at=clock.to_iso(now + FINISH_AFTER),
    )
    try:
        row.save(condition=MessageRow.conversation.does_not_exist())
    except ConditionFailed:
        return None
    return row


def _bring(noted: MessageRow, item: Conversation) -> None:
    """Stage the messages, notify the replying service, and mark their rows. Safe to repeat."""
    found = json.loads(noted.body or "[]")
    rows = list(_still_there(noted.conversation, [each for each in found if isinstance(each, str)]))
    messages = [(row.message_id or "", row.content or "", row.received_at) for row in rows]
    messages += [(each["message_sid"], each["body"], each["received_at"]) for each in found if isinstance(each, dict)]
    for each in messages:
        call("PutItem", TableName=table_name("CONVERSATIONS_STAGE"), Item=_staged(*each, item))
    key = {"conversation_id": item.conversation_id, "primary_channel": item.primary_channel}
    queues.send(queue_of(item), json.dumps(key))
    for row in rows:
        row.update(actions=[MessageRow.state.set(LEFT)])
    if rows:
        note_answered(noted.conversation)
    noted.delete()


def _still_there(conversation: str, positions: Iterable[str]) -> Iterator[MessageRow]:
    """Yield the rows of these messages, except those that have expired meanwhile."""
    for position in positions:
        with suppress(NotFound):
            yield MessageRow.get(conversation, position, consistent_read=True)


def _staged(name: str, body: str, written_at: str | None, item: Conversation) -> dict[str, dict[str, str]]:
    """Return a message as the platform's webhook stages it (schema platform-replies, 2): UTC times without a zone."""
    received_at = clock.parse_instant(written_at) or clock.now()
    return {
        "conversation_id": text(item.conversation_id),
        "message_sid": text(name),
        "primary_channel": text(item.primary_channel),
        "body": text(body),
        "received_at": text(received_at.replace(tzinfo=None).isoformat()),
        "expires_at": {"N": str(clock.to_epoch(clock.now() + STAGED_FOR))},
    }
