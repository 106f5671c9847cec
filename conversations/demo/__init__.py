"""The demo's content: companies, conversations, and what the middleware and colleagues recorded about them.

Everything was written for this project. The same `now` gives the same items, and all times lie relative to it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

from conversations.companies import PARTITION
from conversations.demo import chats, hand_offs, middleware, tenant_conversations, threads, usual
from conversations.demo.companies import COMPANIES
from conversations.demo.people import Population

CONVERSATIONS = 400
_SEED = 20_240_917
_WITH_MIDDLEWARE = 0.6


def items(now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every item of the demo as (table key, item), the item in plain Python as boto3's serializer takes it.

    `now` is aware. Table keys: CONSOLE, CONVERSATIONS, IDEMPOTENCY, CONVERSATION_STATE, AUDIT,
    TENANT_CONVERSATIONS, THREADS, and the four of the chatbot. Raises `ValueError` for a naive `now`.
    """
    if now.tzinfo is None:
        raise ValueError("now must be aware")
    now = now.astimezone(UTC)
    rng = Random(_SEED)  # the same demo each time, nothing secret  # nosec B311
    population = Population(rng)
    for company in COMPANIES:
        yield "CONSOLE", {"pk": PARTITION, "sk": company.company_id, "name": company.name, "source": "demo"}

    handed = list(hand_offs.build(population, now, rng))
    drifted = list(usual.build_drifted(population, now, rng))
    long = list(usual.build_long(population, now, rng))
    ordinary = list(usual.build(CONVERSATIONS - len(handed) - len(drifted) - len(long), population, now, rng))

    for item, records, asked in handed:
        yield "CONVERSATIONS", item
        yield from records
        yield from middleware.records(item, asked, now, rng)
    for item in drifted:
        yield "CONVERSATIONS", item
    for item in long + ordinary:
        yield "CONVERSATIONS", item
        if rng.random() < _WITH_MIDDLEWARE:
            yield from middleware.records(item, None, now, rng)
    for item in tenant_conversations.items(now):
        yield "TENANT_CONVERSATIONS", item
    yield from chats.items(now)
    yield from threads.items(now)


def start() -> Callable[[], None]:
    """Index the queue, then keep it indexed in a thread, as a worker does; returns what ends that."""
    from conversations.demo.indexing import start_indexer

    return start_indexer()
