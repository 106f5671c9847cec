"""The facts of flows that stalled (table B): the customer has not answered the middleware for more than a day.

One for each flow, on the day it asked. The fields of `data`: `flow`: what was asked for; `since`: when; `on`: the
conversation went on later; `expires`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from console import clock
from console.errors import NotFound
from console.trail.models import ConversationState
from conversations.handoff.stored import Raw
from conversations.insight.facts import FactKind, InsightFact, fact_data
from conversations.insight.of_middleware import MiddlewareSubject, is_alive
from conversations.insight.places import read_place, write_place
from conversations.insight.subjects import KnownFacts, Place, SourceReference, counted_day, hash_content, latest_expiry
from conversations.insight.words import code_of

FLOW = "flow"
READ = ("conversation_id", "updated_at", "expires_at", "pending_flow")
STALLED_AFTER = timedelta(days=1)


@dataclass
class FlowSubject(MiddlewareSubject):
    """The flow that a conversation waits for. `asked` is None if there is none, or if it is at most a day old."""

    flow: str = ""
    asked: datetime | None = None
    expires: int | None = None

    part = FLOW

    def places(self) -> list[Place]:
        """Return the places of the previous stalled flow, if known, and of this one."""
        last = read_place(FactKind.MIDDLEWARE, self._last)
        places = [] if last is None else [(last, f"{self.pseudonym}#{FLOW}")]
        if self.asked is not None:
            places += self.places_on(counted_day(self.asked))
        return list(dict.fromkeys(places))

    def read(self) -> Self | None:
        """Read the state with one GetItem. None if it is gone: then it is unknown how the flow went on."""
        try:
            state = ConversationState.get(self.conversation_id, consistent_read=True)
        except NotFound:
            return None
        flow, asked = _stalled(state, clock.now())
        expires = latest_expiry([state.plain("expires_at")])
        return replace(self, flow=flow, asked=asked, expires=expires) if is_alive(state, clock.now()) else None

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return the fact of this flow, and that of the previous one, marked as having gone on."""
        today = "" if self.asked is None else counted_day(self.asked)
        since = "" if self.asked is None else clock.to_iso(self.asked, "seconds")
        found = []
        for (day, fact_id), before in known.items():
            if day.day == today and day.owner == self.company:
                found.append(InsightFact(day, fact_id, fact_data(flow=self.flow, since=since, expires=self.expires)))
            elif day.day != today and before is not None:
                found.append(InsightFact(day, fact_id, {**before, "on": True}))
        return found

    def settle(self) -> None:
        """Note where this flow's fact is: the state no longer names the flow once the conversation has gone on."""
        if self.asked is not None:
            ((place, _),) = self.places_on(counted_day(self.asked))
            if read_place(FactKind.MIDDLEWARE, self._last) != place:
                write_place(self._last, place)

    def way_back(self) -> SourceReference:
        """Return the link to the conversation's id."""
        return SourceReference(self.pseudonym, (self.conversation_id,), self.expires)

    @property
    def _last(self) -> str:
        return f"{self.pseudonym}#{FLOW}"


def flows_in(items: list[Raw]) -> Iterator[FlowSubject]:
    """Yield the conversations of a page of states; their `state` changes when a flow becomes older than a day."""
    now = clock.now()
    for state in map(ConversationState.from_raw_data, items):
        if is_alive(state, now):
            conversation_id = str(state.plain("conversation_id"))
            flow, asked = _stalled(state, now)
            yield FlowSubject(
                conversation_id,
                flow,
                asked,
                latest_expiry([state.plain("expires_at")]),
                name=("flow", conversation_id),
                state=hash_content(state.raw.get("pending_flow"), asked is None),
            )


def _stalled(state: ConversationState, now: datetime) -> tuple[str, datetime | None]:
    """Return the flow that the customer was asked about, and when, if more than a day ago; else nothing."""
    pending = state.plain("pending_flow")
    if pending in (None, "", [], {}):
        return "", None
    flow = pending if isinstance(pending, dict) else {"type": pending}
    asked = clock.parse_instant(flow.get("requested_at")) or clock.parse_instant(state.plain("updated_at"))
    return (code_of(flow.get("type")), asked) if asked is not None and now - asked >= STALLED_AFTER else ("", None)
