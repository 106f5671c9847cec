"""What things cost in units of DynamoDB, as docs/aws.md has it: no more, and no less than nine tenths of it."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest

from console import caching, clock
from console.store import queues
from conversations.handoff import HandOffAction, perform
from conversations.indexer.handling import handle
from conversations.receiving.worker import Receiver
from conversations.sending.worker import Sender
from conversations.work.parts import build_workers
from conversations.workers.queued import QueueWorker
from tests.costs import UNITS, Units
from tests.people import member, signed_in
from tests.queue import filled
from tests.store.conversations.indexer.test_worker import Clock
from tests.store.conversations.queue_index.test_queue_index import waiting
from tests.store.conversations.receiving.test_handling import body
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets  # noqa: F401
from tests.support.console.units import units
from tests.support.conversations.handoff.kit import ANA, WAITING, form, held_by, put
from tests.support.conversations.indexer.kit import Stream, asks, platform
from tests.support.conversations.replies import held, send_all_due, write

pytestmark = pytest.mark.dynoxide_only
POLL = {"HTTP_X_POLL": "1"}


@contextmanager
def costing(what: str) -> Iterator[None]:
    """What is done in it costs as much as is written."""
    with units() as found:
        yield
    spent = Units(*(sum(count for name, count in found.items() if name.endswith(kind)) for kind in ("read", "write")))
    expected = UNITS[what]
    assert 0.9 * expected.reads <= spent.reads <= expected.reads, (what, spent, found)
    assert 0.9 * expected.writes <= spent.writes <= expected.writes, (what, spent, found)


def test_a_conversation_of_the_ai_and_a_request_for_a_human(store):
    put(store)
    stream = Stream()
    talk = []
    for number in range(5):
        talk += [
            {"role": role, "content": "x" * 200, "message_id": f"{role}{number}"} for role in ("user", "assistant")
        ]
        platform(store, messages=list(talk))
    [*changes] = stream.changes()
    with costing("AI conversation"):
        for change in changes:
            handle(change)
    stream = Stream()
    asks(store, clock.to_iso(clock.now()))
    with costing("request"):
        stream.handle_all()


def test_what_people_do(store, outbox, provider, queue):  # noqa: F811
    put(store, **WAITING)
    with costing("take"):
        perform(form(HandOffAction.TAKE), ANA)
    held(store)
    with costing("reply"):
        write(ANA, "It is on its way.")
        send_all_due()
    put(store, **held_by("ana"))
    queues.send(queue, body())
    with costing("message"):
        Receiver().run(once=True)
    with costing("hand back"):
        perform(form(HandOffAction.HAND_BACK), ANA)


def test_pages(store):
    filled(store)
    store.put_all("CONVERSATIONS", [waiting(number + 1, request_id=f"r{number}") for number in range(30)])
    client = signed_in(member())
    page = client.get("/queue/").content.decode()
    caching.invalidate_all()
    with costing("queue poll with news"):
        answer = client.get("/queue/", **POLL)
    with costing("queue poll without news"):
        assert client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    [address, *_] = [each for each in re.findall(r'href="(/conversations/[^"?]+/)', page) if "companies" not in each]
    client.get(address)
    with costing("conversation page"):
        page = client.get(address).content.decode()
    [news] = re.findall(r'id="news"[^>]*data-poll="([^"]+)"', page)
    [since] = re.findall(r'id="news"[^>]*data-since="([^"]+)"', page)
    with costing("conversation poll"):
        client.get(news, {"since": since}, **POLL)


def test_a_minute_of_work_with_nothing_to_do(outbox, fresh_store, monkeypatch):  # noqa: F811
    ticking = Clock()
    monkeypatch.setattr(clock, "now", ticking.now)
    parts = list(build_workers(wait=ticking.wait, now=ticking.now).values())
    rounds = {Sender: 1.0, Receiver: float(queues.LONGEST_WAIT_SECONDS)}
    with ThreadPoolExecutor(1) as pool:

        def round_of(part) -> float:
            """One round, and how long it waits after that, or for a queue."""
            if not isinstance(part, QueueWorker):
                return part.cycle()
            if isinstance(part, Sender):
                part.pool = pool
            part.step(wait=0)
            return rounds[type(part)]

        # They begin with more than they go on with.
        for part in parts:
            for _ in range(5):
                round_of(part)
        with costing("idle minute"):
            for part in parts:
                begun = ticking.at
                while ticking.at - begun < timedelta(minutes=1):
                    ticking.wait(round_of(part))
