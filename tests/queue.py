"""The queue's index as the indexer leaves it, for tests of what reads it."""

from console import caching, clock
from conversations.indexer.lease import INDEXER, LEASE
from tests.dynamodb import Store


def filled(store: Store) -> None:
    """Say that a sweep of the indexer has filled the index and that it is alive; what is put must bear its keys."""
    now = clock.to_iso(clock.now())
    lease = {"pk": INDEXER, "sk": LEASE, "mode": "stream", "beat_at": now, "last_sweep_at": now, "backfilled_at": now}
    store.put("CONSOLE", lease)
    caching.invalidate_all()
