"""Finding the conversation of a customer's message. A sender never reaches another customer's conversation."""

import logging
from collections.abc import Collection

from console import clock
from console.errors import NotFound
from console.store.connection import batch_get
from conversations.models import Conversation
from conversations.reading import is_gone
from conversations.receiving.bodies import InboundMessage, Key, NotUnderstood, address

logger = logging.getLogger(__name__)

# Conversations to read per sender; more than one live conversation is ambiguous anyway.
LOOKED_AT = 20
_KEY = ("primary_channel", "conversation_id")
_INDEXES = {
    "whatsapp": ("whatsapp_reply_index", "gsi_recipient_tel"),
    "sms": ("sms_reply_index", "gsi_recipient_tel"),
    "email": ("email_reply_index", "gsi_recipient_email"),
}


def read_ahead(keys: Collection[Key]) -> dict[Key, Conversation]:
    """Return the complete conversations of these keys, by key. Strongly consistent. Never raises: {} on failure."""
    try:
        found = batch_get("CONVERSATIONS", [dict(zip(_KEY, each, strict=True)) for each in keys], consistent=True)
        items = list(map(Conversation.from_raw_data, found))
    except Exception as error:
        # The error occurs again, and is reported, when the message at fault is handled.
        logger.info("Conversations are read one by one: %s", type(error).__name__)
        return {}
    return {(item.primary_channel, item.conversation_id): item for item in items}


def place(message: InboundMessage, ahead: dict[Key, Conversation]) -> Conversation:
    """Return a message's conversation, complete, strongly consistent. Raises `NotUnderstood` and the store's errors.

    It is found by its key if the message names one, else by our number or address and the sender's, as the platform
    does. A conversation read `ahead` is removed from there: it is current for the first message only.
    """
    item = ahead.pop((message.primary_channel, message.conversation_id), None)
    if item is None:
        item = (
            by_key(message.conversation_id, message.primary_channel, message.sender)
            if message.conversation_id
            else _by_numbers(message)
        )
    if is_gone(item, clock.now()):
        raise NotUnderstood("The conversation has expired.")
    if message.sender and message.sender not in recipients(item):
        raise NotUnderstood("The sender is not the recipient of the conversation that the message names.")
    if not item.company_id:
        raise NotUnderstood("The conversation names no company.")
    return item


def by_key(conversation_id: str, primary_channel: str, sender: str) -> Conversation:
    """Return the conversation of that key; without `primary_channel`, the sender's. Raises `NotUnderstood`."""
    tried = [primary_channel] if primary_channel else _spellings(sender)
    for each in tried:
        try:
            return Conversation.get(each, conversation_id, consistent_read=True)
        except NotFound:
            continue
    raise NotUnderstood("There is no such conversation.")


def _by_numbers(message: InboundMessage) -> Conversation:
    if message.channel not in _INDEXES:
        raise NotUnderstood("The message names neither a conversation nor a known channel.")
    index_name, attribute = _INDEXES[message.channel]
    index = getattr(Conversation, index_name)
    found = {
        (item.primary_channel, item.conversation_id)
        for ours in _spellings(message.ours)
        for sender in _spellings(message.sender)
        for item in index.query(
            ours, getattr(Conversation, attribute) == sender, limit=LOOKED_AT, attributes_to_get=[*_KEY, "ttl"]
        )
        if not is_gone(item, clock.now())
    }
    if len(found) != 1:
        raise NotUnderstood(
            "Several conversations have this sender and number." if found else "No conversation has this sender."
        )
    try:
        return Conversation.get(*found.pop(), consistent_read=True)
    except NotFound as error:
        raise NotUnderstood("There is no such conversation.") from error


def recipients(item: Conversation) -> set[str]:
    """Return the normalised addresses of a conversation's customer."""
    values = (item.primary_channel, item.plain("recipient_tel"), item.plain("recipient_email"))
    return {address(str(value)) for value in values if value}


def _spellings(normalised: str) -> list[str]:
    """Return the spellings in which the platform may have stored an address."""
    if not normalised:
        return []
    return [normalised, normalised.removeprefix("+")] if normalised.startswith("+") else [normalised]
