"""The hand-off state of an item, and the attributes that it needs in the queue's index.

No I/O except for the company's service levels, which each process caches.
"""

from dataclasses import dataclass, field
from datetime import datetime

from console import clock
from console.store.models import plain
from conversations.attention.causes import comes_first, judge
from conversations.attention.levels import ServiceLevels, levels_of
from conversations.attention.urgency import WORDS, is_open_for_urgency, urgent_by_words
from conversations.handoff.stored import (
    AGENT,
    ATTENTION,
    GONE_WITH_THE_AI,
    LAST_ACTION,
    QUEUE,
    REQUESTED_AT,
    ROUTING_BEFORE,
    URGENT,
    WANTED,
    Raw,
    attention_in,
    flag_in,
    held_in,
    is_for_people,
    is_over,
    routing_change,
    text,
    text_in,
    urgent_in,
    waiting_in,
)

# DynamoDB refuses a write if the partition key of an index is longer.
LONGEST_KEY_BYTES = 2048


@dataclass(frozen=True, slots=True)
class HandOffMarks:
    """The hand-off attributes of an item, read as pages read them. `requested_at` is ISO, "" if absent or invalid."""

    flag: bool
    agent: str
    last_action: str
    wanted: bool | None
    company_id: str
    requested_at: str


@dataclass(frozen=True, slots=True)
class Repair:
    """The changes an item needs: attributes to set, as DynamoDB JSON, and attributes to remove."""

    values: Raw = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def hand_off_marks(stored: Raw) -> HandOffMarks:
    """Read the marks of an item, or an image of it, of any shape."""
    return HandOffMarks(
        flag=flag_in(stored),
        agent=text_in(stored, AGENT),
        last_action=text_in(stored, LAST_ACTION),
        wanted=stored.get(WANTED, {}).get("BOOL"),
        company_id=text_in(stored, "company_id"),
        # On an item that needs attention, the attribute is the time of its cause.
        requested_at="" if ATTENTION in stored else _normalised(text_in(stored, REQUESTED_AT)),
    )


def platform_time(stored: Raw, otherwise: datetime) -> str:
    """Return when the platform last wrote the item (ISO): it stores no separate time with the flag."""
    for attribute in ("updated_at", "created_at"):
        found = clock.parse_instant(plain(stored[attribute])) if attribute in stored else None
        if found is not None:
            return clock.to_iso(found)
    return clock.to_iso(otherwise)


def queue_key(stored: Raw, marks: HandOffMarks, now: datetime) -> str:
    """Return the item's partition in the queue's index, "" for none."""
    if not (marks.flag or marks.agent) or is_outside(stored, marks, now):
        return ""
    if marks.agent:
        return held_in(marks.company_id)
    return urgent_in(marks.company_id) if comes_first(stored, now) else waiting_in(marks.company_id)


def is_outside(stored: Raw, marks: HandOffMarks, now: datetime) -> bool:
    """Return whether an item cannot be in a queue: it has no company, one too long for a key, or has expired."""
    if is_over(stored, now):
        return True
    return not marks.company_id or len(attention_in(marks.company_id).encode(errors="replace")) > LONGEST_KEY_BYTES


def repair_of(stored: Raw, now: datetime, levels: ServiceLevels | None = None) -> Repair | None:
    """Return the repair of an item's index attributes and routing, None if nothing is wrong.

    `levels` are its project's service levels, read if None. An unreadable time is replaced like an absent one: it would
    neither sort nor show how long somebody has waited.
    """
    marks = hand_off_marks(stored)
    urgent: Raw = {}
    if is_open_for_urgency(stored) and not is_outside(stored, marks, now):
        levels = levels or levels_of(marks.company_id, text_in(stored, "project_id"))
        urgent = {URGENT: text(WORDS)} if urgent_by_words(stored, levels) else {}
    key = queue_key(stored | urgent, marks, now)
    values, removed = _routing_repair(stored, marks, now)
    values |= urgent
    if key:
        if stored.get(QUEUE) != text(key):
            values[QUEUE] = text(key)
        if not marks.requested_at:
            values[REQUESTED_AT] = text(platform_time(stored, now))
        removed += (ATTENTION,) if ATTENTION in stored else ()
    else:
        outside = is_outside(stored, marks, now)
        wanted = {} if outside else _attention(stored, marks, now, levels)
        # Attributes about the time people had it end with that time, even if the platform ended it.
        unwanted = (QUEUE, ATTENTION) if outside else (*GONE_WITH_THE_AI, ATTENTION)
        values |= {name: value for name, value in wanted.items() if stored.get(name) != value}
        removed += tuple(attribute for attribute in unwanted if attribute in stored and attribute not in wanted)
    return Repair(values, removed) if values or removed else None


def _attention(stored: Raw, marks: HandOffMarks, now: datetime, levels: ServiceLevels | None) -> Raw:
    """Return the index attributes of a conversation that the AI has and that needs attention, {} if it needs none."""
    levels = levels or levels_of(marks.company_id, text_in(stored, "project_id"))
    found = judge(stored, levels, now)
    if found.cause is None or found.since is None:
        return {}
    return {
        QUEUE: text(attention_in(marks.company_id)),
        REQUESTED_AT: text(clock.to_iso(found.since)),
        ATTENTION: text(found.cause),
    }


def _routing_repair(stored: Raw, marks: HandOffMarks, now: datetime) -> tuple[Raw, tuple[str, ...]]:
    """Return the routing for the item's state. Changes made while people have it are left alone."""
    for_people = is_for_people(flag=marks.flag, agent=marks.agent)
    if (for_people and ROUTING_BEFORE in stored) or is_over(stored, now):
        return {}, ()
    return routing_change(stored, for_people=for_people)


def _normalised(value: str) -> str:
    found = clock.parse_instant(value)
    return "" if found is None else clock.to_iso(found)
