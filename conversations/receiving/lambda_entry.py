"""The receivers as AWS Lambdas: `lambda_handler` on the hand-off queue, `stage_lambda_handler` on the stage's stream.

Both are in `conversations.receiving`. The event source mapping needs `ReportBatchItemFailures`. Also run `manage.py
receive_messages --once` from time to time: it finishes the work of a Lambda that died.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from console.startup import start


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle an event's messages; report the failed ones, so that SQS soon delivers them again."""
    start()
    from console.errors import ConsoleError
    from console.store.queues import delivery_of
    from conversations.indexer.streams.events import note_beat
    from conversations.receiving.worker import QUEUE, bring_soon, handle_all

    deliveries = [delivery_of(record) for record in event.get("Records", ())]
    finished = set(handle_all(deliveries, QUEUE, Counter()))
    left = [each for each in deliveries if each not in finished]
    with suppress(ConsoleError):
        bring_soon(left)
    note_beat(QUEUE)
    return {"batchItemFailures": [{"itemIdentifier": each.name} for each in left]}


def stage_lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle staged messages in order; report a failure that may pass, so that Lambda resends it and the rest."""
    start()
    from conversations.indexer.streams.events import handle_event
    from conversations.receiving.stage import STAGE, keep, take_fragment

    return handle_event(event, STAGE, take_fragment, keep)
