"""Middleware of the benched console: what a request spent, and which calls it made.

A request with `X-Record` is answered with `X-Calls` and `X-Units`, besides what it costs to know who asks; its calls
are written to the directory BENCH_RECORDS, for tests.bench.served to make them again.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from console.store import connection
from console.store.calls import current_budget

RECORDS = Path(os.environ.get("BENCH_RECORDS", "/nonexistent"))

# Operation, arguments, when it began and when it ended.
Made = tuple[str, dict[str, Any], float, float]


def costs(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: say what the request spent, and write its calls down where that is asked for."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if "X-Record" not in request.headers:
            return get_response(request)
        made: list[Made] = []
        client = connection.client()
        usual = client._make_api_call

        def noted(operation: str, kwargs: dict[str, Any]) -> Any:
            copied, began = json.loads(json.dumps(kwargs)), time.perf_counter()
            try:
                return usual(operation, kwargs)
            finally:
                made.append((operation, copied, began, time.perf_counter()))

        client._make_api_call = noted
        try:
            response = get_response(request)
        finally:
            client._make_api_call = usual
        record_of(request.get_full_path()).write_text(json.dumps(_waves(made)))
        budget = current_budget()
        spent = budget.calls if budget else []
        # Who asks costs one BatchGetItem on every page, the first call of all.
        own = spent[1:]
        response.headers["X-Calls"] = " ".join(f"{call.operation}:{call.index}".rstrip(":") for call in own)
        response.headers["X-Units"] = f"{sum(call.units for call in own):.1f}"
        return response

    return middleware


def _waves(made: list[Made]) -> list[list[tuple[str, dict[str, Any]]]]:
    """The calls in their order; those that ran beside each other together."""
    waves: list[list[tuple[str, dict[str, Any]]]] = []
    end = 0.0
    for operation, kwargs, began, ended in sorted(made, key=lambda each: each[2]):
        if not waves or began >= end:
            waves.append([])
        waves[-1].append((operation, kwargs))
        end = max(end, ended)
    return waves


def record_of(address: str) -> Path:
    """Where the calls of an address are written."""
    return RECORDS / hashlib.sha256(address.encode()).hexdigest()
