"""What tests of notifications share: destinations, who manages them, what happened, and a notifier that runs."""

from collections.abc import Callable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote

import pytest

from console import clock
from console.permissions import Role, Scope, Staff
from conversations.notifications import destinations
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.destinations import Destination, DestinationValues
from conversations.notifications.notification import OF_COMPANIES, Notification, NotificationType, id_of
from conversations.notifications.notifier import Notifier
from demo.receiver import ReceivedWebhook, WebhookReceiver
from tests.dynamodb import Store
from tests.support.conversations.handoff.kit import ADMIN, COMPANY, KEY, staff

LEAD = staff("lena", Role.ADMIN, Scope.of([COMPANY]))
OTHER = "ci-bbb-002"
HOOK = "https://hooks.example.com/console"
TOPIC = "arn:aws:sns:eu-west-2:123456789012:console-events"


def values(**changes: Any) -> DestinationValues:
    """What somebody sets of a destination. Each name has an address of its own."""
    address = f"{HOOK}?{quote(changes['name'])}" if "name" in changes else HOOK
    given = {"name": "Help desk", "kind": DestinationKind.WEBHOOK, "address": address, "types": OF_COMPANIES}
    return DestinationValues(**given | changes)


def add(company_id: str = COMPANY, by: Staff = ADMIN, **changes: Any) -> Destination:
    """A destination that somebody has just added."""
    return found(destinations.add(company_id, values(**changes), by), company_id)


def found(destination_id: str, company_id: str = COMPANY) -> Destination:
    """A destination as it is stored."""
    destination = destinations.find(company_id, destination_id)
    assert destination is not None
    return destination


def add_at(receiver: WebhookReceiver, path: str = "/notifications", **changes: Any) -> Destination:
    """A webhook that leads to a receiver, which knows its secret."""
    made = add(address=receiver.endpoint + path, **changes)
    receiver.secrets |= set(made.secrets)
    return made


def happened(type_: NotificationType = NotificationType.WAITING, name: str = "1", **changes: Any) -> Notification:
    """Something that happened just now in a conversation."""
    given: dict[str, Any] = {
        "at": clock.now(),
        "company_id": COMPANY,
        "key": tuple(KEY.values()),
        "facts": {"company_id": COMPANY},
    }
    return Notification(id_of(type_, name), type_, **given | changes)


def rows(store: Store, *states: str) -> list[dict[str, Any]]:
    """What is stored of deliveries, in these states or all, in the order in which they were noted."""
    kinds = ("NOTIFICATIONS#", "NOTIFICATIONS_FAILED#")
    found = [each for each in store.all("CONSOLE") if each["pk"].startswith(kinds)]
    return sorted((each for each in found if not states or each["state"] in states), key=lambda each: each["sk"])


def pointers(store: Store) -> list[dict[str, Any]]:
    """What says when deliveries are due."""
    return [each for each in store.all("CONSOLE") if each["pk"] == "NOTIFICATIONS_DUE"]


def entries(store: Store, *actions: str) -> list[dict[str, Any]]:
    """What is on record, of these actions."""
    return [each for each in store.all("AUDIT") if each["action_type"] in actions]


def later(monkeypatch: pytest.MonkeyPatch, span: timedelta = timedelta(0), **more: float) -> datetime:
    """Stop the clock so long from now; when that is."""
    at = clock.now() + span + timedelta(**more)
    monkeypatch.setattr(clock, "now", lambda: at)
    return at


def notifier() -> Notifier:
    """One that pauses for nothing."""
    return Notifier(wait=lambda _: False)


def bring() -> dict[str, int]:
    """Bring all that is due; what was done."""
    one = notifier()
    one.run(once=True)
    return dict(one.counts)


def answering(*statuses: int, **headers: str) -> Callable[[BaseHTTPRequestHandler, ReceivedWebhook], None]:
    """An answer of these statuses in turn, the last again and again."""
    left = list(statuses)

    def answer(request: BaseHTTPRequestHandler, got: ReceivedWebhook) -> None:
        request.send_response(left.pop(0) if len(left) > 1 else left[0])
        for name, value in {"Content-Length": "0", **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()

    return answer
