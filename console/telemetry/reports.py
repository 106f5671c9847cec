"""Error reports to Sentry, or a compatible service, if one is configured: what failed, where, and on which route.

Each report is rebuilt from what may leave; the text of error messages is masked as in the log.
"""

from typing import TYPE_CHECKING, Any

from django.conf import settings

from console import instrumentation
from console.logs import without_secrets

if TYPE_CHECKING:
    from sentry_sdk.types import Breadcrumb, Event, Hint

_KEPT = ("event_id", "timestamp", "platform", "level", "logger", "environment", "release", "sdk", "server_name")
_OF_FRAME = ("filename", "abs_path", "function", "module", "lineno", "in_app")
_OF_TRACE = ("trace_id", "span_id", "parent_span_id")


def is_configured() -> bool:
    """Return whether error reports are configured."""
    return bool(settings.SENTRY_DSN)


def can_be_sent() -> bool:
    """Return whether SENTRY_DSN is empty or accepted by the Sentry library, which must be installed to check it."""
    if not is_configured():
        return True
    from sentry_sdk.utils import BadDsn, Dsn

    try:
        Dsn(settings.SENTRY_DSN)
    except (BadDsn, ValueError):
        return False
    return True


def start() -> None:
    """Report the errors of this process, if reports are configured."""
    if not is_configured():
        return
    import sentry_sdk
    from sentry_sdk.integrations.atexit import AtexitIntegration
    from sentry_sdk.integrations.dedupe import DedupeIntegration
    from sentry_sdk.integrations.django import DjangoIntegration
    from sentry_sdk.integrations.excepthook import ExcepthookIntegration
    from sentry_sdk.integrations.logging import LoggingIntegration
    from sentry_sdk.integrations.threading import ThreadingIntegration

    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        environment=settings.CONSOLE_ENV,
        send_default_pii=False,
        include_local_variables=False,
        include_source_context=False,
        max_request_body_size="never",
        auto_session_tracking=False,
        send_client_reports=False,
        trace_propagation_targets=[],
        before_send=redacted,
        before_breadcrumb=_redacted_breadcrumb,
        # OpenTelemetry makes the traces.
        before_send_transaction=lambda event, hint: None,
        # The default integrations reveal more of requests, command lines and calls than may leave.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            DjangoIntegration(signals_spans=False),
            LoggingIntegration(),
            AtexitIntegration(callback=lambda pending, timeout: None),
            DedupeIntegration(),
            ExcepthookIntegration(),
            ThreadingIntegration(propagate_scope=False),
        ],
    )


def redacted(event: "Event", hint: "Hint") -> "Event":
    """Return a report of only what may leave. Never raises: Sentry would send the original report."""
    given: dict[str, Any] = dict(event)
    kept: dict[str, Any] = {name: given[name] for name in _KEPT if name in given}
    try:
        kept |= _reported_event(given)
    except Exception as error:
        kept["logentry"] = {"message": f"An error report could not be redacted: {type(error).__name__}"}
    return kept  # type: ignore[return-value]


def _reported_event(given: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {"tags": dict(instrumentation.log_fields())}
    if (observed := instrumentation.current_request()) is not None:
        event["transaction"] = f"{observed.request.method} {observed.route}"
        event["tags"]["route"] = observed.route
        event["request"] = {"method": observed.request.method}
    if said := given.get("logentry") or ({"message": given["message"]} if "message" in given else None):
        words = str(said.get("formatted") or said.get("message") or "")
        event["logentry"] = {"message": without_secrets(words)}
    if values := (given.get("exception") or {}).get("values"):
        event["exception"] = {"values": [_exception(each) for each in values]}
    if crumbs := (given.get("breadcrumbs") or {}).get("values"):
        event["breadcrumbs"] = {"values": crumbs}
    trace = (given.get("contexts") or {}).get("trace") or {}
    event["contexts"] = {"trace": {name: trace[name] for name in _OF_TRACE if name in trace}}
    return event


def _exception(found: dict[str, Any]) -> dict[str, Any]:
    frames = (found.get("stacktrace") or {}).get("frames") or ()
    return {
        "type": found.get("type"),
        "module": found.get("module"),
        "value": without_secrets(str(found.get("value") or "")),
        "mechanism": {
            name: each for name, each in (found.get("mechanism") or {}).items() if name in ("type", "handled")
        },
        "stacktrace": {"frames": [{name: each[name] for name in _OF_FRAME if name in each} for each in frames]},
    }


def _redacted_breadcrumb(crumb: "Breadcrumb", hint: "Hint") -> "Breadcrumb | None":
    """Return a log line before the error, with its time, origin and masked message; None for any other breadcrumb."""
    if crumb.get("type") != "log":
        return None
    kept: dict[str, Any] = {name: crumb[name] for name in ("type", "timestamp", "level", "category") if name in crumb}
    return {**kept, "message": without_secrets(str(crumb.get("message") or ""))}
