"""Exports across conversations that may contain a given one. Their entries are in the trails of those who exported.

Such an entry records its filters in words (`console.audit.review.page`), not the conversations in the file.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from console.audit import scoping
from console.audit.review.plan import RANGES, Review
from console.audit.review.reading import PIECE, gather, preview_plan
from console.clock import parse_instant
from console.lookups.personal_searches import pseudonym_of
from console.permissions import Staff
from console.redaction import redact
from console.store.calls import parallel
from console.store.models import query
from console.trail.actions import EXPORTS, GROUPS, happened_at, instant_of, payload_of, text_in
from console.trail.models import AuditEntry
from console.trees import text_of

# One less than a piece, so that one Query also shows whether there are more.
EXPORTS_READ = PIECE - 1
PIECES = 2
# Days are in the time zone of the person who exported, which older entries do not record.
DAY = timedelta(days=1)
# Actions never in a conversation's trail, by group. Exports name them one by one, or whole groups in lower case.
_ELSEWHERE = frozenset(
    word
    for group in (
        "Saved replies",
        "Saved views",
        "Signing in",
        "Accounts",
        "Tenants",
        "Chats and threads",
        "Operations",
    )
    for word in (group.lower(), *GROUPS[group])
)
NOT_HERE = "Exports across conversations are not counted here"
NO_INDEX = (
    f"{NOT_HERE}: the audit table has no index by action type. To add it, run manage.py tables check --cloudformation."
)
NOT_IN_SCOPE = f"{NOT_HERE}: only people with all companies in scope can see them."


@dataclass(frozen=True, slots=True)
class ExportsAcross:
    """The exports that may contain the conversation, newest first. `why_not` says why they could not be read, if so.

    `read` exports were searched. `is_all`: no older one could contain it; else `reaches` says how far back they go.
    """

    entries: tuple[AuditEntry, ...] = field(default=(), repr=False)
    why_not: str = ""
    read: int = 0
    is_all: bool = True
    reaches: datetime | None = None

    @property
    def is_counted(self) -> bool:
        """Whether every export that could contain it was searched."""
        return not self.why_not and self.is_all


NO_EXPORTS_ACROSS = ExportsAcross()


def exports_across(conversation_id: str, staff: Staff, accesses: Iterable[AuditEntry]) -> ExportsAcross:
    """Return the exports across conversations whose filters match anything in the trail as it is today.

    `accesses` are entries of the trail, which may name its company. Usually at most six Queries: four of one entry
    each, in parallel, and one for each kind of export; one more if only the conversation itself names its company.
    Raises the store's errors.
    """
    if not staff.scope.everything:
        return ExportsAcross(why_not=NOT_IN_SCOPE)
    ends = _first_and_last_entries(conversation_id)
    times = sorted(at for each in ends if (at := instant_of(each)))
    if not times:
        return NO_EXPORTS_ACROSS
    review = Review(EXPORTS)
    if not preview_plan(review, staff).partitions:
        return ExportsAcross(why_not=NO_INDEX)
    gathered = gather(review, staff, EXPORTS_READ, PIECES)
    reaches = gathered.reaches
    near = [each for each in gathered.entries if _may_contain(each, conversation_id, times[0], times[-1])]
    return ExportsAcross(
        entries=_for_company(near, conversation_id, (*ends, *accesses)),
        read=len(gathered.entries),
        # Exports older than the trail's first entry cannot contain the conversation.
        is_all=gathered.is_all or (reaches is not None and reaches < times[0]),
        reaches=reaches,
    )


def _first_and_last_entries(trail: str) -> list[AuditEntry]:
    """Return the first and the last entry of each range of a trail's keys: timestamps and epochs."""

    def end(low: str, high: str, *, newest: bool) -> list[AuditEntry]:
        keys = AuditEntry.ts_action_id.between(low, high)
        items, _ = query(AuditEntry, trail, keys, limit=1, forward=not newest, consistent=True)
        return [AuditEntry.from_raw_data(raw) for raw in items]

    asked = (partial(end, *each, newest=newest) for each in RANGES for newest in (False, True))
    return [entry for entries in parallel(*asked) for entry in entries]


def _may_contain(export: AuditEntry, conversation_id: str, first: datetime, last: datetime) -> bool:
    """Return whether the filters of an export match anything between `first` and `last`."""
    if scoping.is_conversation_trail(text_in(export, "conversation_id")):
        return False
    filters = payload_of(export).get("filters")
    lines = [each for each in filters if isinstance(each, str)] if isinstance(filters, list) else []
    chosen = _after("Conversation ", lines)
    if chosen and chosen != redact(conversation_id):
        return False
    types = _after("Action types: ", lines)
    if types and _ELSEWHERE.issuperset(types.split(", ")):
        return False
    if _is_for_other_recipient(text_of(payload_of(export).get("person") or ""), conversation_id):
        return False
    at = happened_at(export)
    since, until = _day(_after("From ", lines)), _day(_after("To ", lines))
    return (
        (at is None or first <= at)
        and (since is None or since - DAY <= last)
        and (until is None or first < until + 2 * DAY)
    )


def _is_for_other_recipient(person: str, conversation_id: str) -> bool:
    """Return whether an export of one recipient's list (`person`, a pseudonym) is of another recipient than the id."""
    *before, recipient = conversation_id.split("#")
    return bool(person) and len(before) >= 3 and person != pseudonym_of(recipient)


def _for_company(
    exports: list[AuditEntry], conversation_id: str, entries: Iterable[AuditEntry]
) -> tuple[AuditEntry, ...]:
    """Return the exports that name no company or the conversation's; all of them if its company is unknown."""
    known = {company for each in entries if (company := text_in(each, "company_id"))}
    if {text_in(each, "company_id") for each in exports} - known - {""}:
        known |= scoping.companies_of(conversation_id)
    return tuple(each for each in exports if not known or text_in(each, "company_id") in {"", *known})


def _after(word: str, lines: list[str]) -> str:
    return next((each.removeprefix(word) for each in lines if each.startswith(word)), "")


def _day(value: str) -> datetime | None:
    """Parse a day, with or without a time zone after it, as midnight UTC; None for anything else."""
    return parse_instant(f"{value.partition(' ')[0]}T00:00:00Z")
