"""The conversation before or after one in the list that a person came from, as the list is now."""

from typing import Any

from django.http import QueryDict

from console.errors import BadReference, NotFound
from console.permissions import Permission, Staff
from console.refs import unseal
from console.templatetags.console import zone_of
from conversations.companies import companies_for
from conversations.filters import ConversationFilters
from conversations.forms import CHANNELS, CompanyListFilter, RecipientFilter, bound_lookup
from conversations.queries import ConversationList, load_row, of_company, of_recipient, of_reply, step
from conversations.queue.form import QueueForm
from conversations.queue.reading import beside
from conversations.records import ConversationSummary


def neighbour(
    context: dict[str, Any] | None, reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """The conversation beside one in the list of a context, or None at its end. Raises `NotFound` and store errors."""
    match context:
        case {"list": "queue"}:
            return _beside_in_queue(context or {}, reference, staff, back=back)
        case {"list": "found"}:
            form = bound_lookup(context)
            return _beside(form.find(staff).rows, reference, back=back) if form else None
    listed = _list_of(context, staff)
    return step(listed, load_row(reference, staff), back=back) if listed else None


def _list_of(context: dict[str, Any] | None, staff: Staff) -> ConversationList | None:
    """The list that a context names, if it is one and in scope."""
    filters = _filters(context, staff)
    try:
        match context:
            case {"list": "company", "company": str() as company} if staff.scope.covers_company(company):
                return of_company(company, filters, staff, in_time=_in_time(context))
            case {
                "list": "project",
                "company": str() as company,
                "project": str() as project,
            } if staff.scope.covers_company(company):
                return of_company(company, filters, staff, project, in_time=_in_time(context))
            case {"list": "recipient", "reference": str() as reference}:
                return of_recipient(unseal("recipient", reference, 1)[0], filters, staff)
            case {"list": "replies", "reference": str() as reference}:
                channel, ours, theirs = unseal("replies", reference, 3)
                return of_reply(channel, ours, theirs, staff) if channel in CHANNELS else None
    except BadReference:
        return None
    return None


def _in_time(context: dict[str, Any] | None) -> bool:
    values = (context or {}).get("filters")
    return CompanyListFilter(_query(values if isinstance(values, dict) else {})).in_time


def _filters(context: dict[str, Any] | None, staff: Staff) -> ConversationFilters:
    values = (context or {}).get("filters")
    form = RecipientFilter(_query(values if isinstance(values, dict) else {}))
    return form.filters(zone_of(staff))


def _query(values: dict[str, Any]) -> QueryDict:
    query = QueryDict(mutable=True)
    query.update({name: str(value) for name, value in values.items()})
    return query


def _beside_in_queue(
    context: dict[str, Any], reference: str, staff: Staff, *, back: bool
) -> ConversationSummary | None:
    """The row beside one of the queue's tab as it is now; none for roles without a queue."""
    if not staff.can(Permission.HAND_OFF):
        return None
    values = context.get("filters")
    form = QueueForm(_query({"tab": context.get("tab"), **(values if isinstance(values, dict) else {})}))
    companies = [company.company_id for company in companies_for(staff)]
    try:
        row = load_row(reference, staff)
    except NotFound:
        row = None
    found = beside(form.chosen_tab, companies, staff.username, form.filters(), row, back=back)
    return found.summary if found else None


def _beside(rows: tuple[ConversationSummary, ...], reference: str, *, back: bool) -> ConversationSummary | None:
    """The neighbour in a short list; from a conversation that has left it, on to its first."""
    places = {row.reference: place for place, row in enumerate(rows)}
    if reference not in places:
        return rows[0] if rows and not back else None
    place = places[reference] + (-1 if back else 1)
    return rows[place] if 0 <= place < len(rows) else None
