"""An in-process stand-in for Twilio and SendGrid, for the demo and the tests: nothing leaves the machine.

It implements the requests that the official libraries send, stores everything in memory, and derives statuses from the
clock. Requests from web pages are refused, because any page on the machine can reach a loopback port.
"""

import base64
import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.core.servers.basehttp import ThreadedWSGIServer

from console import clock
from demo.embedded import HOST, LoopbackServer, QuietHandler, StartResponse

ACCOUNT = "AC" + "d0" * 16
TOKEN = "demo-token-of-twilio"  # noqa: S105  # nosec B105
SENDGRID_KEY = "SG.demo-key"
TEMPLATE = "HX" + "e0" * 16
TEMPLATES: Mapping[str, dict[str, Any]] = {
    TEMPLATE: {
        "variables": {"1": "Amira", "2": "your order"},
        "types": {
            "twilio/text": {"body": "Hello {{1}}, we have news about {{2}}. Reply here and we will tell you more."}
        },
    }
}
# When a message is delivered and read, counted from its acceptance.
DELIVERED, READ = timedelta(seconds=1), timedelta(seconds=3)
LONGEST_TEXT = 1_600


@dataclass(frozen=True)
class ProviderFault:
    """A fault to inject into one request: whether it is accepted, and the response to send.

    `status` 0 closes the connection without a response. `drip`: seconds between two bytes of the body.
    """

    accepts: bool = False
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    drip: float = 0.0


FaultHook = Callable[[str, str, dict[str, Any]], ProviderFault | None]
# Status, JSON content, and headers.
Answered = tuple[int, Any, dict[str, str]]


class _Refused(Exception):
    """A refused request: HTTP status, Twilio's code, and a message that quotes the request, as the providers do."""


class DemoProvider(LoopbackServer):
    """An HTTP server on a loopback port.

    Messages to `failing` recipients fail after a second with Twilio's code; those to `refusing` ones are refused
    immediately. Its clock is `ahead` of ours. Set `fault` to a function of method, path and form (or JSON) to inject a
    `ProviderFault`, and `lists_per_second` to refuse more reads of its list. What customers write (`receive`) is in
    the list too.
    """

    def __init__(
        self,
        failing: Mapping[str, int] | None = None,
        refusing: Mapping[str, int] | None = None,
        templates: Mapping[str, dict[str, Any]] = TEMPLATES,
    ) -> None:
        self._failing, self._refusing, self._templates = failing or {}, refusing or {}, templates
        self.fault: FaultHook = lambda method, path, form: None
        self.ahead = timedelta()
        self.lists_per_second = 0
        # How often the list was read, and when.
        self.listed_at: list[datetime] = []
        super().__init__()
        self._accepted: list[dict[str, Any]] = []
        self._received: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def start(self) -> str:
        """Serve on a free port and return the endpoint URL."""
        server = ThreadedWSGIServer((HOST, 0), _Handler)
        server.set_app(self._answered)
        return self._serve(server, "demo-provider")

    def forget(self) -> None:
        """Forget all accepted messages."""
        with self._lock:
            self._accepted.clear()
            self._received.clear()

    def receive(
        self,
        sender: str,
        recipient: str,
        text: str = "",
        *,
        media: tuple[str, ...] = (),
        ago: timedelta = timedelta(),
        lag: timedelta = timedelta(),
        name: str = "",
    ) -> str:
        """Receive a customer's message with media of these content types, written some time ago; return its id.

        Addresses have the prefix of their channel. It appears in the list after `lag`.
        """
        now = self._now()
        name = name or f"{'MM' if media else 'SM'}{uuid.uuid4().hex}"
        kept = {"id": name, "from": sender, "to": recipient, "text": text, "at": now - ago, "listed": now + lag}
        with self._lock:
            self._received.append(kept | {"media": media, "channel": "whatsapp" if "whatsapp:" in sender else "sms"})
        return name

    def redact(self, name: str) -> None:
        """Remove the text and the media of a received message, as its account's owner can."""
        with self._lock:
            self._received = [
                each | {"text": "", "media": ()} if each["id"] == name else each for each in self._received
            ]

    @staticmethod
    def lost() -> ProviderFault:
        """Return a fault: the message is accepted, but the response never arrives."""
        return ProviderFault(accepts=True)

    def _now(self) -> datetime:
        return clock.now() + self.ahead

    def messages(self) -> list[dict[str, Any]]:
        """Return all accepted messages, oldest first: `id`, `channel`, `from`, `to`, `text`, `at` and the `request`."""
        with self._lock:
            return [dict(each) for each in self._accepted]

    def _answered(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method, path, length = environ["REQUEST_METHOD"], environ["PATH_INFO"], str(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(int(length)).decode()
        query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        try:
            if "HTTP_ORIGIN" in environ:
                raise _Refused(403, 20403, "Not for pages of browsers.")
            is_json = environ.get("CONTENT_TYPE") == "application/json" and body
            form: dict[str, Any] = json.loads(body) if is_json else query | dict(parse_qsl(body))
            fault = self.fault(method, path, form)
            answered: Answered = 0, None, {}
            if fault is None or fault.accepts:
                answered = self._routed(method, path, form, environ.get("HTTP_AUTHORIZATION", ""))
        except _Refused as refused:
            status, code, words = refused.args
            fault, answered = None, (status, {"code": code, "message": words, "more_info": "", "status": status}, {})
        status, content, headers = answered
        answer, drip = json.dumps(content).encode() if content else b"", 0.0
        if fault is not None:
            status, headers, answer, drip = fault.status or 200, dict(fault.headers), fault.body, fault.drip
            if not fault.status:
                environ["demo.connection"].shutdown(socket.SHUT_RDWR)
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(answer))}
        headers["Date"] = format_datetime(self._now(), usegmt=True)
        start_response(f"{status} {HTTPStatus(status).phrase}", [*headers.items()])
        return _dripped(answer, drip) if drip else [answer]

    def _routed(self, method: str, path: str, form: dict[str, Any], authorization: str) -> Answered:
        if path.startswith("/v3/"):
            if authorization != f"Bearer {SENDGRID_KEY}":
                raise _Refused(401, 401, "The provided authorization grant is invalid, expired, or revoked")
            return self._sendgrid(method, path.removeprefix("/v3"), form)
        wanted = base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if authorization != f"Basic {wanted}":
            raise _Refused(401, 20003, "Authenticate")
        return self._twilio(method, path, form)

    def _twilio(self, method: str, path: str, form: dict[str, Any]) -> Answered:
        messages = f"/2010-04-01/Accounts/{ACCOUNT}/Messages"
        if path == f"{messages}.json":
            return (201, self._created(form), {}) if method == "POST" else (200, self._listed(path, form), {})
        if media := re.fullmatch(rf"{messages}/(\w+)/Media\.json", path):
            return 200, self._media(path, media[1]), {}
        found = re.fullmatch(rf"{messages}/(\w+)\.json|/v1/Content/(\w+)", path)
        if found and found[2] in self._templates:
            return 200, {"sid": found[2], "language": "en", **self._templates[found[2]]}, {}
        for each in self.messages():
            if found and each["id"] == found[1]:
                return 200, self._record(each), {}
        raise _Refused(404, 20404, f"The requested resource {path} was not found")

    def _created(self, form: dict[str, Any]) -> dict[str, Any]:
        to, text = form.get("To", ""), form.get("Body", "")
        number = to.removeprefix("whatsapp:")
        if number in self._refusing:
            raise _Refused(400, self._refusing[number], f"The message From {form.get('From')} to {to} cannot be sent")
        if (sid := form.get("ContentSid", "")) in self._templates:
            variables = json.loads(form.get("ContentVariables") or "{}")
            text = self._templates[sid]["types"]["twilio/text"]["body"]
            text = re.sub(r"{{(\w+)}}", lambda blank: str(variables.get(blank[1], blank[0])), text)
        if not number.startswith("+") or not text or len(text) > LONGEST_TEXT:
            raise _Refused(400, 21602 if not text else 21617 if text[LONGEST_TEXT:] else 21211, f"'{to}' or its body")
        channel = "whatsapp" if to.startswith("whatsapp:") else "sms"
        return self._record(self._keep(f"SM{uuid.uuid4().hex}", channel, form["From"], to, text, form))

    def _keep(self, name: str, channel: str, sender: str, to: str, text: str, request: Any) -> dict[str, Any]:
        kept = {"id": name, "channel": channel, "from": sender, "to": to, "text": text, "at": self._now()}
        with self._lock:
            self._accepted.append(kept | {"request": request})
        return kept

    def _status(self, kept: dict[str, Any]) -> tuple[str, int | None]:
        age, code = self._now() - kept["at"], self._failing.get(kept["to"].removeprefix("whatsapp:"))
        if age < DELIVERED:
            return "sent", None
        if code:
            return "failed" if str(code).startswith("63") else "undelivered", code
        return "read" if kept["channel"] == "whatsapp" and age >= READ else "delivered", None

    def _record(self, kept: dict[str, Any]) -> dict[str, Any]:
        status, code = self._status(kept)
        return {
            **{"sid": kept["id"], "account_sid": ACCOUNT, "from": kept["from"], "to": kept["to"], "body": kept["text"]},
            **{"status": status, "error_code": code, "error_message": None, "direction": "outbound-api"},
            **dict.fromkeys(("date_created", "date_sent", "date_updated"), format_datetime(kept["at"])),
        }

    def _listed(self, path: str, form: dict[str, Any]) -> dict[str, Any]:
        """Return a page of messages, newest first, as Twilio does: the filter by date knows days only."""
        now = self._now()
        with self._lock:
            recent = [each for each in self.listed_at if now - each < timedelta(seconds=1)]
            self.listed_at.append(now)
            kept = [*self._accepted, *(each for each in self._received if each["listed"] <= now)]
        if self.lists_per_second and len(recent) >= self.lists_per_second:
            raise _Refused(429, 20429, "Too Many Requests")
        since, size, page = form.get("DateSent>", "")[:10], int(form.get("PageSize", 50)), int(form.get("Page", 0))
        found = [
            each
            for each in sorted(kept, key=lambda each: each["at"])[::-1]
            if each["at"].astimezone(UTC).date().isoformat() >= since
            and (form.get("To", each["to"]), form.get("From", each["from"])) == (each["to"], each["from"])
            and each["channel"] != "email"
        ]
        # The links name the last message of a page, so that a newer one shifts none.
        after = form.get("PageToken", "").removeprefix("PA")
        first = next((number for number, each in enumerate(found, 1) if each["id"] == after), 0)
        end = first + size
        token = {"Page": page + 1, "PageToken": f"PA{found[end - 1]['id']}"} if found[end:] else {}
        more = f"{path}?{urlencode(form | token)}" if token else None
        records = [self._received_record(each) if "media" in each else self._record(each) for each in found[first:end]]
        return {"messages": records, "page": page, "page_size": size, "next_page_uri": more}

    def _received_record(self, kept: dict[str, Any]) -> dict[str, Any]:
        times = dict.fromkeys(("date_created", "date_sent", "date_updated"), format_datetime(kept["at"]))
        return {
            **{"sid": kept["id"], "account_sid": ACCOUNT, "from": kept["from"], "to": kept["to"], "body": kept["text"]},
            **{"status": "received", "error_code": None, "error_message": None, "direction": "inbound"},
            **{"num_media": str(len(kept["media"])), **times},
        }

    def _media(self, path: str, name: str) -> dict[str, Any]:
        """Return the media of a received message."""
        found = next((each["media"] for each in self._received if each["id"] == name), ())
        base = path.removesuffix(".json")
        listed = [
            {"sid": f"ME{number}", "parent_sid": name, "content_type": kind, "uri": f"{base}/ME{number}.json"}
            for number, kind in enumerate(found)
        ]
        return {"media_list": listed, "page": 0, "page_size": 50, "next_page_uri": None}

    def _sendgrid(self, method: str, path: str, form: dict[str, Any]) -> Answered:
        if (method, path) == ("POST", "/mail/send"):
            [to] = form["personalizations"][0]["to"]
            if to["email"] in self._refusing or not form.get("subject"):
                raise _Refused(400, 0, f"{to['email']} does not contain a valid address.")
            text, name = form["content"][0]["value"], uuid.uuid4().hex[:22]
            kept = self._keep(name, "email", form["from"]["email"], to["email"], text, form)
            return 202, None, {"X-Message-Id": kept["id"]}
        found = [self._email(each) for each in self.messages() if each["channel"] == "email" and _is_asked(each, form)]
        if path == "/messages":
            return 200, {"messages": found[: int(form["limit"])]}, {}
        for each in found:
            if path == f"/messages/{each['msg_id']}":
                return 200, each, {}
        raise _Refused(404, 0, "not found")

    def _email(self, kept: dict[str, Any]) -> dict[str, Any]:
        status, code = self._status(kept)
        said = "not_delivered" if code else {"sent": "processed"}.get(status, status)
        named = {"from_email": kept["from"], "to_email": kept["to"], "subject": kept["request"]["subject"]}
        return {"msg_id": f"{kept['id']}.filterdrecv-0", "status": said, **named}


def _is_asked(kept: dict[str, Any], form: dict[str, Any]) -> bool:
    """Return whether a message matches a query: one by `reply_id`, or one by the beginning of an id."""
    reply = kept["request"]["personalizations"][0]["custom_args"]["reply_id"]
    begins = re.fullmatch(r"msg_id LIKE '(.*)%'", form.get("query", ""))
    by_id = begins is not None and f"{kept['id']}.filterdrecv-0".startswith(begins[1])
    return by_id or form.get("query", "") in ("", f"(unique_args['reply_id']=\"{reply}\")")


def _dripped(answer: bytes, seconds: float) -> Iterator[bytes]:
    for each in answer:
        time.sleep(seconds)
        yield bytes([each])


class _Handler(QuietHandler):
    """A handler that exposes the connection for faults that close it."""

    def get_environ(self) -> dict[str, Any]:
        """Return the WSGI environment of the request, with its connection."""
        return {**super().get_environ(), "demo.connection": self.connection}
