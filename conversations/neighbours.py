"""The conversation before or after one in the list that a person came from, as the list is now."""

from typing import Any

from console.errors import NotFound
from console.permissions import Permission, Staff
from conversations.companies import companies_for
from conversations.contexts import list_of, queue_form_of
from conversations.forms import bound_lookup
from conversations.queries import load_row, step
from conversations.queue.reading import beside
from conversations.records import ConversationSummary


def neighbour(
    context: dict[str, Any] | None, reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """Return the conversation next to one in the list of a context; None at its end.

    Raises `NotFound` and the store's errors.
    """
    if context is None:
        return None
    match context:
        case {"list": "queue"}:
            return _beside_in_queue(context, reference, staff, back=back)
        case {"list": "found"}:
            form = bound_lookup(context)
            return _beside(form.find(staff).rows, reference, back=back) if form else None
    listed = list_of(context, staff)
    return step(listed, load_row(reference, staff), back=back) if listed else None


def _beside_in_queue(
    context: dict[str, Any], reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """The row next to one in a tab of the queue as it is now; none for roles without a queue."""
    if not staff.can(Permission.HAND_OFF):
        return None
    form = queue_form_of(context)
    companies = [company.company_id for company in companies_for(staff)]
    try:
        row = load_row(reference, staff)
    except NotFound:
        row = None
    found = beside(form.chosen_tab, companies, staff.username, form.filters(), row, back=back)
    return found.summary if found else None


def _beside(rows: tuple[ConversationSummary, ...], reference: str, *, back: bool) -> ConversationSummary | None:
    """The neighbour in a short list; the first row for a conversation that has left it."""
    places = {row.reference: place for place, row in enumerate(rows)}
    if reference not in places:
        return rows[0] if rows and not back else None
    place = places[reference] + (-1 if back else 1)
    return rows[place] if 0 <= place < len(rows) else None
