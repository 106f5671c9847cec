"""Finding the conversation of a customer's message. A sender never reaches another customer's conversation."""

import logging
from collections.abc import Collection, Sequence
from functools import partial
from itertools import product

from console import clock
from console.errors import NotFound
from console.store.calls import is_in_pool, parallel
from console.store.models import SORT_KEY_BYTES, fits
from conversations.converting import hand_off_of, is_gone
from conversations.messages.bodies import InboundMessage, Key, NotUnderstood, address
from conversations.models import Conversation, read_conversations
from conversations.numbers import forms_on, other_form
from conversations.outbox.rows import partition_of

logger = logging.getLogger(__name__)

# Conversations to read per sender.
LOOKED_AT = 20
# What the choice among several conversations depends on.
_RANKED = [
    "primary_channel",
    "conversation_id",
    "ttl",
    "company_id",
    "updated_at",
    "hand_off_to_human",
    "hand_off_agent",
]
_INDEXES = {
    "whatsapp": ("whatsapp_reply_index", "gsi_recipient_tel"),
    "sms": ("sms_reply_index", "gsi_recipient_tel"),
    "email": ("email_reply_index", "gsi_recipient_email"),
}


def read_ahead(keys: Collection[Key]) -> dict[Key, Conversation]:
    """Return the complete conversations of these keys, by key. Strongly consistent. Never raises: {} on failure."""
    try:
        items = read_conversations(keys, consistent=True)
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
    check(item, message)
    if message.sender not in recipients(item) and not is_written_differently(message, item):
        raise NotUnderstood("The sender is not the recipient of the conversation that the message names.")
    return item


def is_written_differently(message: InboundMessage, item: Conversation) -> bool:
    """Return whether a conversation has the sender's number in its other form: on WhatsApp, some countries have two."""
    return (
        message.channel == "whatsapp"
        and message.sender not in ("", *recipients(item))
        and other_form(message.sender) in recipients(item)
    )


def check(item: Conversation, message: InboundMessage) -> None:
    """Raise `NotUnderstood` if a conversation can take no message, or not this one."""
    if is_gone(item, clock.now()):
        raise NotUnderstood("The conversation has expired.")
    if not item.company_id:
        raise NotUnderstood("The conversation names no company.")
    if not fits(partition_of(item.primary_channel, item.conversation_id)):
        raise NotUnderstood("The conversation's key is too long.")
    if message.company_id not in ("", item.company_id):
        raise NotUnderstood("The message's parts name different companies.")


def by_key(conversation_id: str, primary_channel: str, sender: str) -> Conversation:
    """Return the conversation of that key; without `primary_channel`, the sender's. Raises `NotUnderstood`."""
    channels = [primary_channel] if primary_channel else _spellings(sender)
    # DynamoDB refuses to look for what can be no key.
    for each in filter(fits, channels if fits(conversation_id, SORT_KEY_BYTES) else ()):
        try:
            return Conversation.get(each, conversation_id, consistent_read=True)
        except NotFound:
            continue
    raise NotUnderstood("There is no such conversation.")


def _by_numbers(message: InboundMessage) -> Conversation:
    """Return the sender's conversation with our number, as people would choose it: see `_rank`."""
    if message.channel not in _INDEXES:
        raise NotUnderstood("The message names neither a conversation nor a known channel.")
    found = with_sender(message.channel, message.sender, message.ours, message.company_id)
    if not found and message.channel == "whatsapp" and (other := other_form(message.sender)):
        found = with_sender(message.channel, other, message.ours, message.company_id)
        if len(found) > 1:
            raise NotUnderstood("Several conversations have this sender, written differently.")
    if not found:
        raise NotUnderstood("No conversation has this sender.")
    if len({item.company_id for item in found}) > 1:
        raise NotUnderstood("Conversations of several companies have this sender and number.")
    chosen = max(found, key=_rank)
    try:
        return Conversation.get(chosen.primary_channel, chosen.conversation_id, consistent_read=True)
    except NotFound as error:
        raise NotUnderstood("There is no such conversation.") from error


def keys_of(message: InboundMessage) -> list[Key]:
    """Return the keys of all conversations of a sender with our number, in either form of theirs.

    Raises the store's errors.
    """
    found = (
        item
        for form in forms_on(message.channel, message.sender)
        for item in with_sender(message.channel, form, message.ours, message.company_id)
    )
    return list(dict.fromkeys((item.primary_channel, item.conversation_id) for item in found))


def with_sender(
    channel: str, sender: str, ours: str, company: str = "", attributes: Sequence[str] = _RANKED
) -> list[Conversation]:
    """Return a sender's conversations with our number or address, with some attributes; of a company, if given.

    Addresses are normalised. A Query for each of their spellings. Raises the store's errors.
    """
    index_name, attribute = _INDEXES[channel]
    index = getattr(Conversation, index_name)

    def read(number: str, spelling: str) -> list[Conversation]:
        sent_by = getattr(Conversation, attribute) == spelling
        return list(index.query(number, sent_by, limit=LOOKED_AT, attributes_to_get=list(attributes)))

    pairs = product(_spellings(ours), _spellings(sender))
    reads = [partial(read, *pair) for pair in pairs]
    # A receiver handles senders in parallel already.
    found = parallel(*reads) if not is_in_pool() else [each() for each in reads]
    items = [item for items in found for item in items]
    kept = [item for item in items if not is_gone(item, clock.now()) and company in ("", item.company_id)]
    return list({(item.primary_channel, item.conversation_id): item for item in kept}.values())


def _rank(item: Conversation) -> tuple[bool, bool, str]:
    """Rank a conversation: one that a person holds goes before one that waits, that before the latest active one."""
    hand_off = hand_off_of(item)
    updated = clock.parse_instant(item.plain("updated_at"))
    return bool(hand_off.agent), hand_off.flag, clock.to_iso(updated) if updated else ""


def recipients(item: Conversation) -> set[str]:
    """Return the normalised addresses of a conversation's customer."""
    values = (item.primary_channel, item.plain("recipient_tel"), item.plain("recipient_email"))
    return {address(str(value)) for value in values if value}


def _spellings(normalised: str) -> list[str]:
    """Return the spellings in which the platform may have stored an address: none of what can be no key."""
    if not fits(normalised, SORT_KEY_BYTES):
        return []
    return [normalised, normalised.removeprefix("+")] if normalised.startswith("+") else [normalised]
