"""Requests of the review, of entries, of what is made of the trail (exports, charts, who looked) and of events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.audit.events.queries import records_of
from console.audit.review.forms import CONVERSATION, KEY, About
from console.audit.review.plan import Review
from console.audit.review.reading import read_review
from console.audit.rows import reference_of
from console.permissions import Role, Scope, Staff
from console.refs import seal
from console.store.paging import read_page
from console.trail.actions import Action
from console.trail.recording import staff_trail
from tests.scenario.items import TAKEN

if TYPE_CHECKING:
    from tests.scenario import Side

Post = tuple[str, dict[str, Any]]


REVIEWER = Staff("reviewer", "Reviewer", Role.ADMIN, Scope(everything=True))


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Every GET: with filters and without, second pages, entries of each kind of trail, records and lost ones."""
    reviewer = replace(staff, role=Role.ADMIN)
    of_conversation = read_review(Review(conversation=side.conversation_id), reviewer)
    assert of_conversation.next, "the review of a conversation has to have a second page"
    records = read_page(records_of(side.conversation_id), staff.username, size=1).next
    assert records, "the conversation has to have a second record"
    about, about_key = sealed(side)
    dated = {"since": "2020-01-01", "until": "2099-12-31"}
    filters = {"group": "hand-off", "action": "route", "company": side.company_id, "until": "2099-12-31"}
    event_keys = (
        event_key(side),
        f"act:hand_off:{side.conversation_id}:{TAKEN}",
        f"evt:rp:{side.conversation_id}:gone",
    )
    return {
        "audit": [
            reverse("audit"),
            _with("audit", group="hand-off", action="route", result="failed", company=side.company_id, **dated),
            _with("audit", actor=side.username),
            _with("audit", about=about),
            _with("audit", about=about, page=of_conversation.next),
            _with("audit", about=about_key, nobody="on"),
        ],
        "audit-find": [reverse("audit-find"), _with("audit-find", company=side.company_id)],
        "audit-entry": [reverse("audit-entry", args=[each]) for each in entry_refs(side)],
        **{
            name: [reverse(name), _with(name, **filters), _with(name, about=about)]
            for name in ("audit-export", "audit-chart")
        },
        "access-review": [reverse("access-review"), _with("access-review", role="agent")],
        "access-log": [reverse("access-log"), _with("access-log", person=side.username)],
        "access-log-person": [reverse("access-log-person", args=[each]) for each in (side.username, staff.username)],
        "access-log-conversation": [reverse("access-log-conversation", args=[side.trail_ref])],
        "access-log-recipient": [reverse("access-log-recipient", args=[side.recipient_ref])],
        "events": [reverse("events")],
        "event": [reverse("event", args=[event_ref(key)]) for key in event_keys],
        "events-of-conversation": [
            reverse("events-of-conversation", args=[side.trail_ref]),
            f"{reverse('events-of-conversation', args=[side.trail_ref])}?{urlencode({'page': records})}",
        ],
    }


def posts(side: Side) -> dict[str, list[Post]]:
    """Every POST: each look-up, and exports in both formats, of a company and of one conversation."""
    looks, events, (about, _) = reverse("access-log"), reverse("events"), sealed(side)
    return {
        "audit-find": [
            (reverse("audit-find"), {"what": CONVERSATION, "value": side.conversation_id}),
            (reverse("audit-find"), {"what": KEY, "value": key_of(side)}),
        ],
        "audit-export": [
            (_with("audit-export", company=side.company_id), {"format": "csv"}),
            (_with("audit-export", about=about), {"format": "jsonl"}),
        ],
        "access-review-export": [(reverse("access-review-export"), {"format": each}) for each in ("csv", "jsonl")],
        "access-review-record": [(reverse("access-review-record"), {})],
        "access-log": [
            (looks, {"look": "conversation", "conversation_id": side.conversation_id}),
            (looks, {"look": "recipient", "recipient": side.recipient}),
        ],
        "events": [
            (events, {"look": "event", "event_id": event_key(side)}),
            (events, {"look": "conversation", "conversation_id": side.conversation_id}),
        ],
    }


def key_of(side: Side) -> str:
    """An idempotency key that entries of the side's conversation bear."""
    return f"act:rp_tag:{side.conversation_id}:m1"


def sealed(side: Side) -> tuple[str, str]:
    """The side's conversation and its key as an address of the review holds them."""
    return About(CONVERSATION, side.conversation_id).sealed, About(KEY, key_of(side)).sealed


def entry_refs(side: Side) -> list[str]:
    """A hand-off, a service's action, and a change of the colleague's account."""
    taken, routed, changed = (
        next(iter(read_review(Review((action,), conversation=trail), REVIEWER).entries))
        for action, trail in (
            (Action.HAND_OFF_TAKE, side.conversation_id),
            (Action.ROUTE, side.conversation_id),
            (Action.STAFF_CHANGED, staff_trail(side.username)),
        )
    )
    return [reference_of(each) for each in (taken, routed, changed)]


def event_key(side: Side) -> str:
    """The event id of a message that came in."""
    return f"evt:rp:{side.conversation_id}:m1"


def event_ref(key: str) -> str:
    """The sealed reference of a record."""
    return seal("event", key)


def _with(route: str, **query: str) -> str:
    return f"{reverse(route)}?{urlencode(query)}"
