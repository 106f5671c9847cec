"""ElasticMQ, an SQS in a process of its own, for the tests: found or fetched, started on a free port.

Its jars are in `.cache/elasticmq/`: put there with Maven at the first start, or by `python -m tests.elasticmq`.
"""

import shutil
import subprocess
import sys
import time
from typing import Self

from botocore.exceptions import BotoCoreError, ClientError

from demo.dynamodb_local import ROOT, START_SECONDS, Unavailable, copy_jars, free_port, plain_client

CACHE = ROOT / ".cache" / "elasticmq"
VERSION = "1.6.12"
MAIN_CLASS = "org.elasticmq.server.Main"


def fetch() -> None:
    """Make sure that the jars are there. Raises `Unavailable`."""
    if not any(CACHE.glob(f"elasticmq-server_*-{VERSION}.jar")):
        copy_jars("org.elasticmq", "elasticmq-server_2.13", VERSION, CACHE)


class ElasticMQ:
    """One ElasticMQ process on a free loopback port. Context manager."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it, wait until it answers, return its endpoint URL. Raises `Unavailable`."""
        java = shutil.which("java")
        if java is None:
            raise Unavailable("no java on the PATH")
        fetch()
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        settings = {
            "node-address.protocol": "http",
            "node-address.host": "127.0.0.1",
            "node-address.port": port,
            "rest-sqs.bind-hostname": "127.0.0.1",
            "rest-sqs.bind-port": port,
            "rest-stats.enabled": "false",
        }
        told = [f"-D{name}={value}" for name, value in settings.items()]
        self._process = subprocess.Popen(
            [java, "-Xmx384m", *told, "-cp", f"{CACHE}/*", MAIN_CLASS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait_until_it_answers()
        return self.endpoint

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process, self.endpoint = None, ""

    def _wait_until_it_answers(self) -> None:
        client = plain_client(self.endpoint, "sqs")
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                client.list_queues()
                return
            except (BotoCoreError, ClientError) as error:
                code = self._process.poll() if self._process else None
                if code is not None or time.monotonic() > end:
                    self.stop()
                    raise Unavailable(f"ElasticMQ did not start (exit code {code}): {error}") from error
                time.sleep(0.1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


if __name__ == "__main__":
    try:
        fetch()
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
    sys.stdout.write(f"{CACHE}\n")
