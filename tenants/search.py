"""The search box's finders for tenants, their users, and the owners of a channel."""

from collections.abc import Iterable

from django.urls import reverse

from console.errors import Invalid
from console.permissions import Permission, Staff
from console.search.finders import HITS, Finder, FinderResult, SearchHit
from console.search.meanings import MeaningKind, matches_name
from tenants.keys import Channel, channels_with_id, checked_channel, label_of
from tenants.people import KnownUsers, users_known_by, users_of_id
from tenants.queries import list_first_tenants, owners_of, row_for
from tenants.records import TenantRow


def _tenant(value: str, staff: Staff) -> FinderResult:
    row = row_for(value, staff) if staff.scope.covers_tenant(value) else None
    return FinderResult((_hit(row),)) if row else FinderResult()


def _named(value: str, staff: Staff) -> FinderResult:
    """Find tenants in scope by name. At most two reads; adds a notice if there are more tenants than were read."""
    first, more = list_first_tenants(staff)
    named = [row for row in first if matches_name(row.name, value)]
    notices = (f"Searched the names of the first {len(first)} tenants only.",) if more else ()
    return FinderResult(tuple(map(_hit, named[:HITS])), notices)


def _hit(row: TenantRow) -> SearchHit:
    url = reverse("tenant", args=[row.tenant_id])
    return SearchHit(row.name, url, f"{row.tenant_id}, {row.status or 'without a status'}")


def _user(value: str, staff: Staff) -> FinderResult:
    return _found(users_of_id(value, staff))


def _known_as(value: str, staff: Staff) -> FinderResult:
    return _found(users_known_by((value,), staff))


def _found(known: KnownUsers) -> FinderResult:
    hits = tuple(
        SearchHit(
            f"{user.name} of {user.tenant_id}",
            reverse("tenant-users", args=[user.tenant_id]),
            f"by {', '.join(user.by)}",
        )
        for user in known.users
    )
    return FinderResult(hits, known.notices)


def _channel(value: str, staff: Staff) -> FinderResult:
    kind, _, channel_id = value.partition("#")
    try:
        return _owners((checked_channel(kind, channel_id),), staff)
    except Invalid:
        return FinderResult()


def _channel_id(value: str, staff: Staff) -> FinderResult:
    """Look up a bare id as a channel of each type that accepts it."""
    return _owners(channels_with_id(value), staff)


def _owners(channels: Iterable[Channel], staff: Staff) -> FinderResult:
    """Find the tenants in scope that have one of these channels. Three reads for each."""
    hits = []
    for channel in channels:
        hits += [
            SearchHit(f"{label_of(channel.type)} channel of {owner}", reverse("tenant-channels", args=[owner]))
            for owner in owners_of(channel).tenants
            if staff.scope.covers_tenant(owner)
        ]
    return FinderResult(tuple(hits))


FINDERS = (
    Finder("Tenants", Permission.TENANT_READ, {MeaningKind.TENANT: _tenant, MeaningKind.NAME: _named}),
    Finder(
        "Users of tenants",
        Permission.TENANT_READ,
        {MeaningKind.EMAIL: _known_as, MeaningKind.PHONE: _known_as, MeaningKind.USER: _user},
    ),
    Finder(
        "Channels of tenants",
        Permission.TENANT_READ,
        {MeaningKind.CHANNEL: _channel, MeaningKind.CHANNEL_ID: _channel_id},
    ),
)
