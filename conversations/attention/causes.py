"""Why a conversation needs a person's attention, since when, and when to look at it again. No I/O.

Of conversations that the AI has, the cause is kept on the item, where the queue's index finds it. Of those that people
have, every row tells it by itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from console import clock
from console.store.models import plain
from conversations.attention.hours import after
from conversations.attention.levels import ServiceLevels
from conversations.handoff.stored import (
    AGENT,
    ANSWERED_AT,
    ATTENTION,
    HEARD_AT,
    LEFT_AT,
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
from conversations.messages import StoredMessages
from conversations.records import Family, can_get_stuck, family_of


class Cause(StrEnum):
    """Why. Its value is how an item has it."""

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
# Before what wants a person is gone, somebody should look.
EXPIRES_WITHIN = timedelta(days=1)
# What is older when it is first seen is history, not work: a first sweep goes through years of conversations.
OLDEST = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`cause` and `since` when: None for none. `again_at`: when time alone may change that."""

    cause: Cause | None = None
    since: datetime | None = None
    again_at: datetime | None = None


def judge(stored: Raw, levels: ServiceLevels, now: datetime) -> Judgement:
    """Judge a conversation that the AI has, as stored, whole but for what no cause depends on."""
    if has_people(stored) or is_over(stored, now):
        return Judgement()
    known = ATTENTION in stored
    due = [each for each in _dues(stored, levels) if known or now - each[1] <= OLDEST]
    found = next(((cause, since) for cause, since, at in due if at <= now), None)
    again_at = min((at for _, _, at in due if at > now), default=None)
    return Judgement(found[0], found[1], again_at) if found else Judgement(again_at=again_at)


def _dues(stored: Raw, levels: ServiceLevels) -> list[tuple[Cause, datetime, datetime]]:
    """Every cause that there is or may come, the gravest first: since when, and when it counts."""
    status, changed = _plain_text(stored, STATUS), _changed_at(stored)
    left, to_ai = instant_in(stored, LEFT_AT), instant_in(stored, TO_AI_AT)
    found: list[tuple[Cause, datetime, datetime]] = []
    if changed is not None and (left is None or changed > left):
        if family_of(status) is Family.FAILED:
            # What it failed at before somebody let it answer is no news: it has not tried since.
            if to_ai is None or changed > to_ai:
                found.append((Cause.FAILED, changed, changed))
        elif can_get_stuck(status):
            found.append((Cause.STUCK, changed, changed + levels.stuck_after))
    if (spoke := _unanswered_since(stored, status)) is not None and (left is None or spoke > left):
        since = max(filter(None, (spoke, to_ai)))
        found.append((Cause.UNANSWERED, spoke, since + levels.unanswered_after))
    return found


def _unanswered_since(stored: Raw, status: str) -> datetime | None:
    """Since when the customer's last words stand there without an answer; None where they do not."""
    if family_of(status) is Family.DONE:
        return None
    messages = StoredMessages.of(stored.get("messages"))
    first = messages.first_unanswered
    if not first:
        return None
    return messages.at(first) or _changed_at(stored)


def _changed_at(stored: Raw) -> datetime | None:
    """When the platform last wrote an item."""
    found = (instant_in(stored, name) for name in ("updated_at", "created_at"))
    return next((each for each in found if each is not None), None)


def _plain_text(stored: Raw, name: str) -> str:
    value = plain(stored[name]) if name in stored else None
    return value if isinstance(value, str) else ""


def instant_in(stored: Raw, name: str) -> datetime | None:
    """An attribute's instant; None where it is absent or tells none."""
    return clock.parse_instant(plain(stored[name])) if name in stored else None


def expires_at(stored: Raw) -> datetime | None:
    """When DynamoDB may remove an item; None for never."""
    return clock.expiry_of(plain(stored["ttl"])) if "ttl" in stored else None


def causes_of(stored: Raw, now: datetime) -> tuple[Cause, ...]:
    """What needs attention in a conversation, as its row in the index has it, whoever has it."""
    if has_people(stored):
        return of_people(stored, now)
    cause = text_in(stored, ATTENTION)
    return (Cause(cause),) if cause in set(Cause) else ()


def cause_since(cause: Cause, stored: Raw) -> datetime | None:
    """Since when a cause is there, as far as the row in the index tells; None where it does not.

    The platform notes no time when it overrides a decision: that was at its last write, or before.
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
    """Whether what waits comes before all else: what is gone within a day is as urgent as what somebody said is."""
    return is_urgent(stored) or Cause.EXPIRING in of_people(stored, now)


def of_people(stored: Raw, now: datetime) -> tuple[Cause, ...]:
    """What needs attention in a conversation that people have or wait for, as its row in the index has it."""
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
class Answer:
    """What a customer waits for in a conversation that people have or are wanted for. `since`: None while nothing is.

    `due_at` is by when people mean to answer; None without a target. `is_first`: nobody has answered yet.
    """

    since: datetime | None = None
    due_at: datetime | None = None
    is_first: bool = True

    def is_missed(self, now: datetime) -> bool:
        """Whether the target is missed."""
        return self.due_at is not None and now >= self.due_at


def answer_in(stored: Raw, levels: ServiceLevels) -> Answer:
    """Return since when a customer waits for a person's answer, and by when it is due."""
    if not has_people(stored):
        return Answer()
    asked, answered = instant_in(stored, REQUESTED_AT), instant_in(stored, ANSWERED_AT)
    # What was answered before somebody asked again is another matter.
    is_first = answered is None or (asked is not None and answered < asked)
    since = asked
    if answered is not None and not is_first:
        unanswered = (instant_in(stored, name) for name in (UNANSWERED_AT, HEARD_AT))
        since = next((each for each in unanswered if each is not None and each > answered), None)
    target = levels.first_answer if is_first else levels.next_answer
    due_at = None if since is None or target is None else after(since, target, levels.hours)
    return Answer(since, due_at, is_first)


def is_awaited(stored: Raw) -> bool:
    """Whether the customer of a held conversation has written since it was taken or answered."""
    heard, taken = instant_in(stored, HEARD_AT), instant_in(stored, TAKEN_AT)
    answered = instant_in(stored, ANSWERED_AT)
    return heard is not None and all(each is None or heard > each for each in (taken, answered))


def return_at(stored: Raw, levels: ServiceLevels) -> datetime | None:
    """When a conversation goes back to waiting because its holder is silent; None for never."""
    taken, is_held = instant_in(stored, TAKEN_AT), bool(text_in(stored, AGENT)) and flag_in(stored)
    if levels.return_after is None or taken is None or not is_held:
        return None
    since = answer_in(stored, levels).since
    return None if since is None else after(max(since, taken), levels.return_after, levels.hours)
