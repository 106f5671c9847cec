"""What tests of telemetry share: the numbers of metrics, and canaries that must come out nowhere."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import REGISTRY

from console.logs import RedactingJsonFormatter

TOKEN = "scrape-this-with-9f3Kd82LmQx71Zs0aPq4"
# Known to redaction wherever they stand.
PHONE, EMAIL = "+447123454821", "jo.bloggs@example.com"
# Known to nobody: nothing of addresses, forms, cookies, headers and items may leave at all.
WORDS = ("heliotrope", "quagmire", "zeppelin", "marzipan", "xylophone", "obelisk")
CANARIES = (PHONE, PHONE[1:], EMAIL, *WORDS)


def value(name: str, **labels: str) -> float:
    """The value of a metric of this process; 0 if there is none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@contextmanager
def counting(name: str, **labels: str) -> Iterator[Any]:
    """By how much a counter grows: `grown()` within and after the block."""
    before = value(name, **labels)
    yield lambda: value(name, **labels) - before


@contextmanager
def lines_of(name: str) -> Iterator[list[dict[str, Any]]]:
    """The lines of a logger meanwhile, as JSON."""
    found: list[dict[str, Any]] = []
    formatter = RedactingJsonFormatter()

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(json.loads(formatter.format(record)))

    handler = Keep()
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
