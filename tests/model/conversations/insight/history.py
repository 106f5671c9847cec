"""What happened to one conversation, and what Insight must make of it: an oracle that calls nothing of what it judges.

It knows what was said and who had the conversation when, never what was stored. Numbers are written as pages name them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

WEEK = timedelta(days=7)
Measure = tuple[str, ...]
# By company, topic, project ("*" for all), channel and day.
Row = tuple[str, str, str, str, str]
Figures = dict[Row, Counter[Measure]]


@dataclass(frozen=True)
class Said:
    """A message. `who`: customer, ai, human or nobody of these."""

    at: datetime
    who: str
    agent: str = ""
    tokens: tuple[int, int, int] = (0, 0, 0)
    took_ms: int | None = None


@dataclass
class HandOff:
    """From when a person was wanted, or came unasked, until the AI had it again."""

    begun: datetime
    is_asked: bool
    why: str
    taken: datetime | None = None
    ended: datetime | None = None
    handed_back: datetime | None = None
    missed: int = 0
    takers: list[str] = field(default_factory=list)
    returned_by: list[str] = field(default_factory=list)


@dataclass
class History:
    """One conversation, whatever is stored of it."""

    key: dict[str, str]
    company: str
    project: str
    channel: str
    model: str
    version: str
    # None where no writer said so: it then begins with its first message.
    created: datetime | None
    intent: str = "unknown"
    sure: str = "unknown"
    said: list[Said] = field(default_factory=list)
    hand_offs: list[HandOff] = field(default_factory=list)
    # Status, reason and hour of what failed.
    failed: tuple[str, str, str] | None = None
    # Its status says that it is over.
    done: bool = False
    flag: bool = False
    agent: str = ""
    is_gone: bool = False
    log: list[str] = field(default_factory=list)

    @property
    def begun(self) -> datetime | None:
        return self.created or (self.said[0].at if self.said else None)

    def episodes(self) -> "list[Episode]":
        """It begins anew with what is said after a week of silence."""
        found = [Episode(self, 0, self.begun)]
        quiet_since = self.begun
        for each in self.said:
            if quiet_since is not None and each.at >= quiet_since + WEEK:
                found.append(Episode(self, len(found), each.at))
            quiet_since = each.at if quiet_since is None else max(quiet_since, each.at)
            found[-1].said.append(each)
        for hand_off in self.hand_offs:
            began = [each for each in found[1:] if each.begun is not None and each.begun <= hand_off.begun]
            (began[-1] if began else found[0]).hand_offs.append(hand_off)
        found[-1].is_last = True
        return found


@dataclass
class Episode:
    """A case of a conversation."""

    of: History
    number: int
    begun: datetime | None
    said: list[Said] = field(default_factory=list)
    hand_offs: list[HandOff] = field(default_factory=list)
    is_last: bool = False

    @property
    def day(self) -> str:
        return "undated" if self.begun is None else f"{self.begun:%Y-%m-%d}"

    def how_many(self, who: str) -> int:
        return sum(each.who == who for each in self.said)

    @property
    def active(self) -> datetime | None:
        return max([each.at for each in self.said] + ([self.begun] if self.begun else []), default=None)

    def outcome(self) -> str:
        if self.is_last and self.of.failed:
            return "failed"
        if self.is_last and self.of.flag:
            return "with-people"
        backs = [each.handed_back for each in self.hand_offs if each.handed_back]
        spoke = [each.who for each in self.said if each.who in ("customer", "ai", "human")]
        is_settled = bool(backs) and (self.active is None or max(backs) >= self.active)
        if spoke and spoke[-1] == "customer" and not is_settled and not (self.is_last and self.of.done):
            return "unanswered"
        if backs or "human" in spoke:
            return "person"
        if "customer" not in spoke:
            return "no-reply"
        return "ai" if "ai" in spoke else "unanswered"

    def figures(self) -> Iterator[tuple[str, Measure, int]]:
        """Topic, what is counted, and how many."""
        yield from self._outcomes()
        yield from self._waits()
        yield from self._hand_offs()
        yield "failures", ("episodes", self.of.version), 1
        if self.is_last and self.of.failed:
            status, why, hour = self.of.failed
            for measure in (("failed", self.of.version), ("cause", status), ("code", why), ("hour", hour)):
                yield "failures", measure, 1
        yield from self._usage()
        for hand_off in self.hand_offs:
            yield from (("people", ("taken", each), 1) for each in hand_off.takers)
            yield from (("people", ("handed back", each), 1) for each in hand_off.returned_by)
        yield from (("people", ("answered", each.agent), 1) for each in self.said if each.who == "human")

    def _outcomes(self) -> Iterator[tuple[str, Measure, int]]:
        yield "outcomes", ("episodes",), 1
        yield "outcomes", ("outcome", self.outcome()), 1
        yield "outcomes", ("active", "" if self.active is None else f"{self.active:%Y-%m-%d}"), 1
        if self.how_many("customer") or self.hand_offs:
            yield "outcomes", ("wrote",), 1
        if self.hand_offs:
            since = self.hand_offs[0].begun
            turns = sum(each.who == "ai" and each.at <= since for each in self.said)
            yield "outcomes", ("people",), 1
            yield "outcomes", ("turns", bucket(turns)), 1
        yield from (("outcomes", ("answered", bucket(each)), 1) for each in self._answered())
        yield from (("outcomes", (kind, self.of.model, ""), count) for kind, count in self._tokens())

    def _waits(self) -> Iterator[tuple[str, Measure, int]]:
        answers = [each for each in self.said if each.who == "ai"]
        # Since when somebody waited.
        is_known = self.of.created is not None if self.number == 0 else self.said[0].who == "customer"
        if answers and is_known and self.begun is not None and answers[0].at >= self.begun:
            yield "waits", ("first", bucket((answers[0].at - self.begun).total_seconds())), 1
        for each in answers:
            if each.took_ms is not None:
                yield "waits", ("processing", bucket(each.took_ms)), 1
        for hand_off in self.hand_offs:
            if hand_off.missed:
                yield "waits", ("missed",), hand_off.missed
            if not hand_off.is_asked:
                continue
            yield "waits", ("asked",), 1
            if hand_off.taken:
                yield "waits", ("taken", bucket((hand_off.taken - hand_off.begun).total_seconds())), 1
        yield from (("waits", ("answered", bucket(each)), 1) for each in self._answered())

    def _answered(self) -> Iterator[float]:
        """How long each who asked for a person waited for one to answer, in seconds."""
        for hand_off in self.hand_offs:
            until = hand_off.ended
            written = [each.at for each in self.of.said if each.who == "human" and each.at >= hand_off.begun]
            if hand_off.is_asked and written and (until is None or written[0] <= until):
                yield (written[0] - hand_off.begun).total_seconds()

    def _hand_offs(self) -> Iterator[tuple[str, Measure, int]]:
        if self.how_many("customer") or self.hand_offs:
            yield "hand-offs", ("wrote",), 1
        if self.hand_offs:
            yield "hand-offs", ("people",), 1
        if any(each.is_asked for each in self.hand_offs):
            yield "hand-offs", ("asked",), 1
            yield "hand-offs", ("reason", self.hand_offs[0].why, self.of.sure), 1
            yield "hand-offs", ("intent", self.of.intent, self.of.sure), 1
        if any(not each.is_asked for each in self.hand_offs):
            yield "hand-offs", ("over",), 1

    def _usage(self) -> Iterator[tuple[str, Measure, int]]:
        yield "usage", ("episodes",), 1
        if answers := self.how_many("ai"):
            yield "usage", ("answers", self.of.model, ""), answers
            yield "usage", ("of project", self.of.project), answers
        yield from (("usage", (kind, self.of.model, self.of.project), count) for kind, count in self._tokens())

    def _tokens(self) -> Iterator[tuple[str, int]]:
        prompt, completion, total = (sum(each.tokens[kind] for each in self.said) for kind in range(3))
        if prompt:
            yield "prompt", prompt
        if completion:
            yield "completion", completion
        if total > prompt + completion:
            yield "unpriced", total - prompt - completion


def bucket(value: float) -> str:
    """The number of the bucket, each 15 % longer: 0 for nothing, 1 from 1 on, 2 from 1.15 on."""
    number, least = 0, 1.0
    while value >= least:
        number, least = number + 1, 1.15 ** (number + 1)
    return str(number)


def figures_of(histories: list[History]) -> Figures:
    """Every figure of every topic and slice, by brute force."""
    found: Figures = {}
    for each in histories:
        for episode in each.episodes():
            for topic, measure, count in episode.figures():
                for project in ("*", each.project):
                    for channel in ("*", each.channel):
                        row = (each.company, topic, project, channel, episode.day)
                        found.setdefault(row, Counter())[measure] += count
    return found
