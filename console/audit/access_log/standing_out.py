"""Who revealed far more conversations than others: a simple comparison that one person can hardly distort."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median

from console import clock
from console.audit.access_log.reading import name_of_actor, person_url
from console.audit.review.plan import Review
from console.audit.review.reading import gather
from console.audit.rows import display_names
from console.permissions import Staff
from console.trail.actions import Action, Result, outcome_of, text_in
from console.trail.models import AuditEntry

# The newest reveals that are counted, and the pieces in which they are read.
REVEALS_READ, REVEAL_PIECES = 1_000, 6
DAYS = 7
# Somebody stands out who revealed this many conversations, and more than so many times the others' median.
LEAST, TIMES = 20, 5


@dataclass(frozen=True, slots=True)
class StandingOut:
    """Somebody who revealed far more conversations than others. `usual` is the median of the `others`, a number."""

    who: str
    url: str
    revealed: int
    others: int
    usual: float

    @property
    def comparison(self) -> str:
        """The others' figure, in words."""
        return f"the others' median is {self.usual:g}" if self.others else "nobody else revealed any"


def find_standing_out(staff: Staff) -> tuple[tuple[StandingOut, ...], datetime]:
    """Return who stands out within the reader's scope, and since when all reveals were counted.

    At most `REVEAL_PIECES` rounds of Queries, whatever the trail holds, and a BatchGetItem for names. Raises as
    `read_review`.
    """
    since = clock.now() - timedelta(days=DAYS)
    reveals = gather(Review((Action.RECIPIENT_REVEALED,), since=since), staff, REVEALS_READ, REVEAL_PIECES)
    found = standing_out(count_revealed(reveals.entries))
    by_actor = {text_in(each, "actor"): each for each in reveals.entries}
    names = display_names(by_actor[each.who] for each in found)
    return tuple(replace(each, who=name_of_actor(each.who, names)) for each in found), reveals.reaches or since


def count_revealed(reveals: Iterable[AuditEntry]) -> dict[str, int]:
    """Return the number of conversations that each person revealed, by username. Refused attempts do not count."""
    seen: dict[str, set[str]] = defaultdict(set)
    for entry in reveals:
        if (actor := text_in(entry, "actor")) and outcome_of(entry) != Result.FAILED:
            seen[actor].add(text_in(entry, "conversation_id"))
    return {actor: len(conversations) for actor, conversations in seen.items()}


def standing_out(revealed: Mapping[str, int]) -> list[StandingOut]:
    """Return who revealed at least `LEAST` conversations and more than `TIMES` times the others' median, most first.

    A median hardly moves if one of many reveals a lot. Where nobody else revealed any, it is 0.
    """
    found = []
    for actor, count in revealed.items():
        if count < LEAST:
            continue
        others = [each for name, each in revealed.items() if name != actor]
        usual = median(others) if others else 0
        if count > TIMES * usual:
            found.append(StandingOut(actor, person_url(actor), count, len(others), usual))
    return sorted(found, key=lambda each: (-each.revealed, each.who))
