"""Saved views of who holds a company's conversations, and those shared for the company; their pages and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.permissions import Owner, OwnerKind, Permission, Staff
from console.refs import seal
from conversations.lists.saved_views.records import REFERENCE, SHARED, key_of, partition_of

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Item, Texts

# The first letters of ids, one for each view of a side.
OWN, OF_QUEUE, OF_LIST = "a", "b", "c"


def items(company_id: str, project_id: str, holder: str, texts: Texts) -> list[Item]:
    """All rows of CONSOLE for one company. `holder` has its conversations."""
    company, mine = Owner(OwnerKind.COMPANY, company_id), Owner(OwnerKind.STAFF, holder)
    queue = {"tab": "waiting", "company": company_id, "channel": "whatsapp"}
    of_list = {"company": company_id, "project": project_id, "status": "is:failed"}
    return [
        _row(mine, OWN, company_id, texts("saved_view.own_name"), "queue", queue),
        _row(company, OF_QUEUE, company_id, texts("saved_view.name"), "queue", queue),
        _row(company, OF_LIST, company_id, texts("saved_view.list_name"), "conversations", of_list),
    ]


def _row(owner: Owner, first: str, company_id: str, name: str, of: str, filters: dict[str, str]) -> Item:
    item: Item = {"pk": partition_of(owner), "sk": _id(first, company_id), "version": 1}
    shared = {"company_id": owner.id} if partition_of(owner) == SHARED else {}
    return item | {"name": name, "list": of, "filters": filters} | shared


def _id(first: str, company_id: str) -> str:
    return f"{first}{company_id}"


def reference(side: Side, which: str) -> str:
    """The sealed reference of one that is shared for the company."""
    return seal(REFERENCE, key_of(Owner(OwnerKind.COMPANY, side.company_id)), _id(which, side.company_id))


def references(side: Side) -> list[str]:
    """Of the company's, and of its colleague's own."""
    own = seal(REFERENCE, key_of(Owner(OwnerKind.STAFF, side.username)), _id(OWN, side.company_id))
    return [reference(side, OF_QUEUE), reference(side, OF_LIST), own]


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """The pages; of saving, those of the lists that the person's role has."""
    of_list = {"list": "conversations", "company": side.company_id, "project": side.project_id, "task": "1"}
    of_queue = {"list": "queue", "tab": "mine", "company": side.company_id, "waited": "1h"}
    given = [of_list, *([of_queue] if staff.can(Permission.HAND_OFF) else [])]
    return {
        "saved-views": [reverse("saved-views")],
        "saved-view-new": [f"{reverse('saved-view-new')}?{urlencode(each)}" for each in given],
        "saved-view-change": [
            reverse("saved-view-change", args=[reference(side, each)]) for each in (OF_QUEUE, OF_LIST)
        ],
    }


def posts(side: Side) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """One saved as the person's own; one of the company's renamed, another deleted."""
    query = urlencode({"list": "conversations", "company": side.company_id, "order": "project"})
    renamed, deleted = (reverse("saved-view-change", args=[reference(side, each)]) for each in (OF_QUEUE, OF_LIST))
    return {
        "saved-view-new": [(f"{reverse('saved-view-new')}?{query}", {"name": "By project"})],
        "saved-view-change": [
            (renamed, {"name": "Renamed", "version": "1"}),
            (deleted, {"delete": "1", "version": "1"}),
        ],
    }
