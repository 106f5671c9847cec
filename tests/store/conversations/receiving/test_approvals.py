"""First messages that a rule holds: approved byte for byte, once; rejected with a reason; never lost."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import Conflict, Forbidden, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Scope
from console.store import queues
from console.store.queues import NotSent
from conversations.receiving import approvals
from conversations.receiving.approvals import approve, reject, waiting
from conversations.receiving.handling import Handled, handle
from conversations.receiving.rows import NOT_PLACED
from tests import faults
from tests.support.conversations.handoff.kit import ANA, BEN, COMPANY, staff

SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)


def first_message(company_id: str = COMPANY, **changes: Any) -> str:
    """The router's context object, with spacing and an order of its own."""
    content = {
        "frontend_payload": {"company_data": {"company_id": company_id, "project_id": "pi-aaa-001"}},
        "company_data_payload": {"company_name": "Acme"},
        "conversation_data": {"channel_method": "whatsapp", "conversation_id": "c1"},
        **changes,
    }
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n "


def hold(body: str, name: str = "d1") -> Handled:
    return handle(body, SENT_AT, "queue", name)


@pytest.fixture
def channel(queue, settings):
    """The URL of the queue of WhatsApp's sender."""
    url = queues.client().create_queue(QueueName="whatsapp")["QueueUrl"]
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": url}
    return url


def sent(url: str) -> list[str]:
    return [each.body for each in queues.receive(url, wait=0)]


def entries(store) -> list[tuple[str, str, str]]:
    return [(each["actor"], each["action_type"], each["result"]) for each in store.all("AUDIT")]


def test_an_approved_message_goes_on_byte_for_byte_and_is_no_longer_there(store, channel):
    body = first_message(note="£ \N{GRINNING FACE} \\u00e9")
    assert hold(body) is Handled.HELD
    [held] = waiting([COMPANY])
    assert (held.company_id, held.project_id, held.channel) == (COMPANY, "pi-aaa-001", "whatsapp")
    assert held.received_at == SENT_AT
    approve(held.reference, ANA)
    assert sent(channel) == [body]
    assert waiting([COMPANY]) == []
    assert entries(store) == [("ana", "initial.approve", "success")]
    assert "Acme" not in json.dumps(store.all("AUDIT"))


def test_it_is_sent_once_however_often_it_is_approved_and_brought(store, channel):
    hold(first_message())
    assert hold(first_message()) is Handled.AGAIN
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)
    with pytest.raises(Conflict):
        approve(held.reference, BEN)
    assert hold(first_message()) is Handled.AGAIN
    assert waiting([COMPANY]) == []
    assert len(sent(channel)) == 1


def test_of_two_who_decide_at_once_one_does(store, channel):
    hold(first_message())
    [held] = waiting([COMPANY])
    refused: list[Exception] = []

    def meanwhile():
        try:
            reject(held.reference, BEN, "no")
        except Conflict as error:
            refused.append(error)

    original = queues.send

    def send(url, body):
        meanwhile()
        original(url, body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "send", send)
        approve(held.reference, ANA)
    assert len(refused) == 1
    assert len(sent(channel)) == 1
    assert sorted(result.partition(":")[0] for _, _, result in entries(store)) == ["success"]


def test_a_rejected_message_is_never_sent_and_the_reason_is_on_record(store, channel):
    hold(first_message())
    [held] = waiting([COMPANY])
    with pytest.raises(Invalid):
        reject(held.reference, ANA, "  ")
    reject(held.reference, ANA, "wrong customer")
    assert waiting([COMPANY]) == []
    assert sent(channel) == []
    [entry] = store.all("AUDIT")
    assert (entry["action_type"], entry["result"]) == ("initial.reject", "success")
    assert "wrong customer" in entry["action_payload_redacted"]


def test_what_a_queue_refuses_waits_again(store, channel, settings):
    hold(first_message())
    [held] = waiting([COMPANY])
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": f"{channel}-not-there"}
    with pytest.raises(NotSent):
        approve(held.reference, ANA)
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": channel}
    approve(held.reference, ANA)
    assert len(sent(channel)) == 1


def test_where_the_queue_does_not_answer_it_may_have_been_sent_and_says_so(store, channel, monkeypatch):
    hold(first_message())
    [held] = waiting([COMPANY])

    def lost(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(queues, "send", lost)
        with pytest.raises(StoreUnavailable, match="may have been sent"):
            approve(held.reference, ANA)
    assert [each.is_unknown for each in waiting([COMPANY])] == [True]
    with pytest.raises(Conflict):
        approve(held.reference, BEN)
    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    approve(held.reference, BEN)
    assert len(sent(channel)) == 1


def test_a_channel_without_a_queue_cannot_be_approved(store, queue):
    hold(first_message())
    [held] = waiting([COMPANY])
    with pytest.raises(Invalid, match="WHATSAPP_QUEUE_URL"):
        approve(held.reference, ANA)
    assert len(waiting([COMPANY])) == 1


def test_nobody_decides_about_another_companys_message(store, channel):
    hold(first_message("ci-bbb-001"))
    [held] = waiting(["ci-bbb-001"])
    with pytest.raises(NotFound):
        approve(held.reference, ANA)
    with pytest.raises(NotFound):
        reject(held.reference, ANA, "no")
    with pytest.raises(Forbidden):
        approve(held.reference, staff("aiko", Role.AUDITOR, Scope(everything=True)))
    assert len(waiting(["ci-bbb-001"])) == 1
    assert waiting([COMPANY]) == []


@pytest.mark.parametrize("nth", range(1, 6))
@pytest.mark.parametrize("mended", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])
def test_whatever_call_fails_nothing_is_sent_twice_unseen(store, channel, mended, nth):
    hold(first_message())
    [held] = waiting([COMPANY])
    with mended(nth=nth, whole_calls=True), suppress(StoreUnavailable):
        approve(held.reference, ANA)
    left = waiting([COMPANY])
    gone = sent(channel)
    assert len(gone) <= 1
    # What was sent and is still listed says that it may have been sent.
    assert all(each.is_unknown for each in left if gone)


UNFIT = {
    "no company": first_message(""),
    "no channel": first_message(conversation_data={"channel_method": "fax"}),
    "too large": first_message(padding="x" * 310_000),
}


@pytest.mark.parametrize("what", UNFIT)
def test_what_cannot_be_held_is_kept_with_its_reason(store, what):
    assert hold(UNFIT[what]) is Handled.NOT_PLACED
    [row] = store.all("MESSAGES")
    assert row["conversation"] == NOT_PLACED


def test_the_oldest_comes_first_over_all_companies(store):
    for number, company in enumerate(("ci-bbb-001", COMPANY, "ci-bbb-001")):
        handle(first_message(company), SENT_AT + timedelta(minutes=number), "queue", f"d{number}")
    assert [each.company_id for each in waiting([COMPANY, "ci-bbb-001"])] == ["ci-bbb-001", COMPANY, "ci-bbb-001"]
    assert len(approvals.waiting([])) == 0
