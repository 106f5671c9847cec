"""SQS is away: replies leave from the table, in their order, and what became of them is found out."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from console.errors import StoreUnavailable
from console.store import queues
from conversations.sending.worker import Sender
from demo.provider import ProviderFault
from demo.server_process import free_port
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, later, replies, states, write


@pytest.fixture
def away(outbox) -> Iterator[pytest.MonkeyPatch]:
    """Nothing listens at SQS's address, from now on until `undo`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "SQS_ENDPOINT", f"http://127.0.0.1:{free_port()}")
        yield patch


def go_on(*seconds: float) -> Sender:
    """Let one sender work at these times from now. Each of its rounds reports that the queue is away."""
    sender = Sender(wait=lambda _: True)
    for each in seconds:
        with later(each):
            sender.run()
        assert sender.is_failing
    return sender


def test_replies_leave_in_their_order_while_the_queue_is_away(store, away, provider):
    held(store)
    texts = [f"line {number:02}" for number in range(12)]
    for text in texts:
        write(ANA, text)
    go_on(*range(11, 25))
    assert [each["text"] for each in provider.messages()] == texts
    assert set(states(store)) <= {"sent", "delivered", "read"}


def test_a_queue_that_goes_away_with_replies_in_it_delays_them_for_seconds(store, outbox, provider, monkeypatch):
    held(store)
    write(ANA, "first")
    write(ANA, "second")
    with monkeypatch.context() as patch:
        patch.setattr(settings, "SQS_ENDPOINT", f"http://127.0.0.1:{free_port()}")
        go_on(11, 12)
    assert [each["text"] for each in provider.messages()] == ["first", "second"]


@pytest.mark.parametrize(("accepted", "state"), [(True, "read"), (False, "not sent")])
def test_a_lost_answer_is_settled_and_its_delivery_asked_for_while_the_queue_is_away(
    store, away, provider, accepted, state
):
    held(store)
    write(ANA)
    provider.fault = lambda method, path, form: ProviderFault(accepts=accepted) if method == "POST" else None
    go_on(11)
    assert states(store) == ["unknown"]
    provider.fault = lambda method, path, form: None
    go_on(20, 700, 1_400)
    [row] = replies(store)
    assert (row["state"], "gsi_due" in row) == (state, False)
    assert len(provider.messages()) == accepted


def test_what_the_queue_had_of_a_sent_reply_is_of_no_account_when_it_is_back(store, outbox, provider, monkeypatch):
    held(store)
    write(ANA)
    with monkeypatch.context() as patch:
        patch.setattr(settings, "SQS_ENDPOINT", f"http://127.0.0.1:{free_port()}")
        go_on(11)
    with later(12):
        Sender().run(once=True)
    assert len(provider.messages()) == 1
    assert queues.depth(outbox).waiting == 0


def test_a_queue_that_takes_no_deletion_keeps_nothing_from_being_swept(store, outbox, provider, monkeypatch):
    held(store)
    write(ANA, "first")
    Sender().run(once=True)
    write(ANA, "second")
    call = queues._call

    def broken(operation, **request):
        if operation == "delete_message_batch":
            raise StoreUnavailable
        return call(operation, **request)

    monkeypatch.setattr(queues, "_call", broken)
    with later(60):
        Sender(wait=lambda _: True).run()
    assert states(store) == ["read", "sent"]
