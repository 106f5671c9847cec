"""Several senders, a Lambda, and a company's own sending service."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from console.store import queues
from conversations.sending.worker import SENDER
from conversations.work.lambdas import handle_outbox
from conversations.workers.lease import LAMBDA, LEASE
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, replies, send_all_due, sent_entries, states, write

TEXT = "It is on its way."


@pytest.mark.slow
def test_two_senders_at_once_hand_over_each_once_and_in_order(store, outbox, provider):
    held(store)
    for number in range(20):
        write(ANA, f"line {number}")
    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            list(pool.map(lambda _: send_all_due(), range(2)))
            if len(provider.messages()) == 20:
                break
    assert [each["text"] for each in provider.messages()] == [f"line {number}" for number in range(20)]
    assert set(states(store)) == {"sent"}


def event(url: str) -> dict[str, Any]:
    """What Lambda gets of the outbox queue."""
    records = [
        {
            "messageId": each.name,
            "body": each.body,
            "receiptHandle": each.receipt,
            "attributes": {"SentTimestamp": str(int(each.sent_at.timestamp() * 1000))},
        }
        for each in queues.receive(url, wait=0)
    ]
    return {"Records": records}


def test_a_lambda_sends_and_reports_what_may_not_leave_yet(store, outbox, provider, settings):
    held(store)
    write(ANA, TEXT)
    settings.REPLY_UNDO_SECONDS = 10
    write(ANA, "Later.")
    brought = event(outbox)
    answer = handle_outbox(brought)
    assert [each["itemIdentifier"] for each in answer["batchItemFailures"]] == [brought["Records"][1]["messageId"]]
    assert [each["text"] for each in provider.messages()] == [TEXT]
    assert store.get("CONSOLE", pk=SENDER, sk=LEASE)["mode"] == LAMBDA
    assert handle_outbox({"Records": [{"messageId": "x", "body": "no reply"}]}) == {"batchItemFailures": []}


# --- A company's own sending service ----------------------------------------------------------------------------------


@pytest.fixture
def service(store, outbox, settings) -> str:
    """The company's own service sends; the address of its queue."""
    settings.REPLY_PROVIDERS = {"whatsapp": "outbox-only"}
    made = queues.client().create_queue(QueueName="service.fifo", Attributes={"FifoQueue": "true"})
    settings.SENDING_SERVICE_QUEUE_URL = made["QueueUrl"]
    settings.RECEIPTS_QUEUE_URL = queues.client().create_queue(QueueName="receipts")["QueueUrl"]
    return str(made["QueueUrl"])


def report(settings, told: dict[str, Any] | str, **changes: Any) -> None:
    body = told if isinstance(told, str) else json.dumps(told | changes)
    queues.send(settings.RECEIPTS_QUEUE_URL, body)


@pytest.mark.slow
def test_the_service_gets_a_pointer_and_its_receipts_are_taken_in_whatever_order(store, service, provider, settings):
    held(store)
    row = write(ANA, TEXT)
    send_all_due()
    assert (states(store), provider.messages()) == (["sent"], [])
    [pointer] = [json.loads(each.body) for each in queues.receive(service, wait=0)]
    assert TEXT not in json.dumps(pointer)
    stored = store.get("MESSAGES", **{name: pointer["row"][name] for name in ("conversation", "position")})
    assert stored["content"] == TEXT
    told = {"reply_id": row.message_id, "row": pointer["row"], "state": "delivered"}
    passed = []
    for state in ("sent", "delivered", "delivered", "read", "delivered", "sent"):
        report(settings, told, state=state)
        send_all_due()
        passed += states(store)
    assert passed == ["sent", "delivered", "delivered", "read", "read", "read"]
    assert [each["payload"]["state"] for each in sent_entries(store, "reply.delivery")].count("read") == 1


def test_the_service_needs_no_secret_of_the_company(store, service, settings):
    settings.SECRETS_ENDPOINT = "http://127.0.0.1:9"
    held(store)
    row = write(ANA, TEXT)
    send_all_due()
    assert states(store) == ["sent"]
    [pointer] = [json.loads(each.body) for each in queues.receive(service, wait=0)]
    where = {"table": store.name("MESSAGES"), "conversation": row.conversation, "position": row.position}
    assert (pointer["reply_id"], pointer["row"]) == (row.message_id, where)


def test_a_failure_that_the_service_reports_is_told_without_personal_data(store, service, settings):
    held(store)
    row = write(ANA, TEXT)
    send_all_due()
    told = {"reply_id": row.message_id, "row": {"conversation": row.conversation, "position": row.position}}
    report(settings, told, state="failed", code="550", reason="jo@doe.example is unknown")
    send_all_due()
    [stored] = replies(store)
    assert (stored["state"], stored["error_code"]) == ("failed", "550")
    assert "jo@doe" not in stored["error"] + json.dumps(sent_entries(store, "reply.delivery"))


def test_foreign_and_hostile_receipts_change_nothing(store, service, settings):
    held(store)
    row = write(ANA, TEXT)
    send_all_due()
    where = {"conversation": row.conversation, "position": row.position}
    good = {"reply_id": row.message_id, "row": where, "state": "failed"}
    for bad in (
        "[]",
        "{" * 1000,
        good | {"reply_id": "another"},
        good | {"row": where | {"position": "nowhere"}},
        good | {"state": "vanished"},
        good | {"row": {"conversation": "latest\nx", "position": "latest"}},
        good | {"code": "x" * 100_000},
    ):
        report(settings, bad)
    before = replies(store)
    send_all_due()
    send_all_due()
    assert replies(store) == before
    assert queues.receive(settings.RECEIPTS_QUEUE_URL, wait=0) == []


@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_the_outbox_queue_may_be_anything(store, outbox, provider, seed):
    held(store)
    rng = random.Random(seed)
    for number in range(8):
        body = rng.choice(
            ["x", "{}", "[1]", '{"conversation": 7, "position": "x"}', '{"conversation": "a", "position": "b"}']
        )
        queues.send(outbox, body, group="g", once=f"{seed}-{number}")
    write(ANA, TEXT)
    send_all_due()
    assert states(store) == ["sent"]
    assert queues.receive(outbox, wait=0) == []
