"""Writing all facts again: for items that are older than Insight, and after a change in how facts are made.

Used by the management command only. It scans the tables, and may run alongside the indexer, be interrupted and be run
again: it writes facts in the same way as the indexer.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from conversations.handoff.stored import Raw
from conversations.insight.episodes import READ
from conversations.insight.facts import changed_days
from conversations.insight.rolling import Rolled, roll
from conversations.insight.walking import RetryPolicy, no_retry, read_page, write_all
from conversations.insight.writing import note
from conversations.workers.counts import WorkCounts, WorkOutcome


def rebuild_conversations(trying: RetryPolicy = no_retry) -> Iterator[WorkCounts]:
    """Write the facts of every conversation, one page of the table at a time. Raises the store's errors for a page."""
    start: Raw | None = None
    while True:
        items, start = trying(partial(read_page, "CONVERSATIONS", READ, start))
        yield Counter({WorkOutcome.READ: len(items)}) + trying(partial(_kept, items))
        if start is None:
            return


def _kept(items: list[Raw]) -> WorkCounts:
    return sum(write_all([("conversation", partial(note, each)) for each in items]), Counter())


def roll_all() -> Iterator[Rolled]:
    """Sum up every changed day now; yield each result."""
    for changed in changed_days():
        yield roll(changed.day)
