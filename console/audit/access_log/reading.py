"""Who looked at what: opened transcripts, reveals, searches and exports, by person, conversation and customer."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.urls import reverse

from console import clock
from console.audit import scoping
from console.audit.access_log.exports import NO_EXPORTS_ACROSS, ExportsAcross, exports_across
from console.audit.queries import belongs_to_company, read_entries
from console.audit.review.plan import NO_ACTOR_FILTER, TRAIL_BY_TRAIL, Review
from console.audit.review.reading import GatheredEntries, gather, preview_plan
from console.audit.rows import PLATFORM_NAMES, display_names
from console.audit.scoping import is_conversation_trail, name_of
from console.errors import NotFound
from console.lookups.personal_searches import pseudonym_of
from console.permissions import Permission, Staff
from console.redaction import redact
from console.refs import seal
from console.search.finders import with_country_codes
from console.search.meanings import is_national, recognise, tried_with
from console.staff.accounts import normal_username
from console.store.calls import parallel
from console.trail.actions import (
    ACCESS_ACTIONS,
    EXPORTS,
    Action,
    happened_at,
    is_live,
    outcome_of,
    payload_of,
    text_in,
    times_of,
)
from console.trail.models import AuditEntry
from console.trail.recording import CHAT_TRAIL, STAFF_TRAIL, TENANT_TRAIL, THREAD_TRAIL
from console.trees import text_of

K = TypeVar("K", bound=Hashable)
# Recorded in the trail of the person who looked, under a pseudonym of the person they looked for.
PERSON_LOOKUPS = (Action.PERSON_LOOKED_UP, Action.PERSON_SEARCHED)
# How a transcript was shown.
_SHOWN = {"raw": "unmasked", "redacted": "masked"}
ENTRIES_READ = 400
PIECES = 8
# For each conversation of a customer, and for searches for that customer.
ENTRIES_EACH = 200
SEARCHES_READ, SEARCH_PIECES = 400, 4
NO_EXPORTS = "Exports across conversations are not counted here. See each conversation instead."
MAY_CONTAIN = "1 export may contain it"
ONLY_OWN = "Only people with all companies in scope can see searches for this person."


@dataclass(frozen=True, slots=True)
class AccessLogRead:
    """A row: a person who looked, or what they looked at. `name` is redacted and links to `url` ("" for no link).

    `what` counts what was done, such as ("opened, masked", 3), most frequent first; `last` is the latest time.
    """

    name: str
    note: str
    url: str
    times: int
    what: tuple[tuple[str, int], ...]
    last: datetime | None

    @property
    def phrases(self) -> tuple[str, ...]:
        """What was done, with the numbers: "opened, masked 3 times", "3 exports may contain it"."""
        return tuple(
            f"{times} exports may contain it" if words == MAY_CONTAIN and times > 1 else _times(words, times)
            for words, times in self.what
        )


@dataclass(frozen=True, slots=True)
class AccessLog:
    """Rows, latest first. `read` is the number of entries read, back to `reaches` (None: all of them).

    `why_not` says why nothing could be read. `across`: for one conversation, the exports recorded in other trails, also
    included in `rows`. `is_unknown`: nothing at all is recorded under that id.
    """

    rows: tuple[AccessLogRead, ...]
    read: int
    is_all: bool
    reaches: datetime | None
    notices: tuple[str, ...] = ()
    why_not: str = ""
    across: ExportsAcross = NO_EXPORTS_ACROSS
    is_unknown: bool = False

    @property
    def times(self) -> int:
        """The number of accesses in all rows."""
        return sum(row.times for row in self.rows)


def access_log_of_person(username: str, staff: Staff) -> AccessLog:
    """Return what one member of staff looked at, conversation by conversation, within the reader's scope.

    An unknown name, a person out of scope and one who never looked give the same result. Raises as `read_review`.
    """
    # NOBODY is a filter for entries without an actor, not a username.
    review = Review(ACCESS_ACTIONS, actor="" if username == NO_ACTOR_FILTER else username)
    if not review.actor:
        return AccessLog((), 0, is_all=True, reaches=None)
    plan = preview_plan(review, staff)
    if TRAIL_BY_TRAIL in plan.notices and not plan.partitions:
        return AccessLog((), 0, is_all=False, reaches=None, why_not=TRAIL_BY_TRAIL)
    gathered = gather(review, staff, ENTRIES_READ, PIECES)
    rows = _rows(
        gathered.entries,
        lambda entry: (text_in(entry, "conversation_id"), _about(entry)),
        lambda _, entries: describe_place(entries),
        describe_look,
    )
    return _access_log(rows, gathered, notices=plan.notices)


def describe_place(entries: Sequence[AuditEntry]) -> tuple[str, str, str]:
    """Return what entries of one trail and about one thing looked at: a redacted name, a note, and the trail's URL."""
    trail = text_in(entries[0], "conversation_id")
    url = reverse("trail", args=[seal("trail", trail)])
    if is_conversation_trail(trail):
        return redact(trail), "", url
    if trail.startswith((THREAD_TRAIL, CHAT_TRAIL)):
        return name_of(trail), "", url
    note = f"recorded in the trail of {_whose(trail)}"
    if entries[0].plain("action_type") in PERSON_LOOKUPS:
        kind = _word(payload_of(entries[0]).get("looked_for"))
        return (f"A customer, by {kind}" if kind else "A customer"), note, url
    if entries[0].plain("action_type") in EXPORTS:
        return f"Export{'s' if len(entries) > 1 else ''} across conversations", note, url
    return _in_tenant(entries[0]) or "Several conversations", note, url


def _whose(trail: str) -> str:
    """Name the owner of a trail for use within a sentence: people by their username alone."""
    if trail.startswith(STAFF_TRAIL):
        return redact(trail.removeprefix(STAFF_TRAIL))
    name = name_of(trail)
    return f"{name[:1].lower()}{name[1:]}"


def _about(entry: AuditEntry) -> str:
    """Return what an entry is about in a trail that covers several things: a person, or a tenant's conversation."""
    if entry.plain("action_type") in PERSON_LOOKUPS:
        return f"person {person_in(entry)}"
    return _in_tenant(entry)


def _people_in(entry: AuditEntry) -> set[str]:
    """Return the pseudonyms a search may match: a number without a country code was tried with several codes."""
    tried_as = payload_of(entry).get("tried_as")
    return {person_in(entry), *(map(str, tried_as) if isinstance(tried_as, list) else ())}


def person_in(entry: AuditEntry) -> str:
    """Return the pseudonym of the person a look-up or search was for; "" if the entry has none."""
    return _word(payload_of(entry).get("person"))


def _in_tenant(entry: AuditEntry) -> str:
    """Return the conversation that an entry in a tenant's trail is about; "" for other entries."""
    if not text_in(entry, "conversation_id").startswith(TENANT_TRAIL):
        return ""
    value = payload_of(entry).get("tenant_conversation")
    return text_of(value)[:200] if isinstance(value, str) else ""


def access_log_of_conversation(conversation_id: str, staff: Staff) -> AccessLog:
    """Return who looked at one conversation, person by person, and who exported what may contain it.

    Raises `NotFound` out of scope, and what `read_review` raises.
    """
    check_conversation(conversation_id, staff)
    gathered = gather(Review(ACCESS_ACTIONS, conversation=conversation_id), staff, ENTRIES_READ, PIECES)
    across = exports_across(conversation_id, staff, gathered.entries)

    def what(entry: AuditEntry) -> str:
        return describe_look(entry) if text_in(entry, "conversation_id") == conversation_id else MAY_CONTAIN

    rows = rows_by_person((*gathered.entries, *across.entries), what)
    unknown = not rows and gathered.is_all and is_unknown(conversation_id, staff)
    return _access_log(rows, gathered, across=across, is_unknown=unknown)


def is_unknown(conversation_id: str, staff: Staff) -> bool:
    """Return whether the trail is empty and no conversation has that id: usually it was mistyped."""
    is_there = gather(Review(conversation=conversation_id), staff, 1, 1).entries
    return not is_there and not scoping.companies_of(conversation_id)


def rows_by_person(entries: Sequence[AuditEntry], what: Callable[[AuditEntry], str]) -> tuple[AccessLogRead, ...]:
    """Return a row for each person who looked; `what` describes what one entry records."""
    names = display_names(entries)

    def words(actor: str, entries: list[AuditEntry]) -> tuple[str, str, str]:
        roles = dict.fromkeys(role for each in entries if (role := redact(text_in(each, "actor_role"))))
        shown = name_of_actor(actor, names)
        username = redact(actor)
        note = " · ".join(part for part in (username if username != shown else "", ", ".join(roles)) if part)
        return shown, note, person_url(actor)

    return _rows(entries, lambda entry: text_in(entry, "actor"), words, what)


def name_of_actor(actor: str, names: Mapping[str, str]) -> str:
    """Return who looked, redacted. `names` are display names by username."""
    return PLATFORM_NAMES.get(actor) or redact(names.get(actor) or actor) or "Nobody named"


def check_conversation(conversation_id: str, staff: Staff) -> None:
    """Raise `NotFound` unless the id is of a conversation's trail that may contain entries in the person's scope."""
    if not is_conversation_trail(conversation_id):
        raise NotFound
    scoping.check_role(conversation_id, staff)
    if not staff.scope.everything:
        found = gather(Review(conversation=conversation_id), staff, 1, 1).entries
        named = [text_in(each, "company_id") for each in found]
        scoping.check_scope(conversation_id, staff, [each for each in named if each])


def person_url(username: str) -> str:
    """Return the URL of the list of what one person looked at; "" for a name that a URL must not contain."""
    return reverse("access-log-person", args=[username]) if is_url_safe_username(username) else ""


def is_url_safe_username(username: str) -> bool:
    """Return whether a name may appear in a URL: spelled like a username, and not like a customer's number."""
    return normal_username(username) == username != "" and username.strip(".") != "" and redact(username) == username


def conversations_of(recipient: str, staff: Staff) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Return (id, company) of each conversation of a typed number or address in scope, and whether there are more.

    Raises `Forbidden`, `NotFound` if there are none, and the store's errors.
    """
    staff.require(Permission.AUDIT_REVIEW)
    staff.require(Permission.CONVERSATION_READ)
    source = scoping.conversation_source()
    conversations, more = source.of_recipient(recipient, staff) if source else ((), False)
    if not conversations:
        raise NotFound
    return conversations, more


def access_log_of_recipient(recipient: str, staff: Staff) -> tuple[AccessLog, tuple[str, ...]]:
    """Return who looked at a person, and the ids of the conversations whose trails were read.

    One Query of each trail, in parallel. For people with all companies in scope, searches, look-ups in all stores and
    exports of the person's list are read from the index by action type. Raises what `conversations_of` does.
    """
    conversations, more = conversations_of(recipient, staff)
    codes, meant = with_country_codes(recognise(recipient), staff)
    read = parallel(*(partial(_accesses_in, *each) for each in conversations))
    entries = [entry for accesses, _ in read for entry in accesses]
    is_all = not more and all(whole for _, whole in read)
    notices: tuple[str, ...] = (ONLY_OWN,)
    if staff.scope.everything:
        review = Review((*PERSON_LOOKUPS, Action.CONVERSATIONS_EXPORTED))
        gathered = gather(review, staff, SEARCHES_READ, SEARCH_PIECES)
        people = set(map(pseudonym_of, (recipient, *(each.value for each in meant))))
        entries += [entry for entry in gathered.entries if not people.isdisjoint(_people_in(entry))]
        is_all, notices = is_all and gathered.is_all, ()
    if is_national(recipient):
        notices = (tried_with(codes), *notices)
    rows = rows_by_person(entries, describe_look)
    found = AccessLog(rows, len(entries), is_all, None, notices, across=ExportsAcross(why_not=NO_EXPORTS))
    return found, tuple(conversation_id for conversation_id, _ in conversations)


def _accesses_in(conversation_id: str, company_id: str) -> tuple[list[AuditEntry], bool]:
    """Return the accesses among the newest entries of a conversation's trail, and whether the whole trail was read."""
    entries, end = read_entries(conversation_id, epochs=False, limit=ENTRIES_EACH)
    now = clock.now()
    accesses = (
        each for each in entries if each.plain("action_type") in ACCESS_ACTIONS and belongs_to_company(each, company_id)
    )
    return [each for each in accesses if is_live(each, now)], end is None


# Maps what the entries of a row share, and the entries, to the row's name, note and URL.
RowLabels = Callable[[K, list[AuditEntry]], tuple[str, str, str]]


def _access_log(rows: tuple[AccessLogRead, ...], gathered: GatheredEntries, **more: Any) -> AccessLog:
    return AccessLog(rows, len(gathered.entries), gathered.is_all, gathered.reaches, **more)


def _rows(
    entries: Iterable[AuditEntry], by: Callable[[AuditEntry], K], words: RowLabels[K], what: Callable[[AuditEntry], str]
) -> tuple[AccessLogRead, ...]:
    groups: dict[K, list[AuditEntry]] = {}
    for entry in entries:
        groups.setdefault(by(entry), []).append(entry)
    rows = []
    for name, group in groups.items():
        done = Counter[str]()
        for entry in group:
            done[what(entry)] += times_of(entry)
        last = max((at for each in group if (at := happened_at(each))), default=None)
        rows.append(AccessLogRead(*words(name, group), done.total(), tuple(done.most_common()), last))
    # Sort by the latest time: hourly entries store theirs in the payload, and exports are read separately.
    return tuple(sorted(rows, key=lambda row: row.last.timestamp() if row.last else 0.0, reverse=True))


def describe_look(entry: AuditEntry) -> str:
    """Describe what was done: "opened, masked", "revealed: number, email", "exported as CSV"."""
    payload = payload_of(entry)
    result = outcome_of(entry)
    failed = f" ({result})" if result in ("failed", "conflict", "pending") else ""
    match entry.plain("action_type"):
        case Action.RECIPIENT_REVEALED if result == "failed":
            return "was not allowed to reveal the recipient"
        case Action.PERSON_SEARCHED if result == "failed":
            return "was not allowed to search for personal data"
        case Action.PERSON_SEARCHED:
            reason = text_of(payload.get("reason") or "")[:80]
            return f"searched for, {payload.get('hits', '?')} found{': ' if reason else ''}{reason}{failed}"
        case Action.RECIPIENT_REVEALED:
            listed = payload.get("fields")
            words = map(_word, listed[:9] if isinstance(listed, list) else ())
            fields = ", ".join(filter(None, words))
            return (f"revealed: {fields}" if fields else "revealed") + failed
        case Action.PERSON_LOOKED_UP:
            stores = _word(payload.get("stores"))
            return (f"looked up in {stores}" if stores else "looked up") + failed
        case Action.CONVERSATIONS_EXPORTED:
            return f"exported a list{_file(payload)}{failed}"
        case Action.AUDIT_EXPORTED:
            return f"exported{_file(payload)}{failed}"
    shown = _word(payload.get("shown"))
    return (f"opened, {_SHOWN.get(shown, f'shown {shown}')}" if shown else "opened") + failed


def _times(words: str, times: int) -> str:
    return f"{words} · {times} times" if times > 1 else words


def _file(payload: Mapping[str, Any]) -> str:
    """Return the format of an exported file, as people write it: " as CSV"; "" if it is unknown."""
    made = _word(payload.get("format"))
    return f" as {'JSON Lines' if made == 'jsonl' else made.upper()}" if made else ""


def _word(value: Any) -> str:
    return text_of(value)[:40] if isinstance(value, str) else ""
