"""What a customer's message has beside its text, in words and as references: media, places, choices, reactions, files.

Providers name these parts differently and drift; whatever is not known is named as such, and never hides the text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.redaction import cut
from conversations.messages.content import whole_number
from conversations.messages.message import REACTION

WITHOUT_WORDS = "Message without words"
MOST_MEDIA = 20
LONGEST_REFERENCE, LONGEST_NAME = 1_000, 120
_URL = re.compile(r"https?://\S+", re.ASCII)
# Media by their content type, the most exact first.
_MEDIA = {
    "image/webp": "Sticker",
    "image/": "Photo",
    "audio/ogg": "Voice note",
    "audio/": "Audio",
    "video/": "Video",
    "text/vcard": "Contact card",
    "text/x-vcard": "Contact card",
    "text/directory": "Contact card",
    "": "Document",
}
# Kinds whose word says everything.
_ENOUGH = ("Sticker", "Voice note", "Contact card")
_KIND = ("MessageType", "message_type")
_TEXTS = ("text", "chat", "message")
# Choices of a button or a list, which the provider usually repeats as the text.
_CHOICES = {"ButtonText": "Button", "button_text": "Button", "ListTitle": "List choice", "list_title": "List choice"}
_EMOJI = ("ReactionEmoji", "reaction_emoji", "Reaction", "reaction", "emoji")


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One part of a message: its words, and for a medium its content type and where the provider has it ("": unknown).

    `kind` is `REACTION` for a reaction, else "".
    """

    words: str
    content_type: str = ""
    url: str = ""
    kind: str = ""


def parts_of(content: Mapping[str, Any], text: str) -> list[MessagePart]:
    """Return the parts of a message beside its text, in words. Never raises; () if the text is all there is."""
    found = [*_media(content), *_places(content), *_choices(content, text), *_attachments(content)]
    kind = _line(content, *_KIND).lower()
    if kind == REACTION or (emoji := _line(content, *_EMOJI)):
        emoji = _line(content, *_EMOJI) or text
        return [*found, MessagePart(f"Reaction {emoji}".strip(), kind=REACTION)]
    if not found and not text.strip():
        known = kind in ("", *_TEXTS)
        found.append(MessagePart(WITHOUT_WORDS if known else f"{WITHOUT_WORDS} (of the kind “{kind}”)"))
    return found


def medium(content_type: str, url: str = "", name: str = "") -> MessagePart:
    """Return a medium of a content type in words: "Photo (JPEG)", "Voice note", "Document (lease.pdf)"."""
    named = content_type.partition(";")[0].strip().lower()
    kind = next(word for prefix, word in _MEDIA.items() if named.startswith(prefix))
    detail = name or named.rpartition("/")[2].removeprefix("x-").upper()
    words = kind if kind in _ENOUGH or not detail else f"{kind} ({detail})"
    return MessagePart(words, named, url if _URL.fullmatch(url) else "")


def _media(content: Mapping[str, Any]) -> Iterator[MessagePart]:
    count = whole_number(content.get("NumMedia")) or 0
    for number in range(min(count, MOST_MEDIA)):
        kind = _line(content, f"MediaContentType{number}")
        url = _line(content, f"MediaUrl{number}", limit=LONGEST_REFERENCE)
        yield medium(kind if "/" in kind else "", url, _line(content, f"MediaFilename{number}"))
    if count > MOST_MEDIA:
        yield MessagePart(f"and {count - MOST_MEDIA} more")


def _places(content: Mapping[str, Any]) -> Iterator[MessagePart]:
    latitude, longitude = _line(content, "Latitude"), _line(content, "Longitude")
    names = [each for each in (_line(content, "Label"), _line(content, "Address")) if each]
    if latitude and longitude:
        place = f"{latitude},{longitude}"
        yield MessagePart(f"Location: {', '.join(names) or place}", url=f"geo:{place}")


def _choices(content: Mapping[str, Any], text: str) -> Iterator[MessagePart]:
    for name, word in _CHOICES.items():
        if (chosen := _line(content, name)) and chosen != " ".join(text.split()):
            yield MessagePart(f"{word}: {chosen}")


def _attachments(content: Mapping[str, Any]) -> Iterator[MessagePart]:
    """Yield an email's subject and attachments: a list, or the object of names that SendGrid sends as JSON."""
    if subject := _line(content, "subject", "Subject"):
        yield MessagePart(f"Subject: {subject}")
    found = content.get("attachment-info") or content.get("attachments")
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            found = None
    each = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else []
    for one in [one for one in each if isinstance(one, dict)][:MOST_MEDIA]:
        name = _line(one, "filename", "name") or "without a name"
        size = whole_number(one.get("size"))
        words = f"Attachment: {name}" + (f", {_size(size)}" if size else "")
        url = _line(one, "url", limit=LONGEST_REFERENCE)
        kind = _line(one, "type", "content_type", "content-type", "contentType").lower()
        yield MessagePart(words, kind, url if _URL.fullmatch(url) else "")


def _size(count: int) -> str:
    """Return a number of bytes in words."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} kB"


def _line(content: Mapping[str, Any], *names: str, limit: int = LONGEST_NAME) -> str:
    """Return the first of these texts or numbers in one line, "" for none."""
    values = (content.get(name) for name in names)
    found = (str(each) for each in values if isinstance(each, str | int | float) and not isinstance(each, bool))
    return cut(" ".join(next((each for each in found if each.strip()), "").split()), limit)
