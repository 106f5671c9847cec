"""For whom a staged message is: people, the AI, or in doubt because the routing changed at about that time. No I/O.

The platform stages a message before it routes it, in whole seconds of a clock of its own. A change of the routing lasts
from its intent, in the trail, to its write, on the item. A message that may have been routed during it is in doubt.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from django.conf import settings

from console import clock
from console.trail.actions import Result
from console.trail.models import AuditEntry
from conversations.handoff.stored import ROUTED_AT, TO_PEOPLE, Raw, is_set_by_console, text_in

# The platform's times are rounded down to these.
ROUNDING = timedelta(seconds=1)
# The longest from an intent to its write: a request is given up before.
LONGEST_CHANGE = timedelta(minutes=1)


class Side(StrEnum):
    """For whom a message is. The value of a doubt is what its row stores."""

    PEOPLE = "people"
    AI = "ai"
    TAKING = "taking"
    RETURNING = "returning"

    @property
    def is_doubt(self) -> bool:
        """Whether it was said while the routing changed."""
        return self in (Side.TAKING, Side.RETURNING)


@dataclass(frozen=True, slots=True)
class RoutingChange:
    """A change of the routing by the console. `ended` is when it was written, or `begun` if that is not known."""

    begun: datetime
    ended: datetime
    to_people: bool


def skew() -> timedelta:
    """Return by how much the platform's clock may differ from ours."""
    return timedelta(seconds=settings.PLATFORM_CLOCK_SKEW_SECONDS)


def earliest_change(at: datetime) -> datetime:
    """Return from when on a change can concern a message of that time."""
    return at - skew() - LONGEST_CHANGE


def changes_of(entries: Iterable[AuditEntry], stored: Raw) -> list[RoutingChange]:
    """Return the changes that these entries of the trail and the item show, in order of time.

    The item knows when the last one was written; one before it may have taken as long as a request may. The indexer's
    have no entry.
    """
    known = [(at, to) for each in entries if (at := _time_of(each)) and (to := _effect(each)) is not None]
    written, now_people = clock.parse_instant(text_in(stored, ROUTED_AT)), is_set_by_console(stored)
    last = known[-1] if known else None
    of_last = (
        written is not None
        and last is not None
        and last[1] == now_people
        and timedelta(0) <= written - last[0] <= LONGEST_CHANGE
    )
    if written is not None and not of_last and (last is None or last[0] < written):
        known.append((written, now_people))
    longest = timedelta(seconds=settings.REQUEST_DEADLINE_SECONDS)
    ends = [min(begun + longest, after) for (begun, _), (after, _) in pairwise(known)]
    ends += [written if of_last and written else known[-1][0]] if known else []
    return [RoutingChange(begun, ended, to) for (begun, to), ended in zip(known, ends, strict=True)]


def side_of(at: datetime, changes: Sequence[RoutingChange], *, goes_to_people: bool) -> Side:
    """Return for whom a message is whose sender no rule of the platform's own routes to people.

    `at` is its time, in whole seconds of the platform's clock; `goes_to_people` is the routing now, after all changes.
    """
    first, last = at - skew(), at + ROUNDING + skew()
    during = [each for each in changes if each.begun <= last and each.ended >= first]
    if during:
        return Side.TAKING if during[-1].to_people else Side.RETURNING
    after = next((each for each in changes if each.begun > at), None)
    return Side.PEOPLE if (goes_to_people if after is None else not after.to_people) else Side.AI


def _effect(entry: AuditEntry) -> bool | None:
    """Return whether an action that took effect, or may have, routed to people; None if it changed nothing."""
    if entry.result not in (Result.SUCCESS.value, Result.PENDING.value):
        return None
    try:
        payload = json.loads(entry.action_payload_redacted or "{}")
    except ValueError:
        return None
    routing = payload.get("routing") if isinstance(payload, dict) else None
    return routing == TO_PEOPLE if routing else None


def _time_of(entry: AuditEntry) -> datetime | None:
    return clock.parse_instant(entry.ts_action_id.partition("#")[0])
