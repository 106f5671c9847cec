"""What was done and noted about one conversation, straight from its partitions: newest first, a stretch at a time.

Sort keys of both tables begin with a timestamp (`2026-…`), those of some services with an epoch (`17…` until 2033).
Each of the two is in order of time by itself; who wants one order merges them as instants.
"""

from typing import Any

from console.errors import TableMissing
from console.schema.tables import table_name
from console.store.connection import call
from console.store.presence import index_ready, table_ready
from console.trail.actions import HAND_OFF_PREFIX
from console.trail.models import ActorIndex, AuditEntry, ConversationEventsIndex, IdempotencyRecord

# The first character of timestamps; epochs, until 2033, come before it.
SPLIT = "2"


def read_entries(
    trail: str, *, epochs: bool, after: str = "", limit: int, hand_off: bool | None = None
) -> tuple[list[AuditEntry], str | None]:
    """Entries behind the sort key `after` ("": from the newest), and the sort key behind which more lie, or None.

    One strongly consistent Query that looks at so many entries. `hand_off`: True for those actions only, False for all
    others. Raises the store's errors.
    """
    values: dict[str, Any] = {":trail": {"S": trail}, ":split": {"S": SPLIT}}
    request: dict[str, Any] = {
        "TableName": table_name("AUDIT"),
        "KeyConditionExpression": f"conversation_id = :trail AND ts_action_id {'<' if epochs else '>='} :split",
        "ExpressionAttributeValues": values,
        "ScanIndexForward": False,
        "ConsistentRead": True,
        "Limit": limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if hand_off is not None:
        # What is of no readable type is no hand-off.
        request["FilterExpression"] = f"{'' if hand_off else 'NOT '}begins_with(action_type, :kind)"
        values[":kind"] = {"S": HAND_OFF_PREFIX}
    if after:
        request["ExclusiveStartKey"] = {"conversation_id": {"S": trail}, "ts_action_id": {"S": after}}
    answer = call("Query", **request)
    end = answer.get("LastEvaluatedKey")
    return [AuditEntry.from_raw_data(raw) for raw in answer.get("Items", [])], end and str(end["ts_action_id"]["S"])


def trails_of(username: str, prefix: str, limit: int) -> tuple[str, ...]:
    """The trails that begin so and in which a member of staff has entries, latest first.

    One Query among their newest `limit` entries; nothing where the index by actor is not there. Raises the store's
    errors.
    """
    if not index_ready("AUDIT", ActorIndex.Meta.index_name):
        return ()
    answer = call(
        "Query",
        TableName=table_name("AUDIT"),
        IndexName=ActorIndex.Meta.index_name,
        KeyConditionExpression="gsi_actor = :actor",
        ExpressionAttributeValues={":actor": {"S": username}},
        ScanIndexForward=False,
        Limit=limit,
        ReturnConsumedCapacity="TOTAL",
    )
    trails = (raw["conversation_id"].get("S", "") for raw in answer.get("Items", []))
    return tuple(dict.fromkeys(each for each in trails if each.startswith(prefix)))


def has_record_index() -> bool:
    """Whether records can be read by conversation. At most one DescribeTable a minute.

    Raises `TableMissing` where there is no idempotency table, and the store's other errors.
    """
    if not table_ready("IDEMPOTENCY"):
        raise TableMissing("IDEMPOTENCY")
    return index_ready("IDEMPOTENCY", ConversationEventsIndex.Meta.index_name)


def read_records(
    conversation_id: str, *, epochs: bool | None = None, after: tuple[str, str] | None = None, limit: int
) -> tuple[list[IdempotencyRecord], tuple[str, str] | None]:
    """Idempotency records behind one of that time of creation and key (None: from the newest), and where more lie.

    One Query of the index by conversation, which has to be there. `epochs`: those that are dated so, or those that are
    not; None for both in the order of the texts, in which epochs come last. Raises the store's errors.
    """
    values: dict[str, Any] = {":id": {"S": conversation_id}}
    condition = "conversation_id = :id"
    if epochs is not None:
        condition += f" AND created_at {'<' if epochs else '>='} :split"
        values[":split"] = {"S": SPLIT}
    request: dict[str, Any] = {
        "TableName": table_name("IDEMPOTENCY"),
        "IndexName": ConversationEventsIndex.Meta.index_name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": False,
        "Limit": limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if after:
        created_at, event_id = after
        request["ExclusiveStartKey"] = {
            "conversation_id": {"S": conversation_id},
            "created_at": {"S": created_at},
            "event_id": {"S": event_id},
        }
    answer = call("Query", **request)
    end = answer.get("LastEvaluatedKey")
    place = (str(end["created_at"]["S"]), str(end["event_id"]["S"])) if end else None
    return [IdempotencyRecord.from_raw_data(raw) for raw in answer.get("Items", [])], place
