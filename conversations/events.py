"""The hand-offs of one conversation as a story: when a human was asked for, took over, released, handed back.

From the trail's entries that succeeded, and, where the trail says nothing (the platform sets flags without entries,
entries expire), from the item itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console import clock
from console.audit.records import HandOffEntry
from console.trail.actions import Action, Result
from conversations.records import HandOff, HandOffState, Marker

# A trail entry and the item's own time of the same action are written by one request, moments apart.
_SAME_ACTION = timedelta(minutes=2)
# "I have asked a colleague" comes with the request, not into the hand-off.
ANNOUNCEMENT = timedelta(minutes=1)

_LEADS_TO = {
    Action.HAND_OFF_REQUEST: HandOffState.WAITING,
    Action.HAND_OFF_TAKE_OVER: HandOffState.HELD,
    Action.HAND_OFF_TAKE: HandOffState.HELD,
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: HandOffState.HELD,
    Action.HAND_OFF_RELEASE: HandOffState.WAITING,
    Action.HAND_OFF_HAND_BACK: HandOffState.AI,
    Action.HAND_OFF_ACKNOWLEDGE: HandOffState.AI,
}
_WORDS = {
    Action.HAND_OFF_REQUEST: "asked for a human",
    Action.HAND_OFF_TAKE_OVER: "took over",
    Action.HAND_OFF_TAKE: "took over",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: "took it from a colleague",
    Action.HAND_OFF_RELEASE: "released it: waiting for a human again",
    Action.HAND_OFF_HAND_BACK: "handed back to the AI",
    Action.HAND_OFF_ACKNOWLEDGE: "left it with the AI",
}


@dataclass(frozen=True, slots=True)
class HandOffChange:
    """One change of who has the conversation: from `at` on it is in `state`. `actor` is "" for the platform."""

    at: datetime
    state: HandOffState
    text: str
    actor: str = ""
    detail: str = ""

    def marker(self) -> Marker:
        """As it stands between messages."""
        tone = "ai" if self.state is HandOffState.AI else "human"
        return Marker("event", self.text, self.at, self.detail, tone)


@dataclass(frozen=True, slots=True)
class Story:
    """All known events, oldest first. `open_end` is False where the last of them no longer holds, for unknown reasons.

    Then the platform ended that hand-off at a time that nobody wrote down, and nothing is said of what came after.
    """

    events: tuple[HandOffChange, ...] = ()
    open_end: bool = True

    def during(self, at: datetime) -> str:
        """What a message of the AI at that instant broke into: "held", "waiting", or "" for no hand-off.

        Strictly after the hand-off began and before it ended; a message of the very instant of a take-over still
        belongs to the time before it, and the AI may say that it has asked for a human.
        """
        before = [event for event in self.events if event.at < at]
        if not before or before[-1].state is HandOffState.AI:
            return ""
        if len(before) == len(self.events) and not self.open_end:
            return ""
        if any(event.at == at and event.state is HandOffState.AI for event in self.events):
            return ""
        if before[-1].state is HandOffState.HELD:
            return "held"
        asked_now = len(before) == 1 or before[-2].state is HandOffState.AI
        return "" if asked_now and at - before[-1].at <= ANNOUNCEMENT else "waiting"


def story_of(entries: Iterable[HandOffEntry], hand_off: HandOff, viewer: str) -> Story:
    """The events of a conversation as `viewer` (a username) reads them ("You took over")."""
    events = [
        event for entry in sorted(entries, key=lambda each: each.at) if (event := _of_entry(entry, hand_off, viewer))
    ]
    events = sorted([*events, *_of_item(events, hand_off, viewer)], key=lambda event: event.at)
    has_ended = hand_off.state is HandOffState.AI
    open_end = not (has_ended and events and events[-1].state is not HandOffState.AI)
    return Story(tuple(_with_waits(events)), open_end)


def events_of_item(entries: Iterable[HandOffEntry], hand_off: HandOff, viewer: str) -> tuple[HandOffChange, ...]:
    """The events that the item tells and none of these entries does: the platform hands off without entries."""
    events = [event for entry in entries if (event := _of_entry(entry, hand_off, viewer))]
    return tuple(_of_item(events, hand_off, viewer))


def _of_entry(entry: HandOffEntry, hand_off: HandOff, viewer: str) -> HandOffChange | None:
    """An entry that succeeded: it says so, or the item bears its id while the answer is still outstanding."""
    applied = entry.outcome == Result.SUCCESS or (
        entry.outcome == Result.PENDING and bool(entry.action_id) and entry.action_id == hand_off.action_id
    )
    try:
        action = Action(entry.action)
        state = _LEADS_TO[action]
    except (ValueError, KeyError):
        return None
    if not applied:
        return None
    if action is Action.HAND_OFF_REQUEST and not entry.is_staff:
        return HandOffChange(entry.at, state, "A human was asked for", detail=entry.reason)
    who = "You" if entry.actor == viewer else entry.actor or "The platform"
    return HandOffChange(entry.at, state, f"{who} {_WORDS[action]}", entry.actor, entry.reason)


def _of_item(events: Sequence[HandOffChange], hand_off: HandOff, viewer: str) -> list[HandOffChange]:
    """What the item says and no entry tells."""
    if hand_off.state is HandOffState.AI:
        return []
    found = []
    asked, taken = hand_off.requested_at, hand_off.taken_at
    if asked is not None and not _tells(events, asked, HandOffState.WAITING, HandOffState.HELD):
        detail = hand_off.reason
        if hand_off.wait_at_least:
            detail = f"{detail} (at this time at the latest: the platform notes none)".strip()
        found.append(HandOffChange(asked, HandOffState.WAITING, "A human was asked for", detail=detail))
    if hand_off.agent and taken is not None and not _tells(events, taken, HandOffState.HELD):
        who = "You" if hand_off.agent == viewer else hand_off.agent_shown
        found.append(HandOffChange(taken, HandOffState.HELD, f"{who} took over", hand_off.agent_shown))
    return found


def _tells(events: Sequence[HandOffChange], at: datetime, *states: HandOffState) -> bool:
    return any(event.state in states and abs(event.at - at) <= _SAME_ACTION for event in events)


def _with_waits(events: Sequence[HandOffChange]) -> Iterable[HandOffChange]:
    """Who takes a waiting conversation is told after how long; the wait goes on through releases."""
    asked: datetime | None = None
    for event in events:
        if event.state is HandOffState.AI:
            asked = None
        elif asked is None:
            asked = event.at
        elif event.state is HandOffState.HELD and not event.detail:
            yield HandOffChange(
                event.at, event.state, event.text, event.actor, f"after {clock.format_span(event.at - asked)}"
            )
            continue
        yield event
