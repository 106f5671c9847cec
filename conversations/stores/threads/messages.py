"""From messages of threads to records: tolerant of drift, redacted for who may not see personal data.

What cannot be understood is flagged and shown as it is stored; one bad message is one flagged message, never an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from console import clock
from console.redaction import redact, redact_value
from console.redaction.credentials import mask_credentials
from console.trees import Node, text_of, tree_of, well_formed
from conversations.content import blocks_of
from conversations.facts import unknown_names
from conversations.records import Extra, Feedback, Message, Origin, Speaker
from conversations.stores.threads.cursors import anchor_of
from conversations.stores.threads.key_formats import instant_in
from conversations.stores.threads.key_ranges import DatedItem
from conversations.stores.threads.keys import LLM
from conversations.stores.threads.models import ThreadMessage

_SPEAKERS = {"user": Speaker.CUSTOMER, "assistant": Speaker.AI}
_NAMES = {Speaker.CUSTOMER: "User", Speaker.AI: "Assistant", Speaker.SYSTEM: "System"}
VERSOS = ("up", "down")
SOURCES_SHOWN = 50
_NOTHING: tuple[Any, ...] = (None, "", [], {})
# Of whatever type they are.
_SHOWN_ANYWAY = frozenset({"content", "role", "verso", "feedback", "sources", "stop_reason", "response_metadata"})
# Of one source: an excerpt, not a document.
EXCERPT = 600
_URLS, _TITLES = ("url", "uri", "link", "href"), ("title", "name")
_TEXTS = ("text", "snippet", "excerpt", "content")


@dataclass(frozen=True, slots=True)
class ToolAct:
    """What the person may do to an answer: the action's name, and the parts that name the thread. "" for nothing."""

    name: str = ""
    parts: tuple[str, ...] = ()
    label: str = ""


def message_of(entry: DatedItem[ThreadMessage], act: ToolAct, *, raw: bool) -> Message:
    """A message as a record; everything in it is redacted unless `raw`. Never raises."""
    item = entry.item
    speaker, name, flaws = _speaker(item)
    content = well_formed(item.plain("content"))
    blocks, of_content = blocks_of({"content": content} if "content" in item.raw else {}, raw=raw)
    may_act = act.name and is_answer(item)
    origins, of_origins = origins_of(item, raw=raw)
    feedback, of_feedback = feedback_of(item, raw=raw)
    more, title = _more(item, raw=raw)
    return Message(
        number=0,
        anchor=anchor_of(entry.sort_key),
        speaker=speaker,
        speaker_name=name,
        at=entry.at,
        blocks=blocks,
        drift=(*flaws, *of_content, *of_origins, *of_feedback, *_drift(entry)),
        extra=Extra(
            stop_reason=_line(item.plain("stop_reason"), raw=raw),
            feedback=feedback,
            origins=origins,
            more=more,
            more_title=title,
            act=(act.name, (*act.parts, entry.sort_key)) if may_act else None,
            act_label=act.label if may_act else "",
        ),
    )


def is_answer(item: ThreadMessage) -> bool:
    """Whether the assistant wrote it: by its key, or by its role."""
    role = item.plain("role")
    return text_of(item.plain("SK")).startswith(LLM) or (isinstance(role, str) and role.strip().lower() == "assistant")


def _speaker(item: ThreadMessage) -> tuple[Speaker, str, tuple[str, ...]]:
    by_key = Speaker.AI if text_of(item.plain("SK")).startswith(LLM) else Speaker.CUSTOMER
    role = item.plain("role")
    if role in (None, ""):
        return by_key, _NAMES[by_key], ("it does not say who wrote it: its key does",)
    word = role.strip().lower() if isinstance(role, str) else ""
    if word == "system":
        return Speaker.SYSTEM, _NAMES[Speaker.SYSTEM], ("its role is none that the schema knows",)
    speaker = _SPEAKERS.get(word)
    if speaker is None:
        name = redact(text_of(role).strip())[:80] if not isinstance(role, dict | list) else ""
        return Speaker.UNKNOWN, name or "Unknown sender", ("its role is none that the schema knows",)
    return speaker, _NAMES[speaker], () if speaker is by_key else ("its key and its role name different speakers",)


def verso_of(item: ThreadMessage) -> str:
    """The direction of the feedback as stored; "" for none: absent, NULL and empty are the same."""
    value = item.plain("verso")
    return "" if value is None else text_of(value).strip()


def comment_of(item: ThreadMessage) -> str:
    """The comment as stored; "" for none."""
    value = item.plain("feedback")
    return "" if value is None else text_of(value)


def feedback_of(item: ThreadMessage, *, raw: bool) -> tuple[Feedback | None, tuple[str, ...]]:
    """What its reader thought of it, and what is wrong with how that is stored."""
    verso, comment = verso_of(item), comment_of(item)
    flaws = []
    known = verso.lower() if verso.lower() in VERSOS else ""
    if verso and verso not in VERSOS:
        flaws.append("its verso is neither up nor down")
    if isinstance(item.plain("feedback"), dict | list):
        flaws.append("its feedback is no text")
    if not (verso or comment):
        return None, tuple(flaws)
    return Feedback(known or redact(verso)[:40], comment if raw else redact(comment)), tuple(flaws)


def origins_of(item: ThreadMessage, *, raw: bool) -> tuple[tuple[Origin, ...], tuple[str, ...]]:
    """What an answer was made from; links only to http(s) addresses with a host."""
    value = well_formed(item.plain("sources"))
    if value in (None, "", [], {}):
        return (), ()
    listed = value if isinstance(value, list) else [value]
    found = tuple(_origin(each, raw=raw) for each in listed[:SOURCES_SHOWN])
    if len(listed) > SOURCES_SHOWN:
        found += (Origin(f"… and {len(listed) - SOURCES_SHOWN} more"),)
    return found, () if isinstance(value, list) else ("its sources are no list",)


def _origin(value: Any, *, raw: bool) -> Origin:
    shown = mask_credentials(value)
    shown = shown if raw else redact_value(shown)
    if not isinstance(shown, dict):
        text = _inline(shown)
        url = link_to(text)
        return Origin(text[:EXCERPT] or "Unnamed source", url)
    # Some writers nest the document in the source.
    nested = (shown.get(name) for name in ("document", "source", "metadata"))
    inner: dict[str, Any] = next((each for each in nested if isinstance(each, dict)), {})
    place = _first(shown, inner, _URLS)
    title = _first(shown, inner, _TITLES)
    url = link_to(place)
    text = _first(shown, inner, _TEXTS)
    unlinked = place if title and place != title and not url else ""
    return Origin(
        (title or place or _inline(shown) or "Unnamed source")[:200],
        url,
        " ".join(each for each in (unlinked[:300], text[:EXCERPT] + ("…" if len(text) > EXCERPT else "")) if each),
    )


def _first(shown: dict[str, Any], inner: dict[str, Any], names: tuple[str, ...]) -> str:
    for each in (shown, inner):
        for name in names:
            value = each.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def _inline(value: Any) -> str:
    """Any value as one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {text_of(each)}" for name, each in value.items())[:300]
    if isinstance(value, list):
        return ", ".join(text_of(each) for each in value)[:300]
    return "" if value is None else text_of(value).strip()


def link_to(text: str) -> str:
    """The text if it is an http(s) address that a browser may be led to; "" for any other one."""
    if len(text) > 2000 or any(char.isspace() or ord(char) < 32 or char in '\\<>"' for char in text):
        return ""
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    # A name before the host makes an address look like another one's, or is a password.
    return text if parts.scheme in ("http", "https") and host and "@" not in parts.netloc else ""


def _more(item: ThreadMessage, *, raw: bool) -> tuple[Node | None, str]:
    """What the page shows on demand: the response's metadata, unknown attributes, and those of another type."""
    metadata = item.plain("response_metadata")
    others = item.unknown() | {name: item.plain(name) for name in item.drift if name not in _SHOWN_ANYWAY}
    members: Any
    if metadata in _NOTHING:
        members, title = others, "Other attributes"
    elif others:
        members, title = {"response_metadata": metadata, **others}, "Response metadata and other attributes"
    else:
        members, title = metadata, "Response metadata"
    if members in _NOTHING:
        return None, title
    shown = mask_credentials(well_formed(members))
    return tree_of(shown if raw else redact_value(shown)), title


def _line(value: Any, *, raw: bool) -> str:
    if value in (None, "", [], {}):
        return ""
    text = _inline(value)[:200]
    return text if raw else redact(text)


def _drift(entry: DatedItem[ThreadMessage]) -> tuple[str, ...]:
    item = entry.item
    # Content may be a list, and the rest is told in words of their own.
    shown_elsewhere = _SHOWN_ANYWAY - {"stop_reason", "response_metadata"}
    found = [f"{name}: {what}" for name, what in sorted(item.drift.items()) if name not in shown_elsewhere]
    stamp = item.plain("timestamp")
    stamped = clock.parse_instant(stamp)
    if stamp is not None and stamped is None:
        found.append("timestamp: no time that can be read")
    by_key = instant_in(entry.sort_key)
    if by_key is None:
        found.append("its key names no time" + ("" if entry.at else ", and nothing else does"))
    elif stamped is not None and abs((by_key - stamped).total_seconds()) > 1:
        found.append(f"its key and its timestamp differ: the latter says {clock.to_iso(stamped, 'seconds')}")
    if item.plain("message_id") in (None, ""):
        found.append("message_id: " + ("NULL or empty" if "message_id" in item.raw else "missing"))
    return (*found, *unknown_names(item))
