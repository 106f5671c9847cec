"""OpenTelemetry traces, if a collector is configured: requests, rounds of the work, and their AWS calls.

Spans leave with the attributes in `KEPT` and the keys of tables only: no URL, query, header, statement or message.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings

from console import instrumentation
from console.store.calls import key_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import SpanContext, Tracer

# Inside the headers, probes and refusals of hosts, but around everything that calls DynamoDB.
_OUTSIDE_OF = "console.middleware.RequestBudgetMiddleware"
REQUEST_ID, PART = "console.request_id", "console.part"
KEPT = frozenset(
    {
        *("http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code"),
        *("rpc.system", "rpc.service", "rpc.method", "db.system", "db.operation"),
        *("cloud.region", "retry_attempts", "error.type", "exception.type", REQUEST_ID, PART),
    }
)
_TABLES = "aws.dynamodb.table_names"
_tracer: "Tracer | None" = None


def is_configured() -> bool:
    """Return whether a collector is configured."""
    return bool(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


def start(*, web: bool) -> None:
    """Trace this process, if a collector is configured. A web server calls it in each worker, after the fork."""
    global _tracer
    if not is_configured() or _tracer is not None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.botocore import BotocoreInstrumentor
    from opentelemetry.propagate import set_global_textmap
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": settings.OTEL_SERVICE_NAME}))
    provider.add_span_processor(BatchSpanProcessor(redacting(OTLPSpanExporter())))
    set_global_textmap(_propagator())
    BotocoreInstrumentor().instrument(tracer_provider=provider, propagator=_propagator())
    if web:
        _trace_requests(provider)
    _tracer = provider.get_tracer("console")


def _trace_requests(provider: "TracerProvider") -> None:
    from opentelemetry.instrumentation.django import DjangoInstrumentor

    def note_request(span: Any, request: Any) -> None:
        if (observed := instrumentation.current_request()) is not None:
            span.set_attribute(REQUEST_ID, observed.id)

    place = settings.MIDDLEWARE.index(_OUTSIDE_OF)
    DjangoInstrumentor().instrument(tracer_provider=provider, request_hook=note_request, middleware_position=place)


@contextmanager
def span(name: str) -> Iterator[None]:
    """Record the block, a round of the work, as one span, if this process is traced."""
    if _tracer is None:
        yield
        return
    with _tracer.start_as_current_span(name, attributes={PART: instrumentation.current_part()}):
        yield


def _propagator() -> Any:
    """Return a propagator that continues our own proxy's traces and adds nothing to outgoing requests and messages."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    class FromProxyOnly(TraceContextTextMapPropagator):
        def extract(self, carrier: Any, context: Any = None, *args: Any, **kwargs: Any) -> Any:
            from opentelemetry.context import Context

            return (
                super().extract(carrier, context, *args, **kwargs) if settings.TRUSTED_PROXIES else context or Context()
            )

        def inject(self, *args: Any, **kwargs: Any) -> None:
            """Add nothing."""

    return FromProxyOnly()


def redacting(exporter: "SpanExporter") -> "SpanExporter":
    """Return an exporter that passes spans to another one without anything personal."""
    from opentelemetry.sdk.trace.export import SpanExporter

    class RedactingExporter(SpanExporter):
        def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
            return exporter.export([redacted(each) for each in spans])

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return RedactingExporter()


def redacted(found: "ReadableSpan") -> "ReadableSpan":
    """Return a span with its times, position and result, and only those attributes that are known to be harmless."""
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Status

    attributes = dict(found.attributes or {})
    kept = _kept(attributes)
    if tables := attributes.get(_TABLES):
        kept[_TABLES] = [key_of(str(name)) or "other" for name in tables] if isinstance(tables, tuple) else []
    if route := kept.get("http.route"):
        kept["http.route"] = f"/{str(route).lstrip('/')}"
    return ReadableSpan(
        _name(found.name, kept),
        context=_without_state(found.context),
        parent=_without_state(found.parent),
        resource=found.resource,
        attributes=kept,
        events=[Event(each.name, _kept(dict(each.attributes or {})), each.timestamp) for each in found.events],
        kind=found.kind,
        status=Status(found.status.status_code),
        start_time=found.start_time,
        end_time=found.end_time,
        instrumentation_scope=found.instrumentation_scope,
    )


def _kept(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name in KEPT}


def _name(name: str, kept: dict[str, Any]) -> str:
    if method := kept.get("http.request.method") or kept.get("http.method"):
        return f"{method} {kept.get('http.route', instrumentation.UNMATCHED)}"
    if service := kept.get("rpc.service"):
        return f"{service}.{kept.get('rpc.method', '')}"
    # A span that `span` made.
    return name if PART in kept else "span"


def _without_state(found: "SpanContext | None") -> "SpanContext | None":
    """Return a span's position without the trace state, which the caller may have set."""
    from opentelemetry.trace import SpanContext

    return found and SpanContext(found.trace_id, found.span_id, found.is_remote, found.trace_flags)
