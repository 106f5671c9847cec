"""Random interleavings of console actions with what the platform does at the same moment.

Whatever happens: nothing of the platform's is lost, no item appears from nothing, every flip that the console made
has its entry, every success entry had its flip.
"""

import os
from contextlib import ExitStack, suppress
from datetime import timedelta
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from console import clock
from console.errors import ConsoleError, Forbidden, Invalid, NotFound, StoreUnavailable
from console.permissions import Role
from conversations.attention.levels import ServiceLevels
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, LostRace, allowed_actions, perform, settle
from conversations.handoff.actions import GIVES
from conversations.handoff.service import derive_action_id
from conversations.models import Conversation
from conversations.timers.lateness import release_if_silent
from tests import faults
from tests.dynamodb import from_dynamodb, to_dynamodb
from tests.support.conversations.handoff.kit import (
    ALL,
    CHANNEL,
    CONVERSATION,
    KEY,
    OURS,
    conversation,
    form,
    staff,
)

pytestmark = pytest.mark.pages

FLAG, REASON = "hand_off_to_human", "hand_off_to_human_reason"
PEOPLE = [staff("ana"), staff("ben"), staff("root", Role.ADMIN, ALL)]
REAL_NOW = clock.now
# Two seconds each. More of them: INTERLEAVINGS=500 pytest …
EXAMPLES = int(os.environ.get("INTERLEAVINGS", "10"))

people = st.sampled_from(PEOPLE)
numbers = st.integers(0, 2**31)
calls = st.integers(1, 6)


class Platform:
    """The other services: they write the flag, the reason and whatever is theirs, and never ask for a stamp."""

    def __init__(self, store):
        self.store = store
        self.theirs = {name: value for name, value in conversation().items() if name not in OURS}
        self.read_before_lock = None
        self.there = True

    def write(self, **values):
        if self.there:
            self.store.update("CONVERSATIONS", KEY, **values)
            self.theirs |= {name: value for name, value in values.items() if name not in OURS}

    def append(self, number):
        message = {"entry_id": f"m{number}", "role": "user", "content": f"message {number}"}
        if self.there:
            self.store.client.update_item(
                TableName=self.store.name("CONVERSATIONS"),
                Key=to_dynamodb(KEY),
                UpdateExpression="SET messages = list_append(messages, :new), updated_at = :now",
                ExpressionAttributeValues=to_dynamodb({":new": [message], ":now": clock.to_iso(clock.now())}),
            )
            self.theirs["messages"] = [*self.theirs["messages"], message]

    def ask(self, number):
        self.write(**{FLAG: True, REASON: f"reason {number}"})

    def clear(self, number):
        self.write(**{FLAG: False, REASON: None})

    def null(self, number):
        self.write(**{FLAG: None})

    def drift(self, number):
        self.write(**{FLAG: ["true", "false", 1, 0][number % 4]})

    def unknown(self, number):
        self.write(**{f"x_{number % 5}": [number, None, {"deep": ["a", number]}, {1, 2}, b"\x00\xff"][number % 5]})

    def lock(self, number):
        if self.there:
            item = self.store.get("CONVERSATIONS", **KEY)
            self.read_before_lock = {name: item.get(name) for name in (FLAG, REASON)}
            self.write(conversation_status="processing")

    def write_back(self, number):
        if self.read_before_lock is not None:
            self.write(conversation_status="reply_sent", thread_id=f"thread_{number}", **self.read_before_lock)

    def answer(self, number):
        """A reply of whoever holds it, which the sender puts onto the item: no action."""
        self.write(hand_off_answered_at=clock.to_iso(clock.now()))

    def delete(self, number):
        if number % 20 == 0:
            self.store.delete("CONVERSATIONS", **KEY)
            self.there = False


WRITES = ("append", "ask", "clear", "null", "drift", "unknown", "lock", "write_back", "answer", "delete")
writes = st.sampled_from(WRITES)


def receiver_of(intent):
    """Who gets what is given away."""
    return "ben" if intent.action in GIVES else ""


def id_of(intent):
    """The id under which an intent is carried out."""
    return derive_action_id(intent.action_id, receiver_of(intent)) if intent.action in GIVES else intent.action_id


class HandOffs(RuleBasedStateMachine):
    """People click on fresh and on old forms while the platform writes and the network loses answers."""

    def __init__(self, store):
        super().__init__()
        store.empty()
        store.put("CONVERSATIONS", conversation())
        self.store = store
        self.platform = Platform(store)
        self.forms = []
        self.flips = []
        self.late = []

    # --- what is seen --------------------------------------------------------------------------------------------

    def observe(self):
        """Note a flip: the stamp moved. Called between any two writes of the console."""
        item = self.store.get("CONVERSATIONS", **KEY) or {}
        stamp = item.get("hand_off_action_id", "")
        if stamp and stamp != (self.flips[-1] if self.flips else ""):
            self.flips.append(stamp)

    def submit(self, intent, who):
        try:
            outcome = perform(intent, who, reason="because", to=receiver_of(intent))
        except LostRace:
            self.observe()
            assert id_of(intent) not in self.flips
        except (Forbidden, Invalid, NotFound, StoreUnavailable):
            self.observe()
        else:
            self.observe()
            assert id_of(intent) in self.flips
            assert outcome.replayed or outcome.action is intent.action
        self.forms.append((intent, who))

    def fresh_form(self, who, number):
        try:
            item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
        except NotFound:
            return None
        actions = allowed_actions(hand_off_of(item), who)
        return form(actions[number % len(actions)])

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(write=writes, number=numbers)
    def platform_writes(self, write, number):
        getattr(self.platform, write)(number)

    @rule(who=people, number=numbers)
    def click(self, who, number):
        intent = self.fresh_form(who, number)
        if intent is not None:
            self.submit(intent, who)

    @rule(who=people, number=numbers)
    def render(self, who, number):
        """A form that is submitted later, or never."""
        intent = self.fresh_form(who, number)
        if intent is not None:
            self.forms.append((intent, who))

    @precondition(lambda self: self.forms)
    @rule(number=numbers)
    def click_an_old_form(self, number):
        self.submit(*self.forms[number % len(self.forms)])

    @rule(who=people, number=numbers, write=writes, nth=calls, after=st.booleans())
    def click_while_the_platform_writes(self, who, number, write, nth, after):
        """The platform's write falls between two calls of the action."""
        intent = self.fresh_form(who, number)
        if intent is None:
            return
        strike = faults.after if after else faults.before

        def between():
            self.observe()
            getattr(self.platform, write)(number)

        with strike("", between, nth=nth):
            self.submit(intent, who)

    @rule(who=people, other=people, number=numbers, nth=calls, after=st.booleans())
    def click_while_a_colleague_clicks(self, who, other, number, nth, after):
        intent, rival = self.fresh_form(who, number), self.fresh_form(other, number // 7)
        if intent is None or rival is None:
            return

        def between():
            self.observe()
            self.submit(rival, other)

        with (faults.after if after else faults.before)("", between, nth=nth):
            self.submit(intent, who)

    @rule(who=people, number=numbers, nth=calls, strike=st.sampled_from([faults.fail_before, faults.fail_after]))
    def click_on_a_bad_network(self, who, number, nth, strike):
        intent = self.fresh_form(who, number)
        if intent is not None:
            with strike(nth=nth, retried=bool(number % 2)):
                self.submit(intent, who)

    @rule(who=people, number=numbers)
    def click_and_the_packet_lingers(self, who, number):
        intent = self.fresh_form(who, number)
        if intent is not None:
            with faults.hold("UpdateItem", table_key="CONVERSATIONS") as late:
                self.submit(intent, who)
            self.late.append(late)

    @rule(nth=calls, who=people, number=numbers, write=writes)
    def the_return_timer_rings_while_somebody_clicks(self, nth, who, number, write):
        """It gives back what is held, by the same protocol; who acts or answers in between comes first, or loses."""
        item = self.store.get("CONVERSATIONS", **KEY)
        rival = self.fresh_form(who, number)
        if item is None or rival is None or not item.get("hand_off_agent") or not item.get("hand_off_taken_at"):
            return
        levels = ServiceLevels(return_after=timedelta(microseconds=1))

        def between():
            self.observe()
            if number % 2:
                self.submit(rival, who)
            else:
                getattr(self.platform, write)(number)

        with faults.before("", between, nth=nth), suppress(StoreUnavailable, Invalid):
            release_if_silent(to_dynamodb(item), levels, clock.now() + timedelta(minutes=1))
        self.observe()

    @precondition(lambda self: self.late)
    @rule(number=numbers)
    def a_late_packet_arrives(self, number):
        self.late.pop(number % len(self.late)).deliver()
        self.observe()

    @rule(old=st.booleans())
    def reconcile(self, old):
        with ExitStack() as stack:
            if old:
                later = REAL_NOW() + timedelta(minutes=11)
                stack.enter_context(mock.patch.object(clock, "now", return_value=later))
            settle(CONVERSATION)
        self.observe()

    # --- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def nothing_of_the_platform_is_lost_and_nothing_appears_from_nothing(self):
        items = self.store.all("CONVERSATIONS")
        if not self.platform.there:
            assert items == []
            return
        (item,) = items
        theirs = {name: value for name, value in item.items() if name not in OURS}
        assert theirs == from_dynamodb(to_dynamodb(self.platform.theirs))

    @invariant()
    def every_flip_has_its_entry_and_every_success_its_flip(self):
        entries = {entry["action_id"]: entry["result"] for entry in self.store.all("AUDIT")}
        assert len(set(self.flips)) == len(self.flips)
        assert all(entries[flip] in ("success", "pending") for flip in self.flips)
        assert {each for each, result in entries.items() if result == "success"} <= set(self.flips)

    def teardown(self):
        """Everything that was under way arrives, the reconciler has its turn, and the trail tells the truth."""
        for late in self.late:
            late.deliver()
            self.observe()
        if not self.platform.there:
            return
        later = REAL_NOW() + timedelta(minutes=11)
        with mock.patch.object(clock, "now", return_value=later):
            settle(CONVERSATION)
        self.observe()
        self.every_flip_has_its_entry_and_every_success_its_flip()
        results = {entry["action_id"]: entry["result"] for entry in self.store.all("AUDIT")}
        records = {record["event_id"].rpartition(":")[2]: record["status"] for record in self.store.all("IDEMPOTENCY")}
        assert {each for each, result in results.items() if result == "success"} == set(self.flips)
        assert {result.split(":")[0] for result in results.values()} <= {"success", "conflict", "failed"}
        assert records == {each: result.split(":")[0] for each, result in results.items()}
        for intent, who in self.forms:
            self.a_form_sent_once_more_changes_nothing(intent, who, results)

    def a_form_sent_once_more_changes_nothing(self, intent, who, results):
        action_id = id_of(intent)
        if action_id not in results:
            return
        flips = list(self.flips)
        try:
            outcome = perform(intent, who, reason="because", to=receiver_of(intent))
        except ConsoleError:
            assert results[action_id] != "success"
        else:
            assert outcome.replayed
            assert results[action_id] == "success"
        self.observe()
        assert self.flips == flips


@pytest.mark.slow
def test_random_interleavings(store):
    run_state_machine_as_test(
        lambda: HandOffs(store),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )


@pytest.fixture(autouse=True)
def _ai_can_be_told(monkeypatch) -> None:
    """Replies can be left to the AI."""
    monkeypatch.setattr("conversations.handoff.actions.leads_back_to_ai", lambda: True)
    # Who may be given a conversation is tested where that is looked up.
    monkeypatch.setattr("conversations.handoff.service.check_receiver", lambda intent, to: None)


def test_every_action_occurs_in_the_interleavings():
    """The machine actions whatever is allowed: none of the actions is out of its reach."""
    from conversations.records import HandOff, HandOffState

    states = [HandOff(state, flag=True, agent=agent) for state in HandOffState for agent in ("", "ana", "ben")]
    offered = {action for state in states for who in PEOPLE for action in allowed_actions(state, who)}
    assert offered == set(HandOffAction)
