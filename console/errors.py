"""The console's errors: what a service or a read may say went wrong, in the words of the pages that render them.

`console.store.errors` turns the libraries' exceptions into these at one place; `console.middleware` renders
them. Messages are shown to people, so they hold no keys, no PII and no table names.
"""


class ConsoleError(Exception):
    """Root of the tree. `status` is the HTTP status of the page or fragment that tells it.

    `title` heads that page where the status's usual words would mislead; `retry_after` is in seconds, 0 for "no use".
    """

    status = 500
    title = ""
    retry_after = 0


class NotFound(ConsoleError):
    """Nothing there, or nothing in the person's scope: deliberately the same answer."""

    status = 404


class BadReference(NotFound):
    """A sealed reference or cursor that this console did not make (tampered with, or of another environment)."""


class Forbidden(ConsoleError):
    """The person's role does not include the permission."""

    status = 403


class Invalid(ConsoleError):
    """The request asked for something that cannot be: said as a message beside the form."""

    status = 400


class Conflict(ConsoleError):
    """A conditional write lost: the item is no longer as the person saw it."""

    status = 409


class Throttled(ConsoleError):
    """DynamoDB refused for its rate limits, after the retry budget."""

    status = 429
    retry_after = 5


class StoreUnavailable(ConsoleError):
    """No trustworthy answer: time-out, connection lost, 5xx, broken answer, denied or expired credentials, deadline."""

    status = 503
    retry_after = 5


class NotConfigured(StoreUnavailable):
    """The console's identity at AWS may not do this, or it has none: trying again changes nothing.

    `detail` says for administrators and logs what is missing.
    """

    title = "The console is not set up for this"
    retry_after = 0

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(
            "The database refused the request because the console lacks the rights or credentials for it. Trying "
            "again will not help. Tell an administrator."
        )


class TableMissing(StoreUnavailable):
    """The table or index is not there in this environment. A designed state of its section."""

    def __init__(self, table_key: str = "") -> None:
        self.table_key = table_key
        tables = f"tables {table_key} are" if " and " in table_key else f"table {table_key} is"
        super().__init__(f"The {tables} missing in this environment." if table_key else "")


class NotAccepted(StoreUnavailable):
    """DynamoDB refused the request itself as invalid (a validation error): nothing was written."""
