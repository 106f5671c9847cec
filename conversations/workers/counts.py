"""What background parts count, and which of their errors a retry may mend."""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from console.errors import ConsoleError, NotAccepted
from conversations.handoff.stored import Raw


class WorkOutcome(StrEnum):
    """The indexer's counters."""

    READ = "read"
    REPAIRED = "repaired"
    REQUESTED = "requested"
    REASSERTED = "reasserted"
    OVERDUE = "overdue"
    COUNTED = "counted"
    RETURNED = "returned"
    FAILED = "failed"


WorkCounts = Counter[str]


def format_counts(counts: WorkCounts) -> str:
    """Format the counts in one line: `412 read, 3 repaired, 2 requests recorded`."""
    words = {
        WorkOutcome.READ: "read",
        WorkOutcome.REPAIRED: "repaired",
        WorkOutcome.REQUESTED: "requests recorded",
        WorkOutcome.REASSERTED: "restored",
        WorkOutcome.FAILED: "failed",
    }
    return ", ".join(
        f"{counts[each]:,} {word}" for each, word in words.items() if counts[each] or each is WorkOutcome.READ
    )


def is_transient(error: Exception) -> bool:
    """Return whether a retry may succeed: the store was unavailable or busy. Otherwise the item is at fault."""
    return isinstance(error, ConsoleError) and not isinstance(error, NotAccepted)


def is_kept(record: Raw, keep: Callable[[Raw], None]) -> bool:
    """Pass a record that could not be handled to `keep`; return False if the record must be retried, as that failed."""
    try:
        keep(record)
    except ConsoleError as error:
        return not is_transient(error)
    return True
