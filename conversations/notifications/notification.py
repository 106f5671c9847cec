"""What companies' own systems are told: of a conversation, as its item says it. No I/O, and no personal data.

A notification's id is made of what it tells, so that it is one notification however often it is seen: by the stream,
which may bring a record twice, by a timer, and by a sweep.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from console import clock
from console.redaction import redact
from conversations.attention.causes import Cause, answer_in, expires_at, instant_in
from conversations.attention.levels import ServiceLevels
from conversations.handoff.stored import (
    AGENT,
    ATTENTION,
    REPLY_FAILED_AT,
    REQUESTED_AT,
    Raw,
    flag_in,
    is_over,
    is_urgent,
    last_action_of,
    text_in,
)


class NotificationType(StrEnum):
    """What happened; its value is the `type` that receivers get."""

    WAITING = "conversation.waiting"
    OVERDUE = "conversation.overdue"
    FAILED = "conversation.failed"
    STUCK = "conversation.stuck"
    UNANSWERED = "conversation.unanswered"
    OVERRIDDEN = "conversation.overridden"
    REPLY_FAILED = "reply.failed"
    BUDGET_REACHED = "budget.reached"
    WEEKLY_SUMMARY = "summary.weekly"
    NOT_PLACED = "message.not_placed"
    TEST = "console.test"

    @property
    def label(self) -> str:
        """Return the type in words, for people who choose among them."""
        return _LABELS[self]

    @property
    def sentence(self) -> str:
        """Return the type in a sentence, for people who are told."""
        return _SENTENCES[self]


_LABELS = {
    NotificationType.WAITING: "A conversation waits for a human",
    NotificationType.OVERDUE: "An answer is overdue",
    NotificationType.FAILED: "The AI failed",
    NotificationType.STUCK: "The AI is stuck",
    NotificationType.UNANSWERED: "Nobody answered a customer",
    NotificationType.OVERRIDDEN: "The AI took over from a colleague",
    NotificationType.REPLY_FAILED: "A reply was not delivered",
    NotificationType.BUDGET_REACHED: "80% or all of a budget is spent",
    NotificationType.WEEKLY_SUMMARY: "Weekly summary",
    NotificationType.NOT_PLACED: "A message could not be placed",
    NotificationType.TEST: "Test",
}
_SENTENCES = {
    NotificationType.WAITING: "A conversation is waiting for a human.",
    NotificationType.OVERDUE: "A customer’s answer is overdue.",
    NotificationType.FAILED: "The AI failed in a conversation.",
    NotificationType.STUCK: "The AI is stuck in a conversation.",
    NotificationType.UNANSWERED: "A customer wrote and nobody answered.",
    NotificationType.OVERRIDDEN: "The platform gave a conversation back to the AI while a colleague had it.",
    NotificationType.REPLY_FAILED: "A colleague’s reply to a customer was not delivered.",
    NotificationType.BUDGET_REACHED: "80% or all of this month’s budget for AI tokens is spent.",
    NotificationType.WEEKLY_SUMMARY: "This is the summary of last week.",
    NotificationType.NOT_PLACED: "A customer’s message belongs to no known conversation.",
    NotificationType.TEST: "This is a test.",
}
# Those that people choose among. Nobody knows whose message it is that cannot be placed.
OF_COMPANIES = tuple(
    each for each in NotificationType if each not in (NotificationType.TEST, NotificationType.NOT_PLACED)
)
OF_CAUSES = {
    Cause.FAILED: NotificationType.FAILED,
    Cause.STUCK: NotificationType.STUCK,
    Cause.UNANSWERED: NotificationType.UNANSWERED,
}
# Of foreign text that is quoted.
LONGEST_TEXT = 200
# What lasts: it happens again only after it has ended.
_LASTING = frozenset({NotificationType.WAITING, NotificationType.OVERRIDDEN, *OF_CAUSES.values()})


@dataclass(frozen=True, slots=True)
class Notification:
    """Something that happened `at` an instant. `company_id` is "" where nobody knows whose it is.

    `key` is that of its conversation (primary_channel, conversation_id): receivers get a sealed reference. Where it is
    of none, `path` is that of its page. A `text` among the facts is what people read of it, a sentence a line.
    """

    id: str
    type: NotificationType
    at: datetime
    company_id: str = ""
    key: tuple[str, str] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    path: str = ""


def id_of(*parts: str) -> str:
    """Make the id of what is told, so that the same is told once."""
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()[:32]


def notifications_of(stored: Raw, levels: ServiceLevels, now: datetime) -> list[Notification]:
    """Return what an item says has happened and still is so."""
    if is_over(stored, now):
        return []
    happened = list(_happened(stored, levels, now))
    if not happened:
        # As of most changes that the indexer sees.
        return []
    facts = _facts(stored)
    key = (text_in(stored, "primary_channel"), text_in(stored, "conversation_id"))
    return [
        Notification(id_of(each, *key, *stamp), each, at, text_in(stored, "company_id"), key, facts | more)
        for each, at, stamp, more in happened
    ]


def new_notifications(new: Raw, old: Raw, levels: ServiceLevels, now: datetime, at: datetime) -> list[Notification]:
    """Return what happened between two images of an item, `at` the time of the change."""
    before = notifications_of(old, levels, now)
    ids, lasting = {each.id for each in before}, {each.type for each in before if each.type in _LASTING}
    return [
        Notification(each.id, each.type, at, each.company_id, each.key, each.facts)
        for each in notifications_of(new, levels, now)
        if each.id not in ids and each.type not in lasting
    ]


_Happened = tuple[NotificationType, datetime, tuple[str, ...], dict[str, Any]]


def _happened(stored: Raw, levels: ServiceLevels, now: datetime) -> Iterator[_Happened]:
    """What happened, when, what tells it from the same thing at another time, and what else there is to say."""
    flag, agent = flag_in(stored), text_in(stored, AGENT)
    asked, cause = instant_in(stored, REQUESTED_AT), text_in(stored, ATTENTION)
    if not flag and not agent:
        if cause in set(OF_CAUSES) and asked is not None:
            yield OF_CAUSES[Cause(cause)], asked, (clock.to_iso(asked),), {"since": clock.to_iso(asked)}
        return
    if flag and not agent and asked is not None and not cause:
        # Released, it waits again since when it waited before.
        since = clock.to_iso(asked)
        yield NotificationType.WAITING, asked, (since, last_action_of(stored)), {"since": since}
    if agent and not flag:
        changed = instant_in(stored, "updated_at")
        yield NotificationType.OVERRIDDEN, changed or now, (last_action_of(stored),), {}
    if (failed := instant_in(stored, REPLY_FAILED_AT)) is not None:
        yield NotificationType.REPLY_FAILED, failed, (clock.to_iso(failed),), {}
    answer = answer_in(stored, levels)
    if answer.since is not None and answer.due_at is not None and answer.is_missed(now):
        since, due = clock.to_iso(answer.since), clock.to_iso(answer.due_at)
        which = "first" if answer.is_first else "next"
        yield NotificationType.OVERDUE, answer.due_at, (since, due), {"since": since, "due_at": due, "answer": which}


def _facts(stored: Raw) -> dict[str, Any]:
    expires = expires_at(stored)
    facts = {
        "company_id": text_in(stored, "company_id"),
        "company_name": text_in(stored, "company_name"),
        "project_id": text_in(stored, "project_id"),
        "channel": text_in(stored, "channel_method"),
        "urgent": is_urgent(stored) if flag_in(stored) else False,
        "expires_at": None if expires is None else clock.to_iso(expires),
    }
    return facts | {name: quoted(facts[name]) for name in ("company_name", "channel")}


def quoted(text: Any) -> str:
    """Return foreign text masked and on one line: its writers may have put personal data where none belongs."""
    return redact(" ".join(str(text).split()))[:LONGEST_TEXT]
