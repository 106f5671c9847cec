"""The hand-offs of a conversation, from its trail: requested, taken, handed back, and late answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from console import clock
from console.trail.actions import HAND_OFF_PREFIX, Action, Result, outcome
from console.trail.models import AuditEntry
from console.trail.recording import conversation_trail
from conversations.handoff.resolution import applied, links_of

# A page of a trail is 1 MB; entries after this many pages are not counted.
PAGES = 20
_TAKES = frozenset({Action.HAND_OFF_TAKE, Action.HAND_OFF_TAKE_OVER, Action.HAND_OFF_TAKE_FROM_COLLEAGUE})
_ENDS = frozenset({Action.HAND_OFF_HAND_BACK, Action.HAND_OFF_LEAVE_TO_AI, Action.HAND_OFF_ACKNOWLEDGE})
_RELEASES = frozenset({Action.HAND_OFF_RELEASE, Action.HAND_OFF_HAND_OVER})
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class HandOffPeriod:
    """The time from a request for a human, or an unasked takeover, until the AI had the conversation again.

    `asked` is None if nobody asked. `takers` and `enders` are usernames, one for each time. `reason` is redacted.
    """

    begun: datetime
    asked: datetime | None
    reason: str = ""
    taken: datetime | None = None
    ended: datetime | None = None
    missed: int = 0
    takers: list[str] = field(default_factory=list)
    enders: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Event:
    at: datetime
    action: str
    actor: str
    reason: str


def read_periods(conversation_id: str, last_action: str) -> list[HandOffPeriod]:
    """Read the periods of a trail, strongly consistent. `last_action` is the item's, read before the trail.

    Raises the store's errors.
    """
    wanted = AuditEntry.action_type.startswith(HAND_OFF_PREFIX)
    wanted |= AuditEntry.action_type == Action.TARGET_MISSED.value
    pages = AuditEntry.query(conversation_trail(conversation_id), consistent_read=True, filter_condition=wanted)
    items = (each for page in islice(pages.page_iter, PAGES) for each in page["Items"])
    return periods_of([AuditEntry.from_raw_data(each) for each in items], last_action)


def periods_of(entries: Sequence[AuditEntry], last_action: str) -> list[HandOffPeriod]:
    """Return the hand-offs recorded in the entries of a trail, in the order in which they took effect.

    The trail does not record that the platform withdraws its request: a later request or takeover begins a new period.
    """
    periods: list[HandOffPeriod] = []
    current: HandOffPeriod | None = None
    is_held = False
    for event in _events(entries, last_action):
        if event.action == Action.TARGET_MISSED:
            if current is not None:
                current.missed += 1
        elif event.action in _RELEASES:
            is_held = False
        elif event.action in (Action.HAND_OFF_REQUEST, Action.HAND_OFF_ASSIGN, *_TAKES):
            is_asked = event.action == Action.HAND_OFF_REQUEST
            if is_asked or current is None or (event.action == Action.HAND_OFF_TAKE_OVER and not is_held):
                if current is not None:
                    current.ended = event.at
                current = HandOffPeriod(event.at, event.at if is_asked else None, event.reason)
                periods.append(current)
            if not is_asked and current.taken is None:
                current.taken = event.at
            if event.action in _TAKES:
                current.takers.append(event.actor)
            is_held = not is_asked
        elif event.action in _ENDS and current is not None:
            current.ended = event.at
            if event.action == Action.HAND_OFF_HAND_BACK:
                current.enders.append(event.actor)
            current, is_held = None, False
    return periods


def _events(entries: Sequence[AuditEntry], last_action: str) -> list[_Event]:
    """Return the events that took effect, in that order."""
    done = applied(last_action, {link.action_id: link for link in links_of(entries)})
    positions = _positions_of([entry for entry in entries if entry.action_id in done])
    found: list[tuple[datetime, int, _Event]] = []
    for entry in entries:
        at = _time_of(entry)
        succeeded = entry.action_id in done if entry.action_id else outcome(entry.result or "") == Result.SUCCESS
        if at is None or not succeeded:
            continue
        event = _Event(at, entry.action_type or "", entry.actor or "", _reason_in(entry))
        # The platform's request comes after the action it followed, even if its timestamp only has seconds.
        since, position = positions.get(entry.action_id or "") or positions.get(entry.previous_action_id or "", (at, 0))
        found.append((max(at, since), position + (not entry.action_id), event))
    return [event for *_, event in sorted(found, key=lambda each: each[:2])]


def _positions_of(chained: Sequence[AuditEntry]) -> dict[str, tuple[datetime, int]]:
    """Return when each action took effect and its position in the chain; servers' clocks differ."""
    by_id = {entry.action_id or "": entry for entry in chained}
    positions: dict[str, tuple[datetime, int]] = {}
    for start in by_id:
        chain: dict[str, AuditEntry] = {}
        current = start
        while current in by_id and current not in positions and current not in chain:
            chain[current] = by_id[current]
            current = by_id[current].previous_action_id or ""
        for action_id, entry in reversed(chain.items()):
            at = _time_of(entry) or _LONG_AGO
            since, position = positions.get(entry.previous_action_id or "", (at, 0))
            positions[action_id] = (max(at, since), position + 2)
    return positions


def _time_of(entry: AuditEntry) -> datetime | None:
    """Return when it happened. For requests that is when the platform raised the flag, not when this was noticed."""
    if (flipped_at := clock.parse_instant(entry.edge_at)) is not None:
        return flipped_at
    return clock.parse_instant((entry.ts_action_id or "").partition("#")[0])


def _reason_in(entry: AuditEntry) -> str:
    try:
        payload = json.loads(entry.action_payload_redacted or "{}")
    except (ValueError, RecursionError):
        return ""
    reason = payload.get("reason") if isinstance(payload, dict) else None
    return reason if isinstance(reason, str) else ""
