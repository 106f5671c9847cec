"""Finding messages within the entries into which the platform merges several of them. No I/O.

The platform writes what it gave to the AI as one entry, under the id of the first message: each message's words are a
whole run of its lines, and no run is that of two messages. Its time is after that of its messages, except for the
difference of the clocks.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from conversations.messages.content import blocks_of
from conversations.messages.message import IDENTITY, StoredMessages
from conversations.messages.repetitions import lines_of, place_of
from conversations.outbox.routing import ROUNDING, skew


@dataclass(frozen=True, slots=True)
class AwaitedWords:
    """A message that the AI may answer: its id, when it was said, and its words."""

    message_id: str
    at: datetime
    words: str


@dataclass(slots=True)
class WrittenEntry:
    """A customer's entry that the platform wrote, and those of its lines that are not yet known to be a message's."""

    message_id: str
    at: datetime
    lines: list[str]

    def take(self, words: list[str]) -> bool:
        """Take a run of whole lines out of the entry; return whether it has it."""
        if (at := place_of(words, self.lines)) is None:
            return False
        # Nothing stays between the lines around it, which were no run.
        self.lines[at : at + len(words)] = [""]
        return True

    def take_first(self, words: list[str]) -> bool:
        """Take these lines off the beginning of the entry; return whether it begins with them."""
        if self.lines[: len(words)] != words:
            return False
        del self.lines[: len(words)]
        return True


def held_by_platform(awaited: Iterable[AwaitedWords], stored: StoredMessages, appended: Collection[str]) -> set[str]:
    """Return the ids of those messages that the platform has written to the item meanwhile.

    `appended` are the ids of the entries that the console wrote itself.
    """
    messages = sorted(awaited, key=lambda each: each.at)
    if not messages:
        return set()
    tolerance = ROUNDING + skew()
    written = list(written_since(messages[0].at - tolerance, stored, appended))
    found = set[str]()
    for each in messages:
        lines = lines_of(each.words)
        if any(
            entry.message_id == each.message_id or (entry.at >= each.at - tolerance and entry.take(lines))
            for entry in written
        ):
            found.add(each.message_id)
    return found


def is_written(words: str, message_id: str, stored: StoredMessages) -> bool:
    """Return whether the entry of that id has these words: if not, they are an edit that the platform does not have."""
    entries = (stored.entry(number) for number in range(1, len(stored) + 1))
    same = (each for each in entries if isinstance(each, dict) and message_id in map(each.get, IDENTITY))
    return any(WrittenEntry("", datetime.min, _lines_in(each)).take(lines_of(words)) for each in same)


def _lines_in(entry: dict[str, Any]) -> list[str]:
    texts = (block.text for block in blocks_of(entry, raw=True)[0] if block.kind == "text")
    return lines_of("\n".join(texts))


def written_since(since: datetime, stored: StoredMessages, appended: Collection[str]) -> Iterator[WrittenEntry]:
    """Yield the customer's entries that the platform wrote from then on, latest last."""
    first = len(stored) + 1
    while first > 1 and ((at := stored.at(first - 1)) is None or at >= since):
        first -= 1
    for number in range(first, len(stored) + 1):
        if (at := stored.at(number)) is None or not stored.is_by_customer(number):
            continue
        entry = stored.entry(number)
        if (name := str(entry.get("message_id"))) not in appended:
            yield WrittenEntry(name, at, _lines_in(entry))


def note_edits(stored: StoredMessages, ids: Collection[str], ours: Collection[str]) -> StoredMessages:
    """Note which entries are edits: those of `ids`, `{message id}:{digest}`, but for the first of a message.

    `ours` are the ids of the entries with the customer's own times: the platform stamps its own after the answer.
    """
    bases = {each.rpartition(":")[0] for each in ids}
    groups = bases | set(ids)
    seen, edited = bases - set(ours), set[int]()
    for number in range(1, len(stored) + 1) if bases else ():
        name = stored.customer_id(number)
        # What repeats messages for the AI, and what is new in it, is no edit.
        if name not in groups or name is None or {number, number - 1} & stored.folded:
            continue
        base = name if name in bases else name.rpartition(":")[0]
        if base in seen and (name != base or name in ours):
            edited.add(number)
        seen.add(base)
    return replace(stored, edited=frozenset(edited)) if edited else stored
