"""How much one machine carries: agents at their pages, sign-ins, customers who write, and replies that leave.

    python -m tests.bench.limits [--agents 200] [--minutes 30] [--sign-ins 20] [--messages 60] [--json]

gunicorn and `manage.py work` run as in production, on dynoxide, ElasticMQ and the demo's provider, all on this
machine. Half of the agents keep the queue open and take over now and then; the others have a conversation open that
they hold, and answer what its customer writes. Pages ask as often as they say. Prints the 95th percentile of each kind
of request in milliseconds, every answer that is no success, how many messages and replies there were on each side, and
the memory of all processes over time.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.bench.gunicorn import ROOT, environment_of, memory_of, serving
from tests.bench.load import COMPANY, Agent, Seen, ask_for_humans, taken_twice

NUMBERS = 10
SUCCESS = ("200", "204", "302", "304")
PASSWORD = "a load of sign-ins 7"
BETWEEN_TAKES, QUEUE_POLL, CONVERSATION_POLL = 120.0, 8.0, 4.0


class Browser(Agent):
    """Opens a connection anew after a pause, as browsers do: the server closes those that are idle."""

    _used_at = 0.0

    def ask(self, what: str, method: str, address: str, form: dict[str, str] | None = None, **headers: str) -> Any:
        """As `Agent.ask`."""
        if time.monotonic() - self._used_at > 1:
            self._connection.close()
        try:
            return super().ask(what, method, address, form, **headers)
        finally:
            self._used_at = time.monotonic()


class AtQueue(Browser):
    """Keeps the queue open, takes who waited longest, and hands back."""

    def _work(self, until: float) -> None:
        time.sleep(self._random.uniform(0, QUEUE_POLL))
        take_at = time.monotonic() + self._random.uniform(0, BETWEEN_TAKES)
        while time.monotonic() < until:
            headers = {"X-Poll": "1"} | ({"If-None-Match": self._tag} if self._tag else {})
            _, told, _ = self.ask("queue's poll", "GET", "/queue/", **headers)  # type: ignore[arg-type]
            self._tag = told.get("ETag", self._tag)
            if time.monotonic() > take_at:
                self._take_and_hand_back()
                take_at = time.monotonic() + self._random.uniform(0.5, 1.5) * BETWEEN_TAKES
            time.sleep(QUEUE_POLL)


class AtConversation(Browser):
    """Has a conversation open, and answers each message of its customer."""

    def __init__(self, number: int, cookie: str, seen: Seen, address: str) -> None:
        super().__init__(number, cookie, seen)
        self._address = address
        self.answered = 0

    def _work(self, until: float) -> None:
        time.sleep(self._random.uniform(0, CONVERSATION_POLL))
        page = self._open()
        while time.monotonic() < until:
            time.sleep(CONVERSATION_POLL)
            poll = _one(r'data-poll="([^"]+)"', page).replace("&amp;", "&")
            known = {"since": _one(r'data-since="([^"]*)"', page), "shown": _one(r'data-shown="(\d+)"', page)}
            status, _, news = self.ask(
                "conversation's poll", "GET", f"{poll}?{urlencode(known)}", None, **{"X-Poll": "1"}
            )
            if status == 200 and "data-news" in news:
                page = self._open()
                form = {"reply": _one(r'name="reply" value="([^"]+)"', page), "text": f"Answer {self.answered}."}
                self.ask("reply", "POST", f"{self._address}reply/", form)
                self.answered += 1
                page = self._open()

    def _open(self) -> str:
        _, _, page = self.ask("conversation", "GET", self._address)
        return str(page)


def _one(pattern: str, page: str) -> str:
    if (found := re.search(pattern, page)) is None:
        raise RuntimeError(f"the page has no {pattern}")
    return found[1]


class SigningIn(Browser):
    """Signs in with a password, looks at the queue, and signs out."""

    def sign_in(self, username: str) -> None:
        """Once."""
        self._cookie = "none=none"
        self.ask("sign-in page", "GET", "/sign-in/")
        _, told, _ = self.ask("sign-in", "POST", "/sign-in/", {"username": username, "password": PASSWORD})
        found = [each for each in told.get_all("Set-Cookie") or () if each.startswith("session=")]
        if not found:
            raise RuntimeError("nobody was signed in")
        self._cookie = found[0].partition(";")[0]
        self.ask("queue", "GET", "/queue/")
        self.ask("sign-out", "POST", "/sign-out/", {})


def regularly(a_minute: float, until: float, do: Callable[[int], object], errors: list[str]) -> threading.Thread:
    """Do something so many times a minute, in a thread of its own."""

    def run() -> None:
        number, rng = 0, random.Random(a_minute)
        while time.monotonic() < until:
            try:
                do(number)
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
            number += 1
            time.sleep(rng.uniform(0.5, 1.5) * 60 / a_minute)

    return threading.Thread(target=run)


def write_as_customer(url: str, key: dict[str, str], number: int) -> None:
    """Put a customer's message into the platform's queue."""
    from console.store import queues
    from tests.store.conversations.receiving.test_handling import body

    said = f"Customer's message {number}."
    text = body(**key, message_sid=f"SM{number:06}", body=said, **{"from": f"whatsapp:{key['primary_channel']}"})
    queues.client().send_message(QueueUrl=url, MessageBody=text)


def held(store: Any, number: int, username: str) -> dict[str, str]:
    """Store a conversation that somebody holds and may answer in; its key."""
    from conversations.handoff.stored import held_in
    from tests.support.conversations.handoff.kit import conversation, held_by
    from tests.support.conversations.replies import SECRET, said

    key = {"primary_channel": f"+447700{number:06}", "conversation_id": f"{COMPANY}#p#{number}#1"}
    ours = {"company_whatsapp_number": f"+44113496{number % NUMBERS:04}", "whatsapp_credentials_id": SECRET}
    mine = held_by(username) | {"gsi_hand_off_queue": held_in(COMPANY), "company_id": COMPANY}
    more = {"recipient_tel": key["primary_channel"], "channel_config": {"whatsapp": ours}}
    store.put("CONVERSATIONS", conversation(**key, **more, messages=[said()], **mine))
    return key


@contextmanager
def work(environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """`manage.py work`, beside the web servers."""
    with (ROOT / ".cache" / "bench-work.log").open("w") as lines:
        command = [sys.executable, "manage.py", "work"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=lines, stderr=lines)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def resident(process: "subprocess.Popen[bytes]") -> float:
    """Resident MB of one process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(_one(r"VmRSS:\s+(\d+)", status)) / 1024


def run(options: argparse.Namespace, environment: dict[str, str], provider: Any) -> dict[str, Any]:
    """All of it; the figures."""
    from django.conf import settings

    from console.staff.passwords import hash_password
    from conversations.converting import reference_of
    from tests import people
    from tests.dynamodb import Store

    store, seen, name = Store(settings.DYNAMODB_ENDPOINT), Seen(), settings.SESSION_COOKIE_NAME
    agents: list[Agent] = []
    keys = []
    for number in range(options.agents):
        account = people.member(f"agent.{number:03}", scope=[COMPANY])
        cookie = f"{name}={people.signed_in(account).cookies[name].value}"
        if number % 2:
            keys.append(held(store, number, account.username))
            address = f"/conversations/{reference_of(*keys[-1].values())}/"
            agents.append(AtConversation(number, cookie, seen, address))
        else:
            agents.append(AtQueue(number, cookie, seen))
    for number in range(20):
        account = people.member(f"signs.in.{number:02}", scope=[COMPANY])
        account.password_hash = hash_password(PASSWORD)
        account.save()
    memory = []
    with serving(environment) as server, work(environment) as worker:
        until = time.monotonic() + options.minutes * 60
        door, url, written = SigningIn(0, "", seen), settings.HANDOFF_QUEUE_URL, []

        def write(number: int) -> None:
            write_as_customer(url, keys[number % len(keys)], number)
            written.append(number)

        threads = [threading.Thread(target=each.work, args=(until,)) for each in agents]
        threads += [
            regularly(options.sign_ins, until, lambda n: door.sign_in(f"signs.in.{n % 20:02}"), seen.errors),
            regularly(options.messages, until - options.minutes * 6, write, seen.errors),
            threading.Thread(target=ask_for_humans, args=(store.client, store.name("CONVERSATIONS"), until)),
        ]
        for thread in threads:
            thread.start()
        started = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            threads[0].join(min(15.0, options.minutes * 6))
            memory.append((sum(memory_of(server)), resident(worker)))
        taken = time.monotonic() - started
        time.sleep(20)
        replies = [row for row in store.all("MESSAGES") if row.get("direction") == "out"]
        said = [each["content"] for row in keys for each in store.get("CONVERSATIONS", **row)["messages"]]
    texts = provider.texts()
    return {
        "agents": options.agents,
        "minutes": options.minutes,
        "requests_per_second": round(sum(seen.statuses.values()) / taken, 1),
        "milliseconds": {what: _spread(values) for what, values in sorted(seen.milliseconds.items())},
        "no_success": {each: count for each, count in seen.statuses.items() if each[-3:] not in SUCCESS},
        "errors": seen.errors,
        "taken_twice": taken_twice(store.client, store.name("AUDIT")),
        "customers_messages": [len(written), len({each for each in said if each.startswith("Customer's message")})],
        "replies": [
            sum(each.answered for each in agents if isinstance(each, AtConversation)),
            len(replies),
            len(texts),
        ],
        "memory_mb_web_and_work": [[round(each) for each in memory[len(memory) * part // 6]] for part in range(6)]
        + [[round(each) for each in memory[-1]]],
    }


def _spread(values: list[float]) -> dict[str, float]:
    values.sort()
    p95 = values[min(len(values) - 1, int(len(values) * 0.95))]
    return {"count": len(values), "median": round(statistics.median(values), 1), "p95": round(p95, 1)}


def main() -> None:
    """Serve, let them work, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--sign-ins", type=float, default=20, help="a minute")
    parser.add_argument("--messages", type=float, default=60, help="of customers, a minute")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    from demo.dynoxide import Dynoxide
    from demo.embedded import EmbeddedDynamoDB
    from tests.bench.sender import Provider
    from tests.elasticmq import LASTING, ElasticMQ

    with ExitStack() as running:
        records = running.enter_context(tempfile.TemporaryDirectory())
        engine = running.enter_context(Dynoxide())
        environment = environment_of(records, engine.endpoint)
        elasticmq = running.enter_context(ElasticMQ(options=LASTING))
        queue = f"{elasticmq.endpoint}/000000000000"
        environment |= {
            "SQS_ENDPOINT": elasticmq.endpoint,
            "HANDOFF_QUEUE_URL": f"{queue}/handoff",
            "OUTBOX_QUEUE_URL": f"{queue}/outbox.fifo",
            "SECRET_NAMES": "whatsapp/*,email/*",
            "REPLY_UNDO_SECONDS": "0",
        }
        os.environ.update(environment)
        import django

        django.setup()
        from django.conf import settings

        from console.store import queues
        from conversations.providers import credentials
        from tests.dynamodb import Store
        from tests.support.conversations.replies import SECRETS

        secrets, provider = running.enter_context(EmbeddedDynamoDB()), running.enter_context(Provider())
        environment |= {"SECRETS_ENDPOINT": secrets.endpoint, "TWILIO_API_URL": provider.endpoint}
        os.environ.update(environment)
        settings.SECRETS_ENDPOINT = secrets.endpoint
        for name, content in SECRETS.items():
            credentials.client().create_secret(Name=name, SecretString=json.dumps(content))
        Store(engine.endpoint).create_tables()
        queues.client().create_queue(QueueName="handoff", Attributes={"VisibilityTimeout": "60"})
        queues.client().create_queue(
            QueueName="outbox.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "60"}
        )
        figures = run(options, {**os.environ, **environment}, provider)
    print(json.dumps(figures) if options.json else json.dumps(figures, indent=1))
    if figures["errors"] or figures["taken_twice"] or figures["no_success"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
