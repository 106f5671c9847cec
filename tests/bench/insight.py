"""What the reports of Insight cost for 90 days of a company with 1,000 to 1,000,000 conversations.

    python -m tests.bench.insight [--json] [--repeats N] [--most N]

Makes facts as conversations of a lively company would (ten projects, three channels, four models), sums them up by day
as the console does, and stores the sums on dynoxide; the facts themselves no page reads. Then it asks for the
reports as tests.bench does, beside their bare calls.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from tests.bench.__main__ import Browser, Page, company_of, measure
from tests.bench.gunicorn import environment_of, serving

SIZES = (1_000, 10_000, 100_000, 1_000_000)
DAYS = 90
REPORTS = ("overview", "waits", "hand-offs", "failures", "cost")
MODELS = ("gpt-4o", "gpt-4o-mini", "claude-3-5-sonnet-20241022", "a-deployment-of-ours")
REASONS = ("asked for a person", "complaint", "payment", "the AI cannot answer", "identity", "other")
INTENTS = tuple(f"intent_{number}" for number in range(12))
BANDS = ("0.9 and more", "0.7 to 0.9", "0.5 to 0.7", "under 0.5")
FAILURES = ("failed_to_process_ai", "failed_to_send_message", "failed_secrets_fetch", "failed_unknown")


def facts(count: int, day: str, chance: random.Random) -> Iterator[dict[str, Any]]:
    """The data of so many facts of one day."""
    for _ in range(count):
        answers = chance.randint(1, 9)
        data: dict[str, Any] = {
            "project": f"pi-{chance.randrange(10)}",
            "channel": chance.choice(("whatsapp", "sms", "email")),
            "model": chance.choice(MODELS),
            "processor": f"1.{chance.randrange(4)}.0",
            "active": day,
            "customer": chance.randint(0, 6),
            "ai": answers,
            "last": chance.choice(("ai", "ai", "customer")),
            "tokens": {"prompt": chance.randint(200, 9_000), "completion": chance.randint(20, 900)},
            "first": 1 + int(chance.lognormvariate(2, 1)),
            "ms": {str(chance.randint(60, 95)): answers},
        }
        if chance.random() < 0.2:
            wait = int(chance.lognormvariate(6, 1.5))
            data |= {"asked": 1, "turns": answers, "waits": [wait], "answers": [wait + 60]}
            data |= {"reason": chance.choice(REASONS), "intent": chance.choice(INTENTS), "sure": chance.choice(BANDS)}
            data |= {"human": 2, "last": "human", "agents": {f"agent{chance.randrange(40):020}": [1, 2, 1]}}
        if chance.random() < 0.03:
            data |= {"failed": chance.choice(FAILURES), "why": "timeout", "hour": chance.randint(1, 24)}
        yield data


def build(endpoint: str, sizes: tuple[int, ...]) -> None:
    """The tables that pages ask, and the sums of each size's company."""
    from django.conf import settings

    from console import clock
    from console.provisioning.definition import create_table_request
    from console.schema.tables import TABLES
    from conversations.insight.facts import FactDay, FactKind
    from conversations.insight.measures import TOPICS, counts_of
    from conversations.insight.sums import Slice, write_sums
    from demo.server_process import plain_client

    settings.DYNAMODB_ENDPOINT = endpoint
    client = plain_client(endpoint)
    for key in TABLES:
        client.create_table(**create_table_request(key))
    today, chance = clock.now().date(), random.Random(1)
    for size in sizes:
        started = time.perf_counter()
        for number in range(DAYS):
            day = FactDay(FactKind.CONVERSATIONS, company_of(size), (today - timedelta(days=number)).isoformat())
            sums: dict[Any, Counter[tuple[str, ...]]] = {topic: Counter() for topic in TOPICS[day.kind]}
            for data in facts(size // DAYS, day.day, chance):
                for topic, counts in sums.items():
                    counts.update(counts_of(day.kind, topic, data))
            for topic, counts in sums.items():
                write_sums(day, topic, Slice(), counts, 1, clock.now())
        print(f"{size:,} facts summed up in {time.perf_counter() - started:.0f} s", file=sys.stderr)


def sign_in(sizes: tuple[int, ...]) -> str:
    """The cookie of an auditor of all these companies."""
    from django.conf import settings

    from tests import people

    account = people.member("bench.auditor", role="auditor", scope=[f"company:{company_of(each)}" for each in sizes])
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={people.signed_in(account).cookies[name].value}"


def main() -> None:
    """Build, serve, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--repeats", type=int, default=30, help="of each page (30)")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="conversations of the largest company")
    options = parser.parse_args()
    sizes = tuple(each for each in SIZES if each <= options.most)
    with tempfile.TemporaryDirectory() as records:
        from demo.dynoxide import Dynoxide

        with Dynoxide() as engine:
            environment = environment_of(records, engine.endpoint)
            import django

            django.setup()
            build(engine.endpoint, sizes)
            browser = Browser(sign_in(sizes))
            pages = {
                f"{report}@{size}": Page(f"/insight/{report}/?company={company_of(size)}&period={DAYS}", browser)
                for report in REPORTS
                for size in sizes
            }
            with serving(environment):
                measure(pages, options.repeats)
    found = {name: page.figures() for name, page in pages.items()}
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'report':28}{'ms':>8}{'bare':>8}{'ratio':>7}{'rcu':>6}{'KB':>7}  requests besides who asks")
    for name, one in found.items():
        cost = f"{one['ms']:8}{one['bare_ms']:8}{one['ratio']:7}{one['rcu']:6}{one['page_kb']:7}"
        print(f"{name:28}{cost}  {' '.join(one['requests'])}")


if __name__ == "__main__":
    main()
