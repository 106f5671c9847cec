"""Log lines: everything a record says, arguments and tracebacks included, is redacted when it is formatted."""

import logging

from console.redaction import redact


class RedactingFormatter(logging.Formatter):
    """Masks personal data in whatever a log record turns into."""

    def format(self, record: logging.LogRecord) -> str:
        """The redacted line; what cannot be formatted is said, never raised."""
        try:
            line = super().format(record)
        except Exception:
            line = f"{record.levelname} {record.name} (a log record that cannot be formatted)"
        return redact(line)
