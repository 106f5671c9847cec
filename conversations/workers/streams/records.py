"""One record of the stream, in the shape that GetRecords and Lambda events share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from conversations.handoff.stored import Raw


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A change of an item: its images before and after (None: did not exist, or no longer does), and its time.

    `expired` is the key of an item that DynamoDB removed because of its TTL.
    """

    old: Raw | None
    new: Raw | None
    at: datetime
    expired: Raw | None = None


def change_of(record: Mapping[str, Any]) -> StreamChange:
    """Parse a record. Raises `KeyError` or `TypeError` if it is malformed."""
    change = record["dynamodb"]
    at = change.get("ApproximateCreationDateTime")
    moment = at if isinstance(at, datetime) else clock.parse_instant(at)
    return StreamChange(
        old=change.get("OldImage") or None,
        new=change.get("NewImage") or None,
        at=moment or clock.now(),
        expired=change.get("Keys") if _is_by_ttl(record) else None,
    )


def _is_by_ttl(record: Mapping[str, Any]) -> bool:
    """Return whether DynamoDB itself removed the item. Lambda spells the names of this field in lower case."""
    by = record.get("userIdentity") or {}
    return "dynamodb.amazonaws.com" in (by.get("PrincipalId"), by.get("principalId"))
