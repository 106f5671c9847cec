"""Log lines: a record is masked as a whole when it is formatted, arguments and tracebacks included."""

import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator

from console.redaction import redact
from console.redaction.credentials import mask_text
from console.redaction.masks import FULL_MASK

LONGEST_ARGUMENT = 500
# Session tokens are some 100 characters long; references, which may be logged, look the same until they are opened.
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_-]{60,400}")
_ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST_SECRET = 8


class RedactingFormatter(logging.Formatter):
    """Mask personal data and credentials in every log line.

    The line is masked as a whole: message, arguments, `extra` fields, traceback, the exception, its causes, and stack.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line. Never raises: `logging` would then print message and arguments unmasked.

        If the arguments do not fit the message, both are written side by side, with the place of the call.
        """
        try:
            return without_secrets(self._formatted(record))
        except Exception as error:
            # Without redaction only the origin of the record may be written.
            where = f"{record.module}:{record.lineno}"
            return f"{record.levelname} {record.name} (a line of {where} could not be redacted: {type(error).__name__})"
        finally:
            # The traceback as text, which the standard formatter leaves on the record for the next handler.
            record.exc_text = None

    def _formatted(self, record: logging.LogRecord) -> str:
        try:
            return super().format(record)
        except Exception as error:
            safe = logging.makeLogRecord(record.__dict__)
            args = record.args if isinstance(record.args, tuple) else (record.args,)
            said = ", ".join([_describe(record.msg), *map(_describe, args)])
            safe.msg = f"{said} (not formatted, {type(error).__name__} at {record.module}:{record.lineno})"
            safe.args = ()
            # What else the record has may be what cannot be formatted.
            safe.stack_info = None
            line = f"{self.formatTime(safe)} {safe.levelname} {safe.name} {safe.msg}"
            return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class AFewAMinute(logging.Filter):
    """Let through a few lines a minute of each logger, each on one line and without a traceback.

    What anybody on the network can cause must neither fill the log nor forge lines. The next line says how many were
    left out.
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
    from console.schema.tables import TABLES, table_name

    for key in TABLES:
        name = table_name(key)
        if name in line:
            # Not within a path or a dotted name: a table may have the name of one of our packages.
            line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", f"<{key}>", line)
    return line
