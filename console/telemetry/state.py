"""The state of the queue and the workers as metrics: read from DynamoDB and SQS, bounded, and cached.

Apps register sources at start-up. A source that cannot be read is left out, and counted; a scrape never fails.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily

from console import instrumentation
from console.errors import ConsoleError
from console.store import calls

logger = logging.getLogger(__name__)

# The maximum age of the numbers in a scrape; failures are cached as long.
SECONDS = 30
# For all sources together: Prometheus times out after ten seconds.
DEADLINE_SECONDS = 6


@dataclass(frozen=True, slots=True)
class StateGauge:
    """A gauge: its name, its help text, and the names of its labels."""

    name: str
    words: str
    labels: tuple[str, ...] = ()


# A gauge, the values of its labels, and its value.
Reading = tuple[StateGauge, tuple[str, ...], float]
# Returns the readings, with bounded reads. Raises the store's errors.
Source = Callable[[], Iterable[Reading]]

_sources: dict[str, tuple[Source, tuple[StateGauge, ...]]] = {}


def register(name: str, source: Source, gauges: tuple[StateGauge, ...]) -> None:
    """Register a source and the gauges that it reads, once at start-up."""
    _sources[name] = source, gauges
    instrumentation.initialize_labels(instrumentation.SCRAPE_ERRORS, [name])


def gauges() -> list[StateGauge]:
    """Return all gauges, in the order of registration."""
    return [each for _, found in _sources.values() for each in found]


class StateCollector:
    """A collector for a Prometheus registry. Of several concurrent scrapes one reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_at: dict[str, float] = {}
        self._readings: dict[str, list[Reading]] = {}

    def describe(self) -> list[GaugeMetricFamily]:
        """Return no metrics on registration, so that nothing is read for it."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges that could be read. Never raises."""
        with self._lock, calls.budget(DEADLINE_SECONDS):
            for name in _sources:
                self._read(name)
            readings = [each for found in self._readings.values() for each in found]
        families: dict[StateGauge, GaugeMetricFamily] = {}
        for gauge, labels, value in readings:
            family = families.setdefault(gauge, GaugeMetricFamily(gauge.name, gauge.words, labels=gauge.labels))
            family.add_metric(labels, value)
        yield from families.values()

    def _read(self, name: str) -> None:
        now = time.monotonic()
        if name in self._read_at and now - self._read_at[name] < SECONDS:
            if name not in self._readings:
                instrumentation.SCRAPE_ERRORS.labels(name).inc()
            return
        self._read_at[name] = now
        self._readings.pop(name, None)
        try:
            self._readings[name] = list(_sources[name][0]())
        except Exception as error:
            instrumentation.SCRAPE_ERRORS.labels(name).inc()
            if not isinstance(error, ConsoleError):
                logger.exception("The metrics of %s could not be read.", name)
