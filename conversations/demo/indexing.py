"""The demo's indexer: everything is looked at before anybody looks, then a worker follows the embedded stream."""

import threading
from collections.abc import Callable

from console.remembering import forget_everything
from conversations.indexing.health import read_health
from conversations.indexing.worker import Worker

END_SECONDS = 2.0
# A round sweeps a page; the demo has a few.
ROUNDS = 100


def start_indexer() -> Callable[[], None]:
    """Fill the index at once, then follow the stream in a thread; returns what ends the thread.

    Raises the store's errors.
    """
    ended = threading.Event()
    worker = Worker(wait=ended.wait)
    for _ in range(ROUNDS):
        worker.cycle()
        if read_health().is_reliable:
            break
    # Making the demo's staff has asked for the index already, when it was not there.
    forget_everything()
    thread = threading.Thread(target=worker.run, name="demo-indexer", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join(END_SECONDS)

    return stop
