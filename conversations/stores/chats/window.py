"""A window of a session's messages: what Chats says happened, joined with what ChatMessages still holds of it.

Both tables have the same keys, and either may hold what the other does not. A window is of the times in both that both
were read up to, so that no message is missed between two windows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel
from console.store.models import ForeignModel
from console.store.streams import BEGINNING, END, Candidate, Stream, Stretch, next_of
from conversations.stores.chats.keys import position_at, position_of
from conversations.stores.chats.models import ChatEvent, ChatText
from conversations.stores.chats.queries import WINDOW, M, Part, Spot, around, is_gone, texts_around
from conversations.stores.chats.tolerance import Attempted, attempt

Reads = tuple[Attempted[Part[ChatEvent]], Attempted[Part[ChatText]]]


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """One message: its event, its text while that is kept, or both."""

    position: Decimal
    event: ChatEvent | None
    text: ChatText | None


@dataclass(frozen=True, slots=True)
class ChatWindow:
    """Messages in the order of time. `is_from_start`, `is_to_end`: nothing lies before them, or after them.

    `events` and `texts` say whether the tables could be read.
    """

    entries: tuple[ChatEntry, ...]
    is_from_start: bool
    is_to_end: bool
    events: Attempted[Part[ChatEvent]]
    texts: Attempted[Part[ChatText]]


def spot_of(cursor: str, *binding: str) -> Spot | None:
    """The spot in a sealed cursor; None for one of another session or person, or for none."""
    match unseal_cursor(cursor, *binding) if cursor else None:
        case ["before" | "after" as way, str() as letters] if (position := position_at(letters)) is not None:
            return Spot(way, position)
    return None


def sealed(way: str, letters: str, *binding: str) -> str:
    """A cursor to the window before or after the message of that anchor."""
    return seal_cursor([way, letters], *binding)


def reads(
    session_id: str, spot: Spot
) -> tuple[Callable[[], Attempted[Part[ChatEvent]]], Callable[[], Attempted[Part[ChatText]]]]:
    """The two reads of a window, to be made at once."""
    return (
        attempt(partial(around, ChatEvent, session_id, spot), Part()),
        attempt(partial(texts_around, session_id, spot), Part()),
    )


def read(session_id: str, spot: Spot, at: str, found: Reads) -> ChatWindow:
    """The window of what was read; where it lacks the message of anchor `at`, the one that ends with it: two reads."""
    window = joined(found, spot)
    wanted = position_at(at) if at and spot == Spot() else None
    if wanted is None or any(each.position == wanted for each in window.entries) or window.is_from_start:
        return window
    there = Spot("to", wanted)
    events, texts = reads(session_id, there)
    earlier = joined(tuple(parallel(events, texts)), there)  # type: ignore[arg-type]
    return earlier if earlier.entries else window


def joined(found: Reads, spot: Spot) -> ChatWindow:
    """One window of both tables' items. Never raises."""
    events, texts = found
    descending = spot.way != "after"
    streams: list[Stream[Any]] = [_stream(events.value, lambda _: False), _stream(texts.value, is_gone)]
    known: list[ChatEntry] = []
    while (first := next_of(streams, descending=descending)) is not None:
        if len(known) == WINDOW and first.waiting[0].item is not None:
            break
        position = first.waiting[0].order
        # The same time in both is one message.
        event, text = (each.take().item if each.is_at(position) else None for each in streams)
        if event is not None or text is not None:
            known.append(ChatEntry(position, event, text))
    goes_on = any(each.onward is not END for each in streams)
    entries = tuple(known[::-1] if descending else known)
    at_end = spot.position is None or not (descending or goes_on)
    return ChatWindow(entries, descending and not goes_on, at_end, events, texts)


def _stream(part: Part[M], is_hidden: Callable[[M], bool]) -> Stream[M]:
    """A table's items, of which the hidden only tell how far it was read."""
    found = [Candidate(position_of(item), BEGINNING, None if is_hidden(item) else item) for item in part.items]
    return Stream(stretch=Stretch(found, part.last))


def user_of(entries: tuple[ChatEntry, ...]) -> str:
    """The user that events name; "" where none does."""
    named = (each.event.plain("UserId") for each in entries if each.event is not None)
    return next((each for each in named if isinstance(each, str) and each), "")


def image_ids(entries: tuple[ChatEntry, ...]) -> list[str]:
    """The images that came of these messages."""
    found = (image_id_of(each.event) for each in entries if each.event is not None)
    return [each for each in found if each]


def image_id_of(event: ForeignModel) -> str:
    """The image that came of an event; "" for none."""
    value = event.plain("ImageId")
    return value if isinstance(value, str) else ""
