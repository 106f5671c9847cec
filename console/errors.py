"""The console's errors, raised by services and reads, with the words that pages show.

`console.store.calls` translates library exceptions into these; `console.middleware` renders them. Messages are shown
to people, so they contain no keys, no personal data and no table names.
"""


class ConsoleError(Exception):
    """Base class of the console's errors. `status` is the HTTP status of the page or fragment.

    `title` replaces the status's usual title where that would mislead; `retry_after` is in seconds, 0 if retrying
    cannot help.
    """

    status = 500
    title = ""
    retry_after = 0


def describe_error(error: Exception) -> str:
    """Return what a log line may say of an error: its kind and, if it is one of the console's, its words.

    Only the console's own words contain no keys and no personal data.
    """
    words = (getattr(error, "detail", "") or str(error)) if isinstance(error, ConsoleError) else ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class NotFound(ConsoleError):
    """The item does not exist or is outside the person's scope; deliberately the same answer for both."""

    status = 404


class BadReference(NotFound):
    """A sealed reference or cursor that this console did not make: tampered with, or from another environment."""


class Forbidden(ConsoleError):
    """The person's role does not include the permission."""

    status = 403


class Invalid(ConsoleError):
    """The request is not valid; the message is shown beside the form."""

    status = 400


class Conflict(ConsoleError):
    """A conditional write failed: the item is no longer as the person saw it."""

    status = 409


class Throttled(ConsoleError):
    """DynamoDB throttled the request, after all retries."""

    status = 429
    retry_after = 5


class StoreUnavailable(ConsoleError):
    """No reliable answer: timeout, lost connection, 5xx, broken response, denied or expired credentials, deadline."""

    status = 503
    retry_after = 5


class NotConfigured(StoreUnavailable):
    """The console lacks the AWS permissions or credentials for this, so retrying does not help.

    `detail` names what is missing, for administrators and logs.
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
    """The table or index does not exist in this environment; its section shows a page that says so."""

    def __init__(self, table_key: str = "") -> None:
        self.table_key = table_key
        tables = f"tables {table_key} are" if " and " in table_key else f"table {table_key} is"
        super().__init__(f"The {tables} missing in this environment." if table_key else "")


class NotAccepted(StoreUnavailable):
    """DynamoDB rejected the request as invalid (a validation error); nothing was written."""


class ItemFull(NotAccepted):
    """DynamoDB rejected a write because the item would become too large; nothing was written."""

    status = 409
    title = "There is no room left"
    retry_after = 0

    def __init__(self) -> None:
        super().__init__(
            "Nothing was changed: the database has no room left for this conversation. Open it and choose Make room."
        )
