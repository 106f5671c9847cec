"""Histories of conversations, held against an oracle that knows only what happened: attention and overdue answers.

Platform, AI, customers, agents and the clock act in random order over hours of simulated time, on many conversations at
once. The stream's records come late, twice, and are cut off by kills before and after any call; so do timers, and their
process begins anew. What the oracle expects is never what the code computes: it goes through the history by itself.
"""

import os
import random
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import caching, clock
from conversations.attention import levels
from conversations.attention.looking import Timers
from conversations.handoff import HandOffAction, perform
from conversations.handoff.intents import intent_for
from conversations.handoff.outcomes import LostRace
from conversations.indexer.handling import handle
from conversations.indexer.streams.records import StreamChange
from conversations.models import Conversation
from conversations.reading import hand_off_of
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import ADMIN, ANA, COMPANY, conversation
from tests.support.tenants.kit import Killed

pytestmark = pytest.mark.pages

HISTORIES = int(os.environ.get("HISTORIES", "40"))
AT_ONCE = 40 if HISTORIES < 1_000 else 100
START = datetime(2026, 1, 31, 8, tzinfo=UTC)
HOURS, TICK = 3, timedelta(seconds=30)
STUCK, UNANSWERED, FIRST = timedelta(minutes=10), timedelta(minutes=15), timedelta(minutes=20)
WITHIN = timedelta(seconds=60)
EVENTS = (
    *(
        "customer",
        "customer",
        "customer",
        "lock",
        "lock",
        "answer",
        "answer",
        "fail",
        "retry",
        "done",
        "flag",
        "unflag",
    ),
    *("take", "hand_back", "leave", "release"),
)


@dataclass
class History:
    """One conversation: what happened to it, as the oracle sees it, and what it was seen to bear."""

    number: int
    status: str = "initial_message_sent"
    changed: datetime = START
    unanswered: datetime | None = None
    flag: bool = False
    agent: str = ""
    asked: datetime | None = None
    left: datetime | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    # Since when what is expected now is expected, so that a minute may pass.
    expected: tuple[str, datetime | None] = ("", None)
    expected_since: datetime = START
    overdue: set[datetime] = field(default_factory=set)
    due: list[StreamChange] = field(default_factory=list)
    was: list[StreamChange] = field(default_factory=list)

    @property
    def key(self) -> dict[str, str]:
        return {"primary_channel": f"+44{self.number}", "conversation_id": f"{COMPANY}#p#{self.number}#1"}

    def expectation(self, now: datetime) -> tuple[str, datetime | None]:
        """What needs attention now, by the history alone."""
        if self.flag or self.agent:
            return "", None
        is_new = self.left is None or self.changed > self.left
        if self.status.startswith("failed") and is_new:
            return "failed", self.changed
        if self.status in ("processing_reply", "retry") and is_new and now >= self.changed + STUCK:
            return "stuck", self.changed
        spoke = self.unanswered
        if spoke is None or now < spoke + UNANSWERED:
            return "", None
        if self.status != "completed" and (self.left is None or spoke > self.left):
            return "unanswered", spoke
        return "", None


def _die() -> None:
    raise Killed


class World:
    """Conversations, the clock, the stream's records that are still to come, and who is killed how often."""

    def __init__(self, store, seed: int, monkeypatch) -> None:
        self.store, self.random, self.now = store, random.Random(seed), START
        monkeypatch.setattr(clock, "now", lambda: self.now)
        levels_item = {"stuck_after": 10, "unanswered_after": 15, "first_answer": 20, "version": 1}
        store.put("CONSOLE", {"pk": levels.partition_of(COMPANY), "sk": levels.COMPANY, **levels_item})
        caching.forget_everything()
        self.all = [History(seed * 1_000 + number) for number in range(AT_ONCE)]
        for each in self.all:
            item = conversation(**each.key, updated_at=clock.to_iso(START), messages=[])
            store.put("CONVERSATIONS", item)
        self.timers = Timers(now=lambda: self.now)
        self.items = self.read()

    def read(self) -> dict[str, dict[str, Any]]:
        """Every item as it is now, by conversation id."""
        return {item["conversation_id"]: item for item in self.store.all("CONVERSATIONS")}

    # --- What happens -------------------------------------------------------------------------------------------------

    def happen(self, each: History) -> None:
        """One event, by whoever, and the record that the stream will bring of it."""
        name = self.random.choice(EVENTS)
        match name:
            case "customer":
                self.says(each, "user")
                each.unanswered = each.unanswered or self.now
            case "answer":
                self.says(each, "assistant", status="reply_sent")
                each.unanswered = None
            case "lock" | "fail" | "retry" | "done":
                statuses = {"lock": "processing_reply", "fail": "failed_unknown", "retry": "retry", "done": "completed"}
                self.writes(each, conversation_status=statuses[name])
                each.status = statuses[name]
            case "flag":
                self.writes(each, hand_off_to_human=True, hand_off_to_human_reason=f"at {self.now}")
                if not each.flag and not each.agent:
                    each.asked = self.now
                each.flag = True
            case "unflag":
                if each.agent:
                    return
                self.writes(each, hand_off_to_human=False, hand_off_to_human_reason=None)
                each.flag, each.asked = False, None
            case _:
                self.act(each, name)
        self.told(each, self.stored(each))

    def act(self, each: History, name: str) -> None:
        """An agent does what the panel would offer."""
        actions = {
            "take": HandOffAction.TAKE if each.flag else HandOffAction.TAKE_OVER,
            "hand_back": HandOffAction.HAND_BACK,
            "release": HandOffAction.RELEASE,
            "leave": HandOffAction.LEAVE,
        }
        is_allowed = {"take": not each.agent, "hand_back": each.flag, "release": bool(each.agent)}
        if not is_allowed.get(name, not each.flag and not each.agent):
            return
        item = Conversation.get(each.key["primary_channel"], each.key["conversation_id"], consistent_read=True)
        with suppress(LostRace):
            perform(intent_for(actions[name], item, hand_off_of(item)), ADMIN if name == "hand_back" else ANA)
        each.changed = self.now
        match name:
            case "take":
                each.asked = each.asked if each.flag else self.now
                each.flag, each.agent = True, ANA.username
            case "hand_back":
                each.flag, each.agent, each.asked, each.left = False, "", None, self.now
            case "release":
                each.agent = ""
            case "leave":
                each.left = self.now

    def says(self, each: History, role: str, **more: Any) -> None:
        at = clock.to_iso(self.now)
        each.messages.append({"message_id": f"m{len(each.messages)}", "role": role, "content": "x", "timestamp": at})
        self.writes(each, messages=list(each.messages), **more)
        each.status = more.get("status", each.status)

    def writes(self, each: History, status: str = "", **values: Any) -> None:
        if status:
            values["conversation_status"] = status
        self.store.update("CONVERSATIONS", each.key, updated_at=clock.to_iso(self.now), **values)
        each.changed = self.now

    # --- What is told of it -------------------------------------------------------------------------------------------

    def stored(self, each: History) -> dict[str, Any]:
        return self.store.get("CONVERSATIONS", **each.key)

    def told(self, each: History, after: dict[str, Any]) -> None:
        before = self.items[each.key["conversation_id"]]
        if after != before:
            each.due.append(StreamChange("1", to_dynamodb(before), to_dynamodb(after), self.now))
            self.items[each.key["conversation_id"]] = after

    def bring(self, each: History) -> None:
        """The stream's records in order: some a tick later, some twice, some cut off and brought again."""
        if not each.due or self.random.random() < 0.3:
            return
        changes, each.due = each.due, []
        if each.was and self.random.random() < 0.1:
            changes = [self.random.choice(each.was), *changes]
        for change in changes:
            while True:
                try:
                    with self.killed():
                        handle(change)
                    break
                except Killed:
                    continue
            each.was.append(change)
            # What the indexer writes comes as a record too.
            self.told(each, self.stored(each))

    def ring(self) -> None:
        """The timers, which begin anew now and then."""
        while True:
            if self.random.random() < 0.1:
                self.timers._give_back()
                self.timers = Timers(now=lambda: self.now)
            try:
                with self.killed():
                    self.timers.cycle()
                break
            except Killed:
                self.timers._give_back()
                self.timers = Timers(now=lambda: self.now)
        items = self.read()
        for each in self.all:
            self.told(each, items[each.key["conversation_id"]])

    def killed(self):
        """Kills one time in ten, before or after one of the next calls."""
        if self.random.random() > 0.1:
            return nullcontext()
        when = self.random.choice([faults.before, faults.after])
        return when("", _die, nth=self.random.randint(1, 6))

    # --- What must hold -----------------------------------------------------------------------------------------------

    def check(self) -> None:
        for each in self.all:
            wanted = each.expectation(self.now)
            if wanted != each.expected:
                each.expected, each.expected_since = wanted, self.now
            item = self.items[each.key["conversation_id"]]
            bears = item.get("hand_off_attention", "")
            since = clock.parse_instant(item.get("hand_off_requested_at")) if bears else None
            is_settled = self.now - each.expected_since >= WITHIN and not each.due
            if is_settled:
                assert (bears, since) == wanted, (self.now, each)
                key = item.get("gsi_hand_off_queue", "").partition("#")[0]
                assert key == ("held" if each.agent else "waiting" if each.flag else "attention" if bears else ""), each
            if each.asked and self.now >= each.asked + FIRST + WITHIN and (each.flag or each.agent):
                each.overdue.add(each.asked + FIRST)

    def check_overdue(self) -> None:
        """Each overdue answer stands in the trail once, and none that was not."""
        entries = [each for each in self.store.all("AUDIT") if each["action_type"] == "target.missed"]
        found: dict[str, list[datetime]] = {}
        for entry in entries:
            at = clock.parse_instant(entry["ts_action_id"].partition("#")[0])
            assert at is not None
            found.setdefault(entry["conversation_id"], []).append(at)
        for each in self.all:
            noted = found.get(each.key["conversation_id"], [])
            assert len(noted) == len(set(noted))
            assert each.overdue <= set(noted), each
            assert all(at <= self.now for at in noted)


@pytest.mark.parametrize("seed", range(max(1, HISTORIES // AT_ONCE)))
def test_what_needs_attention_is_raised_when_due_and_only_then(store, monkeypatch, seed):
    world = World(store, seed, monkeypatch)
    plan = [
        (world.random.random() * HOURS * 0.75, each) for each in world.all for _ in range(world.random.randint(2, 9))
    ]
    events = sorted(
        ((START + timedelta(hours=at), each.number, each) for at, each in plan), key=lambda event: event[:2]
    )
    while world.now < START + timedelta(hours=HOURS):
        world.now += TICK
        while events and events[0][0] <= world.now:
            world.happen(events.pop(0)[2])
        for each in world.all:
            world.bring(each)
        world.ring()
        world.check()
    world.check_overdue()
    raised = [each for each in world.all if each.expected[0]]
    assert raised
