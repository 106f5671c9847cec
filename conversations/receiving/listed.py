"""Which messages of a provider's list the platform has merged into an entry. No I/O."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from conversations.messages.message import StoredMessages
from conversations.messages.repetitions import lines_of
from conversations.outbox.merged import AwaitedWords, written_since
from conversations.outbox.routing import ROUNDING

# Customers determine both sides of a comparison, so it ends after so many steps.
MOST_STEPS = 5_000
# By how much the platform's times of its entries may be before those of their messages.
ENTRIES_DIFFER = timedelta(minutes=1)


def merged_ids(listed: Sequence[AwaitedWords], stored: StoredMessages, appended: Collection[str]) -> set[str]:
    """Return the ids of those messages of a provider's list (oldest first) that entries of the item were made of.

    The words of an entry, in lines, are those of the message with its id and of some that follow, each whole. While the
    list lacks one of them, because it lags or begins later, any message whose lines the entry has may be part of it.
    `appended` are the ids of the entries that the console wrote itself.
    """
    found = set[str]()
    names = {each.message_id for each in listed}
    for entry in written_since(listed[0].at - ENTRIES_DIFFER, stored, appended) if listed else ():
        before = [each for each in listed if each.at <= entry.at + ENTRIES_DIFFER and each.message_id not in found]
        begins = next((each for each in before if each.message_id == entry.message_id), None)
        parts: tuple[str, ...] = ()
        if begins is not None and entry.take_first(lines_of(begins.words)):
            # The order within a second is not known.
            before = [each for each in before if each.at >= begins.at - ROUNDING and each is not begins]
            parts = _cover(entry.lines, before)
        if not parts:
            parts = tuple(each.message_id for each in before if entry.take(lines_of(each.words)))
        found |= {entry.message_id, *parts} & names
    return found


def _cover(lines: list[str], messages: Sequence[AwaitedWords]) -> tuple[str, ...]:
    """Return the ids of messages whose lines, one message after the other, are these lines; () if there are none."""
    runs = [(each.message_id, run) for each in messages if (run := lines_of(each.words))]
    chosen: list[int] = []
    at, number = 0, 0
    for _ in range(MOST_STEPS):
        if at == len(lines):
            return tuple(runs[each][0] for each in chosen)
        if number == len(runs):
            if not chosen:
                break
            # No message goes on from here: try another one in place of the last.
            number = chosen.pop()
            at -= len(runs[number][1])
        elif number not in chosen and lines[at : at + len(runs[number][1])] == runs[number][1]:
            chosen.append(number)
            at, number = at + len(runs[number][1]), 0
            continue
        number += 1
    return ()
