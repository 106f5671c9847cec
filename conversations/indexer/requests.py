"""Requests of the platform: the flag rose without an action of the console. Each gets exactly one entry in the trail,
despite repeated or late records, sweeps that saw the item meanwhile, and crashes between the writes.

Whichever worker sees a request first sets the item's `hand_off_requested_at`, and only then writes the entry of that
time. The stream knows the platform's time of the flip; a sweep only knows a time at which somebody waited. So an entry
that a sweep wrote belongs to the last flip at or before it. The stream, which sees all flips in order, finds that flip:
each one claims the first open entry at or after it. A later flip that is also before this entry takes it over and gives
the earlier flip an entry of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from console import clock
from console.errors import Throttled
from conversations.handoff.protocol import read_raw
from conversations.handoff.stored import AGENT, ATTENTION, QUEUE, REQUESTED_AT, TAKEN_AT, Raw, key_in, text, waiting_key
from conversations.indexer import entries
from conversations.indexer.entries import HumanRequest, RecordedRequests, request_in
from conversations.queue_index.states import (
    HandOffMarks,
    Repair,
    hand_off_marks,
    is_outside,
    platform_time,
    queue_key,
    repair_of,
)
from conversations.queue_index.writing import READ, after, write
from conversations.workers.streams.records import StreamChange

TRIES = 8
TOO_BUSY = "The conversation changes too often to be indexed now."


@dataclass(frozen=True, slots=True)
class FlagRise:
    """A rise of the flag by the platform. `request` has the platform's time; `before` are the old marks of `image`."""

    request: HumanRequest
    image: Raw
    before: HandOffMarks

    @property
    def at(self) -> str:
        """The platform's time of the rise (ISO)."""
        return self.request.at


def is_of_platform(change: StreamChange) -> bool:
    """Return whether a change was made by the platform: console actions set a new last action."""
    if change.new is None:
        return False
    last_action = hand_off_marks(change.new).last_action
    return not last_action or (change.old is not None and last_action == hand_off_marks(change.old).last_action)


def flag_rise_in(change: StreamChange) -> FlagRise | None:
    """Return the request that a change makes, None if it makes none."""
    if change.new is None or not is_of_platform(change):
        return None
    now, before = hand_off_marks(change.new), hand_off_marks(change.old or {})
    # A new item that already has a holder was not written by the platform: it was restored or loaded.
    if not now.flag or before.flag or (change.old is None and (now.agent or now.wanted)):
        return None
    at = platform_time(change.new, change.at)
    return FlagRise(request_in(change.new, at, at), change.new, before)


def record_request(edge: FlagRise) -> bool:
    """Ensure that the item waits since the request, if it still applies, and that the trail has its one entry.

    Returns whether this call wrote the entry. Raises the store's errors; safe to repeat.
    """
    for number in range(TRIES):
        # Usually the item is still as in the record: a write on that condition saves the read.
        stored = edge.image if number == 0 else read_raw(key_in(edge.image), READ)
        marks = hand_off_marks(stored or {})
        since = min(edge.at, marks.requested_at or edge.at)
        recorded = entries.recorded_since(edge.request.conversation_id, since)
        live = stored is not None and recorded.is_same(marks.last_action, edge.request.previous)
        bears = marks.requested_at if live else ""
        found = recorded.after(edge.request.previous)
        if any(each.edge_at == edge.at for each in found):
            return False
        stale = _is_stale(edge, bears, found)
        candidates = _candidates(edge, "" if stale else bears, found)
        repair = None
        if stored is not None and live and marks.flag:
            repair = _repair(edge, stored, marks, renew=stale or not bears, is_over=bool(candidates))
        if repair is not None and stored is not None:
            if not write(stored, repair):
                continue
            # If this worker dies before it writes the entry, the time lets a repetition or a sweep write it.
            candidates = _candidates(edge, hand_off_marks(after(stored, repair)).requested_at, found)
        elif number == 0:
            continue
        is_new = _record(edge, candidates, recorded)
        if is_new is not None:
            return is_new
    raise Throttled(TOO_BUSY)


def _is_stale(edge: FlagRise, bears: str, found: Iterable[HumanRequest]) -> bool:
    """Return whether the item's time is of an earlier request: set before this one, or known to be another's."""
    if not bears or bears == edge.at:
        return False
    known = {each.at: each.edge_at for each in found}
    return bears == edge.before.requested_at or (bears < edge.at and bool(known.get(bears)))


def _candidates(edge: FlagRise, bears: str, found: list[HumanRequest]) -> list[HumanRequest]:
    """Return the entries that may be this request's, oldest first, including one that is not written yet.

    That one has the time on the item: a sweep may have set the time and be about to write the entry.
    """
    there = [each for each in found if each.edge_at < edge.at and (each.at >= edge.at or each.at == bears)]
    if bears and bears not in {each.at for each in found}:
        there.append(replace(edge.request, at=bears, edge_at=edge.at))
    return sorted(there, key=lambda each: each.at)


def _repair(edge: FlagRise, stored: Raw, marks: HandOffMarks, *, renew: bool, is_over: bool) -> Repair | None:
    """Return what the item lacks. `renew`: its time is not this request's; `is_over`: an entry may exist already."""
    now = clock.now()
    if is_outside(stored, marks, now) or (is_over and renew):
        return repair_of(stored, now)
    values: Raw = {REQUESTED_AT: text(edge.at)} if renew else {}
    left_over = (ATTENTION,) if ATTENTION in stored else ()
    if marks.agent and marks.agent == edge.before.agent:
        # The platform took it from its holder; the request is open to the first person who takes it.
        waits = text(waiting_key(stored, marks.company_id))
        return Repair(values | {QUEUE: waits}, removed=(AGENT, TAKEN_AT, *left_over))
    key = text(queue_key(stored, marks, now))
    if stored.get(QUEUE) != key:
        values[QUEUE] = key
    return Repair(values, left_over) if values or left_over else None


def _record(edge: FlagRise, candidates: list[HumanRequest], recorded: RecordedRequests) -> bool | None:
    """Return whether an entry had to be written or an open one was claimed; None if another worker was faster."""
    first = candidates[0] if candidates else edge.request
    if first.edge_at == edge.at:
        return entries.save_request_once(recorded.to_write(first)) or None
    is_new = bool(first.edge_at) and entries.save_request_once(
        recorded.to_write(entries.entry_for_earlier_flip(first, edge.request))
    )
    return is_new if entries.claim(first, edge.request) else None
