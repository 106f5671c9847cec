"""One page of a review for its template: entries as sentences, their companies, and the filters in words."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from django.urls import reverse

from console.audit.events.keys import decode
from console.audit.records import TrailRow
from console.audit.review.forms import ReviewForm
from console.audit.review.plan import NO_ACTOR_FILTER, TRAIL_BY_TRAIL, Review, action_groups, known_actions
from console.audit.review.reading import ReviewFound, read_review
from console.audit.rows import rows_and_records
from console.audit.scoping import (
    conversation_source,
    conversation_url,
    is_conversation_trail,
    name_of,
)
from console.errors import ConsoleError, TableMissing
from console.permissions import Staff
from console.redaction import mask_identifier, redact
from console.refs import seal
from console.store.presence import table_ready
from console.templatetags.components import zone_of
from console.trail.actions import DEFAULT_ACTIONS
from console.trail.models import AuditEntry
from console.trees import text_of

logger = logging.getLogger(__name__)

# Shown with pages and exports, whose order is by key.
READ_LAST = "Entries with an older form of time stamp are at the end of the list."
_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One entry. `place` names its trail, redacted, and `place_url` links to the conversation, else to the trail.

    `company_name` is the company's name, else its id; `about` contains project and masked recipient, if known.
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
    """One page, newest first. `covered` says in one line which action types were read.

    `trail_by_trail`: without the index, only single trails can be read here.
    """

    found: ReviewFound
    rows: tuple[ReviewRow, ...]
    covered: str
    notices: tuple[str, ...]
    trail_by_trail: bool


def review_page(review: Review, staff: Staff, companies: Mapping[str, str], cursor: str = "") -> ReviewPage:
    """Return one page of a review in words. `companies` are names by id. Raises as `read_review`, and `TableMissing`.

    In addition to the review's Queries, one BatchGetItem: idempotency records, and names of staff. Names of projects
    are cached; an uncached one costs one item. Each conversation whose entries can contain its recipient's names costs
    one more Query.
    """
    found = read_review(review, staff, cursor)
    trail_by_trail = TRAIL_BY_TRAIL in found.notices
    if trail_by_trail and not table_ready("AUDIT"):
        raise TableMissing("AUDIT")
    rows_read, _, missing = rows_and_records(found.entries)
    projects = _project_names(found.entries, staff)
    # A page has few companies and projects, and each text takes time.
    mask = cache(redact)
    rows = [
        _row(entry, row, staff, companies, projects, mask) for entry, row in zip(found.entries, rows_read, strict=True)
    ]
    # Some keys have an earlier time than the one shown. The cursor follows the keys.
    rows.sort(key=lambda row: row.entry.at or _NO_TIME, reverse=True)
    return ReviewPage(
        found=found,
        rows=tuple(rows),
        covered=describe_covered(found.covered, found.notices, review),
        notices=(*found.notices, *((missing,) if missing else ())),
        trail_by_trail=trail_by_trail,
    )


def _project_in(trail: str) -> tuple[str, str] | None:
    """Return (company, project) from a conversation's id in the platform's format; None for other trails."""
    segments = trail.split("#")
    return (segments[0], segments[1]) if len(segments) >= 4 and is_conversation_trail(trail) else None


def _project_names(entries: Iterable[AuditEntry], staff: Staff) -> Mapping[tuple[str, str], str]:
    """Return names of projects by (company, project); empty if they could not be read, as the page works without."""
    pairs = (_project_in(text_of(each.plain("conversation_id"))) for each in entries)
    wanted = {pair for pair in pairs if pair and staff.scope.covers_company(pair[0])}
    source = conversation_source()
    try:
        return source.project_names(sorted(wanted)) if source else {}
    except ConsoleError as error:
        logger.warning("Names of projects could not be read: %s", type(error).__name__)
        return {}


def _row(
    entry: AuditEntry,
    row: TrailRow,
    staff: Staff,
    companies: Mapping[str, str],
    projects: Mapping[tuple[str, str], str],
    mask: Callable[[str], str],
) -> ReviewRow:
    trail = text_of(entry.plain("conversation_id"))
    company = text_of(entry.plain("company_id") or entry.owner)
    about, pair = "", _project_in(trail)
    if pair:
        about = f"{mask(projects.get(pair) or pair[1])} · {mask_identifier(trail.rpartition('#')[2])}"
    return ReviewRow(
        entry=row,
        url=reverse("audit-entry", args=[row.reference]),
        place=mask(trail) if is_conversation_trail(trail) else name_of(trail),
        place_url=conversation_url(trail, staff) or reverse("trail", args=[seal("trail", trail)]),
        company=mask(company),
        company_name=mask(companies.get(company, company)),
        about=about,
    )


# --- In words ---------------------------------------------------------------------------------------------------------


def describe_covered(covered: tuple[str, ...], notices: tuple[str, ...], review: Review) -> str:
    """Describe which action types were read: whole groups by name, others one by one."""
    only = f"; shown: {describe_actions(review.actions)}" if review.actions else ""
    if review.conversation or review.key:
        return f"Action types: all in the trail{only}."
    if not covered:
        return "" if TRAIL_BY_TRAIL in notices else f"Action types: all{only}."
    words = describe_actions(covered)
    if not review.actions and set(covered) == set(DEFAULT_ACTIONS):
        return f"Action types: {words}. Choose other types to see their entries."
    return f"Action types: {words}."


def describe_filters(form: ReviewForm, review: Review, *, opened: bool) -> tuple[str, ...]:
    """Return one line for each filter that is set, with days as the person chose them, in their time zone.

    `opened`: False omits what is sealed in the URL, for a page that anybody with the link can open.
    """
    lines = []
    if review.key:
        lines.append(f"Idempotency key {decode(review.key).shown}" if opened else "One idempotency key")
    elif review.conversation:
        lines.append(f"Conversation {redact(review.conversation)}" if opened else "One conversation")
    if review.actions:
        lines.append(f"Action types: {describe_actions(review.actions)}")
    if review.actor:
        lines.append("Who: nobody named" if review.actor == NO_ACTOR_FILTER else f"Who: {redact(review.actor)}")
    if review.result:
        lines.append(f"Result: {review.result}")
    if review.company:
        lines.append(f"Company: {redact(review.company)}")
    since, until = form.chosen("since", None), form.chosen("until", None)
    zone = zone_of(form.staff).key
    if since:
        lines.append(f"From {since} ({zone})")
    if until:
        lines.append(f"To {until} ({zone})")
    return tuple(lines)


def describe_actions(actions: tuple[str, ...]) -> str:
    """Name action types: whole groups by name, others one by one, those outside all groups last."""
    wanted, words = set(actions), []
    for name, group in action_groups().items():
        if wanted.issuperset(group):
            words.append(f"{name[:1].lower()}{name[1:]}")
        else:
            words += [each for each in group if each in wanted]
    known = known_actions()
    return ", ".join([*words, *(redact(each) for each in actions if each not in known)])
