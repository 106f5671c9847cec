"""What the partitions of the queue's index hold: a row for each, so that one Query says which of them a page must read.

The index has a partition for each company and state (`waiting#acme`). The row of a partition that is not empty has a
lower bound of the longest wait in it, and counts. A bound that is too early costs a page one read; one that is too late
would hide a customer, and is impossible, because:

1. before a write puts a conversation into a partition, or further to its front, `note_arrival` notes the time in the
   row;
2. the indexer reads the partition afterwards and notes what it found, unless somebody entered in between
   (`queue_index.refreshing`);
3. the time of an entry stays for at least `VISIBLE_WITHIN`. By then its write is in the index, or will never be; if it
   is even later, the indexer notes the entry again when the stream shows it.

`tests/model/conversations/test_partitions.py` runs every order of these steps.
"""

import logging
import secrets
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute

from console import clock
from console.errors import ConsoleError, TableMissing
from console.store.calls import ConditionFailed
from console.store.models import SORT_KEY_BYTES, ConsoleItem, PlainMapAttribute, fits
from conversations.handoff.stored import QUEUE, REQUESTED_AT, Expression, Raw, text_in

logger = logging.getLogger(__name__)

PARTITION = "QUEUE"
VISIBLE_WITHIN = timedelta(minutes=1)
# Sorts before every time.
SINCE_EVER = " "


class QueueState(StrEnum):
    """What the partitions are of: the states of a conversation in the index, and messages to approve or to place.

    The latter have no index, but a row as well.
    """

    URGENT = "urgent"
    WAITING = "waiting"
    HELD = "held"
    ATTENTION = "attention"
    APPROVE = "approve"
    PLACE = "place"

    def of(self, company_id: str) -> str:
        """Return the key of a company's partition."""
        return f"{self}#{company_id}"


class PartitionSummary(ConsoleItem):
    """The row of a partition. Times are ISO 8601 text, as the index sorts them.

    `first` and `last`: the times of the first and the last conversation that the indexer found. `entering` and
    `entered`: the earliest entries noted since `turned_at`, and in the time before it. Every write sets a new
    `revision`; `due_at` is when time alone requires another look.
    """

    pk = UnicodeAttribute(hash_key=True, default=PARTITION)
    revision = UnicodeAttribute(null=True)
    first = UnicodeAttribute(null=True)
    last = UnicodeAttribute(null=True)
    entering = UnicodeAttribute(null=True)
    entered = UnicodeAttribute(null=True)
    turned_at = UnicodeAttribute(null=True)
    due_at = UnicodeAttribute(null=True)
    count = NumberAttribute(null=True)  # type: ignore[assignment]
    has_more = BooleanAttribute(null=True)
    # Held conversations: how many each person has, on how many of them a customer waits; and how many need attention.
    holders = PlainMapAttribute(null=True)
    awaited = PlainMapAttribute(null=True)
    troubled = NumberAttribute(null=True)

    @property
    def state(self) -> str:
        """The state of the conversations in it."""
        return str(self.sk).partition("#")[0]

    @property
    def company_id(self) -> str:
        """The company of the conversations in it."""
        return str(self.sk).partition("#")[2]

    @property
    def since(self) -> str:
        """The earliest time that a conversation in it can have; "" for an empty one."""
        return min(filter(None, (self.first, self.entering, self.entered)), default="")

    @property
    def is_certain(self) -> bool:
        """Whether it holds what was found, and nothing else: nobody entered since, and all of it was read."""
        return not (self.entering or self.entered or self.has_more)


def note_arrival(stored: Raw, change: Expression) -> None:
    """Note that a write is about to put a conversation into a partition, or to change its place there.

    `stored` is the item as read. Call it just before the write. One UpdateItem, seldom two, or nothing. Raises the
    store's errors.
    """
    if not change.values.keys() & {QUEUE, REQUESTED_AT} and REQUESTED_AT not in change.if_absent:
        return
    partition = text_in(change.values, QUEUE) or ("" if QUEUE in change.removed else text_in(stored, QUEUE))
    # The console can only note what fits into a sort key; scopes do not have longer ids.
    if partition and fits(partition, SORT_KEY_BYTES):
        # Somebody else may set a time that was absent: it can be any.
        since = text_in(change.values, REQUESTED_AT) or text_in(stored, REQUESTED_AT)
        enter(partition, since if clock.parse_instant(since) else SINCE_EVER)


def enter(partition: str, since: str) -> None:
    """Note in the row of a partition that a conversation with this time enters it. Raises the store's errors."""
    row, earliest, due_at = PartitionSummary(PARTITION, partition), PartitionSummary.entering, PartitionSummary.due_at
    new, due = PartitionSummary.revision.set(new_revision()), clock.to_iso(clock.now() + VISIBLE_WITHIN)
    with suppress(TableMissing, ConditionFailed):
        row.update(actions=[earliest.set(earliest | since), due_at.set(due_at | due), new])
        if row.entering is not None and row.entering > since:
            row.update(
                actions=[earliest.set(since), due_at.set(due_at | due), new],
                condition=earliest.does_not_exist() | (earliest > since),
            )


def look_soon(partition: str) -> None:
    """Have a partition that somebody left looked at again at once. Raises the store's errors."""
    row, exists = PartitionSummary(PARTITION, partition), PartitionSummary.sk.exists()
    with suppress(TableMissing, ConditionFailed):
        now, revision = clock.to_iso(clock.now()), new_revision()
        row.update(
            actions=[PartitionSummary.due_at.set(now), PartitionSummary.revision.set(revision)], condition=exists
        )


def new_revision() -> str:
    """Return a revision for a row. It is random, so that a row that was deleted and is there again has another one."""
    return secrets.token_hex(4)


def read_partitions() -> list[PartitionSummary]:
    """Read the rows of all partitions that are not empty: one Query for about 5,000. Raises the store's errors.

    Eventually consistent, as the index is.
    """
    with suppress(TableMissing):
        return list(PartitionSummary.query(PARTITION))
    return []


# --- Revision ---------------------------------------------------------------------------------------------------------

REVISION_KEY = {"pk": "QUEUE_REVISION", "sk": "REVISION"}


class QueueRevision(ConsoleItem):
    """A number that changes after everything that a page of the queue shows has changed."""

    pk = UnicodeAttribute(hash_key=True, default=REVISION_KEY["pk"])
    sk = UnicodeAttribute(range_key=True, default=REVISION_KEY["sk"])
    revision = NumberAttribute(null=True)


def move_revision() -> None:
    """Tell the open pages of the queue that there is something new. Raises the store's errors."""
    with suppress(TableMissing):
        QueueRevision(REVISION_KEY["pk"], REVISION_KEY["sk"]).update(actions=[QueueRevision.revision.add(1)])


def announce_news() -> None:
    """Do the same for an action that took effect. Logs the store's errors: the indexer will tell the pages too."""
    try:
        move_revision()
    except ConsoleError as error:
        logger.warning("Open pages of the queue could not be told of an action: %s", type(error).__name__)
