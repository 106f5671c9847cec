"""The indexer as an AWS Lambda on the stream of the conversations table: `conversations.indexer.lambda_handler`.

The event source mapping needs `ReportBatchItemFailures` and both images. It replaces `manage.py index_handoffs`, except
for sweeps: run one (`--sweep`) to back-fill, and after failures that outlast the stream.
"""

from collections.abc import Mapping
from typing import Any

from console.startup import start


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle an event's records, see `streams.events`; a record that can never be handled is left to the next sweep."""
    start()
    from conversations.indexer.handling import handle
    from conversations.queue_index.refreshing import TouchedPartitions
    from conversations.workers.counts import WorkCounts
    from conversations.workers.lease import INDEXER
    from conversations.workers.streams.events import handle_event
    from conversations.workers.streams.records import StreamChange

    touched = TouchedPartitions()

    def note_and_handle(change: StreamChange) -> WorkCounts:
        touched.note(change)
        return handle(change)

    return handle_event(event, INDEXER, note_and_handle, settle=touched.refresh)
