"""SQS: receiving, deleting and sending messages, and how a queue is. Raises the console's errors only."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError
from django.conf import settings

from console.errors import StoreUnavailable
from console.store.calls import parallel, submit

logger = logging.getLogger(__name__)

# SQS's own limits: messages of one call, and the longest that it waits for the first one.
BATCH = 10
LONGEST_WAIT_SECONDS = 20
_lock = threading.Lock()
_made: dict[bool, tuple[tuple[str, str], Any]] = {}


class NotSent(StoreUnavailable):
    """The queue has certainly not taken a message: it refused it, or was never reached."""


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message as SQS delivered it. `name` and `sent_at` stay the same each time; `receipt` deletes this delivery."""

    name: str
    body: str
    sent_at: datetime
    receipt: str


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many messages wait in a queue, and how many are being handled, about."""

    waiting: int
    in_flight: int


def receive(url: str, *, wait: int = LONGEST_WAIT_SECONDS, batches: int = 1) -> list[QueueMessage]:
    """The next messages, after up to `wait` seconds for the first. Raises `StoreUnavailable`.

    Ten at most, and where there are ten, up to so many `batches`, beside each other.
    """
    found = _received(url, wait)
    if len(found) < BATCH:
        return found
    for more in [submit(_received, url, 0) for _ in range(batches - 1)]:
        # What did come must not wait for what did not.
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
    )
    return [delivery_of(each) for each in answer.get("Messages", ())]


def delivery_of(message: dict[str, Any]) -> QueueMessage:
    """A message as SQS, or Lambda's event, describes it."""
    attributes = message.get("Attributes") or message.get("attributes") or {}
    return QueueMessage(
        name=str(message.get("MessageId") or message.get("messageId") or ""),
        body=str(message.get("Body") or message.get("body") or ""),
        sent_at=datetime.fromtimestamp(int(attributes.get("SentTimestamp", 0)) / 1000, UTC),
        receipt=str(message.get("ReceiptHandle") or message.get("receiptHandle") or ""),
    )


def delete(url: str, deliveries: Sequence[QueueMessage]) -> int:
    """Delete messages that are dealt with; how many SQS did not delete and will bring again."""
    batches = [deliveries[start : start + BATCH] for start in range(0, len(deliveries), BATCH)]
    return sum(parallel(*(partial(_deleted, url, each) for each in batches)))


def _deleted(url: str, batch: Sequence[QueueMessage]) -> int:
    entries = [{"Id": str(number), "ReceiptHandle": each.receipt} for number, each in enumerate(batch)]
    return len(_call("delete_message_batch", QueueUrl=url, Entries=entries).get("Failed", ()))


def bring_again(url: str, delivery: QueueMessage, *, seconds: int) -> None:
    """Let SQS bring a message again after so many seconds, rather than after the queue's own hour."""
    _call("change_message_visibility", QueueUrl=url, ReceiptHandle=delivery.receipt, VisibilityTimeout=seconds)


def send(url: str, body: str, *, group: str = "", once: str = "") -> None:
    """Put a message into a queue. Raises `NotSent`, and `StoreUnavailable` where it may have arrived all the same.

    A FIFO queue needs both: it keeps the order within a `group`, and takes the same `once` one time in five minutes.
    """
    fifo: dict[str, Any] = {"MessageGroupId": group, "MessageDeduplicationId": once} if group else {}
    _call("send_message", QueueUrl=url, MessageBody=body, **fifo)


def depth(url: str) -> QueueDepth:
    """How full a queue is, asked once and not for long: pages wait for it. Raises `StoreUnavailable`."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = _call("get_queue_attributes", patient=False, QueueUrl=url, AttributeNames=names).get("Attributes", {})
    return QueueDepth(*(int(found.get(name, 0)) for name in names))


def _call(operation: str, *, patient: bool = True, **request: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = getattr(client(patient=patient), operation)(**request)
    except (ClientError, BotoCoreError) as error:
        # No message: it may quote a body.
        logger.warning("%s on a queue failed: %s", operation, type(error).__name__)
        refused = isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500
        if refused or isinstance(error, EndpointConnectionError | ConnectTimeoutError):
            raise NotSent("The queue could not be reached or refused it, so nothing was sent.") from error
        raise StoreUnavailable("The queue did not answer.") from error
    return answer


def client(*, patient: bool = True) -> Any:
    """The shared client, made anew when region or endpoint changed (tests, demo).

    `patient`: it waits for as long as a queue's long poll takes, and tries again.
    """
    wanted = (settings.AWS_REGION, settings.SQS_ENDPOINT)
    with _lock:
        made = _made.get(patient)
        if made is None or made[0] != wanted:
            session = botocore.session.get_session()
            new = session.create_client(
                "sqs",
                region_name=settings.AWS_REGION,
                endpoint_url=settings.SQS_ENDPOINT or None,
                config=Config(
                    connect_timeout=settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS,
                    # SQS answers a long poll when its time is up.
                    read_timeout=settings.DYNAMODB_READ_TIMEOUT_SECONDS + (LONGEST_WAIT_SECONDS if patient else 0),
                    retries={
                        "mode": "standard",
                        "total_max_attempts": settings.DYNAMODB_MAX_ATTEMPTS if patient else 1,
                    },
                    max_pool_connections=settings.DYNAMODB_MAX_CONNECTIONS,
                    tcp_keepalive=True,
                ),
            )
            made = _made[patient] = (wanted, new)
        return made[1]
