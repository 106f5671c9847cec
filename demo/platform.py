"""The platform's part in the demo: its queues, their messages at the start, and customers who continue to write."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.conf import settings

from console import clock
from console.clock import to_epoch, to_iso
from console.errors import NotFound
from console.store import queues
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import plain_item
from conversations.handoff.locked import is_locked
from conversations.handoff.partitions import QueueState, read_partitions
from conversations.handoff.stored import held_in
from conversations.models import Conversation
from conversations.providers import credentials
from demo import conversations, volume
from demo.conversations import ASSISTANT, DROPPED, NEXT, QUEUED, RAW, STAGED, dialogues, key_of
from demo.dialogues import Dialogue, read
from demo.provider import ACCOUNT, SENDGRID_KEY, TEMPLATE, TOKEN, DemoProvider

logger = logging.getLogger(__name__)

# The attributes of the platform's own queues.
_HANDOFF, _VISIBILITY = "HANDOFF", {"VisibilityTimeout": "3600", "MessageRetentionPeriod": "604800"}
_OUR_ADDRESS = {
    "whatsapp": "gsi_company_whatsapp_number",
    "sms": "gsi_company_sms_number",
    "email": "gsi_company_email",
}
# Seconds until customers write: after somebody took their conversation, then after each of their messages.
PAUSES = ((4.5, 7.0), (20.0, 30.0), (40.0, 60.0))
# Seconds until they write after they were answered.
ANSWERS_AFTER = (5.0, 8.0)
LOOK_EVERY_SECONDS = 1.5
KEPT_STAGED = timedelta(seconds=70)
_LANGUAGE = re.compile(r"Language: (\w+)")

Key = tuple[str, str]


# Recipients that the provider cannot reach, and recipients that opted out, with Twilio's error codes.
UNREACHABLE, OPTED_OUT = {"+447700900038": 63024}, {"+447700900011": 21610}


def create_secrets(endpoint: str, provider: DemoProvider) -> None:
    """Store the companies' credentials in Secrets Manager, and point the sender at it and at the provider."""
    settings.SECRETS_ENDPOINT = endpoint
    settings.SECRET_NAMES = [f"{channel}/*" for channel in conversations.PROVIDERS]
    settings.TWILIO_API_URL = settings.SENDGRID_API_URL = provider.endpoint
    twilio = {"twilio_account_sid": ACCOUNT, "twilio_auth_token": TOKEN, "twilio_template_sid": TEMPLATE}
    for company, project in (*conversations.PROJECTS.values(), volume.SHARED):
        name = f"{company['assistant']} at {company['name']}"
        sendgrid = {"sendgrid_auth_value": SENDGRID_KEY, "sendgrid_from_email": company["email"]}
        for channel in project["channels"]:
            secret = sendgrid | {"sendgrid_from_name": name} if channel == "email" else twilio
            credentials.client().create_secret(
                Name=conversations.credentials_of(company, project, channel), SecretString=json.dumps(secret)
            )


def create_queues(endpoint: str) -> None:
    """Create the platform's queues and the outbox, and point the console at them."""
    settings.SQS_ENDPOINT = endpoint
    settings.OUTBOX_QUEUE_URL = queues.client().create_queue(
        QueueName="outbox-demo.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "60"}
    )["QueueUrl"]
    made = {
        name: queues.client().create_queue(QueueName=f"{name.lower()}-demo", Attributes=_VISIBILITY)["QueueUrl"]
        for name in (_HANDOFF, "WHATSAPP", "SMS", "EMAIL")
    }
    settings.HANDOFF_QUEUE_URL = made.pop(_HANDOFF)
    settings.CHANNEL_QUEUE_URLS = {name.lower(): url for name, url in made.items()}


def queue_urls() -> dict[str, str]:
    """Return the URLs of the queues by name."""
    channels = {channel.upper(): url for channel, url in settings.CHANNEL_QUEUE_URLS.items()}
    return {_HANDOFF: settings.HANDOFF_QUEUE_URL, "OUTBOX": settings.OUTBOX_QUEUE_URL, **channels}


def fill_queue(now: datetime) -> None:
    """Fill the hand-off queue and the stage with the demo's first messages.

    Raises `DialogueError` and the store's errors.
    """
    for dialogue in dialogues():
        said = [turn for turn in dialogue.turns if turn.kind in (QUEUED, STAGED)]
        for number, turn in enumerate(said):
            item = Conversation.get(*key_of(dialogue), consistent_read=True)
            receive = _receive if turn.kind == QUEUED else _stage
            receive(_context(item, turn.words(1)[1], f"{turn.kind} {number}", now - turn.ago))
    for dialogue in read("queue", 2, conversations.HEADERS, {RAW}):
        for content in [turn.json() for turn in dialogue.turns] or [_first_message(dialogue, now)]:
            _send(content)


def fill_provider(provider: DemoProvider, now: datetime) -> None:
    """Let customers send what the platform drops, so that only the provider has it.

    Raises `DialogueError` and the store's errors.
    """
    for dialogue in dialogues():
        dropped = [turn for turn in dialogue.turns if turn.kind == DROPPED]
        for number, turn in enumerate(dropped):
            with suppress(NotFound):
                # A conversation that somebody keeps may be gone by now.
                item = Conversation.get(*key_of(dialogue), consistent_read=True)
                _send_by(provider, _context(item, "", f"dropped {number}", now), turn.words(1)[1], turn.ago)


def _send_by(provider: DemoProvider, content: dict[str, Any], media: str = "", ago: timedelta = timedelta()) -> None:
    """Let the provider receive a message of the demo; it has no list of emails."""
    if content["channel_type"] != "email":
        name, media_types = content["message_sid"], (media,) if media else ()
        provider.receive(content["from"], content["to"], content["body"], media=media_types, ago=ago, name=name)


def _receive(content: dict[str, Any]) -> None:
    """Stage and queue a customer's message for people, as the platform does."""
    _stage(content)
    _send(content)


def _stage(content: dict[str, Any]) -> None:
    """Stage a customer's message, as the platform does before it routes it."""
    fragment = {name: content[name] for name in ("conversation_id", "primary_channel", "body")}
    fragment["message_sid"] = content["email_id" if content["channel_type"] == "email" else "message_sid"]
    fragment["received_at"] = content["received_at"].removesuffix("Z")
    item = {name: {"S": value} for name, value in fragment.items()}
    item["expires_at"] = {"N": str(to_epoch(clock.now() + KEPT_STAGED))}
    call("PutItem", TableName=table_name("CONVERSATIONS_STAGE"), Item=item)


def _send(content: dict[str, Any]) -> None:
    queues.send(settings.HANDOFF_QUEUE_URL, json.dumps(content, default=float, ensure_ascii=False))


def _context(item: Conversation, text: str, name: str, at: datetime) -> dict[str, Any]:
    """Return the context object of a message: the provider's data merged with the whole item."""
    stored = plain_item(item.raw)
    channel, sender = stored["channel_method"], item.primary_channel
    ours = stored.get(_OUR_ADDRESS[channel], "")
    message_id = hashlib.sha256("\n".join((sender, item.conversation_id, name)).encode()).hexdigest()[:32]
    written = {"channel_type": channel, "body": text, "received_at": to_iso(at)}
    if channel == "email":
        address = {"from_address": sender, "to_address": ours, "email_id": f"<{message_id}@mail.example>"}
    else:
        prefix = "whatsapp:" if channel == "whatsapp" else ""
        address = {"from": prefix + sender, "to": prefix + ours, "message_sid": f"SM{message_id}"}
    return stored | written | address


def _first_message(dialogue: Dialogue, now: datetime) -> dict[str, Any]:
    """Return the router's context object of a conversation that has not begun."""
    project_id, request_id = dialogue.words
    company, project = conversations.PROJECTS[project_id]
    channel, names = dialogue.needed("channel"), {"company_id": company["id"], "project_id": project_id}
    request = {"request_id": request_id, "channel_method": channel, "initial_request_timestamp": to_iso(now)}
    person = {k: value for k, value in conversations.recipient_of(dialogue).items() if not k.startswith("gsi_")}
    frontend = {"company_data": names, "recipient_data": {**person, "comms_consent": True}}
    return {
        "metadata": {"router_version": "1.2.0"},
        "frontend_payload": {**frontend, "request_data": request, "project_data": dialogue.json("data")},
        "company_data_payload": {**names, **conversations.configuration(company, project, channel)},
        "conversation_data": {"conversation_id": key_of(dialogue)[1], "channel_method": channel},
    }


def in_languages(kind: str) -> dict[str, list[str]]:
    """Return the lines of a kind in `later.txt` by language. Raises `DialogueError`."""
    found = read("later", 1, (), {NEXT, ASSISTANT})
    return {each.words[0]: [turn.text for turn in each.turns if turn.kind == kind] for each in found}


class Customers:
    """Customers who write to the person who takes their conversation: the next lines of their dialogue.

    `wait` pauses for a number of seconds and returns whether to stop; `provider` has the messages sent to customers.
    """

    def __init__(self, wait: Callable[[float], bool], provider: DemoProvider) -> None:
        self._wait, self._provider, self._began = wait, provider, clock.now()
        self._lines = {key_of(each): [t.text for t in each.turns if t.kind == NEXT] for each in dialogues()}
        self._in_language = in_languages(NEXT)
        self._wrote: dict[Key, tuple[int, datetime]] = {}

    def run(self) -> None:
        """Poll the conversations that people took, until `wait` returns True."""
        while not self._wait(LOOK_EVERY_SECONDS):
            try:
                for key, taken in list(self._taken()):
                    self._look(key, taken, clock.now())
            except Exception as error:
                # Items drift; an error with one customer must not stop the others.
                logger.warning("A customer of the demo could not write: %s", type(error).__name__)

    def _taken(self) -> Iterator[tuple[Key, datetime]]:
        """Yield key and time of each held conversation that was taken since the demo began."""
        held = {each.company_id for each in read_partitions() if each.state == QueueState.HELD}
        for company_id in sorted(held | {each["id"] for each in conversations.COMPANIES}):
            for item in Conversation.hand_off_queue_index.query(held_in(company_id)):
                taken = clock.parse_instant(item.hand_off_taken_at)
                if taken is not None and taken >= self._began:
                    yield (item.primary_channel, item.conversation_id), taken

    def _look(self, key: Key, taken: datetime, now: datetime) -> None:
        number, wrote = self._wrote.get(key, (0, taken))
        since, answered = max(taken, wrote), self._answered(key[0])
        if answered is not None and answered > since:
            since, pause = answered, ANSWERS_AFTER
        elif number < len(PAUSES):
            pause = PAUSES[number]
        else:
            return
        if now < since + timedelta(seconds=Random(f"{key} {number}").uniform(*pause)):  # nosec B311
            return
        self._wrote[key] = number + 1, now
        item = Conversation.get(*key, consistent_read=True)
        lines = self._lines.get(key) or self._in_language.get(language_of(item), [])
        if number < len(lines) and _is_for_people(item):
            content = _context(item, lines[number], f"next {number}", now)
            _send_by(self._provider, content)
            if not is_locked(item.raw):
                # While it is at work, the platform drops what customers write.
                _receive(content)

    def _answered(self, recipient: str) -> datetime | None:
        """Return when the last message was sent to a recipient; None if none was, or if they cannot be reached."""
        sent = [each["at"] for each in self._provider.messages() if each["to"].removeprefix("whatsapp:") == recipient]
        return None if recipient in UNREACHABLE else max(sent, default=None)


def _is_for_people(item: Conversation) -> bool:
    """Return whether the platform would route a reply to people."""
    stored = plain_item(item.raw)
    names = ("auto_queue_reply_message_from_number", "auto_queue_reply_message_from_email")
    listed = [each for name in names for each in stored.get(name) or ()]
    return stored.get("auto_queue_reply_message") is True or item.primary_channel in listed


def language_of(item: Conversation) -> str:
    """Return the language that the assistant's prompt names; "" if none."""
    found = _LANGUAGE.search(json.dumps(item.raw.get("messages", {}).get("L", [])[:1], default=str))
    return found[1] if found else ""
