"""The resolution of an action: the rules that turn a last action and a trail into applied, refused or still open.

Every console action replaces the last action that it saw by its own id, on condition that it is still the last. So
the actions that took effect form a chain, from an item's last action back through `previous_action_id`; one that was
replaced never returns. The item must be read *before* the trail: an action is recorded before it can be the last one,
so the trail then contains every link of the chain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from console import clock
from console.errors import StoreUnavailable
from console.trail.actions import Result, outcome
from console.trail.models import AuditEntry

# A trail contains 60 days of one conversation; a page is 1 MB, some 2,500 entries.
PAGES = 20


class Resolution(StrEnum):
    """What the last action and the trail prove about an action."""

    APPLIED = "applied"
    REFUSED = "refused"
    OPEN = "open"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A hand-off action of the trail. `sort_key` is its `ts_action_id`, `at` when it was recorded."""

    action_id: str
    previous: str
    result: str
    action_type: str
    actor: str
    at: datetime | None
    trail: str
    sort_key: str
    idempotency_key: str

    @property
    def is_pending(self) -> bool:
        """Whether its result is still to be written."""
        return self.result == Result.PENDING


def resolution_of(action_id: str, previous: str, last_action: str | None, links: Mapping[str, ChainLink]) -> Resolution:
    """Resolve an action. `last_action` is the item's ("" for none, None: the item is gone), read before `links`.

    OPEN: it has not taken effect and still may. UNKNOWN: nothing can be proved, because a link of the chain has expired
    or the item is gone.
    """
    if action_id in applied(last_action, links):
        return Resolution.APPLIED
    if last_action is None:
        return Resolution.UNKNOWN
    if last_action == previous:
        return Resolution.OPEN
    # Proof of a refusal: the chain leads from the last action to what this action saw, without passing through it.
    visited = set()
    while last_action != previous:
        if last_action in visited or last_action not in links:
            return Resolution.UNKNOWN
        visited.add(last_action)
        last_action = links[last_action].previous
    return Resolution.REFUSED


def applied(last_action: str | None, links: Mapping[str, ChainLink]) -> set[str]:
    """Return the ids of all actions known to have taken effect: the last, the successes, and their predecessors."""
    known: set[str] = set()
    for start in [last_action or "", *(each.action_id for each in links.values() if each.result == Result.SUCCESS)]:
        current = start
        while current and current not in known:
            known.add(current)
            current = links[current].previous if current in links else ""
    return known


def trail_links(trail: str) -> dict[str, ChainLink]:
    """Read the hand-off actions of a trail by action id, strongly consistent. Raises the store's errors."""
    found = AuditEntry.query(
        trail,
        consistent_read=True,
        scan_index_forward=False,
        filter_condition=AuditEntry.action_type.startswith("hand_off."),
    )
    links: dict[str, ChainLink] = {}
    for number, page in enumerate(found.page_iter, 1):
        if number > PAGES:
            raise StoreUnavailable("This trail is too long to be settled within one request.")
        links |= {link.action_id: link for link in links_of(map(AuditEntry.from_raw_data, page["Items"]))}
    return links


def links_of(entries: Iterable[AuditEntry]) -> Iterable[ChainLink]:
    """Yield the console's actions among audit entries, also of a newer version; skip those of other writers."""
    for entry in entries:
        if entry.action_id:
            yield ChainLink(
                action_id=entry.action_id,
                previous=entry.previous_action_id or "",
                result=outcome(entry.result or ""),
                action_type=entry.action_type or "",
                actor=entry.actor or "",
                at=clock.parse_instant(entry.ts_action_id.partition("#")[0]),
                trail=entry.conversation_id,
                sort_key=entry.ts_action_id,
                idempotency_key=entry.idempotency_key or "",
            )
