"""What scrapes are told of the queue and of the work: sums over companies, and never of whom."""

from datetime import timedelta

import pytest

from console import caching, clock, instrumentation
from console.store import queues
from conversations.companies import register
from conversations.handoff.stored import attention_in
from conversations.notifications.notifier import NOTIFICATIONS
from conversations.outbox.rows import TO_APPEND, TO_SEND, MessageRow
from conversations.queue_index import refreshing
from conversations.receiving.recording import QUEUE, STAGE
from conversations.sending.worker import SENDER
from conversations.timers.looking import TIMERS
from conversations.work import gauges
from conversations.work.background import WALKS
from conversations.work.parts import INSIGHT, MESSAGE_SWEEP, RECONCILE, build_workers
from conversations.workers.lease import INDEXER, LAMBDA, STREAM, write_heartbeat
from tests.queue import filled
from tests.store.conversations.queue.test_queue import COMPANY, OTHER
from tests.store.conversations.queue_index.test_queue_index import held, waiting


def read(source) -> dict[tuple[str, ...], float]:
    return {(gauge.name, *labels): value for gauge, labels, value in source()}


@pytest.fixture
def companies(store):
    filled(store)
    for company in (COMPANY, OTHER):
        register(company, company, "test", "2026-01-01T00:00:00Z")
    return store


def test_the_queue_is_summed_up_over_companies(companies):
    companies.put_all(
        "CONVERSATIONS",
        [
            *(waiting(5), waiting(50, request_id="a"), waiting(500, OTHER, request_id="b")),
            *(held("amira", request_id="c"), held("tom", 5, OTHER, request_id="d")),
            waiting(
                3,
                request_id="e",
                hand_off_to_human=False,
                hand_off_attention="failed",
                gsi_hand_off_queue=attention_in(COMPANY),
            ),
        ],
    )
    found = read(gauges.read_queue)
    assert found.pop(("console_queue_oldest_wait_seconds",)) == pytest.approx(30_000, abs=60)
    assert found == {
        ("console_queue_conversations", "waiting"): 3,
        ("console_queue_conversations", "held"): 2,
        ("console_queue_conversations", "attention"): 1,
        ("console_queue_incomplete",): 0,
    }


def test_many_companies_are_counted_with_one_query(companies):
    numbers = range(40)
    companies.put_all("CONVERSATIONS", [waiting(5 + n, f"ci-many-{n}", request_id=f"r{n}") for n in numbers])
    with companies.calls() as made:
        found = read(gauges.read_queue)
    assert found["console_queue_conversations", "waiting"] == 40
    assert [each.operation for each in made if each.operation == "Query"] == ["Query"]


@pytest.mark.parametrize("most", ["HELD_COUNTED", "COUNTED"])
def test_where_not_all_rows_were_counted_it_is_said(companies, monkeypatch, most):
    attention = {
        "hand_off_to_human": False,
        "hand_off_attention": "failed",
        "gsi_hand_off_queue": attention_in(COMPANY),
    }
    kinds = {"HELD_COUNTED": held("amira", 5), "COUNTED": waiting(3, **attention)}
    companies.put("CONVERSATIONS", kinds[most] | {"conversation_id": "c-0"})
    assert read(gauges.read_queue)["console_queue_incomplete",] == 0
    monkeypatch.setattr(refreshing, most, 1)
    companies.put("CONVERSATIONS", kinds[most] | {"conversation_id": "c-1"})
    assert read(gauges.read_queue)["console_queue_incomplete",] == 1


def test_without_the_index_nothing_is_counted(store):
    register(COMPANY, COMPANY, "test", "2026-01-01T00:00:00Z")
    store.put_all("CONVERSATIONS", [waiting(5)])
    caching.invalidate_all()
    assert read(gauges.read_queue) == {}


def test_each_part_of_the_work_says_when_it_was_heard_of_and_how_far_it_is_behind(store, settings):
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/1/q"
    now = clock.now()
    write_heartbeat(INDEXER, beat_at=now, mode=STREAM, lag=2.5)
    write_heartbeat(TIMERS, beat_at=now - timedelta(minutes=3), looked_until=now - timedelta(minutes=2))
    write_heartbeat(QUEUE, beat_at=now, mode=LAMBDA)
    write_heartbeat(RECONCILE, ran_at=now - timedelta(hours=1))
    found = read(gauges.read_work)
    seen = {name[1]: value for name, value in found.items() if name[0] == gauges.LAST_SEEN.name}
    # A Lambda in the receiver's place, and what never ran, say nothing.
    assert set(seen) == {"indexer", "timers", "reconcile"}
    assert now.timestamp() - seen["timers"] == pytest.approx(180, abs=1)
    assert found[gauges.ALLOWED_SILENCE.name, "reconcile"] == 900
    assert found[gauges.ALLOWED_SILENCE.name, "indexer"] == 60
    assert found[gauges.LAG.name, "indexer"] == 2.5
    assert found[gauges.LAG.name, "timers"] == pytest.approx(120, abs=2)


def test_what_a_schedule_runs_or_what_takes_long_may_be_silent_for_longer_as_the_system_page_says(store):
    now = clock.now()
    write_heartbeat(NOTIFICATIONS, beat_at=now, scheduled=True)
    write_heartbeat(INSIGHT, ran_at=now, scheduled=True)
    write_heartbeat(RECONCILE, ran_at=now, took=60.0)
    found = read(gauges.read_work)
    allowed = {name[1]: value for name, value in found.items() if name[0] == gauges.ALLOWED_SILENCE.name}
    assert allowed == {"notifier": 900, "insight": 900, "reconcile": 3 * 100 * 60}


def test_workers_are_called_as_in_the_log(store, settings):
    settings.HANDOFF_QUEUE_URL = settings.OUTBOX_QUEUE_URL = "https://sqs.example/1/q.fifo"
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": "conversations-stage-test"}
    now = clock.now()
    for name in (INDEXER, TIMERS, QUEUE, STAGE, SENDER, NOTIFICATIONS, *WALKS):
        write_heartbeat(name, beat_at=now)
    for name in (MESSAGE_SWEEP, INSIGHT, RECONCILE):
        write_heartbeat(name, ran_at=now)
    told = {name[1] for name in read(gauges.read_work) if name[0] == gauges.LAST_SEEN.name}
    assert told == set(map(instrumentation.word, build_workers()))


def test_late_work_is_told_by_its_kind(store):
    now = clock.now()
    for kind, minutes in ((TO_APPEND, 10), (TO_SEND, -10)):
        due = clock.to_iso(now - timedelta(minutes=minutes))
        MessageRow("c", f"p-{kind}", gsi_due=kind, due_at=due).save()
    found = read(gauges.read_messages)
    assert found[gauges.OVERDUE.name, "append"] == pytest.approx(600, abs=2)
    assert found[gauges.OVERDUE.name, "send"] == found[gauges.OVERDUE.name, "notify"] == 0
    assert found[gauges.NOT_PLACED.name,] == 0


def test_queues_of_sqs_are_told_where_there_are_any(store, queue, settings):
    queues.send(queue, "{}")
    assert read(gauges.read_sqs) == {
        (gauges.SQS.name, "handoff", "waiting"): 1,
        (gauges.SQS.name, "handoff", "in_flight"): 0,
    }
    settings.HANDOFF_QUEUE_URL = ""
    assert read(gauges.read_sqs) == {}
