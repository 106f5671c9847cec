"""What is said of a reply is true, whatever the clocks of senders and provider say and however many answers are lost.

`CLOCK_REPLIES=500 pytest -n 0 tests/store/conversations/sending/test_clocks.py` tries that number of replies.
"""

import os
import random
from collections import Counter
from datetime import timedelta
from unittest import mock

import pytest

from console import clock
from conversations import providers
from conversations.providers import twilio
from conversations.sending.worker import Sender
from demo.provider import DemoProvider, ProviderFault
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, replies, write

AT_ONCE = 10
REPLIES = int(os.environ.get("CLOCK_REPLIES", "20"))
ARRIVED = {"sent", "delivered", "read"}
# Seconds after the replies were written: sent, settled, given up, and asked for their delivery.
ROUNDS = (11, 14, 30, 60, 120, 240, 360, 480, 700, 1_300, 1_330, 1_360, 1_600, 5_500)
# Until then, questions are answered with errors too. Later, a sender whose clock is ahead gives up on an error.
ASKED_IN_VAIN = 100
BUSY = ProviderFault(status=429, headers={"Retry-After": "1"}, body=b'{"code": 20429}')


def faults_of(random: random.Random) -> list[ProviderFault | None]:
    """A fault of every kind for what is handed over, the harmless ones more often."""
    lost, died = ProviderFault(accepts=True), ProviderFault()
    failed = ProviderFault(accepts=random.random() < 0.5, status=500)
    return [None, None, lost, lost, died, died, failed, BUSY]


def round_of(provider: DemoProvider, seconds: float, machine: float, provider_ahead: float) -> None:
    """Let a sender work, so many seconds later, on a machine whose clock is so far ahead of the true time."""
    provider.ahead = timedelta(seconds=provider_ahead - machine)
    at = clock.now() + timedelta(seconds=seconds + machine)
    with mock.patch.object(clock, "now", return_value=at):
        Sender(wait=lambda _: False).run(once=True)


@pytest.mark.parametrize("seed", range(-(-REPLIES // AT_ONCE)))
def test_no_reply_is_said_to_be_what_it_is_not(store, outbox, provider, monkeypatch, seed):
    drawn = random.Random(seed)
    monkeypatch.setattr(twilio, "PAGE", drawn.choice([2, 5, 100]))
    monkeypatch.setattr(providers, "LONGEST_RETRY_SECONDS", 1.0)
    held(store)
    for number in range(AT_ONCE):
        write(ANA, drawn.choice(["ok", f"line {number}"]))
    provider_ahead, is_asked, seconds = drawn.uniform(-300, 300), [], 0

    def strike(method: str, path: str, form: dict) -> ProviderFault | None:
        if method == "POST":
            return drawn.choice(faults_of(drawn))
        is_asked.append(path)
        if seconds > ASKED_IN_VAIN:
            return None
        return drawn.choice([None, None, None, BUSY, ProviderFault(status=500), ProviderFault()])

    provider.fault = strike
    for seconds in ROUNDS:
        if seconds > 700:
            provider.fault = lambda *_: None
        round_of(provider, seconds, drawn.uniform(-240, 240), provider_ahead)
    has = Counter(each["text"] for each in provider.messages())
    assert Counter(row["content"] for row in replies(store) if row["state"] in ARRIVED) == has
    others = Counter(row["state"] for row in replies(store) if row["state"] not in ARRIVED)
    assert set(others) <= {"not sent"}
