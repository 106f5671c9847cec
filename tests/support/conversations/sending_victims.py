"""Children that are killed while they accept a reply, or send (see tests/support/victims.py; run with `python -m`).

`job` is {"do": "accept", "token": …, "username": …} or {"do": "send"}; with "later", so many seconds from now. `kill`
("before", "after" or "") is about the call number `nth`, of DynamoDB, SQS, Secrets Manager and the provider together.
It is done on the store, the queue, the secrets and the provider that the environment names.
"""

import os
import signal
from contextlib import nullcontext
from datetime import timedelta
from itertools import count
from typing import Any
from unittest import mock

import django
import requests.adapters

django.setup()

from console import clock  # noqa: E402
from console.permissions import Role, Scope, Staff  # noqa: E402
from console.store import connection, queues  # noqa: E402
from conversations.providers import credentials  # noqa: E402
from conversations.sending.replies import accept, unseal_form  # noqa: E402
from conversations.sending.worker import Sender  # noqa: E402
from tests.support.victims import serve  # noqa: E402


def kill_at(nth: int, when: str) -> None:
    """Kill this process at its call of that number: instead of sending it, or once it was carried out."""
    calls = count(1)

    def strike(send: Any) -> None:
        if next(calls) == nth:
            if when == "after":
                send()
            os.kill(os.getpid(), signal.SIGKILL)

    for client in (connection.client(), queues.client(), credentials.client()):
        http = client._endpoint.http_session
        client.meta.events.register_last(
            "before-send.*.*", lambda request, http=http, **_: strike(lambda: http.send(request))
        )
    asked = requests.adapters.HTTPAdapter.send

    def ask(adapter: Any, request: Any, **options: Any) -> Any:
        strike(lambda: asked(adapter, request, **options))
        return asked(adapter, request, **options)

    requests.adapters.HTTPAdapter.send = ask  # type: ignore[assignment, method-assign]


def child(told: dict[str, Any]) -> None:
    job = told["job"]
    if told["kill"]:
        kill_at(told["nth"], told["kill"])
    at = clock.now() + timedelta(seconds=job.get("later", 0))
    with mock.patch.object(clock, "now", return_value=at) if job.get("later") else nullcontext():
        if job["do"] == "accept":
            staff = Staff(job["username"], "Ana", Role.AGENT, Scope(everything=True))
            accept(unseal_form(job["token"], staff), staff, job["text"])
        else:
            Sender(wait=lambda _: False).run(once=True)


if __name__ == "__main__":
    serve(child)
