"""Writing all facts anew: for what was there before Insight was, and after the way they are made has changed.

Walks over the tables, for the command only, and may run beside the indexer, be broken off and be run again: it writes
facts as the indexer does.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

from console.schema.tables import table_name
from console.store.calls import submit
from console.store.connection import call
from conversations.handoff.effects import Raw
from conversations.indexer.handling import Did, is_passing
from conversations.insight.episodes import READ
from conversations.insight.facts import FactKind, changed_days
from conversations.insight.rolling import Rolled, roll
from conversations.insight.walking import walk_all
from conversations.insight.writing import note

logger = logging.getLogger(__name__)

PAGE, AT_ONCE = 100, 8
READ_ITEMS, WRITTEN, FAILED = "read", "written", "failed"


def rebuild_conversations() -> Iterator[Counter[str]]:
    """Write the facts of every conversation, a page of the table at a time. Raises the store's errors for a page."""
    names = {f"#a{number}": name for number, name in enumerate(READ)}
    request: dict[str, Any] = {
        "TableName": table_name("CONVERSATIONS"),
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names,
        "Limit": PAGE,
    }
    while True:
        answer = call("Scan", **request)
        items, done = answer.get("Items", []), Counter[str]()
        for start in range(0, len(items), AT_ONCE):
            for future in [submit(_noted, each) for each in items[start : start + AT_ONCE]]:
                done += future.result()
        yield done
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last


def _noted(stored: Raw) -> Counter[str]:
    try:
        return +Counter({READ_ITEMS: 1, WRITTEN: int(note(stored))})
    except Exception as error:
        if is_passing(error):
            raise
        # Whatever is wrong with one item must not keep the others. No message: it may quote a key.
        logger.warning("The facts of a conversation could not be written: %s", type(error).__name__)
        return Counter({READ_ITEMS: 1, FAILED: 1})


def rebuild_store(kind: FactKind) -> Iterator[Counter[str]]:
    """Write the facts of another store, a page at a time. Raises the store's errors for a page."""
    for done in walk_all(kind):
        yield Counter({READ_ITEMS: done[Did.READ], WRITTEN: done[Did.COUNTED], FAILED: done[Did.FAILED]})


def roll_all() -> Iterator[Rolled]:
    """Sum up every day that has changed, at once."""
    for changed in changed_days():
        yield roll(changed.day)
