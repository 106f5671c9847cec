"""Log lines: everything a record says, arguments and tracebacks included, is masked when it is formatted."""

import logging

from console.redaction import redact


class RedactingFormatter(logging.Formatter):
    """Masks personal data and credentials in whatever a log record turns into."""

    def format(self, record: logging.LogRecord) -> str:
        """The redacted line; what cannot be formatted is said, never raised."""
        # Not above: logging is set up before the console can be imported.
        from console.credentials import without_credentials

        try:
            line = super().format(record)
        except Exception:
            line = f"{record.levelname} {record.name} (a log record that cannot be formatted)"
        return redact(without_credentials(line))
