"""Children that are killed while they receive messages, or sweep (see tests/support/victims.py; run with `python -m`).

`job` is "receive", or the instant of a sweep; `kill` ("before", "after" or "") is about the call number `nth`, of
DynamoDB and SQS together. It is done on the store and the queue that the environment names.
"""

import os
import signal
from itertools import count
from typing import Any

import django

django.setup()

from console import clock  # noqa: E402
from console.store import connection, queues  # noqa: E402
from conversations.receiving.worker import Receiver, sweep  # noqa: E402
from tests.support.victims import serve  # noqa: E402


def kill_at(nth: int, when: str) -> None:
    """Kill this process at its call of that number: instead of sending it, or once it was carried out."""
    calls = count(1)

    def on_send(client: Any) -> Any:
        def strike(request: Any, **_: Any) -> None:
            if next(calls) == nth:
                if when == "after":
                    client._endpoint.http_session.send(request)
                os.kill(os.getpid(), signal.SIGKILL)

        return strike

    for client in (connection.client(), queues.client()):
        client.meta.events.register_last("before-send.*.*", on_send(client))


def child(job: dict[str, Any]) -> None:
    if job["kill"]:
        kill_at(job["nth"], job["kill"])
    if job["job"] == "receive":
        Receiver().run(once=True)
    else:
        at = clock.parse_instant(job["job"])
        assert at is not None
        sweep(at)


if __name__ == "__main__":
    serve(child)
