"""Telling one colleague of something while they work: `pk = TOLD#{username}` in the console's own table.

Every open page asks for what is new. What is told names no customer, and goes by itself after some days.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.caching import cached_for
from console.redaction import cut, redact
from console.schema.tables import table_name
from console.staff.colleagues import name_of
from console.store.connection import call
from console.store.items import items_of
from console.trees import isolated
from conversations.companies import NAMES_CACHED_SECONDS, company_named
from conversations.reading import conversation_url

KEPT = timedelta(days=3)
MOST_SHOWN = 20
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that somebody is told, of a conversation. `id` makes it the same when it is told twice.

    `words` may name `{by}` and `{to}`, a colleague each (or a group), whose names are looked up when it is shown, as is
    the company's: who tells may have no right to that.
    """

    id: str
    words: str
    reference: str
    company: str
    at: datetime | None = None
    by: str = ""
    to: str = ""

    @property
    def url(self) -> str:
        """The conversation's page."""
        return conversation_url(self.reference)


def tell(username: str, told: Told) -> None:
    """Tell somebody, once for each id. Raises the store's errors."""
    now = clock.now()
    call(
        "PutItem",
        TableName=table_name("CONSOLE"),
        Item={
            **_key(username, told.id),
            "words": {"S": cut(redact(told.words), _LONGEST)},
            "reference": {"S": told.reference},
            "company": {"S": told.company},
            "by": {"S": told.by},
            "to": {"S": told.to},
            "at": {"S": clock.to_iso(now)},
            "expires_at": {"N": str(clock.to_epoch(now + KEPT))},
        },
    )


def told_to(username: str) -> list[Told]:
    """Return what somebody was told and has not put away, latest first. One Query; raises the store's errors."""
    now = clock.now()
    found = [
        _told(each)
        for each in items_of(_partition(username), MOST_SHOWN)
        if not clock.is_expired(each.get("expires_at"), now)
    ]
    return sorted(found, key=lambda each: each.at or now, reverse=True)


def put_away(username: str, ids: Iterable[str]) -> None:
    """Put away what somebody has seen. Raises the store's errors."""
    for each in list(dict.fromkeys(ids))[:MOST_SHOWN]:
        call("DeleteItem", TableName=table_name("CONSOLE"), Key=_key(username, each))


def _partition(username: str) -> str:
    return f"TOLD#{username}"


def _key(username: str, told_id: str) -> dict[str, Any]:
    return {"pk": {"S": _partition(username)}, "sk": {"S": told_id}}


def _told(item: dict[str, Any]) -> Told:
    words, reference, company = (str(item.get(name) or "") for name in ("words", "reference", "company"))
    for name in ("by", "to"):
        if username := str(item.get(name) or ""):
            words = words.replace(f"{{{name}}}", isolated(name_of(username)), 1)
    return Told(str(item["sk"]), words, reference, _company(company), clock.parse_instant(item.get("at")))


@cached_for(NAMES_CACHED_SECONDS)
def _company(company_id: str) -> str:
    found = company_named(company_id) if company_id else None
    return found.name if found else company_id
