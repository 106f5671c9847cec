"""Where a review looks: the partitions that serve it best here, and what it cannot do."""

from dataclasses import dataclass
from functools import partial

from console.audit import scoping
from console.audit.events.keys import decode
from console.audit.history import read_entries
from console.audit.review import streams
from console.audit.review.filters import BEGINNING, NOBODY, Review, is_ours
from console.errors import NotFound
from console.permissions import Staff
from console.store.calls import parallel
from console.store.presence import index_ready
from console.trail.actions import staff_trail
from console.trail.models import IdempotencyRecord

# Entries of one trail that are looked at to see whose it is.
LOOKED_AT = 50
# For one actor, the trails of so many companies are read side by side.
COMPANIES_AT_ONCE = 20

TRAIL_BY_TRAIL = (
    "The audit table has no index by action type here, so there is no review across conversations. Open one "
    "trail at a time. To add the index, run manage.py tables check --cloudformation."
)
NO_ACTOR_INDEX = "The audit table has no index for this actor, so only the newest entries are searched."
NO_COMPANY_INDEX = "The audit table has no index by company, so only the newest entries are searched."


@dataclass(frozen=True, slots=True)
class Plan:
    """Which partitions a review reads, what they cover, and what cannot be done here."""

    partitions: tuple[tuple[str, str], ...]
    covered: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def plan_for(review: Review, staff: Staff) -> Plan:
    """Which partitions that person's review reads. Asks which indexes there are; raises the store's errors."""
    if trail := review.conversation or (_trail_of_key(review.key) if review.key else ""):
        return Plan(((streams.TABLE, trail),) if _is_in_scope(trail, staff) else ())
    notices = []
    if review.actor and review.actor != NOBODY:
        if partitions := _partitions_of_actor(review, staff):
            return Plan(partitions, review.actions)
        notices.append(NO_ACTOR_INDEX)
    actions = review.actions or BEGINNING
    ours = [action for action in actions if is_ours(action)]
    by_type = actions
    by_company: list[tuple[str, str]] = []
    if review.company and ours:
        if index_ready("AUDIT", streams.COMPANY):
            by_company.append((streams.COMPANY, review.company))
            by_type = tuple(action for action in actions if action not in ours)
        else:
            notices.append(NO_COMPANY_INDEX)
    if by_type and not index_ready("AUDIT", streams.ACTION_TYPE):
        covered = tuple(ours) if by_company else ()
        # What is said of the newest entries holds only where there are some to look through.
        return Plan(tuple(by_company), covered, (*(notices if by_company else ()), TRAIL_BY_TRAIL))
    return Plan((*by_company, *((streams.ACTION_TYPE, each) for each in by_type)), actions, tuple(notices))


def _is_in_scope(trail: str, staff: Staff) -> bool:
    """Whether a trail can hold anything for that person.

    For one out of scope the answer costs what it costs for one that is not there, and nothing more is read: how much
    there is would show otherwise.
    """
    if staff.scope.everything or trail == staff_trail(staff.username):
        return True
    if not scoping.is_conversation_trail(trail):
        return scoping.covers_all(trail, scoping.owners_of_trail(trail), staff)
    (recent, _), (epochs, _) = parallel(
        partial(read_entries, trail, epochs=False, limit=LOOKED_AT),
        partial(read_entries, trail, epochs=True, limit=LOOKED_AT),
    )
    named = (entry.plain("company_id") for entry in (*recent, *epochs))
    owners = scoping.owners_of_trail(trail, (each for each in named if isinstance(each, str) and each))
    # Of conversations with one id in two companies, reading leaves out the other's entries.
    return any(map(staff.scope.covers_company, owners)) or scoping.covers_all(trail, scoping.companies_of(trail), staff)


def _partitions_of_actor(review: Review, staff: Staff) -> tuple[tuple[str, str], ...]:
    """What to read for one actor; nothing where no index serves.

    Who sees some companies only looks through these: how much somebody did elsewhere is not theirs to know.
    """
    if staff.scope.everything or staff.username in review.actors:
        return tuple((streams.ACTOR, each) for each in review.actors) if index_ready("AUDIT", streams.ACTOR) else ()
    # Entries of a company and of a tenant of the same id share a partition: reading leaves out what is not theirs.
    companies = [review.company] if review.company else sorted(staff.scope.company_ids | staff.scope.tenant_ids)
    if not 0 < len(companies) <= COMPANIES_AT_ONCE or not index_ready("AUDIT", streams.COMPANY):
        return ()
    return tuple((streams.COMPANY, company) for company in companies)


def _trail_of_key(key: str) -> str:
    """The conversation that an idempotency key is about, as its record says or, for entries outlive records, the key.

    Else the key itself, whose trail is empty: a key of another company costs and shows what one that is not there does.
    """
    try:
        conversation = IdempotencyRecord.get(key).plain("conversation_id")
    except NotFound:
        conversation = None
    return conversation if isinstance(conversation, str) and conversation else decode(key).conversation or key
