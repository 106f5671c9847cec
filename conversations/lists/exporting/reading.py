"""The list to export: all pages of the list that a person saw, read with the same functions as these pages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from console import clock
from console.errors import ConsoleError, NotFound
from console.lookups.personal_searches import pseudonym_of
from console.permissions import Permission, Staff
from console.refs import unseal
from console.store.paging import RESTARTED
from conversations.finding.filters import ConversationFilters
from conversations.finding.listing import ConversationList, first_visible_row, read_list
from conversations.finding.queries import of_recipient
from conversations.lists.contexts import filters_of, list_of, queue_form_of
from conversations.lists.exporting.rows import ConversationRow, row_of, row_of_entry
from conversations.lists.forms import bound_lookup
from conversations.queue.form import QueueForm
from conversations.queue.reading import read_tab

Rows = tuple[ConversationRow, ...]
# Rows of the queue in one read.
QUEUE_PIECE = 200


class StopsShort(ConsoleError):
    """Raised if a list has more rows than could be read; the message says why."""


@dataclass(frozen=True, slots=True)
class ListToExport:
    """A list of conversations in a person's scope. `pages` reads it from its beginning.

    `what` names the list without personal data, and `filters` are those that are set, as
    `saved_views.records.describe` takes them. `person` is the pseudonym of the list's recipient, "" for none.
    """

    what: str
    pages: Callable[[], Iterator[Rows]] = field(repr=False)
    filters: Mapping[str, str] = field(default_factory=dict)
    company_id: str = ""
    person: str = ""


def list_to_export(context: Mapping[str, Any], staff: Staff) -> ListToExport:
    """Return the list that a context names (`reading.seal_list_context`).

    Raises `NotFound` for an unknown list, for one out of scope, and for a recipient or a search without a visible
    conversation; `Forbidden` for the queue without the permission to hand off; and the store's errors.
    """
    given = dict(context)
    match given:
        case {"list": "queue"}:
            staff.require(Permission.HAND_OFF)
            form = queue_form_of(given)
            filters = {"tab": form.chosen_tab, **form.values()}
            return ListToExport("the queue", partial(_pages_of_queue, form, staff), filters, filters.get("company", ""))
        case {"list": "found"}:
            return _found(given, staff)
    listed = list_of(given, staff)
    if listed is None:
        raise NotFound
    pages = partial(_pages_of_list, listed, staff)
    filters = filters_of(given)
    match given:
        case {"list": "company" | "project" as what, "company": str() as company}:
            place = {name: given[name] for name in ("company", "project") if name in given}
            return ListToExport(f"one {what}", pages, place | filters, company)
        case {"list": "recipient", "reference": str() as reference}:
            (recipient,) = unseal("recipient", reference, 1)
            everything = of_recipient(recipient, ConversationFilters(), staff)
            return _of_person("one recipient", recipient, everything, staff, pages, filters)
        case {"list": "replies", "reference": str() as reference}:
            _, _, recipient = unseal("replies", reference, 3)
            return _of_person("one recipient and one of our numbers", recipient, listed, staff, pages, filters)
    raise NotFound


def _of_person(
    what: str,
    recipient: str,
    everything: ConversationList,
    staff: Staff,
    pages: Callable[[], Iterator[Rows]],
    filters: Mapping[str, str],
) -> ListToExport:
    """Return the list of a recipient. Raises `NotFound` unless this person sees one of their conversations."""
    if first_visible_row(everything, staff) is None:
        raise NotFound
    return ListToExport(what, pages, filters, person=pseudonym_of(recipient))


def _found(context: dict[str, Any], staff: Staff) -> ListToExport:
    """Return the current results of a look-up as a list. Raises `NotFound` if there are none."""
    form = bound_lookup(context)
    found = form.find(staff).rows if form else ()
    if form is None or not found:
        raise NotFound
    now = clock.now()
    recipient = form.terms().get("recipient", "")
    rows = tuple(row_of(each, now) for each in found)
    return ListToExport("one search", lambda: iter([rows]), person=pseudonym_of(recipient) if recipient else "")


def _pages_of_list(listed: ConversationList, staff: Staff) -> Iterator[Rows]:
    cursor, now = "", clock.now()
    while True:
        page = read_list(listed, staff, cursor)
        if cursor and RESTARTED in page.notice:
            # An index was added or removed meanwhile, which changes the order.
            raise StopsShort("The order of the list changed while it was being read.")
        yield tuple(row_of(each, now) for each in page.rows)
        if not page.next:
            return
        cursor = page.next


def _pages_of_queue(form: QueueForm, staff: Staff) -> Iterator[Rows]:
    place, now = None, clock.now()
    while True:
        page = read_tab(form.chosen_tab, staff, form.filters(), place=place, size=QUEUE_PIECE)
        yield tuple(row_of_entry(each, staff, now) for each in page.entries)
        if page.following is None:
            break
        place = page.following
    if not page.indexed:
        raise StopsShort("The queue has no index to read.")
    if page.left_out:
        companies = "1 company was" if page.left_out == 1 else f"{page.left_out} companies were"
        raise StopsShort(f"{companies} not searched. Choose one in the filter.")
