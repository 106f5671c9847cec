"""The HTTP client for Twilio's library: with time-outs, without retries or logging; and the meaning of refusals."""

import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from logging import getLogger
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from twilio.http import HttpClient
from twilio.http.response import Response
from urllib3.exceptions import HTTPError, NewConnectionError

from console import clock
from conversations.providers import CannotAsk, CredentialsRejected, NoAnswer, NotReached, Rejected, retry_after

# To connect, and until the next bytes of an answer arrive; then for the whole answer, however slow. In seconds.
TIMEOUTS = (3.05, 10.0)
LONGEST_ANSWER_SECONDS = 20.0
LARGEST_ANSWER = 4_000_000

WORDS = {
    "20003": "Twilio refused the company's credentials. Ask an administrator to check them.",
    "21211": "The customer's number is not a valid phone number.",
    "21408": "The company's Twilio account may not send to the customer's country.",
    "21610": "The customer opted out of messages with STOP. Only they can opt in again.",
    "21614": "The customer's number cannot receive text messages.",
    "21617": "The message is too long.",
    "30003": "The phone is switched off or cannot be reached. Try again later.",
    "30004": "The customer or their network blocks messages from this number.",
    "30005": "The customer's number does not exist or is no longer in use.",
    "30006": "The customer's number is a landline or cannot be reached.",
    "30007": "The customer's network blocked the message as spam.",
    "63013": "WhatsApp blocked the message because it breaks a WhatsApp policy.",
    "63016": "WhatsApp's 24 hours have ended. Only a template can be sent now.",
    "63018": "WhatsApp's limit for messages from this number is reached. Try again later.",
    "63024": "The customer's number is not on WhatsApp.",
}


class TwilioHttp(HttpClient):
    """Sends each request once, over a connection of its own; refusals become errors here, where their headers are.

    `ahead` is how far Twilio's clock was ahead of ours in its last answer, by that answer's `Date`.
    """

    ahead = timedelta()

    def __init__(self) -> None:
        # The library's own client writes addresses with phone numbers into its log; this one writes nothing.
        super().__init__(getLogger(__name__), is_async=False)

    def request(self, method: str, url: str, *_: Any, **request: Any) -> Response:
        """Send a request for the library. Raises `Rejected`, `CredentialsRejected`, `NotReached` and `NoAnswer`."""
        if settings.TWILIO_API_URL:
            there = urlsplit(url)
            url = settings.TWILIO_API_URL.rstrip("/") + there.path + (f"?{there.query}" if there.query else "")
        named = {name: request.get(name) for name in ("params", "data", "headers", "auth")}
        with requests.Session() as session:
            try:
                answer = session.request(method, url, timeout=TIMEOUTS, allow_redirects=False, stream=True, **named)
            except requests.RequestException as error:
                if _never_reached(error):
                    raise NotReached("Twilio could not be reached.") from None
                raise NoAnswer("Twilio did not answer.") from None
            with suppress(KeyError, ValueError, TypeError):
                self.ahead = parsedate_to_datetime(answer.headers["Date"]) - clock.now()
            text = _read(answer)
        if 400 <= answer.status_code < 500:
            raise _refusal(answer.status_code, answer.headers, text)
        if not 200 <= answer.status_code < 300:
            raise NoAnswer(f"Twilio answered with status {answer.status_code}.")
        return Response(answer.status_code, text, answer.headers)


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Let no errors of Twilio's library out of the block: `NoAnswer` or `Rejected` instead."""
    try:
        yield
    except (Rejected, NotReached, NoAnswer, CannotAsk):
        raise
    except UnicodeEncodeError:
        raise Rejected("", "The message has characters that cannot be sent.") from None
    # What the library raises for an undocumented answer: TwilioException, ValueError, KeyError, TypeError …
    except Exception:
        raise NoAnswer("Twilio's answer could not be read.") from None


def _never_reached(error: requests.RequestException) -> bool:
    """Return whether it failed before there was a connection. After that, the message may have been accepted."""
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.InvalidURL | requests.exceptions.MissingSchema):
        return True
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    causes = (reason, getattr(reason, "original_error", None), *getattr(reason, "args", ()))
    return any(isinstance(each, NewConnectionError | ssl.SSLCertVerificationError) for each in causes)


def _read(answer: requests.Response) -> str:
    end, content = time.monotonic() + LONGEST_ANSWER_SECONDS, b""
    try:
        # `read1` returns available data; `read` would wait for the full number of bytes.
        while part := answer.raw.read1(decode_content=True):
            content += part
            if len(content) > LARGEST_ANSWER or time.monotonic() > end:
                raise NoAnswer("Twilio's answer was too long or took too long.")
    except (HTTPError, OSError):
        raise NoAnswer("Twilio's answer was cut off.") from None
    return content.decode("utf-8", "replace")


def _refusal(status: int, headers: Mapping[str, str], text: str) -> Exception:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    code = said_code(parsed.get("code") if isinstance(parsed, dict) else None) or str(status)
    if status == 429 or code == "20429":
        return NotReached("Twilio is busy.", retry_after(headers))
    # Some codes of 403 are about a message, such as the country that it goes to.
    if status == 401 or code == "20003" or (status == 403 and (code == "403" or code.startswith("20"))):
        return refused_credentials(code)
    return Rejected(code, words_of(code))


def refused_credentials(code: str) -> CredentialsRejected:
    """Return the error for credentials that Twilio does not accept."""
    return CredentialsRejected(code, WORDS["20003"])


def said_code(parsed: Any) -> str:
    """Return Twilio's error code as text, "" if it is none: a longer value could be somebody's number."""
    return str(parsed) if re.fullmatch(r"[1-9][0-9]{4}", str(parsed)) else ""


def words_of(code: str) -> str:
    """Return the reason why a message did not arrive, for people."""
    return WORDS.get(code) or f"Twilio could not deliver the message{f' (code {code})' if code else ''}."


def address_of(channel: str, number: str) -> str:
    """Return a number as an address of a channel."""
    bare = number.removeprefix("whatsapp:").removeprefix("sms:")
    return f"whatsapp:{bare}" if channel == "whatsapp" else bare


def checked_id(text: str) -> str:
    """Return an id of Twilio's. Raises `CannotAsk` for any other text, which could lead to another address."""
    if not re.fullmatch(r"[A-Za-z0-9]{2,64}", text):
        raise CannotAsk("That is not a Twilio id.")
    return text
