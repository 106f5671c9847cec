"""A conversation as one reads it: a window of messages with day breaks, gaps and hand-offs between them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from console import clock
from console.permissions import Staff
from console.templatetags.console import day, zone_of
from conversations.events import HandOffChange, Story
from conversations.messages import StoredMessages
from conversations.records import Marker, Message, Speaker, Transcript

WINDOW = 100
# Shorter silences are how people write; longer ones are worth a line.
GAP = timedelta(hours=4)


def transcript(
    stored: StoredMessages,
    story: Story,
    staff: Staff,
    *,
    raw: bool = False,
    before: int | None = None,
    around: str = "",
) -> Transcript:
    """The latest messages; or those before the message of number `before`; or those around the anchor `around`.

    Redacted unless `raw`. Days are those of the reader's time zone. An unknown
    anchor or number gives the latest messages.
    """
    first, last = _bounds(stored, before, around)
    page = _TranscriptPage(staff, stored.last_time_before(first))
    waiting = _events_of_window(stored, story, first, last)
    for number in range(first, last + 1):
        message = stored.message(number, raw=raw)
        while message.at is not None and waiting and waiting[0].at < message.at:
            page.add_event(waiting.pop(0))
        page.add_message(_marked(message, story))
    for event in waiting:
        page.add_event(event)
    notices = (stored.notice,) if stored.notice else ()
    return Transcript(tuple(page.items), len(stored), first, last, notices)


def with_breaks(messages: Iterable[Message | Marker], staff: Staff) -> tuple[Message | Marker, ...]:
    """Messages and markers, which are in order, with the day breaks and gaps between them that a reader sees."""
    page = _TranscriptPage(staff, None)
    for each in messages:
        if isinstance(each, Message):
            page.add_message(each)
        else:
            page.add_marker(each)
    return tuple(page.items)


class _TranscriptPage:
    """Collects messages and events in order, with the breaks between them in the reader's time zone."""

    def __init__(self, staff: Staff, previous: datetime | None) -> None:
        self.items: list[Message | Marker] = []
        self.staff = staff
        self.zone = zone_of(staff)
        self.latest = previous
        self.last_message = previous

    def add_event(self, event: HandOffChange) -> None:
        """A change of the hand-off."""
        self.add_marker(event.marker())

    def add_marker(self, marker: Marker) -> None:
        """What stands between messages, after a day marker where it is the first of its day."""
        if marker.at is not None:
            self._pass_to(marker.at)
        self.items.append(marker)

    def add_message(self, message: Message) -> None:
        """A message, after a gap marker where a long silence went before it."""
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


def _bounds(stored: StoredMessages, before: int | None, around: str) -> tuple[int, int]:
    """First and last number of the window, counting from 1; (1, 0) where there is nothing."""
    total = len(stored)
    if around and (number := stored.number_of(around)):
        last = min(total, max(WINDOW, number + WINDOW // 2))
    elif before is not None and 1 < before <= total + 1:
        last = before - 1
    else:
        last = total
    return max(1, last - WINDOW + 1), last


def _events_of_window(stored: StoredMessages, story: Story, first: int, last: int) -> list[HandOffChange]:
    """The events that stand between this window's messages: after those before it, and before those after it."""
    since = stored.last_time_before(first)
    until = stored.last_time_before(last + 1) if last < len(stored) else None
    return [
        event for event in story.events if (since is None or event.at >= since) and (until is None or event.at < until)
    ]


def _marked(message: Message, story: Story) -> Message:
    if message.speaker is not Speaker.AI or message.at is None:
        return message
    during = story.during(message.at)
    return replace(message, during_hand_off=during) if during else message


def earlier_text(earlier: int) -> str:
    """What the link to earlier messages says, of which there are so many."""
    return f"Show {min(WINDOW, earlier)} earlier of {earlier}"


def silence(span: timedelta) -> str:
    """A long silence in words: whole hours, then whole days."""
    return clock.format_span(timedelta(seconds=span.total_seconds() // 3600 * 3600))
