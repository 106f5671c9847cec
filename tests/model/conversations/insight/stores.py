"""Threads and chats as their services write them, what is true of them, and the workers that come by."""

import hashlib
import json
import random
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from conversations.insight.facts import FactKind, changed_days, forget_marks
from conversations.insight.measures import bucket_of
from conversations.insight.rolling import Rolled, roll_changed
from conversations.insight.walking import FactWalker, walk_all
from tests import faults
from tests.dynamodb import Store
from tests.model.conversations.insight.history import Figures, Measure
from tests.model.conversations.insight.workers import stored_figures
from tests.support.conversations.stores.chats.kit import event, session
from tests.support.conversations.stores.threads.kit import message, thread
from tests.support.tenants.kit import Killed

BEGINS = datetime(2026, 3, 2, 6, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
LATER = int((BEGINS + 400 * DAY).timestamp())
MODELS = ("claude-sonnet", "gpt-4o", "")
HOSTS = ("wiki.example", "policy.example", "intranet.example")
# Owner, topic, channel and day.
Place = tuple[str, str, str, str]
T = TypeVar("T")


class StoreWorld(ABC, Generic[T]):
    """Some records of a store, and who counts them. `killed`: how often a worker died."""

    kind: ClassVar[FactKind]
    begins = BEGINS

    def __init__(self, store: Store, seed: int, many: int) -> None:
        self.store, self.random, self.now, self.seed = store, random.Random(f"{self.kind} {seed}"), BEGINS, seed
        self.all: list[T] = []
        self.many = many
        self.left = [*range(many), *(self.random.randrange(many) for _ in range(3 * many))]
        self.random.shuffle(self.left)
        self.known: dict[int, T] = {}
        self.rolled: dict[str, Rolled] = {}
        self.rebuild: Iterator[Any] | None = None
        self.killed, self.is_inside = 0, False
        self.walker = self._walker()

    @abstractmethod
    def begin(self, number: int) -> T:
        """One comes to be."""

    @abstractmethod
    def happen(self, one: T) -> None:
        """Something happens to one."""

    @abstractmethod
    def rows_of(self, one: T) -> dict[Place, Counter[Measure]]:
        """What one adds to a day's sums, by owner, topic, channel and day."""

    def step(self) -> bool:
        """The next thing that happens; False when nothing does any more."""
        if not self.left:
            return False
        number = self.left.pop()
        self.now += self.random.randint(1, 2 * 20 * 86_400 // (4 * len(self.known) + 100)) * SECOND
        if number not in self.known:
            self.known[number] = self.begin(number)
            self.all.append(self.known[number])
        else:
            self.happen(self.known[number])
        return True

    def expected(self) -> Figures:
        """What every stored sum must be."""
        found: Figures = defaultdict(Counter)
        for one in self.all:
            for (owner, topic, channel, day), counts in self.rows_of(one).items():
                for project in ("*", ""):
                    for where in ("*", channel):
                        found[owner, topic, project, where, day] += counts
        return {row: counts for row, counts in found.items() if counts}

    def figures(self) -> Figures:
        """What is stored."""
        return {row: counts for row, counts in stored_figures(self.store, self.kind) if counts}

    # --- Workers ------------------------------------------------------------------------------------------------------

    def _walker(self) -> FactWalker:
        return FactWalker(self.kind, wait=lambda _: False, now=lambda: self.now, owner="one", say=lambda _: None)

    def work(self) -> None:
        """Some of what there is to do."""
        if self.random.random() < 0.12:
            with self._overtaken():
                self._alive(self.walker.cycle)
        if self.random.random() < 0.6 / self.many:
            self.rebuild = self.rebuild or walk_all(self.kind)
        if self.rebuild is not None and self.random.random() < 0.2:
            self._alive(self._rebuild_on)
        if self.random.random() < 0.5 / len(self.all):
            self._alive(self._roll)

    def settle(self) -> None:
        """Days later everything was walked over, and every day is summed up."""
        self.rebuild, self.walker = None, self._walker()
        # The first walk may go on where another was, and so look at a part only.
        for _ in range(2):
            self.now += 3 * DAY
            quiet = 0
            while quiet < 4:
                read = self.walker.counts["read"]
                self.walker.cycle()
                quiet = quiet + 1 if self.walker.counts["read"] == read else 0
        assert not self.walker.counts["failed"]
        while changed_days():
            self.now += timedelta(minutes=3)
            self._alive(self._roll)

    def _rebuild_on(self) -> None:
        if self.rebuild is not None and next(self.rebuild, None) is None:
            self.rebuild = None

    def _roll(self) -> None:
        for _ in roll_changed(self.rolled):
            pass

    def _alive(self, work: Any) -> None:
        """Do something, perhaps not to the end: who died has forgotten everything, and the lease runs out."""

        def die() -> None:
            raise Killed

        is_struck = self.random.random() < 0.1 and not self.is_inside
        when = self.random.choice([faults.before, faults.after])
        try:
            with when("", die, nth=self.random.randint(1, 40)) if is_struck else nullcontext():
                work()
        except Killed:
            self.killed += 1
            forget_marks()
            self.rolled, self.rebuild, self.walker = {}, None, self._walker()
            self.now += 40 * SECOND

    def _overtaken(self) -> Any:
        """Now and then something happens in the middle of a page."""

        def strike() -> None:
            self.is_inside = True
            self.happen(self.random.choice(self.all))
            self.is_inside = False

        if self.random.random() > 0.3:
            return nullcontext()
        return self.random.choice([faults.before, faults.after])("", strike, nth=self.random.randint(2, 40))


# --- Threads ----------------------------------------------------------------------------------------------------------


@dataclass
class ToldThread:
    """A thread: its messages' items by their keys, and what each adds."""

    base: str
    name: str
    origin: str
    begun: datetime
    items: dict[str, dict[str, Any]] = field(default_factory=dict)


class ThreadWorld(StoreWorld[ToldThread]):
    """Threads of some organisations."""

    kind = FactKind.THREADS

    def begin(self, number: int) -> ToldThread:
        base = f"org{self.random.randrange(3)}#user{number % 7}"
        one = ToldThread(base, f"t{self.seed}-{number}", self.random.choice(("web", "teams", "")), self.now)
        more = {"origin": one.origin or ..., "ExpiryTime": LATER}
        self.store.put("THREADS", thread(one.name, base, at=self.now, **more))
        if self.random.random() < 0.8:
            self._say(one)
        return one

    def happen(self, one: ToldThread) -> None:
        kind = self.random.random()
        answers = [key for key, item in one.items.items() if key.startswith("LLM")]
        if kind < 0.3 and answers:
            # Rated, or rated again.
            key = self.random.choice(answers)
            self._put(one, one.items[key] | self._rating())
        elif kind < 0.4 and one.items:
            self._put(one, self.random.choice(list(one.items.values())))
        else:
            self._say(one)

    def _say(self, one: ToldThread) -> None:
        # Some come late; none goes before a walk has seen it, for then nobody can count it.
        at = max(one.begun, self.now - self.random.choice((0, 0, 0, 90, 86_400)) * SECOND)
        name = f"m{len(one.items)}"
        if self.random.random() < 0.45:
            role = self.random.choice(("user", "user", "system"))
            self._put(one, message("MSG", name, at=at, PK=f"{one.base}#{one.name}", role=role, ExpiryTime=LATER))
            return
        more: dict[str, Any] = {"ExpiryTime": LATER} | (self._rating() if self.random.random() < 0.4 else {})
        if hosts := self.random.sample(HOSTS, self.random.randrange(3)):
            more["sources"] = [f"https://{host}/{number}" for number, host in enumerate(hosts)]
        if stop := self.random.choice(("end_turn", "max_tokens", "")):
            more["stop_reason"] = stop
        if model := self.random.choice(MODELS):
            prompt, completion = self.random.randint(1, 900), self.random.randint(1, 90)
            usage = {"prompt_tokens": prompt, "completion_tokens": completion}
            if self.random.random() < 0.3:
                usage["total_tokens"] = prompt + completion + 5
            more["response_metadata"] = {"model": model, "usage": usage}
        self._put(one, message("LLM", name, at=at, PK=f"{one.base}#{one.name}", **more))

    def _rating(self) -> dict[str, Any]:
        comment = {"feedback": "words"} if self.random.random() < 0.5 else {}
        return {"verso": self.random.choice(("up", "down", "Down", "meh"))} | comment

    def _put(self, one: ToldThread, item: dict[str, Any]) -> None:
        one.items[item["SK"]] = item
        self.store.put("THREADS", item)

    def rows_of(self, one: ToldThread) -> dict[Place, Counter[Measure]]:
        feedback: Counter[Measure] = Counter({("threads",): 1})
        usage: Counter[Measure] = Counter({("threads",): 1})
        for item in one.items.values():
            if item["SK"].startswith("MSG"):
                usage["messages", "user" if item["role"] == "user" else "other"] += 1
                continue
            usage["messages", "assistant"] += 1
            usage["stop", item.get("stop_reason", "unknown")] += 1
            _add_tokens(usage, item.get("response_metadata", {}))
            _add_feedback(feedback, item)
        if any(feedback["feedback", each] for each in ("up", "down", "unclear")):
            feedback["rated",] += 1
        place = (one.base.split("#")[0], one.origin, f"{one.begun:%Y-%m-%d}")
        rows = {"feedback": feedback, "usage": usage}
        return {(place[0], topic, place[1], place[2]): +counts for topic, counts in rows.items()}


def _add_tokens(usage: Counter[Measure], metadata: dict[str, Any]) -> None:
    model, told = metadata.get("model", "unknown"), metadata.get("usage", {})
    usage["answers", model, ""] += 1
    usage["prompt", model, ""] += told.get("prompt_tokens", 0)
    usage["completion", model, ""] += told.get("completion_tokens", 0)
    usage["unpriced", model, ""] += 5 if "total_tokens" in told else 0


def _add_feedback(feedback: Counter[Measure], item: dict[str, Any]) -> None:
    verso = item.get("verso", "").lower()
    rating = verso if verso in ("up", "down") else ""
    feedback["answers",] += 1
    if verso:
        feedback["feedback", rating or "unclear"] += 1
    if item.get("feedback"):
        feedback["comment", rating or "none"] += 1
    hosts = {each.split("/")[2] for each in item.get("sources", ())}
    for what in (("sources", "with" if hosts else "without"), *(("source", host) for host in hosts)):
        feedback[what] += 1
        if rating:
            feedback[(f"rated {what[0]}", what[1], rating)] += 1


# --- Chats ------------------------------------------------------------------------------------------------------------


@dataclass
class ToldSession:
    """A session: what its item says, and who wrote when, with an image or not."""

    user: str
    begun: int
    quota: int
    model: str
    is_forced: bool = False
    events: dict[int, tuple[str, bool]] = field(default_factory=dict)


class ChatWorld(StoreWorld[ToldSession]):
    """Sessions with the chatbot."""

    kind = FactKind.CHATS

    def begin(self, number: int) -> ToldSession:
        user = hashlib.sha256(f"{self.seed}-{number}".encode()).hexdigest()
        one = ToldSession(user, int(self.now.timestamp()), self.random.randrange(6), self.random.choice(MODELS))
        self._put(one)
        self._say(one)
        return one

    def happen(self, one: ToldSession) -> None:
        if not one.is_forced and self.random.random() < 0.15:
            one.is_forced = True
            self._put(one)
            return
        self._say(one)

    def _put(self, one: ToldSession) -> None:
        config = {"model": one.model} if one.model else {}
        more = {"UserId": one.user, "SessionId": f"{one.user}:{one.begun}", "SessionConfig": json.dumps(config)}
        ended = {"TimestampFinished": one.begun + 60} if one.is_forced else {}
        self.store.put("SESSIONS", session(one.begun, MessagesQuota=one.quota, **more, **ended))

    def _say(self, one: ToldSession) -> None:
        at = int(self.now.timestamp()) - self.random.choice((0, 0, 5))
        if at < one.begun or at in one.events:
            at = max([one.begun, *one.events]) + 1
        agent, has_image = self.random.choice(("user", "assistant", "tool")), self.random.random() < 0.2
        one.events[at] = (agent, has_image)
        more = {"ImageId": "i" * 64} if has_image else {}
        self.store.put(
            "CHATS", event(one.begun, at, agent, SessionId=f"{one.user}:{one.begun}", UserId=one.user, **more)
        )

    def rows_of(self, one: ToldSession) -> dict[Place, Counter[Measure]]:
        who = Counter(agent for agent, _ in one.events.values())
        images = sum(has_image for _, has_image in one.events.values())
        outcomes: Counter[Measure] = Counter({("sessions",): 1, ("limited",): 1})
        outcomes["ended", "forced" if one.is_forced else "expired"] += 1
        outcomes["length", str(bucket_of(max(one.events) - one.begun))] += 1
        outcomes["wrote",] += who["user"] > 0
        outcomes["exhausted",] += who["user"] >= one.quota
        usage: Counter[Measure] = Counter({("sessions",): 1, ("images",): images, ("with images",): images > 0})
        for agent, count in who.items():
            usage["messages", agent if agent in ("user", "assistant") else "other"] += count
        usage["answers", one.model or "unknown", ""] += who["assistant"]
        day = f"{datetime.fromtimestamp(one.begun, UTC):%Y-%m-%d}"
        return {("", topic, "", day): +counts for topic, counts in (("outcomes", outcomes), ("usage", usage))}
