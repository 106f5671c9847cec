"""What the search box and the trails find among the platform's conversations and companies."""

from dataclasses import replace

from django.urls import reverse

from console.audit import scoping
from console.permissions import Permission, Staff
from console.search import finders
from console.search.finders import HITS, Finder, FinderResult, SearchHit
from console.search.meanings import MeaningKind, is_national, matches_name
from conversations import companies
from conversations.converting import conversation_url, url_by_id, url_of
from conversations.finding.lookups import (
    LookupFinding,
    conversations_of,
    country_codes,
    find_by_id,
    find_recipient,
    ids_of,
    known_conversation,
)
from conversations.records import ConversationSummary


def _found(finding: LookupFinding) -> FinderResult:
    """Convert a finding: one hit for a list with more than one row, and one hit for each single conversation."""
    hits = []
    for hit in finding.hits:
        if hit.kind and (hit.more or len(hit.rows) > 1):
            count = f"{len(hit.rows)}{'+' if hit.more else ''} conversations"
            hits.append(SearchHit(hit.who, reverse(hit.kind, args=[hit.reference]), count))
        else:
            hits += [_hit(row) for row in hit.rows]
    return FinderResult(tuple(hits), (finding.notice,) if finding.notice else ())


def _hit(row: ConversationSummary) -> SearchHit:
    return SearchHit(f"{row.who}, {row.short_id}", conversation_url(row.reference), row.company_name)


def _recipient(value: str, staff: Staff) -> FinderResult:
    """Find a recipient, without the notice for a national number: the search itself names the country codes tried."""
    found = find_recipient(value, staff)
    return _found(replace(found, notice="") if is_national(value) else found)


def _by_id(value: str, staff: Staff) -> FinderResult:
    return _found(find_by_id(value, staff))


def _company(value: str, staff: Staff) -> FinderResult:
    """Find a company in scope by id. At most one GetItem and one Query."""
    found = companies.find(value) if staff.scope.covers_company(value) else None
    return FinderResult((SearchHit(found.name, url_of("company", value), value),)) if found else FinderResult()


def _named(value: str, staff: Staff) -> FinderResult:
    """Find companies in scope by name, in the registry that `companies_for` caches."""
    known = [each for each in companies.companies_for(staff) if matches_name(each.name, value)]
    return FinderResult(
        tuple(SearchHit(each.name, url_of("company", each.company_id), each.company_id) for each in known[:HITS])
    )


CONVERSATIONS = Finder(
    "Conversations",
    Permission.CONVERSATION_READ,
    {
        MeaningKind.PHONE: _recipient,
        MeaningKind.EMAIL: _recipient,
        MeaningKind.CONVERSATION: _by_id,
        MeaningKind.REQUEST: _by_id,
    },
)
COMPANIES = Finder("Companies", Permission.CONVERSATION_READ, {MeaningKind.COMPANY: _company, MeaningKind.NAME: _named})


def register_with_base() -> None:
    """Register the finders of the search box, and what trails ask about conversations. Called once at start-up."""
    finders.register(CONVERSATIONS)
    finders.register_codes(country_codes)
    finders.register(COMPANIES)
    scoping.register(
        scoping.ConversationSource(known_conversation, url_by_id, companies.project_names, conversations_of, ids_of)
    )
