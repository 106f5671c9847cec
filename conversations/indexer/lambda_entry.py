"""The indexer as an AWS Lambda on the stream of the conversations table: `conversations.indexer.lambda_handler`.

The event source mapping needs `ReportBatchItemFailures` and both images. It takes the place of `manage.py
index_handoffs`, but for sweeps: run one (`--sweep`) to back-fill, and after failures that outlast the stream.
"""

import logging
import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import django
from django.apps import apps

logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
_beat: list[float] = []


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle the records of an event in order; what could not be is reported, and Lambda sends it and the rest again.

    Only what may succeed later is reported: a record that can never be handled is logged and left to the next sweep.
    """
    if not apps.ready:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
    from conversations.indexer.handling import Did, handle, is_passing
    from conversations.indexer.streams.records import change_of

    done, lag = Counter[Did](), 0.0
    for record in event.get("Records", ()):
        try:
            change = change_of(record)
            done += handle(change)
            lag = max(0.0, time.time() - change.at.timestamp())
        except Exception as error:
            # No message: it may quote a key.
            logger.warning("A record of the stream could not be handled: %s", type(error).__name__)
            done[Did.FAILED] += 1
            if is_passing(error):
                sequence = str(record["dynamodb"]["SequenceNumber"])
                return {"batchItemFailures": [{"itemIdentifier": sequence}]}
    _note(lag, {each.value: done[each] for each in Did})
    return {"batchItemFailures": []}


def _note(lag: float, counts: dict[str, int]) -> None:
    """Tell how it goes, every few seconds at most; that this fails is no reason to send the records again."""
    from console import clock
    from console.errors import ConsoleError
    from conversations.indexer import lease

    if _beat and time.monotonic() - _beat[0] < BEAT_SECONDS:
        return
    _beat[:] = [time.monotonic()]
    try:
        lease.note(beat_at=clock.now(), lag=lag, mode=lease.LAMBDA, counts=counts)
    except ConsoleError as error:
        logger.warning("The heartbeat could not be written: %s", type(error).__name__)
