"""Stream records from a Lambda event, handled in order, with a heartbeat from time to time."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from console import clock
from console.errors import ConsoleError
from conversations.handoff.stored import Raw
from conversations.workers import lease
from conversations.workers.counts import WorkCounts, WorkOutcome, is_kept, is_transient
from conversations.workers.streams.records import StreamChange, change_of

logger = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
# When each work last wrote its heartbeat (monotonic).
_beat: dict[str, float] = {}


def handle_event(
    event: Mapping[str, Any],
    work: str,
    handle: Callable[[StreamChange], WorkCounts],
    keep: Callable[[Raw], None] = lambda _: None,
    settle: Callable[[], None] = lambda: None,
) -> dict[str, list[dict[str, str]]]:
    """Handle an event's records in order; report the first failure, so that Lambda sends it and the rest again.

    Only a failure that a retry may fix is reported: a record that can never be handled is logged and passed to `keep`.
    `settle` does what remains after the records; if it raises one of the store's errors, Lambda sends them all again.
    """
    failed = _handle_records(event, work, handle, keep)
    try:
        settle()
    except ConsoleError as error:
        logger.warning("The records of the stream could not be settled: %s", type(error).__name__)
        failed = _sequence_of(event["Records"][0])
    return {"batchItemFailures": [{"itemIdentifier": failed}] if failed else []}


def _sequence_of(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"]["SequenceNumber"])


def _handle_records(
    event: Mapping[str, Any],
    work: str,
    handle: Callable[[StreamChange], WorkCounts],
    keep: Callable[[Raw], None],
) -> str:
    """Handle records until one must be sent again; return its sequence number, or "" for none."""
    done, lag = Counter[str](), 0.0
    for record in event.get("Records", ()):
        try:
            change = change_of(record)
            done += handle(change)
            lag = max(0.0, time.time() - change.at.timestamp())
        except Exception as error:
            # No message: it may quote a key.
            logger.warning("A record of the stream could not be handled: %s", type(error).__name__)
            done[WorkOutcome.FAILED] += 1
            if is_transient(error) or not is_kept(record, keep):
                return _sequence_of(record)
    note_beat(work, lag=lag, counts={each.value: done[each] for each in WorkOutcome})
    return ""


def note_beat(work: str, **details: Any) -> None:
    """Note that a Lambda ran, at most every few seconds. A failure is only logged: it must not resend a batch."""
    if time.monotonic() - _beat.get(work, -BEAT_SECONDS) < BEAT_SECONDS:
        return
    _beat[work] = time.monotonic()
    try:
        lease.write_heartbeat(work, beat_at=clock.now(), mode=lease.LAMBDA, **details)
    except ConsoleError as error:
        logger.warning("The heartbeat could not be written: %s", type(error).__name__)
