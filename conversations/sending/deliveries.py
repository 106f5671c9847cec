"""The delivery state of replies that a provider has accepted: polled until it is final, or reported by the provider."""

import logging
from contextlib import suppress
from typing import Any

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.store.calls import ConditionFailed
from console.trail.actions import Action, Result
from console.trail.recording import TrailEntry, conversation_trail, record
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.rows import MessageRow, key_in
from conversations.outbox.states import ReplyState
from conversations.providers import CannotAsk, Delivery, DeliveryState, NoAnswer, NotReached, Rejected
from conversations.sending.delivering import ASKED_AFTER, SENDER, live_conversation_of, provider_of
from conversations.sending.replies import count_state

logger = logging.getLogger(__name__)


def ask_delivery(row: MessageRow) -> None:
    """Ask the provider for a reply's delivery, and note it. Raises the store's errors."""
    if not row.on_item:
        _put_onto_item(row, live_conversation_of(row))
    try:
        provider = provider_of(row.channel or "", row.credentials or "", row.company_id or "")
        found = provider.delivery(row.provider_id or "")
    except CannotAsk:
        found = None
        row.asked = len(ASKED_AFTER)
    except (Rejected, NotReached, NoAnswer) as error:
        logger.info("A provider could not be asked about a delivery: %s", type(error).__name__)
        found = None
    note_delivery(row, found)


_FINAL = {"whatsapp": (DeliveryState.READ, DeliveryState.FAILED)}


def note_delivery(row: MessageRow, found: Delivery | None) -> None:
    """Write a reply's delivery state; `found` is None if nothing is known yet. Raises the store's errors."""
    asked, sent = int(row.asked or 0) + 1, clock.parse_instant(row.sent_at) or clock.now()
    final = _FINAL.get(row.channel or "", (DeliveryState.DELIVERED, DeliveryState.READ, DeliveryState.FAILED))
    is_last = asked >= len(ASKED_AFTER) or (found is not None and found.state in final)
    actions: list[UpdateAction] = [MessageRow.asked.set(asked)]
    if is_last:
        actions += [MessageRow.gsi_due.remove(), MessageRow.due_at.remove()]
    else:
        actions.append(MessageRow.due_at.set(clock.to_iso(sent + ASKED_AFTER[asked])))
    news = found if found is not None and found.state.value != row.state else None
    if news is not None:
        actions += [MessageRow.state.set(news.state.value), MessageRow.state_at.set(clock.to_iso(clock.now()))]
        if news.state is DeliveryState.FAILED:
            actions += [MessageRow.error.set(news.words), MessageRow.error_code.set(news.code or "none")]
            appending.note_not_delivered(row)
        # The trail first: no state without its entry. A repetition after a crash writes the same entry.
        _record_delivery(row, news)
    with suppress(ConditionFailed):
        row.update(actions=actions, condition=MessageRow.state == row.state)
        if news is not None:
            count_state(ReplyState(news.state.value))


def _record_delivery(row: MessageRow, found: Delivery) -> None:
    payload: dict[str, Any] = {"channel": row.channel, "state": found.state.value, "reply": row.message_id}
    # The entry's own time is that of the sending, so that a repetition writes the same entry.
    payload["at"] = clock.to_iso(clock.now())
    result = Result.SUCCESS.value
    if found.state is DeliveryState.FAILED:
        payload["code"], result = found.code, f"{Result.FAILED}: {found.words}"
    at = clock.parse_instant(row.sent_at) or clock.now()
    entry = TrailEntry(
        conversation_trail(key_in(row.conversation)[1]),
        Action.REPLY_DELIVERY,
        SENDER,
        row.company_id or "",
        result,
        payload,
        action_id=f"{row.message_id}.{found.state.value}",
        idempotency_key=row.event_id or "",
        previous_action_id=row.message_id or "",
    )
    record(entry, at)


def _put_onto_item(row: MessageRow, item: Conversation | None) -> None:
    if item is not None and appending.append(row, item):
        row.update(actions=[MessageRow.on_item.set(True)], condition=MessageRow.conversation.exists())
