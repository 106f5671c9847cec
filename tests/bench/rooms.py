"""How many of the console's files and functions one request enters: what somebody reads who follows it.

    python -m tests.bench.rooms [--files] [--json] [REQUEST ...]

Counted are functions of the console's own (`console/`, `tenants/`, `conversations/`) whose code runs between a request
and its answer, whatever calls them: middlewares, the view, template tags, PynamoDB's and botocore's hooks, and threads
that the request starts. A function counts once however often it runs; lambdas and comprehensions are part of the
function that they stand in; a file counts when one of its functions does.

Each request is made once before it is counted, about an object of its own, so that what a worker looks up once (routes,
templates, clients) is not in the count. The store is the tests' own, in this process, with `tests.scenario` in it.
--files lists the files with the functions that run.
"""

import argparse
import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from console.permissions import Staff

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(f"{ROOT / app}{os.sep}" for app in ("console", "tenants", "conversations"))
PARTS_OF_FUNCTIONS = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<module>")

Found = dict[str, set[str]]
Ask = Callable[[], Any]
# What has to be there before a request is made is not part of it.
Prepare = Callable[[], Ask]


@contextmanager
def entered() -> Iterator[Found]:
    """The functions that are entered meanwhile, in this thread and those that it starts, by file."""
    found: Found = defaultdict(set)
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in seen:
            return
        seen.add(code)
        path = code.co_filename
        if path.startswith(OURS) and code.co_name not in PARTS_OF_FUNCTIONS:
            found[str(Path(path).relative_to(ROOT))].add(code.co_qualname)

    # Threads are told by `setprofile` only when they begin, and those of the pool live on from request to request.
    with ThreadPoolExecutor(16, "dynamodb") as pool, mock.patch("console.store.calls._pool", pool):
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            yield found
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def count(warm: Prepare, counted: Prepare) -> Found:
    """The functions that a request enters, by file. Raises `RuntimeError` where it is not answered as usual."""
    _checked(warm()())
    ask = counted()
    with entered() as found:
        answer = ask()
    _checked(answer)
    return found


def _checked(answer: Any) -> None:
    if answer.status_code not in (200, 302):
        raise RuntimeError(f"{answer.request['PATH_INFO']} answered {answer.status_code}")


def requests_of(store: Any) -> Mapping[str, tuple[Prepare, Prepare]]:
    """Each request by its name: the one to warm up with, and the one to count."""
    from django.urls import reverse

    from tests.people import signed_in
    from tests.scenario import build, hand_offs, posts
    from tests.scenario.requests import ref

    scenario = build(store)
    ours = scenario.ours
    agent, auditor, admin = (signed_in(scenario.people[role]) for role in ("agent", "auditor", "admin"))

    def get(browser: Any, address: str) -> tuple[Prepare, Prepare]:
        return (lambda: lambda: browser.get(address),) * 2

    def take_over(purpose: str) -> Ask:
        address = reverse("conversation-hand-off", args=[ref(ours, purpose)])
        forms = hand_offs(ours, Staff.of(scenario.people["agent"]))
        form = next(form for url, form in forms if url == address)
        return lambda: agent.post(address, form)

    def save_settings(messages_per_day: str) -> Ask:
        address, form = posts(ours, scenario, scenario.people["admin"])["tenant-settings-change"][0]
        return lambda: admin.post(address, form | {"messages_per_day": messages_per_day})

    return {
        "help": get(agent, reverse("help")),
        "take-over": (lambda: take_over("waiting"), lambda: take_over("ai")),
        "company list": get(agent, reverse("company", args=[ours.company_id])),
        "queue": get(agent, reverse("queue")),
        "tenant settings": (lambda: save_settings("1234"), lambda: save_settings("4321")),
        "audit review": get(auditor, reverse("audit")),
        "insight": get(auditor, reverse("insight", query={"company": ours.company_id})),
        "conversation": get(agent, reverse("conversation", args=[ours.conversation_ref])),
    }


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("request", nargs="*", help="names of requests (default: all)")
    parser.add_argument("--files", action="store_true", help="list the files and their functions")
    parser.add_argument("--json", action="store_true", help="print one object: functions by file by request")
    options = parser.parse_args()

    import django

    django.setup()
    from django.conf import settings

    from demo.embedded import EmbeddedDynamoDB
    from tests.dynamodb import Store

    with EmbeddedDynamoDB() as embedded:
        settings.DYNAMODB_ENDPOINT = embedded.endpoint
        store = Store(embedded.endpoint, embedded=True)
        store.create_tables()
        prepared = requests_of(store)
        counts = {name: count(*prepared[name]) for name in options.request or prepared}
    if options.json:
        print(
            json.dumps({name: {path: sorted(found[path]) for path in sorted(found)} for name, found in counts.items()})
        )
        return
    print(f"{'request':<16} {'files':>5} {'functions':>9}")
    for name, found in counts.items():
        print(f"{name:<16} {len(found):>5} {sum(map(len, found.values())):>9}")
        if options.files:
            for path in sorted(found):
                print(f"    {path}: {', '.join(sorted(found[path]))}")


if __name__ == "__main__":
    main()
