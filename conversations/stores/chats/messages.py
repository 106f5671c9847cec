"""The messages of a session: the events in Chats, joined with the texts that ChatMessages still contains.

Both tables have the same keys, and either may contain items that the other lacks. A window only covers times up to
which both were read, so that no message is missed between two windows. A bad item becomes a flagged message, never an
error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from console import clock
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import run_alongside
from console.store.models import ForeignModel
from console.store.streams import BEGINNING, END, Candidate, Chunk, Stream, next_of
from console.trees import Node, well_formed
from conversations.messages.content import SHOWN, first_blocks_of
from conversations.records import Block, Extra, Message
from conversations.stores.chats.images import first_of_prompt, picture_of
from conversations.stores.chats.keys import anchor_of, position_at, position_of
from conversations.stores.chats.models import ChatEvent, ChatText, Image
from conversations.stores.chats.queries import WINDOW, M, Part, Spot, is_session_expired, read_near
from conversations.stores.chats.reading import flaws_of
from conversations.stores.items import first_tree, speaker_of
from conversations.stores.reading import Attempted, capture_errors

EXPIRED = "The text has expired. Texts are kept only while their session runs."
NOT_KEPT = "No text of it is kept."
NOT_READ = "Its text could not be read."
_TEXT = "Message"
_SHOWN_ELSEWHERE = {_TEXT, "UserId", "ChatAgent", "ImageId"}

_NO_EVENTS: Part[ChatEvent] = Part()
_NO_TEXTS: Part[ChatText] = Part()


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """One message: its event, its text while that exists, or both."""

    position: Decimal
    event: ChatEvent | None
    text: ChatText | None


@dataclass(frozen=True, slots=True)
class ChatWindow:
    """Messages in the order of time. `is_from_start`, `is_to_end`: there are none before them, or after them.

    `events` and `texts` say whether the tables could be read.
    """

    entries: tuple[ChatEntry, ...]
    is_from_start: bool
    is_to_end: bool
    events: Attempted[Part[ChatEvent]]
    texts: Attempted[Part[ChatText]]


def spot_of(cursor: str, *binding: str) -> Spot | None:
    """Return the spot in a sealed cursor; None if it is empty, or of another session or person."""
    match unseal_cursor(cursor, *binding) if cursor else None:
        case ["before" | "after" as way, str() as letters] if (position := position_at(letters)) is not None:
            return Spot(way, position)
    return None


def sealed(way: str, letters: str, *binding: str) -> str:
    """Return a cursor to the window before or after the message of an anchor."""
    return seal_cursor([way, letters], *binding)


def read_window(session_id: str, spot: Spot, at: str = "") -> ChatWindow:
    """Read the window at a spot, or the one that ends with the message of anchor `at` if that is not in it.

    Two Queries in parallel for each window. Errors of the store are in the window, and not raised.
    """
    with run_alongside(capture_errors(partial(read_near, ChatEvent, session_id, spot), _NO_EVENTS)) as events:
        texts = capture_errors(partial(read_near, ChatText, session_id, spot), _NO_TEXTS)()
    window = joined(events.result(), texts, spot)
    wanted = position_at(at) if at and spot == Spot() else None
    if wanted is None or window.is_from_start or any(each.position == wanted for each in window.entries):
        return window
    earlier = read_window(session_id, Spot("to", wanted))
    return earlier if earlier.entries else window


def joined(events: Attempted[Part[ChatEvent]], texts: Attempted[Part[ChatText]], spot: Spot) -> ChatWindow:
    """Join the items of both tables into one window. Never raises."""
    descending = spot.way != "after"
    streams: list[Stream[Any]] = [_stream(events.value, lambda _: False), _stream(texts.value, is_session_expired)]
    known: list[ChatEntry] = []
    while (first := next_of(streams, descending=descending)) is not None:
        if len(known) == WINDOW and first.waiting[0].item is not None:
            break
        position = first.waiting[0].order
        # Items with the same time are one message.
        event, text = (each.take().item if each.is_at(position) else None for each in streams)
        if event is not None or text is not None:
            known.append(ChatEntry(position, event, text))
    goes_on = any(each.resume_at is not END for each in streams)
    entries = tuple(known[::-1] if descending else known)
    at_end = spot.position is None or not (descending or goes_on)
    return ChatWindow(entries, descending and not goes_on, at_end, events, texts)


def _stream(part: Part[M], is_hidden: Callable[[M], bool]) -> Stream[M]:
    """Return a stream of a table's items; hidden ones only mark how far it was read."""
    found = [Candidate(position_of(item), BEGINNING, None if is_hidden(item) else item) for item in part.items]
    return Stream(chunk=Chunk(found, part.last))


def user_of(entries: tuple[ChatEntry, ...]) -> str:
    """Return the user that events name; "" if none does."""
    named = (each.event.plain("UserId") for each in entries if each.event is not None)
    return next((each for each in named if isinstance(each, str) and each), "")


def image_id_of(event: ForeignModel | None) -> str:
    """Return the id of the image that an event produced; "" for none."""
    value = None if event is None else event.plain("ImageId")
    return value if isinstance(value, str) else ""


# --- Messages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What the messages of a page have in common. `show` is the reference of the requested picture.

    `at` is the anchor of the message that is shown in full.
    `is_expired`: the session is; `images` by their ids, None if they could not be read.
    """

    user_id: str
    is_expired: bool
    images: dict[str, Image] | None
    show: str
    raw: bool
    at: str = ""


def messages_of(window: ChatWindow, context: MessageContext) -> tuple[Message, ...]:
    """Return the messages of a window by time, oldest first. Never raises."""
    made = [_message(entry, window, context) for entry in window.entries]
    # Keys are already in order, except for writers that use other units.
    return tuple(sorted(made, key=lambda message: message.at.timestamp() if message.at else 0.0))


def _message(entry: ChatEntry, window: ChatWindow, context: MessageContext) -> Message:
    event, text = entry.event, entry.text
    agent = next((item.plain("ChatAgent") for item in (event, text) if item is not None), None)
    speaker, name, flaws = speaker_of(agent, "ChatAgent")
    if event is None and not window.events.error:
        flaws += ("it is not among the chat's events",)
    if event is not None:
        flaws += flaws_of(event)
        owner = event.plain("UserId")
        if owner != context.user_id and isinstance(owner, str) and context.user_id:
            flaws += ("its UserId is another user's",)
    anchor = anchor_of(entry.position)
    most = None if anchor == context.at else SHOWN
    blocks, of_text, left_out = _said(text, most, raw=context.raw)
    if text is not None:
        flaws += flaws_of(text)
    pictures, of_image, of_prompt = _pictures(event, most, context)
    more, of_more = _more(entry, most, raw=context.raw)
    return Message(
        number=0,
        anchor=anchor,
        speaker=speaker,
        speaker_name=name,
        at=clock.parse_instant(entry.position),
        blocks=(*blocks, *pictures),
        left_out=left_out + of_prompt + of_more,
        drift=tuple(dict.fromkeys((*flaws, *of_text, *of_image))),
        extra=Extra(note=_note(entry, window, context), more=more),
    )


# --- The text -------------------------------------------------------------------------------------------------------


def _said(text: ChatText | None, most: int | None, *, raw: bool) -> tuple[tuple[Block, ...], tuple[str, ...], int]:
    if text is None:
        return (), (), 0
    value = well_formed(text.plain(_TEXT))
    return ((), ("it has no text",), 0) if value is None else first_blocks_of({"content": value}, most, raw=raw)


def _note(entry: ChatEntry, window: ChatWindow, context: MessageContext) -> str:
    if entry.text is not None:
        return ""
    if window.texts.error is not None:
        return NOT_READ
    return EXPIRED if context.is_expired else NOT_KEPT


def _more(entry: ChatEntry, most: int | None, *, raw: bool) -> tuple[Node | None, int]:
    """Return the attributes of its items that are not in the schema, as `first_tree`."""
    members: dict[str, Any] = entry.event.unknown() if entry.event is not None else {}
    if entry.text is not None:
        members |= {name: value for name, value in entry.text.unknown().items() if name not in _SHOWN_ELSEWHERE}
    return first_tree(members, most, raw=raw)


# --- The image ------------------------------------------------------------------------------------------------------


def _pictures(
    event: ChatEvent | None, most: int | None, context: MessageContext
) -> tuple[tuple[Block, ...], tuple[str, ...], int]:
    """Return the image that an event produced, its flaws, and how much of its prompt is left out."""
    image_id = image_id_of(event)
    if not image_id:
        return (), (), 0
    image = (context.images or {}).get(image_id)
    if image is None:
        flaws = ("its image is not in ImageResponses",) if context.images is not None else ()
        return (Block("image", label="Image"),), flaws, 0
    prompt, left_out = first_of_prompt(image, most, raw=context.raw)
    picture = picture_of(image, context.show, prompt) if context.raw else None
    drift = tuple(f"its image: {each}" for each in flaws_of(image))
    return (Block("image", prompt or "Image", "Image", picture),), drift, left_out
