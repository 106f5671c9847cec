"""Timers: look at a conversation again when time alone may have changed what it needs.

A timer is an item of the console's own table: `pk = DUE#{minute}`, `sk = {instant}#{digest of the key}`, with the
conversation's key. The process that finds it due reads the conversation again and judges its current state, so an
outdated or repeated timer does no harm.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from pynamodb.attributes import UnicodeAttribute

from console import clock
from console.store.models import LenientItem, WholeNumberAttribute
from conversations.handoff.stored import Raw

# A minute is read again for this long after it has ended: clocks differ, and writers can be delayed.
GRACE = timedelta(minutes=2)
KEPT = timedelta(days=3)
# Later times get a timer for the next look, so that none outlives its conversation, whose number it has, by more.
AT_MOST_AHEAD = timedelta(days=1)
# Timers per read.
TIMERS_AT_ONCE = 200


class Timer(LenientItem):
    """When to look at a conversation, whose key it has."""

    primary_channel = UnicodeAttribute()
    conversation_id = UnicodeAttribute()
    expires_at = WholeNumberAttribute(null=True)


def set_timer(key: Raw, at: datetime) -> None:
    """Have a conversation looked at from `at` on, immediately if that is past, and in a day if it is later.

    Raises the store's errors.
    """
    named = "\n".join((key["primary_channel"]["S"], key["conversation_id"]["S"]))
    digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:24]
    while True:
        at = min(max(at, clock.now()), clock.now() + AT_MOST_AHEAD)
        Timer(
            partition_of(at),
            f"{clock.to_iso(at)}#{digest}",
            primary_channel=key["primary_channel"]["S"],
            conversation_id=key["conversation_id"]["S"],
            expires_at=clock.to_epoch(at + KEPT),
        ).save()
        # A delayed write may have set the timer in a minute that is no longer read: set it again.
        if clock.now() < at + GRACE:
            return


def partition_of(at: datetime) -> str:
    """Return the partition of a minute's timers."""
    return f"DUE#{clock.to_iso(at, 'minutes')[:16]}"


def due_timers(minute: datetime, now: datetime) -> Iterator[Timer]:
    """Yield a minute's due timers. Strongly consistent. Raises the store's errors."""
    is_due = Timer.sk <= f"{clock.to_iso(now)}~"
    yield from Timer.query(partition_of(minute), is_due, consistent_read=True, page_size=TIMERS_AT_ONCE)
