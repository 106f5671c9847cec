"""SQS: receiving, deleting and sending messages, and the depth of a queue. Raises only the console's errors."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Condition, Event, Thread
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError
from cachetools import LRUCache, cached
from django.conf import settings

from console.errors import StoreUnavailable
from console.store.calls import parallel, submit

logger = logging.getLogger(__name__)

# Limits of SQS: messages per call, and seconds of a long poll.
BATCH = 10
LONGEST_WAIT_SECONDS = 20
# A process that is stuck does not keep its messages for ever.
MOST_PROLONGED = 20


class NotSent(StoreUnavailable):
    """A message was certainly not sent: the queue refused it, or was never reached."""


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message as SQS delivered it. `name` and `sent_at` are the same in each delivery; `receipt` deletes this one."""

    name: str
    body: str
    sent_at: datetime
    receipt: str


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Approximate numbers of messages that wait in a queue, and that are being handled."""

    waiting: int
    in_flight: int


def receive(url: str, *, wait: int = LONGEST_WAIT_SECONDS, batches: int = 1) -> list[QueueMessage]:
    """Return the next messages, after up to `wait` seconds for the first. Raises `StoreUnavailable`.

    Receives at most ten, and if there are ten, up to `batches` batches in all, the others in parallel. Unless they are
    deleted, or kept by `keeping`, SQS delivers them again after `settings.QUEUE_VISIBILITY_SECONDS`.
    """
    found = _received(url, wait)
    if len(found) < BATCH:
        return found
    for more in [submit(_received, url, 0) for _ in range(batches - 1)]:
        # Messages that arrived must not be lost because another batch failed.
        with suppress(StoreUnavailable):
            found += more.result()
    return found


def _received(url: str, wait: int) -> list[QueueMessage]:
    answer = _call(
        "receive_message",
        QueueUrl=url,
        MaxNumberOfMessages=BATCH,
        WaitTimeSeconds=wait,
        AttributeNames=["SentTimestamp"],
        # A short wait is for a worker with other things to do: it does not wait for long if SQS does not answer.
        patient=wait > 1,
        **({"VisibilityTimeout": seconds} if (seconds := settings.QUEUE_VISIBILITY_SECONDS) else {}),
    )
    return [delivery_of(each) for each in answer.get("Messages", ())]


@contextmanager
def keeping(
    url: str, deliveries: Sequence[QueueMessage], *, at_once: bool = False, then: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Keep messages from being delivered again during the block, and no longer than that if the process dies.

    `at_once`: they were received with the queue's own visibility timeout, which may be an hour. `then` is called each
    time that they have been prolonged, from another thread. A failure is only logged: a message may then come twice.
    """
    ended, seconds = Event(), settings.QUEUE_VISIBILITY_SECONDS
    if not seconds or not deliveries:
        yield
        return

    def prolong() -> None:
        for start in range(0, len(deliveries), BATCH):
            entries = [
                {"Id": str(number), "ReceiptHandle": each.receipt, "VisibilityTimeout": seconds}
                for number, each in enumerate(deliveries[start : start + BATCH])
            ]
            with suppress(StoreUnavailable):
                _call("change_message_visibility_batch", QueueUrl=url, Entries=entries)

    def prolong_until_ended() -> None:
        for _ in range(MOST_PROLONGED):
            if ended.wait(seconds / 2):
                return
            prolong()
            then()

    if at_once:
        prolong()
    thread = Thread(target=prolong_until_ended, name="visibility", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def delivery_of(message: dict[str, Any]) -> QueueMessage:
    """Return a message from its description by SQS or in a Lambda event."""
    attributes = message.get("Attributes") or message.get("attributes") or {}
    return QueueMessage(
        name=str(message.get("MessageId") or message.get("messageId") or ""),
        body=str(message.get("Body") or message.get("body") or ""),
        sent_at=datetime.fromtimestamp(int(attributes.get("SentTimestamp", 0)) / 1000, UTC),
        receipt=str(message.get("ReceiptHandle") or message.get("receiptHandle") or ""),
    )


def delete(url: str, deliveries: Sequence[QueueMessage]) -> int:
    """Delete handled messages; return how many SQS did not delete and will deliver again."""
    batches = [deliveries[start : start + BATCH] for start in range(0, len(deliveries), BATCH)]
    return sum(parallel(*(partial(_deleted, url, each) for each in batches)))


def _deleted(url: str, batch: Sequence[QueueMessage]) -> int:
    entries = [{"Id": str(number), "ReceiptHandle": each.receipt} for number, each in enumerate(batch)]
    return len(_call("delete_message_batch", QueueUrl=url, Entries=entries).get("Failed", ()))


def redeliver_after(url: str, delivery: QueueMessage, *, seconds: int) -> None:
    """Make SQS deliver a message again after `seconds`, rather than after the queue's own visibility timeout."""
    _call("change_message_visibility", QueueUrl=url, ReceiptHandle=delivery.receipt, VisibilityTimeout=seconds)


def send(url: str, body: str, *, group: str = "", once: str = "", patient: bool = True) -> None:
    """Send a message to a queue. Raises `NotSent`, and `StoreUnavailable` if it may have arrived all the same.

    A FIFO queue needs both: it keeps the order within a `group`, and drops a repeated `once` for five minutes. Not
    `patient`: one attempt with a short timeout.
    """
    fifo: dict[str, Any] = {"MessageGroupId": group, "MessageDeduplicationId": once} if group else {}
    _call("send_message", patient=patient, QueueUrl=url, MessageBody=body, **fifo)


def depth(url: str) -> QueueDepth:
    """Return the depth of a queue. One attempt with a short timeout: pages wait for it. Raises `StoreUnavailable`."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = _call("get_queue_attributes", patient=False, QueueUrl=url, AttributeNames=names).get("Attributes", {})
    return QueueDepth(*(int(found.get(name, 0)) for name in names))


def _call(operation: str, *, patient: bool = True, **request: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = getattr(client(patient=patient), operation)(**request)
    except (ClientError, BotoCoreError) as error:
        # Without the message, which may quote a body.
        logger.warning("%s on %s failed: %s", operation, queue_name(request["QueueUrl"]), type(error).__name__)
        refused = isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500
        if refused or isinstance(error, EndpointConnectionError | ConnectTimeoutError):
            raise NotSent("The queue could not be reached, or refused the request.") from error
        raise StoreUnavailable("The queue did not answer.") from error
    return answer


def queue_name(url: str) -> str:
    """Return a queue's name, the last part of its URL."""
    return url.rsplit("/", 1)[-1]


def _where(*, patient: bool = True) -> tuple[bool, str, str]:
    return patient, settings.AWS_REGION, settings.SQS_ENDPOINT


@cached(LRUCache(2), _where, condition=Condition())
def client(*, patient: bool = True) -> Any:
    """Return the shared client, created again when region or endpoint change (tests, demo).

    A `patient` client waits as long as a long poll takes, and retries.
    """
    return botocore.session.get_session().create_client(
        "sqs",
        region_name=settings.AWS_REGION,
        endpoint_url=settings.SQS_ENDPOINT or None,
        config=Config(
            connect_timeout=settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS,
            # SQS answers an empty long poll only at its end.
            read_timeout=settings.DYNAMODB_READ_TIMEOUT_SECONDS + (LONGEST_WAIT_SECONDS if patient else 0),
            retries={"mode": "standard", "total_max_attempts": settings.DYNAMODB_MAX_ATTEMPTS if patient else 1},
            max_pool_connections=settings.DYNAMODB_MAX_CONNECTIONS,
            tcp_keepalive=True,
        ),
    )
