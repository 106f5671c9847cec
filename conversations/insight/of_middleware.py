"""What the facts of the middleware have in common: whose they are, and which items count.

Entries and records written by the console are about people, and do not count as the middleware's. Facts belong to the
company that an entry or the conversation names; once known, this never changes. `expires` is when the last of the items
expires, in epoch seconds. Schema middleware-state-idempotency-audit.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from console import clock
from console.store.models import ForeignModel
from conversations.finding.lookups import known_conversation
from conversations.insight.facts import FactDay, FactKind
from conversations.insight.identity import pseudonym_of
from conversations.insight.places import get_or_create_place
from conversations.insight.subjects import FactSubject, Place

ABOUT = "middleware"


@dataclass
class MiddlewareSubject(FactSubject):
    """A subject known only by its conversation's id. `named`: the companies that its items name."""

    conversation_id: str
    named: frozenset[str] = field(default=frozenset(), kw_only=True, compare=False)
    # Set once known.
    company: str = field(default="", kw_only=True, compare=False)

    part = ""

    def places_on(self, *days: str) -> list[Place]:
        """Return the places of its facts on these days."""
        owner, fact_id = self._owner(), f"{self.pseudonym}#{self.part}"
        return [(FactDay(FactKind.MIDDLEWARE, owner, day), fact_id) for day in sorted(days)]

    def moved_from(self, place: Place) -> Place | None:
        """Return the place without an owner, where a fact was stored before the conversation's company was known."""
        day, fact_id = place
        return (replace(day, owner=""), fact_id) if day.owner else None

    @property
    def pseudonym(self) -> str:
        """The pseudonym of the conversation."""
        return pseudonym_of(ABOUT, self.conversation_id)

    def _owner(self) -> str:
        """Return the conversation's company; "" if unknown. At most a GetItem, a Query and a PutItem."""
        if not self.company:
            found = get_or_create_place(FactKind.MIDDLEWARE, self.pseudonym, self._found_owner)
            self.company = found.owner if found is not None else ""
        return self.company

    def _found_owner(self) -> FactDay | None:
        companies = self.named if len(self.named) == 1 else known_conversation(self.conversation_id).companies
        return FactDay(FactKind.MIDDLEWARE, next(iter(companies)), "") if len(companies) == 1 else None


def is_alive(item: ForeignModel, now: datetime) -> bool:
    """Return whether an item has not expired."""
    return not clock.is_expired(item.plain("expires_at"), now)
