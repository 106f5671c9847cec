"""What the review across conversations costs with few entries and with many, on DynamoDB Local.

    python -m tests.bench.audit [--json] [--quick] [--repeats N]

Builds trails of 1,000 and of 100,000 entries (with --quick of 200 and 2,000) over a twentieth as many conversations,
and asks both in turn for the first page of the same reviews. Prints for each: calls, capacity units and the median of
the milliseconds, and the ratio of many to few.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
COMPANY = "ci-cuc-001"
KINDS = (
    *("route", "route", "route", "route", "tag", "tag", "auto_reply", "auto_reply", "escalate"),
    *("hand_off.take_over", "hand_off.hand_back", "transcript.opened"),
)


def item(number: int, total: int) -> dict[str, Any]:
    """One entry, newest first; those of the console name actor and company."""
    at = datetime.now(UTC) - timedelta(seconds=number)
    kind = KINDS[number % len(KINDS)]
    conversation = f"{COMPANY}#pi-cuc-001#req-{number % max(1, total // 20):06}"
    entry = {
        "conversation_id": conversation,
        "ts_action_id": f"{at.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}#{number:08}",
        "action_type": kind,
        "action_payload_redacted": json.dumps({"team": "Returns", "confidence": 0.87, "note": "x" * 300}),
        "idempotency_key": f"act:rp_reply:{conversation}:m{number}",
        "result": "success" if number % 50 else "failed: no team",
        "expires_at": int(time.time()) + 5_000_000,
    }
    if "." in kind:
        names = {"actor": f"agent.{number % 30}", "actor_role": "agent", "company_id": COMPANY}
        entry |= names | {"gsi_actor": names["actor"], "gsi_company_id": COMPANY}
    return entry


@contextmanager
def environment(name: str) -> Iterator[None]:
    """The console's tables under names of their own."""
    from django.test import override_settings

    from console.dynamodb import presence

    with override_settings(CONSOLE_ENV=name):
        presence.forget()
        yield
    presence.forget()


def fill(client: Any, table: str, total: int) -> None:
    """Write all entries, 25 at a time, from a few threads."""
    from tests.store import to_dynamodb

    def write(start: int) -> None:
        requests = [{"PutRequest": {"Item": to_dynamodb(item(n, total))}} for n in range(start, min(start + 25, total))]
        while requests:
            answer = client.batch_write_item(RequestItems={table: requests})
            requests = answer.get("UnprocessedItems", {}).get(table, [])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(0, total, 25)))


def measured(review: Any, staff: Any) -> tuple[float, list[Any], int]:
    """One first page: milliseconds, calls, entries."""
    from console.audit.review.reading import read_review
    from console.dynamodb import calls

    with calls.budget(None) as budget:
        started = time.perf_counter()
        found = read_review(review, staff)
        return (time.perf_counter() - started) * 1000, budget.calls, len(found.entries)


def compare(sizes: tuple[int, int], repeats: int) -> dict[str, Any]:
    """Figures of every review at both sizes, taken in turn."""
    from console.audit.review.filters import BEGINNING, Review
    from console.staff.permissions import Role, Scope, Staff

    staff = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))
    reviews = {
        "one action type": Review(("route",)),
        "what a review begins with": Review(BEGINNING),
        "one actor": Review(actor="agent.9"),
        "one conversation": Review(conversation=item(0, sizes[0])["conversation_id"]),
    }
    figures: dict[str, Any] = {}
    for name, review in reviews.items():
        taken: dict[int, list[tuple[float, list[Any], int]]] = {size: [] for size in sizes}
        for number in range(repeats + 1):
            for size in sizes:
                with environment(f"bench{size}"):
                    measured(review, staff)  # so that connections and what is remembered of the tables are there
                    if number:
                        taken[size].append(measured(review, staff))
        figures[name] = {
            size: {
                "ms": round(statistics.median(ms for ms, _, _ in rounds), 2),
                "calls": len(rounds[-1][1]),
                "operations": sorted({call.operation for call in rounds[-1][1]}),
                "units": round(sum(call.units for call in rounds[-1][1]), 1),
                "entries": rounds[-1][2],
                "action types": len(review.actions),
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
    parser.add_argument("--quick", action="store_true", help="small tables, for a look")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    import django

    django.setup()
    from django.conf import settings

    from console.dynamodb.definition import create_table_request
    from console.dynamodb.registry import TABLES, table_name
    from tests.dynamodb_local import DynamoDBLocal, plain_client

    sizes = (200, 2_000) if options.quick else (1_000, 100_000)
    with DynamoDBLocal() as local:
        settings.DYNAMODB_ENDPOINT = local.endpoint
        client = plain_client(local.endpoint)
        for size in sizes:
            with environment(f"bench{size}"):
                for key in TABLES:
                    client.create_table(**create_table_request(key))
                started = time.perf_counter()
                fill(client, table_name("AUDIT"), size)
                print(f"{size:,} entries written in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        figures = compare(sizes, options.repeats)
    if options.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(name)
        for size in sizes:
            one = found[size]
            print(
                f"  {size:>7,} entries: {one['calls']} calls ({', '.join(one['operations'])}), {one['units']} units, "
                f"{one['ms']} ms, {one['entries']} entries on the page"
            )
        print(f"  ratio: {found['ratio']}")


if __name__ == "__main__":
    main()
