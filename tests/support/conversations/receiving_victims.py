"""A process whose children are killed while they receive messages, or sweep (run with `python -m`).

Each line on stdin is a job as JSON: `job` ("receive", or the instant of a sweep), and `kill` ("before", "after" or "")
the call number `nth`, of DynamoDB and SQS together. A fresh child does it on the store and the queue that the
environment names. The answer is a line with how the child ended: {"killed": bool, "code": exit code}.
"""

import json
import os
import signal
import sys
from itertools import count
from typing import Any

import django

django.setup()

from console import clock  # noqa: E402
from console.store import connection, queues  # noqa: E402
from conversations.receiving.worker import Receiver, sweep  # noqa: E402


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


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                child(json.loads(line))
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": killed, "code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
