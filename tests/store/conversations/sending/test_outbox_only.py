"""Replies that a company's own service sends: what stands on its queue, and what it reports."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.refs import keyed_digest
from console.store import queues
from conversations.providers import CannotAsk, DeliveryState, NoAnswer, NotReached, Outgoing
from conversations.providers.outbox_only import OutboxOnly
from conversations.sending.receipts import NotAReceipt, Receipt, receipt

ROW = {"table": "console-messages-test", "conversation": "conv-1\n+447700900001", "position": "2026-02-01T10:00:00Z#r"}
TEXT = "Your table at the harbour is booked."
TOLD = {"reply_id": "reply-1", "row": {"conversation": ROW["conversation"], "position": ROW["position"]}}


def outgoing(reply_id: str = "reply-1", **more) -> Outgoing:
    return Outgoing(reply_id, "sms", "+447700900001", "+447700900123", TEXT, clock.now(), **{"row": ROW, **more})


def refused(status: int) -> ClientError:
    answer: Any = {"Error": {}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "SendMessage")


@pytest.fixture
def service(queue, settings) -> str:
    """The FIFO queue of a sending service."""
    attributes = {"FifoQueue": "true"}
    url = queues.client().create_queue(QueueName="sending.fifo", Attributes=attributes)["QueueUrl"]
    settings.SENDING_SERVICE_QUEUE_URL = url
    return url


def test_the_queue_has_a_pointer_and_not_the_text(service):
    assert OutboxOnly({}).send(outgoing(answers=("<a@b>",), variables={"1": "Sam"}, template="HX1")) == "reply-1"
    [message] = queues.client().receive_message(QueueUrl=service, AttributeNames=["All"])["Messages"]
    assert json.loads(message["Body"]) == {
        **{"version": 1, "reply_id": "reply-1", "channel": "sms", "from": "+447700900001", "to": "+447700900123"},
        **{"template": "HX1", "variables": {"1": "Sam"}, "subject": "", "answers": ["<a@b>"], "row": ROW},
    }
    assert "harbour" not in message["Body"]
    assert message["Attributes"]["MessageGroupId"] == keyed_digest(ROW["conversation"])[:32]
    assert message["Attributes"]["MessageDeduplicationId"] == "reply-1"


def test_the_same_reply_stands_there_once_and_those_of_a_conversation_in_order(service):
    for reply in ("reply-1", "reply-1", "reply-2"):
        OutboxOnly({}).send(outgoing(reply))
    found = [json.loads(each.body)["reply_id"] for each in queues.receive(service, wait=0)]
    assert found == ["reply-1", "reply-2"]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (EndpointConnectionError(endpoint_url="x"), NotReached),
        (refused(400), NotReached),
        (refused(500), NoAnswer),
        (ReadTimeoutError(endpoint_url="x"), NoAnswer),
    ],
)
def test_a_queue_that_fails_is_told_apart(service, monkeypatch, failure, error):
    class Failing:
        def send_message(self, **_: object) -> None:
            raise failure

    with monkeypatch.context() as patched:
        patched.setattr(queues, "client", lambda **_: Failing())
        with pytest.raises(error):
            OutboxOnly({}).send(outgoing())


def test_without_a_queue_nothing_was_reached(settings):
    settings.SENDING_SERVICE_QUEUE_URL = ""
    with pytest.raises(NotReached):
        OutboxOnly({}).send(outgoing())


def test_nothing_can_be_asked():
    made = OutboxOnly({})
    for call in (lambda: made.find(outgoing()), lambda: made.delivery("reply-1"), lambda: made.template("HX1")):
        with pytest.raises(CannotAsk):
            call()


@pytest.mark.parametrize("state", ["sent", "delivered", "read", "failed"])
def test_a_receipt_says_what_became_of_a_reply(state):
    assert receipt(json.dumps({**TOLD, "state": state, "more": [1]})) == Receipt(
        "reply-1", ROW["conversation"], ROW["position"], DeliveryState(state)
    )


def test_a_receipt_may_say_more():
    found = receipt(json.dumps({**TOLD, "state": "failed", "provider_id": "SM1", "code": 30006, "reason": "landline"}))
    assert (found.provider_id, found.code, found.reason) == ("SM1", "30006", "landline")


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "lost"},
        {"state": None},
        {"state": ["sent"]},
        {"state": {}},
        {"reply_id": ""},
        {"reply_id": None},
        {"reply_id": ["reply-1"]},
        {"reply_id": "a\nb"},
        {"reply_id": "a" * 201},
        {"row": None},
        {"row": "conv"},
        {"row": {}},
        {"row": {"conversation": "c"}},
        {"row": {"conversation": 7, "position": "p"}},
        {"row": {"conversation": "\ud800", "position": "p"}},
        {"row": {"conversation": "c" * 3_073, "position": "p"}},
        {"provider_id": {}},
        {"provider_id": False},
        {"code": 1.5},
        {"code": 10**50},
        {"reason": "a\x1b[31m"},
        {"reason": "a" * 301},
    ],
)
def test_what_is_not_as_agreed_is_no_receipt(changed):
    with pytest.raises(NotAReceipt) as raised:
        receipt(json.dumps({**TOLD, "state": "sent", **changed}))
    assert ROW["conversation"] not in str(raised.value)


@pytest.mark.parametrize("body", ["", "{", "[]", "7", "null", "[" * 9_999, '{"a":' * 1_500, " " * 10_001, "9" * 9_000])
def test_what_is_no_object_is_no_receipt(body):
    with pytest.raises(NotAReceipt):
        receipt(body)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner), max_leaves=5
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*TOLD, "state", "provider_id", "code", "reason"]), _ANYTHING), st.booleans())
def test_nothing_else_ever_comes_of_a_body(changed, whole):
    body = json.dumps((TOLD | {"state": "sent"} if whole else {}) | changed)
    try:
        found = receipt(body)
    except NotAReceipt:
        return
    assert all(isinstance(each, str) for each in (found.reply_id, found.provider_id, found.code, found.reason))


@given(st.text())
def test_no_text_breaks_it(body):
    with pytest.raises(NotAReceipt):
        receipt(body)
