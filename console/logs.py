"""Log formatters and filters. A record is masked as a whole when formatted, arguments and tracebacks included.

Only the line of each request is not masked: it contains nothing but numbers and the console's own words.

A line is text for people or JSON for machines (LOG_FORMAT); both name the request or worker that wrote it.
"""

import json
import logging
import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from console import clock, instrumentation
from console.redaction import redact
from console.redaction.credentials import mask_text
from console.redaction.masks import FULL_MASK

LONGEST_ARGUMENT = 500
# Session tokens are some 100 characters long; references, which may be logged, look the same until they are unsealed.
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_-]{60,400}")
_ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS")
_SHORTEST_SECRET = 8
# In the `extra` of a record that contains only numbers and the console's own words.
NOTHING_TO_MASK = "nothing_to_mask"


class RedactingFormatter(logging.Formatter):
    """Masks personal data and credentials in every log line.

    The line is masked as a whole: message, arguments, `extra` fields, traceback, the exception, its causes, and stack.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line. Never raises: `logging` would then print message and arguments unmasked.

        If the arguments do not fit the message, the line has both, and the place of the call.
        """
        try:
            formatted = self._formatted(record)
            shown = formatted if hasattr(record, NOTHING_TO_MASK) else without_secrets(formatted)
            _count(record, is_masked=shown.count(FULL_MASK) > formatted.count(FULL_MASK))
            return shown
        except Exception as error:
            return f"{record.levelname} {record.name} ({_not_redacted(record, error)})"
        finally:
            # The standard formatter caches the traceback on the record, where the next handler would write it unmasked.
            record.exc_text = None

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the first line, with the fields of the current request or worker."""
        where = "".join(f" {name}={value}" for name, value in instrumentation.log_fields().items())
        return super().formatMessage(record) + where

    def _formatted(self, record: logging.LogRecord) -> str:
        try:
            return super().format(record)
        except Exception as error:
            safe = _unformatted_record(record, error)
            line = f"{self.formatTime(safe)} {safe.levelname} {safe.name} {safe.msg}"
            return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class RedactingJsonFormatter(JsonFormatter):
    """Writes one JSON object a line and masks as `RedactingFormatter` does: each string, then the line as a whole.

    Only ASCII is written, so that no character in a string ends the line.
    """

    # Django adds the request itself, whose URL contains sealed references.
    RESERVED = (*RESERVED_ATTRS, "request", "server_time")
    NAMES = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}
    DEEPEST = 20

    def __init__(self) -> None:
        super().__init__(["levelname", "name", "message"], rename_fields=self.NAMES, reserved_attrs=self.RESERVED)

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line, always valid JSON. Never raises, as in `RedactingFormatter`."""
        try:
            try:
                record.getMessage()
            except Exception as error:
                record = _unformatted_record(record, error)
            return super().format(record)
        except Exception as error:
            said = {"level": record.levelname, "logger": record.name, "message": _not_redacted(record, error)}
            return json.dumps(said, default=_describe)
        finally:
            record.exc_text = None

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add the time first, and the fields of the current request or worker last."""
        log_data["timestamp"] = clock.to_iso(datetime.fromtimestamp(record.created, UTC))
        super().add_fields(log_data, record, message_dict)
        log_data.update(instrumentation.log_fields())
        _count(record)

    def jsonify_log_record(self, log_data: dict[str, Any]) -> str:
        """Return the masked line. Raises `ValueError` if it is no longer JSON once masked."""
        is_ours = log_data.pop(NOTHING_TO_MASK, False)
        try:
            line = json.dumps(log_data, allow_nan=False)
            # The fast path of most lines, with nothing to mask: without escapes, the line can be checked as plain text.
            if is_ours or ("\\" not in line and without_secrets(line) == line):
                return line
        except (TypeError, ValueError, RecursionError):
            pass
        plain = _plain(log_data, self.DEEPEST)
        whole = json.dumps(plain)
        line = redact(json.dumps(_masked(plain)))
        if line.count(FULL_MASK) > whole.count(FULL_MASK):
            instrumentation.LOG_REDACTIONS.inc()
        json.loads(line)
        return line


def _plain(value: Any, levels: int) -> Any:
    """Return a JSON-compatible copy of a value; anything else, or nested too deep, becomes text."""
    if isinstance(value, Mapping) and levels:
        return {_describe(key): _plain(each, levels - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and levels:
        return [_plain(each, levels - 1) for each in value]
    if value is None or isinstance(value, bool) or (type(value) in (int, float) and math.isfinite(value)):
        return value
    return str.__str__(value) if isinstance(value, str) else _describe(value)


def _masked(value: Any) -> Any:
    """Return a plain value with all its strings masked."""
    if isinstance(value, dict):
        return {without_secrets(key): _masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return without_secrets(value) if isinstance(value, str) else value


def _unformatted_record(record: logging.LogRecord, error: Exception) -> logging.LogRecord:
    """Return a record with message and arguments side by side, for one whose message cannot be formatted."""
    safe = logging.makeLogRecord(record.__dict__)
    args = record.args if isinstance(record.args, tuple) else (record.args,)
    said = ", ".join([_describe(record.msg), *map(_describe, args)])
    safe.msg = f"{said} (not formatted, {type(error).__name__} at {record.module}:{record.lineno})"
    safe.args = ()
    # The stack may be what cannot be formatted.
    safe.stack_info = None
    return safe


def _not_redacted(record: logging.LogRecord, error: Exception) -> str:
    """Return the message for a record that could not be redacted: only its origin may be written."""
    return f"a line of {record.module}:{record.lineno} could not be redacted: {type(error).__name__}"


def _count(record: logging.LogRecord, *, is_masked: bool = False) -> None:
    instrumentation.LOG_LINES.labels(record.levelname if record.levelname in instrumentation.LEVELS else "OTHER").inc()
    if is_masked:
        instrumentation.LOG_REDACTIONS.inc()


class ServerErrorFilter(logging.Filter):
    """Passes Django's records of 5xx responses only if they have an exception, with the route instead of the URL.

    A URL may name a person or a company. The other records repeat what the line of the request says.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record; if so, put the route into it."""
        if not record.exc_info:
            return False
        request = getattr(record, "request", None)
        if request is not None:
            record.msg, record.args = "Not answered: %s", (instrumentation.ObservedRequest("", request).route,)
        return True


class RateLimitFilter(logging.Filter):
    """Passes a few records a minute per logger, each as one line without traceback, and as a warning at most.

    Anybody on the network can cause these, so they must not fill the log, forge lines or raise an alarm. The next line
    says how many were dropped.
    """

    LINES, LENGTH = 10, 300

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._minute, self._seen = 0, Counter[str]()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record; if so, cut it to one line."""
        with self._lock:
            minute = int(time.monotonic() // 60)
            if minute != self._minute:
                self._minute = minute
                self._seen.clear()
            self._seen[record.name] += 1
            if self._seen[record.name] > self.LINES:
                self._left_out[record.name] += 1
                return False
            left_out = self._left_out.pop(record.name, 0)
        try:
            said = record.getMessage()
        except Exception:
            said = _describe(record.msg)
        record.msg = said[: self.LENGTH].encode("unicode_escape").decode()
        record.msg += f" ({left_out} more before this were left out)" if left_out else ""
        record.args, record.exc_info, record.exc_text, record.stack_info = (), None, None, None
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _describe(value: object) -> str:
    try:
        return str(value)[:LONGEST_ARGUMENT]
    except Exception:
        return f"<{type(value).__name__}>"


def without_secrets(text: str) -> str:
    """Mask personal data and credentials in a text for operators."""
    return redact(without_credentials(text))


def without_credentials(line: str) -> str:
    """Mask credentials, our own included, and replace this environment's table names with their keys."""
    for secret in _own_secrets():
        line = line.replace(secret, FULL_MASK)
    return _without_table_names(_LIKE_A_TOKEN.sub(_session, mask_text(line)))


# The functions below import locally: logging is set up before the console's settings can be read.
def _own_secrets() -> Iterator[str]:
    from django.conf import settings

    held = (
        settings.SECRET_KEY,
        *settings.SECRET_KEY_FALLBACKS,
        settings.METRICS_TOKEN,
        settings.SENTRY_DSN,
        settings.OIDC_CLIENT_SECRET,
        settings.CHATBOT_USER_ID_SECRET,
        settings.AUDIT_ARCHIVE_KEY,
        *settings.AUDIT_ARCHIVE_KEY_FALLBACKS,
    )
    for secret in (*held, *(os.environ.get(name, "") for name in _ENVIRONMENT)):
        if len(secret) >= _SHORTEST_SECRET:
            yield secret


def _session(found: re.Match[str]) -> str:
    from console.errors import BadReference
    from console.refs import unseal

    try:
        unseal("session", found[0])
    except BadReference:
        return found[0]
    return FULL_MASK


def _without_table_names(line: str) -> str:
    from console.schema.tables import TABLES
    from console.store.calls import table_name

    for key in TABLES:
        name = table_name(key)
        if name in line:
            # Not inside a path or a dotted name: a table may have the name of one of our packages.
            line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", f"<{key}>", line)
    return line
