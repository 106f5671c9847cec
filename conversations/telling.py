"""Telling one colleague of something while they work: `pk = TOLD#{username}` in the console's own table.

Every open page asks for what is new. What is told names no customer, and goes by itself after some days.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.redaction import cut, redact
from console.schema.tables import table_name
from console.store.connection import call
from console.store.items import items_of
from conversations.reading import conversation_url

KEPT = timedelta(days=3)
MOST_SHOWN = 20
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that somebody is told, of a conversation. `id` makes it the same when it is told twice."""

    id: str
    words: str
    reference: str
    company: str
    at: datetime | None = None

    @classmethod
    def of(cls, told_id: str, words: str, reference: str, company: str) -> "Told":
        """Say something of a conversation, redacted."""
        return cls(told_id, cut(redact(words), _LONGEST), reference, company)

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
            "words": {"S": told.words},
            "reference": {"S": told.reference},
            "company": {"S": told.company},
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
    return Told(str(item["sk"]), words, reference, company, clock.parse_instant(item.get("at")))
