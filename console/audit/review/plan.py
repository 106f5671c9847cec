"""The filters of a review, the partitions that it reads, what this environment lacks for it, and reading a partition.

Sort keys begin with a UTC timestamp (`2026-…`), those of some services with an epoch (`17…`). Each kind is in order of
time; a review reads all timestamps first, then the epochs, in text order.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import ClassVar, Self

from django.conf import settings
from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console import clock
from console.audit import scoping
from console.audit.events.keys import decode
from console.audit.queries import SPLIT, read_entries
from console.caching import cached_for
from console.errors import ConsoleError, NotFound, TableMissing
from console.permissions import Staff
from console.redaction import redact
from console.staff import known_companies
from console.store.calls import parallel
from console.store.models import ConsoleItem, Key, query
from console.store.presence import index_ready
from console.store.streams import BEGINNING as START
from console.store.streams import Candidate, Chunk, Keyset, Place, Stream
from console.trail.actions import DEFAULT_ACTIONS, GROUPS, LONGEST_PERIOD, REVIEW_PARTITION_OF, REVIEW_PARTITIONS
from console.trail.models import (
    ActionTypeIndex,
    ActorIndex,
    AuditEntry,
    CompanyIndex,
    IdempotencyRecord,
    ReviewIndex,
)
from console.trail.recording import staff_trail

# A value of `Review.actor`: entries without an actor, as the middleware writes them.
NO_ACTOR_FILTER = "middleware"
# Types outside all groups can be named one by one; each costs a Query.
MOST_NAMED = 10
_WELL_FORMED = re.compile(r"[a-z][a-z0-9_.:-]{0,79}", re.IGNORECASE | re.ASCII)


def is_action_type(name: str) -> bool:
    """Return whether a name can be an action type: spelled as services write them, without personal data."""
    return _WELL_FORMED.fullmatch(name) is not None and redact(name) == name


def action_groups() -> dict[str, tuple[str, ...]]:
    """Return the action types to choose from, by group: the schema's, the console's and `AUDIT_ACTION_TYPES`."""
    known = {action for actions in GROUPS.values() for action in actions}
    others = tuple(dict.fromkeys(name for name in settings.AUDIT_ACTION_TYPES if name and name not in known))
    return GROUPS | ({"Other services": others} if others else {})


def known_actions() -> tuple[str, ...]:
    """Return the action types to choose from."""
    return tuple(action for actions in action_groups().values() for action in actions)


@dataclass(frozen=True, slots=True)
class Review:
    """The filters. Empty strings and None match anything.

    Without `actions`, a review of one trail, person or company covers all action types, any other `DEFAULT_ACTIONS`.
    `actor` is a username, a service's name or `NO_ACTOR_FILTER`; `result` is a value of
    `console.trail.actions.outcome`. `since` is included, `until` is not; both are aware. `conversation` is a
    partition (with `key`, the one to search for that idempotency key); both may contain personal data and stay out
    of URLs.
    """

    actions: tuple[str, ...] = ()
    actor: str = ""
    result: str = ""
    company: str = ""
    since: datetime | None = None
    until: datetime | None = None
    conversation: str = field(default="", repr=False)
    key: str = field(default="", repr=False)

    @property
    def actors(self) -> tuple[str, ...]:
        """The actor as typed and, like usernames, in lower case."""
        return tuple(dict.fromkeys((self.actor, self.actor.lower())))

    @property
    def binding(self) -> tuple[str, ...]:
        """The values that bind a cursor to this review."""
        dates = tuple(moment.isoformat() if moment else "" for moment in (self.since, self.until))
        return ("review", *self.actions, self.actor, self.result, self.company, *dates, self.conversation, self.key)


TABLE = ""
ACTION_TYPE, ACTOR, COMPANY, REVIEW = (
    index.Meta.index_name for index in (ActionTypeIndex, ActorIndex, CompanyIndex, ReviewIndex)
)
# Entries of each range of a trail that are read to find out its companies.
ENTRIES_FOR_SCOPE = 50
# For one actor, at most this many companies' partitions are read in parallel.
COMPANIES_AT_ONCE = 20

TRAIL_BY_TRAIL = (
    "The audit table has no index by action type here, so there is no review across conversations. Open one "
    "trail at a time. To add the index, run manage.py tables check --cloudformation."
)
NO_ACTOR_INDEX = "The audit table has no index for this actor, so only the newest entries are searched."
NO_COMPANY_INDEX = "The audit table has no index by company, so only the newest entries are searched."


@dataclass(frozen=True, slots=True)
class Plan:
    """The partitions that a review reads (index and key), the action types they cover, and what it cannot do here.

    Empty `covered`: all types in the partitions.
    """

    partitions: tuple[tuple[str, str], ...]
    covered: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def plan_for(review: Review, staff: Staff) -> Plan:
    """Choose the partitions by the indexes that exist here. Raises the store's errors."""
    if trail := review.conversation or (_trail_of_key(review.key) if review.key else ""):
        return Plan(((TABLE, trail),) if _is_in_scope(trail, staff) else ())
    notices = []
    if review.actor and review.actor != NO_ACTOR_FILTER:
        if partitions := _partitions_of_actor(review, staff):
            return Plan(partitions, review.actions)
        notices.append(NO_ACTOR_INDEX)
    about_company = bool(review.company) and index_ready("AUDIT", COMPANY)
    actions = review.actions or (known_actions() if about_company else DEFAULT_ACTIONS)
    ours = [action for action in actions if REVIEW_PARTITION_OF.get(action)]
    by_type = actions
    by_company: list[tuple[str, str]] = []
    if review.company and ours:
        if about_company:
            by_company.append((COMPANY, review.company))
            by_type = tuple(action for action in actions if action not in ours)
        else:
            notices.append(NO_COMPANY_INDEX)
    if by_type and not index_ready("AUDIT", ACTION_TYPE):
        covered = tuple(ours) if by_company else ()
        # Notices about searching the newest entries apply only if there is something to search.
        return Plan(tuple(by_company), covered, (*(notices if by_company else ()), TRAIL_BY_TRAIL))
    # One company's partition contains every type, so nothing is left out of it.
    covered = () if about_company and not review.actions else actions
    return Plan((*by_company, *_partitions_of_types(by_type)), covered, tuple(notices))


def is_company_known(company: str) -> bool:
    """Return whether anything is stored of a company or tenant, be it only entries; True if that cannot be said.

    A few small reads. Never raises: reading the review says what fails.
    """
    try:
        if known_companies.is_in_use(company) or not index_ready("AUDIT", COMPANY):
            return True
        return bool(query(AuditEntry, company, limit=1, index=COMPANY)[0])
    except ConsoleError:
        return True


class BackfillState(ConsoleItem):
    """How far `manage.py audit backfill` has come: `done_at` once it is done, else the place where it goes on."""

    KEY: ClassVar = ("AUDIT_BACKFILL", "STATE")

    pk = UnicodeAttribute(hash_key=True, default=KEY[0])
    sk = UnicodeAttribute(range_key=True, default=KEY[1])
    done_at = UnicodeAttribute(null=True)
    # A key of the table, sealed because it may contain a phone number.
    place = UnicodeAttribute(null=True)
    written = NumberAttribute(default=0)

    @classmethod
    def read(cls) -> Self:
        """Return the state; that of the beginning if there is none. One GetItem. Raises the store's other errors."""
        with suppress(TableMissing):
            return cls.find(*cls.KEY) or cls()
        return cls()


@cached_for(60)
def is_backfill_done() -> bool:
    """Return whether each review partition has all of its entries. Each worker reads it at most once a minute."""
    return BackfillState.read().done_at is not None


def _partitions_of_types(actions: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield a partition for each review partition of which all types are wanted, and for each other type.

    A review partition is never read for a part of it: what matches could be far apart.
    """
    partitions = [each for each, types in REVIEW_PARTITIONS.items() if set(actions).issuperset(types)]
    if partitions and not (index_ready("AUDIT", REVIEW) and is_backfill_done()):
        partitions = []
    yield from ((REVIEW, each) for each in partitions)
    yield from ((ACTION_TYPE, each) for each in actions if REVIEW_PARTITION_OF.get(each) not in partitions)


def _is_in_scope(trail: str, staff: Staff) -> bool:
    """Return whether a trail can contain anything for that person.

    A trail out of scope costs what an absent one costs, and nothing more is read: timing would reveal its size.
    """
    if staff.scope.everything or trail == staff_trail(staff.username):
        return True
    if not scoping.is_conversation_trail(trail):
        return scoping.covers_all(trail, scoping.owners_of_trail(trail), staff)
    (recent, _), (epochs, _) = parallel(
        partial(read_entries, trail, epochs=False, limit=ENTRIES_FOR_SCOPE),
        partial(read_entries, trail, epochs=True, limit=ENTRIES_FOR_SCOPE),
    )
    named = (entry.plain("company_id") for entry in (*recent, *epochs))
    owners = scoping.owners_of_trail(trail, (each for each in named if isinstance(each, str) and each))
    # If two companies have conversations with this id, reading leaves out the other's entries.
    return any(map(staff.scope.covers_company, owners)) or scoping.covers_all(trail, scoping.companies_of(trail), staff)


def _partitions_of_actor(review: Review, staff: Staff) -> tuple[tuple[str, str], ...]:
    """Return the partitions to read for one actor; empty without an index for it.

    People with some companies in scope read only those companies, so that the actor's activity elsewhere stays hidden.
    """
    if staff.scope.everything or staff.username in review.actors:
        return tuple((ACTOR, each) for each in review.actors) if index_ready("AUDIT", ACTOR) else ()
    # A company and a tenant with the same id share a partition: reading leaves out what is not in scope.
    companies = [review.company] if review.company else sorted(staff.scope.company_ids | staff.scope.tenant_ids)
    if not 0 < len(companies) <= COMPANIES_AT_ONCE or not index_ready("AUDIT", COMPANY):
        return ()
    return tuple((COMPANY, company) for company in companies)


def _trail_of_key(key: str) -> str:
    """Return the conversation of an idempotency key: from its record or, as records expire first, from the key itself.

    Otherwise return the key itself, whose trail is empty, so that another company's key looks like an absent one.
    """
    try:
        conversation = IdempotencyRecord.get(key).plain("conversation_id")
    except NotFound:
        conversation = None
    return conversation if isinstance(conversation, str) and conversation else decode(key).conversation or key


# --- Reading a partition ----------------------------------------------------------------------------------------------

TIMESTAMPS, EPOCHS = 0, 1
# The first character of each range's keys, and the first beyond it.
RANGES = ((SPLIT, ":"), ("0", SPLIT))
# Where a review continues when only epochs are left.
EPOCHS_BEGIN = Keyset(SPLIT)
# Without dates, include keys that begin with no time at all: such entries have drifted, but exist.
_ANYTHING = (" ", "\U0010ffff")


def identity_of(raw: Key) -> tuple[str, str]:
    """Return an entry's key in the table: its trail and its `ts_action_id`, which every stored entry has."""
    return str(raw["conversation_id"].get("S", "")), str(raw["ts_action_id"].get("S", ""))


def bounds(number: int, since: datetime | None, until: datetime | None) -> tuple[str, str]:
    """Return the sort keys that bound a range; `until` itself is excluded."""
    if since is None and until is None:
        # Without dates both are one range: in descending order the epochs come after the timestamps.
        return _ANYTHING[0], _ANYTHING[1] if number == TIMESTAMPS else SPLIT
    low, high = RANGES[number]
    # A text in seconds is a prefix of any finer one, so it bounds all of them.
    text = _iso if number == TIMESTAMPS else lambda moment: str(clock.to_epoch(moment))
    return text(since) if since else low, text(until) if until else high


def _iso(moment: datetime) -> str:
    return clock.to_iso(moment, "seconds").removesuffix("Z")


@dataclass(frozen=True, slots=True)
class TrailPartition:
    """One partition of the table or an index, read from `start` on, between `since` and `until`.

    `least`: how many entries to read at once, even if fewer are needed.
    """

    index: str
    key: str
    start: Keyset
    since: datetime | None = None
    until: datetime | None = None
    least: int = 0

    @property
    def stream(self) -> Stream[Key]:
        """The partition as an unread stream, for merging with others."""
        return Stream(place=[self._first_range, START], read=self.read)

    @property
    def _has_dates(self) -> bool:
        """Whether timestamps and epochs are separate ranges."""
        return self.since is not None or self.until is not None

    @property
    def _first_range(self) -> int:
        return EPOCHS if self._has_dates and "" < self.start.at <= SPLIT else TIMESTAMPS

    def read(self, place: Place, limit: int) -> Chunk[Key]:
        """Read at most `limit` further entries with one Query, more of a filtered review partition, as DynamoDB JSON.

        Most are read in vain, because those of other partitions come first. Raises the store's errors.
        """
        limit = max(limit, self.least)
        number, start = place
        since = self.since
        if since and number == TIMESTAMPS:
            # An hourly entry has the start of the hour in its key, and may have happened later.
            since = clock.floored(since, LONGEST_PERIOD)
        low, high = bounds(number, since, self.until)
        resumed = number == self._first_range and self.start.at not in ("", SPLIT)
        items, last = query(
            AuditEntry,
            self.key,
            AuditEntry.ts_action_id.between(low, self.start.at if resumed else high),
            # Entries already seen at the starting key are read again, and do not count.
            limit=limit + (len(self.start.seen) if resumed and start == START else 0),
            index=self.index,
            consistent=not self.index,
            forward=False,
            start=start or None,
        )
        found = []
        for raw in items:
            trail, key = identity_of(raw)
            if key != high and not self.start.has_seen(key, trail):
                found.append(Candidate((key, trail), START, raw))
        if last:
            return Chunk(found, [number, last])
        if number == TIMESTAMPS and self._has_dates:
            return Chunk(found, [EPOCHS, START], below=(SPLIT, ""))
        return Chunk(found)
