"""From a list context, the sealed note of which list with which filters a person saw, to that list as it is now."""

from typing import Any

from django.http import QueryDict

from console.errors import BadReference
from console.permissions import Staff
from console.refs import unseal
from console.templatetags.components import zone_of
from conversations.forms import CompanyListFilter, RecipientFilter
from conversations.queries import ConversationList, of_company, of_recipient, of_reply
from conversations.queue.form import QueueForm
from conversations.reading import CHANNELS


def list_of(context: dict[str, Any], staff: Staff) -> ConversationList | None:
    """Return the list of conversations that a context names, if it is one and in scope."""
    query = _query(context.get("filters"))
    filters = RecipientFilter(query).filters(zone_of(staff))
    try:
        match context:
            case {"list": "company", "company": str() as company} | {
                "list": "project",
                "company": str() as company,
                "project": str(),
            } if staff.scope.covers_company(company):
                in_time = CompanyListFilter(query).in_time
                return of_company(company, filters, staff, context.get("project", ""), in_time=in_time)
            case {"list": "recipient", "reference": str() as reference}:
                return of_recipient(unseal("recipient", reference, 1)[0], filters, staff)
            case {"list": "replies", "reference": str() as reference}:
                channel, ours, theirs = unseal("replies", reference, 3)
                return of_reply(channel, ours, theirs, staff) if channel in CHANNELS else None
    except BadReference:
        return None
    return None


def filters_of(context: dict[str, Any]) -> dict[str, str]:
    """Return the filters of a context of a list that are valid, as its page has them."""
    query = _query(context.get("filters"))
    return CompanyListFilter(query).values() | RecipientFilter(query).values()


def queue_form_of(context: dict[str, Any]) -> QueueForm:
    """Return the tab and filters of a context of the queue."""
    return QueueForm(_query(context.get("filters"), tab=context.get("tab")))


def _query(values: Any, **more: Any) -> QueryDict:
    query = QueryDict(mutable=True)
    query.update({name: str(value) for name, value in (more | (values if isinstance(values, dict) else {})).items()})
    return query
