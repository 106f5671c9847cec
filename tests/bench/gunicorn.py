"""gunicorn for the benches: the console served as in production, on this machine alone, on plain http."""

import http.client
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PORT = 8799
ROOT = Path(__file__).resolve().parent.parent.parent


def environment_of(records: str, endpoint: str) -> dict[str, str]:
    """What the benched console is started with; this process has it from now on, too."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
        "CONSOLE_ENV": "test",
        "SECRET_KEY": secrets.token_urlsafe(64),
        "ALLOWED_HOSTS": "127.0.0.1,testserver",
        "PLAIN_HTTP": "true",
        "STATIC_MANIFEST": "false",
        "AWS_REGION": "eu-west-2",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "DYNAMODB_ENDPOINT": endpoint,
        "BENCH_RECORDS": records,
    }
    os.environ.update(environment)
    return environment


@contextmanager
def serving(environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """gunicorn as docs/install.md starts it, on this machine alone."""
    command = [sys.executable, "-m", "gunicorn", "tests.bench.served", "--config", "python:console.gunicorn"]
    options = ["--bind", f"127.0.0.1:{PORT}", "--log-level", "error"]
    log = ROOT / ".cache" / "bench.log"
    log.parent.mkdir(exist_ok=True)
    # A line of each request, as in production.
    with log.open("w") as lines:
        given = {**os.environ, **environment}
        process = subprocess.Popen([*command, *options], cwd=ROOT, env=given, stderr=lines)
        try:
            wait_for_it()
            yield process
        finally:
            process.terminate()
            process.wait(20)


def wait_for_it() -> None:
    """Until it answers."""
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("gunicorn does not answer: see .cache/bench.log")


def memory_of(process: "subprocess.Popen[bytes]") -> list[float]:
    """Resident MB of each worker."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = []
    for child in children:
        status = Path(f"/proc/{child}/status").read_text()
        found.append(round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1))
    return found
