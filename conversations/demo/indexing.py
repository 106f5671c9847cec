"""The demo's indexer: a sweep before anybody looks, then a worker on the embedded stream."""

import threading
from collections.abc import Callable

from console import clock
from conversations.indexing import lease
from conversations.indexing.sweep import Sweep
from conversations.indexing.worker import STREAM, Worker

END_SECONDS = 2.0


def start_indexer() -> Callable[[], None]:
    """Sweep at once, follow the stream in a thread; returns what ends the thread. Raises the store's errors."""
    sweep = Sweep()
    while not sweep.is_over:
        sweep.step()
    if sweep.is_complete:
        lease.note_sweep(clock.now(), STREAM)
    ended = threading.Event()
    thread = threading.Thread(target=Worker(wait=ended.wait).run, name="demo-indexer", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join(END_SECONDS)

    return stop
