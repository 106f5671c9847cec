"""Bulk actions on the rows of the queue that a person selected: one hand-off action each, one after the other.

Each row's checkbox carries an intent, as the row's own button does. So a conversation that changed meanwhile is refused
without stopping the others, and the same form submitted again acts on none of them twice.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from django.conf import settings

from console import clock
from console.context import read_only_reason
from console.errors import (
    Conflict,
    ConsoleError,
    Forbidden,
    Invalid,
    NotAccepted,
    NotFound,
    StoreUnavailable,
    TableMissing,
    Throttled,
)
from console.permissions import Staff
from console.store.calls import current_budget
from conversations.attention.panel import holds
from conversations.converting import hand_off_of, is_gone, summary_of
from conversations.finding.queries import is_visible
from conversations.handoff import (
    HandOffAction,
    Intent,
    allowed_actions,
    intent_for,
    perform,
    seal_intent,
    unseal_intent,
)
from conversations.handoff.actions import seen_in
from conversations.handoff.service import derive_action_id
from conversations.models import SUMMARY_ATTRIBUTES, Conversation, read_conversations
from conversations.queue import counting
from conversations.queue.pages import ATTENTION, COLLEAGUES, MINE, WAITING
from conversations.receiving.leaving import ProviderNotAsked, UnansweredLeft, return_to_ai
from conversations.receiving.other_conversations import others_of
from conversations.receiving.witnessing import ask_ahead
from conversations.records import ConversationSummary, HandOff, HandOffState

logger = logging.getLogger(__name__)

# Maximum selected conversations, twice the rows of a page.
MOST = 50


class BulkAction(StrEnum):
    """The actions on several rows, in the order of their buttons."""

    TAKE = "take"
    RELEASE = "release"
    HAND_BACK = "hand_back"
    ASSIGN = "assign"
    LEAVE = "leave"


_OFFERED = {
    WAITING: (BulkAction.TAKE, BulkAction.ASSIGN),
    ATTENTION: (BulkAction.TAKE, BulkAction.LEAVE),
    MINE: (BulkAction.RELEASE, BulkAction.HAND_BACK, BulkAction.ASSIGN),
    COLLEAGUES: (BulkAction.ASSIGN, BulkAction.RELEASE),
}
# Hand-off actions that are not the one of the same name.
_ACTIONS = {
    (BulkAction.TAKE, HandOffState.AI): HandOffAction.TAKE_OVER,
    (BulkAction.TAKE, HandOffState.OVERRIDDEN): HandOffAction.TAKE_OVER,
    (BulkAction.LEAVE, HandOffState.OVERRIDDEN): HandOffAction.ACKNOWLEDGE,
}


def bulk_actions(tab: str, hand_off: HandOff, staff: Staff) -> tuple[BulkAction, ...]:
    """Return the bulk actions for which a row of a tab can be selected; () if it cannot be selected."""
    if read_only_reason():
        return ()
    allowed = allowed_actions(hand_off, staff)
    return tuple(each for each in _OFFERED[tab] if _action_of(each, hand_off) in allowed)


def _action_of(bulk: BulkAction, hand_off: HandOff) -> HandOffAction:
    return _ACTIONS.get((bulk, hand_off.state), HandOffAction(bulk.value))


def row_token(item: Conversation, hand_off: HandOff, staff: Staff) -> str:
    """Seal the value of a row's checkbox: the state that its reader saw. The button says which action to do."""
    return seal_intent(intent_for(HandOffAction.ASSIGN, item, hand_off), staff)


def selected_in(tokens: Iterable[str], staff: Staff) -> list[Intent]:
    """Open the values of a form's checkboxes, without duplicates.

    Raises `BadReference` for anything not sealed for this person, and `Invalid` for none or more than `MOST`.
    """
    intents = [unseal_intent(each, staff) for each in dict.fromkeys(tokens)]
    if not intents:
        raise Invalid("Select at least one conversation.")
    if len(intents) > MOST:
        raise Invalid(f"Select up to {MOST} conversations at once.")
    return intents


def for_bulk(intent: Intent, bulk: BulkAction) -> Intent:
    """Return the intent of a bulk action for one row, as its reader saw it."""
    return for_action(intent, _action_of(bulk, seen_in(intent)))


def for_action(intent: Intent, action: HandOffAction) -> Intent:
    """Return a row's intent for one action, with an id of its own, because a row can be submitted for several."""
    return replace(intent, action=action, action_id=derive_action_id(intent.action_id, action.value))


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """The outcome of each selected conversation.

    `done`: now, or when the form was submitted before. `unanswered` counts those left out, because returning them would
    leave messages without an answer, `unasked` those about which the provider was not asked in time. `refused`: not
    changed, with the error. `unknown`: the store did not answer. `left`: not begun, because the request's time was up.
    `routing_left` counts those done whose routing was not restored, because somebody else had changed it.
    """

    done: tuple[Intent, ...] = ()
    refused: tuple[tuple[Intent, ConsoleError], ...] = ()
    unknown: tuple[Intent, ...] = ()
    left: tuple[Intent, ...] = ()
    routing_left: int = 0
    unanswered: int = 0
    unasked: int = 0


@dataclass(frozen=True, slots=True)
class OtherConversation:
    """Another conversation of a customer with the same number; `token` is "" if it cannot be taken."""

    summary: ConversationSummary
    token: str


def others_beside(item: Conversation, staff: Staff) -> tuple[OtherConversation, ...]:
    """Return the customer's other conversations with the same number, for who has just taken one; () for others.

    A few Queries. A failure is logged: what was taken is shown in any case.
    """
    if not holds(hand_off_of(item), staff):
        return ()
    try:
        found = others_of(item)
    except ConsoleError as error:
        logger.warning("The customer's other conversations could not be read: %s", type(error).__name__)
        return ()
    return tuple(OtherConversation(summary_of(each, staff), _token_to_take(each, staff)) for each in found)


def _token_to_take(item: Conversation, staff: Staff) -> str:
    hand_off = hand_off_of(item)
    is_free = _action_of(BulkAction.TAKE, hand_off) in allowed_actions(hand_off, staff)
    return row_token(item, hand_off, staff) if is_free else ""


def perform_each(intents: Sequence[Intent], staff: Staff, *, reason: str = "", to: str = "") -> SelectionReport:
    """Carry out each intent, one after the other, and report on all of them.

    Begins none after the first in the second half of the request's time, so that the last one can finish.
    """
    done, refused, unknown = list[Intent](), list[tuple[Intent, ConsoleError]](), list[Intent]()
    left: Sequence[Intent] = ()
    routing_left = unanswered = unasked = 0
    asked = _ask_ahead([each for each in intents if each.returns])
    for number, intent in enumerate(intents):
        if number and not _has_time():
            left = intents[number:]
            break
        try:
            if intent.returns:
                outcome = return_to_ai(
                    intent, staff, asked_at=asked.get((intent.primary_channel, intent.conversation_id))
                )
            else:
                outcome = perform(intent, staff, reason=reason, to=to)
        except ProviderNotAsked:
            unasked += 1
        except UnansweredLeft:
            unanswered += 1
        except (Conflict, Forbidden, Invalid, NotFound, TableMissing, NotAccepted) as error:
            refused.append((intent, error))
        except (StoreUnavailable, Throttled):
            unknown.append(intent)
        else:
            done.append(intent)
            routing_left += outcome.routing_left
    counting.count_again({each.company_id for each in (*done, *unknown)})
    return SelectionReport(
        tuple(done), tuple(refused), tuple(unknown), tuple(left), routing_left, unanswered=unanswered, unasked=unasked
    )


def _ask_ahead(returning: Sequence[Intent]) -> dict[tuple[str, str], datetime]:
    """Have the provider asked about all that return at once, so that nobody waits for one after the other."""
    if len(returning) < 2:
        return {}
    try:
        return ask_ahead((each.primary_channel, each.conversation_id) for each in returning)
    except ConsoleError as error:
        logger.info("The provider is asked about each alone: %s", type(error).__name__)
        return {}


def _has_time() -> bool:
    budget = current_budget()
    return budget is None or budget.remaining() > settings.REQUEST_DEADLINE_SECONDS / 2


def conversations_of(intents: Iterable[Intent], staff: Staff) -> list[ConversationSummary]:
    """Read the rows of selected conversations, except those that are gone or no longer in scope.

    One BatchGetItem. Raises the store's errors.
    """
    wanted = dict.fromkeys((each.primary_channel, each.conversation_id) for each in intents)
    found = read_conversations(wanted, SUMMARY_ATTRIBUTES)
    items = {(each.primary_channel, each.conversation_id): each for each in found}
    now = clock.now()
    there = [items[key] for key in wanted if key in items]
    return [summary_of(each, staff) for each in there if is_visible(each, staff) and not is_gone(each, now)]
