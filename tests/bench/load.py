"""Agents at one queue at once: nobody takes what another one has, nothing fails, and memory stays flat.

    python -m tests.bench.load [--agents 50] [--minutes 10] [--json]

gunicorn serves the console as in production, on dynoxide. Each agent has a browser of their own: it keeps the
queue open (asks with the tag that it has, once a second), and now and then takes whoever has waited longest, reads the
conversation and hands it back. Meanwhile the platform asks for humans. At the end the trail tells whether any
conversation was taken twice: of two takes that replaced the same action, one would be too many.
"""

import argparse
import http.client
import itertools
import json
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.bench.gunicorn import PORT, environment_of, memory_of, serving

COMPANY = "ci-load"
ASKED_PER_SECOND = 4
BETWEEN_POLLS = 1.0
BETWEEN_TAKES = 20.0


@dataclass
class Seen:
    """What all agents together saw."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int, ms: float) -> None:
        """One answer."""
        with self.lock:
            self.milliseconds.setdefault(what, []).append(ms)
            self.statuses[f"{what} {status}"] += 1


class Agent:
    """One person and their browser."""

    def __init__(self, number: int, cookie: str, seen: Seen) -> None:
        self._random = random.Random(number)
        self._cookie, self._csrf, self._tag, self._seen = cookie, "", "", seen
        self._connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)

    def ask(self, what: str, method: str, address: str, form: dict[str, str] | None = None, **headers: str) -> Any:
        """Status, headers and body of one answer."""
        cookies = f"{self._cookie}; csrf={self._csrf}" if self._csrf else self._cookie
        sent = {"Cookie": cookies, "Referer": f"http://127.0.0.1:{PORT}/queue/", **headers}
        body = None
        if form is not None:
            body = urlencode({"csrfmiddlewaretoken": self._csrf, **form})
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        started = time.perf_counter()
        self._connection.request(method, address, body=body, headers=sent)
        answer = self._connection.getresponse()
        content = answer.read()
        self._seen.note(what, answer.status, (time.perf_counter() - started) * 1000)
        told = answer.msg
        for cookie in told.get_all("Set-Cookie") or ():
            if found := re.match(r"csrf=([^;]+)", cookie):
                self._csrf = found[1]
        return answer.status, told, content.decode()

    def work(self, until: float) -> None:
        """Poll and take until then."""
        try:
            self._work(until)
        except Exception as error:
            self._seen.errors.append(f"{type(error).__name__}: {error}")

    def _work(self, until: float) -> None:
        take_at = time.monotonic() + self._random.uniform(0, BETWEEN_TAKES)
        while time.monotonic() < until:
            headers = {"X-Poll": "1"} | ({"If-None-Match": self._tag} if self._tag else {})
            _, told, _ = self.ask("poll", "GET", "/queue/", **headers)  # type: ignore[arg-type]
            self._tag = told.get("ETag", self._tag)
            if time.monotonic() > take_at:
                self._take_and_hand_back()
                take_at = time.monotonic() + self._random.uniform(0.5, 1.5) * BETWEEN_TAKES
            time.sleep(self._random.uniform(0.5, 1.5) * BETWEEN_POLLS)

    def _take_and_hand_back(self) -> None:
        _, _, page = self.ask("queue", "GET", "/queue/")
        token = re.search(r'name="token" value="([^"]+)"', page)
        if token is None:
            raise RuntimeError("the queue actions nothing to take with")
        _, told, _ = self.ask("take", "POST", "/queue/take/", {"token": token[1]})
        address = told.get("Location", "")
        if not address.startswith("/conversations/"):
            return
        _, _, page = self.ask("conversation", "GET", address)
        back = re.search(r'name="intent" value="([^"]+)"[^>]*data-key="r"', page)
        if back is None:
            raise RuntimeError("who took a conversation cannot hand it back")
        self.ask("hand back", "POST", f"{urlsplit(address).path}hand-off/", {"intent": back[1]})


def ask_for_humans(client: Any, table: str, until: float) -> None:
    """What platform and indexer do: conversations that wait, until then."""
    from console import clock
    from conversations.handoff.stored import waiting_in
    from tests.dynamodb import to_dynamodb
    from tests.items import conversation

    for number in itertools.count():
        if time.monotonic() > until:
            return
        now = clock.to_iso(clock.now() - timedelta(milliseconds=number % 7))
        waits = {"hand_off_to_human": True, "hand_off_to_human_reason": "Wants a person", "hand_off_requested_at": now}
        item = conversation(company_id=COMPANY, gsi_hand_off_queue=waiting_in(COMPANY), **waits)
        client.put_item(TableName=table, Item=to_dynamodb(item))
        time.sleep(1 / ASKED_PER_SECOND)


def taken_twice(client: Any, table: str) -> int:
    """How many successful takes of the trail replaced an action that another one had replaced already."""
    replaced: Counter[tuple[str, str]] = Counter()
    start: dict[str, Any] = {}
    while True:
        answer = client.scan(TableName=table, **start)
        for item in answer["Items"]:
            if item["action_type"]["S"] == "hand_off.take" and item["result"]["S"] == "success":
                replaced[item["conversation_id"]["S"], item.get("previous_action_id", {}).get("S", "")] += 1
        if "LastEvaluatedKey" not in answer:
            return sum(count - 1 for count in replaced.values())
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def run(agents: int, minutes: float, environment: dict[str, str]) -> dict[str, Any]:
    """All of it; the figures."""
    from django.conf import settings

    from console.provisioning.definition import create_table_request
    from console.schema.tables import TABLES
    from console.store.calls import table_name
    from demo.server_process import plain_client
    from tests import people
    from tests.dynamodb import Store
    from tests.queue import filled

    client = plain_client(settings.DYNAMODB_ENDPOINT)
    for key in TABLES:
        client.create_table(**create_table_request(key))
    store = Store(settings.DYNAMODB_ENDPOINT)
    filled(store)
    lease = {name: store.all("CONSOLE")[0][name] for name in ("pk", "sk")}
    store.update("CONSOLE", lease, beat_at="2099-01-01T00:00:00Z")
    seen, name = Seen(), settings.SESSION_COOKIE_NAME
    working = []
    for number in range(agents):
        browser = people.signed_in(people.member(f"agent.{number:02}", scope=[COMPANY]))
        working.append(Agent(number, f"{name}={browser.cookies[name].value}", seen))
    memory = []
    with serving(environment) as server:
        until = time.monotonic() + minutes * 60
        threads = [threading.Thread(target=agent.work, args=(until,)) for agent in working]
        threads.append(threading.Thread(target=ask_for_humans, args=(client, table_name("CONVERSATIONS"), until)))
        started = time.monotonic()
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            threads[0].join(min(15.0, minutes * 6))
            memory.append(sum(memory_of(server)))
        taken = time.monotonic() - started
    served = sum(seen.statuses.values())
    return {
        "agents": agents,
        "minutes": minutes,
        "requests_per_second": round(served / taken, 1),
        "milliseconds": {what: _spread(values) for what, values in sorted(seen.milliseconds.items())},
        "statuses": dict(sorted(seen.statuses.items())),
        "errors": seen.errors,
        "taken_twice": taken_twice(client, table_name("AUDIT")),
        "memory_mb_of_all_workers": {
            "after a tenth": round(memory[len(memory) // 10], 1),
            "in the middle": round(memory[len(memory) // 2], 1),
            "at the end": round(memory[-1], 1),
        },
    }


def _spread(values: list[float]) -> dict[str, float]:
    values.sort()
    return {
        "count": len(values),
        "median": round(statistics.median(values), 1),
        "p99": round(values[min(len(values) - 1, int(len(values) * 0.99))], 1),
    }


def main() -> None:
    """Serve, let them work, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    from demo.dynoxide import Dynoxide

    with tempfile.TemporaryDirectory() as records, Dynoxide() as engine:
        environment = environment_of(records, engine.endpoint)
        import django

        django.setup()
        figures = run(options.agents, options.minutes, environment)
    print(json.dumps(figures) if options.json else json.dumps(figures, indent=1))
    if figures["errors"] or figures["taken_twice"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
