"""The queue's index as the indexer leaves it, for tests of what reads it."""

from console import caching, clock
from conversations.indexer.handling import repair_item
from conversations.queue_index.refreshing import fill_partitions
from conversations.workers.lease import INDEXER, LEASE
from tests.dynamodb import Store


def filled(store: Store) -> None:
    """Say that a sweep of the indexer has filled the index and that it is alive.

    What is put must bear the keys of the index; the rows of its partitions follow whatever is put from now on.
    """
    now = clock.to_iso(clock.now())
    times = dict.fromkeys(("beat_at", "last_sweep_at", "backfilled_at", "partitions_at"), now)
    store.put("CONSOLE", {"pk": INDEXER, "sk": LEASE, "mode": "stream", **times})
    store.after_write = follow
    follow(store)
    caching.invalidate_all()


def swept(store: Store) -> None:
    """As `filled`, for what is put without the keys of the index, as the platform does: the indexer repairs it."""
    filled(store)
    store.after_write = _sweep
    _sweep(store)


def _sweep(store: Store) -> None:
    for raw in store.all_raw("CONVERSATIONS"):
        repair_item(raw)
    follow(store)


def follow(store: Store) -> None:
    """Refresh the rows of the queue's partitions, as the indexer does after each change."""
    items = (item.get("gsi_hand_off_queue") for item in store.all("CONVERSATIONS"))
    fill_partitions({each for each in items if isinstance(each, str) and each})
    caching.invalidate_all()
