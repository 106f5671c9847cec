"""One page of a review as its template shows it: entries as sentences, with what they belong to and where that is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.urls import reverse

from console.audit.links import conversation_url, project_names
from console.audit.names import name_of
from console.audit.queries import rows_of, without_names_in
from console.audit.records import TrailRow
from console.audit.review.filters import BEGINNING, Review
from console.audit.review.plan import TRAIL_BY_TRAIL
from console.audit.review.reading import ReviewFound, read_review
from console.audit.review.words import describe_actions
from console.audit.scoping import is_conversation_trail, recipient_names
from console.errors import TableMissing
from console.permissions import COMPANY, Staff
from console.redaction import mask_identifier, redact
from console.refs import seal
from console.staff.known_companies import known_to
from console.store.presence import table_ready
from console.trail.models import AuditEntry
from console.trees import text_of

# How far the order of pages and exports can be relied on.
READ_LAST = "Entries keyed by epoch seconds are at the end."
_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One entry. `place` names its trail, redacted, and `place_url` leads to the conversation or else to the trail.

    `company_name` is the company's name, else its id; `about` says project and recipient, "" where neither is known.
    """

    entry: TrailRow
    url: str
    place: str
    place_url: str
    company: str
    company_name: str
    about: str


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One page, newest first. `covered` says in one line which action types were looked at; the rest as in `Found`.

    `trail_by_trail`: there is no index for it here, so that only single trails can be looked at.
    """

    rows: tuple[ReviewRow, ...]
    next: str
    thin: bool
    looked_at: int
    reaches: datetime | None
    covered: str
    notices: tuple[str, ...]
    trail_by_trail: bool


def review_page(review: Review, staff: Staff, cursor: str = "") -> ReviewPage:
    """One page of a review with the words for it. Raises as `read_review`, and `TableMissing`.

    Beside the Queries of the review, two BatchGetItems: idempotency records, and names of staff. Names of companies and
    projects are cached; of a project that is not, one item is read. Of one conversation, one Query for
    its recipient's names.
    """
    found = read_review(review, staff, cursor)
    trail_by_trail = TRAIL_BY_TRAIL in found.notices
    if trail_by_trail and not table_ready("AUDIT"):
        raise TableMissing("AUDIT")
    trail = rows_of(found.entries)
    names = _Names.of(found.entries, staff)
    shown = without_names_in(trail.rows, recipient_names(review.conversation) if review.conversation else ())
    rows = [_row(entry, row, staff, names) for entry, row in zip(found.entries, shown, strict=True)]
    # They were read by their keys, which for some hold another time than is shown; the cursor goes on by the keys.
    rows.sort(key=lambda row: row.entry.at or _NO_TIME, reverse=True)
    return ReviewPage(
        rows=tuple(rows),
        next=found.next,
        thin=found.thin,
        looked_at=found.looked_at,
        reaches=found.reaches,
        covered=covered_words(found, review),
        notices=(*found.notices, *trail.notices),
        trail_by_trail=trail_by_trail,
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of companies by id, and of projects by company and project."""

    companies: Mapping[str, str]
    projects: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, entries: Iterable[AuditEntry], staff: Staff) -> "_Names":
        pairs = (_project_in(text_of(each.plain("conversation_id"))) for each in entries)
        wanted = {pair for pair in pairs if pair and staff.scope.covers_company(pair[0])}
        return cls(known_to(staff, COMPANY).of_kind(COMPANY), project_names(sorted(wanted)))


def _project_in(trail: str) -> tuple[str, str] | None:
    """Company and project that a conversation's id begins with, as the platform makes ids; None for other trails."""
    segments = trail.split("#")
    return (segments[0], segments[1]) if len(segments) >= 4 and is_conversation_trail(trail) else None


def _about(trail: str, names: _Names) -> str:
    pair = _project_in(trail)
    if pair is None:
        return ""
    project, recipient = names.projects.get(pair) or pair[1], mask_identifier(trail.rpartition("#")[2])
    return f"{redact(project)} · {recipient}"


def _row(entry: AuditEntry, row: TrailRow, staff: Staff, names: _Names) -> ReviewRow:
    trail, named = text_of(entry.plain("conversation_id")), entry.plain("company_id")
    company = text_of(named) if named else entry.owner
    return ReviewRow(
        entry=row,
        url=reverse("audit-entry", args=[row.reference]),
        place=redact(trail) if is_conversation_trail(trail) else name_of(trail),
        place_url=conversation_url(trail, staff) or reverse("trail", args=[seal("trail", trail)]),
        company=redact(company),
        company_name=redact(names.companies.get(company, company)),
        about=_about(trail, names),
    )


def covered_words(found: ReviewFound, review: Review) -> str:
    """Which action types a page looked at: whole groups by their name, others one by one."""
    if review.conversation or review.key:
        return _and_only(review.actions, "Action types: all in the trail")
    if not found.covered:
        return "" if TRAIL_BY_TRAIL in found.notices else _and_only(review.actions, "Action types: all")
    words = describe_actions(found.covered)
    if not review.actions and set(found.covered) == set(BEGINNING):
        return f"Action types: {words}. Choose other types to see their entries."
    return f"Action types: {words}."


def _and_only(actions: tuple[str, ...], words: str) -> str:
    return f"{words}; shown: {describe_actions(actions)}." if actions else f"{words}."
