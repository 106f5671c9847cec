"""Each request gets an id, a line in the log and a place in the metrics."""

import logging
import re
import secrets
import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseFileResponse

from console.logs import NOTHING_TO_MASK
from console.middleware import POLL_HEADER, GetResponse
from console.telemetry import metrics
from console.telemetry.context import STATIC, ObservedRequest, answering

logger = logging.getLogger("console.request")

HEADER = "X-Request-ID"
# As proxies make them, nginx and Envoy among them; nobody's number or address looks like this.
_WELL_FORMED = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
# Answered every few seconds, for machines.
UNOBSERVED = frozenset({"/healthz", "/readyz", "/metrics"})


def observed(get_response: GetResponse) -> GetResponse:
    """Give each request its id, which goes back as a header, and tell of it when it is answered."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info in UNOBSERVED:
            return get_response(request)
        started = time.perf_counter()
        current = ObservedRequest(_id_of(request), request)
        with answering(current):
            response = get_response(request)
            response.headers[HEADER] = current.id
            _tell(current, response, time.perf_counter() - started)
        return response

    return middleware


def _id_of(request: HttpRequest) -> str:
    """The id that our own proxy gave, else a new one: what anybody else sends is never in a log."""
    given = request.headers.get(HEADER, "") if settings.TRUSTED_PROXIES else ""
    return given.lower() if _WELL_FORMED.fullmatch(given) else secrets.token_hex(16)


def _tell(current: ObservedRequest, response: HttpResponseBase, seconds: float) -> None:
    request, status = current.request, response.status_code
    route = STATIC if isinstance(response, WhiteNoiseFileResponse) else current.route
    method = request.method or ""
    is_late = current.spent is not None and current.spent.is_missed
    metrics.count_request(route, method, status, seconds, is_late=is_late)
    if not logger.isEnabledFor(logging.INFO):
        return
    staff = getattr(request, "staff", None)
    calls = [] if current.spent is None else current.spent.calls
    told: dict[str, Any] = {
        "method": method if method in metrics.METHODS else "OTHER",
        "route": route,
        "role": staff.role.value if staff is not None else "",
        "status": status,
        "ms": round(seconds * 1000, 1),
        "dynamodb_calls": len(calls),
        "dynamodb_units": round(sum(each.units for each in calls), 1),
        "dynamodb_ms": round(sum(each.ms for each in calls), 1),
        "retries": sum(each.retries for each in calls),
        "throttles": sum(each.throttles for each in calls),
        "deadline_missed": is_late,
        "htmx": bool(getattr(request, "htmx", False)),
        "poll": POLL_HEADER in request.headers,
    }
    said = (told["method"], route, status, told["ms"], len(calls))
    logger.info("%s %s %d in %s ms, %d calls of DynamoDB", *said, extra=told | {NOTHING_TO_MASK: True})
