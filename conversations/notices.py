"""Notices to one colleague while they work: `pk = TOLD#{username}` in the console's own table.

Every open page polls for new ones. A stored notice names no customer; it expires after
`KEPT`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.urls import reverse
from pynamodb.attributes import UnicodeAttribute

from console import clock
from console.caching import cached_for
from console.errors import BadReference
from console.redaction import cut, mask_identifier, redact
from console.refs import unseal
from console.staff.colleagues import name_of
from console.store.models import InstantAttribute, LenientItem, WholeNumberAttribute
from console.trees import isolated
from conversations.companies import NAMES_CACHED_SECONDS, name_or_id
from conversations.converting import conversation_url

KEPT = timedelta(days=3)
MOST_SHOWN = 20
# Enough for several actions on the maximum number of selected conversations.
MOST_READ = 200
# Equal notices about several conversations are joined if the later ones come within this time of the first.
TOGETHER = timedelta(minutes=2)
_LONGEST = 400
# In the words of joined notices, the first is replaced by the second.
_ONE, _SEVERAL = "this conversation", "{count} conversations"
_company_name = cached_for(NAMES_CACHED_SECONDS)(name_or_id)


class StoredNotice(LenientItem):
    """A notice as it is stored."""

    words = UnicodeAttribute(default="")
    reference = UnicodeAttribute(default="")
    company = UnicodeAttribute(default="")
    by = UnicodeAttribute(default="")
    to = UnicodeAttribute(default="")
    group = UnicodeAttribute(default="")
    at = InstantAttribute(null=True)
    expires_at = WholeNumberAttribute(null=True)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about a conversation. Storing the same `id` twice stores one notice.

    `words` may contain `{by}` and `{to}`, each a colleague (or a group). Their names, and the company's, are looked up
    when it is shown, because the sender may not be allowed to read them. `group` is the id of a group that gets the
    conversation. `more` are the ids of the notices joined to this one; `who` is the customer, masked, of a single one.
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
    who: str = ""

    @property
    def url(self) -> str:
        """The conversation's page, or for several conversations the tab of the queue that lists them."""
        if not self.more:
            return conversation_url(self.reference)
        listed = {"tab": "waiting", "group": self.group} if self.group else {"tab": "colleagues"}
        return reverse("queue", query={"tab": "mine"} if self.is_mine else listed)


def post_notice(username: str, notice: Notice) -> None:
    """Store a notice for a person, once for each id. Raises the store's errors."""
    now = clock.now()
    StoredNotice(
        _partition(username),
        notice.id,
        words=cut(redact(notice.words), _LONGEST),
        reference=notice.reference,
        company=notice.company,
        by=notice.by,
        to=notice.to,
        group=notice.group,
        at=now,
        expires_at=clock.to_epoch(now + KEPT),
    ).save()


def notices_for(username: str, is_opened: Callable[[str], bool] = lambda _: False) -> list[Notice]:
    """Return a person's notices that were not put away, latest first. One Query; raises the store's errors.

    `is_opened` says of a conversation's reference whether the person has just opened it: then its notices are done, and
    deleted.
    """
    now = clock.now()
    found = [
        _notice_of(each)
        for each in StoredNotice.list_in(_partition(username), MOST_READ, consistent=False)
        if not clock.is_expired(each.expires_at, now)
    ]
    done = [each for each in found if is_opened(each.reference)]
    for each in done:
        StoredNotice(_partition(username), each.id).delete()
    found = [each for each in found if each not in done]
    oldest_first = sorted(found, key=lambda each: (each.at or now, each.id))
    return [_shown(each, username) for each in _together(oldest_first)][: -MOST_SHOWN - 1 : -1]


def _together(oldest_first: Iterable[Notice]) -> list[Notice]:
    """Join equal notices about different conversations under the id of the first one.

    A second notice about the same conversation is not joined.
    """
    groups: list[list[Notice]] = []
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


def _joined(first: Notice, others: Sequence[Notice]) -> Notice:
    companies = dict.fromkeys(filter(None, (first.company, *(each.company for each in others))))
    return replace(first, more=tuple(each.id for each in others), company=", ".join(companies))


def _belong_together(one: Notice, other: Notice) -> bool:
    if one.at is None or other.at is None or other.at - one.at > TOGETHER:
        return False
    return _ONE in one.words and (one.words, one.by, one.to) == (other.words, other.by, other.to)


def _shown(notice: Notice, username: str) -> Notice:
    words = notice.words
    if notice.more:
        words = words.replace(_ONE, _SEVERAL.format(count=1 + len(notice.more)), 1)
    receiver = isolated(notice.to) if notice.group else name_of(notice.to)
    for name, shown in (("{by}", name_of(notice.by)), ("{to}", receiver)):
        if shown:
            words = words.replace(name, shown, 1)
    return replace(notice, words=words, is_mine=notice.to == username, who=_customer_of(notice))


def _customer_of(notice: Notice) -> str:
    """Return the customer of a single notice, masked; "" for several conversations."""
    if notice.more:
        return ""
    try:
        return mask_identifier(unseal("conversation", notice.reference, 2)[0])
    except BadReference:
        return ""


def dismiss_notices(username: str, ids: Iterable[str]) -> None:
    """Delete the notices that a person has put away, with those joined to them. Raises the store's errors."""
    wanted = set(ids)
    for notice in notices_for(username):
        if notice.id in wanted:
            for each in (notice.id, *notice.more):
                StoredNotice(_partition(username), each).delete()


def _partition(username: str) -> str:
    return f"TOLD#{username}"


def _notice_of(item: StoredNotice) -> Notice:
    company = _company_name(item.company)
    return Notice(item.sk, item.words, item.reference, company, item.at, item.by, item.to, item.group)
