"""Notifications to Amazon SNS topics, and as emails by Amazon SES."""

from collections.abc import Callable, Sequence
from threading import Condition
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from cachetools import LRUCache, cached
from django.conf import settings

from console import clock
from conversations.notifications.addresses import region_of
from conversations.notifications.deliveries import NotDelivered, NotificationDelivery
from conversations.notifications.destinations import Destination
from conversations.notifications.notification import NotificationType

MOST_LINES = 20


def _where(service: str, region: str) -> tuple[str, ...]:
    return service, region, settings.NOTIFICATIONS_ENDPOINT


# Topics may be in any region.
@cached(LRUCache(64), _where, condition=Condition())
def _client(service: str, region: str) -> Any:
    """Return the shared client of a service in a region, created again if the endpoint changed (tests, demo)."""
    return botocore.session.get_session().create_client(
        service,
        region_name=region,
        endpoint_url=settings.NOTIFICATIONS_ENDPOINT or None,
        config=Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 1}),
    )


def _ask_aws(call: Callable[..., Any], name: str, **request: Any) -> None:
    try:
        call(**request)
    except ClientError as error:
        raise NotDelivered(f"{name} refused it ({error.response['Error']['Code']}).") from None
    except (BotoCoreError, ResponseParserError):
        raise NotDelivered(f"{name} could not be reached.") from None


def send_to_topic(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Publish one delivery, once and in order where the topic is a FIFO topic. Raises `NotDelivered`."""
    [delivery] = deliveries
    topic = destination.values.address
    fifo = {"MessageGroupId": destination.id, "MessageDeduplicationId": delivery.notification_id}
    _ask_aws(
        _client("sns", region_of(topic)).publish,
        "Amazon SNS",
        TopicArn=topic,
        Message=delivery.body,
        MessageAttributes={
            "id": {"DataType": "String", "StringValue": delivery.notification_id},
            "type": {"DataType": "String", "StringValue": delivery.type},
        },
        **(fifo if topic.endswith(".fifo") else {}),
    )


def send_email(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Send one email about all of the deliveries. Raises `NotDelivered`."""
    subject, text = compose(deliveries)
    _ask_aws(
        _client("sesv2", settings.AWS_REGION).send_email,
        "Amazon SES",
        FromEmailAddress=settings.NOTIFICATIONS_FROM_EMAIL,
        Destination={"ToAddresses": [destination.values.address]},
        Content={"Simple": {"Subject": {"Data": subject}, "Body": {"Text": {"Data": text}}}},
    )


def compose(deliveries: Sequence[NotificationDelivery]) -> tuple[str, str]:
    """Return the subject and text of one email about these deliveries."""
    first = deliveries[0]
    subject = first.label if len(deliveries) == 1 else f"{len(deliveries)} notifications from the Conversation Console"
    lines = [line for each in deliveries[:MOST_LINES] for line in (*_lines_of(each), "")]
    if (more := len(deliveries) - MOST_LINES) > 0:
        lines.append(f"And {more} more.")
    return subject, "\n".join(lines)


def _lines_of(delivery: NotificationDelivery) -> list[str]:
    data = delivery.data
    known = delivery.type in set(NotificationType)
    where = data.get("company_name") or data.get("company_id") or ""
    when = clock.parse_instant(delivery.payload.get("timestamp"))
    facts = [str(each) for each in (where, data.get("channel")) if each]
    if when is not None:
        facts.append(f"{when:%Y-%m-%d %H:%M} UTC")
    lines = [NotificationType(delivery.type).sentence if known else delivery.type, " · ".join(facts)]
    return [*lines, *str(data.get("text") or "").splitlines(), *([str(data["url"])] if data.get("url") else [])]
