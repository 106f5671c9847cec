"""Requests for the idempotency records of one company's conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.audit.events.queries import records_of
from console.permissions import Staff
from console.refs import seal
from console.store.paging import read_page
from tests.scenario.items import TAKEN

if TYPE_CHECKING:
    from tests.scenario import Side

Post = tuple[str, dict[str, Any]]


def key_of(side: Side) -> str:
    """The event id of a message that came in."""
    return f"evt:rp:{side.conversation_id}:m1"


def event_ref(key: str) -> str:
    """The sealed reference of a record."""
    return seal("event", key)


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Every GET: the look-ups, records of the middleware's and the console's, a key without one, a conversation's."""
    listed = reverse("events-of-conversation", args=[side.trail_ref])
    page = read_page(records_of(side.conversation_id), staff.username, size=1).next
    assert page, "the conversation has to have a second record"
    return {
        "events": [reverse("events")],
        "event": [
            reverse("event", args=[event_ref(key)])
            for key in (
                key_of(side),
                f"act:hand_off:{side.conversation_id}:{TAKEN}",
                f"evt:rp:{side.conversation_id}:gone",
            )
        ],
        "events-of-conversation": [listed, f"{listed}?{urlencode({'page': page})}"],
    }


def posts(side: Side) -> dict[str, list[Post]]:
    """Both look-ups."""
    url = reverse("events")
    return {
        "events": [
            (url, {"look": "event", "event_id": key_of(side)}),
            (url, {"look": "conversation", "conversation_id": side.conversation_id}),
        ]
    }
