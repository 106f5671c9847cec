"""From messages of threads to records: tolerant of drift, redacted for readers who may not see personal data.

Unreadable values are flagged and shown as stored; a bad message becomes a flagged message, never an error.
"""

from math import inf
from typing import Any
from urllib.parse import urlsplit

from console import clock
from console.redaction import beginning_of, excerpt, redact, redact_value
from console.redaction.credentials import mask_credentials
from console.trees import Node, text_of, well_formed
from conversations.messages.content import SHOWN, characters_in, first_blocks_of
from conversations.messages.facts import unknown_names
from conversations.records import Extra, Feedback, Message, Origin, Speaker
from conversations.stores.items import described, drift_in, first_tree, speaker_of
from conversations.stores.threads.keys import LLM, anchor_of, instant_in, instant_of, is_padded
from conversations.stores.threads.models import ThreadMessage

VERSOS = ("up", "down")
SOURCES_SHOWN = 50
# All sources of a message together may have this many times the characters of its content.
SOURCES_SHARE = 10
_NOTHING: tuple[Any, ...] = (None, "", [], {})
# Shown elsewhere, whatever their type.
_SHOWN_ANYWAY = frozenset({"content", "role", "verso", "feedback", "sources", "stop_reason", "response_metadata"})
# The characters shown of one source: an excerpt, not a document.
EXCERPT = 600
_URLS, _TITLES = ("url", "uri", "link", "href"), ("title", "name")
_TEXTS = ("text", "snippet", "excerpt", "content")
_NESTED = ("document", "source", "metadata")
# Longer addresses are not linked.
LONGEST_ADDRESS = 2_000


def message_of(item: ThreadMessage, act: tuple[str, tuple[str, ...]] | None, *, raw: bool, at: str = "") -> Message:
    """Return a message as a record, redacted unless `raw`, and only the beginning of a long one unless it is at `at`.

    Never raises. `at` is an anchor; `act` is what the person may do to an answer: the action, and the parts that name
    the thread.
    """
    sort_key = text_of(item.plain("SK"))
    speaker, name, flaws = _speaker(item)
    anchor = anchor_of(sort_key)
    most = None if anchor == at else SHOWN
    content = well_formed(item.plain("content"))
    blocks, of_content, left_out = first_blocks_of({"content": content} if "content" in item.raw else {}, most, raw=raw)
    origins, of_origins, sources_left_out = first_origins_of(item, most, raw=raw)
    feedback, of_feedback, comment_left_out = first_feedback_of(item, most, raw=raw)
    more, title, more_left_out = _more(item, most, raw=raw)
    return Message(
        number=0,
        anchor=anchor,
        speaker=speaker,
        speaker_name=name,
        at=instant_of(item, sort_key),
        blocks=blocks,
        left_out=left_out + sources_left_out + comment_left_out + more_left_out,
        drift=(*flaws, *of_content, *of_origins, *of_feedback, *_drift(item, sort_key)),
        extra=Extra(
            stop_reason=_line(item.plain("stop_reason"), raw=raw),
            feedback=feedback,
            origins=origins,
            more=more,
            more_title=title,
            act=(act[0], (*act[1], sort_key)) if act and is_answer(item) else None,
            act_label="Feedback",
        ),
    )


def is_answer(item: ThreadMessage) -> bool:
    """Return whether the assistant wrote a message, by its key or its role."""
    role = item.plain("role")
    return text_of(item.plain("SK")).startswith(LLM) or (isinstance(role, str) and role.strip().lower() == "assistant")


def _speaker(item: ThreadMessage) -> tuple[Speaker, str, tuple[str, ...]]:
    by_key = "assistant" if text_of(item.plain("SK")).startswith(LLM) else "user"
    role = item.plain("role")
    speaker, name, flaws = speaker_of(role or by_key, "role")
    if role in (None, ""):
        flaws = ("it does not say who wrote it: its key does",)
    elif not flaws and speaker is not speaker_of(by_key, "role")[0]:
        flaws = ("its key and its role name different speakers",)
    return speaker, name, flaws


def verso_of(item: ThreadMessage) -> str:
    """Return the direction of the feedback as stored; "" for none: absent, NULL and empty are the same."""
    value = item.plain("verso")
    return "" if value is None else text_of(value).strip()


def comment_of(item: ThreadMessage) -> str:
    """Return the comment as stored; "" for none."""
    value = item.plain("feedback")
    return "" if value is None else text_of(value)


def first_feedback_of(
    item: ThreadMessage, most: int | None, *, raw: bool
) -> tuple[Feedback | None, tuple[str, ...], int]:
    """Return the reader's feedback on a message, the flaws in how it is stored, and how much of it is left out.

    At most `most` characters of the comment are shown; None: all of it.
    """
    verso, comment = verso_of(item), comment_of(item)
    flaws = []
    known = verso.lower() if verso.lower() in VERSOS else ""
    if verso and verso not in VERSOS:
        flaws.append("its verso is neither up nor down")
    if isinstance(item.plain("feedback"), dict | list):
        flaws.append("its feedback is not text")
    if not (verso or comment):
        return None, tuple(flaws), 0
    room = len(comment) if most is None else most
    shown = comment[:room] if raw else beginning_of(comment, room)
    left_out = len(comment) - len(shown) if len(comment) > room else 0
    return Feedback(known or excerpt(verso, 40), shown), tuple(flaws), left_out


def origins_of(item: ThreadMessage, *, raw: bool) -> tuple[tuple[Origin, ...], tuple[str, ...]]:
    """Return the sources of an answer, and their flaws; links only to http(s) addresses with a host."""
    return first_origins_of(item, None, raw=raw)[:2]


def first_origins_of(
    item: ThreadMessage, most: int | None, *, raw: bool
) -> tuple[tuple[Origin, ...], tuple[str, ...], int]:
    """Return sources and flaws as `origins_of`, and how many characters of theirs are left out.

    Of a source with more than `most` characters, only the beginning is looked at. What goes beyond `SOURCES_SHARE`
    times that is left out.
    """
    value = well_formed(item.plain("sources"))
    if value in _NOTHING:
        return (), (), 0
    listed = value if isinstance(value, list) else [value]
    found, left_out, room = [], 0, inf if most is None else most * SOURCES_SHARE
    for each in listed[:SOURCES_SHOWN]:
        source, size = each, characters_in(each) if most is not None else 0
        if most is not None and size > most:
            source = _reduced(each, raw=raw)
            size = characters_in(source)
        if size > room:
            left_out += characters_in(each)
            continue
        room -= size
        found.append(_origin(source, raw=raw))
    if len(listed) > SOURCES_SHOWN:
        found.append(Origin(f"… and {len(listed) - SOURCES_SHOWN} more"))
    return tuple(found), () if isinstance(value, list) else ("its sources are not a list",), left_out


def _reduced(source: Any, *, raw: bool) -> Any:
    """Return what a page shows of a large source: its title, its address and the beginning of its text."""
    if isinstance(source, dict):
        inner = {name: _reduced(source[name], raw=raw) for name in _NESTED if isinstance(source.get(name), dict)}
        texts = (name for name in (*_URLS, *_TITLES, *_TEXTS) if isinstance(source.get(name), str))
        return inner | {name: _reduced(source[name], raw=raw) for name in texts}
    text = text_of(source) if not isinstance(source, list) else ""
    if len(text) <= LONGEST_ADDRESS:
        return text
    return f"{text[:EXCERPT] if raw else beginning_of(text, EXCERPT)}…"


def _origin(value: Any, *, raw: bool) -> Origin:
    shown = mask_credentials(value)
    shown = shown if raw else redact_value(shown)
    if not isinstance(shown, dict):
        text = _inline(shown)
        url = link_to(text)
        return Origin(text[:EXCERPT] or "Unnamed source", url)
    # Some writers nest the document in the source.
    nested = (shown.get(name) for name in _NESTED)
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
    """Return any value as one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {text_of(each)}" for name, each in value.items())[:300]
    if isinstance(value, list):
        return ", ".join(text_of(each) for each in value)[:300]
    return "" if value is None else text_of(value).strip()


def link_to(text: str) -> str:
    """Return the text if it is an http(s) address that is safe to link to; "" otherwise."""
    if len(text) > LONGEST_ADDRESS or any(char.isspace() or ord(char) < 32 or char in '\\<>"' for char in text):
        return ""
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    # User info before the host can disguise the host, or contains a password.
    return text if parts.scheme in ("http", "https") and host and "@" not in parts.netloc else ""


def _more(item: ThreadMessage, most: int | None, *, raw: bool) -> tuple[Node | None, str, int]:
    """Return what the page shows on demand: response metadata, unknown attributes, and those of another type.

    With it, its title, and how many characters are left out, as `first_tree`.
    """
    metadata = item.plain("response_metadata")
    others = item.unknown() | {name: item.plain(name) for name in item.drift if name not in _SHOWN_ANYWAY}
    if metadata in _NOTHING:
        shown, title = others, "Other attributes"
    elif others:
        shown, title = {"response_metadata": metadata, **others}, "Response metadata and other attributes"
    else:
        shown, title = metadata, "Response metadata"
    tree, left_out = first_tree(shown, most, raw=raw)
    return tree, title, left_out


def _line(value: Any, *, raw: bool) -> str:
    if value in _NOTHING:
        return ""
    text = _inline(value)[:200]
    return text if raw else redact(text)


def _drift(item: ThreadMessage, sort_key: str) -> tuple[str, ...]:
    # Content may be a list, and the other attributes have their own flaws.
    shown_elsewhere = _SHOWN_ANYWAY - {"stop_reason", "response_metadata"}
    drift = drift_in(item, required=("message_id",), times=("timestamp",))
    found = list(described({name: what for name, what in drift.items() if name not in shown_elsewhere}))
    by_key, stamped = instant_in(sort_key), clock.parse_instant(item.plain("timestamp"))
    if by_key is None:
        found.append("its key names no time")
    elif not is_padded(sort_key):
        found.append("the time in its key is not padded to 19 digits, so it may stand out of order")
    elif stamped is not None and abs((by_key - stamped).total_seconds()) > 1:
        found.append(f"its key and its timestamp differ: the latter says {clock.to_iso(stamped, 'seconds')}")
    return (*found, *unknown_names(item))
