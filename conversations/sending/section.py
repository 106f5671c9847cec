"""Replies on the system page: whether the sender runs, what waits, and which secrets do not work."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings

from console import clock, system_sections
from console.errors import ConsoleError
from console.store import queues
from console.store.calls import parallel
from console.system_sections import SystemSection
from console.trees import Fact
from conversations.outbox.rows import TO_ASK, TO_SEND, TO_SETTLE, TO_WITNESS, MessageRow, is_configured
from conversations.providers.credentials import problems
from conversations.receiving.witnessing import is_on
from conversations.sending.worker import SENDER
from conversations.workers.beats import describe_beat
from conversations.workers.lease import read_heartbeats

TITLE = "Replies"
HINTS = ("manage.py work --only sender",)
# Rows are due when they may leave, or when the provider must be asked; this much later they are late.
LATE = timedelta(minutes=2)


def section(now: datetime) -> SystemSection:
    """Return the system page's section on replies. A BatchGetItem, five Queries, one SQS call.

    Raises the store's errors.
    """
    if not is_configured():
        words = "Replies are not set up: people answer with their own applications. Set OUTBOX_QUEUE_URL."
        return SystemSection(TITLE, "not configured", words)
    due_of = (partial(_oldest_due, each) for each in (TO_SEND, TO_SETTLE, TO_ASK, TO_WITNESS))
    found: list[Any] = parallel(partial(read_heartbeats, [SENDER]), problems, *due_of)
    noted, bad, due, looks = found[0][SENDER], found[1], found[2:5], found[5:]
    runs, said = describe_beat(noted, now, "the sender", "sends")
    facts = [Fact("Outbox", f"{said}. {_waiting()}"), Fact("Replies to finish", _late(due, now))]
    facts.append(Fact("What the platform drops", _witness(looks, now)))
    for each in bad:
        at = clock.parse_instant(each.noted_at)
        since = f" It was last tried {clock.format_span(now - at)} ago." if at is not None else ""
        facts.append(Fact("Secret", f"{each.id}: {each.problem}.{since}"))
    if runs is None:
        return SystemSection(TITLE, "not running", f"{said}.", "human", tuple(facts), hints=HINTS)
    if not runs:
        return SystemSection(TITLE, "stale", f"{said}.", "bad", tuple(facts), hints=HINTS)
    if bad:
        one = len(bad) == 1
        words = (
            f"{len(bad)} of the companies’ secrets {'does' if one else 'do'} not work, so their replies are not sent."
        )
        return SystemSection(TITLE, "failing", words, "bad", tuple(facts))
    return SystemSection(TITLE, "ready", "Replies are sent.", "good", tuple(facts))


def _witness(looks: list[datetime | None], now: datetime) -> str:
    """Say whether the provider is asked what customers wrote."""
    if not is_on():
        return "The provider is not asked what customers wrote: PROVIDER_WITNESS is false."
    if looks == [None]:
        words = "Twilio is asked while messages go to people, which is nowhere the case now."
    else:
        words = f"Twilio is asked what customers wrote to people. {_late(looks, now)}"
    return f"{words} SendGrid has no list of emails that it received."


def _waiting() -> str:
    try:
        found = queues.depth(settings.OUTBOX_QUEUE_URL)
    except ConsoleError:
        return "The queue could not be asked how many replies wait."
    count = found.waiting + found.in_flight
    return "No reply waits." if not count else f"About {count:,} {'reply waits' if count == 1 else 'replies wait'}."


def _oldest_due(kind: str) -> datetime | None:
    rows = MessageRow.due_index.query(kind, limit=1)
    return next((clock.parse_instant(each.due_at) for each in rows), None)


def _late(due: list[datetime | None], now: datetime) -> str:
    oldest = min((each for each in due if each is not None), default=None)
    if oldest is None or now - oldest < LATE:
        return "Nothing is late."
    return f"The oldest has been due for {clock.format_span(now - oldest)}."


def register_with_base() -> None:
    """Register the section of the system page. Called once at start-up."""
    system_sections.register(TITLE, section)
