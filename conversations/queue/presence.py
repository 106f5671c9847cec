"""Presence: who reads a conversation now, who is answering, and what is new since a person last looked.

Every open page reports with its poll to the console's own table: `pk = PRESENCE#{digest}`, `sk` a username, which
expires soon after. The trail records none of it: it says where people are, not what they do. When somebody opens a
conversation that they hold, the time is stored under `SEEN#{username}` for `SEEN_RETENTION`; the conversation is not
changed. A failure loses the line or the mark, never the page.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.text import get_text_list
from pynamodb.attributes import UnicodeAttribute

from console import clock
from console.errors import BadReference, ConsoleError
from console.permissions import Staff
from console.refs import as_letters, keyed_digest, seal_data, unseal_data
from console.store.connection import batch_get
from console.store.models import InstantAttribute, LenientItem, WholeNumberAttribute
from console.trees import isolated
from conversations.messages.message import StoredMessages
from conversations.queue.pages import QueueEntry

logger = logging.getLogger(__name__)

# An open page polls every eight seconds.
READS_FOR, WRITES_FOR = timedelta(seconds=25), timedelta(seconds=20)
MOST = 50
NAMED = 3
_KIND = "presence"
_DIGEST = 32


class Presence(LenientItem):
    """A person's latest poll of a conversation, and when they last wrote."""

    name = UnicodeAttribute(default="")
    seen_at = InstantAttribute(null=True)
    writing_at = InstantAttribute(null=True)
    expires_at = WholeNumberAttribute(null=True)


class Seen(LenientItem):
    """When a person last looked at a conversation."""

    seen_at = InstantAttribute(null=True)
    expires_at = WholeNumberAttribute(null=True)


@dataclass(frozen=True, slots=True)
class Present:
    """Somebody who has a conversation open."""

    name: str
    writes: bool


def token_for(reference: str, company_id: str, staff: Staff) -> str:
    """Seal the token that an open page polls with. Only valid for this person while the company is in scope."""
    return seal_data(_KIND, [staff.username, keyed_digest(reference)[:_DIGEST], company_id])


def names(token: str, reference: str, staff: Staff) -> bool:
    """Return whether a person's token is that of a conversation."""
    try:
        data = unseal_data(_KIND, token)
    except BadReference:
        return False
    return isinstance(data, list) and data[:2] == [staff.username, keyed_digest(reference)[:_DIGEST]]


def report_presence(token: str, staff: Staff, *, writes: bool) -> list[Present]:
    """Note that a person has a conversation open, and return who else has, those answering first. One write, one Query.

    Return [] for another person's token, for one whose company is no longer in scope, and after a failure.
    """
    try:
        data = unseal_data(_KIND, token)
    except BadReference:
        return []
    match data:
        case [staff.username, digest, str(company_id)] if staff.scope.covers_company(company_id):
            now, partition = clock.now(), f"PRESENCE#{digest}"
        case _:
            return []
    try:
        Presence(
            partition,
            staff.username,
            name=staff.display_name,
            seen_at=now,
            writing_at=now if writes else None,
            expires_at=clock.to_epoch(now + READS_FOR) + 1,
        ).save()
        there = Presence.list_in(partition, MOST, consistent=False)
        found = [_present(each, now) for each in there if each.sk != staff.username]
    except ConsoleError as error:
        logger.warning("Who else reads a conversation could not be told: %s", type(error).__name__)
        return []
    return sorted(filter(None, found), key=lambda each: (not each.writes, each.name.casefold()))


def describe_presence(present: list[Present]) -> str:
    """Say who is present: `Tom Becker is answering. Ann Lee and Mo Diaz are reading this too.`"""
    answering = _sentence([each.name for each in present if each.writes], "answering")
    reading = _sentence([each.name for each in present if not each.writes], "reading this too")
    return f"{answering} {reading}".strip()


def _sentence(names: list[str], doing: str) -> str:
    """Say who is doing something; "" for nobody."""
    shown = [isolated(name) for name in names[:NAMED]]
    if len(names) > NAMED:
        shown.append(f"{len(names) - NAMED} more")
    return f"{get_text_list(shown, 'and')} {'is' if len(shown) == 1 else 'are'} {doing}." if shown else ""


def _present(item: Presence, now: datetime) -> Present | None:
    seen, writing = item.seen_at, item.writing_at
    if seen is None or now - seen > READS_FOR:
        return None
    return Present((item.name or item.sk)[:60], writing is not None and now - writing <= WRITES_FOR)


# --- What is new ------------------------------------------------------------------------------------------------------

SEEN_RETENTION = timedelta(days=30)
_MESSAGES = ("primary_channel", "conversation_id", "messages")


def note_seen(username: str, reference: str) -> None:
    """Store that a person looks at a conversation now. Logs the store's errors instead of raising them."""
    now = clock.now()
    try:
        expires_at = clock.to_epoch(now + SEEN_RETENTION)
        Seen(f"SEEN#{username}", _digest_of(reference), seen_at=now, expires_at=expires_at).save()
    except ConsoleError as error:
        logger.warning("Could not note when a conversation was looked at: %s", type(error).__name__)


def unread_of(entries: Sequence[QueueEntry], username: str) -> frozenset[str]:
    """Return references of the conversations where the customer wrote since the person last looked, took or answered.

    Looking at an unanswered message does not count where people answer in the console (`services.open_conversation`).

    One BatchGetItem, and another for those that changed since. Logs the store's errors and returns nothing.
    """
    held = [entry for entry in entries if entry.hand_off.agent == username]
    if not held:
        return frozenset()
    try:
        seen = _seen(held, username)
        changed = [entry for entry in held if _may_have_updates(entry, seen)]
        return frozenset(_with_updates(changed, seen)) if changed else frozenset()
    except ConsoleError as error:
        logger.warning("Could not tell which conversations have updates: %s", type(error).__name__)
        return frozenset()


def _seen(entries: Sequence[QueueEntry], username: str) -> dict[str, datetime]:
    """Return when the person last looked at each or answered, by reference; if unknown, when they took it."""
    names = {_digest_of(entry.summary.reference): entry for entry in entries}
    found = batch_get("CONSOLE", [{"pk": f"SEEN#{username}", "sk": name} for name in names], ("sk", "seen_at"))
    noted = {each.sk: each.seen_at for each in map(Seen.from_raw_data, found)}
    seen = {}
    for name, entry in names.items():
        answered_at = clock.parse_instant(entry.item.plain("hand_off_answered_at"))
        if known := [at for at in (noted.get(name) or entry.hand_off.taken_at, answered_at) if at is not None]:
            seen[entry.summary.reference] = max(known)
    return seen


def _may_have_updates(entry: QueueEntry, seen: dict[str, datetime]) -> bool:
    """Return whether the item must be read: writers change `updated_at` with every message, but may omit it."""
    since, updated = seen.get(entry.summary.reference), entry.summary.updated_at
    return since is not None and (updated is None or updated > since)


def _with_updates(entries: Sequence[QueueEntry], seen: dict[str, datetime]) -> list[str]:
    keys = {entry.key: entry.summary.reference for entry in entries}
    wanted = [{"primary_channel": channel, "conversation_id": each} for channel, each in keys]
    updates = []
    for raw in batch_get("CONVERSATIONS", wanted, _MESSAGES):
        reference = keys[raw["primary_channel"]["S"], raw["conversation_id"]["S"]]
        at = StoredMessages.of(raw.get("messages")).last_by_customer
        if at is not None and at > seen[reference]:
            updates.append(reference)
    return updates


def _digest_of(reference: str) -> str:
    return as_letters(hashlib.sha256(reference.encode()).digest()[:16])
