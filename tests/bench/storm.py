"""What others notice while many people sign in at once, as after a deployment or in the morning.

    python -m tests.bench.storm [--people 32] [--rounds 5] [--json]

gunicorn runs as in production, with the console's own password hashing, on dynoxide. In each round so many people, each
with an account and a browser, send their password at the same instant, and whoever is refused tries again when told
to. Meanwhile four others keep the queue open and ask without a pause. Prints the milliseconds of their requests with
and without a storm, how many were refused and what they were told, and how long it took until everybody was in.
"""

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from tests.bench.gunicorn import environment_of, serving

PASSWORD = "a storm of sign-ins 7"
OTHERS, QUIET_SECONDS = 4, 3.0


def sign_in(number: int, seen: Any, start: threading.Barrier) -> tuple[float, list[str]]:
    """Sign in with the others. Returns after how many seconds it succeeded, and the Retry-After of each refusal."""
    from tests.bench.limits import Browser

    browser, told = Browser(number, "none=none", seen), []
    browser.ask("sign-in page", "GET", "/sign-in/")
    start.wait()
    began = time.monotonic()
    for _ in range(20):
        form = {"username": f"signs.in.{number:02}", "password": PASSWORD}
        status, headers, _ = browser.ask("sign-in", "POST", "/sign-in/", form)
        if status == 302:
            break
        told.append(headers.get("Retry-After", "nothing"))
        time.sleep(float(headers.get("Retry-After", 1)))
    return time.monotonic() - began, told


def run(options: argparse.Namespace, environment: dict[str, str]) -> dict[str, Any]:
    """All rounds; the figures."""
    from django.conf import settings

    from console.staff.passwords import hash_password
    from tests import people
    from tests.bench.limits import Browser
    from tests.bench.load import COMPANY, Seen

    cookies = []
    for number in range(OTHERS):
        account = people.member(f"other.{number}", scope=[COMPANY])
        cookie = people.signed_in(account).cookies[settings.SESSION_COOKIE_NAME].value
        cookies.append(f"{settings.SESSION_COOKIE_NAME}={cookie}")
    for number in range(options.people):
        account = people.member(f"signs.in.{number:02}", scope=[COMPANY])
        account.password_hash = hash_password(PASSWORD)
        account.save()
    quiet, stormy, signing = Seen(), Seen(), Seen()
    took, told = [], []
    with serving(environment), ThreadPoolExecutor(options.people + OTHERS) as pool:
        for _ in range(options.rounds):
            start, over = threading.Barrier(options.people + 1), threading.Event()
            people_in = [pool.submit(sign_in, number, signing, start) for number in range(options.people)]
            seen = [quiet]

            def look(number: int, seen: list[Seen] = seen, over: threading.Event = over) -> None:
                while not over.is_set():
                    Browser(number, cookies[number], seen[0]).ask("queue", "GET", "/queue/")

            others = [pool.submit(look, number) for number in range(OTHERS)]
            time.sleep(QUIET_SECONDS)
            seen[0] = stormy
            start.wait()
            done = [each.result() for each in people_in]
            over.set()
            for each in others:
                each.result()
            took.append(max(seconds for seconds, _ in done))
            told += [each for _, words in done for each in words]
    return {
        "load of the machine": os.getloadavg()[0],
        "others, quiet": _figures(quiet.milliseconds["queue"]),
        "others, in a storm": _figures(stormy.milliseconds["queue"]),
        "sign-ins": _figures(signing.milliseconds["sign-in"]),
        "answers": dict(sorted(signing.statuses.items())),
        "Retry-After": {each: told.count(each) for each in sorted(set(told))},
        "seconds until everybody was in": [round(each, 1) for each in took],
    }


def _figures(milliseconds: list[float]) -> dict[str, int]:
    points = statistics.quantiles(milliseconds, n=20)
    figures = {"median": points[9], "95th percentile": points[18], "worst": max(milliseconds)}
    return {name: round(each) for name, each in (figures | {"requests": len(milliseconds)}).items()}


def main() -> None:
    """Run it on a DynamoDB of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--people", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    from demo.dynoxide import Dynoxide

    with ExitStack() as running:
        engine = running.enter_context(Dynoxide())
        environment = environment_of(running.enter_context(tempfile.TemporaryDirectory()), engine.endpoint)
        # One address of a network for everybody.
        os.environ["SIGN_IN_ATTEMPTS_PER_ADDRESS"] = "100000"
        import django

        django.setup()
        from tests.dynamodb import Store

        Store(engine.endpoint).create_tables()
        figures = run(options, environment)
    if options.json:
        print(json.dumps(figures))
        return
    for name, each in figures.items():
        print(f"{name}: {each}")


if __name__ == "__main__":
    main()
