"""Numbers of conversations, exact up to a hundred."""

from collections.abc import Iterable
from dataclasses import dataclass

from conversations.queue.entries import COLLEAGUES, MINE, OVERRIDDEN, WAITING, QueueEntry

COUNTED = 100


@dataclass(frozen=True, slots=True)
class Count:
    """A number of conversations; `more`: at least so many, as counting ended there."""

    number: int = 0
    more: bool = False

    def __str__(self) -> str:
        if self.number >= COUNTED:
            return f"{COUNTED - 1}+"
        return f"{self.number}+" if self.more else str(self.number)

    def __add__(self, other: "Count") -> "Count":
        return Count(self.number + other.number, self.more or other.more)


@dataclass(frozen=True, slots=True)
class Held:
    """What people hold in one company: how many each, how many of them are overridden."""

    by_agent: tuple[tuple[str, int], ...] = ()
    overridden: int = 0
    more: bool = False

    def of_tab(self, tab: str, username: str) -> Count:
        """How many a tab lists for a person."""
        match tab:
            case "mine":
                return Count(sum(n for agent, n in self.by_agent if agent == username), self.more)
            case "colleagues":
                return Count(sum(n for agent, n in self.by_agent if agent != username), self.more)
            case _:
                return Count(self.overridden, self.more)

    @classmethod
    def among(cls, entries: Iterable[QueueEntry], *, more: bool) -> "Held":
        """Out of rows; `more`: there are others."""
        by_agent: dict[str, int] = {}
        overridden = 0
        for entry in entries:
            if entry.hand_off.agent:
                by_agent[entry.hand_off.agent] = by_agent.get(entry.hand_off.agent, 0) + 1
                overridden += entry.is_of(OVERRIDDEN, "")
        return cls(tuple(sorted(by_agent.items())), overridden, more)


def totals(entries: Iterable[QueueEntry], username: str, *, more: bool) -> dict[str, Count]:
    """How many each tab lists for a person out of all rows there are; `more`: there may be others."""
    rows = list(entries)
    held = Held.among(rows, more=more)
    waiting = Count(sum(entry.is_of(WAITING, username) for entry in rows), more)
    return {WAITING: waiting} | {tab: held.of_tab(tab, username) for tab in (MINE, COLLEAGUES, OVERRIDDEN)}
