"""The newest entries of a review as one bounded list, for pages that count: pictures, and who looked."""

from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from console.audit.queries import instant_of
from console.audit.review.filters import Review
from console.audit.review.plan import TRAIL_BY_TRAIL, Plan, plan_for
from console.audit.review.reading import every_page
from console.errors import TableMissing
from console.permissions import Permission, Staff
from console.store.calls import current_budget
from console.store.presence import table_ready
from console.trail.models import AuditEntry

PIECE = 200


@dataclass(frozen=True, slots=True)
class Gathered:
    """`entries`, newest first; `is_all`: nothing lies behind them, else reading ended for its bounds."""

    entries: tuple[AuditEntry, ...] = field(repr=False)
    is_all: bool

    @property
    def reaches(self) -> datetime | None:
        """Back to when they were read, where that is not all; None where nothing tells."""
        return instant_of(self.entries[-1]) if self.entries and not self.is_all else None


def gather(review: Review, staff: Staff, limit: int, pieces: int) -> Gathered:
    """At most `limit` entries in at most so many pieces, which filters can leave empty, and in half the request's time.

    Raises as `read_review`.
    """
    found: list[AuditEntry] = []
    pages = every_page(review, staff, limit + 1, PIECE)
    budget = current_budget()
    for _ in range(pieces):
        page = next(pages, None)
        if page is None:
            return Gathered(tuple(found[:limit]), len(found) <= limit)
        found += page
        if budget is not None and budget.remaining() < settings.REQUEST_DEADLINE_SECONDS / 2:
            break
    return Gathered(tuple(found[:limit]), is_all=False)


def look_ahead(review: Review, staff: Staff) -> Plan:
    """What a review will look at and what it cannot do here, before it is read: nothing to tell of a single trail.

    Raises `Forbidden`, `TableMissing` and the store's errors.
    """
    staff.require(Permission.AUDIT_REVIEW)
    if review.conversation or review.key:
        return Plan(())
    plan = plan_for(review, staff)
    if TRAIL_BY_TRAIL in plan.notices and not table_ready("AUDIT"):
        raise TableMissing("AUDIT")
    return plan
