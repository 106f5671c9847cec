"""The search box's results among accounts, for people who may manage them."""

from django.urls import reverse

from console.permissions import Permission, Staff
from console.search.finders import Finder, FinderResult, SearchHit
from console.search.meanings import MeaningKind
from console.staff.directory import AccountFilters, read_page

MOST = 10


def _account(value: str, staff: Staff) -> FinderResult:
    """Find accounts whose username begins with the text, within the administrator's scope."""
    rows = read_page(staff, AccountFilters(prefix=value.lower())).rows
    more = ("There are more accounts. See the Staff page.",) if len(rows) > MOST else ()
    return FinderResult(
        tuple(SearchHit(row.name, reverse("staff-account", args=[row.username]), row.username) for row in rows[:MOST]),
        more,
    )


FINDER = Finder("Staff", Permission.STAFF_MANAGE, {MeaningKind.STAFF: _account})
