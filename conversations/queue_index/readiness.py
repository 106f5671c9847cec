"""Whether the queue's index can be read: it exists, and the indexer keeps the rows of its partitions."""

from console.caching import cached_for
from console.store.presence import index_ready
from conversations.models import HandOffQueueIndex
from conversations.workers.beats import IndexerHealth, read_health

INDEX = HandOffQueueIndex.Meta.index_name


# Maximum age of the indexer's state on a page.
HEALTH_SECONDS = 10


@cached_for(HEALTH_SECONDS)
def indexer_health() -> IndexerHealth:
    """Return the indexer's health. Each worker reads it at most every `HEALTH_SECONDS`."""
    return read_health()


def is_indexed() -> bool:
    """Return whether the queue's index exists, and the indexer keeps the rows of its partitions."""
    return indexer_health().has_partitions and index_ready("CONVERSATIONS", INDEX)
