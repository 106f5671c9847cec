"""The sender as an AWS Lambda on the outbox queue: `conversations.sending.lambda_handler`.

The event source mapping needs `ReportBatchItemFailures`. Also run `manage.py send_replies --once` every few seconds: it
settles unfinished replies, and asks for the delivery of sent ones.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from console.startup import start


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Send an event's replies; report those that may not leave yet, so that SQS delivers them again."""
    start()
    from django.conf import settings

    from console import clock
    from console.errors import ConsoleError
    from console.store import queues
    from conversations.sending.rates import Rates
    from conversations.sending.worker import SENDER, bring_later, send_all
    from conversations.workers.lease import LAMBDA, write_heartbeat

    brought = [queues.delivery_of(record) for record in event.get("Records", ())]
    kept = queues.keeping(settings.OUTBOX_QUEUE_URL, brought, at_once=True)
    with kept, ThreadPoolExecutor(max(1, len(brought))) as pool:
        _, later = send_all(brought, Rates(), pool)
    bring_later(later)
    with suppress(ConsoleError):
        write_heartbeat(SENDER, beat_at=clock.now(), mode=LAMBDA)
    return {"batchItemFailures": [{"itemIdentifier": each.name} for each, _ in later]}
