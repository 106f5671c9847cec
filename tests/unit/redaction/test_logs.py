"""Log records and error reports: nothing of a record escapes redaction, whichever part of it holds the data."""

import logging
import logging.config
import sys
import time

import pytest
from django.test import RequestFactory
from django.views.debug import get_exception_reporter_class

from console.error_pages import RedactingReporter
from console.logs import RateLimitFilter, RedactingFormatter

SECRETS = ("+447123454821", "447123454821", "jo.bloggs@example.com", "919177", "RX423739414214", "Ottilie")
TEXT = "call +447123454821 or jo.bloggs@example.com about order 919177, parcel RX423739414214"
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def line_of(message, *args, form=FORMAT, **given):
    record = logging.getLogger("console.test").makeRecord(
        "console.test", logging.ERROR, __file__, 1, message, args, given.get("exc_info"), "run", given.get("extra")
    )
    record.stack_info = given.get("stack_info")
    return RedactingFormatter(form).format(record)


def failure(text=TEXT, cause=None):
    """What sys.exc_info() gives for an error with that text."""
    try:
        try:
            raise ValueError(cause or "first")
        except ValueError as error:
            raise RuntimeError(text) from error
    except RuntimeError:
        return sys.exc_info()


class Shown:
    def __repr__(self):
        return f"<Customer {TEXT}>"


@pytest.mark.parametrize(
    "line",
    [
        lambda: line_of(TEXT),
        lambda: line_of("said %s", TEXT),
        lambda: line_of("%(customer)s", {"customer": {"first_name": "Ottilie", "phone": "+447123454821"}}),
        lambda: line_of("%s", Shown()),
        lambda: line_of("%r and %d", Shown(), 447123454821),
        lambda: line_of("failed", exc_info=failure()),
        lambda: line_of("failed", exc_info=failure("second", cause=TEXT)),
        lambda: line_of("here", stack_info=f"Stack (most recent call last):\n  {TEXT}"),
        lambda: line_of("with extra", form="%(message)s %(customer)s", extra={"customer": TEXT}),
        lambda: line_of('payload {"customer": {"first_name": "Ottilie"}, "to": "+447123454821"}'),
    ],
)
def test_whatever_part_of_a_record_holds_the_data_it_is_masked(line):
    shown = line()
    assert "***" in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_a_traceback_stays_readable():
    shown = line_of("failed", exc_info=failure())
    assert "Traceback (most recent call last):" in shown
    assert "in failure\n    raise RuntimeError(text) from error\nRuntimeError: call ***-***-4821" in shown
    assert "ValueError: first" in shown


def test_time_level_and_logger_stay():
    shown = line_of("ready")
    assert shown.endswith(" ERROR console.test ready")
    assert "*" not in shown


def test_the_traceback_is_not_left_on_the_record_for_other_handlers():
    record = logging.LogRecord("console.test", logging.ERROR, __file__, 1, "failed", (), failure())
    RedactingFormatter(FORMAT).format(record)
    assert record.exc_text is None


class Unprintable:
    def __str__(self):
        raise RuntimeError(TEXT)


@pytest.mark.parametrize(
    ("message", "args", "told"),
    [
        ("count %d", ("+447123454821",), "count %d, ***-***-4821"),
        ("who %s", (Unprintable(),), "who %s, <Unprintable>"),
        ("two %s %s", (TEXT,), "two %s %s, call ***-***-4821 or ***@***"),
        ("none", (TEXT,), "none, call ***"),
        ("%(name)s is away", ({"phone": "+447123454821"},), "%(name)s is away, {'phone': '***-***-4821'}"),
    ],
)
def test_what_cannot_be_formatted_is_told_all_the_same_masked_and_from_where(message, args, told):
    shown = line_of(message, *args, exc_info=failure())
    assert " ERROR console.test " + told in shown
    assert "at test_logs:1)" in shown
    assert "RuntimeError: call ***-***-4821" in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_what_cannot_be_masked_is_not_shown_but_where_it_was_written_is(monkeypatch):
    monkeypatch.setattr("console.logs.redact", lambda text: 1 / 0)
    assert line_of(TEXT) == "ERROR console.test (a line of test_logs:1 could not be redacted: ZeroDivisionError)"


def test_malformed_requests_are_logged_a_few_a_minute_without_tracebacks(settings, capsys, client, monkeypatch):
    logging.config.dictConfig(settings.LOGGING)
    try:
        for number in range(40):
            assert client.get("/", headers={"host": f"evil{number}.example"}).status_code == 400
        written = capsys.readouterr().err
        lines = [line for line in written.splitlines() if "django.security" in line]
        assert len(lines) == RateLimitFilter.LINES
        assert " WARNING django.security.DisallowedHost" in lines[0]
        assert "Traceback" not in written
        assert "evil0.example" in lines[0]
        later = time.monotonic() + 61
        monkeypatch.setattr("console.logs.time.monotonic", lambda: later)
        client.get("/", headers={"host": "evil.example"})
        [line] = [line for line in capsys.readouterr().err.splitlines() if "django.security" in line]
        assert "(30 more before this were left out)" in line
    finally:
        logging.config.dictConfig(settings.LOGGING)


def test_a_malformed_request_cannot_forge_a_line():
    record = logging.LogRecord("django.security.X", logging.ERROR, __file__, 1, f"a\nINFO b {TEXT}", (), failure())
    assert RateLimitFilter().filter(record)
    shown = RedactingFormatter(FORMAT).format(record)
    assert len(shown.splitlines()) == 1
    assert "Traceback" not in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_every_formatter_and_every_handler_that_writes_masks(settings):
    formatters, handlers = settings.LOGGING["formatters"], settings.LOGGING["handlers"]
    masking = {"line": "console.logs.RedactingFormatter", "json": "console.logs.RedactingJsonFormatter"}
    assert {name: form["()"] for name, form in formatters.items()} == masking
    writing = [handler for handler in handlers.values() if handler["class"] != "logging.NullHandler"]
    assert writing
    assert all(handler.get("formatter") in formatters for handler in writing)


def test_error_reports_are_masked(settings):
    assert settings.DEFAULT_EXCEPTION_REPORTER == "console.error_pages.RedactingReporter"
    request = RequestFactory().post("/find/", {"phone": "+447123454821", "note": TEXT})
    reporter = get_exception_reporter_class(request)(request, *failure())
    assert isinstance(reporter, RedactingReporter)
    for report in (reporter.get_traceback_text(), reporter.get_traceback_html()):
        assert "RuntimeError" in report
        assert not [secret for secret in SECRETS if secret in report]
