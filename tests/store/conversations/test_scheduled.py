"""What a schedule starts as a Lambda: it does what is due, ends, says so, and fails where it could not."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from console import clock
from conversations.notifications.notifier import NOTIFICATIONS
from conversations.receiving.worker import sweep
from conversations.sending.worker import SENDER
from conversations.timers.looking import TIMERS
from conversations.work import parts
from conversations.work.parts import SCHEDULED, WorkFailed, run_scheduled
from conversations.work.scheduled import MARGIN_SECONDS, lambda_handler
from conversations.workers.beats import describe_beat
from conversations.workers.lease import LEASE
from tests import faults
from tests.store.conversations.receiving.test_handling import left_undone, said
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets  # noqa: F401
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, states, write

LONG = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(parts, "_scheduled", {})


def noted(store, name: str) -> dict:
    return store.get("CONSOLE", pk=name, sk=LEASE) or {}


def test_the_message_sweep_finishes_what_was_left_and_says_how_much(store, monkeypatch):
    left_undone(store)
    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr("conversations.work.parts.sweep", lambda now: sweep(later))
    assert lambda_handler({"work": "messages"}, LONG) == {"finished": 1}
    assert said(store)[-1] == "Where is my parcel?"
    # It ran just now: nothing is due.
    assert lambda_handler({"work": "messages"}, LONG) == {}


def test_replies_that_the_queue_did_not_bring_are_sent(store, outbox, provider):  # noqa: F811
    held(store)
    write(ANA, "It is on its way.")
    assert lambda_handler({"work": "replies"}, LONG) == {"done": 1}
    assert set(states(store)) == {"sent"}
    assert noted(store, SENDER)["scheduled"] is True


@pytest.mark.parametrize("name", sorted(set(SCHEDULED) - {"replies"}))
def test_each_ends_where_nothing_is_left_and_gives_its_lease_back(store, name):
    assert lambda_handler({"work": name}, LONG) == {}
    leases = [each for each in store.all("CONSOLE") if each["sk"] == LEASE and "beat_at" in each]
    assert leases
    assert not any("owner" in each for each in leases)
    assert all(each["scheduled"] for each in leases)


def test_work_that_failed_until_its_time_was_up_is_a_failure_of_the_lambda(store):
    with (
        faults.fail_before("UpdateItem", table_key="CONSOLE", times=faults.ALWAYS),
        pytest.raises(WorkFailed, match="the timers"),
    ):
        run_scheduled("timers", 0.0)
    assert lambda_handler({"work": "timers"}, LONG) == {}


def test_it_ends_before_lambda_ends_it(store, monkeypatch):
    given = []
    monkeypatch.setattr(
        "conversations.work.parts.run_scheduled", lambda name, seconds: given.append((name, seconds)) or {}
    )
    lambda_handler({"work": "timers"}, LONG)
    lambda_handler({"work": "timers"})
    assert given == [("timers", 60 - MARGIN_SECONDS), ("timers", MARGIN_SECONDS)]


def test_unknown_work_is_refused(store):
    with pytest.raises(KeyError):
        lambda_handler({"work": "everything"}, LONG)


def test_who_is_run_by_a_schedule_may_be_silent_for_longer_until_a_process_runs_again(store):
    lambda_handler({"work": "notifications"}, LONG)
    found, at = noted(store, NOTIFICATIONS), clock.now()
    assert describe_beat(found, at + timedelta(minutes=5), "the notifier", "sends")[0] is True
    assert describe_beat(found, at + timedelta(minutes=16), "the notifier", "sends")[0] is False
    [notifier] = SCHEDULED["notifications"](wait=lambda _: True).values()
    notifier.run()
    found = noted(store, NOTIFICATIONS)
    assert "scheduled" not in found
    assert describe_beat(found, clock.now() + timedelta(minutes=5), "the notifier", "sends")[0] is False


def test_timers_of_a_schedule_are_not_called_late_between_two_runs(store):
    from conversations.work.background import _timers

    lambda_handler({"work": "timers"}, LONG)
    assert _timers(noted(store, TIMERS), clock.now() + timedelta(minutes=2)).words == "Their worker runs."
