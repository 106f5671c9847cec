"""Saved replies of one company, of who holds its conversations, and of everybody; their pages and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.errors import NotFound
from console.permissions import FOR_ALL, Owner, OwnerKind, Permission, Role, Scope, Staff
from console.refs import seal
from conversations.team.saved_replies import service

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Item, Texts

# Ids of the company's: one to look at and change, one to delete.
IDS = {"to change": "c" * 32, "to delete": "d" * 32}
AT = "2026-01-05T10:00:00.000Z"
SEEING_ALL = Staff("somebody", "Somebody", Role.ADMIN, Scope(everything=True))


def items(company_id: str, holder: str, texts: Texts) -> list[Item]:
    """All rows of CONSOLE for one company. `holder` has its conversations."""
    company = Owner(OwnerKind.COMPANY, company_id)
    own = _row(Owner(OwnerKind.STAFF, holder), "e" * 32, texts("saved_reply.own_name"), texts("saved_reply.own_text"))
    return [own, *(_row(company, each, texts("saved_reply.name"), texts("saved_reply.text")) for each in IDS.values())]


def for_all() -> Item:
    """One of everybody's, which is of no company."""
    return _row(FOR_ALL, "a" * 32, "Thanks", "Thank you, {first_name}.")


def _row(owner: Owner, saved_id: str, name: str, text: str) -> Item:
    by = {"updated_by": "ada.admin", "updated_at": AT}
    return {"pk": service.partition_of(owner), "sk": saved_id, "name": name, "text": text, **by}


def _partition(kind: OwnerKind, owner_id: str) -> str:
    return service.partition_of(Owner(kind, owner_id))


def reference(side: Side, purpose: str) -> str:
    """The sealed reference of one of the company's."""
    return seal(service.REFERENCE, _partition(OwnerKind.COMPANY, side.company_id), IDS[purpose])


def references(side: Side) -> list[str]:
    """Of the company's, and of one of its colleague's own."""
    own = seal(service.REFERENCE, _partition(OwnerKind.STAFF, side.username), "e" * 32)
    return [*(reference(side, each) for each in IDS), own]


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """The pages."""
    company = urlencode({"tab": "company", "company": side.company_id})
    listed, new = reverse("saved-replies"), reverse("saved-reply-new")
    pick = reverse("conversation-saved-replies", args=[side.conversation_ref])
    return {
        "saved-replies": [listed, f"{listed}?{company}", f"{listed}?tab=staff", f"{listed}?{company}&q={side.name}"],
        "saved-reply-new": [new, f"{new}?{company if staff.can(Permission.REPLIES_WRITE) else 'tab=staff'}"],
        "saved-reply-change": [reverse("saved-reply-change", args=[reference(side, "to change")])],
        "saved-reply-delete": [reverse("saved-reply-delete", args=[reference(side, "to delete")])],
        "conversation-saved-replies": [pick, f"{pick}?q={side.name}"],
    }


def posts(side: Side, username: str) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """One added to the person's own; the company's changed and deleted."""
    own = seal(service.REFERENCE, _partition(OwnerKind.STAFF, username), "b" * 32)
    typed = {"name": "Greeting", "text": "Hello"}
    changed, deleted = reference(side, "to change"), reference(side, "to delete")
    return {
        "saved-reply-new": [(reverse("saved-reply-new"), typed | {"token": own})],
        "saved-reply-change": [(reverse("saved-reply-change", args=[changed]), typed | {"version": _seen(changed)})],
        "saved-reply-delete": [(reverse("saved-reply-delete", args=[deleted]), {"seen": _seen(deleted)})],
    }


def _seen(ref: str) -> str:
    try:
        return str(service.load(ref, SEEING_ALL).version)
    except NotFound:
        return ""
