"""What a back-fill takes beside what was there before the console, on dynoxide.

    python -m tests.bench.backfill [--json] [--conversations N] [--facts N]

Stores N conversations (100,000, which take 4 GB of memory), of which each hundredth waits for a human and is in no
index yet, and lets `manage.py index_handoffs --sweep` find them; then `manage.py insight --rebuild` keeps the facts of
`--facts` (20,000) of them. Prints conversations a second, the console's own processor time for each, and the memory of
the process after each fifth: it must not grow.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

COMPANIES, ONE_IN = 20, 100


class Before:
    """Conversations as the platform has them, some of them with the flag up, and nothing of the console's."""

    def __init__(self, conversations: int) -> None:
        self.conversations = conversations

    def puts(self) -> Iterator[str]:
        """Yield each as a PutRequest."""
        from console import clock
        from tests.bench.platform import MARKS, item
        from tests.dynamodb import to_dynamodb

        said = {name: value for name, value in item(1).items() if not name.startswith("x_")}
        plain = json.dumps(to_dynamodb(said))
        flagged = json.dumps(to_dynamodb(said | {"hand_off_to_human": True, "hand_off_to_human_reason": "Asked"}))
        at = clock.to_iso(clock.now())
        for number in range(self.conversations):
            text = plain if number % ONE_IN else flagged
            for mark, value in zip(MARKS, (f"{number:07}", f"ci-{number % COMPANIES:03}", at, at), strict=True):
                text = text.replace(mark, value)
            yield f'{{"PutRequest":{{"Item":{text}}}}}'


def memory() -> float:
    """Return what this process has in memory, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def followed(total: int, steps: Iterator[int]) -> dict[str, Any]:
    """Go through steps, each so many conversations; how fast, at which cost, and the memory after each fifth."""
    began, used, done, sizes = time.perf_counter(), time.process_time(), 0, []
    for count in steps:
        done += count
        while len(sizes) < 5 * done // total:
            sizes.append(round(memory(), 1))
    seconds, each = time.perf_counter() - began, (time.process_time() - used) / done
    return {
        "conversations": done,
        "seconds": round(seconds, 1),
        "a second": round(done / seconds),
        "processor ms each": round(each * 1000, 3),
        "MB": sizes,
    }


def swept() -> Iterator[int]:
    """Yield what each page of the sweep has read; nothing may fail."""
    from conversations.indexer.sweep import Sweep
    from conversations.workers.counts import WorkOutcome
    from conversations.workers.leased import retry_while_unavailable

    sweep = Sweep(keeps_facts=False)
    while not sweep.is_over:
        yield retry_while_unavailable(sweep.step)[WorkOutcome.READ]
    assert sweep.is_complete, sweep.counts


def rebuilt(most: int) -> Iterator[int]:
    """Yield what each page of the rebuild has read, of the first `most`."""
    from conversations.insight.facts import FactKind
    from conversations.insight.walking import walk_all
    from conversations.workers.counts import WorkOutcome
    from conversations.workers.leased import retry_while_unavailable

    read = 0
    for counts in walk_all(FactKind.CONVERSATIONS, retry_while_unavailable):
        read += counts[WorkOutcome.READ]
        yield counts[WorkOutcome.READ]
        if read >= most:
            return


def waiting(store: Any) -> int:
    """Count what stands in the queue's index as waiting."""
    from console.store.calls import table_name
    from conversations.handoff.stored import waiting_in

    pages = store.client.get_paginator("query")
    return sum(
        page["Count"]
        for number in range(COMPANIES)
        for page in pages.paginate(
            TableName=table_name("CONVERSATIONS"),
            IndexName="hand-off-queue-index",
            Select="COUNT",
            KeyConditionExpression="gsi_hand_off_queue = :company",
            ExpressionAttributeValues={":company": {"S": waiting_in(f"ci-{number:03}")}},
        )
    )


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--conversations", type=int, default=100_000, help="how many there are")
    parser.add_argument("--facts", type=int, default=20_000, help="of how many Insight's facts are kept")
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.store.calls import table_name
    from demo.dynoxide import Dynoxide
    from tests.bench.platform import write
    from tests.dynamodb import Store

    with Dynoxide() as server:
        settings.DYNAMODB_ENDPOINT = server.endpoint
        store = Store(server.endpoint)
        store.create_tables()
        write(server.endpoint, table_name("CONVERSATIONS"), [Before(options.conversations)])
        figures = {"sweep": followed(options.conversations, swept()), "waiting": waiting(store)}
        figures["facts"] = followed(min(options.facts, options.conversations), rebuilt(options.facts))
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name}: {found}" for name, found in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
