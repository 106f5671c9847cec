"""Reading a review: the partitions that it needs, merged newest first, page by page, within a budget of reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from console import clock
from console.audit import scoping
from console.audit.queries import happened_at, instant_of
from console.audit.review.filters import NOBODY, Review
from console.audit.review.plan import Plan, plan_for
from console.audit.review.streams import EPOCHS_BEGIN, TrailPartition, identity_of
from console.permissions import Permission, Staff
from console.store.calls import parallel
from console.store.streams import END, Keyset, dry, next_of, read_dry
from console.trail.actions import staff_trail
from console.trail.models import AuditEntry
from console.trail.results import outcome_of

PAGE_SIZE = 50
# A page with filters goes on reading as often as this before it is shown thin.
READS_PER_PAGE = 4
# Owners of conversations that entries do not name: so many are looked up at once, and for one page.
OWNERS_AT_ONCE = 10
OWNERS_PER_PAGE = 40


@dataclass(frozen=True, slots=True)
class ReviewFound:
    """One page of a review, newest first.

    `next` is a sealed cursor ("" at the end), `looked_at` how many entries were read for it and `reaches` when
    the last of them was; `thin`: the budget ended before the page was full. `covered` are the action types that it
    looked at; empty: whatever is in the trail. `notices` say what the review could not do.
    """

    entries: tuple[AuditEntry, ...]
    next: str = ""
    looked_at: int = 0
    reaches: datetime | None = None
    thin: bool = False
    covered: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def read_review(review: Review, staff: Staff, cursor: str = "", size: int = PAGE_SIZE) -> ReviewFound:
    """One page. The first costs one Query for each action type at most; all of a page's run in parallel.

    A cursor of another review or person gives the first page. Raises `Forbidden` without `audit:review`, and the
    store's errors; where there is no index for it, an empty page says so.
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


def every_page(review: Review, staff: Staff, limit: int, size: int = 200) -> Iterator[Sequence[AuditEntry]]:
    """The newest `limit` entries of a review in pieces, for exports and pictures: no more than a piece is kept.

    Raises as `read_review`, also in the middle.
    """
    staff.require(Permission.AUDIT_REVIEW)
    walk = _ReviewWalk(plan_for(review, staff), review, staff, Keyset())
    left = limit
    while left > 0 and walk.has_more():
        piece = walk.take(min(size, left), READS_PER_PAGE)
        walk.forget_budget()
        left -= len(piece)
        yield piece


class _ReviewWalk:
    """A review's partitions, merged: the newest entry of all comes next. `place` lies behind what was looked at."""

    def __init__(self, plan: Plan, review: Review, staff: Staff, place: Keyset) -> None:
        self.place = place
        self.looked_at = 0
        self.last: AuditEntry | None = None
        self._review, self._staff = review, staff
        dates = (review.since, review.until)
        self._streams = [TrailPartition(index, key, place, *dates).stream for index, key in plan.partitions]
        self._now = clock.now()
        self._owners: dict[str, frozenset[str]] = {}
        self._owners_left = OWNERS_PER_PAGE

    def forget_budget(self) -> None:
        """A next piece may look up owners anew."""
        self._owners_left = OWNERS_PER_PAGE
        if len(self._owners) > 1000:
            self._owners.clear()

    def take(self, size: int, reads: int) -> list[AuditEntry]:
        """At most `size` entries that are looked for; fewer at the end, or when so many rounds of reads are spent."""
        found: list[AuditEntry] = []
        while len(found) < size:
            stream = next_of(self._streams)
            if stream is None:
                if reads == 0 or not self._read(size):
                    break
                reads -= 1
                continue
            order, entry = stream.waiting[0].order, stream.waiting[0].item
            owners = self._owners_of(entry) if entry else None
            if entry is None or owners is None:
                break
            stream.take()
            self.place, self.last = self.place.after(*order), entry
            self.looked_at += 1
            if self._is_wanted(entry, owners):
                entry.owner = scoping.describe_owners(owners)
                found.append(entry)
        return found

    def has_more(self) -> bool:
        """Whether anything lies behind what was taken; asks for the epochs if only those could."""
        if not any(each.waiting for each in self._streams) and self._only_epochs_are_left():
            self._read(PAGE_SIZE)
        return any(each.onward is not END for each in self._streams)

    def _read(self, limit: int) -> bool:
        if self._only_epochs_are_left():
            self.place = EPOCHS_BEGIN
        return read_dry(self._streams, limit)

    def _only_epochs_are_left(self) -> bool:
        waiting = dry(self._streams)
        return bool(waiting) and all(each.below is not None for each in waiting)

    def _is_wanted(self, entry: AuditEntry, owners: frozenset[str]) -> bool:
        review = self._review
        actor, action = entry.plain("actor"), entry.plain("action_type")
        return (
            not clock.is_expired(entry.plain("expires_at"), self._now)
            and self._may_see(entry, owners)
            and (not review.actions or action in review.actions)
            and (not review.result or outcome_of(entry) == review.result)
            and (not review.actor or (not actor if review.actor == NOBODY else actor in review.actors))
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

    # --- Whose entry it is --------------------------------------------------------------------------------------------

    def _may_see(self, entry: AuditEntry, owners: frozenset[str]) -> bool:
        if self._staff.scope.everything:
            return True
        trail = identity_of(entry)[0]
        return trail == staff_trail(self._staff.username) or scoping.covers_all(trail, owners, self._staff)

    def _owners_of(self, entry: AuditEntry) -> frozenset[str] | None:
        """The companies that an entry belongs to; None where it is not known yet and the budget for asking is spent."""
        trail, named = identity_of(entry)[0], entry.plain("company_id")
        owners = scoping.owners_of_trail(trail, (named,) if isinstance(named, str) and named else ())
        if owners or not scoping.is_conversation_trail(trail):
            return owners
        if self._staff.scope.everything and not self._review.company:
            # Only to be shown: nothing is decided by it.
            return scoping.companies_in(trail)
        if trail not in self._owners:
            self._ask_owners(trail)
        return self._owners.get(trail)

    def _ask_owners(self, trail: str) -> None:
        """Of this trail and of the next ones that will be asked for."""
        coming = [each.order[1] for stream in self._streams for each in list(stream.waiting)[:OWNERS_AT_ONCE]]
        unknown = [each for each in coming if each not in self._owners and scoping.is_conversation_trail(each)]
        asked = list(dict.fromkeys((trail, *unknown)))[: min(OWNERS_AT_ONCE, self._owners_left)]
        self._owners_left -= len(asked)
        found = parallel(*(partial(scoping.companies_of, each) for each in asked))
        self._owners |= dict(zip(asked, found, strict=True))
