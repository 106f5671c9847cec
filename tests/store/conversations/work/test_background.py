"""The background work on the system page: what runs, what waits, and what is not configured, in sentences."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from console import clock
from console.store import queues
from conversations.notifications.notifier import NOTIFICATIONS
from conversations.outbox.rows import TO_APPEND, MessageRow
from conversations.receiving.holding import Holding, held_by_receivers
from conversations.receiving.recording import QUEUE, STAGE
from conversations.timers.looking import TIMERS
from conversations.work.background import WALKS, section
from conversations.work.parts import INSIGHT, MESSAGE_SWEEP, RECONCILE
from conversations.workers.lease import LAMBDA, STREAM, read_heartbeats, write_heartbeat
from tests import faults
from tests.people import admin, signed_in


@pytest.fixture(autouse=True)
def configured(settings, request):
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": "conversations-stage-test"}
    settings.CHANNEL_QUEUE_URLS = dict.fromkeys(("whatsapp", "sms", "email"), "https://sqs.example/1/q")
    if "queue" in request.fixturenames:
        request.getfixturevalue("queue")
    else:
        settings.HANDOFF_QUEUE_URL = ""


def all_well(**changes) -> None:
    now = clock.now()
    write_heartbeat(QUEUE, beat_at=now, mode=QUEUE)
    write_heartbeat(STAGE, beat_at=now, mode=STREAM, lag=0.2)
    write_heartbeat(MESSAGE_SWEEP, beat_at=now, ran_at=now)
    write_heartbeat(RECONCILE, beat_at=now, ran_at=now)
    write_heartbeat(TIMERS, beat_at=now, looked_until=now, mode=TIMERS)
    write_heartbeat(NOTIFICATIONS, beat_at=now)
    write_heartbeat(INSIGHT, beat_at=now, ran_at=now)
    for walk in WALKS:
        write_heartbeat(walk, beat_at=now, ran_at=now)


def facts() -> dict[str, str]:
    return {fact.label: fact.value for fact in section(clock.now()).facts}


def test_where_all_runs_it_says_so(store, queue):
    all_well()
    found = section(clock.now())
    assert (found.state, found.tone, found.words) == ("ready", "good", "Everything that is configured is running.")
    assert facts() == {
        "Hand-off queue": "Its receiver runs. No message waits.",
        "Stage table": "Its receiver runs and is up to date.",
        "Messages to finish": "Nothing is late.",
        "Timers": "Their worker runs.",
        "Notifications": "The notifier runs.",
        "Reconcile": "It ran less than a minute ago.",
        "Insight": "Its worker runs, and everything was last summed up less than a minute ago.",
        "Insight of other stores": "They are running. Everything was last read less than a minute ago.",
    }


def test_before_the_first_run_it_says_what_to_run(store, queue):
    found = section(clock.now())
    assert (found.state, found.tone, found.hints) == ("not running", "human", ("manage.py work",))
    receivers = "the receiver of the hand-off queue, the receiver of the stage table"
    others = "the message sweep, the timers, the notifier, reconcile, Insight's sums, Insight's walks"
    assert found.words == f"Not running: {receivers}, {others}."
    assert facts()["Hand-off queue"] == "Its receiver has never run. No message waits."
    assert facts()["Reconcile"] == "It has never run."


def test_a_part_that_a_scheduler_starts_says_when_it_last_ran(store, queue):
    write_heartbeat(TIMERS, beat_at=clock.now() - timedelta(minutes=5), scheduled=True)
    assert facts()["Timers"] == "A scheduler runs their worker; it last ran 5 min ago."


def test_who_was_not_heard_of_is_named(store, queue):
    all_well()
    before = clock.now() - timedelta(minutes=12)
    write_heartbeat(QUEUE, beat_at=before)
    write_heartbeat(RECONCILE, ran_at=before - timedelta(hours=1))
    found = section(clock.now())
    assert (found.state, found.tone) == ("stale", "bad")
    assert found.words == "Not running: the receiver of the hand-off queue, reconcile."
    assert facts()["Hand-off queue"].startswith("There has been no sign of its receiver for 12 min.")
    assert facts()["Reconcile"] == "It last ran 1 h 12 min ago. It is due every 5 min."


def test_what_waits_is_told_with_how_long_the_last_one_had_waited(store, queue):
    all_well()
    for _ in range(3):
        queues.send(queue, "{}")
    queues.client().receive_message(QueueUrl=queue, MaxNumberOfMessages=1)
    Holding().note(1)
    write_heartbeat(QUEUE, received_at=clock.now(), waited=725.0)
    assert facts()["Hand-off queue"] == (
        "Its receiver runs. About 2 messages wait, and 1 is being handled. The last one received had waited 12 min."
    )


def test_messages_that_no_running_receiver_has_are_told(store, queue):
    all_well()
    for _ in range(4):
        queues.send(queue, "{}")
    queues.client().receive_message(QueueUrl=queue, MaxNumberOfMessages=4)
    first, second = Holding(), Holding()
    first.note(1)
    second.note(2)
    second.note(1)
    found = section(clock.now())
    assert (found.state, found.tone) == ("needs a look", "human")
    assert found.words == "1 message is hidden in the hand-off queue, and no running receiver has it."
    assert facts()["Hand-off queue"] == f"Its receiver runs. No message waits, and 3 are being handled. {found.words}"
    # A receiver of which nothing was heard for more than a minute has none.
    two_minutes = timedelta(minutes=2)
    for each in (QUEUE, TIMERS, NOTIFICATIONS, STAGE, INSIGHT, *WALKS):
        write_heartbeat(each, beat_at=clock.now() + two_minutes)
    assert section(clock.now() + two_minutes).words == (
        "4 messages are hidden in the hand-off queue, and no running receiver has them."
    )


def test_what_a_receiver_has_is_noted_once_more_while_it_lasts_and_once_it_grows(store, queue, monkeypatch):
    start, holding = clock.now(), Holding()
    for seconds, count, expected in ((0, 5, 5), (10, 3, 5), (20, 8, 8), (51, 2, 2), (52, 0, 2)):
        monkeypatch.setattr(clock, "now", lambda at=start + timedelta(seconds=seconds): at)
        holding.note(count)
        assert held_by_receivers(clock.now()) == expected


@pytest.fixture
def machine(store, monkeypatch):
    """Sets how far this machine's clock is ahead of the store's, whose answers say its time."""
    monkeypatch.setattr(clock, "_machine", clock._Machine())

    def set_ahead(seconds: float, date: str = "") -> None:
        monkeypatch.setattr(clock, "machine_now", lambda: datetime.now(UTC) + timedelta(seconds=seconds))
        with faults.dated(lambda: date or format_datetime(datetime.now(UTC), usegmt=True)):
            read_heartbeats([TIMERS])

    return set_ahead


def test_a_machine_whose_clock_differs_is_told(store, queue, machine):
    all_well()
    machine(9)
    assert section(clock.now()).state == "ready"
    machine(250)
    write_heartbeat(TIMERS, beat_at=clock.now(), looked_until=clock.now())
    machine(-14)
    found = section(clock.now())
    assert (found.state, found.tone) == ("needs a look", "human")
    assert re.sub(r"\d+ s", "N s", found.words) == (
        "Clocks differ from DynamoDB's, whose time is used: timers (4 min ahead), this web server (N s behind). "
        "Set those machines' clocks right."
    )


@pytest.mark.parametrize(("seconds", "off"), [(0, 0), (9, 9), (-9, -9), (11, 0), (240, 0), (-240, 0)])
def test_the_time_is_the_stores_where_a_machines_differs_by_more_than_ten_seconds(store, machine, seconds, off):
    machine(seconds)
    assert abs((clock.now() - datetime.now(UTC)).total_seconds() - off) < 2
    # What is no date changes nothing; set right, the machine's time is used again.
    machine(seconds, "yesterday")
    assert abs((clock.now() - datetime.now(UTC)).total_seconds() - off) < 2
    machine(0)
    assert abs((clock.now() - datetime.now(UTC)).total_seconds()) < 2


def test_a_queue_that_does_not_answer_costs_its_sentence_only(store, queue, settings):
    all_well()
    settings.HANDOFF_QUEUE_URL = f"{queue}-gone"
    assert facts()["Hand-off queue"] == "Its receiver runs. The queue could not be asked how many messages wait."
    assert facts()["Stage table"] == "Its receiver runs and is up to date."


def test_a_lambda_that_is_silent_is_not_stale(store, queue):
    all_well()
    before = clock.now() - timedelta(hours=3)
    write_heartbeat(QUEUE, mode=LAMBDA, beat_at=before)
    write_heartbeat(STAGE, mode=LAMBDA, beat_at=before)
    assert section(clock.now()).state == "ready"
    assert facts()["Hand-off queue"].startswith("A Lambda receives; it last ran 3 h ago.")


def test_the_stage_tables_lag_and_what_it_missed(store, queue):
    all_well()
    write_heartbeat(STAGE, lag=200.0)
    assert facts()["Stage table"] == "Its receiver runs and is 3 min behind."
    yesterday = clock.now() - timedelta(days=1)
    write_heartbeat(STAGE, missed_at=yesterday)
    assert f"Messages before {yesterday:%Y-%m-%d %H:%M} UTC may be missing" in facts()["Stage table"]
    write_heartbeat(STAGE, missed_at=yesterday - timedelta(days=7))
    assert "missing" not in facts()["Stage table"]


def test_timers_that_are_behind_are_told(store, queue):
    all_well()
    write_heartbeat(TIMERS, looked_until=clock.now() - timedelta(minutes=4))
    assert facts()["Timers"] == "Their worker runs and is 4 min behind."
    write_heartbeat(TIMERS, beat_at=clock.now() - timedelta(minutes=9))
    assert section(clock.now()).words == "Not running: the timers."


def test_a_stage_table_without_a_stream_is_said(store, queue):
    all_well()
    write_heartbeat(STAGE, mode="")
    assert facts()["Stage table"] == "The table or its stream is missing, so nothing is received from it."
    assert section(clock.now()).tone == "bad"


def test_a_message_that_is_late_is_told(store, queue):
    all_well()
    due = clock.to_iso(clock.now() - timedelta(minutes=7))
    MessageRow("c\np", "1", gsi_due=TO_APPEND, due_at=due).save()
    MessageRow("c\np", "2", gsi_due=TO_APPEND, due_at=clock.to_iso(clock.now() + timedelta(minutes=1))).save()
    assert facts()["Messages to finish"] == "The oldest has been due for 7 min."


def test_what_is_not_configured_is_said_in_one_line(store, settings):
    settings.TABLE_NAMES, settings.CHANNEL_QUEUE_URLS = {}, {"sms": "https://sqs.example/1/q"}
    now = clock.now()
    write_heartbeat(RECONCILE, beat_at=now, ran_at=now)
    write_heartbeat(TIMERS, beat_at=now, looked_until=now, mode=TIMERS)
    write_heartbeat(NOTIFICATIONS, beat_at=now)
    write_heartbeat(INSIGHT, beat_at=now, ran_at=now)
    for walk in WALKS:
        write_heartbeat(walk, beat_at=now, ran_at=now)
    assert facts() == {
        "Timers": "Their worker runs.",
        "Notifications": "The notifier runs.",
        "Reconcile": "It ran less than a minute ago.",
        "Insight": "Its worker runs, and everything was last summed up less than a minute ago.",
        "Insight of other stores": "They are running. Everything was last read less than a minute ago.",
        "Not configured": (
            "the hand-off queue (HANDOFF_QUEUE_URL), the stage table (TABLE_CONVERSATIONS_STAGE), "
            "the queues that send (WHATSAPP_QUEUE_URL, EMAIL_QUEUE_URL)"
        ),
    }
    assert section(clock.now()).state == "ready"


def test_what_cannot_be_read_is_said(store, queue):
    with faults.fail_before("BatchGetItem", table_key="CONSOLE", times=faults.ALWAYS):
        text = signed_in(admin()).get("/system/").content.decode()
    assert "Background work" in text
    assert "It could not be read. Try again in a moment." in text


def test_it_costs_a_read_and_a_query_of_each_kind(store, queue):
    with store.calls() as calls:
        section(clock.now())
    assert sorted(call.operation for call in calls) == ["BatchGetItem", "Query", "Query", "Query"]


def test_without_the_tables_it_has_never_run(bare_store, settings):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT")
    assert section(clock.now()).state == "not running"


def test_a_page_does_not_wait_long_for_a_queue(queue, settings):
    assert queues.client(patient=False).meta.config.read_timeout <= settings.DYNAMODB_READ_TIMEOUT_SECONDS
    assert queues.client().meta.config.read_timeout > queues.LONGEST_WAIT_SECONDS


def test_insight_that_is_summed_up_no_more_is_told(store, queue):
    all_well()
    now = clock.now()
    write_heartbeat(INSIGHT, beat_at=now, ran_at=now - timedelta(minutes=40))
    assert facts()["Insight"] == "Its worker runs, and everything was last summed up 40 min ago."
    write_heartbeat(INSIGHT, beat_at=now, ran_at="")
    assert facts()["Insight"] == "Its worker runs."
    write_heartbeat(INSIGHT, beat_at=now - timedelta(minutes=9))
    assert facts()["Insight"] == "There has been no sign of its worker for 9 min."
    assert section(now).words == "Not running: Insight's sums."


def test_walks_that_are_silent_are_counted(store, queue):
    write_heartbeat(WALKS[0], beat_at=clock.now())
    assert facts()["Insight of other stores"] == "3 of 4 show no sign of running."


def test_it_says_whether_the_walks_have_read_everything_once(store, queue):
    all_well()
    now = clock.now()
    write_heartbeat(WALKS[1], beat_at=now, ran_at=now - timedelta(hours=7))
    assert facts()["Insight of other stores"] == "They are running. Everything was last read 7 h ago."
    write_heartbeat(WALKS[1], beat_at=now, ran_at="")
    assert facts()["Insight of other stores"] == "They are running. Not everything has been read yet."
