"""Requests of the other stores' pages: each store's places, look-ups and acts, by the routes that all of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.permissions import Staff
from conversations.stores.adapter import ListParameters
from conversations.stores.records import action_address, address_of, list_place, reference_of
from conversations.stores.threads.adapter import Threads
from tests.scenario import chats, threads

if TYPE_CHECKING:
    from tests.scenario import Side

Post = tuple[str, dict[str, Any]]
# What an address calls what the adapters are asked with.
_NAMES = {"cursor": "page", "before": "before"}
ROUTES = {"list": "store-list", "record": "store-record"}


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Every GET. Threads come first: they are there for whoever may see the company; chats belong to none."""
    found: dict[str, list[str]] = {
        "store": [reverse("store", args=[name]) for name in ("threads", "chats")],
        "store-find": [reverse("store-find", args=[name]) for name in ("threads", "chats")],
        "store-list": [],
        "store-record": [],
        "store-action": [url for url, _ in posts(side)["store-action"]],
    }
    for name, places in (("threads", threads.places(side)), ("chats", chats.places(side.name))):
        for place in places:
            found[ROUTES[place.kind]].append(address_of(name, place).partition("#")[0])
    listed = ("org", side.company_id)
    reader = replace(threads.READER, username=staff.username)
    second = Threads().listing(listed, reader, ListParameters()).next
    assert second, "the organisation's threads have to have a second page"
    for name, cursors in (
        ("threads", [(list_place(*listed), "cursor", second)]),
        ("chats", chats.cursors(side.name, staff)),
    ):
        for place, asked, cursor in cursors:
            found[ROUTES[place.kind]].append(f"{address_of(name, place)}?{urlencode({_NAMES[asked]: cursor})}")
    return found


def posts(side: Side) -> dict[str, list[Post]]:
    """Every POST: the look-ups, and what can be done to a record."""
    looked = (("threads", threads.lookups(side)), ("chats", chats.lookups(side.name)))
    acted = (("threads", threads.acts(side)), ("chats", chats.acts(side.name)))
    return {
        "store-find": [(reverse("store-find", args=[name]), form) for name, forms in looked for form in forms],
        "store-action": [
            (action_address(name, action, parts), form) for name, acts in acted for action, parts, form in acts
        ],
    }


def refs(side: Side) -> dict[str, list[str]]:
    """Sealed references of that side's threads, by route. Chats belong to no company."""
    found: dict[str, list[str]] = {"store-list": [], "store-record": []}
    for place in threads.places(side):
        found[ROUTES[place.kind]].append(reference_of("threads", place.kind, place.parts))
    acted = [reference_of("threads", "record", parts) for _, parts, _ in threads.acts(side)]
    return {name: list(dict.fromkeys(each)) for name, each in found.items()} | {"store-action": acted}
