"""Reading a review: its partitions, merged newest first, within a budget of reads.

A page at a time (`read_review`), in pieces for exports (`every_page`), or as one bounded list for pages that count
(`gather`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.conf import settings

from console import clock
from console.audit import scoping
from console.audit.review.plan import (
    EPOCHS_BEGIN,
    NO_ACTOR_FILTER,
    REVIEW,
    TRAIL_BY_TRAIL,
    Plan,
    Review,
    TrailPartition,
    identity_of,
    plan_for,
)
from console.errors import TableMissing
from console.permissions import Permission, Staff
from console.store.calls import current_budget, parallel
from console.store.presence import table_ready
from console.store.streams import END, Keyset, next_of, read_further, streams_to_read
from console.trail.actions import happened_at, instant_of, is_live, outcome_of
from console.trail.models import AuditEntry
from console.trail.recording import staff_trail

PAGE_SIZE = 50
# Entries in a piece, for exports and `gather`.
PIECE = 200
# Rounds of reads after which a page with filters is shown even if not full.
READS_PER_PAGE = 4
# Entries of a review partition that are read at once if some are left out: it stands for dozens of action types.
FILTERED_PARTITION = 500
# Owners that entries do not name: how many are looked up in parallel, and for one page.
OWNERS_AT_ONCE = 10
OWNERS_PER_PAGE = 40


@dataclass(frozen=True, slots=True)
class ReviewFound:
    """One page of a review, newest first.

    `next` is a sealed cursor ("" at the end), `looked_at` the number of entries read and `reaches` the time of the last
    one. `thin`: the budget was spent before the page was full. `covered` are the action types read; empty: all in the
    trail. `notices` say what the review could not do.
    """

    entries: tuple[AuditEntry, ...]
    next: str = ""
    looked_at: int = 0
    reaches: datetime | None = None
    thin: bool = False
    covered: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def read_review(review: Review, staff: Staff, cursor: str = "", size: int = PAGE_SIZE) -> ReviewFound:
    """Return one page. The first costs a Query for each partition of its plan, in parallel.

    A cursor of another review or person gives the first page. Without the index it needs, an empty page says so. Raises
    `Forbidden` without `audit:review`, and the store's errors.
    """
    staff.require(Permission.AUDIT_REVIEW)
    place = Keyset.unsealed(cursor, *review.binding, staff.username) or Keyset()
    plan = plan_for(review, staff)
    walk = _ReviewWalk(plan, review, staff, place)
    entries = walk.take(size, READS_PER_PAGE)
    more = walk.has_more()
    return ReviewFound(
        entries=tuple(entries),
        next=walk.place.sealed(*review.binding, staff.username) if more else "",
        looked_at=walk.looked_at,
        reaches=instant_of(walk.last) if walk.last else None,
        thin=more and len(entries) < size,
        covered=plan.covered,
        notices=plan.notices,
    )


def every_page(review: Review, staff: Staff, limit: int, size: int = PIECE) -> Iterator[Sequence[AuditEntry]]:
    """Yield the newest `limit` entries of a review in pieces, which filters can leave empty; only one is in memory.

    Raises as `read_review`, also between pieces.
    """
    staff.require(Permission.AUDIT_REVIEW)
    walk = _ReviewWalk(plan_for(review, staff), review, staff, Keyset())
    left = limit
    while left > 0 and walk.has_more():
        piece = walk.take(min(size, left), READS_PER_PAGE)
        walk.forget_budget()
        left -= len(piece)
        yield piece


@dataclass(frozen=True, slots=True)
class GatheredEntries:
    """Entries, newest first. `is_all`: there are no older ones; else reading stopped at its bounds."""

    entries: tuple[AuditEntry, ...] = field(repr=False)
    is_all: bool

    @property
    def reaches(self) -> datetime | None:
        """The instant back to which entries were read; None if that was all of them, or is unknown."""
        return instant_of(self.entries[-1]) if self.entries and not self.is_all else None


def gather(review: Review, staff: Staff, limit: int, pieces: int) -> GatheredEntries:
    """Read at most `limit` entries in at most `pieces` pieces and half the request's time. Raises as `read_review`."""
    found: list[AuditEntry] = []
    pages = every_page(review, staff, limit + 1)
    budget = current_budget()
    for _ in range(pieces):
        page = next(pages, None)
        if page is None:
            return GatheredEntries(tuple(found[:limit]), len(found) <= limit)
        found += page
        if budget is not None and budget.remaining() < settings.REQUEST_DEADLINE_SECONDS / 2:
            break
    return GatheredEntries(tuple(found[:limit]), is_all=False)


def preview_plan(review: Review, staff: Staff) -> Plan:
    """Return the plan of a review before reading it; an empty plan for one of a single trail.

    Raises `Forbidden`, `TableMissing` and the store's errors.
    """
    staff.require(Permission.AUDIT_REVIEW)
    if review.conversation or review.key:
        return Plan(())
    plan = plan_for(review, staff)
    if TRAIL_BY_TRAIL in plan.notices and not table_ready("AUDIT"):
        raise TableMissing("AUDIT")
    return plan


class _ReviewWalk:
    """A review's partitions, merged newest first. `place` is the position after the last entry taken."""

    def __init__(self, plan: Plan, review: Review, staff: Staff, place: Keyset) -> None:
        self.place = place
        self.looked_at = 0
        self.last: AuditEntry | None = None
        self._review, self._staff = review, staff
        dates = (review.since, review.until)
        least = FILTERED_PARTITION if self._drops_entries else 0
        self._streams = [
            TrailPartition(index, key, place, *dates, least if index == REVIEW else 0).stream
            for index, key in plan.partitions
        ]
        self._now = clock.now()
        self._owners: dict[str, frozenset[str]] = {}
        self._owners_left = OWNERS_PER_PAGE

    def forget_budget(self) -> None:
        """Let the next piece look up owners again."""
        self._owners_left = OWNERS_PER_PAGE
        if len(self._owners) > 1000:
            self._owners.clear()

    def take(self, size: int, reads: int) -> list[AuditEntry]:
        """Return at most `size` matching entries; fewer at the end, or after `reads` rounds of reads."""
        found: list[AuditEntry] = []
        while len(found) < size:
            stream = next_of(self._streams)
            if stream is None:
                if reads == 0 or not self._read(size):
                    break
                reads -= 1
                continue
            order, raw = stream.waiting[0].order, stream.waiting[0].item
            entry = AuditEntry.from_raw_data(raw) if raw else None
            owners = self._owners_of(entry) if entry else None
            if entry is None or owners is None:
                break
            stream.take()
            if self.place.has_seen(*order):
                # An entry of another service is found by its company and by its type.
                continue
            self.place, self.last = self.place.after(*order), entry
            self.looked_at += 1
            if self._is_wanted(entry, owners):
                entry.owner = ", ".join(sorted(owners))
                found.append(entry)
        return found

    def has_more(self) -> bool:
        """Return whether there is more after what was taken; reads the epochs if only they are left."""
        if not any(each.waiting for each in self._streams) and self._only_epochs_are_left():
            self._read(PAGE_SIZE)
        return any(each.resume_at is not END for each in self._streams)

    @property
    def _drops_entries(self) -> bool:
        """Whether filters or the person's scope leave out entries of the partitions that are read."""
        review = self._review
        return bool(review.result or review.actor or review.company) or not self._staff.scope.everything

    def _read(self, limit: int) -> bool:
        if self._only_epochs_are_left():
            self.place = EPOCHS_BEGIN
        return read_further(self._streams, limit)

    def _only_epochs_are_left(self) -> bool:
        waiting = streams_to_read(self._streams)
        return bool(waiting) and all(each.below is not None for each in waiting)

    def _is_wanted(self, entry: AuditEntry, owners: frozenset[str]) -> bool:
        review = self._review
        actor, action = entry.plain("actor"), entry.plain("action_type")
        return (
            is_live(entry, self._now)
            and self._may_see(entry, owners)
            and (not review.actions or action in review.actions)
            and (not review.result or outcome_of(entry) == review.result)
            and (not review.actor or (not actor if review.actor == NO_ACTOR_FILTER else actor in review.actors))
            and (not review.company or review.company in owners or entry.plain("company_id") == review.company)
            and (not review.key or entry.plain("idempotency_key") == review.key)
            and self._is_within(entry)
        )

    def _is_within(self, entry: AuditEntry) -> bool:
        since, until = self._review.since, self._review.until
        if since is None and until is None:
            return True
        at = happened_at(entry)
        return at is not None and (since is None or since <= at) and (until is None or at < until)

    # --- Owners of entries --------------------------------------------------------------------------------------------

    def _may_see(self, entry: AuditEntry, owners: frozenset[str]) -> bool:
        if self._staff.scope.everything:
            return True
        trail = identity_of(entry.raw)[0]
        return trail == staff_trail(self._staff.username) or scoping.covers_all(trail, owners, self._staff)

    def _owners_of(self, entry: AuditEntry) -> frozenset[str] | None:
        """Return the companies that an entry belongs to; None if unknown and the look-up budget is spent."""
        trail, named = identity_of(entry.raw)[0], entry.plain("company_id")
        owners = scoping.owners_of_trail(trail, (named,) if isinstance(named, str) and named else ())
        if owners or not scoping.is_conversation_trail(trail):
            return owners
        if self._staff.scope.everything and not self._review.company:
            # For display only: no access decision depends on it.
            return scoping.companies_in(trail)
        if trail not in self._owners:
            self._ask_owners(trail)
        return self._owners.get(trail)

    def _ask_owners(self, trail: str) -> None:
        """Look up the owners of this trail and of the next ones waiting."""
        coming = [each.order[1] for stream in self._streams for each in list(stream.waiting)[:OWNERS_AT_ONCE]]
        unknown = [each for each in coming if each not in self._owners and scoping.is_conversation_trail(each)]
        asked = list(dict.fromkeys((trail, *unknown)))[: min(OWNERS_AT_ONCE, self._owners_left)]
        self._owners_left -= len(asked)
        found = parallel(*(partial(scoping.companies_of, each) for each in asked))
        self._owners |= dict(zip(asked, found, strict=True))
