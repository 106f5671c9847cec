"""What the tests of all stores share: who asks, what an address asks with, and what a page shows."""

from typing import Any

from django.http import QueryDict

from console.permissions import Role, Scope, Staff
from conversations.stores.records import RecordPage


def staff(role: Role, *ids: str, username: str = "") -> Staff:
    """A person with the scope of these companies; of everything without any."""
    scope = Scope(everything=not ids, companies=frozenset(ids))
    return Staff(username or f"{role.value}.person", role.value.title(), role, scope)


def query(**data: str) -> QueryDict:
    """What a form or an address was sent with."""
    made = QueryDict(mutable=True)
    made.update(data)
    return made


def kept(item: dict[str, Any]) -> dict[str, Any]:
    """An item without the attributes that are `...`."""
    return {name: value for name, value in item.items() if value is not ...}


def messages(page: RecordPage) -> list[Any]:
    return [each for each in page.talk.items if each.is_message]


def said(page: RecordPage) -> list[str]:
    return [" ".join(block.text for block in each.blocks) for each in messages(page)]
