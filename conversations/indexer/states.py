"""What an item says about its hand-off, and what its attributes in the queue's index must be for that.

No I/O but for the service levels of the company, which each process caches.
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
    BEFORE,
    GONE_WITH_THE_AI,
    LAST_ACTION,
    QUEUE,
    REQUESTED_AT,
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

# DynamoDB refuses a write whose partition key of an index is longer.
LONGEST_KEY_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Marks:
    """The hand-off of an item, read as pages read it. `requested_at` is normalised (ISO, "" where it tells no time)."""

    flag: bool
    agent: str
    last_action: str
    wanted: bool | None
    company_id: str
    requested_at: str


@dataclass(frozen=True, slots=True)
class Repair:
    """What has to change on an item: attributes to set, as DynamoDB JSON, and to remove."""

    values: Raw = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def marks_of(stored: Raw) -> Marks:
    """Read an item, or an image of it, of whatever shape."""
    return Marks(
        flag=flag_in(stored),
        agent=text_in(stored, AGENT),
        last_action=text_in(stored, LAST_ACTION),
        wanted=stored.get(WANTED, {}).get("BOOL"),
        company_id=text_in(stored, "company_id"),
        # Of what needs attention, that time is another.
        requested_at="" if ATTENTION in stored else _normalised(text_in(stored, REQUESTED_AT)),
    )


def platform_time(stored: Raw, otherwise: datetime) -> str:
    """When the platform last wrote the item (ISO): it sets no time of its own with the flag."""
    for attribute in ("updated_at", "created_at"):
        found = clock.parse_instant(plain(stored[attribute])) if attribute in stored else None
        if found is not None:
            return clock.to_iso(found)
    return clock.to_iso(otherwise)


def queue_key(stored: Raw, marks: Marks, now: datetime) -> str:
    """The partition of the queue's index that an item belongs into; "" where it belongs into none."""
    if not (marks.flag or marks.agent) or is_outside(stored, marks, now):
        return ""
    if marks.agent:
        return held_in(marks.company_id)
    return urgent_in(marks.company_id) if comes_first(stored, now) else waiting_in(marks.company_id)


def is_outside(stored: Raw, marks: Marks, now: datetime) -> bool:
    """Whether an item can be in no company's queue: it names no company, or is past its TTL."""
    if is_over(stored, now):
        return True
    return not marks.company_id or len(attention_in(marks.company_id).encode(errors="replace")) > LONGEST_KEY_BYTES


def repair_of(stored: Raw, now: datetime, levels: ServiceLevels | None = None) -> Repair | None:
    """What is wrong with an item's attributes of the index, or with its routing; None for nothing.

    `levels` are its project's service levels, read where None. A time that no one can read is replaced like an absent
    one: it would neither sort nor tell how long somebody waits.
    """
    marks = marks_of(stored)
    urgent: Raw = {}
    if is_open_for_urgency(stored) and not is_outside(stored, marks, now):
        levels = levels or levels_of(marks.company_id, text_in(stored, "project_id"))
        urgent = {URGENT: text(WORDS)} if urgent_by_words(stored, levels) else {}
    key = queue_key(stored | urgent, marks, now)
    values, removed = _routing_repair(stored, marks, now)
    values |= urgent
    if not key:
        outside = is_outside(stored, marks, now)
        wanted = {} if outside else _attention(stored, marks, now, levels)
        # What is said of a time at which people had it ends with that, also where the platform ended it.
        unwanted = (QUEUE, ATTENTION) if outside else (*GONE_WITH_THE_AI, ATTENTION)
        values |= {name: value for name, value in wanted.items() if stored.get(name) != value}
        removed += tuple(attribute for attribute in unwanted if attribute in stored and attribute not in wanted)
        return Repair(values, removed) if values or removed else None
    if stored.get(QUEUE) != text(key):
        values[QUEUE] = text(key)
    if not marks.requested_at:
        values[REQUESTED_AT] = text(platform_time(stored, now))
    removed += (ATTENTION,) if ATTENTION in stored else ()
    return Repair(values, removed) if values or removed else None


def _attention(stored: Raw, marks: Marks, now: datetime, levels: ServiceLevels | None) -> Raw:
    """What the index has of a conversation that the AI has and that needs attention; nothing where none does."""
    levels = levels or levels_of(marks.company_id, text_in(stored, "project_id"))
    found = judge(stored, levels, now)
    if found.cause is None or found.since is None:
        return {}
    return {
        QUEUE: text(attention_in(marks.company_id)),
        REQUESTED_AT: text(clock.to_iso(found.since)),
        ATTENTION: text(found.cause),
    }


def _routing_repair(stored: Raw, marks: Marks, now: datetime) -> tuple[Raw, tuple[str, ...]]:
    """The routing of the state that the item is in. What somebody changed while people had it is theirs."""
    for_people = is_for_people(flag=marks.flag, agent=marks.agent)
    if (for_people and BEFORE in stored) or is_over(stored, now):
        return {}, ()
    return routing_change(stored, for_people=for_people)


def _normalised(value: str) -> str:
    found = clock.parse_instant(value)
    return "" if found is None else clock.to_iso(found)
