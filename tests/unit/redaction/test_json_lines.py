"""Log lines as JSON: one valid object a line, whatever a record holds, and masked as text is."""

import json
import logging
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from console.instrumentation import ObservedRequest, answering, process_of
from console.logs import NOTHING_TO_MASK, RedactingFormatter, RedactingJsonFormatter
from tests.documentation import ROOT
from tests.unit.redaction.test_logs import SECRETS, TEXT, Shown, Unprintable, failure

formatter = RedactingJsonFormatter()


def record_of(message, *args, extra=None, exc_info=None, stack=None, name="console.test"):
    record = logging.getLogger(name).makeRecord(
        name, logging.ERROR, __file__, 1, message, args, exc_info, "run", extra or None
    )
    record.stack_info = stack
    return record


def object_of(line):
    """The one object that a line is; strictly JSON."""
    assert line.isascii()
    assert len(line.splitlines()) == 1
    found = json.loads(line, parse_constant=pytest.fail)
    assert type(found) is dict
    return found


def said(message, *args, **given):
    return object_of(formatter.format(record_of(message, *args, **given)))


def test_a_line_says_when_how_bad_and_by_what():
    record = record_of("ready for %s", "work", extra={"count": 3, "share": 0.5, "late": False, "kind": None})
    found = object_of(formatter.format(record))
    at = datetime.fromisoformat(found.pop("timestamp"))
    assert abs(at.timestamp() - record.created) < 0.001
    assert at.tzinfo == UTC
    assert found == {
        **{"level": "ERROR", "logger": "console.test", "message": "ready for work"},
        **{"count": 3, "share": 0.5, "late": False, "kind": None},
    }


def test_a_line_says_of_which_request_or_part_of_the_work_it_is():
    with answering(ObservedRequest("0123456789abcdef", RequestFactory().get("/"))):
        assert said("x")["request_id"] == "0123456789abcdef"
    with process_of("sender"):
        assert said("x")["part"] == "sender"
    assert not {"request_id", "part"} & set(said("x"))


CANARIES = [
    lambda: said(TEXT),
    lambda: said("said %s", TEXT),
    lambda: said("%(customer)s", {"customer": {"first_name": "Ottilie", "phone": "+447123454821"}}),
    lambda: said("%s", Shown()),
    lambda: said({"customer": TEXT, "first_name": "Ottilie"}),
    lambda: said("failed", exc_info=failure()),
    lambda: said("failed", exc_info=failure("second", cause=TEXT)),
    lambda: said("here", stack=f"Stack (most recent call last):\n  {TEXT}"),
    lambda: said("extra", extra={"customer": TEXT}),
    lambda: said("extra", extra={"customer": {"first_name": "Ottilie", "phones": ["+447123454821", 447123454821]}}),
    lambda: said("extra", extra={"+447123454821": 1, "jo.bloggs@example.com": 2, "more": TEXT}),
    lambda: said("extra", extra={"customer": Shown(), "number": 447123454821, "exact": Decimal(447123454821)}),
    lambda: said("lines\n447123454821\nRX423739414214", extra={"number": 447123454821}),
    lambda: said('payload {"customer": {"first_name": "Ottilie"}, "to": "+447123454821"}'),
]


@pytest.mark.parametrize("line", CANARIES)
def test_whatever_part_of_a_record_holds_the_data_it_is_masked(line):
    shown = json.dumps(line())
    assert "***" in shown
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize("secret", ['pass"word\\with-quotes-and-more', "geheimnis-mit-Umläuten-äöü-12"])
def test_our_own_secrets_are_masked_however_json_writes_them(settings, secret):
    settings.METRICS_TOKEN = secret
    found = said(f"token {secret}", extra={"token_given": secret, "also": [secret]})
    assert secret not in json.dumps(found, ensure_ascii=False)
    assert found["message"] == "token ***"
    assert found["also"] == ["***"]


@pytest.mark.parametrize("extra", [{NOTHING_TO_MASK: True}, {}])
def test_only_a_record_that_says_so_is_written_as_it_is(extra):
    record = record_of("447123456789", extra=extra)
    as_json, as_text = object_of(formatter.format(record)), RedactingFormatter().format(record)
    assert ("447123456789" in as_json["message"], "447123456789" in as_text) == (bool(extra), bool(extra))
    assert set(as_json) == {"timestamp", "level", "logger", "message"}


def test_nothing_but_the_line_of_a_request_says_so():
    named = [path for path in (ROOT / "console").rglob("*.py") if "NOTHING_TO_MASK" in path.read_text()]
    assert {path.name for path in named} == {"logs.py", "middleware.py"}
    assert (ROOT / "console" / "middleware.py").read_text().count("NOTHING_TO_MASK") == 2
    others = [path for app in ("tenants", "conversations", "demo") for path in (ROOT / app).rglob("*.py")]
    assert not [path for path in others if "NOTHING_TO_MASK" in path.read_text()]


def test_numbers_that_json_does_not_know_are_written_as_text():
    found = said("x", extra={"share": float("nan"), "more": [float("inf")], "exact": Decimal("1.50")})
    assert (found["share"], found["more"], found["exact"]) == ("nan", ["inf"], "1.50")


def test_a_traceback_is_part_of_the_line_and_stays_readable():
    found = said("failed", exc_info=failure())
    assert "Traceback (most recent call last):" in found["exception"]
    assert "in failure\n    raise RuntimeError(text) from error\nRuntimeError: call ***-***-4821" in found["exception"]


def test_the_request_that_django_adds_is_left_out():
    request = RequestFactory().get("/conversations/SEALED/?q=words")
    assert "SEALED" not in json.dumps(said("Internal Server Error", extra={"request": request, "status_code": 500}))


@pytest.mark.parametrize(("message", "args"), [("count %d", ("+447123454821",)), ("who %s", (Unprintable(),))])
def test_what_cannot_be_formatted_is_told_all_the_same_masked_and_from_where(message, args):
    found = said(message, *args, exc_info=failure())
    assert found["message"].startswith(message)
    assert "at test_json_lines:1)" in found["message"]
    assert not [secret for secret in SECRETS if secret in json.dumps(found)]


def test_what_cannot_be_masked_is_not_shown_but_where_it_was_written_is(monkeypatch):
    monkeypatch.setattr("console.logs.redact", lambda text: 1 / 0)
    told = "a line of test_json_lines:1 could not be redacted: ZeroDivisionError"
    assert said(TEXT) == {"level": "ERROR", "logger": "console.test", "message": told}


def test_lines_and_those_that_were_masked_are_counted():
    def counted():
        names = ("console_log_lines_total", {"level": "ERROR"}), ("console_log_redactions_total", {})
        return [REGISTRY.get_sample_value(name, labels) for name, labels in names]

    lines, masked = counted()
    said("nothing to hide *** here")
    assert counted() == [lines + 1, masked]
    said(TEXT)
    assert counted() == [lines + 2, masked + 1]


class Nested(dict):
    """A dict that is nested in itself."""

    def __init__(self):
        super().__init__(again=self, phone="+447123454821")


# What is masked wherever it stands; other data of these tests is known by the words before it.
ANYWHERE = ("+447123454821", "447123454821", "jo.bloggs@example.com")
PIECES = st.sampled_from(
    [*ANYWHERE, TEXT, "\n", "\\", '"', "{", '{"first_name": "Ottilie"', "\u2028", "\x00", "\udc80", "é"]
)
WORDS = st.lists(PIECES | st.text(max_size=8), max_size=5).map(" ".join)
LEAVES = (
    *(WORDS, st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=8), st.decimals()),
    st.builds(Unprintable),
    st.builds(Shown),
    st.builds(Nested),
    st.just(447123454821),
)
VALUES = st.recursive(
    st.one_of(*LEAVES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)
TAKEN = {*logging.makeLogRecord({}).__dict__, "message", "asctime"}
EXTRA = st.dictionaries(WORDS.filter(lambda name: name not in TAKEN), VALUES, max_size=4)


@pytest.mark.slow
@given(WORDS | VALUES, st.lists(VALUES, max_size=3), EXTRA, st.none() | WORDS, st.none() | WORDS)
def test_whatever_is_logged_is_one_line_of_json_without_personal_data(message, args, extra, fault, stack):
    exc_info = None
    if fault is not None:
        try:
            raise ValueError(fault)
        except ValueError:
            exc_info = sys.exc_info()
    line = formatter.format(record_of(message, *args, extra=extra, exc_info=exc_info, stack=stack))
    # Of a key or text around it something may be left out, but never is anything shown.
    decoded = json.dumps(object_of(line), ensure_ascii=False)
    assert not [secret for secret in ANYWHERE if secret in line + decoded]
