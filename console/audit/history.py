"""Entries and idempotency records of one conversation, straight from its partitions, newest first, in stretches.

Sort keys of both tables begin with a timestamp (`2026-…`), those of some services with an epoch (`17…` until 2033).
Each of the two is in order of time by itself; to get one order, merge them as instants.
"""

from console.errors import TableMissing
from console.store.presence import index_ready, table_ready
from console.store.streams import query
from console.trail.actions import HAND_OFF_PREFIX
from console.trail.models import ActorIndex, AuditEntry, ConversationEventsIndex, IdempotencyRecord

# The first character of timestamps; epochs, until 2033, come before it.
SPLIT = "2"
RECORD_INDEX = ConversationEventsIndex.Meta.index_name


def read_entries(
    trail: str, *, epochs: bool, after: str = "", limit: int, hand_off: bool | None = None
) -> tuple[list[AuditEntry], str | None]:
    """Entries behind the sort key `after` ("": from the newest), and the sort key behind which more lie, or None.

    One strongly consistent Query that looks at `limit` entries. `hand_off`: True for those actions only, False for all
    others. Raises the store's errors.
    """
    key = AuditEntry.ts_action_id
    # What is of no readable type is no hand-off.
    is_hand_off = AuditEntry.action_type.startswith(HAND_OFF_PREFIX)
    items, end = query(
        AuditEntry,
        trail,
        key < SPLIT if epochs else key >= SPLIT,
        only=None if hand_off is None else is_hand_off if hand_off else ~is_hand_off,
        limit=limit,
        forward=False,
        consistent=True,
        start={"conversation_id": {"S": trail}, "ts_action_id": {"S": after}} if after else None,
    )
    return [AuditEntry.from_raw_data(raw) for raw in items], str(end["ts_action_id"]["S"]) if end else None


def trails_of(username: str, prefix: str, limit: int) -> tuple[str, ...]:
    """The trails with that prefix in which a member of staff has entries, latest first.

    One Query of their newest `limit` entries; nothing without the index by actor. Raises the store's errors.
    """
    index = ActorIndex.Meta.index_name
    if not index_ready("AUDIT", index):
        return ()
    items, _ = query(AuditEntry, username, index=index, limit=limit, forward=False)
    trails = (raw["conversation_id"].get("S", "") for raw in items)
    return tuple(dict.fromkeys(each for each in trails if each.startswith(prefix)))


def has_record_index() -> bool:
    """Whether records can be read by conversation. At most one DescribeTable a minute.

    Raises `TableMissing` where there is no idempotency table, and the store's other errors.
    """
    if not table_ready("IDEMPOTENCY"):
        raise TableMissing("IDEMPOTENCY")
    return index_ready("IDEMPOTENCY", RECORD_INDEX)


def read_records(
    conversation_id: str, *, epochs: bool | None = None, after: tuple[str, str] | None = None, limit: int
) -> tuple[list[IdempotencyRecord], tuple[str, str] | None]:
    """Idempotency records behind one of that time of creation and key (None: from the newest), and where more lie.

    One Query of the index by conversation, which has to be there. `epochs`: those that are dated so, or those that are
    not; None for both in the order of the texts, in which epochs come last. Raises the store's errors.
    """
    key = IdempotencyRecord.created_at
    names = ("conversation_id", "created_at", "event_id")
    items, end = query(
        IdempotencyRecord,
        conversation_id,
        None if epochs is None else key < SPLIT if epochs else key >= SPLIT,
        index=RECORD_INDEX,
        limit=limit,
        forward=False,
        start={name: {"S": value} for name, value in zip(names, (conversation_id, *after), strict=True)}
        if after
        else None,
    )
    place = (str(end["created_at"]["S"]), str(end["event_id"]["S"])) if end else None
    return [IdempotencyRecord.from_raw_data(raw) for raw in items], place
