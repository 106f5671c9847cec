"""A part that a schedule starts as a Lambda: it does what is due, ends, says so, and fails where it could not."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import CommandError

from console import clock
from conversations.notifications.notifier import NOTIFICATIONS, Notifier
from conversations.receiving.recording import QUEUE, STAGE
from conversations.receiving.worker import sweep
from conversations.sending.worker import SENDER
from conversations.timers.looking import TIMERS
from conversations.work import lambdas
from conversations.work.background import _timers
from conversations.work.lambdas import MARGIN_SECONDS, WorkFailed, run_part
from conversations.work.parts import PARTS
from conversations.workers.beats import describe_beat
from conversations.workers.lease import LEASE
from tests import faults
from tests.store.conversations.receiving.test_handling import left_undone, said
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets  # noqa: F401
from tests.support.conversations.handoff.kit import ANA
from tests.support.conversations.replies import held, states, write


def lasting(seconds: float) -> SimpleNamespace:
    """What Lambda says of a run that may take so long."""
    return SimpleNamespace(get_remaining_time_in_millis=lambda: 1_000 * seconds)


LONG = lasting(60)


@pytest.fixture(autouse=True)
def _nothing_kept():
    lambdas._workers_of.cache_clear()


def noted(store, name: str) -> dict:
    return store.get("CONSOLE", pk=name, sk=LEASE) or {}


def test_the_receiver_finishes_what_was_left_and_leaves_its_sources_to_other_lambdas(
    store, queue, settings, monkeypatch
):
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    left_undone(store)
    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr("conversations.work.parts.sweep", lambda now: sweep(later))
    assert run_part({"part": "receiver"}, LONG) == {"finished": 1}
    assert said(store)[-1] == "Where is my parcel?"
    assert (noted(store, QUEUE), noted(store, STAGE)) == ({}, {})
    # It ran just now: nothing is due.
    assert run_part({"part": "receiver"}, LONG) == {}


def test_the_sender_sends_replies_that_the_queue_did_not_bring(store, outbox, provider):  # noqa: F811
    held(store)
    write(ANA, "It is on its way.")
    assert run_part({"part": "sender"}, LONG) == {"done": 1}
    assert set(states(store)) == {"sent"}
    assert noted(store, SENDER)["scheduled"] is True


@pytest.mark.parametrize("name", sorted(set(PARTS) - {"indexer", "sender"}))
def test_a_part_ends_where_nothing_is_left_and_gives_its_lease_back(store, queue, name):
    assert run_part({"part": name}, LONG) == {}
    leases = [each for each in store.all("CONSOLE") if each["sk"] == LEASE and "beat_at" in each]
    assert leases
    assert not any("owner" in each for each in leases)
    assert all(each["scheduled"] for each in leases)


def test_a_part_that_fails_until_its_time_is_up_fails_the_lambda(store):
    with (
        faults.fail_before("UpdateItem", table_key="CONSOLE", times=faults.ALWAYS),
        pytest.raises(WorkFailed, match="timers"),
    ):
        run_part({"part": "timers"}, lasting(MARGIN_SECONDS))
    assert run_part({"part": "timers"}, LONG) == {}


@pytest.mark.parametrize(("context", "seconds"), [(LONG, 60 - MARGIN_SECONDS), (None, MARGIN_SECONDS)])
def test_a_part_ends_before_lambda_ends_it(store, monkeypatch, context, seconds):
    real, given = lambdas.threading.Timer, []
    monkeypatch.setattr(lambdas.threading, "Timer", lambda *each: given.append(each[0]) or real(*each))
    run_part({"part": "notifier"}, context)
    assert given == [seconds]


@pytest.mark.parametrize("event", [{"part": "everything"}, {"work": "timers"}])
def test_an_unknown_part_is_refused_with_those_that_exist(store, event):
    with pytest.raises(CommandError, match=f"The parts are {', '.join(PARTS)}"):
        run_part(event, LONG)


def test_a_scheduled_part_may_be_silent_for_longer_until_a_process_runs_again(store):
    run_part({"part": "notifier"}, LONG)
    found, at = noted(store, NOTIFICATIONS), clock.now()
    assert describe_beat(found, at + timedelta(minutes=5), "the notifier", "sends")[0] is True
    assert describe_beat(found, at + timedelta(minutes=16), "the notifier", "sends")[0] is False
    Notifier(wait=lambda _: True).run()
    found = noted(store, NOTIFICATIONS)
    assert "scheduled" not in found
    assert describe_beat(found, clock.now() + timedelta(minutes=5), "the notifier", "sends")[0] is False


def test_scheduled_timers_are_not_called_late_between_two_runs(store):
    run_part({"part": "timers"}, LONG)
    assert _timers(noted(store, TIMERS), clock.now() + timedelta(minutes=2)).words == (
        "A scheduler runs their worker; it last ran 2 min ago."
    )
