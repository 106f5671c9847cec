"""Programs of the console in processes of their own. Each ends with its test, whatever becomes of the test."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 40

Program = Any  # subprocess.Popen[str] whose stdout is a pipe


@contextmanager
def ending(process: "subprocess.Popen[Any]") -> Iterator[None]:
    """The process gets SIGTERM afterwards, and SIGKILL if it does not end by that, which is an error."""
    try:
        yield
    finally:
        process.terminate()
        try:
            process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


@contextmanager
def running(*command: str, environment: Mapping[str, str], stderr: Any = subprocess.STDOUT) -> Iterator[Program]:
    """`manage.py` with a command; what it prints is in `stdout`, with its errors unless `stderr` is another file."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    with ending(process):
        yield process


@contextmanager
def running_demo(*options: str, **environment: str) -> Iterator[dict[str, Any]]:
    """A demo on a free port, with these settings besides its own; what it tells as JSON."""
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = ("demo", "--port", "0", "--json", *options)
    # Errors go to a file: a pipe that nobody empties would hold up the demo once it is full.
    with TemporaryFile("w+") as errors, running(*command, environment=inherited | environment, stderr=errors) as demo:
        line = demo.stdout.readline()
        errors.seek(0)
        assert line, errors.read()
        yield json.loads(line)
