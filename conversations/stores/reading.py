"""Reads of the stores of other writers: a failed one costs a notice, never the page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from console.errors import ConsoleError, NotAccepted, StoreUnavailable, TableMissing, Throttled
from console.schema.tables import TABLES
from console.store import presence
from console.store.calls import table_name
from console.store.connection import call

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """The result of a read; `error` is why there is none."""

    value: T
    error: ConsoleError | None = None

    @property
    def is_denied(self) -> bool:
        """Whether DynamoDB refused the read itself, as it does if a table or index is missing."""
        return isinstance(self.error, NotAccepted | TableMissing)


def capture_errors(read: Callable[[], T], otherwise: T) -> Callable[[], Attempted[T]]:
    """Wrap a read so that it returns `otherwise` and the error instead of raising the store's errors."""

    def tried() -> Attempted[T]:
        try:
            return Attempted(read())
        except (StoreUnavailable, Throttled) as error:
            return Attempted(otherwise, error)

    return tried


def index_absent(table_key: str, index: str) -> bool:
    """Return whether a table exists without that index. Never raises: if this cannot be determined, return False."""
    try:
        return presence.index_absent(table_key, index)
    except ConsoleError:
        return False


def is_missing_by_design(error: ConsoleError, table_key: str, index: str) -> bool:
    """Return whether a read failed because its table or index is missing, and not because of a fault."""
    return isinstance(error, TableMissing) or (isinstance(error, NotAccepted) and index_absent(table_key, index))


class OtherKey(TableMissing):
    """Raised when a table has a key that the console does not support, as the message says."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.args = (message,)


def notice_of(error: ConsoleError | None, what: str, table_key: str, index: str = "") -> tuple[str, ...]:
    """Return one line on what could not be read, and why; none without an error. `what` is the start of it."""
    if error is None:
        return ()
    if isinstance(error, OtherKey):
        return (f"{what}: {error}",)
    if index and isinstance(error, NotAccepted | TableMissing) and index_absent(table_key, index):
        return (f"{what}: the index {index} is missing in this environment.",)
    if isinstance(error, TableMissing):
        return (f"{what}: the table {TABLES[table_key].base} is missing in this environment.",)
    why = "is busy" if isinstance(error, Throttled) else "did not answer"
    return (f"{what}: the database {why}. Reload the page to try again.",)


def get_item(table_key: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an item with one strongly consistent GetItem, in DynamoDB JSON like its key. Raises the store's errors."""
    answer = call(
        "GetItem", TableName=table_name(table_key), Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
    )
    return answer.get("Item") or None
