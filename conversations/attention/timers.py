"""Timers: look at a conversation again when time alone may have changed what it needs.

A timer is an item of the console's own table: `pk = DUE#{minute}`, `sk = {instant}#{digest of the key}`, with the
conversation's key. The process that finds it due reads the conversation again and judges its current state, so an
outdated or repeated timer does no harm.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.store.calls import table_name
from console.store.connection import call
from conversations.handoff.stored import Raw, text

# A minute is read again for this long after it has ended: clocks differ, and writers can be delayed.
GRACE = timedelta(minutes=2)
KEPT = timedelta(days=3)
# Later times get a timer for the next look, so that none outlives its conversation, whose number it has, by more.
AT_MOST_AHEAD = timedelta(days=1)
# Timers per read.
TIMERS_AT_ONCE = 200


def set_timer(key: Raw, at: datetime) -> None:
    """Have a conversation looked at from `at` on, immediately if that is past, and in a day if it is later.

    Raises the store's errors.
    """
    named = "\n".join((key["primary_channel"]["S"], key["conversation_id"]["S"]))
    digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:24]
    while True:
        at = min(max(at, clock.now()), clock.now() + AT_MOST_AHEAD)
        item = {
            "pk": text(partition_of(at)),
            "sk": text(f"{clock.to_iso(at)}#{digest}"),
            "primary_channel": key["primary_channel"],
            "conversation_id": key["conversation_id"],
            "expires_at": {"N": str(clock.to_epoch(at + KEPT))},
        }
        call("PutItem", TableName=table_name("CONSOLE"), Item=item)
        # A delayed write may have set the timer in a minute that is no longer read: set it again.
        if clock.now() < at + GRACE:
            return


def partition_of(at: datetime) -> str:
    """Return the partition of a minute's timers."""
    return f"DUE#{clock.to_iso(at, 'minutes')[:16]}"


def due_timers(minute: datetime, now: datetime) -> Iterator[Raw]:
    """Yield a minute's due timers, as stored. Strongly consistent. Raises the store's errors."""
    request: dict[str, Any] = {
        "TableName": table_name("CONSOLE"),
        "KeyConditionExpression": "pk = :pk AND sk <= :now",
        "ExpressionAttributeValues": {":pk": text(partition_of(minute)), ":now": text(f"{clock.to_iso(now)}~")},
        "ConsistentRead": True,
        "Limit": TIMERS_AT_ONCE,
    }
    while True:
        answer = call("Query", **request)
        yield from answer["Items"]
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last
