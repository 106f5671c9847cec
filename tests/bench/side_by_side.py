"""The same questions to a small table and to a large one, on dynoxide: what does growth cost?

Each size has tables under names of its own, and is asked in turn with the other, so that both see the same machine.
Figures are: `ms`, the median of the milliseconds of the repeats; `calls`, requests to DynamoDB; `units`, the capacity
units that they consumed; and counts of what was found. The ratio is of many to few.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

# As many as one BatchWriteItem takes.
BATCH = 25
WRITERS = 4

Item = dict[str, Any]
# Asks, and counts what it found, by name: {"entries": 50}.
Question = Callable[[], Mapping[str, int]]
# Milliseconds, calls, counts.
Answer = tuple[float, list[Any], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Bench:
    """What is compared. `about` is the help of the command line; `what` names what `items` makes: "tenants".

    `table` is the registry's key of the table that is filled; `items` gives, for how many of `what`, the items as plain
    values. `questions` are asked of both `sizes` (few, many), with --quick of those of `quick`.
    """

    about: str
    what: str
    table: str
    items: Callable[[int], Iterable[Item]]
    questions: Callable[[], Mapping[str, Question]]
    sizes: tuple[int, int]
    quick: tuple[int, int]


@contextmanager
def environment(size: int) -> Iterator[None]:
    """The console's tables of that size, under names of their own."""
    from django.test import override_settings

    from console.store import presence

    with override_settings(CONSOLE_ENV=f"bench{size}"):
        presence.forget()
        yield
    presence.forget()


def fill(client: Any, table: str, items: Iterable[Item]) -> None:
    """Write all items to the table of that name, 25 at a time, from a few threads."""
    from tests.dynamodb import to_dynamodb

    def write(batch: list[Item]) -> None:
        requests = [{"PutRequest": {"Item": to_dynamodb(each)}} for each in batch]
        while requests:
            answer = client.batch_write_item(RequestItems={table: requests})
            requests = answer.get("UnprocessedItems", {}).get(table, [])

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, batches(items)))


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Lists of 25 items; the last one has what is left."""
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch


def measured(question: Question) -> Answer:
    """One answer: milliseconds from asking to having it, the calls that it took, and counts of what was found."""
    from console.store import calls

    with calls.budget(None) as budget:
        started = time.perf_counter()
        found = question()
        return (time.perf_counter() - started) * 1000, budget.calls, found


def compare(questions: Mapping[str, Question], sizes: tuple[int, int], repeats: int) -> dict[str, Any]:
    """Figures by question, then by size and "ratio". Calls, units and counts are of the last of the repeats."""
    figures: dict[str, Any] = {}
    for name, question in questions.items():
        taken: dict[int, list[Answer]] = {size: [] for size in sizes}
        for number in range(repeats + 1):
            for size in sizes:
                with environment(size):
                    measured(question)  # so that connections and what is remembered of the tables are there
                    if number:
                        taken[size].append(measured(question))
        figures[name] = {size: _figures(rounds) for size, rounds in taken.items()}
        few, many = (figures[name][size] for size in sizes)
        figures[name]["ratio"] = {
            key: round(many[key] / few[key], 2) if few[key] else None for key in ("ms", "calls", "units")
        }
    return figures


def _figures(rounds: list[Answer]) -> dict[str, Any]:
    _, calls, found = rounds[-1]
    return {
        "ms": round(statistics.median(ms for ms, _, _ in rounds), 2),
        "calls": len(calls),
        "operations": sorted({f"{call.operation} {call.index}".strip() for call in calls}),
        "units": round(sum(call.units for call in calls), 1),
        "found": dict(found),
    }


def main(bench: Bench) -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=bench.about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--quick", action="store_true", help=f"fewer {bench.what}, for a look")
    parser.add_argument("--repeats", type=int, default=15, help="of each question at each size")
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.provisioning.definition import create_table_request
    from console.schema.tables import TABLES
    from console.store.calls import table_name
    from demo.dynoxide import Dynoxide
    from demo.server_process import plain_client

    sizes = bench.quick if options.quick else bench.sizes
    with Dynoxide() as engine:
        settings.DYNAMODB_ENDPOINT = engine.endpoint
        client = plain_client(engine.endpoint)
        for size in sizes:
            with environment(size):
                for key in TABLES:
                    client.create_table(**create_table_request(key))
                started = time.perf_counter()
                fill(client, table_name(bench.table), bench.items(size))
                print(f"{size:,} {bench.what} written in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        figures = compare(bench.questions(), sizes, options.repeats)
    if options.json:
        print(json.dumps(figures))
        return
    width = len(f"{max(sizes):,}")
    for name, found in figures.items():
        print(name)
        for size in sizes:
            print(f"  {size:>{width},} {bench.what}: {_in_words(found[size])}")
        print(f"  ratio: {found['ratio']}")


def _in_words(one: dict[str, Any]) -> str:
    cost = f"{one['calls']} calls ({', '.join(one['operations'])}), {one['units']} units, {one['ms']} ms"
    return f"{cost}; found {', '.join(f'{count} {what}' for what, count in one['found'].items())}"
