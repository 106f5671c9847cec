"""A conversation as a person reads it: a window of messages with day breaks, gaps and hand-offs between them.

Hand-offs come from the trail, if they succeeded, and from the item: the platform sets flags without entries, and
entries expire.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import itemgetter

from django.conf import settings

from console import clock
from console.audit.records import HandOffEntry
from console.permissions import Staff
from console.templatetags.components import day, zone_of
from console.trail.actions import Action, Result
from conversations.handoff.stored import BY_RULE
from conversations.messages.entry_notes import AS_TAKEN, AS_YOU_TOOK
from conversations.messages.message import StoredMessages
from conversations.messages.quotes import fold_quotes
from conversations.records import HandOff, HandOffState, Marker, Message, Speaker, Transcript, name_shown

# Maximum difference between the times of an entry and of the item for the same action.
_SAME_ACTION = timedelta(minutes=2)
# The AI may still say "I have asked a colleague" this long after the request.
ANNOUNCEMENT = timedelta(minutes=1)

# The state that each action leads to, and what its actor did.
_CHANGES: dict[str, tuple[HandOffState, str]] = {
    Action.HAND_OFF_REQUEST: (HandOffState.WAITING, "asked for a human"),
    Action.HAND_OFF_TAKE_OVER: (HandOffState.HELD, "took over"),
    Action.HAND_OFF_TAKE: (HandOffState.HELD, "took over"),
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: (HandOffState.HELD, "took it from a colleague"),
    Action.HAND_OFF_RELEASE: (HandOffState.WAITING, "returned it to the queue"),
    Action.HAND_OFF_HAND_BACK: (HandOffState.AI, "returned it to the AI"),
    Action.HAND_OFF_ACKNOWLEDGE: (HandOffState.AI, "returned it to the AI"),
    Action.HAND_OFF_LEAVE_TO_AI: (HandOffState.AI, "let the AI answer"),
    Action.HAND_OFF_ASSIGN: (HandOffState.HELD, "transferred it to a colleague"),
    Action.HAND_OFF_HAND_OVER: (HandOffState.WAITING, "transferred it to a group"),
}
# What people said without changing who has the conversation.
_REMARKS: dict[str, str] = {
    Action.NO_ANSWER_NEEDED: "said that no answer is needed",
    Action.ANSWER_NEEDED: "said that an answer is needed after all",
}
_BEGAN = (Action.HAND_OFF_REQUEST, Action.HAND_OFF_TAKE_OVER, Action.HAND_OFF_ASSIGN)


@dataclass(frozen=True, slots=True)
class HandOffChange:
    """A change of who has the conversation, which is in `state` from `at` on.

    `actor` is who changed it, or the colleague who got it; "" for the platform.

    `began`: it may have brought the conversation from the AI, so nobody need have asked before.
    """

    at: datetime
    state: HandOffState
    text: str
    actor: str = ""
    detail: str = ""
    began: bool = False

    def marker(self) -> Marker:
        """Return the marker to show between messages."""
        tone = "ai" if self.state is HandOffState.AI else "human"
        return Marker("event", self.text, self.at, self.detail, tone)


@dataclass(frozen=True, slots=True)
class HandOffHistory:
    """All known changes, oldest first. `open_end` is False if the platform ended the last one at an unknown time.

    Messages after it are then not marked. `remarks` are what people said meanwhile about whether an answer is needed.
    """

    events: tuple[HandOffChange, ...] = ()
    open_end: bool = True
    remarks: tuple[Marker, ...] = ()

    @property
    def began(self) -> str:
        """How people came to have the conversation, in words; "" if they do not have it or it is unknown."""
        found = ""
        for event in reversed(self.events):
            if event.state is HandOffState.AI:
                break
            found = event.text
        return found

    @property
    def handed_off_at(self) -> datetime | None:
        """When people first had the conversation or were asked for; None if unknown.

        Earlier entries expire, so it is unknown if the first known change gives the conversation to the AI.
        """
        first = self.events[0] if self.events else None
        return None if first is None or first.state is HandOffState.AI else first.at

    def just_ended_by(self, username: str, now: datetime) -> bool:
        """Return whether a person gave the conversation to the AI a moment ago, and nobody has acted since."""
        last = self.events[-1] if self.events else None
        return (
            last is not None
            and last.state is HandOffState.AI
            and last.actor == username
            and now - last.at <= timedelta(seconds=settings.REPLY_UNDO_SECONDS)
        )

    def taken_by(self, at: datetime) -> str:
        """Return who took the conversation nearest to an instant; "" if nobody did."""
        taken = [event for event in self.events if event.state is HandOffState.HELD]
        return min(taken, key=lambda event: abs(event.at - at)).actor if taken else ""

    def holder_at(self, at: datetime) -> str:
        """Return who had taken the conversation before an instant; "" if nobody had it then."""
        before = [event for event in self.events if event.at < at]
        return before[-1].actor if before and before[-1].state is HandOffState.HELD else ""

    def during(self, at: datetime) -> str:
        """Return the kind of hand-off during which the AI wrote a message at an instant: "held", "waiting", or "".

        Strictly after the hand-off began and before it ended: a message at the very instant of a take-over counts as
        before it. The AI may also announce that it has asked for a human.
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


def story_of(entries: Iterable[HandOffEntry], hand_off: HandOff, viewer: str) -> HandOffHistory:
    """Collect the changes of a conversation as `viewer` (a username) reads them ("You took over")."""
    in_order = sorted(entries, key=lambda each: each.at)
    events = [event for entry in in_order if (event := _of_entry(entry, hand_off, viewer))]
    remarks = [
        Marker("event", f"{_who(entry, viewer)} {_REMARKS[entry.action]}", entry.at, tone="human")
        for entry in in_order
        if entry.action in _REMARKS and entry.outcome == Result.SUCCESS
    ]
    events = sorted([*events, *_of_item(events, hand_off, viewer)], key=lambda event: event.at)
    has_ended = hand_off.state is HandOffState.AI
    open_end = not (has_ended and events and events[-1].state is not HandOffState.AI)
    return HandOffHistory(tuple(_with_waits(events)), open_end, tuple(remarks))


def events_of_item(entries: Iterable[HandOffEntry], hand_off: HandOff, viewer: str) -> tuple[HandOffChange, ...]:
    """Return the changes that only the item shows, because the platform hands off without entries."""
    events = [event for entry in entries if (event := _of_entry(entry, hand_off, viewer))]
    return tuple(_of_item(events, hand_off, viewer))


def _of_entry(entry: HandOffEntry, hand_off: HandOff, viewer: str) -> HandOffChange | None:
    """Return the change of an entry that succeeded, or that is pending and the item's last action; else None."""
    applied = entry.outcome == Result.SUCCESS or (
        entry.outcome == Result.PENDING and bool(entry.action_id) and entry.action_id == hand_off.action_id
    )
    if not applied or entry.action not in _CHANGES:
        return None
    state, words = _CHANGES[entry.action]
    if entry.action == Action.HAND_OFF_REQUEST and not entry.is_staff:
        # A rule requests a human when a message is received, which may be long after the customer wrote it.
        since = hand_off.requested_at if entry.actor == BY_RULE.name else None
        at = min(entry.at, since or entry.at)
        return HandOffChange(at, state, "A human was requested", detail=entry.reason)
    who = _who(entry, viewer)
    if entry.action == Action.HAND_OFF_ASSIGN and entry.to:
        words = f"transferred it to {'you' if entry.to == viewer else name_shown(entry.to)}"
    actor = entry.to if entry.action == Action.HAND_OFF_ASSIGN and entry.to else entry.actor
    return HandOffChange(entry.at, state, f"{who} {words}", actor, entry.reason, entry.action in _BEGAN)


def _who(entry: HandOffEntry, viewer: str) -> str:
    return "You" if entry.actor == viewer else name_shown(entry.actor) or "The platform"


def _of_item(events: Sequence[HandOffChange], hand_off: HandOff, viewer: str) -> list[HandOffChange]:
    """Return the changes that only the item shows."""
    if hand_off.state is HandOffState.AI:
        return []
    found = []
    asked, taken = hand_off.requested_at, hand_off.taken_at
    # A customer who needed attention had waited before somebody took over.
    first = next((each for each in events if asked and each.at >= asked and each.state is not HandOffState.AI), None)
    is_told = first is not None and first.began
    if asked is not None and not is_told and not _tells(events, asked, HandOffState.WAITING, HandOffState.HELD):
        detail = hand_off.reason
        if hand_off.wait_at_least:
            detail = f"{detail} (at this time or earlier: the platform records no exact time)".strip()
        found.append(HandOffChange(asked, HandOffState.WAITING, "A human was requested", detail=detail))
    if hand_off.agent and taken is not None and not _tells(events, taken, HandOffState.HELD):
        who = "You" if hand_off.agent == viewer else hand_off.agent_shown
        found.append(HandOffChange(taken, HandOffState.HELD, f"{who} took over", hand_off.agent))
    return found


def _tells(events: Sequence[HandOffChange], at: datetime, *states: HandOffState) -> bool:
    return any(event.state in states and abs(event.at - at) <= _SAME_ACTION for event in events)


def _with_waits(events: Sequence[HandOffChange]) -> Iterable[HandOffChange]:
    """Add to each take-over how long the customer had waited; a release does not end the wait."""
    asked: datetime | None = None
    for event in events:
        if event.state is HandOffState.AI:
            asked = None
        elif asked is None:
            asked = event.at
        elif event.state is HandOffState.HELD and not event.detail:
            yield HandOffChange(
                event.at,
                event.state,
                event.text,
                event.actor,
                f"(customer had waited {clock.format_span(event.at - asked)})",
            )
            continue
        yield event


# What stands between the messages of a transcript.
Between = HandOffChange | Marker | Message
WINDOW = 100
# Silences of at least this length get a line of their own.
GAP = timedelta(hours=4)


def transcript(
    stored: StoredMessages,
    story: HandOffHistory,
    staff: Staff,
    *,
    raw: bool = False,
    before: int | None = None,
    around: str = "",
    folds_quotes: bool = False,
    said_elsewhere: Sequence[Message] = (),
) -> Transcript:
    """Return a window of messages: the latest, those before number `before`, or those around the anchor `around`.

    `said_elsewhere` are messages of other conversations, which stand between those of this one and are not counted.
    Of a long message only the beginning, except of the one at `around`.
    Redacted unless `raw`, with the quoted text of emails apart if `folds_quotes`. Days are in the reader's time zone.
    An unknown anchor or number returns the latest messages.
    """
    asked_for = stored.number_of(around) if around else 0
    first, last = _bounds(stored, before, asked_for)
    page = _TranscriptPage(staff, stored.last_time_before(first))
    waiting = _in_window(stored, (*story.events, *story.remarks, *said_elsewhere), first, last)
    for number in range(first, last + 1):
        message = stored.message(number, raw=raw, whole=number == asked_for)
        message = fold_quotes(message) if folds_quotes else message
        while message.at is not None and waiting and waiting[0][0] < message.at:
            page.add(waiting.pop(0)[1])
        page.add_message(_marked(message, story, staff))
    for _, each in waiting:
        page.add(each)
    notices = (stored.notice,) if stored.notice else ()
    return Transcript(tuple(page.items), len(stored), first, last, notices)


def with_breaks(messages: Iterable[Message | Marker], staff: Staff) -> tuple[Message | Marker, ...]:
    """Insert day breaks and gaps between messages and markers, which are in order of time."""
    page = _TranscriptPage(staff, None)
    for each in messages:
        if isinstance(each, Message):
            page.add_message(each)
        else:
            page.add_marker(each)
    return tuple(page.items)


class _TranscriptPage:
    """Collects messages and changes in order, and adds day breaks and gaps in the reader's time zone."""

    def __init__(self, staff: Staff, previous: datetime | None) -> None:
        self.items: list[Message | Marker] = []
        self.staff = staff
        self.zone = zone_of(staff)
        self.latest = previous
        self.last_message = previous

    def add(self, what: Between) -> None:
        """Add what stands between the messages: a change or remark of people, or a message of another conversation."""
        if isinstance(what, Message):
            self.add_message(what)
        else:
            self.add_marker(what if isinstance(what, Marker) else what.marker())

    def add_marker(self, marker: Marker) -> None:
        """Add a marker, after a day break if it is the first of its day."""
        if marker.at is not None:
            self._pass_to(marker.at)
        self.items.append(marker)

    def add_message(self, message: Message) -> None:
        """Add a message, after a gap if there was a long silence before it."""
        if message.at is not None:
            if self.last_message is not None and message.at - self.last_message >= GAP:
                text = f"{silence(message.at - self.last_message)} without a message"
                self.items.append(Marker("gap", text, message.at))
            self._pass_to(message.at)
            self.last_message = message.at
        self.items.append(message)

    def _pass_to(self, at: datetime) -> None:
        if self.latest is None or self.latest.astimezone(self.zone).date() < at.astimezone(self.zone).date():
            self.items.append(Marker("day", day(at, self.staff), at))
        self.latest = at if self.latest is None else max(self.latest, at)


def _bounds(stored: StoredMessages, before: int | None, asked_for: int) -> tuple[int, int]:
    """Return the first and last number of the window, counting from 1; (1, 0) without messages."""
    total = len(stored)
    if asked_for:
        last = min(total, max(WINDOW, asked_for + WINDOW // 2))
    elif before is not None and 1 < before <= total + 1:
        last = before - 1
    else:
        last = total
    return max(1, last - WINDOW + 1), last


def _in_window(
    stored: StoredMessages, between: Iterable[Between], first: int, last: int
) -> list[tuple[datetime, Between]]:
    """Return what belongs to this window, by time: since the last message before it, until the first one after."""
    since = stored.last_time_before(first)
    until = stored.last_time_before(last + 1) if last < len(stored) else None
    found = [(each.at, each) for each in between if each.at is not None]
    within = [(at, each) for at, each in found if (since is None or at >= since) and (until is None or at < until)]
    return sorted(within, key=itemgetter(0))


def _marked(message: Message, story: HandOffHistory, staff: Staff) -> Message:
    if AS_TAKEN in message.notes and message.at is not None and story.taken_by(message.at) == staff.username:
        notes = (AS_YOU_TOOK if each == AS_TAKEN else each for each in message.notes)
        return replace(message, notes=tuple(notes))
    if message.speaker is not Speaker.AI or message.at is None:
        return message
    during = story.during(message.at)
    if not during:
        return message
    holder = story.holder_at(message.at)
    who = "you" if holder == staff.username else name_shown(holder)
    return replace(message, during_hand_off=during, taken_by=who)


def earlier_text(earlier: int) -> str:
    """Return the label of the link to earlier messages."""
    if earlier <= WINDOW:
        return "Show the earlier message" if earlier == 1 else f"Show the {earlier} earlier messages"
    return f"Show {WINDOW} of {earlier} earlier messages"


def silence(span: timedelta) -> str:
    """Format a long silence in whole hours, then whole days."""
    return clock.format_span(timedelta(seconds=span.total_seconds() // 3600 * 3600))
