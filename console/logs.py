"""Log lines: a record is masked as a whole when it is formatted, arguments and tracebacks included.

Only the line of each request is written as it is: nothing but words of the console's own and numbers is in it.

A line is text for people or JSON for machines (LOG_FORMAT). Either says of which request, or of which part of the work,
it is.
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

from console.redaction import redact
from console.redaction.credentials import mask_text
from console.redaction.masks import FULL_MASK
from console.telemetry import instrumentation

LONGEST_ARGUMENT = 500
# Session tokens are some 100 characters long; references, which may be logged, look the same until they are opened.
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_-]{60,400}")
_ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS")
_SHORTEST_SECRET = 8
# Among the `extra` of a record that has nothing but words of the console's own and numbers.
NOTHING_TO_MASK = "nothing_to_mask"


class RedactingFormatter(logging.Formatter):
    """Mask personal data and credentials in every log line.

    The line is masked as a whole: message, arguments, `extra` fields, traceback, the exception, its causes, and stack.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line. Never raises: `logging` would then print message and arguments unmasked.

        If the arguments do not fit the message, both are written side by side, with the place of the call.
        """
        try:
            formatted = self._formatted(record)
            shown = formatted if hasattr(record, NOTHING_TO_MASK) else without_secrets(formatted)
            _count(record, is_masked=shown.count(FULL_MASK) > formatted.count(FULL_MASK))
            return shown
        except Exception as error:
            return f"{record.levelname} {record.name} ({_not_redacted(record, error)})"
        finally:
            # The traceback as text, which the standard formatter leaves on the record for the next handler.
            record.exc_text = None

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the first line, with where it comes from."""
        where = "".join(f" {name}={value}" for name, value in instrumentation.log_fields().items())
        return super().formatMessage(record) + where

    def _formatted(self, record: logging.LogRecord) -> str:
        try:
            return super().format(record)
        except Exception as error:
            safe = _told_apart(record, error)
            line = f"{self.formatTime(safe)} {safe.levelname} {safe.name} {safe.msg}"
            return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class RedactingJsonFormatter(JsonFormatter):
    """One JSON object a line, masked as `RedactingFormatter` masks text: each string of it, then the line as a whole.

    Only ASCII is written, so that no character in it ends a line.
    """

    # Django adds the request as it is; its address carries sealed references.
    RESERVED = (*RESERVED_ATTRS, "request", "server_time")
    NAMES = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}
    DEEPEST = 20

    def __init__(self) -> None:
        super().__init__(["levelname", "name", "message"], rename_fields=self.NAMES, reserved_attrs=self.RESERVED)

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line. Never raises, as `RedactingFormatter`; it is JSON whatever the record has."""
        try:
            try:
                record.getMessage()
            except Exception as error:
                record = _told_apart(record, error)
            return super().format(record)
        except Exception as error:
            said = {"level": record.levelname, "logger": record.name, "message": _not_redacted(record, error)}
            return json.dumps(said, default=_describe)
        finally:
            record.exc_text = None

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Say when it was, first of all, and of which request or part of the work it is, last."""
        at = datetime.fromtimestamp(record.created, UTC)
        log_data["timestamp"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        super().add_fields(log_data, record, message_dict)
        log_data.update(instrumentation.log_fields())
        _count(record)

    def jsonify_log_record(self, log_data: dict[str, Any]) -> str:
        """Return the line. Raises `ValueError` for one that is no JSON once it is masked."""
        is_ours = log_data.pop(NOTHING_TO_MASK, False)
        try:
            line = json.dumps(log_data, allow_nan=False)
            # Without an escape the line is the text that it stands for, and most lines have nothing to mask.
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
    """A value as JSON can say it: text for what else there is, and for what is nested too deep."""
    if isinstance(value, Mapping) and levels:
        return {_describe(key): _plain(each, levels - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and levels:
        return [_plain(each, levels - 1) for each in value]
    if value is None or isinstance(value, bool) or (type(value) in (int, float) and math.isfinite(value)):
        return value
    return str.__str__(value) if isinstance(value, str) else _describe(value)


def _masked(value: Any) -> Any:
    """A plain value with all its strings masked."""
    if isinstance(value, dict):
        return {without_secrets(key): _masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return without_secrets(value) if isinstance(value, str) else value


def _told_apart(record: logging.LogRecord, error: Exception) -> logging.LogRecord:
    """A record whose message cannot be formatted, with message and arguments side by side."""
    safe = logging.makeLogRecord(record.__dict__)
    args = record.args if isinstance(record.args, tuple) else (record.args,)
    said = ", ".join([_describe(record.msg), *map(_describe, args)])
    safe.msg = f"{said} (not formatted, {type(error).__name__} at {record.module}:{record.lineno})"
    safe.args = ()
    # What else the record has may be what cannot be formatted.
    safe.stack_info = None
    return safe


def _not_redacted(record: logging.LogRecord, error: Exception) -> str:
    """Without redaction only the origin of a record may be written."""
    return f"a line of {record.module}:{record.lineno} could not be redacted: {type(error).__name__}"


def _count(record: logging.LogRecord, *, is_masked: bool = False) -> None:
    instrumentation.LOG_LINES.labels(record.levelname if record.levelname in instrumentation.LEVELS else "OTHER").inc()
    if is_masked:
        instrumentation.LOG_REDACTIONS.inc()


class FailuresByRoute(logging.Filter):
    """Of Django's lines on answers of 500 and more let through those of exceptions, with the route for the address.

    An address may name a person or a company. The others tell nothing that the line of the request does not.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is logged; put the route into it if so."""
        if not record.exc_info:
            return False
        request = getattr(record, "request", None)
        if request is not None:
            record.msg, record.args = "Not answered: %s", (instrumentation.ObservedRequest("", request).route,)
        return True


class AFewAMinute(logging.Filter):
    """Let through a few lines a minute of each logger, each on one line, without a traceback, and a warning at most.

    What anybody on the network can cause must neither fill the log, forge lines nor raise an alarm. The next line says
    how many were left out.
    """

    LINES, LENGTH = 10, 300

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._minute, self._seen = 0, Counter[str]()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is logged; cut it to one line if so."""
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
    """Mask credentials, our own included, and replace the names of this environment's tables by their keys."""
    for secret in _own_secrets():
        line = line.replace(secret, FULL_MASK)
    return _without_table_names(_LIKE_A_TOKEN.sub(_session, mask_text(line)))


# From here on imports are local: logging is set up before the console's settings can be read.
def _own_secrets() -> Iterator[str]:
    from django.conf import settings

    held = (
        settings.SECRET_KEY,
        *settings.SECRET_KEY_FALLBACKS,
        getattr(settings, "METRICS_TOKEN", ""),
        getattr(settings, "SENTRY_DSN", ""),
        getattr(settings, "OIDC_CLIENT_SECRET", ""),
        getattr(settings, "CHATBOT_USER_ID_SECRET", ""),
        getattr(settings, "AUDIT_ARCHIVE_KEY", ""),
        *getattr(settings, "AUDIT_ARCHIVE_KEY_FALLBACKS", ()),
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
            # Not within a path or a dotted name: a table may have the name of one of our packages.
            line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", f"<{key}>", line)
    return line
