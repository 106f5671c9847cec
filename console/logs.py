"""Log lines: everything a record says, arguments and tracebacks included, is masked when it is formatted."""

import logging

from console.redaction import redact

_UNSPEAKABLE = "(a log record that cannot be formatted)"


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
    # Not above: logging is set up before the console can be imported.
    from console.credentials import without_credentials

    return redact(without_credentials(text))
