"""Ending the lock that a dead worker of the platform left on a conversation that people have.

The platform's webhook refuses everything that the customer of a locked conversation writes, and nobody but the worker
ends a lock. A live worker is done before its limit, and keeps what is staged until it has written its answer.
"""

from datetime import datetime, timedelta

from django.conf import settings

from console import clock
from console.store.calls import TransactionRefused, put_new
from console.store.models import plain_item
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, conversation_trail
from conversations.attention.causes import instant_in
from conversations.attention.levels import ServiceLevels
from conversations.handoff.locked import LOCKED_SINCE
from conversations.handoff.protocol import write_together
from conversations.handoff.stored import (
    AGENT,
    FLAG,
    MESSAGES,
    STATUS,
    Conditions,
    Expression,
    Raw,
    has_people,
    has_stage,
    text,
    text_in,
    update_item,
)
from conversations.models import Conversation
from conversations.outbox.at_work import not_in
from conversations.outbox.routing import ROUNDING, skew
from conversations.outbox.rows import messages_of
from conversations.outbox.staging import read_staged, remove
from conversations.receiving.expired import may_have_expired
from conversations.records import RETRY

TIMER = Actor("timer", "service")
# A worker that has found nothing staged is done by then.
EMPTY_AFTER = timedelta(minutes=1)


def end_dead_lock(stored: Raw, levels: ServiceLevels, now: datetime) -> Raw:
    """End an item's lock if its worker must be dead and people have it; return the item as it is then.

    `stored` was just read, with `LOCKED_SINCE` if it is locked. It is left to the platform to try again (`retry`), with
    one entry in the trail. Staged rows that the transcript has are removed first: no trigger is on its way for them any
    more. Raises the store's errors; safe to repeat.
    """
    since = instant_in(stored, LOCKED_SINCE)
    if since is None or not has_people(stored):
        return stored
    limit = max(levels.stuck_after, timedelta(minutes=settings.PLATFORM_WORKER_MINUTES))
    if now - since >= limit:
        why = "the worker has had its time"
        _remove_taken_in(stored, now - levels.stuck_after)
    elif now - since >= EMPTY_AFTER and _has_nothing_staged(stored, now - limit, now):
        why = "nothing is staged for it"
    else:
        return stored
    return _end(stored, since, why, now)


def _has_nothing_staged(stored: Raw, since: datetime, now: datetime) -> bool:
    """Return whether nothing is staged for a conversation, and TTL has removed nothing since then."""
    item = Conversation.from_raw_data(stored)
    return has_stage() and not read_staged(item) and not may_have_expired(item.conversation_id, since, now)


def _remove_taken_in(stored: Raw, until: datetime) -> None:
    """Remove rows that were staged before then, if the transcript has their words."""
    rows = read_staged(Conversation.from_raw_data(stored)) if has_stage() else []
    if not rows:
        return
    # With all that a transcript consists of.
    item = Conversation.get(stored["primary_channel"]["S"], stored["conversation_id"]["S"], consistent_read=True)
    transcript = messages_of(item, item.raw.get(MESSAGES))
    lacking = {each["message_id"] for each in not_in(transcript, map(plain_item, rows), item)}
    for row in rows:
        at = clock.parse_instant(text_in(row, "received_at"))
        if at is not None and at + ROUNDING + skew() <= until and text_in(row, "message_sid") not in lacking:
            remove(row)


def _end(stored: Raw, since: datetime, why: str, now: datetime) -> Raw:
    """Write the item and its entry together, on condition that the platform and people have left the item alone."""
    conversation_id, primary_channel = stored["conversation_id"]["S"], stored["primary_channel"]["S"]
    change = Expression({STATUS: text(RETRY), "updated_at": text(clock.to_iso(now))})
    conditions = Conditions()
    for attribute in (STATUS, "updated_at", FLAG, AGENT):
        conditions.as_read(attribute, stored)
    update = update_item(primary_channel, conversation_id, change, conditions, returns="")
    payload = {"since": clock.to_iso(since), "because": why}
    trail, company_id = conversation_trail(conversation_id), text_in(stored, "company_id")
    entry = build(TrailEntry(trail, Action.LOCK_ENDED, TIMER, company_id, payload=payload), now)
    writes = [{"Update": update}, put_new("AUDIT", entry.serialize(), "conversation_id")]
    try:
        write_together(writes)
    except TransactionRefused:
        # The worker was alive after all, or somebody has acted: the next timer judges that.
        return stored
    return {name: value for name, value in stored.items() if name != LOCKED_SINCE} | change.values
