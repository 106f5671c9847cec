"""What the list of tenants and one tenant cost with few tenants and with many, on DynamoDB Local.

    python -m tests.bench.tenants [--json] [--quick] [--repeats N]

Builds 20 and 2,000 tenants (with --quick 20 and 200) of 50 users and two channels each, and asks both in turn for the
same things. Prints for each: calls, capacity units and the median of the milliseconds, and the ratio of many to few.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.audit import environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
USERS = 50


def items(total: int) -> Iterator[dict[str, Any]]:
    """Every item of so many tenants, their guards too."""
    from tests.tenants.items import mapping, tenant, user

    for number in range(total):
        tenant_id = f"tenant-{number:05}"
        yield tenant(tenant_id, status="active" if number % 10 else "suspended")
        for person in range(USERS):
            yield user("admin" if person == 0 else f"user{person:02}", tenant_id)
        for kind in ("teams", "slack"):
            yield mapping(kind, f"{kind}{number:05}", tenant_id)
            yield {"pk": f"CHANNEL#{kind}#{kind}{number:05}", "sk": "OWNER", "tenant_id": tenant_id}


def fill(client: Any, table: str, total: int) -> None:
    """Write all items, 25 at a time, from a few threads."""
    from tests.store import to_dynamodb

    def write(batch: list[dict[str, Any]]) -> None:
        requests = [{"PutRequest": {"Item": to_dynamodb(each)}} for each in batch]
        while requests:
            answer = client.batch_write_item(RequestItems={table: requests})
            requests = answer.get("UnprocessedItems", {}).get(table, [])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, batches(items(total))))


def batches(found: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Lists of 25."""
    batch: list[dict[str, Any]] = []
    for each in found:
        batch.append(each)
        if len(batch) == 25:
            yield batch
            batch = []
    if batch:
        yield batch


def questions() -> dict[str, Callable[[], object]]:
    """What is asked, by name."""
    from console.staff.permissions import Role, Scope, Staff
    from tenants.keys import Channel
    from tenants.queries import list_tenants, load_tenant, owners_of

    everything = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
    some = Staff("olga.novak", "Olga", Role.ONBOARDING, Scope(ids=frozenset(f"tenant-{n:05}" for n in range(20))))
    return {
        "list, scope all": lambda: list_tenants(everything),
        "list, 20 in scope": lambda: list_tenants(some),
        "one tenant": lambda: load_tenant("tenant-00007", everything),
        "whose a channel is": lambda: owners_of(Channel("teams", "teams00007")),
    }


def measured(question: Callable[[], object]) -> tuple[float, list[Any]]:
    """One answer: milliseconds and calls."""
    from console.dynamodb import calls

    with calls.budget(None) as budget:
        started = time.perf_counter()
        question()
        return (time.perf_counter() - started) * 1000, budget.calls


def compare(sizes: tuple[int, int], repeats: int) -> dict[str, Any]:
    """Figures of every question at both sizes, taken in turn."""
    figures: dict[str, Any] = {}
    for name, question in questions().items():
        taken: dict[int, list[tuple[float, list[Any]]]] = {size: [] for size in sizes}
        for number in range(repeats + 1):
            for size in sizes:
                with environment(f"bench{size}"):
                    measured(question)  # so that connections and what is remembered of the tables are there
                    if number:
                        taken[size].append(measured(question))
        figures[name] = {
            size: {
                "ms": round(statistics.median(ms for ms, _ in rounds), 2),
                "calls": len(rounds[-1][1]),
                "operations": sorted({f"{call.operation} {call.index}".strip() for call in rounds[-1][1]}),
                "units": round(sum(call.units for call in rounds[-1][1]), 1),
            }
            for size, rounds in taken.items()
        }
        few, many = (figures[name][size] for size in sizes)
        figures[name]["ratio"] = {
            key: round(many[key] / few[key], 2) if few[key] else None for key in ("ms", "calls", "units")
        }
    return figures


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--quick", action="store_true", help="fewer tenants, for a look")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.dynamodb.definition import create_table_request
    from console.dynamodb.registry import TABLES, table_name
    from tests.dynamodb_local import DynamoDBLocal, plain_client

    sizes = (20, 200) if options.quick else (20, 2_000)
    with DynamoDBLocal() as local:
        settings.DYNAMODB_ENDPOINT = local.endpoint
        client = plain_client(local.endpoint)
        for size in sizes:
            with environment(f"bench{size}"):
                for key in TABLES:
                    client.create_table(**create_table_request(key))
                started = time.perf_counter()
                fill(client, table_name("TENANTS"), size)
                print(f"{size:,} tenants written in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        figures = compare(sizes, options.repeats)
    if options.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(name)
        for size in sizes:
            one = found[size]
            asked = ", ".join(one["operations"])
            print(f"  {size:>5,} tenants: {one['calls']} calls ({asked}), {one['units']} units, {one['ms']} ms")
        print(f"  ratio: {found['ratio']}")


if __name__ == "__main__":
    main()
