"""The receivers as AWS Lambdas: `lambda_handler` on the hand-off queue, `stage_lambda_handler` on the stage's stream.

Both are in `conversations.receiving`. The event source mapping needs `ReportBatchItemFailures`. Also run `manage.py
receive_messages --once` from time to time: it finishes the work of a Lambda that died.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from console.startup import start


@cache
def _holding() -> Any:
    """Return what this process notes about its messages."""
    from conversations.receiving.holding import Holding

    return Holding()


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle an event's messages; report the failed ones, so that SQS soon delivers them again."""
    start()
    from console.errors import ConsoleError
    from console.store.queues import delivery_of
    from conversations.receiving.recording import QUEUE
    from conversations.receiving.worker import bring_soon, handle_kept
    from conversations.workers.streams.events import note_beat

    deliveries = [delivery_of(record) for record in event.get("Records", ())]
    finished = set(handle_kept(deliveries, Counter(), _holding(), at_once=True))
    left = [each for each in deliveries if each not in finished]
    with suppress(ConsoleError):
        bring_soon(left)
    note_beat(QUEUE)
    return {"batchItemFailures": [{"itemIdentifier": each.name} for each in left]}


def stage_lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle staged messages in order; report a failure that may pass, so that Lambda resends it and the rest."""
    start()
    from conversations.receiving.recording import STAGE
    from conversations.receiving.stage import keep, take_fragment
    from conversations.workers.streams.events import handle_event

    return handle_event(event, STAGE, take_fragment, keep)
