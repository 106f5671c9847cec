"""What the platform writes again: customers' words that the transcript already has.

With the AI's answer, the platform writes all messages that it gave to the AI as one entry: under the id of the first
one, with their words in lines. The console has shown them to people before, where they were said.
"""

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from html import unescape
from typing import Any

from conversations.converting import appended_ids
from conversations.messages.message import StoredMessages
from conversations.messages.older_messages import stored_messages
from conversations.models import Conversation

# How many of the latest messages to people are compared with what the platform has written since.
MOST_COMPARED = 100


def wrote_words(item: Conversation, words: Iterable[str], since: datetime) -> bool:
    """Return whether the platform itself has written all these messages to the item since then.

    An id proves nothing: the console appends messages under the same ids. One Query if older messages were moved, else
    none. Raises the store's errors.
    """
    stored, ours, texts = stored_messages(item.raw), set(appended_ids(item)), []
    for number in range(1, len(stored) + 1):
        message_id = stored.customer_id(number)
        if message_id in ours:
            # The console's own entry is the first one with its id.
            ours.remove(message_id)
        elif message_id is not None and (stored.at(number) or since) >= since:
            texts.append(lines_of(stored.text(number)))
    return all(any(place_of(lines_of(each), lines) is not None for lines in texts) for each in words)


def fold_repetitions(stored: StoredMessages, ours: Collection[str]) -> StoredMessages:
    """Fold what the platform wrote again of messages to people, whose ids are `ours`; no earlier entry moves.

    What is new in such an entry follows as a message of its own.
    """
    if not ours:
        return stored
    ids = {number: each for number in range(1, len(stored) + 1) if (each := stored.customer_id(number)) in ours}
    numbers = list(ids)[-MOST_COMPARED:]
    first = {ids[number]: number for number in reversed(numbers)}
    entries: list[Any] = []
    folded = set[int]()
    for number, entry in enumerate(stored.entries, 1):
        begins = first.get(ids.get(number, ""), number)
        lines = lines_of(stored.text(number)) if begins < number else []
        new, again = lines, list[str]()
        for earlier in numbers:
            words = lines_of(stored.text(earlier)) if begins <= earlier < number else []
            if (at := place_of(words, new)) is not None:
                new, again = new[:at] + new[at + len(words) :], again + words
        if not again:
            entries.append(entry)
            continue
        entries.append(stored.with_text(entry, "\n".join(again)))
        folded.add(len(entries))
        if new:
            entries.append(stored.with_text(entry, "\n".join(new)))
    return replace(stored, entries=entries, folded=frozenset(folded)) if folded else stored


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that have words, with blanks folded; a service may have escaped what it keeps."""
    lines = (" ".join(unicodedata.normalize("NFC", line).split()) for line in unescape(text).splitlines())
    return [line for line in lines if line]


def place_of(part: list[str], whole: list[str]) -> int | None:
    """Return where the lines of a message stand in those of another one, as a whole run; None if they do not."""
    places = range(len(whole) - len(part) + 1) if part else ()
    return next((at for at in places if whole[at : at + len(part)] == part), None)
