"""The permanent places of facts, and the owners that have any: sources forget when something began and whose it was.

- `pk = PLACE#{kind}#{pseudonym}`, `sk = PLACE`: its owner and day, once settled;
- `pk = OWNERS#{kind}`, `sk = OWNER#{owner}`: an owner with facts of a kind.
"""

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import unquote

from django.conf import settings

from console import clock
from console.caching import cached_for
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from conversations.insight.facts import FactDay, FactKind, escaped, query_pages

_PLACE, _OWNER = "PLACE", "OWNER#"
# Owners are noted again this often, so that they do not expire before their facts.
NOTED_SECONDS = 86_400


def get_or_create_place(kind: FactKind, pseudonym: str, find: Callable[[], FactDay | None]) -> FactDay | None:
    """Return where the facts of something are stored; on first use, store the place that `find` returns.

    None if `find` returns None. Strongly consistent. Raises the store's errors.
    """
    if (known := read_place(kind, pseudonym)) is not None:
        return known
    if (found := find()) is None:
        return None
    try:
        write_place(pseudonym, found, ConditionExpression="attribute_not_exists(pk)")
    except ConditionFailed:
        # Another process settled it first: use its place.
        return read_place(kind, pseudonym) or found
    return found


def read_place(kind: FactKind, pseudonym: str) -> FactDay | None:
    """Return where the facts of something are stored; None if not settled. One GetItem, strongly consistent."""
    key = {"pk": {"S": f"PLACE#{kind}#{pseudonym}"}, "sk": {"S": _PLACE}}
    item = call("GetItem", TableName=table_name("INSIGHT"), Key=key, ConsistentRead=True).get("Item")
    return FactDay(kind, item["owner"]["S"], item["day"]["S"]) if item else None


def write_place(pseudonym: str, place: FactDay, **condition: str) -> None:
    """Write the place of the facts of something, replacing any other. Raises the store's errors."""
    item = {
        "pk": {"S": f"PLACE#{place.kind}#{pseudonym}"},
        "sk": {"S": _PLACE},
        "owner": {"S": place.owner},
        "day": {"S": place.day},
        "expires_at": {"N": str(_kept_until())},
    }
    call("PutItem", TableName=table_name("INSIGHT"), Item=item, **condition)


@cached_for(NOTED_SECONDS, entries=10_000)
def note_owner(kind: FactKind, owner: str) -> bool:
    """Note that an owner has facts of a kind. One write a day for each process. Raises the store's errors."""
    item = {
        "pk": {"S": f"OWNERS#{kind}"},
        "sk": {"S": f"{_OWNER}{escaped(owner)}"},
        "expires_at": {"N": str(_kept_until())},
    }
    call("PutItem", TableName=table_name("INSIGHT"), Item=item)
    return True


def owners_of(kind: FactKind) -> list[str]:
    """Return the ids of all owners with facts of a kind, "" for facts without an owner; not for conversations.

    One Query per 10,000 or so. Raises the store's errors.
    """
    return [unquote(item["sk"]["S"].removeprefix(_OWNER)) for items in query_pages(f"OWNERS#{kind}") for item in items]


def _kept_until() -> int:
    return clock.to_epoch(clock.now() + timedelta(days=settings.INSIGHT_RETENTION_DAYS))
