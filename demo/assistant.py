"""The platform's AI in the demo: it answers what a person leaves to it, within seconds."""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.errors import NotFound
from console.store import queues
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import plain_item, sendable
from conversations.models import Conversation
from conversations.outbox.staging import read_staged
from conversations.records import LOCKED
from demo.conversations import ASSISTANT
from demo.platform import Key, in_languages, language_of

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.5
# How long an answer takes.
THINKS_FOR = timedelta(seconds=5)
ANSWERED, DEFAULT_LANGUAGE = "reply_sent", "English"


class Assistant:
    """The service behind the channels' queues: it locks a conversation, and answers everything that is staged for it.

    `wait` pauses for a number of seconds and returns whether to stop.
    """

    def __init__(self, wait: Callable[[float], bool]) -> None:
        self._wait, self._answers = wait, in_languages(ASSISTANT)
        self._due: dict[Key, datetime] = {}

    def run(self) -> None:
        """Answer until `wait` returns True."""
        while not self._wait(LOOK_EVERY_SECONDS):
            try:
                self._look(clock.now())
            except Exception as error:
                # Items drift; an error with one conversation must not stop the others.
                logger.warning("The AI of the demo could not answer: %s", type(error).__name__)

    def _look(self, now: datetime) -> None:
        for url in settings.CHANNEL_QUEUE_URLS.values():
            found = queues.receive(url, wait=0)
            for each in found:
                if (key := _key_in(each.body)) is not None and key not in self._due:
                    _write(key, {"conversation_status": {"S": LOCKED}})
                    self._due[key] = now + THINKS_FOR
            queues.delete(url, found)
        for key in [each for each, at in self._due.items() if at <= now]:
            del self._due[key]
            self._answer(key, now)

    def _answer(self, key: Key, now: datetime) -> None:
        """Write the staged words and an answer to the item, as the platform does, and remove what was staged."""
        try:
            item = Conversation.get(*key, consistent_read=True)
        except NotFound:
            return
        staged = sorted(read_staged(item), key=lambda each: str(plain_item(each).get("received_at")))
        said = [plain_item(each) for each in staged]
        at = clock.to_iso(now)
        changes: dict[str, Any] = {"conversation_status": {"S": ANSWERED}}
        if said:
            answers = self._answers.get(language_of(item)) or self._answers[DEFAULT_LANGUAGE]
            words = "\n".join(str(each["body"]) for each in said)
            entries = [
                {"message_id": said[0]["message_sid"], "role": "user", "content": words, "timestamp": at},
                {"entry_id": f"answer-{at}", "message_timestamp": at, "role": "assistant", "content": answers[0]},
            ]
            changes |= {"messages": _with(item, entries), "updated_at": {"S": at}}
        _write(key, changes)
        for each in staged:
            name = {part: each[part] for part in ("conversation_id", "message_sid")}
            call("DeleteItem", TableName=table_name("CONVERSATIONS_STAGE"), Key=name)


def _key_in(body: str) -> Key | None:
    """Return the conversation that a trigger names; None for anything else, such as an approved first message."""
    told = json.loads(body)
    key = told.get("primary_channel"), told.get("conversation_id")
    return (str(key[0]), str(key[1])) if all(key) else None


def _with(item: Conversation, entries: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return an item's messages with further ones, as DynamoDB JSON, in the form that they are stored in."""
    stored = item.raw.get("messages", {"L": []})
    if "S" in stored:
        return {"S": json.dumps([*json.loads(stored["S"]), *entries], ensure_ascii=False)}
    added = [{"M": {name: {"S": value} for name, value in each.items()}} for each in entries]
    return {"L": [*(sendable(each) for each in stored.get("L", ())), *added]}


def _write(key: Key, changes: dict[str, Any]) -> None:
    """Set attributes of a conversation, if it exists."""
    names = {f"#{number}": name for number, name in enumerate(changes)}
    try:
        call(
            "UpdateItem",
            TableName=table_name("CONVERSATIONS"),
            Key={"primary_channel": {"S": key[0]}, "conversation_id": {"S": key[1]}},
            UpdateExpression="SET " + ", ".join(f"{name} = :{name[1:]}" for name in names),
            ConditionExpression="attribute_exists(primary_channel)",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={f":{name[1:]}": changes[attribute] for name, attribute in names.items()},
        )
    except ConditionFailed:
        logger.info("The demo's conversation is gone.")
