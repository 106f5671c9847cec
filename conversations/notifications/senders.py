"""Senders for each kind of destination: webhooks over HTTP, Amazon SNS topics, and emails by Amazon SES.

Each sender takes a destination and its deliveries, and returns once they are accepted. Every failure is raised as
`NotDelivered`, in words for the people who manage the destination: never with a body, nor more of an address than its
host.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import botocore.session
import requests
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from django.conf import settings
from requests_hardened import Config as HttpConfig
from requests_hardened import HTTPSession
from requests_hardened.ip_filter import InvalidIPAddress
from standardwebhooks.webhooks import Webhook

from console import clock
from conversations.notifications.addresses import DestinationKind, address_problem, is_allowed_inside, region_of
from conversations.notifications.deliveries import NotificationDelivery
from conversations.notifications.destinations import Destination
from conversations.notifications.notification import NotificationType
from conversations.sending.providers import retry_after

# To connect, and until the next bytes of an answer arrive, in seconds. The notifier limits the total time.
TIMEOUTS = (3.05, 10.0)
USER_AGENT = "Conversation-Console"
MOST_LINES = 20
_GONE = 410


class NotDelivered(Exception):
    """Raised if it was not accepted. `is_gone`: the receiver wants no more; `again_after`: seconds it asks to wait."""

    def __init__(self, words: str, *, is_gone: bool = False, again_after: float = 0.0) -> None:
        super().__init__(words)
        self.is_gone, self.again_after = is_gone, again_after


def send(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Send deliveries to a destination; only an email takes several. Raises `NotDelivered`."""
    kind = destination.values.kind
    # The allowed addresses may have changed since this one was entered.
    if address_problem(kind, destination.values.address):
        raise NotDelivered("Its address is not allowed here any more.")
    _SENDERS[kind](destination, deliveries)


# --- Webhooks ---------------------------------------------------------------------------------------------------------


class WebhookSession(HTTPSession):
    """Never follows redirects: before requests ignores one, it reads the whole body, which may never end."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return None: there is no redirect to follow."""
        return None


def _session(*, inside: bool) -> HTTPSession:
    """Return a session for hosts on the public internet, whose name is resolved once, or anywhere (`inside`)."""
    config = HttpConfig(
        ip_filter_enable=not inside,
        ip_filter_allow_loopback_ips=False,
        never_redirect=True,
        default_timeout=TIMEOUTS,
        user_agent_override=USER_AGENT,
    )
    session = WebhookSession(config)
    # A proxy from the environment would resolve the name again; a .netrc would add passwords.
    session.trust_env = False
    return session


def _send_webhook(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    if not destination.secrets:
        raise NotDelivered("Its signing secret cannot be read any more. Make a new secret.")
    [delivery] = deliveries
    body, now = delivery.body, clock.now()
    signatures = [Webhook(each).sign(delivery.notification_id, now, body) for each in destination.secrets]
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "webhook-id": delivery.notification_id,
        "webhook-timestamp": str(clock.to_epoch(now)),
        "webhook-signature": " ".join(signatures),
    }
    try:
        # Only the status counts; the body is never read.
        with (
            _session(inside=is_allowed_inside(destination.host)) as session,
            session.post(destination.values.address, data=body.encode(), headers=headers, stream=True) as answer,
        ):
            status, answered = answer.status_code, answer.headers
    except InvalidIPAddress:
        raise NotDelivered("Its address is not on the public internet.") from None
    except requests.exceptions.SSLError:
        raise NotDelivered("Its certificate is not trusted.") from None
    except requests.Timeout:
        raise NotDelivered("It took too long to answer.") from None
    except (requests.RequestException, OSError, ValueError):
        raise NotDelivered("It could not be reached.") from None
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotDelivered(f"It answered with status {status}, a redirect, which is never followed.")
    raise NotDelivered(f"It answered with status {status}.", is_gone=status == _GONE, again_after=retry_after(answered))


# --- Amazon SNS and SES -----------------------------------------------------------------------------------------------

_lock = threading.Lock()
_clients: dict[tuple[str, str, str], Any] = {}


def _client(service: str, region: str) -> Any:
    """Return the shared client of a service in a region, created again if the endpoint changed (tests, demo)."""
    key = service, region, settings.NOTIFICATIONS_ENDPOINT
    with _lock:
        if key not in _clients:
            _clients[key] = botocore.session.get_session().create_client(
                service,
                region_name=region,
                endpoint_url=settings.NOTIFICATIONS_ENDPOINT or None,
                config=Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 1}),
            )
        return _clients[key]


def _ask_aws(call: Callable[..., Any], name: str, **request: Any) -> None:
    try:
        call(**request)
    except ClientError as error:
        raise NotDelivered(f"{name} refused it ({error.response['Error']['Code']}).") from None
    except (BotoCoreError, ResponseParserError):
        raise NotDelivered(f"{name} could not be reached.") from None


def _send_to_topic(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
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


def _send_email(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
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


_SENDERS: dict[DestinationKind, Callable[[Destination, Sequence[NotificationDelivery]], None]] = {
    DestinationKind.WEBHOOK: _send_webhook,
    DestinationKind.SNS: _send_to_topic,
    DestinationKind.EMAIL: _send_email,
}
