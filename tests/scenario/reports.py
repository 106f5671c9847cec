"""Requests of what is made of the trail (exports, pictures, who looked), for `tests.scenario.requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.audit.review.forms import CONVERSATION, About
from console.permissions import Staff

if TYPE_CHECKING:
    from tests.scenario import Side

Post = tuple[str, dict[str, Any]]


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """Each with filters and without; who looked at the side's conversation, and what its colleague looked at."""
    export, picture = reverse("audit-export"), reverse("audit-picture")
    filters = {"group": "hand-off", "action": "route", "company": side.company_id, "until": "2099-12-31"}
    about = {"about": About(CONVERSATION, side.conversation_id).sealed}
    return {
        "audit-export": [export, _with(export, filters), _with(export, about)],
        "audit-picture": [picture, _with(picture, filters), _with(picture, about)],
        "audit-looks": [reverse("audit-looks")],
        "audit-looks-person": [
            reverse("audit-looks-person", args=[side.username]),
            reverse("audit-looks-person", args=[staff.username]),
        ],
        "audit-looks-conversation": [reverse("audit-looks-conversation", args=[side.trail_ref])],
        "audit-looks-recipient": [reverse("audit-looks-recipient", args=[side.recipient_ref])],
    }


def posts(side: Side) -> dict[str, list[Post]]:
    """Both formats, of everything and of one conversation; both look-ups."""
    export, looks = reverse("audit-export"), reverse("audit-looks")
    about = {"about": About(CONVERSATION, side.conversation_id).sealed}
    return {
        "audit-export": [
            (_with(export, {"company": side.company_id}), {"format": "csv"}),
            (_with(export, about), {"format": "jsonl"}),
        ],
        "audit-looks": [
            (looks, {"look": "person", "username": side.username}),
            (looks, {"look": "conversation", "conversation_id": side.conversation_id}),
            (looks, {"look": "recipient", "recipient": side.recipient}),
        ],
    }


def _with(url: str, query: dict[str, str]) -> str:
    return f"{url}?{urlencode(query)}"
