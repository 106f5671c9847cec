"""Records of a stream as a Lambda's event brings them: handled in order, and how that goes told now and then."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from console import clock
from console.errors import ConsoleError
from conversations.handoff.stored import Raw
from conversations.indexer import lease
from conversations.indexer.handling import Did, WorkCounts, is_passing
from conversations.indexer.streams.records import StreamChange, change_of

logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
# When each work last told how it goes (monotonic).
_beat: dict[str, float] = {}


def handle_event(
    event: Mapping[str, Any],
    work: str,
    handle: Callable[[StreamChange], WorkCounts],
    keep: Callable[[Raw], None] = lambda _: None,
) -> dict[str, list[dict[str, str]]]:
    """Handle the records of an event in order; what could not be is reported, and Lambda sends it and the rest again.

    Only what may succeed later is reported: a record that can never be handled is logged and given to `keep`.
    """
    done, lag = Counter[str](), 0.0
    for record in event.get("Records", ()):
        try:
            change = change_of(record)
            done += handle(change)
            lag = max(0.0, time.time() - change.at.timestamp())
        except Exception as error:
            # No message: it may quote a key.
            logger.warning("A record of the stream could not be handled: %s", type(error).__name__)
            done[Did.FAILED] += 1
            if is_passing(error) or not _is_kept(record, keep):
                sequence = str(record["dynamodb"]["SequenceNumber"])
                return {"batchItemFailures": [{"itemIdentifier": sequence}]}
    note_beat(work, lag=lag, counts={each.value: done[each] for each in Did})
    return {"batchItemFailures": []}


def _is_kept(record: Raw, keep: Callable[[Raw], None]) -> bool:
    try:
        keep(record)
    except ConsoleError as error:
        return not is_passing(error)
    return True


def note_beat(work: str, **details: Any) -> None:
    """Tell that a Lambda ran, every few seconds at most; that this fails is no reason to bring anything again."""
    if time.monotonic() - _beat.get(work, -BEAT_SECONDS) < BEAT_SECONDS:
        return
    _beat[work] = time.monotonic()
    try:
        lease.note(work, beat_at=clock.now(), mode=lease.LAMBDA, **details)
    except ConsoleError as error:
        logger.warning("The heartbeat could not be written: %s", type(error).__name__)
