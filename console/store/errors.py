"""The store seam: botocore's exceptions become the console's, once, here."""

from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from console.errors import (
    Conflict,
    ConsoleError,
    NotAccepted,
    NotConfigured,
    StoreUnavailable,
    TableMissing,
    Throttled,
)

THROTTLING = {
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "LimitExceededException",
}
DENIED = {"AccessDeniedException", "AccessDenied"}
# Credentials that AWS does not take.
REFUSED_CREDENTIALS = {
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
    "ExpiredTokenException",
    "ExpiredToken",
}
WITHOUT_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, TokenRetrievalError)
NO_CREDENTIALS = "There are no AWS credentials. Set them, or give the machine a role."
TRANSLATED = (ClientError, BotoCoreError, ResponseParserError, ValueError)


class ConditionFailed(Conflict):
    """The condition of one write did not hold. `item` is the stored item as DynamoDB JSON, where it was asked for."""

    def __init__(self, item: dict[str, Any] | None = None) -> None:
        self.item = item
        super().__init__("Somebody else changed this in the meantime.")


class TransactionRefused(Conflict):
    """A transaction was cancelled. `codes` name why, one per item: checks, deletes, puts, updates."""

    def __init__(self, codes: tuple[str, ...] = (), items: tuple[dict[str, Any] | None, ...] = ()) -> None:
        self.codes = codes
        self.items = items
        super().__init__("Somebody else changed this in the meantime.")


def translate(error: Exception, tables: tuple[str, ...] = (), operation: str = "") -> ConsoleError:
    """Say a library's exception as one of ours. `tables` are the names that the call (`operation`) addressed."""
    if isinstance(error, ClientError):
        return _not_configured(error, tables, operation) or _translate_client_error(error, tables)
    if isinstance(error, WITHOUT_CREDENTIALS):
        return NotConfigured(NO_CREDENTIALS)
    # BotoCoreError covers time-outs, connections and credentials; a parser error is an answer that cannot be trusted.
    return StoreUnavailable("The database did not answer.")


def reason_of(error: Exception) -> str:
    """DynamoDB's error code, or the kind of error: what a log may hold of it."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "")) or "no code"
    return type(error).__name__


def _not_configured(error: ClientError, tables: tuple[str, ...], operation: str) -> NotConfigured | None:
    code = reason_of(error)
    if code in DENIED:
        what = f"dynamodb:{operation}" if operation else "a right"
        where = f" on {', '.join(tables)}" if tables else ""
        return NotConfigured(f"The console's AWS identity lacks {what}{where}: see manage.py tables policy.")
    if code in REFUSED_CREDENTIALS:
        return NotConfigured(f"AWS does not accept the console's credentials ({code}).")
    return None


def _translate_client_error(error: ClientError, tables: tuple[str, ...]) -> ConsoleError:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(error.response.get("Item"))  # type: ignore[arg-type]
    if code == "TransactionCanceledException":
        return _translate_cancellation(error)
    if code == "TransactionConflictException":
        return Throttled("Another write to the same records was in progress.")
    if code in THROTTLING:
        return Throttled("The database is busy.")
    if code == "ResourceNotFoundException":
        from console.schema.tables import key_of

        return TableMissing(" and ".join(dict.fromkeys(key_of(name) for name in tables)))
    if code == "ValidationException":
        return NotAccepted("The database refused the request as invalid.")
    return StoreUnavailable("The database could not answer.")


def _translate_cancellation(error: ClientError) -> ConsoleError:
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    codes = tuple(str(reason.get("Code", "None")) for reason in reasons)
    if "ConditionalCheckFailed" in codes:
        return TransactionRefused(codes, tuple(reason.get("Item") for reason in reasons))
    if any(code in {"ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict"} for code in codes):
        return Throttled("Another write to the same records was in progress.")
    if "ValidationError" in codes:
        return NotAccepted("The database refused the request as invalid.")
    # DynamoDB always says why. Without a reason nothing is known to have changed: nobody was faster.
    return StoreUnavailable("The database could not answer.")
