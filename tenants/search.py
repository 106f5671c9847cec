"""What the search box finds among tenants: a tenant, its users, whose a channel is."""

from django.urls import reverse

from console.errors import Invalid
from console.search.finders import Finder, Found, Hit
from console.search.meanings import Kind
from console.staff.permissions import Permission, Staff
from tenants.channel_types import TYPES, checked_channel, label_of
from tenants.keys import Channel
from tenants.people import KnownUser, users_known_by, users_of_id
from tenants.queries import metas_of, owners_of
from tenants.reading import row_of, shown_to

# Types whose ids have a form of their own: a bare id is asked for as each of those that take it.
_TOLD_BY_FORM = tuple(name for name in TYPES if name != "dashboard")


def _tenant(value: str, staff: Staff) -> Found:
    if not staff.scope.covers(value):
        return Found()
    meta = metas_of([value]).get(value)
    if meta is None:
        return Found()
    row = row_of(meta, shown_to(staff))
    return Found((Hit(row.name, reverse("tenant", args=[value]), f"{value}, {row.status or 'without a status'}"),))


def _user(value: str, staff: Staff) -> Found:
    return Found(_users(users_of_id(value, staff)))


def _known_as(value: str, staff: Staff) -> Found:
    known = users_known_by((value,), staff)
    return Found(_users(known.users), known.notices)


def _users(known: tuple[KnownUser, ...]) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            f"{user.name} of {user.tenant_id}",
            reverse("tenant-users", args=[user.tenant_id]),
            f"by {', '.join(user.by)}",
        )
        for user in known
    )


def _channel(value: str, staff: Staff) -> Found:
    kind, _, channel_id = value.partition("#")
    try:
        return _owners((checked_channel(kind, channel_id),), staff)
    except Invalid:
        return Found()


def _channel_id(value: str, staff: Staff) -> Found:
    """A bare id, as a channel of each type that it may be one of."""
    channels = []
    for kind in _TOLD_BY_FORM:
        try:
            channels.append(checked_channel(kind, value))
        except Invalid:
            continue
    return _owners(tuple(channels), staff)


def _owners(channels: tuple[Channel, ...], staff: Staff) -> Found:
    """Tenants in scope that have one of these. Three reads for each."""
    hits = []
    for channel in channels:
        hits += [
            Hit(f"{label_of(channel.type)} channel of {owner}", reverse("tenant-channels", args=[owner]))
            for owner in owners_of(channel).tenants
            if staff.scope.covers(owner)
        ]
    return Found(tuple(hits))


FINDERS = (
    Finder("Tenants", Permission.TENANT_READ, {Kind.TENANT: _tenant}),
    Finder(
        "Users of tenants", Permission.TENANT_READ, {Kind.EMAIL: _known_as, Kind.PHONE: _known_as, Kind.USER: _user}
    ),
    Finder("Channels of tenants", Permission.TENANT_READ, {Kind.CHANNEL: _channel, Kind.CHANNEL_ID: _channel_id}),
)
