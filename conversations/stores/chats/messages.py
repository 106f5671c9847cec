"""Entries of a window as messages: who, when, what is left of the text, and the image. Redacted unless raw.

One bad item is one flagged message, never an error.
"""

import json
from dataclasses import dataclass
from typing import Any

from console import clock
from console.redaction import redact, redact_value
from console.redaction.credentials import mask_credentials
from console.trees import Node, text_of, tree_of, well_formed
from conversations.content import CONTENT, blocks_of
from conversations.records import Block, Extra, Message, Speaker
from conversations.stores.chats.flaws import flaws_of
from conversations.stores.chats.keys import anchor_of
from conversations.stores.chats.models import ChatEvent, Image
from conversations.stores.chats.pictures import picture_of, prompt_of
from conversations.stores.chats.window import ChatEntry, ChatWindow, image_id_of

EXPIRED = "The text has expired. Texts are kept only while their session runs."
NOT_KEPT = "No text of it is kept."
NOT_READ = "Its text could not be read."
_AGENTS = {"user": Speaker.CUSTOMER, "assistant": Speaker.AI}
_NAMES = {Speaker.CUSTOMER: "User", Speaker.AI: "Assistant"}
# The schema names no attribute for the text: these, in this order, whatever the case and with `_` or without.
_TEXT_NAMES = (
    *("message", "text", "content", "body", "messagetext", "messagecontent", "messagebody", "chatmessage"),
    *("parts", "value", "response", "answer"),
)
_KEYS = {"SessionId", "TimestampCreated", "SessionTTL", "UserId", "ChatAgent", "ImageId"}


@dataclass(frozen=True, slots=True)
class Context:
    """What the messages of a page have in common. `show` is the reference of the picture that is asked for.

    `is_expired`: the session is; `images` by their ids, None where they could not be read.
    """

    user_id: str
    is_expired: bool
    images: dict[str, Image] | None
    show: str
    raw: bool


def messages_of(window: ChatWindow, context: Context) -> tuple[Message, ...]:
    """The messages of a window by instants, the oldest first. Never raises."""
    made = [_message(entry, window, context) for entry in window.entries]
    # In the order of the numbers that are their keys, but for writers who count in other units.
    return tuple(sorted(made, key=lambda message: message.at.timestamp() if message.at else 0.0))


def _message(entry: ChatEntry, window: ChatWindow, context: Context) -> Message:
    event, text = entry.event, entry.text
    speaker, name, flaws = _speaker(entry)
    if event is None and not window.events.error:
        flaws += ("it is not among the chat's events",)
    if event is not None:
        flaws += flaws_of(event)
        owner = event.plain("UserId")
        if owner != context.user_id and isinstance(owner, str) and context.user_id:
            flaws += ("its UserId is another user's",)
    blocks, of_text = _said(entry, raw=context.raw)
    if text is not None:
        flaws += flaws_of(text)
    pictures, of_image = _pictures(event, context)
    return Message(
        number=0,
        anchor=anchor_of(entry.position),
        speaker=speaker,
        speaker_name=name,
        at=clock.parse_instant(entry.position),
        blocks=(*blocks, *pictures),
        drift=tuple(dict.fromkeys((*flaws, *of_text, *of_image))),
        extra=Extra(note=_note(entry, window, context), more=_more(entry, raw=context.raw)),
    )


def _speaker(entry: ChatEntry) -> tuple[Speaker, str, tuple[str, ...]]:
    agent = next((item.plain("ChatAgent") for item in (entry.event, entry.text) if item is not None), None)
    if agent is None or agent == "":
        return Speaker.UNKNOWN, "Unknown sender", ()
    speaker = _AGENTS.get(agent.strip().lower()) if isinstance(agent, str) else None
    if speaker is None:
        name = "" if isinstance(agent, dict | list) else redact(text_of(agent).strip())[:80]
        return Speaker.UNKNOWN, name or "Unknown sender", ("ChatAgent: none that the schema knows",)
    return speaker, _NAMES[speaker], ()


# --- The text -------------------------------------------------------------------------------------------------------


def _said(entry: ChatEntry, *, raw: bool) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    if entry.text is None:
        return (), ()
    name = text_name(entry.text.raw)
    if not name:
        return (), ("it has no text",)
    return blocks_of(_entry(well_formed(entry.text.plain(name))), raw=raw)


def text_name(raw: dict[str, Any]) -> str:
    """The attribute that holds the text of a message; "" where none of them does."""
    by_name = {name.lower().replace("_", ""): name for name in raw if name not in _KEYS}
    found = (by_name[each] for each in _TEXT_NAMES if each in by_name)
    return next((name for name in found if "NULL" not in raw[name]), "")


def _entry(value: Any) -> dict[str, Any]:
    """A message as `blocks_of` takes it: plain text, or a message of its own, which may be JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            inner = json.loads(value)
        except (ValueError, RecursionError):
            return {"content": value}
        is_parts = isinstance(inner, list) and all(isinstance(each, dict) and each.get("type") for each in inner)
        if is_parts or (isinstance(inner, dict) and any(name in inner for name in CONTENT)):
            value = well_formed(inner)
    if isinstance(value, dict) and "type" not in value and any(name in value for name in CONTENT):
        return value
    return {"content": value}


def _note(entry: ChatEntry, window: ChatWindow, context: Context) -> str:
    if entry.text is not None:
        return ""
    if window.texts.error is not None:
        return NOT_READ
    return EXPIRED if context.is_expired else NOT_KEPT


def _more(entry: ChatEntry, *, raw: bool) -> Node | None:
    """What its items have that no schema knows."""
    members: dict[str, Any] = entry.event.unknown() if entry.event is not None else {}
    if entry.text is not None:
        shown_elsewhere = _KEYS | {text_name(entry.text.raw)}
        members |= {name: value for name, value in entry.text.unknown().items() if name not in shown_elsewhere}
    if not members:
        return None
    members = mask_credentials(well_formed(members))
    return tree_of(members if raw else redact_value(members))


# --- The image ------------------------------------------------------------------------------------------------------


def _pictures(event: ChatEvent | None, context: Context) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    image_id = image_id_of(event) if event is not None else ""
    if not image_id:
        return (), ()
    image = (context.images or {}).get(image_id)
    if image is None:
        flaws = ("its image is not in ImageResponses",) if context.images is not None else ()
        return (Block("image", label="Image"),), flaws
    prompt = prompt_of(image, raw=context.raw)
    picture = picture_of(image, context.show) if context.raw else None
    return (Block("image", prompt or "Image", "Image", picture),), tuple(
        f"its image: {each}" for each in flaws_of(image)
    )
