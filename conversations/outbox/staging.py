"""The platform's stage table as the console writes it: messages for the AI to answer, and the trigger of its service.

The service reads everything that is staged for a conversation. If a trigger finds nothing, it locks the conversation
for ever. So a row that a person has answered is removed, but only if no trigger can be on its way for it.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import plain_item
from conversations.handoff.stored import (
    ROUTED_AT,
    TAKEN_AT,
    Raw,
    goes_to_people,
    is_processing,
    text,
    text_in,
    went_to_people,
)
from conversations.models import Conversation
from conversations.outbox.routing import ROUNDING, skew

STAGE, LOCK = "CONVERSATIONS_STAGE", "CONVERSATIONS_TRIGGER_LOCK"
MILLISECOND = timedelta(milliseconds=1)
# The platform stages a message for about a minute; ours wait for its queue, even if it is busy.
STAGED_FOR = timedelta(hours=1)
# How long the platform's trigger lock stands: it delays a trigger by ten seconds, and gives it a minute.
LOCKED_FOR = timedelta(seconds=70)
# The platform's own trigger has arrived so long after a message was staged.
ARRIVED_AFTER = timedelta(seconds=15)
# Before any message.
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
AT_ONCE = 50


def read_staged(item: Conversation) -> list[Raw]:
    """Return the rows staged for a conversation, as DynamoDB JSON. One strongly consistent Query."""
    answer = call(
        "Query",
        TableName=table_name(STAGE),
        KeyConditionExpression="conversation_id = :id",
        ExpressionAttributeValues={":id": text(item.conversation_id)},
        ConsistentRead=True,
        Limit=AT_ONCE,
    )
    channels = ("", item.primary_channel)
    return [each for each in answer.get("Items", ()) if text_in(each, "primary_channel") in channels]


def stage(messages: Sequence[dict[str, Any]], item: Conversation) -> None:
    """Stage messages as the platform's webhook does (schema platform-replies, 2), in this order. Safe to repeat.

    Times are UTC without a zone; they rise strictly, as the service sorts by them.
    """
    times = [clock.parse_instant(each["received_at"]) for each in messages]
    latest = min(filter(None, times), default=clock.now()) - MILLISECOND
    for each, received_at in zip(messages, times, strict=True):
        latest = max(received_at or latest, latest + MILLISECOND)
        row = {
            "conversation_id": text(item.conversation_id),
            "message_sid": text(each["message_sid"]),
            "primary_channel": text(item.primary_channel),
            "body": text(each["body"]),
            "received_at": text(latest.replace(tzinfo=None).isoformat()),
            "expires_at": {"N": str(clock.to_epoch(clock.now() + STAGED_FOR))},
        }
        call("PutItem", TableName=table_name(STAGE), Item=row)


def routed_since(stored: Raw) -> datetime | None:
    """Return since when the platform routes a customer's messages to people; None if it does not, or it is unknown."""
    if not goes_to_people(stored):
        return None
    return (
        ALWAYS
        if went_to_people(stored)
        else clock.parse_instant(text_in(stored, ROUTED_AT) or text_in(stored, TAKEN_AT))
    )


def remove_staged(item: Conversation, since: datetime | None, until: datetime, known: Collection[str]) -> None:
    """Remove the staged rows of messages to people that are `known` to the transcript, by id, if they are unchanged.

    `since`, `until`: when messages were routed to people, or the time of the answer. Rows that the platform may have
    routed before or after stay, as clocks differ: a trigger may be on its way for them. One Query, and a write for each
    row. Raises the store's errors; safe to repeat.
    """
    if since is None or is_processing(item.raw):
        return
    for row in read_staged(item):
        at = clock.parse_instant(text_in(row, "received_at"))
        if at is None or text_in(row, "message_sid") not in known:
            continue
        if since + skew() < at < until - ROUNDING - skew():
            remove(row)


def remove(row: Raw) -> None:
    """Remove a staged row if it is unchanged. Raises the store's errors."""
    names = [name for name in ("body", "received_at", "expires_at") if name in row]
    with suppress(ConditionFailed):
        call(
            "DeleteItem",
            TableName=table_name(STAGE),
            Key={name: row[name] for name in ("conversation_id", "message_sid")},
            ConditionExpression=" AND ".join(f"#{name} = :{name}" for name in names),
            ExpressionAttributeNames={f"#{name}": name for name in names},
            ExpressionAttributeValues={f":{name}": row[name] for name in names},
        )


def wait_for_trigger(item: Conversation, ours: Collection[str]) -> datetime | None:
    """Return until when the AI must not be triggered, None for now: another trigger may be on its way.

    With the platform's lock table, this takes the lock, as its webhook does, unless one stands that has not expired.
    Without it, none of the platform's rows may be so young that its own trigger has yet to arrive; `ours` are the ids
    of the rows that the console staged. Raises the store's errors.
    """
    now = clock.now()
    if not settings.TABLE_NAMES.get(LOCK):
        times = (
            clock.parse_instant(each["received_at"])
            for each in map(plain_item, read_staged(item))
            if each["message_sid"] not in ours and isinstance(each.get("received_at"), str)
        )
        arrived = max((at + ROUNDING + ARRIVED_AFTER for at in times if at is not None), default=now)
        return arrived if arrived > now else None
    lock = {
        "conversation_id": text(item.conversation_id),
        "expires_at": {"N": str(clock.to_epoch(now + LOCKED_FOR))},
    }
    try:
        call(
            "PutItem",
            TableName=table_name(LOCK),
            Item=lock,
            ConditionExpression="attribute_not_exists(conversation_id) OR expires_at <= :now",
            ExpressionAttributeValues={":now": {"N": str(clock.to_epoch(now))}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ConditionFailed as failed:
        expires_at = plain_item(failed.item or {}).get("expires_at")
        return clock.expiry_of(expires_at) or now + LOCKED_FOR
    return None
