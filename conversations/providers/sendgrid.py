"""SendGrid: email, with its official library.

SendGrid's Email Activity finds an email by the `reply_id` that each one carries, and shows its delivery. It is a paid
add-on of an account, and it lags behind.
"""

import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from http.client import HTTPException
from socket import gaierror
from typing import Any
from urllib.error import URLError

from django.conf import settings
from python_http_client.exceptions import HTTPError
from sendgrid import SendGridAPIClient

from console import clock
from conversations.providers import (
    CannotAsk,
    CredentialsRejected,
    Delivery,
    DeliveryState,
    ListedMedium,
    ListedMessage,
    NoAnswer,
    NotReached,
    Outgoing,
    Rejected,
    Template,
    credential,
    retry_after,
)
from conversations.providers.emails import as_html

# To connect, and until the next bytes of an answer arrive.
TIMEOUT_SECONDS = 10.0
# How long an accepted email may be missing from Email Activity.
ACTIVITY_LAG = timedelta(minutes=10)
# A thread is identified by its first message and the last ones.
MOST_ANSWERED = 20
_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,250}>")
_UNDELIVERED = "SendGrid could not deliver the email. Check the customer's address."
WORDS = {
    "400": "SendGrid refused the email. Check the addresses, the subject and the text.",
    "401": "SendGrid refused the company's credentials. Ask an administrator to check them.",
    "413": "The email is too long.",
}
_STATES = {"delivered": DeliveryState.DELIVERED, "not_delivered": DeliveryState.FAILED}


class SendGrid:
    """SendGrid with the credentials of one company."""

    def __init__(self, secret: Mapping[str, Any]) -> None:
        key = re.sub(r"(?i)^bearer\s+", "", credential(secret, "sendgrid_auth_value"))
        self._secret = secret
        host = settings.SENDGRID_API_URL.rstrip("/") or "https://api.sendgrid.com"
        self._api = SendGridAPIClient(key, host=host).client

    def send(self, message: Outgoing) -> str:
        """Hand over an email; return its `X-Message-Id`."""
        sender = {"email": message.sender or credential(self._secret, "sendgrid_from_email")}
        if name := " ".join(str(self._secret.get("sendgrid_from_name") or "").split()):
            sender["name"] = name
        mail = {
            "personalizations": [{"to": [{"email": message.recipient}], "custom_args": {"reply_id": message.reply_id}}],
            "from": sender,
            "subject": " ".join(message.subject.split()),
            "content": [
                {"type": "text/plain", "value": message.text},
                {"type": "text/html", "value": as_html(message.text)},
            ],
        }
        if headers := _thread(message.answers):
            mail["headers"] = headers
        answer = _answer(self._api.mail.send.post, request_body=mail)
        found = str(answer.headers.get("X-Message-Id") or "").strip()
        if answer.status_code != 202 or not re.fullmatch(r"[\w.-]{1,200}", found, re.ASCII):
            raise NoAnswer("SendGrid gave the email no id.")
        return found

    def find(self, message: Outgoing) -> str | None:
        """Return the `X-Message-Id` of an email with this `reply_id`. Raises `NoAnswer` while it may yet turn up."""
        found = self._activity(f"(unique_args['reply_id']=\"{_quotable(message.reply_id)}\")")
        if not found and clock.now() < message.begun_at + ACTIVITY_LAG:
            raise NoAnswer("Email Activity may not show the email yet.")
        return found["msg_id"].partition(".")[0] if found else None

    def delivery(self, provider_id: str) -> Delivery:
        """Return the delivery of an email; one that Email Activity does not show yet counts as sent."""
        found = self._activity(f"msg_id LIKE '{_quotable(provider_id)}%'")
        state = _STATES.get(found["status"] if found else "", DeliveryState.SENT)
        return Delivery(state, "", _UNDELIVERED if state is DeliveryState.FAILED else "")

    def template(self, template_id: str) -> Template:
        """Raise `CannotAsk`: emails need no template."""
        raise CannotAsk("Emails need no template.")

    account, ahead = "", timedelta()

    def list_messages(self, channel: str, sender: str, recipient: str) -> Iterator[ListedMessage]:
        """Raise `CannotAsk`: SendGrid passes emails on and lists none."""
        raise CannotAsk("SendGrid has no list of received emails.")

    def list_media(self, message_id: str) -> list[ListedMedium]:
        """Raise `CannotAsk`: SendGrid passes emails on and lists none."""
        raise CannotAsk("SendGrid has no list of received emails.")

    def _activity(self, query: str) -> dict[str, str] | None:
        """Return the first email in Email Activity that matches a query. Raises `CannotAsk` if the account lacks it."""
        try:
            answer = _answer(self._api.messages.get, query_params={"limit": 1, "query": query})
        except Rejected:
            raise CannotAsk("The company's SendGrid account does not answer about emails.") from None
        try:
            [*found] = json.loads(answer.body)["messages"]
            return {name: str(found[0][name]) for name in ("msg_id", "status")} if found else None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise NoAnswer("SendGrid's answer could not be read.") from None


def _answer(call: Callable[..., Any], **request: Any) -> Any:
    """Call SendGrid once. Raises errors of the interface only, without SendGrid's own words: they quote addresses."""
    try:
        return call(timeout=TIMEOUT_SECONDS, **request)
    except HTTPError as error:
        raise _refusal(error.status_code, error.headers) from None
    except (OSError, HTTPException, ValueError) as error:
        # urllib raises a URLError only before the request is sent; errors while it waits for the answer are none.
        reason = error.reason if isinstance(error, URLError) else None
        if isinstance(reason, TimeoutError | gaierror | ConnectionRefusedError | ssl.SSLCertVerificationError):
            raise NotReached("SendGrid could not be reached.") from None
        raise NoAnswer("SendGrid did not answer.") from None


def _refusal(status: int, headers: Mapping[str, str]) -> Exception:
    if status == 429:
        return NotReached("SendGrid is busy.", retry_after(headers))
    if status in (401, 403):
        return CredentialsRejected(str(status), WORDS["401"])
    if 400 <= status < 500:
        return Rejected(str(status), WORDS.get(str(status), f"SendGrid refused the email (status {status})."))
    return NoAnswer(f"SendGrid answered with status {status}.")


def _quotable(text: str) -> str:
    if not re.fullmatch(r"[\w.:-]{1,200}", text, re.ASCII):
        raise CannotAsk("That id cannot be used in a query.")
    return text


def _thread(answers: tuple[str, ...]) -> dict[str, str]:
    """Return the headers that put an email into its thread. An id that is invalid or would end a header is skipped."""
    ids = list(dict.fromkeys(each for each in answers if _MESSAGE_ID.fullmatch(each)))
    if len(ids) > MOST_ANSWERED:
        ids = [ids[0], *ids[1 - MOST_ANSWERED :]]
    return {"In-Reply-To": ids[-1], "References": " ".join(ids)} if ids else {}
