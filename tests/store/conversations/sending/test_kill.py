"""SIGKILL before and after every call of what accepts and what sends: each reply once, and none silently not at all."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from console import clock
from console.errors import ConsoleError
from console.store import queues
from conversations.sending.replies import accept, seal_form, unseal_form
from tests.support.conversations.handoff.kit import ANA, CHANNEL, CONVERSATION, stored
from tests.support.conversations.replies import held, replies, send_all_due, sent_entries, write
from tests.support.victims import victims as children

# What a process that dies leaves behind, the real store shows; its children share no memory with moto.
pytestmark = pytest.mark.dynoxide_only

MOST_CALLS = 60
TEXT = "It is on its way."


@pytest.fixture
def victims(store, outbox, provider, settings):
    """Does jobs in children that get killed; see the module of that name."""
    # A reply that a dead sender had comes again at once.
    queues.client().set_queue_attributes(QueueUrl=outbox, Attributes={"VisibilityTimeout": "0"})
    settings.QUEUE_VISIBILITY_SECONDS = 0
    where = {
        "SQS_ENDPOINT": settings.SQS_ENDPOINT,
        "OUTBOX_QUEUE_URL": outbox,
        "SECRET_NAMES": ",".join(settings.SECRET_NAMES),
        "QUEUE_VISIBILITY_SECONDS": "0",
        "SECRETS_ENDPOINT": settings.SECRETS_ENDPOINT,
        "TWILIO_API_URL": provider.endpoint,
        "REPLY_UNDO_SECONDS": "0",
        "SECRET_KEY": settings.SECRET_KEY,
    }
    with children("tests.support.conversations.sending_victims", store.environment() | where) as do:
        yield do


def go_on() -> None:
    """Let senders run on, now, after half a minute, and after more than ten minutes."""
    now = clock.now()
    for seconds in (0, 12, 31, 60, 640, 700):
        with mock.patch.object(clock, "now", return_value=now + timedelta(seconds=seconds)):
            send_all_due()


def check_true(store, provider, count: int = 1) -> None:
    """Everything that is on record says the same as the provider: sent, if and only if it has it, and once."""
    has = [each["text"] for each in provider.messages()]
    rows = replies(store)
    assert len(has) == len(set(has)), "handed over twice"
    assert len(rows) <= count
    entries = {each["action_id"]: each["result"].partition(":")[0] for each in sent_entries(store)}
    records = {
        each["event_id"].rpartition(":")[2]: each["status"]
        for each in store.all("IDEMPOTENCY")
        if each["event_id"].startswith("act:reply:")
    }
    on_item = [each["entry_id"] for each in stored(store)["messages"] if each.get("sent_by") == "human"]
    assert len(entries) == len(records) == len(rows)
    for row in rows:
        name, reached = row["message_id"], row["content"] in has
        assert row["state"] in (("sent", "delivered", "read") if reached else ("not sent",)), row
        assert entries[name] == records[name] == ("success" if reached else "failed")
        assert on_item.count(name) == reached


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_a_sender(store, outbox, provider, victims, kill):
    for nth in range(1, MOST_CALLS):
        held(store)
        provider.forget()
        write(ANA, f"{TEXT} {nth}")
        ended = victims({"do": "send"}, kill, nth)
        go_on()
        check_true(store, provider)
        assert len(replies(store)) == 1
        if not ended["killed"]:
            assert ended["code"] == 0
            assert len(provider.messages()) == 1
            break
        store.empty()
    assert 8 < nth < MOST_CALLS - 1


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_whoever_settles_it(store, outbox, provider, victims, kill):
    """A sender died with the provider's answer; the next one dies while it finds out what became of the reply."""
    for nth in range(1, MOST_CALLS):
        held(store)
        provider.forget()
        write(ANA, f"{TEXT} {nth}")
        provider.fault = lambda method, path, form: provider.lost() if method == "POST" else None
        send_all_due()
        provider.fault = lambda method, path, form: None
        ended = victims({"do": "send", "later": 40}, kill, nth)
        go_on()
        check_true(store, provider)
        assert len(provider.messages()) == 1
        if not ended["killed"]:
            assert ended["code"] == 0
            break
        store.empty()
    assert 5 < nth < MOST_CALLS - 1


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_the_web_server_and_the_form_sent_again(store, outbox, provider, victims, kill):
    for nth in range(1, MOST_CALLS):
        held(store)
        provider.forget()
        token = seal_form(CHANNEL, CONVERSATION, ANA)
        job: dict[str, Any] = {"do": "accept", "token": token, "username": "ana", "text": TEXT}
        ended = victims(job, kill, nth)
        with suppress(ConsoleError):
            accept(unseal_form(token, ANA), ANA, TEXT)
        accept(unseal_form(token, ANA), ANA, TEXT)
        go_on()
        check_true(store, provider)
        assert len(replies(store)) == len(provider.messages()) == 1
        if not ended["killed"]:
            assert ended["code"] == 0
            break
        store.empty()
    assert 3 < nth < MOST_CALLS - 1


def test_twenty_replies_arrive_in_order_though_a_sender_is_killed(store, outbox, provider, victims):
    for nth in (15, 33, 58):
        held(store)
        provider.forget()
        for number in range(20):
            write(ANA, f"line {number}")
        assert victims({"do": "send"}, "after", nth)["killed"]
        go_on()
        sent = [each["text"] for each in provider.messages()]
        assert sent == sorted(sent, key=lambda line: int(line.split()[1]))
        check_true(store, provider, 20)
        missing = 20 - len(sent)
        assert missing <= 1, "only the one in whose midst it died may not have arrived"
        store.empty()
