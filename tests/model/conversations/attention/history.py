"""What happened to one conversation, and what follows from that: the oracle, which calls nothing of what it judges.

Everything is told in instants and in the words of docs/attention.md. Business hours are gone through minute by minute.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Hours:
    """`HH:MM` to `HH:MM`, on every day but these (0 is Monday)."""

    opens: str
    closes: str
    zone: str
    closed_on: tuple[int, ...] = ()

    def are_open(self, at: datetime) -> bool:
        local = at.astimezone(ZoneInfo(self.zone))
        return local.weekday() not in self.closed_on and self.opens <= f"{local:%H:%M}" < self.closes


@dataclass(frozen=True)
class Targets:
    """Service levels of a project, as a lead would say them."""

    stuck: timedelta
    unanswered: timedelta
    first: timedelta
    following: timedelta
    returned: timedelta | None = None
    hours: Hours | None = None
    words: tuple[str, ...] = ()


@cache
def passed(since: datetime, span: timedelta, hours: Hours | None) -> datetime:
    """When so much time has passed, of which only open minutes count."""
    if hours is None:
        return since + span
    at, left = since, span
    while True:
        following = at.replace(second=0, microsecond=0) + MINUTE
        if hours.are_open(at):
            if left <= following - at:
                return at + left
            left -= following - at
        at = following


@dataclass
class History:
    """One conversation, whatever is stored of it."""

    key: dict[str, str]
    targets: Targets
    changed: datetime
    ttl: datetime | None = None
    is_risky: bool = False
    status: str = "initial_message_sent"
    messages: list[dict[str, Any]] = field(default_factory=list)
    unanswered: datetime | None = None
    last_words: str = ""
    reason: str = ""
    flag: bool = False
    agent: str = ""
    asked: datetime | None = None
    taken: datetime | None = None
    answered: datetime | None = None
    heard: list[datetime] = field(default_factory=list)
    left: datetime | None = None
    to_ai: datetime | None = None
    # "" while nobody has said whether it is urgent.
    urgent: str = ""
    may_be_urgent: bool = False
    must_be_urgent: bool = False
    # The last action met a service at work: what that writes back within a quarter of an hour is another test's.
    fragile_until: datetime = LONG_AGO
    # The last action that was there when the platform asked, and who held it then; the last one that a person took.
    action_before: str | None = None
    loses: str = ""
    acted: str | None = None
    log: list[str] = field(default_factory=list)

    @property
    def has_people(self) -> bool:
        return self.flag or bool(self.agent)

    def attention(self, now: datetime) -> tuple[str, datetime | None]:
        """What needs attention of a conversation that the AI has, and since when."""
        if self.has_people:
            return "", None
        is_new = self.left is None or self.changed > self.left
        if self.status.startswith("failed") and is_new and (self.to_ai is None or self.changed > self.to_ai):
            return "failed", self.changed
        is_at_work = self.status.startswith("processing") or self.status == "retry"
        if is_at_work and is_new and now >= self.changed + self.targets.stuck:
            return "stuck", self.changed
        spoke = self.unanswered
        if spoke is None or self.status == "completed" or (self.left is not None and spoke <= self.left):
            return "", None
        since = spoke if self.to_ai is None else max(spoke, self.to_ai)
        return ("unanswered", spoke) if now >= since + self.targets.unanswered else ("", None)

    def place(self, now: datetime) -> str:
        """In which list it stands."""
        if self.agent:
            return "held"
        if self.flag:
            is_gone_soon = self.ttl is not None and self.ttl - now <= DAY
            return "urgent" if is_gone_soon or self.urgent not in ("", "not urgent") else "waiting"
        return "attention" if self.attention(now)[0] else ""

    @property
    def waits_since(self) -> datetime | None:
        """Since when the customer waits for a person: since somebody asked, or since they wrote after an answer."""
        if not self.has_people or self.asked is None:
            return None
        if self.answered is None or self.answered < self.asked:
            return self.asked
        return min((each for each in self.heard if each > self.answered), default=None)

    @property
    def due(self) -> datetime | None:
        """By when people mean to answer."""
        since = self.waits_since
        if since is None:
            return None
        is_first = self.answered is None or self.asked is None or self.answered < self.asked
        span = self.targets.first if is_first else self.targets.following
        return passed(since, span, self.targets.hours)

    @property
    def goes_back(self) -> datetime | None:
        """When a silent holder loses it."""
        since = self.waits_since
        if self.targets.returned is None or not (self.flag and self.agent) or since is None or self.taken is None:
            return None
        return passed(max(since, self.taken), self.targets.returned, self.targets.hours)

    def moments(self) -> Iterator[datetime]:
        """When time alone changes something."""
        at_work = self.changed + self.targets.stuck
        since = max(filter(None, (self.unanswered, self.to_ai)), default=None)
        gone_soon = None if self.ttl is None else self.ttl - DAY
        quiet = None if since is None else since + self.targets.unanswered
        yield from (each for each in (at_work, quiet, gone_soon, self.due, self.goes_back) if each is not None)

    def says_urgent(self) -> bool:
        """Whether one of the company's words is in what was asked, or in what the customer wrote last."""
        return any(each in f"{self.reason}\n{self.last_words}".lower() for each in self.targets.words)

    # --- What happens to it -------------------------------------------------------------------------------------------

    def goes_to_ai(self) -> None:
        """People have it no longer, and nothing is left of the time when they had."""
        self.flag, self.agent, self.asked, self.taken, self.answered = False, "", None, None, None
        self.heard, self.urgent, self.may_be_urgent, self.must_be_urgent = [], "", False, False

    def comes_to_people(self, now: datetime) -> None:
        """Of a conversation that the AI had: the customer waits from now on."""
        self.flag, self.asked, self.answered, self.heard = True, now, None, []

    def is_held_by(self, who: str, now: datetime) -> None:
        self.agent, self.taken = who, now

    def is_written_by_customer(self, now: datetime, words: str) -> None:
        self.unanswered, self.last_words = self.unanswered or now, words
