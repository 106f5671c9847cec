"""Sending to each kind of destination: webhooks over HTTP, Amazon SNS topics, and emails by Amazon SES.

Each sender takes a destination and its deliveries, and returns once they are accepted. Every failure is raised as
`NotDelivered`, in words for the people who manage the destination: never with a body, nor more of an address than its
host.
"""

from collections.abc import Callable, Sequence

from conversations.notifications import amazon, webhooks
from conversations.notifications.addresses import DestinationKind, address_problem
from conversations.notifications.deliveries import NotDelivered, NotificationDelivery
from conversations.notifications.destinations import Destination

_SENDERS: dict[DestinationKind, Callable[[Destination, Sequence[NotificationDelivery]], None]] = {
    DestinationKind.WEBHOOK: webhooks.send_webhook,
    DestinationKind.SNS: amazon.send_to_topic,
    DestinationKind.EMAIL: amazon.send_email,
}


def send(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Send deliveries to a destination; only an email takes several. Raises `NotDelivered`."""
    kind = destination.values.kind
    # The allowed addresses may have changed since this one was entered.
    if address_problem(kind, destination.values.address):
        raise NotDelivered("Its address is not allowed here any more.")
    _SENDERS[kind](destination, deliveries)
