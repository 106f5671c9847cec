"""What a reply costs, on dynoxide, ElasticMQ and the demo's provider.

    python -m tests.bench.sender [--json] [--replies N]

Posts replies by the form of the page (in this process), each in turn with the bare calls that it makes, and prints
medians and their ratio. Then N replies (3,000) in 100 conversations of ten numbers wait in the outbox, and one sender
hands them over: how many a second, in the second and in the last fifth, that each arrived once, and in order.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
import uuid
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

CONVERSATIONS, NUMBERS, PARTS, POSTED = 100, 10, 5, 60


class Provider:
    """The demo's provider in a process of its own, so that it takes no time of the sender's."""

    def __init__(self) -> None:
        self._ours, theirs = multiprocessing.get_context("spawn").Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_provide, args=(theirs,), daemon=True)

    def __enter__(self) -> "Provider":
        self._process.start()
        self.endpoint: str = self._ours.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()

    def count(self) -> int:
        """How many messages it has."""
        self._ours.send("count")
        return int(self._ours.recv())

    def texts(self) -> list[tuple[str, str]]:
        """Recipient and text of each, oldest first."""
        self._ours.send("texts")
        found: list[tuple[str, str]] = self._ours.recv()
        return found


def _provide(pipe: Any) -> None:
    import django

    django.setup()
    from demo.provider import DemoProvider

    with DemoProvider() as provider:
        pipe.send(provider.endpoint)
        while True:
            if pipe.recv() == "count":
                pipe.send(len(provider.messages()))
            else:
                pipe.send([(each["to"], each["text"]) for each in provider.messages()])


def fill(store: Any) -> list[tuple[str, str]]:
    """Held conversations of ten numbers; their keys."""
    from tests.support.conversations.handoff.kit import conversation, held_by
    from tests.support.conversations.replies import SECRET, said

    keys, items = [], []
    for number in range(CONVERSATIONS):
        ours = {"company_whatsapp_number": f"+44113496{number % NUMBERS:04}", "whatsapp_credentials_id": SECRET}
        key = {"primary_channel": f"+447700{number:06}", "conversation_id": f"ci-aaa-001#p#{number}#1"}
        more = {"recipient_tel": key["primary_channel"], "channel_config": {"whatsapp": ours}}
        items.append(conversation(**key, **more, messages=[said()], **held_by("amira.haddad")))
        keys.append((key["primary_channel"], key["conversation_id"]))
    store.put_all("CONVERSATIONS", items)
    return keys


def measure_posting(store: Any, url: str, key: tuple[str, str]) -> dict[str, float]:
    """The form of a reply, and its bare calls, in turn."""
    from django.urls import reverse

    from console.store import connection, queues
    from console.store.calls import ConditionFailed
    from conversations.converting import reference_of
    from conversations.sending.replies import seal_form
    from tests.people import as_staff, member, signed_in

    account = member()
    client, staff = signed_in(account), as_staff(account)
    address = reverse("conversation-reply", args=[reference_of(*key)])
    posted, bare = [], []
    for number in range(POSTED):
        form = {"reply": seal_form(*key, staff), "text": f"reply {number}"}
        with store.calls() as seen:
            began = time.perf_counter()
            answer = client.post(address, form, HTTP_HX_REQUEST="true")
            posted.append(time.perf_counter() - began)
        assert answer.status_code == 200, answer.content
        [put] = [each.request for each in seen if each.operation == "TransactWriteItems"]
        reply_id = put["TransactItems"][1]["Put"]["Item"]["message_id"]["S"]
        other = uuid.uuid4().hex
        calls = [(each.operation, json.loads(json.dumps(each.request).replace(reply_id, other))) for each in seen]
        began = time.perf_counter()
        for operation, request in calls:
            request.pop("ClientRequestToken", None)
            # Who has just sent another is counted by a second write, where the first one's condition fails.
            with suppress(ConditionFailed):
                connection.call(operation, **request)
        queues.send(url, json.dumps({"conversation": "bare", "position": other}), group="bare", once=other)
        bare.append(time.perf_counter() - began)
    taken, alone = (statistics.median(each) * 1000 for each in (posted, bare))
    return {"a reply posted, ms": taken, "its bare calls, ms": alone, "ratio": taken / alone, "calls": len(calls) + 1.0}


def measure_sending(keys: list[tuple[str, str]], provider: Any, replies: int) -> dict[str, float]:
    """Accept that many, then let one sender hand them over."""
    from concurrent.futures import ThreadPoolExecutor

    from conversations.sending.replies import accept, seal_form, unseal_form
    from conversations.sending.worker import AT_ONCE, Sender
    from tests.people import as_staff, member

    staff = as_staff(member())
    for number in range(replies):
        form = unseal_form(seal_form(*keys[number % len(keys)], staff), staff)
        accept(form, staff, f"line {number}")
    sender, rates, began_with = Sender(), [], provider.count()
    with ThreadPoolExecutor(AT_ONCE) as sender.pool:
        for part in range(1, PARTS + 1):
            began, before = time.perf_counter(), provider.count()
            while (done := provider.count()) - began_with < replies * part // PARTS:
                sender.step(wait=1)
            rates.append((done - before) / (time.perf_counter() - began))
    sent = [each for each in provider.texts() if each[1].startswith("line")]
    ordered = all(
        lines == sorted(lines)
        for recipient, _ in keys
        for lines in [[int(text.split()[1]) for to, text in sent if to.endswith(recipient)]]
    )
    return {
        "replies": replies,
        "handed over": len(sent),
        "each once": float(len(set(sent)) == replies == len(sent)),
        "in order": float(ordered),
        "second fifth, a second": rates[1],
        "last fifth, a second": rates[-1],
    }


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--replies", type=int, default=3_000, help="how many replies wait in the outbox")
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.store import queues
    from conversations.providers import credentials
    from demo.dynoxide import Dynoxide
    from demo.embedded import EmbeddedDynamoDB
    from tests.dynamodb import Store
    from tests.elasticmq import LASTING, ElasticMQ
    from tests.support.conversations.replies import SECRETS

    with (
        Dynoxide() as server,
        ElasticMQ(options=LASTING) as elasticmq,
        EmbeddedDynamoDB() as secrets,
        Provider() as provider,
    ):
        settings.DYNAMODB_ENDPOINT, settings.SQS_ENDPOINT = server.endpoint, elasticmq.endpoint
        settings.SECRETS_ENDPOINT, settings.TWILIO_API_URL = secrets.endpoint, provider.endpoint
        settings.REPLY_UNDO_SECONDS, settings.REPLIES_PER_MINUTE, settings.REPLIES_PER_SECOND = 0, 10**6, 10**6
        for name, content in SECRETS.items():
            credentials.client().create_secret(Name=name, SecretString=json.dumps(content))
        store = Store(server.endpoint)
        store.create_tables()
        attributes = {"FifoQueue": "true", "VisibilityTimeout": "60"}
        settings.OUTBOX_QUEUE_URL = queues.client().create_queue(QueueName="outbox.fifo", Attributes=attributes)[
            "QueueUrl"
        ]
        keys = fill(store)
        figures = measure_posting(store, settings.OUTBOX_QUEUE_URL, keys[0])
        # What was posted is not what is measured next.
        queues.client().purge_queue(QueueUrl=settings.OUTBOX_QUEUE_URL)
        for row in store.all("MESSAGES"):
            store.delete("MESSAGES", conversation=row["conversation"], position=row["position"])
        figures |= measure_sending(keys[1:], provider, options.replies)
    if options.json:
        print(json.dumps({"figures": figures}))
    else:
        print("\n".join(f"{name:<24} {value:>10,.2f}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
