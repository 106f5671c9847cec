"""Resolution of list contexts: the list that a person came from as it is now, and the next conversation in it.

A list context is a sealed record of a list and its filters.
"""

from typing import Any

from django.http import QueryDict

from console.errors import BadReference, NotFound
from console.permissions import Permission, Staff
from console.refs import unseal
from console.templatetags.components import zone_of
from conversations.converting import CHANNELS
from conversations.finding.listing import ConversationList, neighbour_of
from conversations.finding.queries import load_row, of_company, of_project, of_recipient, of_reply
from conversations.lists.forms import CompanyListFilter, RecipientFilter, bound_lookup
from conversations.queue.form import QueueForm
from conversations.queue.reading import neighbour_in_tab
from conversations.records import ConversationSummary


def list_of(context: dict[str, Any], staff: Staff) -> ConversationList | None:
    """Return the list of conversations that a context names; None for another context or one out of scope."""
    query = _query(context.get("filters"))
    filters = RecipientFilter(query).filters(zone_of(staff))
    try:
        match context:
            case {"list": "company", "company": str() as company} if staff.scope.covers_company(company):
                return of_company(company, filters, staff, in_time=CompanyListFilter(query).in_time)
            case {
                "list": "project",
                "company": str() as company,
                "project": str() as project,
            } if staff.scope.covers_company(company):
                return of_project(company, project, filters, staff)
            case {"list": "recipient", "reference": str() as reference}:
                return of_recipient(unseal("recipient", reference, 1)[0], filters, staff)
            case {"list": "replies", "reference": str() as reference}:
                channel, ours, theirs = unseal("replies", reference, 3)
                return of_reply(channel, ours, theirs, staff) if channel in CHANNELS else None
    except BadReference:
        return None
    return None


def filters_of(context: dict[str, Any]) -> dict[str, str]:
    """Return the valid filters of a list context, as the list's page has them."""
    query = _query(context.get("filters"))
    return CompanyListFilter(query).values() | RecipientFilter(query).values()


def queue_form_of(context: dict[str, Any]) -> QueueForm:
    """Return a form with the tab and filters of a queue context."""
    return QueueForm(_query(context.get("filters"), tab=context.get("tab")))


def _query(values: Any, **more: Any) -> QueryDict:
    query = QueryDict(mutable=True)
    query.update({name: str(value) for name, value in (more | (values if isinstance(values, dict) else {})).items()})
    return query


def neighbour(
    context: dict[str, Any] | None, reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """Return the conversation after (or before) one in the list of a context; None at its end.

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
    return neighbour_of(listed, load_row(reference, staff), back=back) if listed else None


def _beside_in_queue(
    context: dict[str, Any], reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """Return the row next to one in a tab of the queue as it is now; None for roles without a queue."""
    if not staff.can(Permission.HAND_OFF):
        return None
    form = queue_form_of(context)
    try:
        row = load_row(reference, staff)
    except NotFound:
        row = None
    found = neighbour_in_tab(form.chosen_tab, staff, form.filters(), row, back=back)
    return found.summary if found else None


def _beside(rows: tuple[ConversationSummary, ...], reference: str, *, back: bool) -> ConversationSummary | None:
    """Return the neighbour in a short list; going forward, the first row for a conversation that has left it."""
    places = {row.reference: place for place, row in enumerate(rows)}
    if reference not in places:
        return rows[0] if rows and not back else None
    place = places[reference] + (-1 if back else 1)
    return rows[place] if 0 <= place < len(rows) else None
