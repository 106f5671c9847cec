"""The background work on the system page: what runs, what waits and what is not configured, in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings

from console import clock, system_sections
from console.errors import ConsoleError, TableMissing
from console.store import queues
from console.store.calls import parallel
from console.store.queues import QueueDepth
from console.system_sections import SystemSection
from console.trees import Fact
from conversations.handoff.stored import has_stage
from conversations.insight.walking import WALKED, lease_name
from conversations.messages.bodies import CHANNELS
from conversations.notifications.deliveries import oldest_due
from conversations.notifications.notifier import NOTIFICATIONS
from conversations.outbox.rows import TO_APPEND, MessageRow
from conversations.receiving.holding import held_by_receivers
from conversations.receiving.leaving import TO_AI
from conversations.receiving.recording import QUEUE, STAGE
from conversations.sending.worker import SENDER
from conversations.timers.looking import TIMERS
from conversations.work.parts import (
    INSIGHT,
    MESSAGE_SWEEP,
    RECONCILE,
    RECONCILE_EVERY,
    SWEEP_EVERY,
    due_every,
    late_after,
    not_configured,
)
from conversations.workers.beats import STALE_AFTER, describe_beat, stale_after
from conversations.workers.lease import INDEXER, LAMBDA, STREAM, read_heartbeats

TITLE = "Background work"
# How long the page warns that messages may be missing.
MISSED_SHOWN = timedelta(days=7)
WALKS = tuple(map(lease_name, WALKED))
# The part that writes each heartbeat.
_PARTS = {
    **dict.fromkeys((QUEUE, STAGE, MESSAGE_SWEEP), "receiver"),
    **{TIMERS: "timers", NOTIFICATIONS: "notifier", RECONCILE: "reconcile"},
    **dict.fromkeys((INSIGHT, *WALKS), "insight"),
    **{INDEXER: "indexer", SENDER: "sender"},
}


@dataclass(frozen=True, slots=True)
class WorkState:
    """The state of one part. `runs` is None if it never ran; `words` are sentences, shown under the label `fact`.

    `doubt` is a sentence on what may be wrong though it runs.
    """

    fact: str
    title: str
    runs: bool | None
    words: str
    doubt: str = ""


def section(now: datetime) -> SystemSection:
    """Return the section of the background work. One BatchGetItem, a Query per kind of late work, one call of SQS.

    For the hand-off queue, one Query more. Raises the store's errors.
    """
    notes = read_heartbeats(_PARTS)
    states = [
        *([_queue(notes[QUEUE], now)] if settings.HANDOFF_QUEUE_URL else []),
        *([_stage(notes[STAGE], now)] if has_stage() else []),
    ]
    if states:
        sweep = _recurring(notes[MESSAGE_SWEEP], "Messages to finish", "the message sweep", SWEEP_EVERY, now)
        states.append(replace(sweep, words=_late(now)))
    states.append(_timers(notes[TIMERS], now))
    states.append(_notifier(notes[NOTIFICATIONS], now))
    states.append(_recurring(notes[RECONCILE], "Reconcile", "reconcile", RECONCILE_EVERY, now))
    states.append(_sums(notes[INSIGHT], now))
    states.append(_walks([notes[each] for each in WALKS], now))
    wrong = _wrong_clocks(notes)
    missing = [*not_configured(), *_channels_not_configured()]
    facts = [Fact(each.fact, each.words) for each in states]
    if wrong:
        facts.append(Fact("Clocks", wrong))
    if missing:
        facts.append(Fact("Not configured", ", ".join(missing)))
    stopped = [each for each in states if not each.runs]
    if not stopped and (doubts := [each for each in (wrong, *(state.doubt for state in states)) if each]):
        return SystemSection(TITLE, "needs a look", " ".join(doubts), "human", tuple(facts))
    if not stopped:
        return SystemSection(TITLE, "ready", "Everything that is configured is running.", "good", tuple(facts))
    words = f"Not running: {', '.join(each.title for each in stopped)}."
    never = all(each.runs is None for each in stopped)
    state, tone = ("not running", "human") if never else ("stale", "bad")
    return SystemSection(TITLE, state, words, tone, tuple(facts), hints=("manage.py work",))


def _wrong_clocks(notes: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which machines' clocks differ from DynamoDB's: of each part of the work, and of this web server."""
    differ: dict[str, timedelta] = {}
    for name, noted in notes.items():
        ahead = timedelta(seconds=float(noted.get("clock_ahead") or 0))
        differ[_PARTS[name]] = max(differ.get(_PARTS[name], ahead), ahead, key=abs)
    differ["this web server"] = clock.machine_ahead()
    wrong = [
        f"{name} ({clock.format_seconds(abs(ahead))} {'ahead' if ahead > timedelta() else 'behind'})"
        for name, ahead in differ.items()
        if abs(ahead) > clock.TOLERATED
    ]
    if not wrong:
        return ""
    return f"Clocks differ from DynamoDB's, whose time is used: {', '.join(wrong)}. Set those machines' clocks right."


def _queue(noted: dict[str, Any], now: datetime) -> WorkState:
    runs, words = describe_beat(noted, now, "its receiver", "receives")
    doubt = ""
    try:
        found = queues.depth(settings.HANDOFF_QUEUE_URL)
        hidden = max(0, found.in_flight - held_by_receivers(now)) if found.in_flight else 0
        words += f". {_waiting(replace(found, in_flight=found.in_flight - hidden))}"
        if found.waiting and "waited" in noted:
            waited = timedelta(seconds=float(noted["waited"]))
            words += f" The last one received had waited {clock.format_span(waited)}."
        if hidden:
            subject, them = ("1 message is", "it") if hidden == 1 else (f"{hidden:,} messages are", "them")
            doubt = f"{subject} hidden in the hand-off queue, and no running receiver has {them}."
            words += f" {doubt}"
    except ConsoleError:
        words += ". The queue could not be asked how many messages wait."
    return WorkState("Hand-off queue", "the receiver of the hand-off queue", runs, words, doubt)


def _stage(noted: dict[str, Any], now: datetime) -> WorkState:
    runs, words = describe_beat(noted, now, "its receiver", "receives")
    if runs and noted.get("mode") not in (STREAM, LAMBDA):
        runs, words = False, "The table or its stream is missing, so nothing is received from it"
    elif runs and noted.get("mode") == STREAM:
        lag = timedelta(seconds=float(noted.get("lag") or 0))
        words += f" and is {clock.format_span(lag)} behind" if lag >= STALE_AFTER else " and is up to date"
    words += "."
    missed_at = clock.parse_instant(noted.get("missed_at"))
    if missed_at is not None and now - missed_at < MISSED_SHOWN:
        words += f" Messages before {missed_at:%Y-%m-%d %H:%M} UTC may be missing: it was off for more than 24 hours."
    return WorkState("Stage table", "the receiver of the stage table", runs, words)


def _timers(noted: dict[str, Any], now: datetime) -> WorkState:
    runs, words = describe_beat(noted, now, "their worker", "rings them")
    until = clock.parse_instant(noted.get("looked_until"))
    if runs and until is not None and now - until >= stale_after(noted):
        words += f" and is {clock.format_span(now - until)} behind"
    return WorkState("Timers", "the timers", runs, f"{words}.")


def _notifier(noted: dict[str, Any], now: datetime) -> WorkState:
    runs, words = describe_beat(noted, now, "the notifier", "sends them")
    words += "."
    try:
        due = oldest_due()
    except ConsoleError:
        return WorkState("Notifications", "the notifier", runs, f"{words} What is due could not be read.")
    if due is not None and now - due >= STALE_AFTER:
        words += f" The oldest has been due for {clock.format_span(now - due)}."
    return WorkState("Notifications", "the notifier", runs, words)


def _sums(noted: dict[str, Any], now: datetime) -> WorkState:
    """Return the state of the worker that sums up, for Insight, the days that changed."""
    runs, words = describe_beat(noted, now, "its worker", "sums up")
    ended = clock.parse_instant(noted.get("ran_at"))
    if runs and ended is not None:
        words += f", and everything was last summed up {clock.format_span(now - ended)} ago"
    return WorkState("Insight", "Insight's sums", runs, f"{words}.")


def _walks(noted: Sequence[dict[str, Any]], now: datetime) -> WorkState:
    """Return the state of the workers that walk over the other stores for Insight, one for each kind."""
    fact, title = "Insight of other stores", "Insight's walks"
    running = [describe_beat(each, now, "its worker", "walks")[0] for each in noted]
    if not any(each is not None for each in running):
        return WorkState(fact, title, None, "They have never run.")
    if not all(running):
        silent = sum(not each for each in running)
        return WorkState(fact, title, False, f"{silent} of {len(running)} show no sign of running.")
    ends = [clock.parse_instant(each.get("ran_at")) for each in noted]
    known = [each for each in ends if each is not None]
    if len(known) < len(ends):
        return WorkState(fact, title, True, "They are running. Not everything has been read yet.")
    since = clock.format_span(now - min(known))
    return WorkState(fact, title, True, f"They are running. Everything was last read {since} ago.")


def _waiting(found: QueueDepth) -> str:
    handled = f"{found.in_flight:,} {'is' if found.in_flight == 1 else 'are'} being handled"
    if not found.waiting:
        return f"No message waits, and {handled}." if found.in_flight else "No message waits."
    waits = f"About {found.waiting:,} message{' waits' if found.waiting == 1 else 's wait'}"
    return f"{waits}, and {handled}." if found.in_flight else f"{waits}."


def _recurring(noted: dict[str, Any], fact: str, title: str, every: timedelta, now: datetime) -> WorkState:
    """Return the state of recurring work, which runs in its own process, in `work`, or by a timer."""
    ran_at = clock.parse_instant(noted.get("ran_at"))
    if ran_at is None:
        return WorkState(fact, title, None, "It has never run.")
    since = clock.format_span(now - ran_at)
    if now - ran_at > late_after(every, noted):
        due = clock.format_span(due_every(every, noted))
        return WorkState(fact, title, False, f"It last ran {since} ago. It is due every {due}.")
    return WorkState(fact, title, True, f"It ran {since} ago.")


def _late(now: datetime) -> str:
    """Say how late the oldest unfinished message is."""
    try:
        found = parallel(*(partial(_oldest_due, kind, now) for kind in (TO_APPEND, TO_AI)))
    except TableMissing:
        return "The table of messages is missing."
    due = min((each for each in found if each is not None), default=None)
    return "Nothing is late." if due is None else f"The oldest has been due for {clock.format_span(now - due)}."


def _oldest_due(kind: str, now: datetime) -> datetime | None:
    rows = MessageRow.due_index.query(kind, MessageRow.due_at <= clock.to_iso(now), limit=1)
    return next((clock.parse_instant(each.due_at) for each in rows), None)


def _channels_not_configured() -> list[str]:
    absent = [f"{each.upper()}_QUEUE_URL" for each in CHANNELS if not settings.CHANNEL_QUEUE_URLS.get(each)]
    return [f"the queues that send ({', '.join(absent)})"] if absent else []


def register_with_base() -> None:
    """Register the section of the system page. Called once at start-up."""
    system_sections.register(TITLE, section)
