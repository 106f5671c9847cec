"""Contents of panels: facts, bounded trees of values of unknown shape, and isolated text from elsewhere."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from console import clock
from console.redaction import redact
from console.redaction.masks import FULL_MASK
from console.refs import keyed_pseudonym

# Deeper levels are shown as one line of text; further nodes are counted, not shown.
MAX_DEPTH = 10
MAX_NODES = 400
MAX_TAIL = 300


@dataclass(frozen=True, slots=True)
class Node:
    """One node. `kind`: object, list, string, number, boolean or null; `key` is None for list members and the root."""

    key: str | None
    kind: str
    text: str = ""
    children: tuple["Node", ...] = ()


def tree_of(value: Any) -> Node:
    """Return the tree of any plain Python value. Never raises, never exceeds `MAX_DEPTH` and `MAX_NODES`."""
    return _Builder().node(None, value, 0)


class _Builder:
    def __init__(self) -> None:
        self.left = MAX_NODES

    def node(self, key: str | None, value: Any, depth: int) -> Node:
        self.left -= 1
        pairs: list[tuple[str | None, Any]]
        if isinstance(value, dict):
            kind, pairs = "object", [(clean(str(name)), each) for name, each in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            kind, pairs = "list", [(None, each) for each in value]
        else:
            return Node(key, kind_of(value), text_of(value))
        if depth >= MAX_DEPTH and value:
            return Node(key, "string", f"{kind}, {len(value)}: {flatten_to_line(value)}")
        return Node(key, kind, children=self._children(pairs, depth))

    def _children(self, pairs: list[tuple[str | None, Any]], depth: int) -> tuple[Node, ...]:
        children = []
        for number, (key, each) in enumerate(pairs):
            if self.left <= 0:
                children.append(Node(None, "string", f"… and {len(pairs) - number} more"))
                break
            children.append(self.node(key, each, depth + 1))
        return tuple(children)


def kind_of(value: Any) -> str:
    """Return the kind of a leaf."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float | Decimal) else "string"


def text_of(value: Any) -> str:
    """Return a leaf as text that UTF-8 can encode."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return f"binary, {len(value)} bytes"
    try:
        return clean(str(value))
    except ValueError:  # integers of thousands of digits refuse to become text
        return "a number too long to show"


def flatten_to_line(value: Any) -> str:
    """Return the content below the shown depth as one short line; read only as much as it shows."""
    parts: list[str] = []
    room = MAX_TAIL
    stack = [value]
    while stack and room > 0:
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(item for pair in reversed(list(each.items())) for item in reversed(pair))
        elif isinstance(each, list | tuple | set | frozenset):
            stack.extend(reversed(list(each)))
        else:
            parts.append(text_of(each)[:room])
            room -= len(parts[-1]) + 1
    return " ".join(parts) + (" …" if stack else "")


def clean(text: str) -> str:
    """Replace lone surrogates, which JSON escapes can produce and UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def well_formed(value: Any, depth: int = 0) -> Any:
    """Return a plain value with every text cleaned. Levels below the 64th become one line of text."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        if depth >= 64:
            return flatten_to_line(value)
        return {clean(str(name)): well_formed(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return flatten_to_line(value) if depth >= 64 else [well_formed(each, depth + 1) for each in value]
    return value


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a panel; the fields are those of the `_facts` component. An empty `value` is shown as a dash."""

    label: str
    value: str = ""
    mono: bool = False
    tone: str = ""
    at: datetime | None = None
    relative: str = ""
    list: tuple[str, ...] = ()
    note: str = ""
    copy_text: str = ""


def instant_fact(label: str, value: Any, relative: str = "", now: datetime | None = None) -> Fact:
    """Return a time as a fact; one that cannot be parsed is shown as redacted text.

    `relative` is "ago" or "in". With `now` given, the distance is written out without JavaScript too.
    """
    at = clock.parse_instant(value)
    if at is None:
        return Fact(label, redact(text_of(value))[:80] if value not in (None, "") else "")
    return Fact(label, distance(at, relative, now) if now and relative else "", at=at, relative=relative)


def distance(at: datetime, relative: str, now: datetime) -> str:
    """Describe how far off a time is: "12 min ago", "in 26 days", "past". The browser uses the same words."""
    if relative == "ago":
        return f"{clock.format_span(abs(now - at))} ago"
    return f"in {clock.format_span(at - now)}" if at >= now else "past"


_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
# Hebrew and Arabic letters, and the controls that embed, override and isolate.
_REORDERS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ISOLATES = re.compile("[\u2066-\u2069]")
# These end a paragraph, and with it every isolate.
_PARAGRAPH_ENDS = re.compile("[\n\r\x1c-\x1e\x85\u2029]+")


def isolated(text: str) -> str:
    """Isolate a stored text inside a sentence, so that its direction does not affect the rest.

    Text that cannot reorder anything is returned as it is. A template does the same with <bdi>.
    """
    if not _REORDERS.search(text):
        return text
    text = _PARAGRAPH_ENDS.sub(" ", text)
    kept: list[str] = []
    depth, end = 0, 0
    for control in _ISOLATES.finditer(text):
        opens = control.group() != _POP_ISOLATE
        kept.append(text[end : control.start()])
        # A surplus closing control would end our own isolate.
        kept.append(control.group() if opens or depth else "")
        depth, end = max(0, depth + (1 if opens else -1)), control.end()
    return f"{_FIRST_STRONG_ISOLATE}{''.join(kept)}{text[end:]}{_POP_ISOLATE * depth}{_POP_ISOLATE}"


def spelled_out(json_text: str) -> str:
    """Escape the bidirectional controls in JSON text without changing its meaning: raw, they would reorder it."""
    return _CONTROLS.sub(lambda control: f"\\u{ord(control.group()):04x}", json_text)


# --- Values as services write them ------------------------------------------------------------------------------------


def is_code_name(text: str) -> bool:
    """Return whether text is one word of letters, digits, dashes and underscores: `need_order_number`."""
    return text.replace("_", "").replace("-", "").isalnum()


def format_code_name(text: str) -> str:
    """Return a name in code with blanks for underscores, and other text as it is, redacted.

    Redacted even if it was before: with blanks, a name in code may become a number.
    """
    return redact(text.replace("_", " ").strip() if is_code_name(text) else text)


def share_of(value: Any) -> Decimal | None:
    """Return a confidence between 0 and 1; None for anything else."""
    try:
        share = Decimal(str(value)) if not isinstance(value, bool | dict | list) else None
    except (InvalidOperation, ValueError):
        return None
    return share if share is not None and share.is_finite() and 0 <= share <= 1 else None


def round_half_up(value: float | Decimal, decimals: int = 0) -> Decimal:
    """Round a finite number as people expect it: 12.5 is 13, which Python alone rounds to the even 12."""
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def per_cent(share: Decimal) -> str:
    """Format a share of one as a percentage, with at most one decimal: `87 %`, `99.5 %`."""
    return f"{round_half_up(share * 100, 1)}".removesuffix(".0") + " %"


def format_message_id(message_id: str) -> str:
    """Return a message's id without personal data.

    An id that is masked completely gets a keyed pseudonym, so that its events can be told from others.
    """
    text = clean(message_id)
    shown = redact(text)
    is_gone = shown != text and not any(map(str.isalnum, shown))
    return f"{FULL_MASK}-{keyed_pseudonym(message_id)}" if is_gone else shown
