"""What leads set for one company, and what a colleague was told; giving a conversation away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.permissions import Staff
from console.refs import seal, seal_data
from console.staff.models import StaffAccount
from conversations.attention.levels import COMPANY, partition_of
from conversations.converting import hand_off_of, reference_of
from conversations.handoff import HandOffAction, intent_for, seal_intent
from conversations.insight import budgets
from conversations.models import Conversation

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Item, Texts

NOTIFICATION = "2026-01-05T10:00:00.000Z#n1"
GROUP, TOLD_AT = "a1b2c3d4e5f6", "2026-01-05T10:00:00.000Z"
DESTINATION = {
    "title": "Help desk",
    "kind": "webhook",
    "address": "https://hooks.example/console",
    "types": ["conversation.waiting"],
    "is_on": "on",
}
# As browsers send it, with the fields that are left empty.
LEVELS = {
    "stuck_after": "",
    "unanswered_after": "",
    "first_answer": "30",
    "next_answer": "15",
    "return_after": "",
    "urgent_words": "court",
}


def items(company_id: str, holder: str, key: tuple[str, str], texts: Texts) -> list[Item]:
    """All rows of CONSOLE for one company. `holder` was told of the conversation of that key."""
    return [
        {"pk": f"GROUPS#{company_id}", "sk": GROUP, "name": texts("group.name"), "members": [holder], "version": 1},
        {
            "pk": budgets.PARTITION,
            "sk": company_id,
            "amount": "0.01",
            "month": budgets.month_of(clock.now().date()),
            "spent": "0.02",
            "unpriced": 7,
            "version": 1,
        },
        {"pk": partition_of(company_id), "sk": COMPANY, "urgent_words": [texts("levels.word")], "version": 1},
        {
            "pk": f"TOLD#{holder}",
            "sk": "told",
            "words": texts("told.words"),
            "reference": reference_of(*key),
            "company": texts("told.company"),
            "at": TOLD_AT,
        },
        *_notifications(company_id, key, texts),
    ]


def _notifications(company_id: str, key: tuple[str, str], texts: Texts) -> list[Item]:
    """Two destinations; of the first, two notifications that were not delivered, and one that is tried again."""
    destination_id = f"destination-of-{company_id}"
    body = {"type": "conversation.waiting", "data": {"conversation": reference_of(*key)}}
    delivery = {
        "sk": NOTIFICATION,
        "notification_id": "n1",
        "destination_id": destination_id,
        "company_id": company_id,
        "type": "conversation.waiting",
        "body": json.dumps(body),
        "attempts": 2,
        "problem": texts("notification.problem"),
        "due_at": "2099-01-01T00:00:00.000Z",
        "expires_at": 4_102_444_800,
    }
    destination = {
        "pk": f"DESTINATIONS#{company_id}",
        "sk": destination_id,
        "name": texts("destination.name"),
        "kind": "webhook",
        "address": "https://hooks.example/" + texts("destination.address"),
        "types": ["conversation.waiting"],
        "is_on": True,
        "created_at": TOLD_AT,
        "secrets": [seal_data(f"webhook secret {destination_id}", "whsec_" + "s" * 43)],
        "version": 1,
    }
    failed = {"pk": f"NOTIFICATIONS_FAILED#{destination_id}", "state": "failed", **delivery}
    return [
        destination,
        destination | {"sk": f"another-of-{company_id}"},
        {"pk": f"NOTIFICATIONS#{destination_id}", "state": "waiting", **delivery},
        failed,
        failed | {"sk": f"{NOTIFICATION} too", "notification_id": "n1 too"},
    ]


def urls(side: Side) -> dict[str, list[str]]:
    """The pages."""
    levels = reverse("service-levels", args=[side.company_id])
    groups = reverse("agent-groups", args=[side.company_id])
    return {
        "team": [reverse("team")],
        "service-levels": [levels, f"{levels}?project={side.project_id}"],
        "budget": [reverse("budget", args=[side.company_id])],
        "agent-groups": [groups, f"{groups}?group={GROUP}"],
        "notifications": [_of_company("notifications", side)],
        "destination-new": [_of_company("destination-new", side)],
        "destination": [_destination("destination", side)],
        "destination-change": [_destination("destination-change", side, "another")],
        "notices": [reverse("notices")],
        "notices-moved": [reverse("notices-moved")],
        "conversation-give": [reverse("conversation-give", args=[reference_of(*side.keys["email"])])],
    }


def _of_company(route: str, side: Side) -> str:
    return f"{reverse(route)}?{urlencode({'company': side.company_id})}"


def references(side: Side) -> dict[str, list[str]]:
    """The destinations, by the first word of their routes."""
    ids = [f"{each}-of-{side.company_id}" for each in ("destination", "another")]
    return {"destination": [seal("destination", side.company_id, each) for each in ids]}


def _new(side: Side) -> str:
    return seal("destination", side.company_id, f"new-of-{side.company_id}")


def _destination(route: str, side: Side, which: str = "destination") -> str:
    return reverse(route, args=[seal("destination", side.company_id, f"{which}-of-{side.company_id}")])


def posts(side: Side, by: StaffAccount) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What is saved, and one conversation given to a colleague."""
    item = Conversation.get(*side.keys["email"], consistent_read=True)
    token = seal_intent(intent_for(HandOffAction.ASSIGN, item, hand_off_of(item)), Staff.of(by))
    give = {"token": token, "receiver": f"colleague:{side.username}", "why": "knows the case"}
    groups = reverse("agent-groups", args=[side.company_id])
    changed = DESTINATION | {"address": "https://hooks.example/changed"}
    managers = {"title": "Managers", "members": [side.username], "version": "1"}
    return {
        "service-levels": [(reverse("service-levels", args=[side.company_id]), LEVELS | {"version": "1"})],
        "budget": [(reverse("budget", args=[side.company_id]), {"amount": "250", "version": "1"})],
        "agent-groups": [(f"{groups}?group={GROUP}", managers)],
        "destination-new": [(_of_company("destination-new", side), DESTINATION | {"token": _new(side)})],
        "destination": [
            (_destination("destination", side), form)
            for form in (
                {"do": "test", "token": seal("destination test", f"destination-of-{side.company_id}", "t1")},
                {"do": "show"},
                {"do": "again", "delivery": NOTIFICATION},
                {"do": "all"},
                {"do": "renew", "version": "1"},
            )
        ],
        "destination-change": [(_destination("destination-change", side, "another"), changed | {"version": "1"})],
        "notices": [(reverse("notices"), {"id": "told"})],
        "availability": [(reverse("availability"), {"available": "no"})],
        "conversation-give": [(reverse("conversation-give", args=[reference_of(*side.keys["email"])]), give)],
    }
