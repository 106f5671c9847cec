"""Telling one colleague of something while they work: `pk = TOLD#{username}` in the console's own table.

Every open page asks for what is new. What is told names no customer, and goes by itself after some days.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.redaction import cut, redact
from console.schema.tables import table_name
from console.store.connection import call
from console.store.items import items_of
from conversations.models import Conversation
from conversations.queue.pages import MINE, WAITING
from conversations.reading import conversation_url, reference_of, text_of

KEPT = timedelta(days=3)
MOST_SHOWN = 20
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that somebody is told. `id` makes it the same when it is told twice.

    It is of one conversation, or without a `reference` of several: what the reader holds, or what waits for a `group`.
    """

    id: str
    words: str
    reference: str
    company: str
    at: datetime | None = None
    group: str = ""

    @classmethod
    def of(cls, item: Conversation, words: str, told_id: str) -> "Told":
        """Say something of a conversation."""
        company = text_of(item.company_name) or text_of(item.company_id)
        return cls(
            told_id, cut(redact(words), _LONGEST), reference_of(item.primary_channel, item.conversation_id), company
        )

    @classmethod
    def of_several(cls, words: str, told_id: str, company: str, group: str = "") -> "Told":
        """Say something of conversations that somebody holds now, or that wait for a group."""
        return cls(told_id, cut(redact(words), _LONGEST), "", cut(company, _LONGEST), group=group)

    @property
    def url(self) -> str:
        """The conversation's page, or the tab of the queue that lists them."""
        if self.reference:
            return conversation_url(self.reference)
        listed = {"tab": WAITING, "group": self.group} if self.group else {"tab": MINE}
        return f"{reverse('queue')}?{urlencode(listed)}"


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
            "group": {"S": told.group},
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
    words, reference, company, group = (
        str(item.get(name) or "") for name in ("words", "reference", "company", "group")
    )
    return Told(str(item["sk"]), words, reference, company, clock.parse_instant(item.get("at")), group)
