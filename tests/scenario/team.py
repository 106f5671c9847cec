"""What leads set for one company, and what a colleague was told; giving a conversation away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse

from console.staff.models import StaffAccount
from conversations.attention.levels import COMPANY, partition_of
from conversations.handoff import HandOffAction, intent_for, seal_intent
from conversations.models import Conversation
from conversations.reading import hand_off_of, reference_of

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Item, Texts

GROUP, TOLD_AT = "a1b2c3d4e5f6", "2026-01-05T10:00:00.000Z"
LEVELS = {"first_answer": "30", "next_answer": "15", "urgent_words": "court"}


def items(company_id: str, holder: str, key: tuple[str, str], texts: Texts) -> list[Item]:
    """All rows of CONSOLE for one company. `holder` was told of the conversation of that key."""
    return [
        {"pk": f"GROUPS#{company_id}", "sk": GROUP, "name": texts("group.name"), "members": [holder], "version": 1},
        {"pk": partition_of(company_id), "sk": COMPANY, "urgent_words": [texts("levels.word")], "version": 1},
        {
            "pk": f"TOLD#{holder}",
            "sk": "told",
            "words": texts("told.words"),
            "reference": reference_of(*key),
            "company": texts("told.company"),
            "at": TOLD_AT,
        },
    ]


def urls(side: Side) -> dict[str, list[str]]:
    """The pages."""
    levels = reverse("service-levels", args=[side.company_id])
    groups = reverse("agent-groups", args=[side.company_id])
    return {
        "team": [reverse("team")],
        "service-levels": [levels, f"{levels}?project={side.project_id}"],
        "agent-groups": [groups, f"{groups}?group={GROUP}"],
        "told": [reverse("told")],
        "conversation-give": [reverse("conversation-give", args=[reference_of(*side.keys["email"])])],
    }


def posts(side: Side, by: StaffAccount) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What is saved, and one conversation given to a colleague."""
    item = Conversation.get(*side.keys["email"], consistent_read=True)
    token = seal_intent(intent_for(HandOffAction.ASSIGN, item, hand_off_of(item)), by.as_staff())
    give = {"token": token, "receiver": f"colleague:{side.username}", "why": "knows the case"}
    groups = reverse("agent-groups", args=[side.company_id])
    return {
        "service-levels": [(reverse("service-levels", args=[side.company_id]), LEVELS | {"version": "1"})],
        "agent-groups": [(f"{groups}?group={GROUP}", {"title": "Managers", "version": "1"})],
        "told": [(reverse("told"), {"id": "told"})],
        "availability": [(reverse("availability"), {"available": "no"})],
        "conversation-give": [(reverse("conversation-give", args=[reference_of(*side.keys["email"])]), give)],
    }
