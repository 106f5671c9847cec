"""What is kept of notifications on their way: each once, what is left out, sending again, and what lists show."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from console import caching, clock
from console.errors import ConsoleError, Forbidden, NotFound
from conversations.notifications import deliveries, destinations
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.deliveries import (
    EMAILS_EVERY,
    OLDEST,
    SHOWN,
    announce,
    due_deliveries,
    list_deliveries,
    oldest_due,
    send_again,
    send_test,
)
from conversations.notifications.notification import OF_COMPANIES, NotificationType
from tests import faults
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    COMPANY,
)
from tests.support.conversations.notifications import (
    HOOK,
    LEAD,
    OTHER,
    add,
    add_at,
    bring,
    entries,
    happened,
    later,
    pointers,
    rows,
)

T = NotificationType


def types(store) -> list[str]:
    return sorted(each["type"] for each in rows(store))


# --- Noting -----------------------------------------------------------------------------------------------------------


def test_each_destination_that_wants_it_is_told_once(store):
    first, second, everywhere = add(name="1"), add(name="2", types=(T.OVERDUE,)), add("", name="3")
    elsewhere, off = add(OTHER, name="4"), add(name="5", is_on=False)
    waits, overdue = happened(T.WAITING), happened(T.OVERDUE)
    assert announce([waits, overdue]) == 5
    assert announce([waits, overdue, waits]) == 0
    told = sorted((each["destination_id"], each["type"]) for each in rows(store))
    both = [(each.id, type_.value) for each in (first, everywhere) for type_ in (T.OVERDUE, T.WAITING)]
    assert told == sorted([*both, (second.id, T.OVERDUE.value)])
    assert not {elsewhere.id, off.id} & {each["destination_id"] for each in rows(store)}
    assert len(pointers(store)) == 5
    assert {each["state"] for each in rows(store)} == {"waiting"}


def test_nothing_is_told_from_before_the_destination_or_of_more_than_a_day_ago(store, monkeypatch):
    made = add()
    assert announce([happened(at=made.created_at - timedelta(seconds=1))]) == 0
    later(monkeypatch, days=3)
    now = clock.now()
    assert announce([happened(at=now - OLDEST - timedelta(seconds=1))]) == 0
    assert announce([happened(at=now - OLDEST + timedelta(seconds=1))]) == 1


def test_nothing_costs_more_than_looking_where_nobody_wants_to_know(store):
    announce([happened()])
    with store.calls() as calls:
        announce([happened(), happened(T.OVERDUE)])
    assert calls == []
    assert rows(store) == []


CALLS = [("Query", 2), ("TransactWriteItems", 2)]
FAULTS = {"before": faults.fail_before, "after": faults.fail_after}


@pytest.mark.parametrize("when", FAULTS)
@pytest.mark.parametrize(("operation", "count"), CALLS)
def test_what_fails_on_the_way_is_repeated_and_told_once(store, when, operation, count):
    add(), add("")
    waits = happened()
    for nth in range(1, count + 1):
        caching.invalidate_all()
        with FAULTS[when](operation, nth=nth, table_key="CONSOLE") as fault, pytest.raises(ConsoleError):
            announce([waits])
        assert len(fault.struck) == 1
        announce([waits])
        assert len(rows(store)) == len(pointers(store)) == 2


def test_two_at_the_same_moment_tell_it_once(store):
    add()
    waits = happened()
    with faults.before("TransactWriteItems", lambda: announce([waits])):
        assert announce([waits]) == 0
    assert len(rows(store)) == len(pointers(store)) == 1


@pytest.mark.parametrize("at", ["beginning", "middle"])
def test_emails_of_one_destination_go_together_and_a_test_at_once(store, monkeypatch, settings, at):
    settings.NOTIFICATIONS_FROM_EMAIL = "console@example.com"
    made = add(kind=DestinationKind.EMAIL, address="team@example.com")
    begins = clock.floored(clock.now(), EMAILS_EVERY) + EMAILS_EVERY
    now = begins + (timedelta(0) if at == "beginning" else timedelta(minutes=3))
    monkeypatch.setattr(clock, "now", lambda: now)
    announce([happened(name="1"), happened(name="2")])
    assert due_deliveries(now, 10) == []
    assert len(due_deliveries(begins + EMAILS_EVERY, 10)) == 2
    send_test(made, LEAD)
    assert [each.type for each in due_deliveries(now, 10)] == [T.TEST]


# --- Tests, and sending again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_on", [True, False])
def test_a_test_goes_out_whether_it_is_on_or_off(store, receiver, is_on):
    made = add_at(receiver, is_on=is_on)
    send_test(made, LEAD)
    announce([happened()])
    bring()
    assert [each.payload["type"] for each in receiver.received if each.is_genuine][:1] == [T.TEST]
    assert len(receiver.received) == 1 + is_on
    [entry] = entries(store, "destination.tested")
    assert (entry["actor"], entry["company_id"]) == ("lena", COMPANY)


def fail(store, made, count: int = 1) -> list[dict]:
    """That many notifications, given up."""
    announce([happened(name=f"{number}") for number in range(count)])
    for each in due_deliveries(clock.now(), count):
        deliveries.give_up(each, "It answered with status 500.", tried=True)
    assert pointers(store) == []
    return rows(store, "failed")


def test_what_failed_is_sent_again_once_with_its_id_and_on_record(store, receiver):
    made = add_at(receiver)
    [failed] = fail(store, made)
    assert failed["pk"] == f"NOTIFICATIONS_FAILED#{made.id}"
    assert (failed["attempts"], failed["problem"]) == (1, "It answered with status 500.")
    assert send_again(made, LEAD, failed["sk"]) == 1
    with pytest.raises(NotFound):
        send_again(made, LEAD, failed["sk"])
    [again] = rows(store)
    assert (again["state"], again["attempts"], again["notification_id"]) == ("waiting", 0, failed["notification_id"])
    assert bring() == {"delivered": 1}
    assert receiver.received[0].headers["webhook-id"] == failed["notification_id"]
    [entry] = entries(store, "notification.sent_again")
    assert json.loads(entry["action_payload_redacted"])["destination"] == "Help desk"


def test_two_who_press_the_button_send_it_once(store):
    made = add()
    [failed] = fail(store, made)
    with faults.before("TransactWriteItems", lambda: send_again(made, LEAD, failed["sk"])):
        assert send_again(made, LEAD, failed["sk"]) == 0
    assert len(rows(store)) == len(pointers(store)) == len(entries(store, "notification.sent_again")) == 1


@pytest.mark.slow
def test_all_that_failed_is_sent_again_the_latest_first(store):
    made = add()
    fail(store, made, SHOWN + 2)
    assert send_again(made, LEAD) == SHOWN
    assert (len(rows(store, "failed")), len(pointers(store))) == (2, SHOWN)
    assert send_again(made, LEAD) == 2
    assert send_again(made, LEAD) == 0


@pytest.mark.parametrize(("who", "company_id", "error"), [(ANA, COMPANY, Forbidden), (LEAD, OTHER, NotFound)])
def test_who_may_send(store, who, company_id, error):
    made = add(company_id)
    for act in (send_test, send_again):
        with pytest.raises(error):
            act(made, who)
    assert rows(store) == []
    assert entries(store, "destination.tested", "notification.sent_again") == []


# --- What there is to see ---------------------------------------------------------------------------------------------


def test_what_lists_show(store, receiver, monkeypatch):
    made = add_at(receiver)
    announce([happened(name="1")])
    bring()
    later(monkeypatch, minutes=1)
    announce([happened(T.OVERDUE, name="2")])
    [due] = due_deliveries(clock.now(), 10)
    at = clock.now() + timedelta(seconds=5)
    deliveries.note_attempt(due, "It could not be reached.", at)
    second, first = list_deliveries(made.id)
    assert (first.label, first.state, first.attempts, first.is_retried) == (
        "A conversation waits for a human",
        "delivered",
        1,
        False,
    )
    assert first.url.startswith("/conversations/")
    assert (second.is_retried, second.problem) == (True, "It could not be reached.")
    assert clock.to_iso(second.next_at) == clock.to_iso(at)
    assert list_deliveries(made.id, failed=True) == []
    assert oldest_due() == second.next_at
    # TTL removes them within days; nobody sees them meanwhile.
    later(monkeypatch, days=8)
    assert list_deliveries(made.id) == []


DAMAGE = [
    *({"body": each} for each in (None, "", "{", "[]", '"x"', "{}", '{"data": 7}', "[" * 100_000, ["x"])),
    {"body": '{"data": {"conversation": 7}}'},
    {"body": '{"data": {"conversation": "../../\\ud800"}}'},
    {"type": None},
    {"type": "conversation.exploded"},
    {"type": 7},
    {"state": "lost"},
    {"state": None},
    {"attempts": "many", "due_at": "soon", "problem": 7, "tried_at": [], "company_id": None},
    {"expires_at": "never"},
    {"notification_id": None, "destination_id": None},
]


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_one_breaks_no_list_and_holds_up_no_other(store, receiver, damage):
    made = add_at(receiver)
    announce([happened(name="damaged"), happened(name="sound")])
    [bad, good] = rows(store)
    store.update("CONSOLE", {name: bad[name] for name in ("pk", "sk")}, **damage)
    assert len(list_deliveries(made.id)) == 2
    bring()
    received = [each.headers["webhook-id"] for each in receiver.received]
    assert good["notification_id"] in received
    assert set(received) <= {good["notification_id"], bad["notification_id"]}
    assert pointers(store) == []
    # The same among those that failed.
    put_by = {**bad, "state": "failed", **damage, "pk": f"NOTIFICATIONS_FAILED#{made.id}"}
    store.put("CONSOLE", put_by)
    assert len(list_deliveries(made.id, failed=True)) == 1
    send_again(made, ADMIN)
    with suppress(NotFound):
        send_again(made, ADMIN, bad["sk"])


def test_what_a_pointer_says_that_leads_nowhere_is_forgotten(store):
    add()
    announce([happened(name="1"), happened(name="2")])
    [one, two] = rows(store)
    store.delete("CONSOLE", pk=one["pk"], sk=one["sk"])
    store.update("CONSOLE", {name: two[name] for name in ("pk", "sk")}, state="delivered")
    assert due_deliveries(clock.now(), 10) == []
    assert pointers(store) == []
    assert oldest_due() is None


@pytest.mark.parametrize("does", ["gives up", "tries later", "delivers"])
def test_a_second_notifier_that_comes_late_changes_nothing(store, does):
    made = add()
    announce([happened()])
    [first], [second] = due_deliveries(clock.now(), 1), due_deliveries(clock.now(), 1)
    deliveries.note_delivered(first)
    before = store.all("CONSOLE")
    {
        "gives up": lambda: deliveries.give_up(second, "It could not be reached.", tried=True),
        "tries later": lambda: deliveries.note_attempt(second, "x", clock.now() + timedelta(minutes=1)),
        "delivers": lambda: deliveries.note_delivered(second),
    }[does]()
    assert store.all("CONSOLE") == before
    assert [each.state for each in list_deliveries(made.id)] == ["delivered"]


def test_all_types_that_can_be_chosen_have_a_switch(store):
    for type_ in OF_COMPANIES:
        made = add(types=(type_,), address=f"{HOOK}?{type_}")
        announce([happened(each, name=type_) for each in OF_COMPANIES])
        assert [each["type"] for each in rows(store) if each["destination_id"] == made.id] == [type_]
        destinations.change(made, replace(made.values, is_on=False), LEAD)
