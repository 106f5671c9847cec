"""Telling one colleague of something while they work: `pk = TOLD#{username}` in the console's own table.

Every open page asks for what is new. What is told names no customer, and goes by itself after some days.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.caching import cached_for
from console.redaction import cut, redact
from console.staff.colleagues import name_of
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import items_of
from conversations.companies import NAMES_CACHED_SECONDS, company_named
from conversations.reading import conversation_url

KEPT = timedelta(days=3)
MOST_SHOWN = 20
# So many conversations can be given away at once, some times over.
MOST_READ = 200
# What somebody does to several conversations at once is told as one thing, if the same is told of each within this.
TOGETHER = timedelta(minutes=2)
_LONGEST = 400
# What becomes of the words where they are of several conversations.
_ONE, _SEVERAL = "this conversation", "{count} conversations"


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that somebody is told, of a conversation. `id` makes it the same when it is told twice.

    `words` may name `{by}` and `{to}`, a colleague each (or a group), whose names are looked up when it is shown, as is
    the company's: who tells may have no right to that. `group` is the id of one that gets it. `more` are the ids of
    others that are told together with it.
    """

    id: str
    words: str
    reference: str
    company: str
    at: datetime | None = None
    by: str = ""
    to: str = ""
    group: str = ""
    more: tuple[str, ...] = ()
    is_mine: bool = False

    @property
    def url(self) -> str:
        """The conversation's page; of several, the tab of the queue that lists them."""
        if not self.more:
            return conversation_url(self.reference)
        listed = {"tab": "waiting", "group": self.group} if self.group else {"tab": "colleagues"}
        return f"{reverse('queue')}?{urlencode({'tab': 'mine'} if self.is_mine else listed)}"


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
        for each in items_of(_partition(username), MOST_READ)
        if not clock.is_expired(each.get("expires_at"), now)
    ]
    oldest_first = sorted(found, key=lambda each: (each.at or now, each.id))
    return [_shown(each, username) for each in _together(oldest_first)][: -MOST_SHOWN - 1 : -1]


def _together(oldest_first: Iterable[Told]) -> list[Told]:
    """Join what was told of several conversations at once, under the id of what was told first.

    The same conversation again is another matter.
    """
    groups: list[list[Told]] = []
    for each in oldest_first:
        found = (
            group
            for group in groups
            if _belong_together(group[0], each) and each.reference not in {other.reference for other in group}
        )
        if (group := next(found, None)) is None:
            groups.append([each])
        else:
            group.append(each)
    return [_joined(first, others) for first, *others in groups]


def _joined(first: Told, others: Sequence[Told]) -> Told:
    companies = dict.fromkeys(filter(None, (first.company, *(each.company for each in others))))
    return replace(first, more=tuple(each.id for each in others), company=", ".join(companies))


def _belong_together(one: Told, other: Told) -> bool:
    if one.at is None or other.at is None or other.at - one.at > TOGETHER:
        return False
    return _ONE in one.words and (one.words, one.by, one.to) == (other.words, other.by, other.to)


def _shown(told: Told, username: str) -> Told:
    words = told.words
    if told.more:
        words = words.replace(_ONE, _SEVERAL.format(count=1 + len(told.more)), 1)
    for name, who in (("{by}", told.by), ("{to}", told.to)):
        if who:
            words = words.replace(name, name_of(who), 1)
    return replace(told, words=words, is_mine=told.to == username)


def put_away(username: str, ids: Iterable[str]) -> None:
    """Put away what somebody has seen, with what was told together with it. Raises the store's errors."""
    wanted = set(ids)
    for told in told_to(username):
        if told.id in wanted:
            for each in (told.id, *told.more):
                call("DeleteItem", TableName=table_name("CONSOLE"), Key=_key(username, each))


def _partition(username: str) -> str:
    return f"TOLD#{username}"


def _key(username: str, told_id: str) -> dict[str, Any]:
    return {"pk": {"S": _partition(username)}, "sk": {"S": told_id}}


def _told(item: dict[str, Any]) -> Told:
    words, reference, company, by, to, group = (
        str(item.get(name) or "") for name in ("words", "reference", "company", "by", "to", "group")
    )
    at = clock.parse_instant(item.get("at"))
    return Told(str(item["sk"]), words, reference, _company(company), at, by, to, group)


@cached_for(NAMES_CACHED_SECONDS)
def _company(company_id: str) -> str:
    found = company_named(company_id) if company_id else None
    return found.name if found else company_id
