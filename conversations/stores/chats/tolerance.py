"""Four tables make one page: what one of them does not give is said in a line, and the page shows the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from console.errors import ConsoleError, NotAccepted, StoreUnavailable, TableMissing, Throttled
from console.schema.tables import TABLES
from console.store import presence
from conversations.stores.chats.queries import OtherKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """What a read gave; `error` is why it gave nothing."""

    value: T
    error: ConsoleError | None = None


def attempt(read: Callable[[], T], otherwise: T) -> Callable[[], Attempted[T]]:
    """A read that does not raise the store's errors, but gives `otherwise` and the error."""

    def tried() -> Attempted[T]:
        try:
            return Attempted(read())
        except (StoreUnavailable, Throttled) as error:
            return Attempted(otherwise, error)

    return tried


def notice_of(error: ConsoleError | None, what: str, table_key: str, index: str = "") -> tuple[str, ...]:
    """One line on what could not be read and why; none without an error. `what` is a sentence without its end."""
    if error is None:
        return ()
    if index and isinstance(error, NotAccepted | TableMissing) and index_absent(table_key, index):
        return (f"{what}: the index {index} is not there in this environment.",)
    if isinstance(error, OtherKey):
        return (f"{what}: {error}",)
    if isinstance(error, TableMissing):
        return (f"{what}: the table {TABLES[table_key].base} is not there in this environment.",)
    if isinstance(error, Throttled):
        return (f"{what}: the database is busy. Reload the page to try again.",)
    return (f"{what}: the database did not answer. Reload the page to try again.",)


def index_absent(table_key: str, index: str) -> bool:
    """Whether a table is there, but not that index of it. Never raises: where nobody can say, it is not absent."""
    try:
        return presence.index_absent(table_key, index)
    except ConsoleError:
        return False


def is_designed(error: ConsoleError, table_key: str, index: str) -> bool:
    """Whether a list has nothing because its table or index is not there, rather than for a fault."""
    return isinstance(error, TableMissing) or (isinstance(error, NotAccepted) and index_absent(table_key, index))
