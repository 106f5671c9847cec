"""Requests of the review and of entries, for `tests.scenario.requests`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.audit.review.filters import Review
from console.audit.review.forms import CONVERSATION, KEY, About
from console.audit.review.reading import read_review
from console.audit.rows import reference_of
from console.permissions import Role, Scope, Staff
from console.trail.actions import Action, staff_trail

if TYPE_CHECKING:
    from tests.scenario import Side

Post = tuple[str, dict[str, Any]]


REVIEWER = Staff("reviewer", "Reviewer", Role.ADMIN, Scope(everything=True))


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """The review by everything that it can be filtered by, its second page, and entries of each kind of trail."""
    reviewer = replace(staff, role=Role.ADMIN)
    of_conversation = read_review(Review(conversation=side.conversation_id), reviewer)
    assert of_conversation.next, "the review of a conversation has to have a second page"
    about, about_key = sealed(side)
    dated = {"since": "2020-01-01", "until": "2099-12-31"}
    return {
        "audit": [
            reverse("audit"),
            _audit(group="hand-off", action="route", result="failed", company=side.company_id, **dated),
            _audit(actor=side.username),
            _audit(about=about),
            _audit(about=about, page=of_conversation.next),
            _audit(about=about_key, nobody="on"),
        ],
        "audit-find": [reverse("audit-find"), f"{reverse('audit-find')}?{urlencode({'company': side.company_id})}"],
        "audit-entry": [reverse("audit-entry", args=[each]) for each in entry_refs(side)],
    }


def posts(side: Side) -> dict[str, list[Post]]:
    """Looking at one conversation, and at one key."""
    return {
        "audit-find": [
            (reverse("audit-find"), {"what": CONVERSATION, "value": side.conversation_id}),
            (reverse("audit-find"), {"what": KEY, "value": key_of(side)}),
        ]
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


def _audit(**query: str) -> str:
    return f"{reverse('audit')}?{urlencode(query)}"
