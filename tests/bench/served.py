"""What gunicorn serves for the bench: the console, and beside it, at `/bare/…`, nothing but its DynamoDB calls.

`/bare/…` of an address whose calls were written down (tests.bench.recording) makes them again through an ordinary
botocore client, those at once that the console made at once, and answers with what they
gave, as JSON: what a page costs at the least. Django, its middlewares and the console's client have no part in it.

Each answer of the console says in `X-Cpu-Ms` how much CPU this process spent on it, in all of its threads: a worker
answers one request at a time here, and the store is another process.
"""

import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError

from console.wsgi import application as console
from demo.server_process import plain_client
from tests.bench.recording import record_of

_pool = ThreadPoolExecutor(16)
_client = plain_client(os.environ["DYNAMODB_ENDPOINT"]) if "DYNAMODB_ENDPOINT" in os.environ else None


def _bare(address: str) -> bytes:
    waves = json.loads(record_of(address).read_text())
    found = []
    for wave in waves:
        answers = _pool.map(_answer, wave) if len(wave) > 1 else map(_answer, wave)
        found += list(answers)
    return json.dumps(found, default=bytes.hex).encode()


def _answer(made: tuple[str, dict[str, Any]]) -> Any:
    operation, kwargs = made
    try:
        answer = _client._make_api_call(operation, kwargs)
    except ClientError as refused:  # the entry of an opened transcript is there already
        return refused.response["Error"]["Code"]
    return {name: value for name, value in answer.items() if name in ("Items", "Item", "Responses")}


def _timed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    began = time.process_time()

    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        spent = (time.process_time() - began) * 1000
        return start_response(status, [*headers, ("X-Cpu-Ms", f"{spent:.2f}")], *more)

    return console(environ, start)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """WSGI."""
    path = environ["PATH_INFO"]
    if not path.startswith("/bare/"):
        return _timed(environ, start_response)
    query = environ.get("QUERY_STRING")
    body = _bare(path.removeprefix("/bare") + (f"?{query}" if query else ""))
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
