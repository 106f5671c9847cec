"""What the console's pages cost at 1,000, 10,000 and 100,000 conversations of one company.

    python -m tests.bench [--json] [--quick] [--repeats N]

Builds its own data on dynoxide (conversations of 8 KB, a trail), serves the console by gunicorn as in production, and
asks for its pages through HTTP as a signed-in agent, and for the audit review as an auditor: each page in turn with all
the others and with the bare DynamoDB calls that it makes (tests.bench.served). Prints medians and ratios, and the CPU
that the console itself spends on a page, without the store's: the least and the median. --json prints one object;
--quick builds a hundredth and ends within a minute.
"""

import argparse
import http.client
import json
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.bench.gunicorn import PORT, environment_of, memory_of, serving

SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (200, 1_000, 2_000)
HELD, WAITING_BESIDE_HELD = 1_000, 10
DEEP = 8
# Those of a conversation with so many messages.
MESSAGES = 200
# Entries of the trail, of as many conversations as a review of a busy platform shows: each other one is of another.
ENTRIES = 2_000


@dataclass
class Page:
    """One page: where it is, who asks for it, and what its answers took (ms).

    `cpu` is what the console's process spent, `bare` what the page's DynamoDB calls alone took.
    """

    address: str
    browser: "Browser"
    ms: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    units: float = 0
    bytes: int = 0

    def figures(self) -> dict[str, Any]:
        """Medians, the ratio to the bare calls, and what it costs besides the one read of who asks."""
        ms, bare = statistics.median(self.ms), statistics.median(self.bare)
        return {
            "ms": round(ms, 2),
            "bare_ms": round(bare, 2),
            "ratio": round(ms / bare, 2),
            "cpu_ms": {"least": round(min(self.cpu), 2), "median": round(statistics.median(self.cpu), 2)},
            "requests": self.requests,
            "rcu": self.units,
            "page_kb": round(self.bytes / 1000, 1),
        }


class Browser:
    """A signed-in person. All share one connection, which gunicorn would close if it were idle for some seconds."""

    _connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)

    def __init__(self, cookie: str) -> None:
        self._cookie = cookie

    def get(self, address: str, **headers: str) -> tuple[bytes, dict[str, str], float]:
        """Body, headers, milliseconds. Raises where the answer is not 200."""
        started = time.perf_counter()
        self._connection.request("GET", address, headers={"Cookie": self._cookie, **headers})
        answer = self._connection.getresponse()
        body = answer.read()
        taken = (time.perf_counter() - started) * 1000
        if answer.status != 200:
            raise RuntimeError(f"{urlsplit(address).path} answered {answer.status}: {body[:300]!r}")
        return body, {name.lower(): value for name, value in answer.getheaders()}, taken


def company_of(size: int | str) -> str:
    """Id of the company that has so many conversations."""
    return f"ci-{size}"


def build(endpoint: str, sizes: tuple[int, ...]) -> str:
    """All tables and the data; the sealed reference of the conversation with many messages."""
    from django.conf import settings

    from console import clock
    from console.provisioning.definition import create_table_request
    from console.schema.tables import TABLES
    from console.store.calls import table_name
    from conversations.converting import reference_of
    from conversations.handoff.stored import attention_in, held_in, urgent_in, waiting_in
    from conversations.queue_index.refreshing import fill_partitions
    from demo.server_process import plain_client
    from tests.bench import audit, platform, side_by_side
    from tests.dynamodb import to_dynamodb
    from tests.items import backfill_done

    settings.DYNAMODB_ENDPOINT = endpoint
    client = plain_client(endpoint)
    for key in TABLES:
        request = create_table_request(key)
        if key == "CONVERSATIONS":
            # Nothing here asks the local indexes; each would hold all the data once more.
            del request["LocalSecondaryIndexes"]
            kept = [each for each in request["GlobalSecondaryIndexes"] if "-recipient-" not in each["IndexName"]]
            used = {each["AttributeName"] for index in kept for each in index["KeySchema"]}
            used |= {each["AttributeName"] for each in request["KeySchema"]}
            request["GlobalSecondaryIndexes"] = kept
            definitions = request["AttributeDefinitions"]
            request["AttributeDefinitions"] = [each for each in definitions if each["AttributeName"] in used]
            request.pop("StreamSpecification")
        client.create_table(**request)
    companies = [
        platform.Company(
            company_of(size), size, size // 10, urgent=min(500, size // 20), attention=min(1_000, size // 10)
        )
        for size in sizes
    ]
    companies.append(platform.Company(company_of("held"), HELD + WAITING_BESIDE_HELD, WAITING_BESIDE_HELD, HELD))
    started = time.perf_counter()
    platform.write(endpoint, table_name("CONVERSATIONS"), companies)
    taken = time.perf_counter() - started
    print(f"{sum(sizes):,} conversations of {platform.size_of_an_item():,} bytes in {taken:.0f} s", file=sys.stderr)
    text = json.dumps(platform.item(MESSAGES)).replace("@company@", company_of("long")).replace("@number@", "9999999")
    long = json.loads(
        text.replace("@created@", clock.to_iso(clock.now())).replace("@updated@", clock.to_iso(clock.now()))
    )
    client.put_item(TableName=table_name("CONVERSATIONS"), Item=to_dynamodb(long))
    side_by_side.fill(client, table_name("AUDIT"), audit.items(ENTRIES))
    client.put_item(TableName=table_name("CONSOLE"), Item=to_dynamodb(backfill_done()))
    now = clock.to_iso(clock.now())
    beat = {"pk": "INDEXER", "sk": "LEASE", "mode": "stream", "beat_at": "2099-01-01T00:00:00Z"}
    beat |= dict.fromkeys(("last_sweep_at", "backfilled_at", "partitions_at"), now)
    client.put_item(TableName=table_name("CONSOLE"), Item=to_dynamodb(beat))
    states = (urgent_in, waiting_in, held_in, attention_in)
    fill_partitions({state(each.company_id) for each in companies for state in states})
    return reference_of(long["primary_channel"], long["conversation_id"])


def browsers(sizes: tuple[int, ...]) -> tuple[Browser, Browser]:
    """Those of an agent of all these companies, and of an auditor of everything."""
    from tests import people

    scope = [company_of(each) for each in [*map(str, sizes), "held", "long"]]
    agent = people.member("bench.agent", scope=scope)
    return _signed_in(agent), _signed_in(people.member("bench.auditor", role="auditor", scope=["*"]))


def _signed_in(account: Any) -> Browser:
    from django.conf import settings

    from tests import people

    name = settings.SESSION_COOKIE_NAME
    return Browser(f"{name}={people.signed_in(account).cookies[name].value}")


def pages_of(browser: Browser, auditor: Browser, sizes: tuple[int, ...], reference: str) -> dict[str, Page]:
    """Every page that is measured, by name."""
    from tests.bench.platform import PROJECT

    pages = {}
    for size in sizes:
        lists, queue = f"/conversations/companies/{company_of(size)}/", f"/queue/?company={company_of(size)}"
        pages[f"list_of_50@{size}"] = Page(lists, browser)
        pages[f"project_of_50@{size}"] = Page(f"{lists}projects/{PROJECT}/", browser)
        pages[f"queue_of_25@{size}"] = Page(queue, browser)
        pages[f"attention_of_25@{size}"] = Page(f"{queue}&tab=attention", browser)
        if size != sizes[1]:
            pages[f"list_of_50_deep@{size}"] = Page(following(browser, lists, DEEP if size >= 1000 else 2), browser)
            pages[f"queue_of_25_deep@{size}"] = Page(following(browser, queue, 3 if size >= 1000 else 0), browser)
    pages["queue_beside_1000_held"] = Page(f"/queue/?company={company_of('held')}", browser)
    pages[f"conversation_of_{MESSAGES}"] = Page(f"/conversations/{reference}/", browser)
    pages["audit_review_of_50"] = Page("/audit/", auditor)
    return pages


def following(browser: Browser, address: str, times: int) -> str:
    """The address of a later page."""
    for _ in range(times):
        body, _, _ = browser.get(address)
        found = re.search(rb'rel="next" href="([^"]+)"', body)
        if found is None:
            break
        address = found[1].decode().replace("&amp;", "&")
    return address


def measure(pages: dict[str, Page], repeats: int) -> None:
    """Ask for everything in turn, `repeats` times."""
    for page in pages.values():
        browser = page.browser
        for _ in range(6):  # so that both workers have what they remember
            browser.get(page.address)
        page.bytes = len(browser.get(page.address)[0])
        _, told, _ = browser.get(page.address, **{"X-Record": "1"})
        page.requests, page.units = told["x-calls"].split(), float(told["x-units"])
        for _ in range(4):
            browser.get(f"/bare{page.address}")
    for _ in range(repeats):
        for page in pages.values():
            _, told, taken = page.browser.get(page.address)
            page.ms.append(taken)
            page.cpu.append(float(told["x-cpu-ms"]))
            page.bare.append(page.browser.get(f"/bare{page.address}")[2])


def report(pages: dict[str, Page], sizes: tuple[int, ...], memory: list[float]) -> dict[str, Any]:
    """Everything that was measured, as one object."""
    figures = {name: page.figures() for name, page in pages.items()}
    few, many = sizes[0], sizes[-1]

    def growth(kind: str, key: str = "ms") -> float | None:
        small, large = figures[f"{kind}@{few}"][key], figures[f"{kind}@{many}"][key]
        return round(large / small, 2) if small else None

    kinds = [name.partition("@")[0] for name in figures if name.endswith(f"@{few}")]
    return {
        "pages": figures,
        "cost_at_most_over_cost_at_fewest": {kind: {"ms": growth(kind), "rcu": growth(kind, "rcu")} for kind in kinds},
        "memory_mb_per_worker": memory,
        "sizes": list(sizes),
    }


def main() -> None:
    """Build, serve, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the data: for a look")
    parser.add_argument("--repeats", type=int, default=0, help="of each page (40; quick 12)")
    options = parser.parse_args()
    sizes = QUICK_SIZES if options.quick else SIZES
    repeats = options.repeats or (12 if options.quick else 40)
    with tempfile.TemporaryDirectory() as records:
        from demo.dynoxide import Dynoxide

        with Dynoxide() as engine:
            environment = environment_of(records, engine.endpoint)
            import django

            django.setup()
            reference = build(engine.endpoint, sizes)
            agent, auditor = browsers(sizes)
            with serving(environment) as process:
                pages = pages_of(agent, auditor, sizes, reference)
                measure(pages, repeats)
                memory = memory_of(process)
    found = report(pages, sizes, memory)
    if options.json:
        print(json.dumps(found))
        return
    heads = ("ms", "bare", "ratio", "cpu", "least", "rcu", "KB")
    print(f"{'page':28}{''.join(f'{each:>8}' for each in heads)}  requests besides who asks")
    for name, one in found["pages"].items():
        cpu = one["cpu_ms"]
        figures = (one["ms"], one["bare_ms"], one["ratio"], cpu["median"], cpu["least"], one["rcu"], one["page_kb"])
        print(f"{name:28}{''.join(f'{each:8}' for each in figures)}  {' '.join(one['requests'])}")
    for name, value in list(found.items())[1:]:
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
