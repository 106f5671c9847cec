"""What tests of replies share: a conversation that somebody holds and may answer in, and what became of replies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from console import clock
from console.permissions import Staff
from conversations.outbox.rows import MessageRow, partition_of
from conversations.sending.replies import accept, seal_form, unseal_form
from conversations.sending.worker import Sender
from demo.provider import ACCOUNT, SENDGRID_KEY, TEMPLATE, TOKEN
from tests.dynamodb import Store
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION, held_by, put

OURS = "+441134960000"
EMAIL, OUR_EMAIL = "jo@doe.example", "help@cucumber.example"
SECRET, EMAIL_SECRET = "whatsapp/ci-aaa-001/pi-aaa-001/twilio", "email/ci-aaa-001/pi-aaa-001/sendgrid"
PARTITION = partition_of(CHANNEL, CONVERSATION)
SECRETS: dict[str, dict[str, str]] = {
    SECRET: {"twilio_account_sid": ACCOUNT, "twilio_auth_token": TOKEN, "twilio_template_sid": TEMPLATE},
    EMAIL_SECRET: {
        "sendgrid_auth_value": SENDGRID_KEY,
        "sendgrid_from_email": OUR_EMAIL,
        "sendgrid_from_name": "Cucumber",
    },
}


def configured(channel: str = "whatsapp") -> dict[str, Any]:
    """The platform's configuration of a channel, as it is copied into each conversation."""
    return {
        "whatsapp": {"company_whatsapp_number": OURS, "whatsapp_credentials_id": SECRET},
        "sms": {"company_sms_number": OURS, "sms_credentials_id": SECRET},
        "email": {"company_email": OUR_EMAIL, "email_credentials_id": EMAIL_SECRET},
    }[channel]


def said(text: str = "Where is my parcel?", ago: timedelta = timedelta(minutes=5), name: str = "SM1") -> dict[str, Any]:
    """What the customer wrote, as an entry of `messages`."""
    at = clock.to_iso(clock.now() - ago)
    return {"message_id": name, "timestamp": at, "role": "user", "content": text}


def held(store: Store, username: str = "ana", channel: str = "whatsapp", **changes: Any) -> dict[str, Any]:
    """A conversation that somebody holds, whose customer has just written."""
    opening = {"entry_id": "m1", "role": "assistant", "content": "Hello"}
    attributes: dict[str, Any] = {
        "channel_method": channel,
        "channel_config": {channel: configured(channel)},
        "messages": [opening, said()],
        "recipient_email": EMAIL,
        **held_by(username),
    }
    return put(store, **attributes | changes)


def write(staff: Staff, text: str = "It is on its way.", **more: Any) -> MessageRow:
    """Accept a reply as from a form that was rendered now."""
    form = unseal_form(seal_form(CHANNEL, CONVERSATION, staff), staff)
    return accept(form, staff, text, **more)


@contextmanager
def later(seconds: float) -> Iterator[None]:
    """So many seconds from now."""
    with mock.patch.object(clock, "now", return_value=clock.now() + timedelta(seconds=seconds)):
        yield


def send_all_due() -> Sender:
    """Let a sender do what can be done now."""
    sender = Sender(wait=lambda _: False)
    sender.run(once=True)
    return sender


def replies(store: Store) -> list[dict[str, Any]]:
    """The rows of replies, in their order."""
    found = [row for row in store.all("MESSAGES") if row.get("direction") == "out"]
    return sorted(found, key=lambda row: row["position"])


def states(store: Store) -> list[str]:
    return [row["state"] for row in replies(store)]


def sent_entries(store: Store, action: str = "reply.send") -> list[dict[str, Any]]:
    """Entries of the trail about replies, with their payloads read."""
    found = [each for each in store.all("AUDIT") if each["action_type"] == action]
    return [
        each | {"payload": json.loads(each["action_payload_redacted"])}
        for each in sorted(found, key=lambda each: each["ts_action_id"])
    ]
