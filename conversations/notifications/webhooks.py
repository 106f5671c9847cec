"""Webhooks: notifications over HTTP, signed by the rules of Standard Webhooks, to the public internet alone."""

from collections.abc import Sequence

import requests
from requests_hardened import Config, HTTPSession
from requests_hardened.ip_filter import InvalidIPAddress
from standardwebhooks.webhooks import Webhook

from console import clock
from conversations.notifications.addresses import is_allowed_inside
from conversations.notifications.deliveries import NotDelivered, NotificationDelivery
from conversations.notifications.destinations import Destination
from conversations.providers import retry_after

# To connect, and until the next bytes of an answer arrive, in seconds. The notifier limits the total time.
TIMEOUTS = (3.05, 10.0)
USER_AGENT = "Conversation-Console"
_GONE = 410


class WebhookSession(HTTPSession):
    """Never follows redirects: before requests ignores one, it reads the whole body, which may never end."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return None: there is no redirect to follow."""
        return None


def _session(*, inside: bool) -> HTTPSession:
    """Return a session for hosts on the public internet, whose name is resolved once, or anywhere (`inside`)."""
    config = Config(
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


def send_webhook(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Send one delivery; the answer must begin within the time-outs. Raises `NotDelivered`."""
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
