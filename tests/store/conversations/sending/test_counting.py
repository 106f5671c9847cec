"""Replies are counted as they come into a state: once, in the process that brings them there."""

from datetime import timedelta

import pytest

from console import clock
from tests.store.console.telemetry.kit import counting
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, send_all_due, write


@pytest.mark.slow
def test_a_reply_is_counted_when_it_is_written_and_when_it_is_sent(store, outbox, provider):
    held(store)
    with (
        counting("console_replies_total", state="queued") as queued,
        counting("console_replies_total", state="sent") as sent,
    ):
        write(ANA)
        assert (queued(), sent()) == (1, 0)
        send_all_due()
    assert (queued(), sent()) == (1, 1)


def test_what_became_of_it_is_counted(store, outbox, provider, monkeypatch):
    held(store)
    write(ANA)
    send_all_due()
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=6))
    with counting("console_replies_total", state="read") as read:
        send_all_due()
        send_all_due()
    assert read() == 1
