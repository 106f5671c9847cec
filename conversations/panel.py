"""The hand-off panel: who has the conversation, since when, and what this person may do about it."""

from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.permissions import Permission, Staff
from console.trail.recording import read_only_reason
from conversations.handoff import HandOffAction, allowed_actions, intent_for, seal_intent
from conversations.models import Conversation
from conversations.records import HandOff, HandOffState


@dataclass(frozen=True, slots=True)
class Button:
    """One action of the panel: `token` is the sealed intent of its form. `key` is its letter on the keyboard."""

    action: str
    label: str
    token: str
    key: str = ""
    primary: bool = False
    asks_reason: bool = False
    requires_reason: bool = False
    asks_note: bool = False
    hint: str = ""

    @property
    def asks_first(self) -> bool:
        """Whether its key asks before it acts: a key is easily hit, and what was given up may go to another."""
        return self.action == HandOffAction.HAND_BACK


@dataclass(frozen=True, slots=True)
class Panel:
    """What the panel says and actions. `holds`: the person has it, and is shown how to answer."""

    title: str
    state: HandOffState
    lines: tuple[str, ...]
    reason: str
    note: str
    holds: bool
    forgotten: bool
    buttons: tuple[Button, ...]
    taken_at: datetime | None = None
    requested_at: datetime | None = None

    @property
    def asks_note(self) -> bool:
        """Whether a note may be left with one of the buttons."""
        return any(button.asks_note for button in self.buttons)


_LABELS = {
    HandOffAction.REQUEST: "Ask for a human",
    HandOffAction.TAKE_OVER: "Take over",
    HandOffAction.TAKE: "Take",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Take from {agent}",
    HandOffAction.RELEASE: "Release",
    HandOffAction.HAND_BACK: "Hand back to the AI",
    HandOffAction.ACKNOWLEDGE: "Leave it with the AI",
}
_HINTS = {
    HandOffAction.REQUEST: "Adds it to the queue for a human.",
    HandOffAction.TAKE_OVER: "You answer from now on. The AI is asked to stop.",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Say why. Your colleague will see it, and it is recorded.",
    HandOffAction.RELEASE: "Back to the queue. The waiting time continues.",
    HandOffAction.HAND_BACK: "The AI continues from here.",
    HandOffAction.ACKNOWLEDGE: "Accept that the platform gave it back to the AI.",
}
_KEYS = {
    HandOffAction.TAKE: "t",
    HandOffAction.TAKE_OVER: "t",
    HandOffAction.HAND_BACK: "r",
}


def panel_for(item: Conversation, hand_off: HandOff, staff: Staff, now: datetime) -> Panel:
    """The panel of one conversation for one person. Each button carries a fresh action id in its sealed intent."""
    is_mine = hand_off.agent == staff.username
    actions = () if read_only_reason() else allowed_actions(hand_off, staff)
    return Panel(
        title=_title(hand_off, is_mine=is_mine),
        state=hand_off.state,
        lines=tuple(_lines(hand_off, now)),
        reason=hand_off.reason if hand_off.flag else "",
        # Free text between colleagues: for those who may hand off, as the data model says.
        note=hand_off.note if staff.can(Permission.HAND_OFF) else "",
        holds=holds(hand_off, staff),
        forgotten=is_forgotten(hand_off, now),
        buttons=tuple(_button(action, item, hand_off, staff) for action in actions),
        taken_at=hand_off.taken_at,
        requested_at=hand_off.requested_at,
    )


def holds(hand_off: HandOff, staff: Staff) -> bool:
    """Whether a person has a conversation now: no longer once the platform overrode that."""
    return hand_off.state is HandOffState.HELD and hand_off.agent == staff.username


def primary_button(item: Conversation, hand_off: HandOff, staff: Staff) -> Button | None:
    """The usual action, for a row of a list; None where there is none, or one that asks for words."""
    if read_only_reason():
        return None
    for action in allowed_actions(hand_off, staff):
        if _is_primary(action, hand_off, staff):
            return _button(action, item, hand_off, staff)
    return None


def _is_primary(action: HandOffAction, hand_off: HandOff, staff: Staff) -> bool:
    return action in (HandOffAction.TAKE, HandOffAction.TAKE_OVER) or (
        action is HandOffAction.HAND_BACK and hand_off.agent == staff.username
    )


def is_forgotten(hand_off: HandOff, now: datetime) -> bool:
    """Whether somebody has held it for longer than a working day (12 hours): most likely forgotten overnight."""
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


def _lines(hand_off: HandOff, now: datetime) -> list[str]:
    lines = []
    if hand_off.state is HandOffState.OVERRIDDEN:
        lines.append(
            "The platform gave it back to the AI while a reply was being written. Take it over again, or leave "
            "it with the AI."
        )
    waited = hand_off.waited(now)
    if waited is not None and hand_off.state is not HandOffState.AI:
        at_least = "at least " if hand_off.wait_at_least else ""
        lines.append(f"The customer has waited {at_least}{clock.format_span(waited)}.")
    return lines


def _button(action: HandOffAction, item: Conversation, hand_off: HandOff, staff: Staff) -> Button:
    was_mine = hand_off.state is HandOffState.OVERRIDDEN and hand_off.agent == staff.username
    label = "Take over again" if was_mine and action is HandOffAction.TAKE_OVER else _LABELS[action]
    return Button(
        action=action.value,
        label=label.format(agent=hand_off.agent_shown),
        token=seal_intent(intent_for(action, item, hand_off), staff),
        key=_KEYS.get(action, ""),
        primary=_is_primary(action, hand_off, staff),
        asks_reason=action in (HandOffAction.REQUEST, HandOffAction.TAKE_OVER, HandOffAction.TAKE_FROM_COLLEAGUE),
        requires_reason=action is HandOffAction.TAKE_FROM_COLLEAGUE,
        asks_note=action in (HandOffAction.RELEASE, HandOffAction.HAND_BACK),
        hint=_HINTS.get(action, ""),
    )
