"""The team as its leader sees it: who is available and holds what, who waits longest, and what was done today.

Held conversations come from the queue's index, and today's actions from the trail by company. Both reads are bounded,
and the page says what was not read.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from console import clock
from console.permissions import Permission, Staff
from console.staff.colleagues import Colleague, colleagues_of
from console.staff.colleagues import reads as colleague_reads
from console.store.calls import parallel, submit
from console.store.models import query
from console.store.presence import index_ready
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry, CompanyIndex
from conversations.attention.causes import answer_in
from conversations.attention.levels import levels_of, note_levels
from conversations.companies import Company
from conversations.handoff.stored import held_in
from conversations.queue.pages import QueueEntry, entry_of
from conversations.queue.reading import read_index
from conversations.queue_index.readiness import is_indexed

# Maximum companies read for one page, all in parallel.
COMPANIES_AT_ONCE = 20
# Maximum held conversations and trail entries read of one company.
HELD_READ, ENTRIES_READ = 400, 2_000
_HELD = (
    *("primary_channel", "conversation_id", "company_id", "project_id", "ttl", "hand_off_to_human", "hand_off_agent"),
    *("hand_off_requested_at", "hand_off_taken_at", "hand_off_answered_at", "hand_off_unanswered_at"),
    *("hand_off_heard_at", "hand_off_reply_failed_at"),
)
# What an action counts as.
COUNTED: dict[str, str] = {
    Action.HAND_OFF_TAKE: "taken",
    Action.HAND_OFF_TAKE_OVER: "taken",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: "taken",
    Action.REPLY_SEND: "answered",
    Action.HAND_OFF_HAND_BACK: "handed_back",
    Action.HAND_OFF_LEAVE_TO_AI: "handed_back",
    Action.HAND_OFF_ACKNOWLEDGE: "handed_back",
    Action.TARGET_MISSED: "overdue",
}


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A colleague: what they hold, how many wait for an answer and since when, and what they did today."""

    username: str
    name: str
    is_away: bool
    held: int
    waiting: int
    oldest: datetime | None
    taken: int
    answered: int
    handed_back: int


@dataclass(frozen=True, slots=True)
class CompanyDay:
    """What people did for a company today; `overdue` counts the answers that became overdue."""

    company: Company
    taken: int
    answered: int
    handed_back: int
    overdue: int


@dataclass(frozen=True, slots=True)
class Team:
    """The whole team. `incomplete` names the companies that were read in part; `left_out` counts those not read."""

    members: tuple[TeamMember, ...] = ()
    companies: tuple[CompanyDay, ...] = ()
    incomplete: tuple[str, ...] = ()
    left_out: int = 0
    has_trail: bool = True


_Held = tuple[list[QueueEntry], bool]


@dataclass(frozen=True)
class _Company:
    """What was read of one company, and whether that was all."""

    held: list[QueueEntry]
    has_all_held: bool
    done: Counter[tuple[str, str]]
    has_all_done: bool

    @property
    def is_whole(self) -> bool:
        return self.has_all_held and self.has_all_done


def team_of(staff: Staff, companies: Iterable[Company], today: datetime) -> Team:
    """Return the team of these companies; `today` is when the reader's day began.

    Two Queries for each company, one read of the service levels, and the directory of staff. Raises `Forbidden` and the
    store's errors.
    """
    staff.require(Permission.TEAM_LEAD)
    by_id = {each.company_id: each for each in companies}
    asked = list(by_id)[:COMPANIES_AT_ONCE]
    beside = [submit(read) for read in colleague_reads()]
    has_trail, has_queue = parallel(partial(index_ready, "AUDIT", CompanyIndex.Meta.index_name), is_indexed)
    read_held = _read_held if has_queue else _cannot_read_held
    held_reads: list[partial[_Held]] = [partial(read_held, company_id) for company_id in asked]
    day_reads = [partial(_count, company_id, today) for company_id in asked] if has_trail else []
    found: list[Any] = parallel(*held_reads, *day_reads)
    for each in beside:
        each.result()
    reads = [
        _Company(*held, *(found[len(asked) + number] if has_trail else (Counter(), True)))
        for number, held in enumerate(found[: len(asked)])
    ]
    colleagues = {each.username: each for company_id in asked for each in colleagues_of(company_id)}
    held: dict[str, list[QueueEntry]] = defaultdict(list)
    done: Counter[tuple[str, str]] = Counter()
    for read in reads:
        done += read.done
        for entry in read.held:
            held[entry.hand_off.agent].append(entry)
    note_levels((each.summary.company_id, each.summary.project_id) for entries in held.values() for each in entries)
    shown = [_member(username, colleagues.get(username), held[username], done) for username in {*colleagues, *held}]
    days = [_day(by_id[company_id], read.done) for company_id, read in zip(asked, reads, strict=True)]
    return Team(
        tuple(sorted(shown, key=lambda each: (each.is_away, each.name.casefold(), each.username))),
        tuple(sorted(days, key=lambda each: each.company.name.casefold())),
        tuple(by_id[company_id].name for company_id, read in zip(asked, reads, strict=True) if not read.is_whole),
        len(by_id) - len(asked),
        has_trail,
    )


def _read_held(company_id: str) -> _Held:
    """Return the held conversations of a company, and whether they are all."""
    now = clock.now()
    items, more = read_index(held_in(company_id), _HELD, HELD_READ)
    entries = [entry for raw in items if (entry := entry_of(raw, now)) is not None]
    return [entry for entry in entries if entry.hand_off.agent], not more


def _cannot_read_held(_: str) -> _Held:
    return [], False


def _count(company_id: str, today: datetime) -> tuple[Counter[tuple[str, str]], bool]:
    """Count the actions since `today` by person and kind, and return whether all entries were read."""
    done: Counter[tuple[str, str]] = Counter()
    items, end = query(
        AuditEntry,
        company_id,
        AuditEntry.ts_action_id >= clock.to_iso(today),
        limit=ENTRIES_READ,
        index=CompanyIndex.Meta.index_name,
        attributes=("action_type", "actor", "result"),
    )
    for item in items:
        entry = AuditEntry.from_raw_data(item)
        what = COUNTED.get(entry.action_type or "")
        if what and str(entry.result or "").startswith((Result.SUCCESS, Result.PENDING)):
            done[entry.actor or "", what] += 1
    return done, end is None


def _member(
    username: str, colleague: Colleague | None, held: list[QueueEntry], done: Counter[tuple[str, str]]
) -> TeamMember:
    waits = [_awaited_since(entry) for entry in held]
    since = [each for each in waits if each is not None]
    return TeamMember(
        username,
        (colleague and colleague.name) or held[0].hand_off.agent_shown,
        colleague is not None and colleague.is_away,
        len(held),
        len(since),
        min(since, default=None),
        done[username, "taken"],
        done[username, "answered"],
        done[username, "handed_back"],
    )


def _awaited_since(entry: QueueEntry) -> datetime | None:
    levels = levels_of(entry.summary.company_id, entry.summary.project_id)
    return answer_in(entry.item.raw, levels).since


def _day(company: Company, done: Counter[tuple[str, str]]) -> CompanyDay:
    totals: Counter[str] = Counter()
    for (_, what), count in done.items():
        totals[what] += count
    return CompanyDay(company, totals["taken"], totals["answered"], totals["handed_back"], totals["overdue"])


def start_of_day(now: datetime, zone_name: str) -> datetime:
    """Return when the current day began in a time zone."""
    zone = clock.zone_of(zone_name)
    return clock.midnight(now.astimezone(zone).date(), zone)
