"""A scan of the whole table, page by page. Only for the command and the worker: it reads every item."""

import logging
from collections import Counter
from typing import Any

from console.store.calls import table_name
from console.store.connection import call
from conversations.indexer.handling import WorkCounts, WorkOutcome, handle_item
from conversations.indexer.writing import READ
from conversations.insight.writing import note_seen

logger = logging.getLogger(__name__)

# Items per read; DynamoDB ends a page at 1 MB anyway. The worker does its other work between two reads.
PAGE = 200


class Sweep:
    """One scan. `is_over`: all of the table was read; `counts` includes failures.

    `keeps_facts`: also update Insight's facts, which takes much longer than the queue's attributes.
    """

    def __init__(self, *, keeps_facts: bool = True) -> None:
        self.keeps_facts = keeps_facts
        self.counts: WorkCounts = Counter()
        self.is_over = False
        self._start: dict[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything was read and nothing failed: only then does the index contain everything that waits."""
        return self.is_over and not self.counts[WorkOutcome.FAILED]

    def step(self) -> WorkCounts:
        """Read and repair one page. A failing item is counted; raises the store's errors for the page itself."""
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
        self._start = answer.get("LastEvaluatedKey")
        self.is_over = not self._start
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
