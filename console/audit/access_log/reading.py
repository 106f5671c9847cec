"""Who looked: opened transcripts, reveals and exports, by the person who looked and by the conversation looked at."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.urls import reverse

from console.audit import scoping
from console.audit.access_log.exports import NOWHERE, Across, exports_across
from console.audit.names import name_of
from console.audit.queries import display_names, happened_at
from console.audit.review.filters import LOOKS, NOBODY, Review
from console.audit.review.gathering import Gathered, gather, look_ahead
from console.audit.review.plan import TRAIL_BY_TRAIL
from console.audit.rows import PLATFORM_NAMES, as_payload, text_in, times_of
from console.audit.scoping import is_conversation_trail
from console.errors import NotFound
from console.permissions import Staff
from console.redaction import redact
from console.refs import seal
from console.staff.accounts import normal_username
from console.trail.actions import CHAT_TRAIL, STAFF_TRAIL, TENANT_TRAIL, THREAD_TRAIL, Action
from console.trail.models import AuditEntry
from console.trail.results import outcome_of
from console.trees import text_of

K = TypeVar("K", bound=Hashable)
# Recorded in the trail of who looked, under a pseudonym of who was looked for.
OF_PERSONS = (Action.PERSON_LOOKED_UP, Action.PERSON_SEARCHED)
ENTRIES_READ = 400
PIECES = 8


@dataclass(frozen=True, slots=True)
class AccessLogRead:
    """Who, or what was looked at: `name` is redacted and leads to `url` ("" for nowhere); `note` says more of it.

    `times` in all, `what` was done how often ("opened redacted", 3), most often first; `last` is when last.
    """

    name: str
    note: str
    url: str
    times: int
    what: tuple[tuple[str, int], ...]
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Looks:
    """Latest first. `read` entries were read; `reaches` is the instant back to which, None where that is all.

    `why_not`: nothing could be read, and why. `across`: at one conversation, the exports that are in other trails, and
    in `rows` too. `is_unknown`: nothing at all is recorded under that id.
    """

    rows: tuple[AccessLogRead, ...]
    read: int
    is_all: bool
    reaches: datetime | None
    notices: tuple[str, ...] = ()
    why_not: str = ""
    across: Across = NOWHERE
    is_unknown: bool = False

    @property
    def times(self) -> int:
        """Of all rows."""
        return sum(row.times for row in self.rows)


def looks_of_person(username: str, staff: Staff) -> Looks:
    """What one member of staff looked at, conversation by conversation, within the reader's scope.

    Nobody of that name, nobody in scope, and nobody who looked are one answer. Raises as `read_review`.
    """
    # The word for entries that name nobody is no person's.
    review = Review(LOOKS, actor="" if username == NOBODY else username)
    if not review.actor:
        return Looks((), 0, is_all=True, reaches=None)
    plan = look_ahead(review, staff)
    if TRAIL_BY_TRAIL in plan.notices and not plan.partitions:
        return Looks((), 0, is_all=False, reaches=None, why_not=TRAIL_BY_TRAIL)
    gathered = gather(review, staff, ENTRIES_READ, PIECES)

    def words(_: object, entries: list[AuditEntry]) -> tuple[str, str, str]:
        trail = text_in(entries[0], "conversation_id")
        url = reverse("trail", args=[seal("trail", trail)])
        if is_conversation_trail(trail):
            return redact(trail), "", url
        if trail.startswith((THREAD_TRAIL, CHAT_TRAIL)):
            return name_of(trail), "", url
        if entries[0].plain("action_type") in OF_PERSONS:
            kind = _word(_payload(entries[0]).get("looked_for"))
            return (f"A person, by {kind}" if kind else "A person"), "recorded in their own trail", url
        note = f"recorded in the trail of {_whose(trail)}"
        if entries[0].plain("action_type") == Action.AUDIT_EXPORTED:
            return f"Export{'s' if len(entries) > 1 else ''} across conversations", note, url
        return _in_tenant(entries[0]) or "Several conversations", note, url

    rows = _rows(gathered.entries, lambda entry: (text_in(entry, "conversation_id"), _about(entry)), words, what_of)
    return _looks(rows, gathered, notices=plan.notices)


def _whose(trail: str) -> str:
    """Of whom a trail is, within a sentence: people by their username alone."""
    if trail.startswith(STAFF_TRAIL):
        return redact(trail.removeprefix(STAFF_TRAIL))
    name = name_of(trail)
    return f"{name[:1].lower()}{name[1:]}"


def _about(entry: AuditEntry) -> str:
    """What of a trail of several things an entry is about: a person that was looked up, a tenant's conversation."""
    if entry.plain("action_type") in OF_PERSONS:
        return f"person {person_in(entry)}"
    return _in_tenant(entry)


def person_in(entry: AuditEntry) -> str:
    """The pseudonym of whom a look-up or search was for; "" where an entry tells none."""
    return _word(_payload(entry).get("person"))


def _in_tenant(entry: AuditEntry) -> str:
    """The conversation of a tenant that an entry in the tenant's trail is about; "" for others."""
    if not text_in(entry, "conversation_id").startswith(TENANT_TRAIL):
        return ""
    value = _payload(entry).get("tenant_conversation")
    return text_of(value)[:200] if isinstance(value, str) else ""


def looks_of_conversation(conversation_id: str, staff: Staff) -> Looks:
    """Who looked at one conversation, person by person, and who exported what may hold it.

    Raises `NotFound` out of scope, and as `read_review`.
    """
    check_conversation(conversation_id, staff)
    gathered = gather(Review(LOOKS, conversation=conversation_id), staff, ENTRIES_READ, PIECES)
    across = exports_across(conversation_id, staff, gathered.entries)

    def what(entry: AuditEntry) -> str:
        elsewhere = text_in(entry, "conversation_id") != conversation_id
        return what_of(entry) + (" across conversations: may contain it" if elsewhere else "")

    rows = rows_by_person((*gathered.entries, *across.entries), what)
    is_unknown = not rows and gathered.is_all and _is_unknown(conversation_id, staff)
    return _looks(rows, gathered, across=across, is_unknown=is_unknown)


def _is_unknown(conversation_id: str, staff: Staff) -> bool:
    """Whether nothing stands in its trail and nobody knows a conversation of that id: most often it was mistyped."""
    is_there = gather(Review(conversation=conversation_id), staff, 1, 1).entries
    return not is_there and not scoping.companies_of(conversation_id)


def rows_by_person(
    entries: Sequence[AuditEntry], what: Callable[[AuditEntry], str] | None = None
) -> tuple[AccessLogRead, ...]:
    """A row for each person who looked, with what they did; `what` says that of one entry, else `what_of`."""
    names = display_names(entries)

    def words(actor: str, entries: list[AuditEntry]) -> tuple[str, str, str]:
        roles = dict.fromkeys(role for each in entries if (role := redact(text_in(each, "actor_role"))))
        shown = PLATFORM_NAMES.get(actor) or redact(names.get(actor) or actor) or "Nobody named"
        username = redact(actor)
        note = " · ".join(part for part in (username if username != shown else "", ", ".join(roles)) if part)
        return shown, note, person_url(actor)

    return _rows(entries, lambda entry: text_in(entry, "actor"), words, what or what_of)


def check_conversation(conversation_id: str, staff: Staff) -> None:
    """Raise `NotFound` for what is no conversation's trail, and unless it can hold anything for that person."""
    if not is_conversation_trail(conversation_id):
        raise NotFound
    scoping.check_role(conversation_id, staff)
    if not staff.scope.everything:
        found = gather(Review(conversation=conversation_id), staff, 1, 1).entries
        named = [text_in(each, "company_id") for each in found]
        scoping.check_scope(conversation_id, staff, [each for each in named if each])


def person_url(username: str) -> str:
    """Where one person's looks are; "" for a name that no address can hold."""
    return reverse("audit-looks-person", args=[username]) if is_a_name(username) else ""


def is_a_name(username: str) -> bool:
    """Whether it may stand in an address: spelled as usernames are, and not like a number of a customer."""
    return normal_username(username) == username != "" and username.strip(".") != "" and redact(username) == username


# From what the entries of a row share, and these entries: the row's name, its note and where it leads.
Words = Callable[[K, list[AuditEntry]], tuple[str, str, str]]


def _looks(rows: tuple[AccessLogRead, ...], gathered: Gathered, **more: Any) -> Looks:
    return Looks(rows, len(gathered.entries), gathered.is_all, gathered.reaches, **more)


def _rows(
    entries: Iterable[AuditEntry], by: Callable[[AuditEntry], K], words: Words[K], what: Callable[[AuditEntry], str]
) -> tuple[AccessLogRead, ...]:
    groups: dict[K, _Group] = {}
    for entry in entries:
        groups.setdefault(by(entry), _Group()).add(entry, what(entry))
    rows = (
        AccessLogRead(*words(name, group.entries), group.what.total(), tuple(group.what.most_common()), group.last)
        for name, group in groups.items()
    )
    # By when last, for entries that are kept once an hour have their time within, and exports are read apart.
    return tuple(sorted(rows, key=lambda row: row.last.timestamp() if row.last else 0.0, reverse=True))


@dataclass(slots=True)
class _Group:
    entries: list[AuditEntry] = field(default_factory=list)
    what: Counter[str] = field(default_factory=Counter)
    last: datetime | None = None

    def add(self, entry: AuditEntry, what: str) -> None:
        """One look more."""
        self.entries.append(entry)
        self.what[what] += times_of(entry)
        at = happened_at(entry)
        if at and (self.last is None or at > self.last):
            self.last = at


def what_of(entry: AuditEntry) -> str:
    """What a look was: "opened, shown redacted", "revealed: number, email", "exported as csv"."""
    payload = _payload(entry)
    result = outcome_of(entry)
    failed = f" ({result})" if result in ("failed", "conflict", "pending") else ""
    match entry.plain("action_type"):
        case Action.RECIPIENT_REVEALED if result == "failed":
            return "was not allowed to reveal the recipient"
        case Action.PERSON_SEARCHED if result == "failed":
            return "was not allowed to search for personal data"
        case Action.PERSON_SEARCHED:
            reason = text_of(payload.get("reason") or "")[:80]
            return f"searched for, {payload.get('hits', '?')} found: {reason}{failed}"
        case Action.RECIPIENT_REVEALED:
            fields = ", ".join(_listed(payload.get("fields")))
            return (f"revealed: {fields}" if fields else "revealed") + failed
        case Action.PERSON_LOOKED_UP:
            stores = _word(payload.get("stores"))
            return (f"looked up in {stores}" if stores else "looked up") + failed
        case Action.AUDIT_EXPORTED:
            made = _word(payload.get("format"))
            return (f"exported as {made}" if made else "exported") + failed
    shown = _word(payload.get("shown"))
    return (f"opened, shown {shown}" if shown else "opened") + failed


def _payload(entry: AuditEntry) -> dict[str, Any]:
    payload = as_payload(entry.plain("action_payload_redacted"))
    return payload if isinstance(payload, dict) else {}


def _listed(value: Any) -> Iterator[str]:
    members: Iterable[Any] = value if isinstance(value, list) else ()
    return (word for each in list(members)[:9] if (word := _word(each)))


def _word(value: Any) -> str:
    return text_of(value)[:40] if isinstance(value, str) else ""
