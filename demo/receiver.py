"""An in-process receiver of webhooks, for the demo and the tests, and destinations that point to it.

It verifies signatures as a company's own system would, with the library of the Standard Webhooks specification.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from console import clock
from console.permissions import Staff
from console.staff import accounts
from console.store.calls import table_name
from console.store.connection import call
from conversations.notifications import destinations
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.destinations import DestinationValues
from demo import conversations
from demo.embedded import HOST, LoopbackServer
from demo.staff import SIGN_INS

# A company's own system that works, and one that is out of order.
WORKING, BROKEN = "/notifications", "/out-of-order"
# At the start, events of the last hours are sent, so that there is something to see.
SINCE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class ReceivedWebhook:
    """A request as received. `is_genuine`: its signature is recent and made with a known secret."""

    path: str
    body: bytes
    headers: dict[str, str]
    is_genuine: bool

    @property
    def payload(self) -> dict[str, Any]:
        """The notification."""
        payload: dict[str, Any] = json.loads(self.body)
        return payload


class WebhookReceiver(LoopbackServer):
    """An HTTP server on a loopback port that stores the requests it receives.

    `secrets` verify signatures. Set `answer` to another function to change the responses.
    """

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()
        self.received: list[ReceivedWebhook] = []
        self.answer: Callable[[BaseHTTPRequestHandler, ReceivedWebhook], None] = answer_by_path

    def start(self) -> str:
        """Serve on a free port and return the endpoint URL."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._receive(self)

            def log_message(self, *_: Any) -> None:
                """Do nothing: a line per request would drown the console's own log."""

        return self._serve(ThreadingHTTPServer((HOST, 0), Handler), "webhooks")

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in request.headers.items()}
        got = ReceivedWebhook(request.path, body, headers, any(_is_signed(body, headers, one) for one in self.secrets))
        self.received.append(got)
        self.answer(request, got)


def _is_signed(body: bytes, headers: dict[str, str], secret: str) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def answer_by_path(request: BaseHTTPRequestHandler, got: ReceivedWebhook) -> None:
    """Respond as a company's own system does: 204 for a valid signature, 401 otherwise; 500 for `BROKEN`."""
    request.send_response(500 if got.path == BROKEN else 204 if got.is_genuine else 401)
    request.send_header("Content-Length", "0")
    request.end_headers()


def create_destinations(receiver: WebhookReceiver) -> None:
    """Create or update two destinations of the first company that point to the receiver. Raises the store's errors."""
    company_id = conversations.COMPANIES[0]["id"]
    staff = Staff.of(accounts.get(SIGN_INS["admin"]))
    known = {each.values.name: each for each in destinations.list_destinations(company_id)}
    for name, path in (("Help desk", WORKING), ("Old pager", BROKEN)):
        address = receiver.endpoint + path
        types = destinations.types_for(company_id)
        values = DestinationValues(name, DestinationKind.WEBHOOK, address, types)
        if name in known:
            destinations.change(known[name], values, staff)
        else:
            _date_back(company_id, destinations.add(company_id, values, staff))
    receiver.secrets |= {each.secrets[0] for each in destinations.list_destinations(company_id)}


def _date_back(company_id: str, destination_id: str) -> None:
    call(
        "UpdateItem",
        TableName=table_name("CONSOLE"),
        Key={"pk": {"S": destinations.partition_of(company_id)}, "sk": {"S": destination_id}},
        UpdateExpression="SET created_at = :at",
        ExpressionAttributeValues={":at": {"S": clock.to_iso(clock.now() - SINCE)}},
    )
