"""What the platform is still doing for a conversation: its lock, and the words that its AI has not taken.

A customer's words are in the stage table from when the platform gets them until the AI has answered, and nowhere else.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console import clock
from console.errors import ConsoleError
from console.store.models import plain_item
from conversations.converting import appended_ids, channel_of, names_of
from conversations.handoff.locked import is_locked
from conversations.handoff.stored import has_stage, text_in
from conversations.messages.bodies import digits_of, staged_message
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.outbox.merged import AwaitedWords, held_by_platform
from conversations.outbox.rows import TO_AWAIT, TO_CHECK, MessageRow
from conversations.outbox.staging import read_staged
from conversations.records import Message

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlatformWork:
    """The platform's work on a conversation. `is_locked`: it refuses the customer's messages.

    `may_answer`: the AI may still answer, even though people have the conversation. `words` are what the customer wrote
    to the AI and no transcript has.
    """

    is_locked: bool = False
    may_answer: bool = False
    words: StoredMessages = field(default_factory=StoredMessages)

    @property
    def heard_at(self) -> datetime | None:
        """When the customer wrote the latest of these words, None for no words."""
        return self.words.last_by_customer

    def messages(self, *, raw: bool) -> list[Message]:
        """Return the words as messages, oldest first, redacted unless `raw`."""
        return [self.words.message(number, raw=raw, whole=False) for number in range(1, len(self.words) + 1)]


def work_on(item: Conversation, transcript: StoredMessages, rows: Iterable[MessageRow]) -> PlatformWork:
    """Return the platform's work on a conversation, given its `transcript` and the rows of our table.

    One Query of the stage while the platform has locked the conversation, or a row says that words are staged; none
    otherwise. A failure of it is logged: nobody then promises that the AI is silent.
    """
    locked, known = is_locked(item.raw), [row for row in rows if says_staged(row)]
    if not locked and not known:
        return PlatformWork()
    if not has_stage():
        return PlatformWork(locked, may_answer=True)
    try:
        staged = {str(each["message_sid"]): each for each in map(plain_item, read_staged(item))}
    except ConsoleError as error:
        logger.warning("What is staged for the AI could not be read: %s", type(error).__name__)
        return PlatformWork(locked, may_answer=True)
    found = not_in(transcript, staged.values(), item)
    in_doubt = any(row.message_id in staged for row in known if row.doubt)
    words = StoredMessages(found, names=names_of(item))
    return PlatformWork(locked, may_answer=locked or in_doubt or bool(found), words=words)


def may_still_answer(item: Conversation, rows: Iterable[MessageRow]) -> bool:
    """Return whether the AI may still answer, as far as an item and the rows of our table tell. No I/O."""
    return is_locked(item.raw) or any(map(says_staged, rows))


def latest_staged(item: Conversation) -> datetime | None:
    """Return when the customer wrote the latest words that are staged, None for none.

    One Query; a failure is logged.
    """
    try:
        rows = read_staged(item) if has_stage() else []
    except ConsoleError as error:
        logger.warning("What is staged for the AI could not be read: %s", type(error).__name__)
        return None
    return max(filter(None, (clock.parse_instant(text_in(each, "received_at")) for each in rows)), default=None)


def _entry_of(fragment: dict[str, Any], item: Conversation) -> dict[str, Any]:
    """Return a staged row as an entry of `messages`."""
    message = staged_message(fragment, (item.primary_channel, item.conversation_id), channel_of(item), "")
    at = clock.parse_instant(message.received_at) or clock.now()
    return {
        "message_id": message.message_id,
        "timestamp": clock.to_iso(at),
        "role": "user",
        "content": message.content,
    }


def not_in(transcript: StoredMessages, fragments: Iterable[dict[str, Any]], item: Conversation) -> list[dict[str, Any]]:
    """Return those staged rows whose words a conversation's transcript lacks, as entries of `messages`, oldest first.

    An edit has the id of what it replaces.
    """
    found = sorted((_entry_of(each, item) for each in fragments), key=lambda each: str(each["timestamp"]))
    ids, ours = transcript.ids, appended_ids(item)
    awaited = [
        AwaitedWords(each["message_id"], clock.parse_instant(each["timestamp"]) or clock.now(), each["content"])
        for each in found
    ]
    merged = held_by_platform(awaited, transcript, ours)
    return [
        each
        for each in found
        if not {each["message_id"], f"{each['message_id']}:{digits_of(each['content'])}"} & (ids | merged)
    ]


def says_staged(row: MessageRow) -> bool:
    """Return whether a row says that words are staged which the AI may still answer."""
    return row.gsi_due in (TO_CHECK, TO_AWAIT)
