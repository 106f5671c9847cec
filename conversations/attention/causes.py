"""Why a conversation needs a person's attention, since when, and when to look at it again. No I/O.

For conversations that the AI has, the cause is stored on the item, where the queue's index contains it. For those that
people have, it is derived from each row.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from console import clock
from console.store.models import plain
from conversations.attention.hours import add_business_time
from conversations.attention.levels import ServiceLevels
from conversations.handoff.locked import LOCKED_SINCE, is_locked
from conversations.handoff.stored import (
    AGENT,
    ANSWERED_AT,
    ATTENTION,
    HEARD_AT,
    LEFT_AT,
    NO_ANSWER_AT,
    OWED_AT,
    REPLY_FAILED_AT,
    REQUESTED_AT,
    STATUS,
    TAKEN_AT,
    TO_AI_AT,
    UNANSWERED_AT,
    Raw,
    flag_in,
    has_people,
    is_over,
    is_urgent,
    text_in,
)
from conversations.messages.message import StoredMessages
from conversations.records import Family, can_get_stuck, family_of


class Cause(StrEnum):
    """A cause for attention. Its value is what an item stores."""

    FAILED = "failed"
    STUCK = "stuck"
    UNANSWERED = "unanswered"
    REPLY_FAILED = "reply_failed"
    EXPIRING = "expiring"
    OVERRIDDEN = "overridden"

    @property
    def label(self) -> str:
        """The cause in words."""
        return _LABELS[self]


_LABELS = {
    Cause.FAILED: "AI failed",
    Cause.STUCK: "AI is stuck",
    Cause.UNANSWERED: "nobody answered",
    Cause.REPLY_FAILED: "reply not delivered",
    Cause.EXPIRING: "expires soon",
    Cause.OVERRIDDEN: "overridden",
}
# How long before its expiry a conversation that wants a person needs attention.
EXPIRES_WITHIN = timedelta(days=1)
# An older cause seen for the first time is history, not work: a first sweep covers years of conversations.
OLDEST = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The cause that applies and since when, None for none. `again_at`: when time alone may change that."""

    cause: Cause | None = None
    since: datetime | None = None
    again_at: datetime | None = None


def judge(stored: Raw, levels: ServiceLevels, now: datetime) -> Judgement:
    """Judge a conversation that the AI has. `stored` needs all attributes that a cause depends on."""
    if has_people(stored) or is_over(stored, now):
        return Judgement()
    known = ATTENTION in stored
    due = [each for each in _dues(stored, levels) if known or now - each[2] <= OLDEST]
    found = next(((cause, since) for cause, since, at in due if at <= now), None)
    again_at = min((at for _, _, at in due if at > now), default=None)
    return Judgement(found[0], found[1], again_at) if found else Judgement(again_at=again_at)


def _dues(stored: Raw, levels: ServiceLevels) -> list[tuple[Cause, datetime, datetime]]:
    """Return each present or future cause, the gravest first: cause, since when, and from when it counts."""
    status, changed = text_in(stored, STATUS), _changed_at(stored)
    left, to_ai = instant_in(stored, LEFT_AT), instant_in(stored, TO_AI_AT)
    found: list[tuple[Cause, datetime, datetime]] = []
    at_work = instant_in(stored, LOCKED_SINCE) if is_locked(stored) else changed
    if changed is not None and (left is None or changed > left) and family_of(status) is Family.FAILED:
        # A failure from before it was returned to the AI is no news: the AI has not tried since.
        if to_ai is None or changed > to_ai:
            found.append((Cause.FAILED, changed, changed))
    elif at_work is not None and (left is None or at_work > left) and can_get_stuck(status):
        found.append((Cause.STUCK, at_work, at_work + levels.stuck_after))
    # A return to the AI sets both times; a dismissal only one.
    dismissed = None if to_ai is not None and left is not None and to_ai >= left else left
    if (spoke := _unanswered_since(stored, status)) is not None and (dismissed is None or spoke > dismissed):
        since = max(filter(None, (spoke, to_ai)))
        found.append((Cause.UNANSWERED, spoke, since + levels.unanswered_after))
    return found


def _unanswered_since(stored: Raw, status: str) -> datetime | None:
    """Return since when the customer's last messages are unanswered, None if they are answered."""
    messages = StoredMessages.of(stored.get("messages")).excused(instant_in(stored, NO_ANSWER_AT))
    changed, to_ai, owed = _changed_at(stored), instant_in(stored, TO_AI_AT), instant_in(stored, OWED_AT)
    first = messages.first_unanswered
    if owed is not None and (LEFT_AT not in stored or not messages.answers_since(to_ai or owed)):
        return owed
    # People returned it since the platform was done with it.
    is_back = changed is not None and to_ai is not None and changed <= to_ai
    if not first or (family_of(status) is Family.DONE and not is_back):
        return None
    return messages.at(first) or changed


def _changed_at(stored: Raw) -> datetime | None:
    """Return when the platform last wrote an item."""
    return instant_in(stored, "updated_at") or instant_in(stored, "created_at")


def instant_in(stored: Raw, name: str) -> datetime | None:
    """Return an attribute's instant, None if it is absent or invalid."""
    return clock.parse_instant(plain(stored[name])) if name in stored else None


def expires_at(stored: Raw) -> datetime | None:
    """Return when DynamoDB may remove an item, None for never."""
    return clock.expiry_of(plain(stored["ttl"])) if "ttl" in stored else None


def causes_of(stored: Raw, now: datetime) -> tuple[Cause, ...]:
    """Return the causes of a conversation in any hand-off state, as its row in the index shows them."""
    if has_people(stored):
        return causes_while_with_people(stored, now)
    cause = text_in(stored, ATTENTION)
    return (Cause(cause),) if cause in set(Cause) else ()


def cause_since(cause: Cause, stored: Raw) -> datetime | None:
    """Return since when a cause applies, according to the row in the index; None if unknown.

    The platform notes no time when it overrides a decision: it did so at its last write, or earlier.
    """
    match cause:
        case Cause.REPLY_FAILED:
            return instant_in(stored, REPLY_FAILED_AT)
        case Cause.OVERRIDDEN:
            return _changed_at(stored)
        case Cause.EXPIRING:
            expires = expires_at(stored)
            return None if expires is None else expires - EXPIRES_WITHIN
    return instant_in(stored, REQUESTED_AT)


def comes_first(stored: Raw, now: datetime) -> bool:
    """Return whether an item comes first in the queue: it is marked urgent, or expires within a day."""
    return is_urgent(stored) or Cause.EXPIRING in causes_while_with_people(stored, now)


def causes_while_with_people(stored: Raw, now: datetime) -> tuple[Cause, ...]:
    """Return the causes of a conversation that people have or are wanted for, as its row in the index shows them."""
    flag, agent = flag_in(stored), text_in(stored, AGENT)
    if not flag and not agent:
        return ()
    expires = expires_at(stored)
    return (
        *((Cause.OVERRIDDEN,) if agent and not flag else ()),
        *((Cause.REPLY_FAILED,) if REPLY_FAILED_AT in stored else ()),
        *((Cause.EXPIRING,) if expires is not None and expires - now <= EXPIRES_WITHIN else ()),
    )


@dataclass(frozen=True, slots=True)
class AwaitedAnswer:
    """The answer that a customer awaits from people. `since`: when the wait began, None if nothing is awaited.

    `due_at`: when people mean to answer by, None without a target. `is_first`: nobody has answered yet.
    """

    since: datetime | None = None
    due_at: datetime | None = None
    is_first: bool = True

    def is_missed(self, now: datetime) -> bool:
        """Return whether the target is missed."""
        return self.due_at is not None and now >= self.due_at


def answer_in(stored: Raw, levels: ServiceLevels) -> AwaitedAnswer:
    """Return since when a customer waits for a person's answer, and by when it is due."""
    if not has_people(stored):
        return AwaitedAnswer()
    asked, answered = instant_in(stored, REQUESTED_AT), instant_in(stored, ANSWERED_AT)
    # An answer before the latest request does not count for it.
    is_first = answered is None or (asked is not None and answered < asked)
    since = asked
    if answered is not None and not is_first:
        unanswered = (instant_in(stored, name) for name in (UNANSWERED_AT, HEARD_AT))
        since = next((each for each in unanswered if each is not None and each > answered), None)
    target = levels.first_answer if is_first else levels.next_answer
    due_at = None if since is None or target is None else add_business_time(since, target, levels.hours)
    return AwaitedAnswer(since, due_at, is_first)


def is_awaited(stored: Raw) -> bool:
    """Return whether the customer of a held conversation has written since it was taken or answered."""
    heard, taken = instant_in(stored, HEARD_AT), instant_in(stored, TAKEN_AT)
    answered = instant_in(stored, ANSWERED_AT)
    return heard is not None and all(each is None or heard > each for each in (taken, answered))


def return_at(stored: Raw, levels: ServiceLevels) -> datetime | None:
    """Return when a conversation goes back to waiting because its holder is silent, None for never."""
    taken, is_held = instant_in(stored, TAKEN_AT), bool(text_in(stored, AGENT)) and flag_in(stored)
    if levels.return_after is None or taken is None or not is_held:
        return None
    since = answer_in(stored, levels).since
    return None if since is None else add_business_time(max(since, taken), levels.return_after, levels.hours)
