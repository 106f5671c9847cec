"""How fast the receiver takes in customers' messages, on dynoxide and ElasticMQ.

    python -m tests.bench.receiver [--json] [--messages N]

Puts N messages (20,000) to held conversations into the hand-off queue, two to each, and lets one receiver take them in.
Prints how many a second in the second and in the last tenth of the backlog, and that each is there once. In the first
tenth the two servers compile themselves.
"""

import argparse
import json
import os
import sys
import time
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

BATCH = 10
PARTS = 10


def fill(store: Any, url: str, messages: int) -> None:
    """Held conversations, and the messages of their customers in the queue."""
    from console.store import queues
    from tests.support.conversations.handoff.kit import conversation, held_by

    numbers = [f"+4478{number:08}" for number in range(messages // 2)]
    keys = [{"primary_channel": each, "conversation_id": f"ci-aaa-001#p#1#{each[1:]}"} for each in numbers]
    items = [conversation(**key, recipient_tel=key["primary_channel"], **held_by("ana")) for key in keys]
    store.put_all("CONVERSATIONS", items)
    bodies = [
        json.dumps({"from": key["primary_channel"], "message_sid": f"SM{number}-{turn}", "body": "Hello?", **key})
        for turn in range(2)
        for number, key in enumerate(keys)
    ]
    for start in range(0, len(bodies), BATCH):
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[start : start + BATCH])]
        queues.client().send_message_batch(QueueUrl=url, Entries=entries)


def measure(store: Any, messages: int) -> dict[str, float]:
    """Take in all, and see what is there."""
    from conversations.receiving.worker import Receiver

    receiver, rates = Receiver(), []
    for part in range(1, PARTS + 1):
        began, done = time.perf_counter(), 0
        while sum(receiver.counts.values()) < messages * part // PARTS:
            done += receiver.step(wait=1)
        rates.append(done / (time.perf_counter() - began))
    rows = [row for row in store.all("MESSAGES") if row.get("direction") == "in"]
    return {
        "messages": messages,
        "received": sum(receiver.counts.values()),
        "rows": len(rows),
        "on their items": sum(bool(row["on_item"]) for row in rows),
        "second tenth, a second": rates[1],
        "last tenth, a second": rates[-1],
        "all but the first tenth": (PARTS - 1) / sum(1 / rate for rate in rates[1:]),
    }


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--messages", type=int, default=20_000, help="how many messages wait in the queue")
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.provisioning.definition import create_table_request
    from console.schema.tables import TABLES
    from console.store import queues
    from demo.dynoxide import Dynoxide
    from tests.dynamodb import Store
    from tests.elasticmq import LASTING, ElasticMQ

    with Dynoxide() as server, ElasticMQ(options=LASTING) as elasticmq:
        settings.DYNAMODB_ENDPOINT, settings.SQS_ENDPOINT = server.endpoint, elasticmq.endpoint
        store = Store(server.endpoint)
        # Of the engine's streams, each write takes longer the more there were. Nobody reads them here.
        for key in TABLES:
            store.client.create_table(**create_table_request(key) | {"StreamSpecification": {"StreamEnabled": False}})
        url = queues.client().create_queue(QueueName="handoff", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
        settings.HANDOFF_QUEUE_URL = url
        fill(store, url, options.messages)
        figures = measure(store, options.messages)
    if options.json:
        print(json.dumps({"figures": figures}))
    else:
        print("\n".join(f"{name:<24} {value:>10,.1f}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
