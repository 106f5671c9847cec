"""Notifications for companies' own systems, derived from a conversation's item. No I/O, and no personal data.

A notification's id derives from its content, so it is the same however often it is seen: by the stream, which may
repeat a record, by a timer, and by a sweep.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
    """What happened. The value is the `type` that receivers get."""

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
        """The type in words, for people who choose among them."""
        return _LABELS[self]

    @property
    def sentence(self) -> str:
        """The type in a sentence, for people who are notified."""
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
# Types that people choose among. A message that cannot be placed belongs to no known company.
OF_COMPANIES = tuple(
    each for each in NotificationType if each not in (NotificationType.TEST, NotificationType.NOT_PLACED)
)
OF_CAUSES = {
    Cause.FAILED: NotificationType.FAILED,
    Cause.STUCK: NotificationType.STUCK,
    Cause.UNANSWERED: NotificationType.UNANSWERED,
}
# Longest foreign text to quote.
LONGEST_TEXT = 200
# Lasting states: they are notified again only after they have ended.
_LASTING = frozenset({NotificationType.WAITING, NotificationType.OVERRIDDEN, *OF_CAUSES.values()})


@dataclass(frozen=True, slots=True)
class Notification:
    """Something that happened `at` an instant. `company_id` is "" if the company is unknown.

    `key` is that of its conversation (primary_channel, conversation_id): receivers get a sealed reference. Without a
    conversation, `path` is the path of its page. A `text` in the facts is for people, one sentence per line.
    """

    id: str
    type: NotificationType
    at: datetime
    company_id: str = ""
    key: tuple[str, str] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    path: str = ""


def id_of(*parts: str) -> str:
    """Return the id of a notification with this content, so that it is sent once."""
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()[:32]


def notifications_of(stored: Raw, levels: ServiceLevels, now: datetime) -> list[Notification]:
    """Return what has happened according to an item, and still applies."""
    if is_over(stored, now):
        return []
    happened = list(_happened(stored, levels, now))
    if not happened:
        # The usual case for the indexer: most changes cause no notification.
        return []
    facts = _facts(stored)
    key = (text_in(stored, "primary_channel"), text_in(stored, "conversation_id"))
    return [
        Notification(id_of(each, *key, *stamp), each, at, text_in(stored, "company_id"), key, facts | more)
        for each, at, stamp, more in happened
    ]


def new_notifications(new: Raw, old: Raw, levels: ServiceLevels, now: datetime, at: datetime) -> list[Notification]:
    """Return what happened between two images of an item. `at` is the time of the change."""
    before = notifications_of(old, levels, now)
    ids, lasting = {each.id for each in before}, {each.type for each in before if each.type in _LASTING}
    return [
        replace(each, at=at)
        for each in notifications_of(new, levels, now)
        if each.id not in ids and each.type not in lasting
    ]


_Happened = tuple[NotificationType, datetime, tuple[str, ...], dict[str, Any]]


def _happened(stored: Raw, levels: ServiceLevels, now: datetime) -> Iterator[_Happened]:
    """Yield each event: its type, its time, what tells repeated events apart, and further facts."""
    flag, agent = flag_in(stored), text_in(stored, AGENT)
    asked, cause = instant_in(stored, REQUESTED_AT), text_in(stored, ATTENTION)
    if not flag and not agent:
        if cause in set(OF_CAUSES) and asked is not None:
            yield OF_CAUSES[Cause(cause)], asked, (clock.to_iso(asked),), {"since": clock.to_iso(asked)}
        return
    if flag and not agent and asked is not None and not cause:
        # A released conversation waits since its first request: the last action tells the events apart.
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
    """Return foreign text redacted and on one line: its writers may have put personal data where none belongs."""
    return redact(" ".join(str(text).split()))[:LONGEST_TEXT]
