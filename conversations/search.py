"""What the search box finds among the platform's conversations and companies."""

from dataclasses import replace

from django.urls import reverse

from console.permissions import Permission, Staff
from console.search.finders import HITS, Finder, Found, Hit
from console.search.meanings import Kind, is_national, named_so
from conversations import companies
from conversations.listing import conversation_url, url_of
from conversations.lookups import Finding, find_by_id, find_recipient
from conversations.records import Summary


def _found(finding: Finding) -> Found:
    """Lists under their recipient, single conversations by themselves."""
    hits = []
    for hit in finding.hits:
        if hit.kind and (hit.more or len(hit.rows) > 1):
            count = f"{len(hit.rows)}{'+' if hit.more else ''} conversations"
            hits.append(Hit(hit.who, reverse(hit.kind, args=[hit.reference]), count))
        else:
            hits += [_hit(row) for row in hit.rows]
    return Found(tuple(hits), (finding.notice,) if finding.notice else ())


def _hit(row: Summary) -> Hit:
    return Hit(f"{row.who}, {row.short_id}", conversation_url(row.reference), row.company_name)


def _recipient(value: str, staff: Staff) -> Found:
    """Which country codes were tried with a national number the search says itself."""
    found = find_recipient(value, staff)
    return _found(replace(found, notice="") if is_national(value) else found)


def _by_id(value: str, staff: Staff) -> Found:
    return _found(find_by_id(value, staff))


def _company(value: str, staff: Staff) -> Found:
    """A company in scope of which anything is known. At most one GetItem and one Query."""
    found = companies.find(value) if staff.scope.covers_company(value) else None
    return Found((Hit(found.name, url_of("company", value), value),)) if found else Found()


def _named(value: str, staff: Staff) -> Found:
    """Companies in scope by a name. No read, as a worker remembers the registry; else one."""
    known = [each for each in companies.companies_for(staff) if named_so(each.name, value)]
    return Found(tuple(Hit(each.name, url_of("company", each.company_id), each.company_id) for each in known[:HITS]))


CONVERSATIONS = Finder(
    "Conversations",
    Permission.CONVERSATION_READ,
    {Kind.PHONE: _recipient, Kind.EMAIL: _recipient, Kind.CONVERSATION: _by_id, Kind.REQUEST: _by_id},
)
COMPANIES = Finder("Companies", Permission.CONVERSATION_READ, {Kind.COMPANY: _company, Kind.NAME: _named})
