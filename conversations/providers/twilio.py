"""Twilio: WhatsApp and SMS, with its official library over an HTTP client of ours.

Twilio has no idempotency keys: after a lost answer, only its list of messages shows whether one was accepted. Twilio's
own words quote numbers and texts, so none of them leaves the adapter.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from twilio.rest import Client

from conversations.messages.content import whole_number
from conversations.providers import (
    CannotAsk,
    Delivery,
    DeliveryState,
    ListedMedium,
    ListedMessage,
    NoAnswer,
    Outgoing,
    Template,
    credential,
)
from conversations.providers.twilio_http import (
    TwilioHttp,
    address_of,
    checked_id,
    only_our_errors,
    refused_credentials,
    said_code,
    words_of,
)

# How many messages `find` reads, and how many per page.
LOOKED_AT, PAGE = 200, 100
# The host of media, whose addresses are listed without it.
MEDIA_HOST = "https://api.twilio.com"
MOST_MEDIA = 20
# Twilio's times have whole seconds, and so has the `Date` by which its clock is compared with ours. Another machine,
# whose clock differs more, may have begun the sending.
ROUNDED, CLOCKS_DIFFER = timedelta(seconds=5), timedelta(minutes=10)
_STATES = {"delivered": DeliveryState.DELIVERED, "read": DeliveryState.READ} | dict.fromkeys(
    ("undelivered", "failed", "canceled"), DeliveryState.FAILED
)


class Twilio:
    """Twilio with the credentials of one company."""

    def __init__(self, secret: Mapping[str, Any]) -> None:
        account = credential(secret, "twilio_account_sid")
        if not account.isalnum():
            raise refused_credentials("")
        self.account = account
        self._http = TwilioHttp()
        self._api = Client(account, credential(secret, "twilio_auth_token"), http_client=self._http)

    def send(self, message: Outgoing) -> str:
        """Hand over a message; return its sid."""
        if message.template:
            content = {"content_sid": message.template, "content_variables": json.dumps(dict(message.variables))}
        else:
            content = {"body": message.text}
        with only_our_errors():
            sid = self._api.messages.create(
                to=address_of(message.channel, message.recipient),
                from_=address_of(message.channel, message.sender),
                **content,
            ).sid
        if not isinstance(sid, str) or not sid:
            raise NoAnswer("Twilio gave the message no id.")
        return sid

    def find(self, message: Outgoing) -> str | None:
        """Return the sid of the first message with this text since its sending began, even one that failed.

        If there is none, return the last one of the ten minutes before, as clocks differ. Raises `CannotAsk` if there
        were too many messages to read all since then.
        """
        wanted, seen = message.text.split(), 0
        since: list[str] = []
        before: list[str] = []
        with only_our_errors():
            # Twilio lists the newest first. It could filter by days only.
            for each in self._api.messages.stream(
                to=address_of(message.channel, message.recipient),
                from_=address_of(message.channel, message.sender),
                limit=LOOKED_AT,
                page_size=PAGE,
            ):
                begun, moment = message.begun_at + self._http.ahead, each.date_created or each.date_sent
                if moment is not None and moment < begun - CLOCKS_DIFFER:
                    break
                seen += 1
                if moment is None or not str(each.direction or "").startswith("outbound"):
                    continue
                if each.sid and each.sid not in message.others and (each.body or "").split() == wanted:
                    (since if moment >= begun - ROUNDED else before).append(each.sid)
        if since or before:
            return since[-1] if since else before[0]
        if seen >= LOOKED_AT:
            raise CannotAsk("More messages were sent since than can be looked at.")
        return None

    def delivery(self, provider_id: str) -> Delivery:
        """Return the delivery of a message."""
        with only_our_errors():
            answer = self._api.messages(checked_id(provider_id)).fetch()
            state = _STATES.get(str(answer.status), DeliveryState.SENT)
            failed = state is DeliveryState.FAILED
            code = said_code(answer.error_code) if failed else ""
        return Delivery(state, code, words_of(code) if failed else "")

    @property
    def ahead(self) -> timedelta:
        """How far Twilio's clock was ahead of ours in its last answer."""
        return self._http.ahead

    def list_messages(self, channel: str, sender: str, recipient: str) -> Iterator[ListedMessage]:
        """Yield the messages from one number to another, the newest first. One without an id or a time is skipped."""
        with only_our_errors():
            # By Twilio's own page links. It could filter by days only.
            for each in self._api.messages.stream(
                to=address_of(channel, recipient), from_=address_of(channel, sender), page_size=PAGE
            ):
                moment, direction = each.date_created or each.date_sent, str(each.direction or "")
                if each.sid and moment is not None:
                    yield ListedMessage(
                        message_id=each.sid,
                        at=moment,
                        sender=str(each.from_ or ""),
                        recipient=str(each.to or ""),
                        text=str(each.body or ""),
                        media=whole_number(each.num_media) or 0,
                        is_answer=direction == "outbound-api",
                    )

    def list_media(self, message_id: str) -> list[ListedMedium]:
        """Return the media of a listed message."""
        with only_our_errors():
            found = self._api.messages(checked_id(message_id)).media.list(limit=MOST_MEDIA)
            urls = (f"{MEDIA_HOST}{str(each.uri or '').removesuffix('.json')}" for each in found)
            return [ListedMedium(str(each.content_type or ""), url) for each, url in zip(found, urls, strict=True)]

    def template(self, template_id: str) -> Template:
        """Return an approved template, its blanks ordered by number."""
        with only_our_errors():
            content = self._api.content.v1.contents(checked_id(template_id)).fetch()
            types = content.types or {}
            kinds = [each for each in (types.get("twilio/text"), *types.values()) if isinstance(each, dict)]
            body = next((each["body"] for each in kinds if isinstance(each.get("body"), str) and each["body"]), "")
            if not body:
                raise CannotAsk("The template has no text.")
            names = sorted(content.variables or {}, key=lambda name: (int(name) if name.isdecimal() else 10**6, name))
            return Template(template_id, body, {name: str(content.variables[name]) for name in names})
