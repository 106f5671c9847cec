"""Instrumentation: the current request or part of the work, and the metrics that Prometheus scrapes.

Log lines, spans and error reports name their origin. Metric labels have few values, and none is a person or company.
A process counts from its start; the workers of one gunicorn share a directory, so that each can report all counts.
"""

import contextvars
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import HttpRequest
from prometheus_client import Counter, Histogram, disable_created_metrics

# The creation time of each metric is not used, and would double the size of a scrape.
disable_created_metrics()

SIGN_IN_FAILURES_KNOWN = (
    *("unknown_name", "wrong_password", "disabled_account", "account_of_the_company_sign-in", "wrong_code"),
    "too_many_attempts",
    *(
        "company_sign_in_no_answer",
        "company_sign_in_unusable",
        "company_sign_in_denied",
        "company_sign_in_not_admitted",
    ),
)
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Seconds: most pages take tens of milliseconds, and none longer than its deadline.
REQUEST_BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)
CALL_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3)

HTTP_REQUESTS = Counter(
    "console_http_requests_total",
    "Requests that were answered, without probes; the route is the pattern of the address.",
    ["route", "method", "status"],
)
HTTP_SECONDS = Histogram(
    "console_http_request_duration_seconds",
    "How long answers took; of a download, until it began.",
    ["route", "method"],
    buckets=REQUEST_BUCKETS,
)
DEADLINES_MISSED = Counter(
    "console_deadlines_missed_total", "Requests whose DynamoDB calls did not fit into REQUEST_DEADLINE_SECONDS."
)
DYNAMODB_CALLS = Counter(
    "console_dynamodb_calls_total",
    "Calls of DynamoDB by the key of the table; one that touches two tables counts for each.",
    ["operation", "table"],
)
DYNAMODB_SECONDS = Histogram(
    "console_dynamodb_call_duration_seconds",
    "How long calls took, retries included.",
    ["operation"],
    buckets=CALL_BUCKETS,
)
DYNAMODB_UNITS = Counter(
    "console_dynamodb_consumed_units_total",
    "Consumed capacity units, of calls whose answer says so.",
    ["operation", "table"],
)
DYNAMODB_FAILURES = Counter(
    "console_dynamodb_failures_total",
    "Calls that failed for good: no answer, throttled, refused. A condition that was not met does not count.",
    ["operation", "table"],
)
DYNAMODB_RETRIES = Counter("console_dynamodb_retries_total", "Attempts after the first one.", ["operation", "table"])
DYNAMODB_THROTTLES = Counter(
    "console_dynamodb_throttles_total",
    "Attempts that DynamoDB refused because of its rate limits.",
    ["operation", "table"],
)
SIGN_IN_FAILURES = Counter("console_sign_in_failures_total", "Sign-ins that were refused.", ["kind"])
LOST_RACES = Counter(
    "console_lost_races_total", "Hand-off actions that changed nothing because somebody else was first.", ["action"]
)
MESSAGES = Counter("console_messages_total", "Customers' messages handled, by outcome.", ["outcome"])
REPLIES = Counter("console_replies_total", "Replies that reached a state.", ["state"])
NOTIFICATIONS = Counter("console_notifications_total", "Notifications, by outcome.", ["outcome"])
WORKER_FAILURES = Counter(
    "console_worker_failures_total", "Failed rounds of a part of the work, which are tried again.", ["worker"]
)
LOG_LINES = Counter("console_log_lines_total", "Log lines that were written.", ["level"])
LOG_REDACTIONS = Counter("console_log_redactions_total", "Log lines in which something had to be masked.")
SCRAPE_ERRORS = Counter(
    "console_scrape_errors_total", "Scrapes without these numbers, because they could not be read.", ["source"]
)

# --- Origin -----------------------------------------------------------------------------------------------------------

UNMATCHED, STATIC = "unmatched", "static"


@dataclass(slots=True)
class ObservedRequest:
    """A request with its id. `spent` is the `Budget` of its DynamoDB calls, once it has one."""

    id: str
    request: HttpRequest
    spent: Any = None

    @property
    def route(self) -> str:
        """The URL pattern, never the URL, which contains sealed references."""
        match = self.request.resolver_match
        return UNMATCHED if match is None else f"/{match.route}"


_request: contextvars.ContextVar[ObservedRequest | None] = contextvars.ContextVar("observed_request", default=None)
_part: contextvars.ContextVar[str] = contextvars.ContextVar("part_of_the_work", default="")
# The part of threads that have none of their own.
_process = ""


def current_request() -> ObservedRequest | None:
    """Return the request that is being answered here, if any."""
    return _request.get()


@contextmanager
def answering(observed: ObservedRequest) -> Iterator[None]:
    """Attribute everything in the block to that request."""
    token = _request.set(observed)
    try:
        yield
    finally:
        _request.reset(token)


def current_part() -> str:
    """Return the part of the work that runs here, such as `indexer`; "" in a web server."""
    return _part.get() or _process


def enter_part(name: str) -> None:
    """Attribute this thread to that part of the work from now on."""
    _part.set(name)


@contextmanager
def process_of(name: str) -> Iterator[None]:
    """Attribute all threads of this process that have no part of their own to that work."""
    global _process
    before, _process = _process, name
    try:
        yield
    finally:
        _process = before


def log_fields() -> dict[str, str]:
    """Return the fields of every log line that name its origin; {} outside requests and the work."""
    found = {}
    if (observed := _request.get()) is not None:
        found["request_id"] = observed.id
    if part := current_part():
        found["part"] = part
    return found


# --- Counting ---------------------------------------------------------------------------------------------------------


def word(text: str) -> str:
    """Return a label value for words: `not_placed`."""
    return text.replace(" ", "_")


def count(counter: Counter, value: str) -> None:
    """Increment a counter with one label, whose value is in words."""
    counter.labels(word(value)).inc()


def count_worker_failure() -> None:
    """Count a failure of the part of the work that runs here."""
    count(WORKER_FAILURES, current_part())


def initialize_labels(counter: Counter, values: Iterable[str]) -> None:
    """Start a counter with one label at 0 for these values, so that the first count of each is seen as an increase."""
    for value in values:
        counter.labels(word(value))


initialize_labels(SIGN_IN_FAILURES, SIGN_IN_FAILURES_KNOWN)
initialize_labels(LOG_LINES, LEVELS)


def count_request(route: str, method: str, status: int, seconds: float, *, is_late: bool) -> None:
    """Count a request; `is_late`: its deadline was missed. Unknown methods, which anybody can send, count as one."""
    requests, durations = _request_children(route, method if method in METHODS else "OTHER", status)
    requests.inc()
    durations.observe(seconds)
    if is_late:
        DEADLINES_MISSED.inc()


@lru_cache(maxsize=4096)
def _request_children(route: str, method: str, status: int) -> tuple[Counter, Histogram]:
    return HTTP_REQUESTS.labels(route, method, str(status)), HTTP_SECONDS.labels(route, method)


def count_call(operation: str, tables: tuple[str, ...], seconds: float, units: Iterable[float]) -> None:
    """Count a DynamoDB call on tables, by key; `units` are those that each consumed."""
    durations, children = _call_children(operation, tables)
    durations.observe(seconds)
    for (calls, consumed), spent in zip(children, units, strict=True):
        calls.inc()
        if spent:
            consumed.inc(spent)


@lru_cache(maxsize=1024)
def _call_children(operation: str, tables: tuple[str, ...]) -> tuple[Histogram, list[tuple[Counter, Counter]]]:
    each = [(DYNAMODB_CALLS.labels(operation, table), DYNAMODB_UNITS.labels(operation, table)) for table in tables]
    for counter in (DYNAMODB_RETRIES, DYNAMODB_THROTTLES, DYNAMODB_FAILURES):
        for table in tables:
            counter.labels(operation, table)
    return DYNAMODB_SECONDS.labels(operation), each


def count_trouble(operation: str, tables: tuple[str, ...], *, retries: int, throttles: int, failed: bool) -> None:
    """Count the retries, throttles and failure of a call."""
    for table in tables:
        for counter, count in (
            (DYNAMODB_RETRIES, retries),
            (DYNAMODB_THROTTLES, throttles),
            (DYNAMODB_FAILURES, failed),
        ):
            if count:
                counter.labels(operation, table).inc(count)
