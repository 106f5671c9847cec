"""How far the indexer of the queue lags behind under load, on dynoxide.

    python -m tests.bench.indexer [--json] [--flags N] [--writers N]

Raises the flag of N conversations (2,000) as fast as the writers (4 threads) can while a worker follows the stream.
Prints how fast they were written and indexed, and the lag from the answer to the platform's write until the item is in
the queue's index and its request in the trail: median, 99th percentile, worst, in milliseconds.
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")


def measure(store: Any, flags: int, writers: int) -> dict[str, float]:
    """Fill, follow, raise the flags, wait until all are indexed."""
    from console import clock
    from conversations.indexer import worker as workers
    from tests.support.conversations.handoff.kit import KEY, conversation

    keys = [{**KEY, "conversation_id": f"ci-aaa-001#p#{number}#1"} for number in range(flags)]
    store.put_all("CONVERSATIONS", [conversation(**key) for key in keys])
    written: dict[str, float] = {}
    indexed: dict[str, float] = {}
    handle = workers.handle  # type: ignore[attr-defined]

    def timed(change: Any) -> Any:
        done = handle(change)
        image = change.new or {}
        if image.get("hand_off_to_human") == {"BOOL": True}:
            indexed.setdefault(image["conversation_id"]["S"], time.perf_counter())
        return done

    workers.handle = timed  # type: ignore[attr-defined]
    ended = threading.Event()
    worker = workers.Worker(wait=ended.wait, interval=0.2)
    while worker._quiet < 3:
        worker.cycle()
    thread = threading.Thread(target=worker.run)
    thread.start()

    def raise_flag(key: dict[str, str]) -> None:
        store.update("CONVERSATIONS", key, hand_off_to_human=True, updated_at=clock.to_iso(clock.now()))
        written[key["conversation_id"]] = time.perf_counter()

    began = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(raise_flag, keys))
    wrote = time.perf_counter() - began
    while len(indexed) < flags and time.perf_counter() - began < 600:
        time.sleep(0.05)
    ended.set()
    thread.join()
    lags = sorted((indexed[each] - at) * 1000 for each, at in written.items() if each in indexed)
    return {
        "flags": flags,
        "indexed": len(lags),
        "entries": sum(entry["actor"] == "platform" for entry in store.all("AUDIT")),
        "written a second": flags / wrote,
        "indexed a second": len(lags) / (max(indexed.values()) - began),
        "median lag ms": statistics.median(lags),
        "p99 lag ms": lags[int(len(lags) * 0.99) - 1],
        "worst lag ms": lags[-1],
    }


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--flags", type=int, default=2000, help="how many conversations ask for a human")
    parser.add_argument("--writers", type=int, default=4, help="how many threads write at once")
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from demo.dynoxide import Dynoxide
    from tests.dynamodb import Store

    with Dynoxide() as server:
        settings.DYNAMODB_ENDPOINT = server.endpoint
        store = Store(server.endpoint)
        store.create_tables()
        figures = measure(store, options.flags, options.writers)
    if options.json:
        print(json.dumps({"figures": figures}))
    else:
        print("\n".join(f"{name:<18} {value:>10,.1f}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
