"""Addresses of a store's lists and records: the parts of their keys sealed, as they may be personal data."""

from urllib.parse import urlencode

from django.urls import reverse

from console.errors import BadReference
from console.refs import seal, unseal
from conversations.stores.records import RecordPlace

_ROUTES = {"list": "store-list", "record": "store-record"}


def reference_of(store: str, kind: str, parts: tuple[str, ...]) -> str:
    """The sealed reference of a list or record of a store."""
    return seal(f"{kind} of {store}", *parts)


def parts_of(store: str, kind: str, reference: str) -> tuple[str, ...]:
    """The parts in a sealed reference. Raises `BadReference` for one of another store or kind."""
    parts = unseal(f"{kind} of {store}", reference)
    if not parts:
        raise BadReference
    return parts


def address_of(store: str, place: RecordPlace) -> str:
    """The address of a place of a store."""
    url = reverse(_ROUTES[place.kind], args=[store, reference_of(store, place.kind, place.parts)])
    query = {**({"at": place.at} if place.at else {}), **dict(place.query)}
    return url + (f"?{urlencode(query)}" if query else "") + (f"#m-{place.at}" if place.at else "")


def action_address(store: str, action: str, parts: tuple[str, ...]) -> str:
    """The address of the page that asks before an action is done to a record."""
    return reverse("store-action", args=[store, reference_of(store, "record", parts), action])
