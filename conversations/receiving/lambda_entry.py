"""The receivers as AWS Lambdas: `lambda_handler` on the hand-off queue, `stage_lambda_handler` on the stage's stream.

Both in `conversations.receiving`. The event source mapping needs `ReportBatchItemFailures`. Run `manage.py
receive_messages --once` now and then beside them: it finishes what a Lambda that died left undone.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from console.startup import start


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle the messages of an event; those that could not be are reported, and SQS soon brings them again."""
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
    """Handle what was staged, in order; what may succeed later is reported, and Lambda sends it and the rest again."""
    start()
    from conversations.indexer.streams.events import handle_event
    from conversations.receiving.stage import STAGE, keep, take_fragment

    return handle_event(event, STAGE, take_fragment, keep)
