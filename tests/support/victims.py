"""A process whose children do jobs and are killed meanwhile: what its parent starts, and what it runs.

A job is a line of JSON on its stdin; a fresh child does it. The answer is a line with how the child ended: {"killed":
bool, "code": exit code}.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def serve(child: Callable[[Any], None]) -> None:
    """Do each job of stdin in a child of its own. For the process."""
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


@contextmanager
def victims(module: str, environment: Mapping[str, str]) -> Iterator[Callable[..., dict[str, Any]]]:
    """Run a module that serves, and give jobs to it: what is called with the items of a job returns the answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def do(job: Any, kill: str = "", nth: int = 0, **more: Any) -> dict[str, Any]:
        process.stdin.write(json.dumps({"job": job, "kill": kill, "nth": nth, **more}) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    yield do
    process.stdin.close()
    process.stdout.close()
    process.wait()
