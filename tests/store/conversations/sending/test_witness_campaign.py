"""Whatever the platform drops or merges, whatever the provider's clock says and however it answers: each message once.

`WITNESSED=500 pytest -n 2 tests/store/conversations/sending/test_witness_campaign.py` tries that number of messages.
"""

import json
import os
import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from unittest import mock

import pytest

from console import clock
from conversations.messages.repetitions import lines_of
from conversations.providers import twilio
from conversations.receiving.handling import handle
from conversations.receiving.witnessing import pair_of, request_look
from conversations.records import Speaker
from conversations.sending.worker import Sender
from demo.provider import DemoProvider, ProviderFault
from tests.dynamodb import Store
from tests.support.conversations.handoff.kit import KEY, stored
from tests.support.conversations.witnessing import FROM, TO, conversation, transcript, watched

AT_ONCE = 50
WITNESSED = int(os.environ.get("WITNESSED", "50"))
# The conversation is taken after so many seconds; messages come for so long; rounds are so far apart.
TAKEN, ENDS, STEP = 150, 300, 10
# One period of the witness, and 30 seconds.
WITHIN = timedelta(seconds=120)
FAULTS = (
    ProviderFault(),
    ProviderFault(status=500),
    ProviderFault(status=429, headers={"Retry-After": "3"}, body=b'{"code": 20429}'),
)


@dataclass
class Said:
    """A message: what became of it at the platform, when it was said, and when the provider lists it."""

    name: str
    text: str
    at: datetime
    listed: datetime
    fate: str


def draw(drawn: random.Random, begin: datetime) -> list[Said]:
    """Messages in their order: those before the take are merged or dropped, those after it queued or dropped."""
    found = []
    for number, second in enumerate(sorted(drawn.uniform(0, ENDS) for _ in range(AT_ONCE))):
        at = begin + timedelta(seconds=second)
        kept = ("merged",) if second < TAKEN else ("queued", "unnamed")
        fate = "dropped" if number % 3 == 0 else drawn.choice(kept)
        # While a part of an entry lags, equal words of other messages may be taken for it, and are then shown twice.
        lag = timedelta(seconds=drawn.uniform(0, 240) if drawn.random() < 0.2 and fate != "merged" else 0)
        found.append(Said(f"SM{number:032}", drawn.choice(["ok", "yes please", f"line {number}"]), at, at + lag, fate))
    return found


def bring(each: Said) -> None:
    """The platform's queue brings a message, with its id or without."""
    content = {"from": FROM, "to": TO, "body": each.text, "received_at": clock.to_iso(each.at), **KEY}
    name = {"message_sid": each.name} if each.fate == "queued" else {}
    handle(json.dumps(content | name | {"channel_type": "whatsapp"}), clock.now(), "queue", f"d-{each.name}")


def merge(store: Store, said: list[Said]) -> None:
    """The platform's worker writes messages as one entry, with the first one's id, after the AI has answered."""
    entry = {"message_id": said[0].name, "role": "user", "content": "\n".join(each.text for each in said)}
    answer = {"message_id": f"{said[0].name}-answer", "role": "assistant", "content": f"About {said[0].name}"}
    at = {"timestamp": clock.to_iso(clock.now())}
    store.update("CONVERSATIONS", KEY, messages=[*stored(store)["messages"], entry | at, answer | at])


def by_customer() -> Counter[str]:
    """The customer's lines in the transcript; what only repeats them for the AI is not theirs."""
    texts = [block.text for each in transcript() if each.speaker is Speaker.CUSTOMER for block in each.blocks]
    return Counter(line for each in texts for line in lines_of(each))


@pytest.mark.parametrize("seed", range(-(-WITNESSED // AT_ONCE)))
def test_each_message_is_there_once_and_in_time(store, outbox, provider, monkeypatch, seed):
    drawn = random.Random(seed)
    monkeypatch.setattr(twilio, "PAGE", drawn.choice([3, 7, 100]))
    provider.ahead, provider.lists_per_second = timedelta(seconds=drawn.uniform(-300, 300)), 20
    begin = clock.now()
    to_come = draw(drawn, begin)
    everything, waiting = list(to_come), list[Said]()
    watched(store, messages=[], auto_queue_reply_message=None, hand_off_routed_at=None, hand_off_routing_before=None)
    strike(provider, drawn)
    is_taken = False
    for second in range(0, ENDS + 500, STEP):
        now = begin + timedelta(seconds=second)
        with mock.patch.object(clock, "now", return_value=now):
            while to_come and to_come[0].at <= now:
                each = to_come.pop(0)
                ago, lag = now - each.at, max(timedelta(), each.listed - now)
                provider.receive(FROM, TO, each.text, name=each.name, ago=ago, lag=lag)
                if each.fate == "merged":
                    waiting.append(each)
                elif each.fate != "dropped":
                    bring(each)
            if waiting and (second >= TAKEN or drawn.random() < 0.4):
                merge(store, waiting)
                waiting = []
            if second >= TAKEN and not is_taken:
                is_taken = True
                routed = {"auto_queue_reply_message": True, "hand_off_routed_at": clock.to_iso(now)}
                store.update("CONVERSATIONS", KEY, hand_off_routing_before=[], **routed)
                request(conversation())
            Sender(wait=lambda _: False).run(once=True)
            since = begin + timedelta(seconds=TAKEN)
            due = [each for each in everything if max(each.listed, since) + WITHIN <= now]
            missing = Counter(each.text for each in due) - by_customer()
            assert not missing, [each for each in due if each.text in missing]
    assert by_customer() == Counter(each.text for each in everything)


def request(item) -> None:
    pair = pair_of(item)
    assert pair is not None
    request_look(pair)


def strike(provider: DemoProvider, drawn: random.Random) -> None:
    """Let an answer be lost or refused, at most once in 45 seconds."""
    last = [clock.now()]

    def fault(*_: object) -> ProviderFault | None:
        if abs(clock.now() - last[0]) < timedelta(seconds=45) or drawn.random() < 0.6:
            return None
        last[0] = clock.now()
        return drawn.choice(FAULTS)

    provider.fault = fault
