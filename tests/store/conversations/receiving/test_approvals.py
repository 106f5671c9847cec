"""First messages that a rule holds: approved byte for byte, once; rejected with a reason; never lost."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from console import clock
from console.errors import Conflict, Forbidden, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Scope
from console.store import queues
from conversations.outbox.rows import NOT_PLACED
from conversations.queue import counting
from conversations.receiving import first_messages
from conversations.receiving.approvals import UNDO_WITHIN, approve, reject, undo
from conversations.receiving.handling import Handled, handle
from conversations.receiving.worker import sweep
from tests import faults
from tests.queue import filled
from tests.support.conversations.handoff.kit import ANA, BEN, COMPANY, staff

SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)


def first_message(company_id: str = COMPANY, **changes: Any) -> str:
    """The router's context object, with spacing and an order of its own."""
    content = {
        "frontend_payload": {"company_data": {"company_id": company_id, "project_id": "pi-aaa-001"}},
        "company_data_payload": {"company_name": "Acme", "company_id": company_id},
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


def waiting(companies: list[str]) -> list[first_messages.FirstMessage]:
    return list(first_messages.read_first_messages(companies).rows)


@pytest.fixture
def forwarded(monkeypatch):
    """Let the time to undo pass, and the message sweep run."""

    def later(by: timedelta = UNDO_WITHIN) -> int:
        now = clock.now() + by
        monkeypatch.setattr(clock, "now", lambda: now)
        return sweep(now)

    return later


def entries(store) -> list[tuple[str, str, str]]:
    return [(each["actor"], each["action_type"], each["result"]) for each in store.all("AUDIT")]


def test_an_approved_message_goes_on_byte_for_byte_and_is_no_longer_there(store, channel, forwarded):
    body = first_message(note="£ \N{GRINNING FACE} \\u00e9")
    assert hold(body) is Handled.HELD
    [held] = waiting([COMPANY])
    assert (held.company_id, held.project_id, held.channel) == (COMPANY, "pi-aaa-001", "whatsapp")
    assert held.received_at == SENT_AT
    approve(held.reference, ANA)
    assert sent(channel) == []
    assert [each.approved_by for each in waiting([COMPANY])] == ["ana"]
    forwarded()
    assert sent(channel) == [body]
    assert waiting([COMPANY]) == []
    assert entries(store) == [("ana", "initial.approve", "success")]
    assert "Acme" not in json.dumps(store.all("AUDIT"))


def test_an_approval_is_undone_until_it_is_passed_on(store, channel, forwarded):
    hold(first_message())
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)
    forwarded(UNDO_WITHIN / 2)
    undo(held.reference, BEN)
    undo(held.reference, BEN)
    forwarded()
    assert sent(channel) == []
    assert [(each.approved_by, each.is_unknown) for each in waiting([COMPANY])] == [("", False)]
    assert entries(store) == [("ana", "initial.approve", "failed: taken back by ben before it was sent")]
    approve(held.reference, BEN)
    forwarded()
    assert sent(channel) == [first_message()]
    with pytest.raises(Conflict):
        undo(held.reference, BEN)
    assert sorted(result for _, _, result in entries(store))[1:] == ["success"]


def test_nobody_undoes_what_is_being_sent(store, channel, forwarded, monkeypatch):
    hold(first_message())
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)
    refused: list[Exception] = []
    original = queues.send

    def send(url, body):
        for decide in (undo, approve, partial(reject, reason="no")):
            with pytest.raises(Conflict) as caught:
                decide(held.reference, staff=BEN)
            refused.append(caught.value)
        original(url, body)

    monkeypatch.setattr(queues, "send", send)
    forwarded()
    assert len(refused) == 3
    assert sent(channel) == [first_message()]
    assert entries(store) == [("ana", "initial.approve", "success")]


DIFFERENT = "The message's parts name different companies."


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"frontend_payload": {"company_id": "ci-b"}}, DIFFERENT),
        ({"conversation_data": {"company_id": "ci-b"}}, DIFFERENT),
        ({"frontend_payload": {"company_data": {"company_id": "ci-b"}}}, DIFFERENT),
        ({"company_data_payload": {"company_name": "Acme"}}, "The first message names no company."),
    ],
)
def test_a_first_message_that_no_one_company_owns_is_nobodys_to_approve(store, channel, parts, why):
    assert hold(first_message(channel_method="whatsapp", **parts)) is Handled.NOT_PLACED
    assert [each["not_placed_because"] for each in store.all("MESSAGES")] == [why]
    assert waiting([COMPANY, "ci-b"]) == []


def test_it_is_sent_once_however_often_it_is_approved_brought_and_swept(store, channel, forwarded):
    hold(first_message())
    assert hold(first_message()) is Handled.AGAIN
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)
    with pytest.raises(Conflict):
        approve(held.reference, BEN)
    forwarded()
    forwarded()
    with pytest.raises(Conflict):
        approve(held.reference, BEN)
    assert hold(first_message()) is Handled.AGAIN
    assert waiting([COMPANY]) == []
    assert len(sent(channel)) == 1


def test_two_sweeps_that_both_found_it_send_it_once(store, channel, forwarded):
    hold(first_message())
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)
    with faults.before("UpdateItem", lambda: sweep(clock.now()), where=lambda sent: ":0" in str(sent)):
        forwarded()
    assert sent(channel) == [first_message()]


@pytest.mark.parametrize("late", [approve, partial(reject, reason="no")], ids=["approves", "rejects"])
def test_who_decides_late_neither_sends_nor_writes(store, channel, late):
    """Both have read the message as held; the other one approves it before the late one's write."""
    hold(first_message())
    [held] = waiting([COMPANY])
    left: list[Any] = []

    def approve_meanwhile() -> None:
        approve(held.reference, BEN)
        left.extend((store.all("MESSAGES"), entries(store)))

    with faults.before("TransactWriteItems", approve_meanwhile), pytest.raises(Conflict):
        late(held.reference, staff=ANA)
    assert left == [store.all("MESSAGES"), entries(store)]
    assert [(actor, result) for actor, _, result in left[1]] == [("ben", "pending")]


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


def test_what_a_queue_refuses_waits_again(store, channel, settings, forwarded):
    hold(first_message())
    [held] = waiting([COMPANY])
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": f"{channel}-not-there"}
    approve(held.reference, ANA)
    forwarded()
    assert [(each.approved_by, each.is_unknown) for each in waiting([COMPANY])] == [("", False)]
    assert entries(store) == [("ana", "initial.approve", "failed: the queue did not take it")]
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": channel}
    approve(held.reference, ANA)
    forwarded()
    assert len(sent(channel)) == 1


def test_where_the_queue_does_not_answer_it_may_have_been_sent_and_says_so(store, channel, monkeypatch, forwarded):
    hold(first_message())
    [held] = waiting([COMPANY])
    approve(held.reference, ANA)

    def lost(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(queues, "send", lost)
        forwarded()
    assert [each.is_unknown for each in waiting([COMPANY])] == [True]
    with pytest.raises(Conflict):
        approve(held.reference, BEN)
    forwarded(timedelta(minutes=2))
    assert sent(channel) == []
    approve(held.reference, BEN)
    forwarded()
    assert len(sent(channel)) == 1
    assert sorted(entries(store)) == [
        ("ana", "initial.approve", "failed: it did not finish, so the message may have been sent"),
        ("ben", "initial.approve", "success"),
    ]


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


@pytest.mark.parametrize("nth", range(1, 9))
@pytest.mark.parametrize("mended", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])
def test_whatever_call_fails_nothing_is_sent_twice_unseen(store, channel, forwarded, mended, nth):
    hold(first_message())
    [held] = waiting([COMPANY])
    with mended(nth=nth, whole_calls=True):
        with suppress(StoreUnavailable):
            approve(held.reference, ANA)
        with suppress(StoreUnavailable):
            forwarded()
    left = waiting([COMPANY])
    gone = sent(channel)
    assert len(gone) <= 1
    # What was sent and is still listed says that it may have been sent.
    assert all(each.is_unknown for each in left if gone)
    assert gone or left


def test_an_approval_goes_on_where_its_own_beginning_was_written(store, channel, forwarded):
    """Only the answer to that write was lost."""
    hold(first_message())
    [held] = waiting([COMPANY])
    with faults.fail_after("TransactWriteItems"):
        assert approve(held.reference, ANA) == COMPANY
    forwarded()
    assert sent(channel) == [first_message()]
    assert waiting([COMPANY]) == []
    assert entries(store) == [("ana", "initial.approve", "success")]


def test_an_approval_whose_beginning_was_not_written_sends_nothing(store, channel, forwarded):
    hold(first_message())
    [held] = waiting([COMPANY])
    with faults.fail_before("TransactWriteItems"), pytest.raises(StoreUnavailable):
        approve(held.reference, ANA)
    forwarded()
    assert sent(channel) == []
    assert [each.is_unknown for each in waiting([COMPANY])] == [False]


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
    assert waiting([]) == []


def test_pages_of_large_bodies_have_each_once_and_read_a_megabyte_a_company(store):
    companies = [COMPANY, "ci-bbb-001"]
    wanted = []
    for number in range(14):
        at, company = SENT_AT + timedelta(minutes=number), companies[number % 3 == 0]
        handle(first_message(company, padding="x" * 200_000), at, "queue", f"d{number:02}")
        wanted.append(at)
    found, after, pages = [], "", 0
    while True:
        page = first_messages.read_first_messages(companies, after)
        found += [each.received_at for each in page.rows]
        pages += 1
        if not (after := page.until):
            break
    assert found == wanted
    assert pages > 1


def test_the_page_shows_the_oldest_over_all_companies_and_the_rest_on_the_next(store):
    filled(store)
    admin = staff("root", Role.ADMIN, Scope(everything=True))
    wanted = []
    for number in range(45):
        company = f"ci-{number % 7}" if number % 2 else "ci-busy"
        handle(first_message(company), SENT_AT + timedelta(minutes=number), "queue", f"d{number:02}")
        wanted.append(SENT_AT + timedelta(minutes=number))
    found, after = [], ""
    while True:
        count, page = counting.first_messages(admin, after)
        assert count.number == 45
        assert 0 < len(page.rows) <= first_messages.SHOWN_AT_MOST
        found += [each.received_at for each in page.rows]
        if not (after := page.until):
            break
    assert found == wanted
