"""Traces and error reports as they leave this machine: what failed and where, and nothing of anybody.

Collectors of the test receive what gunicorn's workers, which are forked, and the work send.
"""

import gzip
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from console.telemetry import reports, starting, traces
from tests.items import put_conversation
from tests.people import member, signed_in
from tests.queue import filled
from tests.store.console.telemetry.kit import CANARIES, EMAIL, PHONE, WORDS
from tests.store.console.telemetry.test_prometheus import started, wait_for
from tests.store.console.test_deployment import environment, free_port, gunicorn

__all__ = ["environment"]
PATH, QUERY, BODY, COOKIE, AGENT, ITEM = WORDS[0], WORDS[1], WORDS[3], WORDS[4], WORDS[5], "gossamer"
TRACE = "0af7651916cd43dd8448eb211c80319c"


@dataclass
class Collector:
    """What was received, as bytes, by the path that it was sent to."""

    port: int = 0
    received: list[tuple[str, bytes]] = field(default_factory=list)

    def spans(self) -> list[dict]:
        """Spans as plain values, with what they belong to."""
        found = []
        for path, body in list(self.received):
            if path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    service = {each.key: each.value.string_value for each in resource.resource.attributes}
                    for span in (each for scope in resource.scope_spans for each in scope.spans):
                        attributes = {each.key: _plain(each.value) for each in span.attributes}
                        events = [
                            (each.name, {one.key: _plain(one.value) for one in each.attributes}) for each in span.events
                        ]
                        found.append(
                            {
                                "name": span.name,
                                "service": service["service.name"],
                                "events": events,
                                **attributes,
                                "trace": span.trace_id.hex(),
                                "failed": span.status.code == 2,
                            }
                        )
        return found

    def reports(self) -> list[dict]:
        """Error reports."""
        found = []
        for path, body in list(self.received):
            if "envelope" in path:
                lines = body.splitlines()
                found += [
                    json.loads(lines[n + 1])
                    for n in range(1, len(lines) - 1)
                    if json.loads(lines[n]).get("type") == "event"
                ]
        return found

    def assert_no_canary(self) -> None:
        everything = b"\n".join(body for _, body in self.received).decode("latin-1").lower()
        assert everything
        assert not [
            each for each in (*CANARIES, ITEM) if each.lower() in everything or quote(each).lower() in everything
        ]


def _plain(value):
    return (
        getattr(value, value.WhichOneof("value"))
        if value.WhichOneof("value") != "array_value"
        else [each.string_value for each in value.array_value.values]
    )


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()

    class Receive(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.received.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receive)
    found.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def sending_to(collector: Collector, environment: dict[str, str]) -> dict[str, str]:
    return {
        **environment,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}",
        "OTEL_SERVICE_NAME": "console-test",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        # What an operator may have set for other services.
        "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": ".*",
        "OTEL_PYTHON_DJANGO_TRACED_REQUEST_ATTRS": "path_info,content_params,COOKIES",
        "SENTRY_DSN": f"http://key@127.0.0.1:{collector.port}/1",
        "LOG_FORMAT": "json",
    }


@pytest.mark.slow
def test_a_request_that_fails_is_traced_and_reported_without_a_word_of_it(store, environment, collector):
    put_conversation(
        store,
        primary_channel=PHONE,
        conversation_id=WORDS[2],
        recipient_email=EMAIL,
        first_name=ITEM,
        messages=[{"role": "user", "content": ITEM}],
    )
    settings = {
        **sending_to(collector, environment),
        "DJANGO_SETTINGS_MODULE": "tests.support.console.telemetry.settings",
    }
    told = {
        **{"Cookie": f"note={COOKIE}", "User_Agent": AGENT, "X_Forwarded_Proto": "https", "Referer": EMAIL},
        **{"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "tracestate": f"note={QUERY}", "baggage": f"note={QUERY}"},
    }
    with gunicorn(settings) as web:
        address = f"/failing/{PATH}/{quote(PHONE)}/{WORDS[2]}/?q={QUERY}"
        answers = [
            web.ask("POST", address, f"text={BODY}", Content_Type="application/x-www-form-urlencoded", **told)
            for _ in range(6)
        ]
        assert {each.status for each in answers} == {500}
        assert web.ask("GET", f"/{PATH}?q={QUERY}", **told).status == 404
        assert web.ask("GET", "/healthz", Host="10.0.0.1").status == 200
        named = "POST /failing/<str:word>/<str:channel>/<str:conversation_id>/"
        spans = wait_for(
            lambda: (found := collector.spans()) and sum(each["name"] == named for each in found) == 6 and found
        )
        sent = wait_for(lambda: len(found := collector.reports()) >= 6 and found)
        wait_for(lambda: any(each["name"].endswith("GET unmatched") for each in collector.spans()))
    of_requests = [each for each in spans if each["name"] == named]
    ids = {each.getheader("X-Request-ID") for each in answers}
    assert {each["console.request_id"] for each in of_requests} == ids
    assert {(each["http.status_code"], each["failed"], each["trace"], each["service"]) for each in of_requests} == {
        (500, True, TRACE, "console-test")
    }
    assert of_requests[0]["events"] == [("exception", {"exception.type": "ValueError"})]
    calls = {each["name"]: each for each in spans if each.get("rpc.service") == "DynamoDB"}
    assert calls["DynamoDB.GetItem"]["aws.dynamodb.table_names"] == ["CONVERSATIONS"]
    assert calls["DynamoDB.Query"]["aws.dynamodb.table_names"] == ["other"]
    assert {each["trace"] for each in calls.values()} == {TRACE}
    failed = [each for each in sent if each.get("exception")]
    assert {each["tags"]["request_id"] for each in failed} == ids
    for each in failed:
        assert each["transaction"] == named
        assert each["request"] == {"method": "POST"}
        [*types] = [one["type"] for one in each["exception"]["values"]]
        assert types[-1] == "ValueError"
        assert each["exception"]["values"][-1]["value"] == "Nobody writes to ***-***-4821"
        assert each["exception"]["values"][-1]["stacktrace"]["frames"][-1]["function"] == "failing"
        assert [one["message"] for one in each["breadcrumbs"]["values"] if one["category"] == "tests.failing"][
            -1
        ].startswith("A line of ***-***-4821 with")
    collector.assert_no_canary()


@pytest.mark.slow
def test_the_work_is_traced_and_its_errors_are_reported(store, environment, collector, tmp_path):
    filled(store)
    put_conversation(store, primary_channel=PHONE, conversation_id=WORDS[0], recipient_email=EMAIL, first_name=ITEM)
    signed_in(member())
    port = free_port()
    settings = {**sending_to(collector, environment), "PLAIN_HTTP": "true", "METRICS_PORT": str(port)}
    work = [sys.executable, "manage.py", "work"]

    def spans():
        return [each for each in collector.spans() if each["name"] == "work indexer"]

    with taken(port), started(work, settings, tmp_path, spans):
        parts = {each["console.part"] for each in collector.spans() if "console.part" in each}
        [report] = wait_for(collector.reports)
    assert "indexer" in parts
    assert report["tags"] == {"part": "work"}
    assert f"There are no metrics at 127.0.0.1:{port}" in report["logentry"]["message"]
    collector.assert_no_canary()


@contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", port)):
        yield


@pytest.mark.parametrize("setting", ["OTEL_EXPORTER_OTLP_ENDPOINT", "SENTRY_DSN"])
def test_what_is_set_up_and_not_installed_is_known(settings, monkeypatch, setting):
    setattr(settings, setting, "http://127.0.0.1:9")
    assert starting.settings_without_packages() == []
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    assert starting.settings_without_packages() == [setting]


@pytest.mark.slow
def test_neither_library_is_imported_where_nothing_is_set_up(environment):
    command = (
        "import console.wsgi, sys; print([each for each in sys.modules if 'telemetry.sdk' in each or 'sentry' in each])"
    )
    given = {**environment, "STATIC_MANIFEST": "false"}
    done = subprocess.run([sys.executable, "-c", command], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_report_that_cannot_be_redacted_says_no_more_than_that(monkeypatch):
    monkeypatch.setattr(reports, "without_secrets", lambda text: 1 / 0)
    found = reports.redacted({"event_id": "1", "logentry": {"message": PHONE}, "user": {"email": EMAIL}}, {})
    assert found == {
        "event_id": "1",
        "logentry": {"message": "An error report could not be redacted: ZeroDivisionError"},
    }


def test_no_span_keeps_what_nobody_knows():
    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(traces.redacting(memory)))
    with provider.get_tracer("x").start_as_current_span(
        PHONE, attributes={"db.statement": PHONE, "http.url": EMAIL}
    ) as span:
        span.add_event("said", {"text": PHONE, "exception.message": EMAIL})
        span.set_status(StatusCode.ERROR, PHONE)
    [found] = memory.get_finished_spans()
    assert found.name == "span"
    assert not [each for each in (PHONE, EMAIL) if each in found.to_json()]
