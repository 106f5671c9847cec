"""Around every request: headers, a budget for DynamoDB, and designed answers for the console's errors."""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseFileResponse

from console import health
from console.dynamodb.calls import Budget, RequestCost, budget, recent_costs
from console.error_pages import render_error, render_status
from console.errors import ConsoleError

GetResponse = Callable[[HttpRequest], HttpResponseBase]
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "geolocation",
        "gyroscope",
        "microphone",
        "payment",
        "usb",
        "browsing-topics",
    )
)


def probes(get_response: GetResponse) -> GetResponse:
    """Liveness and readiness, for whoever asks: load balancers probe by address, over http, with any Host header.

    Stands before whatever looks at the Host; SECURE_REDIRECT_EXEMPT keeps the redirect to https from doing so.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info == "/healthz":
            return health.alive(request)
        if request.path_info == "/readyz":
            return health.ready(request)
        return get_response(request)

    return middleware


def response_headers(get_response: GetResponse) -> GetResponse:
    """Headers that every answer carries: pages, refusals of the middlewares within, probes and static files."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        # SecurityMiddleware sets these too, but not on its own refusal of a Host.
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", settings.SECURE_REFERRER_POLICY)
        response.headers.setdefault("Cross-Origin-Opener-Policy", settings.SECURE_CROSS_ORIGIN_OPENER_POLICY)
        if not isinstance(response, WhiteNoiseFileResponse):
            response.headers.setdefault("Cache-Control", "no-store")
            # Signed-in pages differ by person, and the same URL serves a page and its fragment.
            patch_vary_headers(response, ["Cookie", "HX-Request"])
        return response

    return middleware


class RequestBudgetMiddleware:
    """Gives each request its deadline over all DynamoDB calls, notes what it cost, and renders the console's errors."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Run the request inside its budget."""
        started = time.perf_counter()
        with budget(settings.REQUEST_DEADLINE_SECONDS) as spent:
            try:
                response = self.get_response(request)
            except ConsoleError as error:
                response = render_error(request, error)
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not getattr(response, "content", b""):
                allowed = response.headers.get("Allow", "")
                response = render_status(request, HTTPStatus.METHOD_NOT_ALLOWED)
                response.headers["Allow"] = allowed
        _note_cost(request, spent, (time.perf_counter() - started) * 1000)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Errors of views; others go on to Django's own handling (a 500 page)."""
        return render_error(request, error) if isinstance(error, ConsoleError) else None


def _note_cost(request: HttpRequest, spent: Budget, total_ms: float) -> None:
    match: Any = request.resolver_match
    if match is None or not spent.calls:
        return
    recent_costs.append(
        RequestCost(
            route=f"{request.method} /{match.route}",
            calls=len(spent.calls),
            units=sum(call.units for call in spent.calls),
            store_ms=sum(call.ms for call in spent.calls),
            total_ms=total_ms,
        )
    )
