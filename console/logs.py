"""Log lines: everything a record says, arguments and tracebacks included, is masked when it is formatted."""

import logging
import os
import re
from collections.abc import Iterator

from console.redaction import redact
from console.redaction.credentials import mask_text
from console.redaction.masks import FULL_MASK

_UNSPEAKABLE = "(a log record that cannot be formatted)"
# Session tokens are some 100 characters long; references, which may be logged, look the same until they are opened.
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_-]{60,400}")
_ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST_SECRET = 8


class RedactingFormatter(logging.Formatter):
    """Masks personal data and credentials in whatever a log record turns into.

    The line is masked as a whole: message, arguments, fields given as `extra`, traceback, text of the exception and of
    what caused it, and stack.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The redacted line; what cannot be formatted or masked is said, never raised.

        An error raised here would make `logging` print message and arguments as they are.
        """
        try:
            return without_secrets(super().format(record))
        except Exception:
            return f"{record.levelname} {record.name} {_UNSPEAKABLE}"
        finally:
            # The traceback as text, which the standard formatter leaves on the record for the next handler.
            record.exc_text = None


def without_secrets(text: str) -> str:
    """Text for operators: without personal data and without credentials."""
    return redact(without_credentials(text))


def without_credentials(line: str) -> str:
    """A line without credentials, our own among them, and with the tables of this environment by their keys."""
    for secret in _own_secrets():
        line = line.replace(secret, FULL_MASK)
    return _without_table_names(_LIKE_A_TOKEN.sub(_session, mask_text(line)))


# Here and below imports are not above: logging is set up before the console's settings can be read.
def _own_secrets() -> Iterator[str]:
    from django.conf import settings

    held = (
        settings.SECRET_KEY,
        *settings.SECRET_KEY_FALLBACKS,
        getattr(settings, "OIDC_CLIENT_SECRET", ""),
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
    from console.dynamodb.registry import TABLES, table_name

    for key in TABLES:
        name = table_name(key)
        if name in line:
            # Not within a path or a dotted name: a table may be called like one of our packages.
            line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", f"<{key}>", line)
    return line
