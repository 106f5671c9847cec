"""The content of one message as blocks: text, code, images (named, never loaded), tool calls, trees for the rest."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from console.redaction import BEGINNING, beginning_of, redact, redact_value
from console.redaction.credentials import mask_credentials
from console.trees import text_of, tree_of
from conversations.records import Block

# Fields for the content of a message; the first one present counts.
CONTENT = ("content", "text", "body")
_TEXT_TYPES = {"text", "input_text", "output_text"}
_FILE_TYPES = {
    "image": "Image",
    "image_url": "Image",
    "audio": "Audio",
    "video": "Video",
    "document": "Document",
    "file": "File",
}
MAX_PARTS = 200
# The most characters of a message on a page with others.
SHOWN = BEGINNING
# Parts nested deeper than this are shown as a tree.
MAX_NESTING = 4


def first_of(entry: dict[str, Any], *names: str) -> Any:
    """Return the value of the first of these fields that is not empty, or None."""
    return next((entry[name] for name in names if entry.get(name) not in (None, "")), None)


def blocks_of(entry: dict[str, Any], *, raw: bool) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """Return the blocks of a message, redacted unless `raw`, and the flaws of its content. Never raises."""
    blocks, flaws, _ = first_blocks_of(entry, None, raw=raw)
    return blocks, flaws


def first_blocks_of(
    entry: dict[str, Any], most: int | None, *, raw: bool
) -> tuple[tuple[Block, ...], tuple[str, ...], int]:
    """Return blocks and flaws as `blocks_of` does, with at most so many characters of text, and how many are left out.

    What is left out is not redacted either, so that the work is bounded, too.
    """
    reader = _ContentReader(raw=raw, most=most)
    blocks = list(reader.parts(_field(entry, *CONTENT)))
    for name in ("function_call", "tool_calls"):
        # On an entry these are calls by the AI; on the item `function_call` is a flag.
        if isinstance(entry.get(name), dict | list):
            blocks.extend(reader.calls(entry[name]))
    flaws = () if any(name in entry for name in CONTENT) or blocks else ("it has no content",)
    return tuple(blocks), flaws, reader.left_out


class _ContentReader:
    def __init__(self, *, raw: bool, most: int | None = None) -> None:
        self.mask: Callable[[str], str] = (lambda text: text) if raw else redact
        self.raw = raw
        self.most = most
        self.left_out = 0

    def protect(self, text: str) -> str:
        """Return a text, redacted unless `raw`, or as much of its beginning as there is room for."""
        if self.most is None:
            return self.mask(text)
        shown = beginning_of(text, self.most, self.mask)
        if len(text) > self.most:
            self.left_out += len(text) - len(shown)
        self.most = max(0, self.most - len(text))
        return shown

    def parts(self, content: Any, depth: int = 0) -> Iterator[Block]:
        """Yield the blocks of content of any shape."""
        if content is None or content == "":
            return
        if isinstance(content, list | tuple):
            for number, part in enumerate(content):
                if number >= MAX_PARTS:
                    yield Block("text", f"… and {len(content) - number} more parts")
                    return
                yield from self.parts(part, depth + 1) if depth < MAX_NESTING else (self.data(part),)
        elif isinstance(content, dict):
            yield from self.part(content)
        else:
            yield Block("text", self.protect(text_of(content)))

    def part(self, part: dict[str, Any]) -> Iterator[Block]:
        """Yield the blocks of one typed part."""
        kind = text_of(part.get("type") or "").lower()
        if kind == "code":
            yield Block("code", self.protect(text_of(first_of(part, "code", "text"))), self.label(part.get("language")))
        elif kind in _FILE_TYPES:
            yield Block("image", self.protect(_reference(part)), _FILE_TYPES[kind])
        elif kind in ("tool_use", "function_call", "function"):
            yield self.call(part)
        elif kind == "tool_result":
            yield self.result(part)
        elif (kind in _TEXT_TYPES or not kind) and (text := _text_in(part)) is not None:
            yield Block("text", self.protect(text))
        else:
            yield self.data(part, kind)

    def calls(self, value: Any) -> Iterator[Block]:
        """Yield the blocks of the AI's tool calls: one call, or a list of them."""
        for each in (value if isinstance(value, list) else [value])[:MAX_PARTS]:
            yield self.call(each) if isinstance(each, dict) else self.data(each)

    def call(self, part: dict[str, Any]) -> Block:
        """Return the block of a tool or function call, with its arguments as a tree."""
        function = part["function"] if isinstance(part.get("function"), dict) else part
        kind = "tool_use" if part.get("type") == "tool_use" else "function_call"
        arguments = _from_json(_field(function, "input", "arguments"))
        return Block(kind, label=self.label(function.get("name")), data=self.tree(arguments))

    def result(self, part: dict[str, Any]) -> Block:
        """Return the block of a tool's result."""
        value = _from_json(_field(part, "content", "output"))
        label = self.label(first_of(part, "name", "tool_use_id"))
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        text = _text_in(value) if isinstance(value, dict) and value.get("type") in _TEXT_TYPES else value
        if isinstance(text, str):
            return Block("tool_result", self.protect(text), label)
        return Block("tool_result", label=label, data=self.tree(value))

    def data(self, value: Any, kind: str = "") -> Block:
        """Return a block for anything unknown, as a tree."""
        return Block("data", label=self.label(kind), data=self.tree(value))

    def tree(self, value: Any) -> Any:
        """Return a tree without credentials, redacted unless `raw`; None if there is no room for it."""
        if self.most is not None:
            size = characters_in(value)
            if size > self.most:
                self.left_out += size
                return None
            self.most -= size
        value = mask_credentials(value)
        return tree_of(value if self.raw else redact_value(value))

    def label(self, value: Any) -> str:
        """Return a short name, always redacted."""
        return redact(text_of(value)[:120]) if value not in (None, "") else ""


def characters_in(value: Any) -> int:
    """Return how many characters of text any value contains, names of members included. Never raises."""
    count, left = 0, [value]
    while left:
        match left.pop():
            case str() as text:
                count += len(text)
            case dict() as members:
                left += [*members, *members.values()]
            case list() | tuple() as members:
                left += members
            case _:
                count += 1
    return count


def _field(part: dict[str, Any], *names: str) -> Any:
    """Return the value of the first of these fields that is present, even if it is empty."""
    return next((part[name] for name in names if name in part), None)


def _text_in(part: dict[str, Any]) -> str | None:
    """Return the text of a text part: plain, or nested as {"value": …}."""
    value = first_of(part, "text", "content")
    if isinstance(value, dict):
        value = value.get("value")
    return text_of(value) if value is not None and not isinstance(value, dict | list) else None


def _reference(part: dict[str, Any]) -> str:
    """Return the name of an image, file or recording, which the console never loads."""
    source: Any = part
    for _ in range(3):
        inner = first_of(source, "image_url", "file", "source", "image", "document")
        if inner is None:
            break
        source = inner
        if not isinstance(source, dict):
            break
    if isinstance(source, dict):
        source = first_of(source, "url", "filename", "name", "file_id", "id") or _size(source)
    text = text_of(source) if not isinstance(source, dict | list) else ""
    if text.startswith("data:"):
        return f"embedded ({text[5:].split(';', 1)[0][:60]}, {len(text)} characters)"
    return text[:300]


def _size(source: dict[str, Any]) -> str:
    data = source.get("data")
    if not isinstance(data, str):
        return ""
    return f"embedded ({text_of(source.get('media_type') or 'data')[:60]}, {len(data)} characters)"


def _from_json(value: Any) -> Any:
    """Parse a value that is JSON as text, as arguments and results often are; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def entries_of_text(text: str) -> tuple[list[Any], str]:
    """Return the entries of JSON text, and a notice if it is no list of messages ("" if it is)."""
    notice = "The messages are text that is not a list of messages."
    if not text.strip():
        return [], ""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return [text], notice
    if isinstance(content, list):
        return content, ""
    inner = content.get("messages") if isinstance(content, dict) else None
    return (inner, "") if isinstance(inner, list) else ([content], notice)


def whole_number(value: Any) -> int | None:
    """Return a count as an int, also from text; None if it is no number, negative, or 10^12 or more."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return int(number) if 0 <= number < 1e12 else None
