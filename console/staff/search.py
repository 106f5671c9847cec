"""What the search box finds among the staff, for who manages them."""

from django.urls import reverse

from console.permissions import Permission, Staff
from console.search.finders import Finder, Found, Hit
from console.search.meanings import Kind
from console.staff.directory import Filters, read_page

MOST = 10


def _account(value: str, staff: Staff) -> Found:
    """Accounts whose username begins so, within the administrator's scope."""
    rows = read_page(staff, Filters(prefix=value.lower())).rows
    more = ("There are more: see the list of the staff.",) if len(rows) > MOST else ()
    return Found(
        tuple(Hit(row.name, reverse("staff-account", args=[row.username]), row.username) for row in rows[:MOST]), more
    )


FINDER = Finder("Staff", Permission.STAFF_MANAGE, {Kind.STAFF: _account})
