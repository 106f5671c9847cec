"""Twilio: WhatsApp and SMS, with its official library over an HTTP client of ours.

Twilio has no idempotency keys: after a lost answer, only its list of messages shows whether one was accepted. Twilio's
own words quote numbers and texts, so none of them leaves the adapter.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from twilio.rest import Client

from conversations.sending.providers import (
    CannotAsk,
    Delivery,
    DeliveryState,
    NoAnswer,
    NotReached,
    Outgoing,
    Rejected,
    Template,
    credential,
)
from conversations.sending.providers.twilio_http import TwilioHttp, refused_credentials, said_code, words_of

# How many messages `find` reads, how many per page, and how far Twilio's clock may be behind.
LOOKED_AT, PAGE = 200, 100
CLOCKS_DIFFER = timedelta(seconds=5)
_STATES = {"delivered": DeliveryState.DELIVERED, "read": DeliveryState.READ} | dict.fromkeys(
    ("undelivered", "failed", "canceled"), DeliveryState.FAILED
)


class Twilio:
    """Twilio with the credentials of one company."""

    def __init__(self, secret: Mapping[str, Any]) -> None:
        account = credential(secret, "twilio_account_sid")
        if not account.isalnum():
            raise refused_credentials("")
        self._api = Client(account, credential(secret, "twilio_auth_token"), http_client=TwilioHttp())

    def send(self, message: Outgoing) -> str:
        """Hand over a message; return its sid."""
        if message.template:
            content = {"content_sid": message.template, "content_variables": json.dumps(dict(message.variables))}
        else:
            content = {"body": message.text}
        with _only_our_errors():
            sid = self._api.messages.create(
                to=_address(message, message.recipient), from_=_address(message, message.sender), **content
            ).sid
        if not isinstance(sid, str) or not sid:
            raise NoAnswer("Twilio gave the message no id.")
        return sid

    def find(self, message: Outgoing) -> str | None:
        """Return the sid of the first message with this text since its sending began, even one that failed.

        Raises `CannotAsk` if there were too many messages since then to read them all.
        """
        earliest, wanted = message.begun_at - CLOCKS_DIFFER, message.text.split()
        found, seen = [], []
        with _only_our_errors():
            for each in self._api.messages.stream(
                to=_address(message, message.recipient),
                from_=_address(message, message.sender),
                date_sent_after=earliest.date(),
                limit=LOOKED_AT,
                page_size=PAGE,
            ):
                moment = each.date_created or each.date_sent
                seen.append(moment)
                if moment is None or moment < earliest or not str(each.direction or "").startswith("outbound"):
                    continue
                if each.sid and each.sid not in message.others and (each.body or "").split() == wanted:
                    found.append((moment, each.sid))
        if not found and len(seen) >= LOOKED_AT and all(each is None or each >= earliest for each in seen):
            raise CannotAsk("More messages were sent since than can be looked at.")
        # Twilio lists the newest first: among messages of the same second, the last in the list was sent first.
        return min(reversed(found), key=lambda each: each[0])[1] if found else None

    def delivery(self, provider_id: str) -> Delivery:
        """Return the delivery of a message."""
        with _only_our_errors():
            answer = self._api.messages(_id(provider_id)).fetch()
            state = _STATES.get(str(answer.status), DeliveryState.SENT)
            failed = state is DeliveryState.FAILED
            code = said_code(answer.error_code) if failed else ""
        return Delivery(state, code, words_of(code) if failed else "")

    def template(self, template_id: str) -> Template:
        """Return an approved template, its blanks ordered by number."""
        with _only_our_errors():
            content = self._api.content.v1.contents(_id(template_id)).fetch()
            types = content.types or {}
            kinds = [each for each in (types.get("twilio/text"), *types.values()) if isinstance(each, dict)]
            body = next((each["body"] for each in kinds if isinstance(each.get("body"), str) and each["body"]), "")
            if not body:
                raise CannotAsk("The template has no text.")
            names = sorted(content.variables or {}, key=lambda name: (int(name) if name.isdecimal() else 10**6, name))
            return Template(template_id, body, {name: str(content.variables[name]) for name in names})


@contextmanager
def _only_our_errors() -> Iterator[None]:
    try:
        yield
    except (Rejected, NotReached, NoAnswer, CannotAsk):
        raise
    except UnicodeEncodeError:
        raise Rejected("", "The message has characters that cannot be sent.") from None
    # What the library raises for an undocumented answer: TwilioException, ValueError, KeyError, TypeError …
    except Exception:
        raise NoAnswer("Twilio's answer could not be read.") from None


def _address(message: Outgoing, number: str) -> str:
    bare = number.removeprefix("whatsapp:").removeprefix("sms:")
    return f"whatsapp:{bare}" if message.channel == "whatsapp" else bare


def _id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]{2,64}", text):
        raise CannotAsk("That is not a Twilio id.")
    return text
