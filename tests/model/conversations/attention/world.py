"""Everything that goes on at once: platform, customers, agents, the clock, and the console's workers, which are killed.

What the console does is done by its own services; what is expected of it, each conversation's `History` says.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from console import caching, clock
from console.permissions import Staff
from conversations.attention import levels
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction as A
from conversations.handoff import perform, settle
from conversations.handoff.actions import GIVES, intent_for
from conversations.handoff.service import derive_action_id
from conversations.indexer.handling import handle
from conversations.models import Conversation
from conversations.outbox.appending import append
from conversations.outbox.rows import MessageRow
from conversations.timers.looking import Timers
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import SeenCall, Store, to_dynamodb
from tests.model.conversations.attention.history import DAY, History, Hours, Targets
from tests.support.conversations.handoff.kit import ADMIN, ANA, BEN, COMPANY, conversation
from tests.support.tenants.kit import Killed

TICK, WITHIN = timedelta(seconds=30), timedelta(seconds=60)
WORD = "court"
PLATFORM = ("customer", "customer", "customer", "lock", "lock", "answer", "answer", "fail", "retry", "done")
FLAGS = ("flag", "flag", "flag", "unflag")
PEOPLE = (
    *("take", "take", "take", "steal", "release", "hand_back", "leave", "leave_to_ai", "leave_to_ai", "assign"),
    *(
        "hand_over",
        "request",
        "mark_urgent",
        "mark_not_urgent",
        "acknowledge",
        "reply",
        "reply",
        "reply",
        "hear",
        "hear",
    ),
)
STATUSES = {"lock": "processing_reply", "fail": "failed_unknown", "retry": "retry", "done": "completed"}
STAFF = {each.username: each for each in (ANA, BEN, ADMIN)}
GROUP, MEMBERS = "second", ("ben", "cem")
# When it begins, and the hours of the project that has them: clocks are put forward or back while they are open.
NIGHTS = (
    (datetime(2026, 1, 31, 8, tzinfo=UTC), Hours("09:30", "10:15", "Europe/London", (6,))),
    (datetime(2026, 3, 29, 0, tzinfo=UTC), Hours("00:30", "02:20", "Europe/London")),
    (datetime(2026, 10, 25, 0, tzinfo=UTC), Hours("00:30", "02:20", "Europe/London")),
    (datetime(2026, 11, 1, 4, 30, tzinfo=UTC), Hours("00:10", "02:10", "America/New_York")),
)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


class World:
    """Some conversations of two projects, and all that is still on its way."""

    def __init__(self, store: Store, seed: int, many: int, hours: int, monkeypatch: Any) -> None:
        self.store, self.random = store, random.Random(seed)
        begins, business = NIGHTS[seed % len(NIGHTS)]
        self.now = self.awake_since = begins
        self.ends = begins + timedelta(hours=hours)
        monkeypatch.setattr(clock, "now", lambda: self.now)
        self._set_levels(business)
        common = (minutes(10), minutes(15), minutes(20), minutes(12))
        both = (
            Targets(*common, returned=minutes(14), words=(WORD,)),
            Targets(minutes(10), minutes(15), minutes(25), minutes(12), minutes(31), business, (WORD,)),
        )
        self.all = [self._begin(seed, number, both, hours) for number in range(many)]
        self.by_id = {each.key["conversation_id"]: each for each in self.all}
        self.items = {item["conversation_id"]: item for item in store.all("CONVERSATIONS")}
        self.due: dict[str, list[StreamChange]] = {each: [] for each in self.by_id}
        self.was: dict[str, list[StreamChange]] = {each: [] for each in self.by_id}
        # Whose records are being handled.
        self.bringing = ""
        # By when an answer was due: as seen before it came, surely, or perhaps; and when it was first noted.
        self.missed: dict[str, set[datetime]] = {each: set() for each in self.by_id}
        self.perhaps: dict[str, set[datetime]] = {each: set() for each in self.by_id}
        self.noted: dict[tuple[str, datetime], datetime] = {}
        # Who has to be told of which action.
        self.told: set[tuple[str, str]] = set()
        # Since when what is expected of each is expected.
        self.expected = dict.fromkeys(self.by_id, ("", False, "", None, self.now))
        self.counts: dict[str, int] = {}
        self.timers, self.stirred = Timers(now=lambda: self.now), self.now

    def _set_levels(self, business: Hours) -> None:
        company = {"stuck_after": 10, "unanswered_after": 15, "first_answer": 20, "next_answer": 12, "return_after": 14}
        days = [day for day in range(7) if day not in business.closed_on]
        times = {"opens": business.opens, "closes": business.closes, "days": days, "time_zone": business.zone}
        project = {"first_answer": 25, "return_after": 31, "hours": times}
        pk = levels.partition_of(COMPANY)
        self.store.put(
            "CONSOLE", {"pk": pk, "sk": levels.COMPANY, "version": 1, "urgent_words": [WORD.title()], **company}
        )
        self.store.put("CONSOLE", {"pk": pk, "sk": f"{levels.PROJECT}p-night", "version": 1, **project})
        group = {"pk": f"GROUPS#{COMPANY}", "sk": GROUP, "name": "Second line", "members": list(MEMBERS), "version": 1}
        self.store.put("CONSOLE", group)
        caching.invalidate_all()

    def _begin(self, seed: int, number: int, both: tuple[Targets, Targets], hours: int) -> History:
        named = f"{seed:03}{number:04}"
        project = self.random.choice(("p-day", "p-night"))
        key = {"primary_channel": f"+44{named}", "conversation_id": f"{COMPANY}#{project}#{named}#1"}
        each = History(key, both[project == "p-night"], self.now)
        if self.random.random() < 0.2:
            each.ttl = (self.now + DAY + timedelta(hours=hours * self.random.random())).replace(microsecond=0)
        each.is_risky = self.random.random() < 0.15
        if each.is_risky:
            state = {"conversation_id": key["conversation_id"], "updated_at": clock.to_iso(self.now)}
            self.store.put("CONVERSATION_STATE", {**state, "risk_flags": {"chargeback"}})
        ttl = {} if each.ttl is None else {"ttl": clock.to_epoch(each.ttl)}
        self.store.put(
            "CONVERSATIONS",
            conversation(**key, project_id=project, updated_at=clock.to_iso(self.now), messages=[], **ttl),
        )
        return each

    # --- What happens -------------------------------------------------------------------------------------------------

    def happen(self, each: History) -> None:
        """One event, by whoever, that makes sense now; and the record that the stream will bring of it."""
        self.now += timedelta(milliseconds=1)
        self.stirred = self.now
        self.tell(each)
        self.look(each)
        name = self.random.choice(self.random.choice((PLATFORM, PLATFORM, FLAGS, PEOPLE, PEOPLE, PEOPLE)))
        if getattr(self, f"_{name}", self._status if name in STATUSES else self._act)(each, name) is not False:
            self.counts[name] = self.counts.get(name, 0) + 1
            each.log.append(f"{self.now:%H:%M:%S.%f} {name}")
        self.tell(each)

    def _customer(self, each: History, _: str) -> None:
        words = self._says(each, "user")
        each.is_written_by_customer(self.now, words)

    def _answer(self, each: History, _: str) -> None:
        self._says(each, "assistant", conversation_status="reply_sent")
        each.status, each.unanswered = "reply_sent", None

    def _says(self, each: History, role: str, **more: Any) -> str:
        words = f"To {WORD.upper()}!" if role == "user" and self.random.random() < 0.2 else "x"
        at, number = clock.to_iso(self.now), len(each.messages)
        each.messages.append({"message_id": f"m{number}", "role": role, "content": words, "timestamp": at})
        self._write(each, messages=list(each.messages), **more)
        return words

    def _status(self, each: History, name: str) -> None:
        each.status = STATUSES[name]
        self._write(each, conversation_status=each.status)

    def _flag(self, each: History, _: str) -> bool | None:
        """The platform asks for a human; where somebody held what it had taken back, it asks anew."""
        if each.flag:
            return False
        if not each.agent:
            # What was said of an earlier time may stand there still, where nobody has come to look since.
            bears = self.items[each.key["conversation_id"]]
            each.urgent = _urgency_in(bears)
        each.reason = f"{self.now} {WORD if self.random.random() < 0.2 else ''}"
        self._write(each, hand_off_to_human=True, hand_off_to_human_reason=each.reason)
        each.loses, each.flag, each.agent, each.asked, each.taken = each.agent, True, "", self.now, None
        each.action_before = self.items[each.key["conversation_id"]].get("hand_off_action_id")
        each.may_be_urgent = each.must_be_urgent = each.is_risky
        return None

    def _unflag(self, each: History, _: str) -> bool | None:
        if not each.flag or self.now < each.fragile_until:
            return False
        item = self.items[each.key["conversation_id"]]
        self._write(each, hand_off_to_human=False, hand_off_to_human_reason=None)
        each.reason = ""
        if not each.agent and item.get("hand_off_agent") and self._is_pending(each):
            # It asked anew, and no longer does before anybody heard: who held it never lost it.
            each.agent, each.loses, each.urgent = item["hand_off_agent"], "", _urgency_in(item)
            each.asked, each.taken = (
                clock.parse_instant(item.get(f"hand_off_{name}_at")) for name in ("requested", "taken")
            )
        if each.agent:
            each.flag = False
        else:
            each.goes_to_ai()
        return None

    def _write(self, each: History, **values: Any) -> None:
        self.store.update("CONVERSATIONS", each.key, updated_at=clock.to_iso(self.now), **values)
        each.changed = self.now

    # --- What people do -----------------------------------------------------------------------------------------------

    def _hear(self, each: History, _: str) -> bool | None:
        """A customer's message that came to people."""
        if not each.has_people:
            return False
        words = f"To {WORD.upper()}!" if self.random.random() < 0.2 else "x"
        self._append(each, words)
        each.is_written_by_customer(self.now, words)
        each.heard.append(self.now)
        return None

    def _reply(self, each: History, _: str) -> bool | None:
        if not (each.agent and each.flag):
            return False
        self._append(each, "Yes", author=each.agent)
        each.answered, each.unanswered = self.now, None
        return None

    def _append(self, each: History, words: str, author: str | None = None) -> None:
        name = f"m{len(each.messages)}"
        key = each.key["primary_channel"], each.key["conversation_id"]
        item = Conversation.get(*key, consistent_read=True)
        row = MessageRow("\n".join(reversed(key)), name, message_id=name, content=words, author=author)
        row.received_at = clock.to_iso(self.now, "microseconds" if author else "milliseconds")
        assert append(row, item)
        each.messages = self.store.get("CONVERSATIONS", **each.key)["messages"]
        each.changed = self.now

    def _chosen(self, each: History, name: str) -> tuple[A, Staff] | None:
        """Who does what the panel offers."""
        who = STAFF[each.agent] if each.agent else self.random.choice((ANA, BEN))
        other = BEN if who is ANA else ANA
        is_held, is_ai = each.flag and bool(each.agent), not each.has_people
        if name == "take":
            if each.agent and each.flag:
                return None
            return (A.TAKE if each.flag else A.TAKE_OVER), self.random.choice((ANA, BEN))
        fits = {
            "steal": (is_held, A.TAKE_FROM_COLLEAGUE, other),
            "release": (is_held, A.RELEASE, self.random.choice((who, ADMIN))),
            "hand_back": (each.flag, A.HAND_BACK, who),
            "leave": (is_ai, A.LEAVE, who),
            "leave_to_ai": (each.flag or is_ai, A.LEAVE_TO_AI, who),
            "assign": (each.flag or is_ai, A.ASSIGN, ANA if each.agent == "ana" else ADMIN),
            "hand_over": (each.flag, A.HAND_OVER, who),
            "request": (is_ai, A.REQUEST, who),
            "mark_urgent": (each.flag, A.MARK_URGENT, who),
            "mark_not_urgent": (each.flag, A.MARK_NOT_URGENT, who),
            "acknowledge": (bool(each.agent) and not each.flag, A.ACKNOWLEDGE, who),
        }[name]
        return (fits[1], fits[2]) if fits[0] else None

    def _act(self, each: History, name: str) -> bool | None:
        """An agent acts; now and then the web server dies meanwhile, and the action has taken effect or not."""
        if (chosen := self._chosen(each, name)) is None:
            return False
        action, who = chosen
        to = {A.ASSIGN: "ana" if each.agent == "ben" else "ben", A.HAND_OVER: GROUP}.get(action, "")
        key = each.key["primary_channel"], each.key["conversation_id"]
        item = Conversation.get(*key, consistent_read=True)
        if (item.hand_off_agent or "") != each.agent:
            # What they would see is not yet what the platform has asked for since.
            assert self._is_pending(each), self.story(each)
            return False
        intent = intent_for(action, item, hand_off_of(item))
        action_id = derive_action_id(intent.action_id, to) if action in GIVES else intent.action_id
        bears = item.hand_off_attention or ""
        with suppress(Killed), self._killed():
            perform(intent, who, reason="because", to=to)
        if (self.store.get("CONVERSATIONS", **each.key) or {}).get("hand_off_action_id") != action_id:
            return False
        if each.status.startswith("processing"):
            each.fragile_until = self.now + minutes(16)
        held, each.changed, each.acted, each.loses = each.agent, self.now, action_id, ""
        self._effect(each, action, who.username, to, bears)
        receivers = {A.ASSIGN: {to}, A.HAND_OVER: set(MEMBERS)}.get(action, set())
        lost = {held} if action in (A.ASSIGN, A.HAND_OVER, A.RELEASE, A.TAKE_FROM_COLLEAGUE, A.TAKE_OVER) else set()
        self.told |= {(username, action_id) for username in (receivers | lost) - {"", who.username}}
        return None

    def _effect(self, each: History, action: A, who: str, to: str, bears: str) -> None:
        """What docs/hand-off.md says of an action."""
        match action:
            case A.TAKE | A.TAKE_FROM_COLLEAGUE:
                each.is_held_by(who, self.now)
            case A.TAKE_OVER | A.ASSIGN | A.REQUEST:
                if not each.has_people:
                    each.comes_to_people(self.now)
                    each.reason = "because"
                elif action is A.TAKE_OVER:
                    each.flag, each.reason = True, "because"
                if action is not A.REQUEST:
                    each.is_held_by(to or who, self.now)
            case A.RELEASE | A.HAND_OVER:
                each.agent, each.taken = "", None
            case A.MARK_URGENT | A.MARK_NOT_URGENT:
                each.urgent = "by hand" if action is A.MARK_URGENT else "not urgent"
            case A.LEAVE_TO_AI if not each.has_people:
                each.to_ai = self.now
                is_dead = bears == "stuck" and (each.status.startswith("processing") or each.status == "retry")
                if bears and (each.status.startswith("failed") or is_dead):
                    each.status = "retry"
            case A.LEAVE_TO_AI:
                each.to_ai, each.reason = self.now, ""
                each.goes_to_ai()
            case A.LEAVE:
                each.left = self.now
            case _:
                each.left = self.now
                each.reason = each.reason if action is A.ACKNOWLEDGE else ""
                each.goes_to_ai()

    # --- What is told of it -------------------------------------------------------------------------------------------

    def look(self, each: History) -> None:
        """See what the console did to a conversation by itself, and whether it might; note answers that are late."""
        item = self.items[each.key["conversation_id"]]
        if each.flag and each.agent and "hand_off_agent" not in item:
            goes = each.goes_back
            assert goes is not None, self.story(each)
            assert goes <= self.now, self.story(each)
            self.told.add((each.agent, item["hand_off_action_id"]))
            self.counts["returned"] = self.counts.get("returned", 0) + 1
            if each.status.startswith("processing"):
                each.fragile_until = self.now + minutes(16)
            each.agent, each.taken, each.changed = "", None, clock.parse_instant(item["updated_at"]) or self.now
        if each.loses and item.get("hand_off_action_id") not in (each.action_before, each.acted):
            # The timer came before the record that tells that nobody holds it any more: to it, somebody did.
            self.told.add((each.loses, item["hand_off_action_id"]))
            each.loses = ""
        elif not self._is_pending(each):
            each.loses = ""
        if not each.has_people:
            return
        if each.urgent == "":
            each.may_be_urgent = each.may_be_urgent or each.says_urgent()
            if bears := item.get("hand_off_urgent", ""):
                assert each.may_be_urgent, self.story(each)
                each.urgent = bears
        bears = clock.parse_instant(item.get("hand_off_requested_at")) if "hand_off_attention" not in item else None
        if bears is not None and bears != each.asked:
            # Whoever came before the record of a request knew of it no more than the platform's last write.
            # Whoever acted before the record of a request was handled kept the time of the one before it.
            overtaken = item.get("hand_off_action_id") != each.action_before
            told = not self._is_pending(each) and not overtaken
            assert each.asked is None or each.asked <= bears <= self.now or not told, self.story(each)
            if each.asked is not None and (bears > each.asked or (overtaken and not self._is_pending(each))):
                each.asked = bears
        name = each.key["conversation_id"]
        if (due := each.due) is not None and due <= self.now:
            self.perhaps[name].add(due)
            if self.is_awake and due + WITHIN <= self.now and not self.due[name]:
                self.missed[name].add(due)
                assert (name, due) in self.noted, self.story(each)

    def tell(self, each: History) -> None:
        """Note what the stream will bring of the last write."""
        name = each.key["conversation_id"]
        after, before = self.store.get("CONVERSATIONS", **each.key), self.items[name]
        assert after is not None
        if after != before:
            self.due[name].append(StreamChange(to_dynamodb(before), to_dynamodb(after), self.now))
            self.items[name] = after

    @property
    def is_awake(self) -> bool:
        """Whether the workers have worked for long enough without a pause."""
        return self.now - self.awake_since >= WITHIN

    def _is_pending(self, each: History) -> bool:
        """Whether a record is still to be handled, or just being."""
        name = each.key["conversation_id"]
        return bool(self.due[name]) or name == self.bringing

    # --- The workers --------------------------------------------------------------------------------------------------

    def bring(self, each: History) -> None:
        """The stream's records: some a tick later, some again, those of a while ago too, and again after a kill."""
        name = each.key["conversation_id"]
        if not self.due[name] or self.random.random() < 0.3:
            return
        changes, self.due[name], was = self.due[name], [], self.was[name]
        if was and self.random.random() < 0.2:
            # One by itself, long after those behind it; or all since an old position.
            begins = self.random.randrange(len(was))
            changes = [*([was[begins]] if self.random.random() < 0.5 else was[begins:]), *changes]
        self.bringing = name
        for change in changes:
            self._until_done(partial(handle, change), each)
            was.append(change)
        self.bringing = ""
        del was[:-8]

    def ring(self) -> None:
        """The timers, which begin anew now and then, from where a process that died had noted last."""
        if self.random.random() < 0.1:
            self._restart_timers()
        self._until_done(lambda: self.timers.cycle(), self.random.choice(self.all), self._restart_timers)

    def _restart_timers(self) -> None:
        # That a lease runs out is tested where leases are.
        noted: dict[str, Any] = {"until": 0}
        if self.random.random() < 0.3:
            noted["looked_until"] = clock.to_iso(self.now - minutes(self.random.randint(1, 90)))
        self.store.update("CONSOLE", {"pk": self.timers.name, "sk": "LEASE"}, **noted)
        self.timers = Timers(now=lambda: self.now, owner=self.timers.lease.owner)

    def _until_done(self, work: Callable[[], object], other: History, again: Callable[[], None] = lambda: None) -> None:
        while True:
            try:
                with self._watched(), self._killed(), self._between(other):
                    work()
                return
            except Killed:
                again()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """See which conversations are written to meanwhile, and when it is first said that an answer is late."""
        with self.store.calls() as seen:
            try:
                yield
            finally:
                self._note(seen)

    def _note(self, seen: list[SeenCall]) -> None:
        names = set()
        for call in seen:
            if call.operation == "UpdateItem" and call.tables == ("CONVERSATIONS",):
                names.add(call.request["Key"]["conversation_id"]["S"])
            item = call.request.get("Item", {}) if call.tables == ("AUDIT",) else {}
            if item.get("action_type", {}).get("S") == "target.missed":
                at = clock.parse_instant(item["ts_action_id"]["S"].partition("#")[0])
                assert at is not None
                self.noted.setdefault((item["conversation_id"]["S"], at), self.now)
        for name in sorted(names & set(self.by_id)):
            self.tell(self.by_id[name])

    def _killed(self) -> Any:
        """Kills one time in ten, before or after one of the next calls."""
        if self.random.random() > 0.1:
            return nullcontext()

        def die() -> None:
            raise Killed

        return self.random.choice([faults.before, faults.after])("", die, nth=self.random.randint(1, 12))

    def _between(self, other: History) -> Any:
        """Now and then something happens to a conversation in the middle of it; or the process stands still."""
        if self.random.random() > 0.1 or self.now >= self.ends - minutes(10):
            return nullcontext()
        when = self.random.choice([faults.before, faults.after])
        do = (lambda: self.happen(other)) if self.random.random() < 0.8 else self._pause
        return when("", do, nth=self.random.randint(1, 8))

    def _pause(self) -> None:
        """Longer than timers look back for who was late."""
        self.now += timedelta(seconds=self.random.randint(100, 400))
        self.awake_since = self.stirred = self.now

    # --- What must hold -----------------------------------------------------------------------------------------------

    def check(self, each: History) -> None:
        self.look(each)
        name, item = each.key["conversation_id"], self.items[each.key["conversation_id"]]
        must = each.has_people and each.urgent == "" and (each.must_be_urgent or each.says_urgent())
        expected = (each.place(self.now), must, *each.attention(self.now))
        *before, since = self.expected[name]
        if tuple(before) != expected or self.due[name]:
            since = self.now
        self.expected[name] = (*expected, since)  # type: ignore[assignment]
        if self.now - since < WITHIN or not self.is_awake:
            return
        cause = item.get("hand_off_attention", "")
        at = clock.parse_instant(item.get("hand_off_requested_at")) if cause else None
        assert (cause, at) == expected[2:], self.story(each)
        assert item.get("gsi_hand_off_queue", "").partition("#")[0] == expected[0], self.story(each)
        assert item.get("hand_off_agent", "") == each.agent, self.story(each)
        assert not must, self.story(each)
        goes = each.goes_back
        assert goes is None or goes + WITHIN > self.now, self.story(each)

    def check_trail(self) -> None:
        """Each overdue answer stands in the trail once, none that was not; and who got or lost something was told."""
        found: dict[str, list[datetime]] = {each: [] for each in self.by_id}
        for entry in self.store.all("AUDIT"):
            if entry["action_type"] == "target.missed":
                at = clock.parse_instant(entry["ts_action_id"].partition("#")[0])
                assert at is not None
                assert at <= self.noted[entry["conversation_id"], at]
                found[entry["conversation_id"]].append(at)
        for name, noted in found.items():
            assert len(noted) == len(set(noted))
            assert self.missed[name] <= set(noted) <= self.perhaps[name], (self.story(self.by_id[name]), noted)
        for each in self.by_id:
            settle(each, older_than=timedelta(0))
        rows = [each for each in self.store.all("CONSOLE") if each["pk"].startswith("TOLD#")]
        told = {(each["pk"].removeprefix("TOLD#"), each["sk"]) for each in rows}
        wrong = {action_id for _, action_id in told ^ self.told}
        about = {each["conversation_id"] for each in self.store.all("AUDIT") if each.get("action_id") in wrong}
        assert told == self.told, "\n".join(self.story(self.by_id[each]) for each in about)

    def story(self, each: History) -> str:
        """What happened to a conversation, for whoever reads why it failed."""
        item = self.items[each.key["conversation_id"]]
        bears = {name: value for name, value in item.items() if "hand_off" in name or name == "updated_at"}
        return "\n".join((f"now {self.now}, awake since {self.awake_since}", *each.log, repr(bears), repr(each)))

    def is_idle(self) -> bool:
        """Whether nothing happened just now, or is due: then workers that look less often show what they would."""
        if self.now - self.stirred < 2 * WITHIN or any(self.due.values()):
            return False
        near = (self.now - 2 * WITHIN, self.now + WITHIN)
        return not any(near[0] <= at <= near[1] for each in self.all for at in each.moments())


def _urgency_in(item: dict[str, Any]) -> str:
    """What an item says of its urgency, as histories have it."""
    mark = str(item.get("hand_off_urgent", ""))
    return {"no": "not urgent"}.get(mark, mark)
