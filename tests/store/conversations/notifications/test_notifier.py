"""The notifier: what is tried again and when, what is given up, and that nobody waits for another's receiver."""

import json
import logging
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from console import clock
from conversations.notifications import notifier as notifying
from conversations.notifications.deliveries import announce, list_deliveries, send_again, send_test
from conversations.notifications.destinations import change, delete
from conversations.notifications.notification import NotificationType
from conversations.notifications.notifier import PAUSES, Notifier
from conversations.work.background import section
from tests import faults
from tests.support.conversations.notifications import (
    LEAD,
    add_at,
    answering,
    bring,
    entries,
    found,
    happened,
    later,
    notifier,
    pointers,
    rows,
    values,
)

T = NotificationType


def told(receiver, path: str = "") -> list[str]:
    """Ids of what arrived, in its order."""
    return [each.headers["webhook-id"] for each in receiver.received if not path or each.path == path]


# --- Again, and given up ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_tried_again_less_and_less_often_then_given_up_and_sent_again_by_a_person(store, receiver, monkeypatch):
    made = add_at(receiver)
    receiver.answer = answering(500)
    announce([happened()])
    for number, pause in enumerate(PAUSES, 1):
        now = later(monkeypatch)
        assert bring() == {"tried": 1}
        [row] = rows(store)
        assert (row["state"], row["attempts"], row["due_at"]) == ("waiting", number, clock.to_iso(now + pause))
        later(monkeypatch, pause - timedelta(seconds=1))
        assert bring() == {}
        later(monkeypatch, seconds=1)
    assert bring() == {"failed": 1}
    later(monkeypatch, days=1)
    assert bring() == {}
    assert len(set(told(receiver))) == 1
    assert len(receiver.received) == len(PAUSES) + 1
    [failed] = list_deliveries(made.id, failed=True)
    assert (failed.problem, failed.attempts) == ("It answered with status 500.", len(PAUSES) + 1)
    assert list_deliveries(made.id) == pointers(store) == []
    receiver.answer = answering(204)
    send_again(made, LEAD, failed.sort_key)
    assert bring() == {"delivered": 1}
    assert len(set(told(receiver))) == 1
    assert [each.state for each in list_deliveries(made.id)] == ["delivered"]


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_what_is_taken_is_delivered(store, receiver, status):
    add_at(receiver)
    receiver.answer = answering(status)
    announce([happened()])
    assert bring() == {"delivered": 1}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 500, 502, 503])
def test_what_is_refused_is_tried_again(store, receiver, status):
    add_at(receiver)
    receiver.answer = answering(status, 204)
    announce([happened()])
    now = clock.now()
    assert bring() == {"tried": 1}
    [row] = rows(store)
    assert row["problem"] == f"It answered with status {status}."
    assert row["due_at"] >= clock.to_iso(now + PAUSES[0])


@pytest.mark.parametrize(
    ("asks", "seconds"),
    [
        ("90", 90),
        ("0", 5),
        ("999999999", 3600),
        ("99999999999999999999", 5),
        ("-1", 5),
        ("Wed, 21 Oct 2065", 5),
    ],
)
def test_a_receiver_that_is_busy_says_when_to_come_again(store, receiver, monkeypatch, asks, seconds):
    add_at(receiver)
    receiver.answer = answering(429, Retry_After=asks)
    announce([happened()])
    now = later(monkeypatch)
    bring()
    assert rows(store)[0]["due_at"] == clock.to_iso(now + timedelta(seconds=seconds))


def test_a_receiver_that_is_gone_is_switched_off_on_record(store, receiver, monkeypatch):
    made = add_at(receiver)
    receiver.answer = answering(410)
    announce([happened(name="1"), happened(name="2")])
    assert bring() == {"failed": 1}
    now = found(made.id)
    assert (now.values.is_on, now.secrets) == (False, made.secrets)
    off = [each for each in entries(store, "destination.changed") if each["actor"] == "notifier"]
    assert [json.loads(each["action_payload_redacted"])["reason"] for each in off] == [
        "Its receiver answered that it is gone."
    ]
    announce([happened(name="3")])
    later(monkeypatch, PAUSES[0])
    assert bring() == {"failed": 1}
    assert len(receiver.received) == 1
    assert sorted(each["problem"] for each in rows(store, "failed")) == [
        "It answered with status 410.",
        "The destination is switched off.",
    ]


def test_who_changes_it_at_the_moment_in_which_it_is_gone_comes_first(store, receiver):
    made = add_at(receiver)
    receiver.answer = answering(410)
    announce([happened()])
    changed = lambda: change(found(made.id), values(name="New", address=made.values.address), LEAD)  # noqa: E731
    with faults.before("TransactWriteItems", changed, table_key="AUDIT") as fault:
        assert bring() == {"failed": 1}
    assert fault.struck
    assert (found(made.id).values.name, found(made.id).values.is_on) == ("New", True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda made: delete(made, LEAD), "The destination was deleted."),
        (
            lambda made: change(made, values(address=made.values.address, is_on=False), LEAD),
            "The destination is switched off.",
        ),
    ],
)
def test_what_waits_for_one_that_is_no_longer_there_or_on_is_given_up(store, receiver, change, problem):
    made = add_at(receiver)
    announce([happened(name="1"), happened(name="2")])
    change(made)
    assert bring() == {"failed": 2}
    assert receiver.received == pointers(store) == []
    assert {(each["state"], each["problem"], each["attempts"]) for each in rows(store)} == {("failed", problem, 0)}


def test_a_test_that_fails_is_not_tried_again(store, receiver):
    made = add_at(receiver)
    receiver.answer = answering(500)
    send_test(made, LEAD)
    assert bring() == {"failed": 1}
    assert [each.problem for each in list_deliveries(made.id, failed=True)] == ["It answered with status 500."]


def test_one_that_cannot_be_sent_at_all_keeps_no_other(store, receiver, monkeypatch, caplog):
    """Whatever goes wrong within a library."""
    bad, good = add_at(receiver, "/bad"), add_at(receiver, "/good")
    send = notifying.send
    fail = lambda destination, batch: 1 / 0 if destination.id == bad.id else send(destination, batch)  # noqa: E731
    monkeypatch.setattr(notifying, "send", fail)
    announce([happened()])
    assert bring() == {"delivered": 1, "tried": 1}
    assert [each.problem for each in list_deliveries(bad.id)] == ["It could not be sent."]
    assert [each.state for each in list_deliveries(good.id)] == ["delivered"]
    assert "ZeroDivisionError" in caplog.text


# --- Nobody waits for another -----------------------------------------------------------------------------------------


def test_what_waits_behind_a_failure_is_put_off_and_goes_on_once_it_is_back(store, receiver, monkeypatch):
    add_at(receiver)
    receiver.answer = answering(500, 204)
    announce([happened(name=f"{number}") for number in range(4)])
    now, one = later(monkeypatch), notifier()
    one.cycle()
    assert len(receiver.received) == 1
    assert sorted((each["attempts"], each["due_at"]) for each in rows(store)) == [
        *[(0, clock.to_iso(now + PAUSES[0]))] * 3,
        (1, clock.to_iso(now + PAUSES[0])),
    ]
    later(monkeypatch, PAUSES[0])
    one.cycle()
    assert {each["state"] for each in rows(store)} == {"delivered"}
    assert len(receiver.received) == 5


@pytest.mark.slow
def test_one_that_stays_away_is_left_alone_longer_and_the_others_attempts_are_not_used_up(store, receiver, monkeypatch):
    add_at(receiver)
    receiver.answer = answering(503)
    announce([happened(name=f"{number}") for number in range(30)])
    one = notifier()
    for _ in range(30):
        later(monkeypatch, seconds=10)
        one.cycle()
    # Five minutes: it was tried after 0, 5 and 65 seconds, and so on, and not once for each.
    assert 3 <= len(receiver.received) <= 10
    assert sum(each["attempts"] for each in rows(store)) == len(receiver.received)


@pytest.mark.slow
def test_one_that_never_answers_holds_up_no_other(store, receiver, monkeypatch):
    dead, working = add_at(receiver, "/dead"), add_at(receiver, "/working")
    monkeypatch.setattr(notifying, "LONGEST_ANSWER_SECONDS", 0.3)
    ends, waits = threading.Event(), answering(204)
    receiver.answer = lambda request, got: ends.wait(20) if got.path == "/dead" else waits(request, got)
    announce([happened(name="1"), happened(name="2")])
    one = notifier()
    try:
        one.cycle()
        assert len(told(receiver, "/working")) == 2
        assert [each.state for each in list_deliveries(working.id)] == ["delivered"] * 2
        assert sorted(each.problem for each in list_deliveries(dead.id)) == ["", "It took too long to answer."]
        # Its request still runs: there is never a second one.
        for _ in range(3):
            later(monkeypatch, hours=1)
            one.cycle()
        assert len(told(receiver, "/dead")) == 1
        assert [each.name for each in threading.enumerate()].count("notification") == 1
    finally:
        ends.set()


def test_one_that_is_slow_takes_no_turn_of_others(store, receiver, monkeypatch):
    """A round ends after some seconds; what it did not come to is due behind what else is."""
    slow, quick, seconds = add_at(receiver, "/slow"), add_at(receiver, "/quick"), [0.0]
    monkeypatch.setattr(notifying, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    taken = answering(204)

    def answer(request, got) -> None:
        seconds[0] += 6 if len(told(receiver)) == 1 else 0
        taken(request, got)

    receiver.answer = answer
    monkeypatch.setattr(notifying, "AT_ONCE", 3)
    change(quick, values(address=quick.values.address, is_on=False), LEAD)
    announce([happened(name=f"{number}") for number in range(4)])
    change(found(quick.id), values(address=quick.values.address), LEAD)
    announce([happened(name="for both")])
    now, one = later(monkeypatch), notifier()
    one.cycle()
    assert told(receiver, "/quick") == []
    put_off = [each for each in rows(store, "waiting") if each["due_at"] == clock.to_iso(now + PAUSES[0])]
    assert (len(told(receiver, "/slow")), len(put_off), {each["attempts"] for each in put_off}) == (1, 2, {0})
    # The last of the four, and what is for both, are due before those that were put off.
    one.cycle()
    assert (len(told(receiver, "/slow")), len(told(receiver, "/quick"))) == (3, 1)
    later(monkeypatch, PAUSES[0])
    one.cycle()
    assert {each["state"] for each in rows(store)} == {"delivered"}
    assert len(told(receiver, "/slow")) == len(set(told(receiver, "/slow"))) == 5
    assert slow.id != quick.id


# --- At least once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "times"), [(faults.fail_before, 2), (faults.fail_after, 1)])
def test_who_cannot_note_that_it_arrived_sends_it_again_with_the_same_id(store, receiver, fault, times):
    add_at(receiver)
    announce([happened()])
    one = notifier()
    with fault("TransactWriteItems", table_key="CONSOLE") as struck:
        one.cycle()
    assert len(struck.struck) == 1
    one.cycle()
    assert len(receiver.received) == times
    assert len(set(told(receiver))) == 1
    assert [each["state"] for each in rows(store)] == ["delivered"]
    assert pointers(store) == []


@pytest.mark.parametrize("operation", ["Query", "GetItem"])
def test_a_store_that_does_not_answer_loses_nothing(store, receiver, operation):
    add_at(receiver)
    announce([happened()])
    one = notifier()
    with faults.fail_before(operation, table_key="CONSOLE", times=faults.ALWAYS):
        one.cycle()
    assert receiver.received == []
    one.cycle()
    assert [each["state"] for each in rows(store)] == ["delivered"]


def test_two_notifiers_at_once_send_the_same_id_and_note_it_once(store, receiver):
    """The first hangs for longer than its lease, and another takes it over."""
    made, taken, late = add_at(receiver), answering(204), []

    def answer(request, got) -> None:
        if not late:
            waited = [timedelta()]
            late.append(Notifier(wait=lambda _: False, now=lambda: clock.now() + waited[0]))
            late[0].cycle()
            waited[0] = timedelta(minutes=1)
            late[0].cycle()
        taken(request, got)

    receiver.answer = answer
    announce([happened()])
    one = notifier()
    one.cycle()
    assert late[0].counts["delivered"] == 1
    assert len(receiver.received) == 2
    assert len(set(told(receiver))) == 1
    assert [(each.state, each.attempts) for each in list_deliveries(made.id)] == [("delivered", 1)]
    assert not list_deliveries(made.id, failed=True)
    assert pointers(store) == []


def test_while_one_works_another_stands_by(store, receiver):
    add_at(receiver)
    first, second = notifier(), notifier()
    first.cycle()
    announce([happened()])
    second.cycle()
    assert receiver.received == []
    first.cycle()
    assert len(receiver.received) == 1


def test_the_system_page_says_how_far_behind_it_is(store, receiver, monkeypatch):
    add_at(receiver)
    announce([happened()])
    later(monkeypatch, minutes=30)
    facts = {each.label: each for each in section(clock.now()).facts}
    assert "The oldest has been due for 30 min." in facts["Notifications"].value
    bring()
    facts = {each.label: each for each in section(clock.now()).facts}
    assert "The oldest" not in facts["Notifications"].value
    of_due = lambda request: "NOTIFICATIONS_DUE" in json.dumps(request)  # noqa: E731
    with faults.fail_before("Query", table_key="CONSOLE", times=faults.ALWAYS, where=of_due):
        facts = {each.label: each for each in section(clock.now()).facts}
    assert "What is due could not be read." in facts["Notifications"].value


def test_nothing_of_an_address_but_its_host_is_logged(store, receiver, caplog):
    add_at(receiver, "/secret-path?token=canary")
    receiver.answer = answering(410)
    announce([happened()])
    with caplog.at_level(logging.DEBUG):
        bring()
    told_by = [each for each in caplog.records if not each.name.startswith(("urllib3", "botocore"))]
    assert any("It answered with status 410." in each.getMessage() for each in told_by)
    assert not [each for each in told_by if "secret-path" in each.getMessage() or "canary" in each.getMessage()]
