"""The receiver as an AWS Lambda on the hand-off queue: `conversations.receiving.lambda_handler`.

The event source mapping needs `ReportBatchItemFailures`. Run `manage.py receive_messages --once` now and then beside
it: it finishes what a Lambda that died left undone.
"""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import django
from django.apps import apps


def lambda_handler(event: Mapping[str, Any], context: object = None) -> dict[str, list[dict[str, str]]]:
    """Handle the messages of an event; those that could not be are reported, and SQS brings them again."""
    if not apps.ready:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
    from console.store.queues import delivery_of
    from conversations.receiving.worker import QUEUE, handle_all

    deliveries = [delivery_of(record) for record in event.get("Records", ())]
    finished = handle_all(deliveries, QUEUE, Counter())
    failed = [{"itemIdentifier": each.name} for each in deliveries if each not in finished]
    return {"batchItemFailures": failed}
