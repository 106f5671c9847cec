"""A scan of the whole table, page by page. Only for the command and the worker: it reads every item."""

import logging
from collections import Counter
from typing import Any

from console.caching import RecentKeys
from console.errors import TableMissing
from console.store.calls import table_name
from console.store.connection import call
from conversations.handoff.stored import QUEUE, text, text_in
from conversations.indexer.handling import handle_item, remove_what_is_left
from conversations.insight.writing import note_seen
from conversations.messages.older_messages import OLDER_PARTITION
from conversations.outbox.rows import LATEST
from conversations.queue_index.refreshing import fill_partitions
from conversations.queue_index.writing import READ
from conversations.workers.counts import WorkCounts, WorkOutcome

logger = logging.getLogger(__name__)

# What deleted conversations left is looked for once a day: the stream tells of them, unless its records were missed.
_cleared = RecentKeys(86_400)
# Items per read; DynamoDB ends a page at 1 MB anyway. The worker does its other work between two reads.
PAGE = 200
# Of a partition's name: what it is for, the conversation's id, and the primary channel.
KEY_PARTS = 3


class Sweep:
    """One scan. `is_over`: all of the table was read; `counts` includes failures.

    `keeps_facts`: also update Insight's facts, which takes much longer than the queue's attributes, and once a day
    remove the messages of conversations that are gone.
    """

    def __init__(self, *, keeps_facts: bool = True) -> None:
        self.keeps_facts = keeps_facts
        self.counts: WorkCounts = Counter()
        self.is_over = False
        self._start: dict[str, Any] | None = None
        self._is_read = self._is_filled = False
        self._clears = keeps_facts and table_name("MESSAGES") not in _cleared
        self._seen: set[str] = set()

    @property
    def is_complete(self) -> bool:
        """Whether everything was read and nothing failed: only then does the index contain everything that waits."""
        return self.is_over and not self.counts[WorkOutcome.FAILED]

    def step(self) -> WorkCounts:
        """Read and repair one page; after the last one, refresh the rows of the queue's partitions, then clear up.

        A failing item is counted; raises the store's errors for the page itself, for the rows, and for what is left.
        """
        done = WorkCounts()
        if not self._is_read:
            done = self._read()
        elif self._clears:
            self._clear()
        if self._is_read and not self._is_filled:
            fill_partitions(self._seen)
            self._is_filled = True
        self.is_over = self._is_filled and not self._clears
        return done

    def _clear(self) -> None:
        """Remove what is left of conversations that are gone, from one page of the console's own messages.

        Only the partitions of latest and of moved messages name a conversation without a doubt.
        """
        request: dict[str, Any] = {
            "TableName": table_name("MESSAGES"),
            "FilterExpression": "begins_with(conversation, :latest) OR begins_with(conversation, :older)",
            "ExpressionAttributeValues": {":latest": text(f"{LATEST}\n"), ":older": text(f"{OLDER_PARTITION}\n")},
            "ProjectionExpression": "conversation",
        }
        if self._start:
            request["ExclusiveStartKey"] = self._start
        try:
            answer = call("Scan", **request)
        except TableMissing:
            answer = {}
        partitions = dict.fromkeys(row["conversation"]["S"] for row in answer.get("Items", []))
        for parts in (each.split("\n") for each in partitions):
            if len(parts) == KEY_PARTS:
                remove_what_is_left({"conversation_id": text(parts[1]), "primary_channel": text(parts[2])})
        self._start = answer.get("LastEvaluatedKey")
        if not self._start:
            _cleared.add(table_name("MESSAGES"))
            self._clears = False

    def _read(self) -> WorkCounts:
        names = {f"#a{number}": name for number, name in enumerate(READ)}
        request: dict[str, Any] = {
            "TableName": table_name("CONVERSATIONS"),
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
            "Limit": PAGE,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self._start:
            request["ExclusiveStartKey"] = self._start
        answer = call("Scan", **request)
        done: WorkCounts = Counter()
        for stored in answer.get("Items", []):
            done += self._handled(stored)
            if partition := text_in(stored, QUEUE):
                self._seen.add(partition)
        self._start = answer.get("LastEvaluatedKey")
        self._is_read = not self._start
        self.counts += done
        return done

    def _handled(self, stored: dict[str, Any]) -> WorkCounts:
        try:
            done = handle_item(stored)
            if self.keeps_facts:
                done[WorkOutcome.COUNTED] += note_seen(stored)
        except Exception as error:
            # One bad item must not keep the others out of the queue. No message: it may quote a key.
            logger.warning("An item could not be indexed by the sweep: %s", type(error).__name__)
            return Counter({WorkOutcome.READ: 1, WorkOutcome.FAILED: 1})
        return done
