"""Servers that run in a process of their own on this machine, and clients for them."""

import socket
import subprocess  # with arguments of our own  # nosec B404
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import botocore.config
import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0


class Unavailable(Exception):
    """A server cannot run here; the message says what is missing."""


class ServerProcess(ABC):
    """A server in a process of its own, on a free loopback port. Context manager."""

    # Its name in errors, and the service name for botocore.
    title = ""
    service = ""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.endpoint = ""
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _command(self, port: int) -> list[str]:
        """Return the command line of the server. Raises `Unavailable`."""

    @abstractmethod
    def _ask(self, client: Any) -> object:
        """Send any request, to check that the server is up. Raises botocore's errors."""

    def start(self) -> str:
        """Start the server, wait until it answers, and return its endpoint URL. Raises `Unavailable`."""
        port = free_port()
        self._process = subprocess.Popen(  # nosec B603
            self._command(port),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is for this process, which stops the server once it needs it no more.
            process_group=0,
        )
        self.endpoint = f"http://127.0.0.1:{port}"
        self._wait_until_it_answers()
        return self.endpoint

    def stop(self) -> None:
        """Stop the process if it is running."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process, self.endpoint = None, ""

    def _wait_until_it_answers(self) -> None:
        client = plain_client(self.endpoint, self.service)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._ask(client)
                return
            except (BotoCoreError, ClientError) as error:
                code = self._process.poll() if self._process else None
                if code is not None or time.monotonic() > end:
                    self.stop()
                    raise Unavailable(f"{self.title} did not start (exit code {code}): {error}") from error
                time.sleep(0.05)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def plain_client(endpoint: str, service: str = "dynamodb") -> Any:
    """Return a botocore client with its own credentials and without the console's settings."""
    return botocore.session.Session().create_client(
        service,
        region_name="eu-west-2",
        endpoint_url=endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # any will do  # noqa: S106  # nosec B106
        config=botocore.config.Config(
            connect_timeout=2, read_timeout=20, max_pool_connections=32, retries={"total_max_attempts": 1}
        ),
    )


def free_port() -> int:
    """Return a free port on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
