"""The hand-off panel: who has the conversation, and what this person may do."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from console import clock
from console.context import read_only_reason
from console.permissions import Permission, Staff
from console.trees import text_of
from conversations.attention.causes import Cause, answer_in, causes_of
from conversations.attention.levels import DEFAULTS
from conversations.converting import redact_about, words
from conversations.handoff import HandOffAction, allowed_actions, intent_for, seal_intent
from conversations.handoff.actions import GIVES, TO_AI
from conversations.handoff.stored import (
    RULE,
    goes_to_people,
)
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.outbox.excusing import is_excused
from conversations.outbox.rows import queue_of
from conversations.records import Family, HandOff, HandOffState, Message, family_of, name_shown


@dataclass(frozen=True, slots=True)
class Button:
    """One action of the panel: `token` is the sealed intent of its form, `key` its keyboard shortcut."""

    action: str
    label: str
    token: str
    key: str = ""
    primary: bool = False
    requires_reason: bool = False
    asks_note: bool = False
    hint: str = ""
    # The reason that its form submits without asking.
    reason: str = ""

    @property
    def asks_first(self) -> bool:
        """Whether its shortcut asks first: a key is easily hit, and the conversation may then go to somebody else."""
        return self.action == HandOffAction.HAND_BACK and bool(self.key)


@dataclass(frozen=True, slots=True)
class Panel:
    """The content of the panel. `holds`: the person has the conversation and sees how to answer.

    `why` says why people have it; `is_silent`: the customer's messages go to people, so the AI does not answer, unless
    `may_answer`: it is still at what they wrote before.
    """

    title: str
    state: HandOffState
    lines: tuple[str, ...]
    reason: str
    note: str
    holds: bool
    forgotten: bool
    buttons: tuple[Button, ...]
    taken_at: datetime | None = None
    why: str = ""
    is_silent: bool = False
    may_answer: bool = False
    # Whether the person may give the conversation to a colleague or a group.
    gives: bool = False
    is_urgent: bool = False
    note_by: str = ""
    note_at: datetime | None = None
    # What nobody has answered, the mark of it that the form carries, and the ways to return it to the AI.
    unanswered: tuple[Message, ...] = ()
    shown: str = ""
    returns: tuple[Button, ...] = ()
    # Whether its holder said that no answer is needed, and can undo that.
    is_excused: bool = False

    @property
    def asks_note(self) -> bool:
        """Whether a note can be left with one of the buttons."""
        return bool(self.returns) or any(button.asks_note for button in self.buttons)


# No answer is awaited of a conversation that waits for a human.
NO_CLOCK = "The waiting time starts with the customer's next message."
# The reason of a take-over that undoes a return to the AI.
UNDONE = "The return was undone."
_LABELS = {
    HandOffAction.REQUEST: "Ask for a human",
    HandOffAction.TAKE_OVER: "Take over",
    HandOffAction.TAKE: "Take",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Take from {agent}",
    HandOffAction.RELEASE: "Return to queue",
    HandOffAction.HAND_BACK: "Return to AI",
    HandOffAction.ACKNOWLEDGE: "Return to AI",
    HandOffAction.LEAVE_TO_AI: "Let the AI answer",
    HandOffAction.MARK_URGENT: "Mark as urgent",
    HandOffAction.MARK_NOT_URGENT: "Not urgent",
    HandOffAction.LEAVE: "Dismiss",
}
_HINTS = {
    HandOffAction.REQUEST: "Adds it to the queue for a human.",
    HandOffAction.TAKE_OVER: "You answer from now on. The AI is asked to stop.",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Your colleague will see this, and it is recorded.",
    HandOffAction.RELEASE: "Anybody can take it then.",
    HandOffAction.HAND_BACK: "The AI will answer the customer's next message.",
    HandOffAction.LEAVE_TO_AI: "The AI is asked to answer what the customer wrote.",
    HandOffAction.MARK_URGENT: "Moves it to the front of the queue, before everything that is not urgent.",
    HandOffAction.LEAVE: "Takes it off Needs attention until something changes.",
    HandOffAction.ACKNOWLEDGE: "Accept that the platform gave it back to the AI.",
}
_KEYS = {
    HandOffAction.TAKE: "t",
    HandOffAction.TAKE_OVER: "t",
    HandOffAction.HAND_BACK: "r",
}


def panel_for(
    item: Conversation,
    hand_off: HandOff,
    staff: Staff,
    now: datetime,
    began: str = "",
    *,
    can_undo: bool = False,
    stored: StoredMessages | None = None,
    is_raw: bool = False,
    may_answer: bool = False,
) -> Panel:
    """Build the panel of one conversation for one person. Each button seals a fresh action id.

    `began` says how people came to have it, from the trail ("" if it was not read). `can_undo`: this person has just
    given it to the AI, so taking it over again undoes that. `stored` are the messages, if they were read: those without
    an answer are shown with the ways to return them, redacted unless `is_raw`. `may_answer`: the platform is still at
    work.
    """
    is_mine = hand_off.agent == staff.username
    actions = () if read_only_reason() else allowed_actions(hand_off, staff)
    gives = any(action in GIVES for action in actions)
    hidden = {*GIVES, HandOffAction.MARK_URGENT if hand_off.urgent else HandOffAction.MARK_NOT_URGENT}
    is_with_ai = hand_off.state is HandOffState.AI
    unanswered = [] if is_with_ai or stored is None or not {*TO_AI} & {*actions} else stored.unanswered()
    if not queue_of(item) or not (unanswered or (is_with_ai and item.hand_off_attention)):
        hidden.add(HandOffAction.LEAVE_TO_AI)
    if not item.hand_off_attention:
        hidden.add(HandOffAction.LEAVE)
    returning = [] if is_with_ai else [each for each in TO_AI[::-1] if each in actions and each not in hidden]
    plain = [each for each in actions if each not in hidden and each not in returning]
    return Panel(
        title=_title(hand_off, is_mine=is_mine),
        state=hand_off.state,
        lines=(*_lines(item, hand_off, now), *attention_lines(item, hand_off, now)),
        reason=hand_off.reason if hand_off.flag else "",
        # Free text between colleagues, only for those who may hand off (data model).
        note=hand_off.note if staff.can(Permission.HAND_OFF) else "",
        holds=holds(hand_off, staff),
        forgotten=is_forgotten(hand_off, now),
        buttons=tuple(_button(action, item, hand_off, staff, undoes=can_undo) for action in plain),
        note_by=name_shown(hand_off.note_by),
        note_at=hand_off.note_at,
        unanswered=tuple(stored.message(number, raw=is_raw, whole=False) for number in unanswered) if stored else (),
        shown=stored.unanswered_mark if stored and unanswered else "",
        returns=tuple(_button(action, item, hand_off, staff, left=len(unanswered)) for action in returning),
        is_excused=holds(hand_off, staff) and is_excused(item),
        taken_at=hand_off.taken_at,
        why=_why(item, hand_off, began),
        is_silent=goes_to_people(item.raw),
        may_answer=may_answer,
        gives=gives,
        is_urgent=bool(hand_off.urgent) and not is_with_ai,
    )


def _why(item: Conversation, hand_off: HandOff, began: str) -> str:
    """Say why people have a conversation; "" if the AI has it or the reason is unknown."""
    if hand_off.state is HandOffState.AI:
        return ""
    if family_of(status := text_of(item.plain("conversation_status") or "")) is Family.FAILED:
        failure = redact_about(item, text_of(item.plain("failure_reason") or ""))[:200]
        return f"The platform could not answer: {failure or words(redact_about(item, status))}."
    if hand_off.reason.startswith(RULE):
        return "One of the project's rules sends this customer's replies to people."
    return f"{began}." if began else ""


def holds(hand_off: HandOff, staff: Staff) -> bool:
    """Return whether a person holds a conversation and the platform has not overridden them."""
    return hand_off.state is HandOffState.HELD and hand_off.agent == staff.username


def primary_button(item: Conversation, hand_off: HandOff, staff: Staff) -> Button | None:
    """Return the button of the usual action for a list row, or None if there is none or it needs a reason."""
    if read_only_reason():
        return None
    for action in allowed_actions(hand_off, staff):
        if _is_primary(action, hand_off, staff):
            return _button(action, item, hand_off, staff)
    return None


def attention_buttons(item: Conversation, hand_off: HandOff, staff: Staff) -> tuple[Button, ...]:
    """Return the extra buttons of a row that needs attention: dismiss or return it, or let the AI answer.

    A conversation that people hold has none, because its holder answers.
    """
    is_left = hand_off.state is HandOffState.AI and bool(item.hand_off_attention)
    if read_only_reason() or not (is_left or hand_off.state is HandOffState.OVERRIDDEN):
        return ()
    wanted = [HandOffAction.LEAVE, HandOffAction.ACKNOWLEDGE]
    if is_left and queue_of(item):
        wanted.append(HandOffAction.LEAVE_TO_AI)
    allowed = allowed_actions(hand_off, staff)
    return tuple(_button(each, item, hand_off, staff) for each in wanted if each in allowed)


def _is_primary(action: HandOffAction, hand_off: HandOff, staff: Staff) -> bool:
    return action in (HandOffAction.TAKE, HandOffAction.TAKE_OVER) or (
        action is HandOffAction.HAND_BACK and hand_off.agent == staff.username
    )


def is_forgotten(hand_off: HandOff, now: datetime) -> bool:
    """Return whether somebody has held it for more than 12 hours, so most likely forgot it overnight."""
    return bool(hand_off.agent) and hand_off.taken_at is not None and (now - hand_off.taken_at).total_seconds() > 43_200


def _title(hand_off: HandOff, *, is_mine: bool) -> str:
    match hand_off.state:
        case HandOffState.AI:
            return "The AI has this conversation"
        case HandOffState.WAITING:
            return "Waiting for a human"
        case HandOffState.HELD:
            return "You have this conversation" if is_mine else f"{hand_off.agent_shown} has this conversation"
        case HandOffState.OVERRIDDEN:
            whose = "your" if is_mine else f"{hand_off.agent_shown}'s"
            return f"The platform overrode {whose} take-over"


def _lines(item: Conversation, hand_off: HandOff, now: datetime) -> list[str]:
    lines = []
    if hand_off.state is HandOffState.OVERRIDDEN:
        lines.append(
            "The platform gave it back to the AI while a reply was being written. Take it over again, or return "
            "it to the AI."
        )
    # When the wait began does not depend on the service levels.
    answer = answer_in(item.raw, DEFAULTS)
    if answer.since is not None and hand_off.state is not HandOffState.AI:
        at_least = "at least " if hand_off.wait_at_least and answer.is_first else ""
        lines.append(f"The customer has waited {at_least}{clock.format_span(max(timedelta(0), now - answer.since))}.")
    elif hand_off.state is HandOffState.WAITING and not answer.is_first:
        lines.append(f"{_why_nothing_waits(item)} {NO_CLOCK}")
    return lines


def _why_nothing_waits(item: Conversation) -> str:
    if not is_excused(item):
        return "The customer has an answer."
    said_by = name_shown(item.hand_off_no_answer_by) if item.hand_off_no_answer_by else "Somebody"
    return f"{said_by} said that no answer is needed."


def wait_after_return(item: Conversation) -> str:
    """Say what happens to the customer's waiting time when a conversation goes back to the queue."""
    answer = answer_in(item.raw, DEFAULTS)
    return "The waiting time continues." if answer.is_first or answer.since is not None else NO_CLOCK


def attention_lines(item: Conversation, hand_off: HandOff, now: datetime) -> list[str]:
    """Return a sentence for each cause that needs attention; [] for none."""
    causes = causes_of(item.raw, now)
    if hand_off.state is not HandOffState.AI:
        return [_ATTENTION[each] for each in causes if each in _ATTENTION]
    since = clock.parse_instant(item.plain("hand_off_requested_at"))
    when = "" if since is None else f", for {clock.format_span(now - since)}"
    return [f"Needs attention: {each.label}{when}." for each in causes]


_ATTENTION = {
    Cause.REPLY_FAILED: "A reply did not reach the customer.",
    Cause.EXPIRING: "The conversation expires within a day. Then nobody can answer it any more.",
}


def _button(
    action: HandOffAction, item: Conversation, hand_off: HandOff, staff: Staff, *, undoes: bool = False, left: int = 0
) -> Button:
    """Return a button; `left` counts the messages that a return would leave to the AI without an answer."""
    was_mine = hand_off.state is HandOffState.OVERRIDDEN and hand_off.agent == staff.username
    label, hint, undoes = _LABELS[action], _HINTS.get(action, ""), undoes and action is HandOffAction.TAKE_OVER
    if action is HandOffAction.TAKE_OVER and (was_mine or undoes):
        label = "Undo: take it back" if undoes else "Take over again"
    asks = action is HandOffAction.LEAVE_TO_AI
    if action is HandOffAction.RELEASE:
        hint = f"{hint} {wait_after_return(item)}"
    if left and asks:
        label += " it" if left == 1 else " them"
    elif left:
        label, hint = "Return without an answer", "The AI is not told. If nobody answers, Needs attention says so."
    return Button(
        action=action.value,
        label=label.format(agent=hand_off.agent_shown) if "{" in label else label,
        token=seal_intent(intent_for(action, item, hand_off), staff),
        key="" if left else _KEYS.get(action, ""),
        primary=asks if left else _is_primary(action, hand_off, staff),
        requires_reason=action is HandOffAction.TAKE_FROM_COLLEAGUE,
        asks_note=action in (HandOffAction.RELEASE, HandOffAction.HAND_BACK),
        hint=hint,
        reason=UNDONE if undoes else "",
    )
