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
    from conversations.indexer.lease import INDEXER
    from conversations.indexer.streams.events import handle_event

    return handle_event(event, INDEXER, handle)
