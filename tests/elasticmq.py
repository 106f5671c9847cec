"""ElasticMQ, an SQS in a process of its own, for the tests: found or fetched, started on a free port.

Its jars are in `.cache/elasticmq/`: put there with Maven at the first start, or by `python -m tests.elasticmq`.
"""

import sys
from typing import Any

from demo.dynamodb_local import ROOT, JavaServer, Unavailable, copy_jars

CACHE = ROOT / ".cache" / "elasticmq"
VERSION = "1.6.12"
MAIN_CLASS = "org.elasticmq.server.Main"


def fetch() -> None:
    """Make sure that the jars are there. Raises `Unavailable`."""
    if not any(CACHE.glob(f"elasticmq-server_*-{VERSION}.jar")):
        copy_jars("org.elasticmq", "elasticmq-server_2.13", VERSION, CACHE)


class ElasticMQ(JavaServer):
    """ElasticMQ, with its queues in memory."""

    title, service = "ElasticMQ", "sqs"

    def _arguments(self, port: int) -> list[str]:
        fetch()
        settings = {
            "node-address.protocol": "http",
            "node-address.host": "127.0.0.1",
            "node-address.port": port,
            "rest-sqs.bind-hostname": "127.0.0.1",
            "rest-sqs.bind-port": port,
            "rest-stats.enabled": "false",
        }
        return ["-Xmx384m", *(f"-D{name}={value}" for name, value in settings.items()), "-cp", f"{CACHE}/*", MAIN_CLASS]

    def _ask(self, client: Any) -> object:
        return client.list_queues()


if __name__ == "__main__":
    try:
        fetch()
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
    sys.stdout.write(f"{CACHE}\n")
