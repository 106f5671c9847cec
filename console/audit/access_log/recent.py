"""The newest looks at personal data, of everybody or of one person."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from console.audit.access_log.reading import describe_look, describe_place, name_of_actor, person_url
from console.audit.access_log.standing_out import StandingOut, find_standing_out
from console.audit.review.plan import TRAIL_BY_TRAIL, Review
from console.audit.review.reading import gather, preview_plan
from console.audit.rows import display_names
from console.permissions import Staff
from console.redaction import redact
from console.trail.actions import ACCESS_ACTIONS, happened_at, text_in
from console.trail.models import AuditEntry

LOOKS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Look:
    """One look: who (`who_url`: what else they looked at), what they did, and at what. All redacted."""

    at: datetime | None
    who: str
    who_url: str
    role: str
    what: str
    place: str
    place_note: str
    place_url: str


@dataclass(frozen=True, slots=True)
class RecentLooks:
    """The newest looks, and who stands out among those who revealed anything since `since` (None: not worked out).

    `is_all`: there are no older looks. `people` are (username, name) of those who looked, to suggest. `why_not` says
    why looks could not be read.
    """

    rows: tuple[Look, ...] = ()
    people: tuple[tuple[str, str], ...] = ()
    is_all: bool = True
    standing_out: tuple[StandingOut, ...] = ()
    since: datetime | None = None
    notices: tuple[str, ...] = ()
    why_not: str = ""


def recent_looks(staff: Staff, person: str = "") -> RecentLooks:
    """Return the newest looks within the reader's scope, of all people or of one username.

    Who stands out is worked out for all people only. A bounded number of Queries, whatever the trail holds: one for
    each kind of look, and those of `find_standing_out`. Raises as `read_review`.
    """
    review = Review(ACCESS_ACTIONS, actor=person)
    plan = preview_plan(review, staff)
    if TRAIL_BY_TRAIL in plan.notices and not plan.partitions:
        return RecentLooks(why_not=TRAIL_BY_TRAIL)
    looks = gather(review, staff, LOOKS_SHOWN, 2)
    found, since = ((), None) if person else find_standing_out(staff)
    names = display_names(looks.entries)
    return RecentLooks(
        # Some keys have an earlier time than the one shown.
        rows=tuple(sorted((_look(entry, names) for entry in looks.entries), key=_latest_first)),
        people=tuple(sorted(names.items())),
        is_all=looks.is_all,
        standing_out=found,
        since=since,
        notices=plan.notices,
    )


def _latest_first(look: Look) -> float:
    return -look.at.timestamp() if look.at else 0.0


def _look(entry: AuditEntry, names: Mapping[str, str]) -> Look:
    actor = text_in(entry, "actor")
    place, note, url = describe_place([entry])
    return Look(
        at=happened_at(entry),
        who=name_of_actor(actor, names),
        who_url=person_url(actor),
        role=redact(text_in(entry, "actor_role")),
        what=describe_look(entry),
        place=place,
        place_note=note,
        place_url=url,
    )
