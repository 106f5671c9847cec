"""Receivers that are killed while customers write and a person takes and returns, on real engines and in real time.

Soon after the messages of a dead receiver come again, each is recorded and shown once, in order, none is left in the
queue, and the conversation waits or is held, unless the person returned it with all of them.

`CRASHES=200 pytest -n 0 -s --dynoxide tests/store/conversations/receiving/test_crashes.py` tries that number of
histories, and prints how long it took after a death; `CRASHES_VISIBILITY=60` sets the queue's visibility timeout.
"""

import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any

import pytest

from console import clock
from console.store import queues
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, allowed_actions, intent_for, perform
from conversations.models import Conversation
from conversations.outbox.latest import last_words
from conversations.outbox.rows import messages_of, partition_of
from conversations.receiving.worker import Receiver
from conversations.records import HandOffState, Speaker
from tests.dynamodb import Store
from tests.store.conversations.receiving.test_handling import body, rows
from tests.store.conversations.receiving.test_worker import visible
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, KEY, conversation
from tests.support.victims import victims as children

# What a process that dies leaves behind, the real store and the real queue show.
pytestmark = [pytest.mark.dynoxide_only, pytest.mark.slow]

CRASHES = int(os.environ.get("CRASHES", "3"))
VISIBILITY = int(os.environ.get("CRASHES_VISIBILITY", "2"))
# Histories of a test, which share the process whose children die.
AT_ONCE = min(3, CRASHES)
# Seconds for the rounds of the next receiver on a busy machine. A message that failed would come after 15.
MARGIN = 12
# A receiver makes at least so many calls for one message, and about so many for eight.
FEW_CALLS, MANY_CALLS = 8, 30
ACTIONS = {HandOffAction.TAKE_OVER, HandOffAction.TAKE, HandOffAction.RELEASE, HandOffAction.HAND_BACK}
QUEUES = {HandOffState.WAITING: f"waiting#{COMPANY}", HandOffState.HELD: f"held#{COMPANY}"}


@dataclass(frozen=True)
class Said:
    """A customer's message; an edit has the name of what it edits."""

    conversation: str
    name: str
    words: str
    at: datetime


@dataclass
class History:
    """The store and the queue, what was said, and when receivers died. `returned`: with which messages, and last."""

    store: Store
    queue: str
    victims: Callable[..., dict[str, Any]]
    drawn: random.Random
    said: set[Said] = field(default_factory=set)
    returned: dict[str, set[str]] = field(default_factory=dict)
    deaths: list[float] = field(default_factory=list)

    def say(self, each: Said) -> None:
        self.said.add(each)
        named = {"message_sid": each.name, "conversation_id": each.conversation}
        queues.send(self.queue, body(**named, body=each.words, received_at=clock.to_iso(each.at)))

    def act(self, conversation_id: str) -> None:
        """Take or return a conversation, as its state allows."""
        item = Conversation.get(CHANNEL, conversation_id, consistent_read=True)
        hand_off = hand_off_of(item)
        action = self.drawn.choice([each for each in allowed_actions(hand_off, ANA) if each in ACTIONS])
        perform(intent_for(action, item, hand_off), ANA)
        if action is HandOffAction.HAND_BACK:
            self.returned[conversation_id] = {row["content"] for row in self.rows(conversation_id)}

    def die(self, most: int = MANY_CALLS) -> None:
        """Let a receiver die at one of so many calls, or having just received; sometimes beside another receiver."""

        def receive(nth: int, kill: str) -> tuple[dict[str, Any], float]:
            return self.victims("receive", kill, nth), monotonic()

        draw = self.drawn
        nth, kill = draw.choice([(1, "after"), (draw.randint(1, most), "before"), (draw.randint(1, most), "after")])
        with ThreadPoolExecutor(1) as pool:
            receiving = pool.submit(receive, nth, kill)
            # The first one has the first message for itself, so that it dies.
            if self.deaths and draw.random() < 0.3:
                Receiver().run(once=True)
            ended, at = receiving.result()
        if not ended["killed"]:
            assert ended["code"] == 0
            return
        self.deaths.append(at)
        if draw.random() < 0.4:
            self.await_redelivery()

    def await_redelivery(self) -> None:
        """Wait until there is something in the queue to receive, and leave it there."""
        peek = {"QueueUrl": self.queue, "VisibilityTimeout": 0, "WaitTimeSeconds": queues.LONGEST_WAIT_SECONDS}
        while not self.is_over() and not queues.client().receive_message(**peek).get("Messages"):
            pass

    def is_over(self, _: float = 0) -> bool:
        """Whether nothing is left in the queue, or it is too late."""
        return not visible(self.queue) or monotonic() - self.deaths[-1] > VISIBILITY + MARGIN

    def go_on(self) -> float:
        """Let a receiver work until nothing is left in the queue; return how long after the last death that is."""
        if not self.is_over():
            Receiver(wait=self.is_over).run()
        return monotonic() - self.deaths[-1]

    def rows(self, conversation_id: str) -> list[dict[str, Any]]:
        return rows(self.store, partition_of(CHANNEL, conversation_id))

    def check(self, conversation_id: str) -> None:
        said = sorted((each for each in self.said if each.conversation == conversation_id), key=lambda each: each.at)
        recorded, words = self.rows(conversation_id), [each.words for each in said]
        assert [row["content"] for row in recorded] == words
        assert not [row for row in recorded if "gsi_due" in row]
        trail = [entry for entry in self.store.all("AUDIT") if entry["conversation_id"] == conversation_id]
        assert [entry["action_type"] for entry in trail].count("message.received") == len(words)
        item = Conversation.get(CHANNEL, conversation_id, consistent_read=True)
        messages = messages_of(item, item.raw["messages"])
        shown = [messages.message(number, raw=True) for number in range(1, len(messages) + 1)]
        assert [message.line for message in shown if message.speaker is Speaker.CUSTOMER] == words
        edits = [each.words for number, each in enumerate(said) if each.name in {one.name for one in said[:number]}]
        assert [message.line for message in shown if "edited" in message.notes] == edits
        state = hand_off_of(item).state
        if state is HandOffState.AI:
            assert self.returned.get(conversation_id, set()) == set(words)
            return
        assert item.raw["gsi_hand_off_queue"]["S"] == QUEUES[state]
        if words:
            last = last_words([(CHANNEL, conversation_id)])[CHANNEL, conversation_id]
            assert (last.text, last.unanswered > 0) == (words[-1], True)


def draw_messages(drawn: random.Random, conversations: list[str]) -> list[Said]:
    """Messages as the queue gets them: some are edits, some come twice, and not all in order."""
    said: list[Said] = []
    begin = clock.now() - timedelta(hours=1)
    for number in range(drawn.randint(3, 8)):
        new = Said(drawn.choice(conversations), f"SM{number}", f"words {number}", begin + timedelta(seconds=number))
        edited = drawn.choice(said) if said and drawn.random() < 0.2 else new
        said.append(Said(edited.conversation, edited.name, new.words, new.at))
    if drawn.random() < 0.5:
        drawn.shuffle(said)
    for again in drawn.sample(said, drawn.randint(0, 2)):
        said.insert(drawn.randint(0, len(said)), again)
    return said


@pytest.fixture
def victims(store, queue, settings) -> Iterator[Callable[..., dict[str, Any]]]:
    """Does jobs in children that get killed; see the module of that name."""
    settings.QUEUE_VISIBILITY_SECONDS = VISIBILITY
    where = {"SQS_ENDPOINT": settings.SQS_ENDPOINT, "HANDOFF_QUEUE_URL": queue}
    where["QUEUE_VISIBILITY_SECONDS"] = str(VISIBILITY)
    with children("tests.support.conversations.receiving_victims", store.environment() | where) as do:
        yield do


@pytest.mark.parametrize("seed", range(-(-CRASHES // AT_ONCE)))
def test_messages_of_a_killed_receiver_are_all_there_soon_after(store, queue, victims, seed):
    drawn = random.Random(seed)
    for number in range(AT_ONCE):
        history = History(store, queue, victims, drawn)
        conversations = [f"{CONVERSATION}#{number}-{each}" for each in range(drawn.randint(1, 3))]
        for each in conversations:
            store.put("CONVERSATIONS", conversation(**KEY | {"conversation_id": each}, auto_queue_reply_message=True))
        first, *others = draw_messages(drawn, conversations)
        steps = [*(partial(history.say, each) for each in others), history.die]
        more = [partial(history.act, drawn.choice(conversations)) for _ in range(drawn.randint(0, 3))]
        for step in (*more, *[history.die] * drawn.randint(0, 2)):
            steps.insert(drawn.randint(0, len(steps)), step)
        history.say(first)
        history.die(FEW_CALLS)
        for step in steps:
            step()
        seconds = history.go_on()
        print(f"{len(history.deaths)} deaths, {len(history.said)} messages, {seconds:.2f} s after the last death")
        assert visible(queue) == 0
        assert seconds < VISIBILITY + MARGIN
        for each in conversations:
            history.check(each)
