"""One record of the stream, as GetRecords and Lambda events have it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from conversations.handoff.stored import Raw


@dataclass(frozen=True, slots=True)
class StreamChange:
    """What happened to an item: its images before and after (None: it was not, or is no longer, there), and when."""

    sequence: str
    old: Raw | None
    new: Raw | None
    at: datetime


def change_of(record: Mapping[str, Any]) -> StreamChange:
    """Read a record. Raises `KeyError` or `TypeError` for something that is none."""
    change = record["dynamodb"]
    at = change.get("ApproximateCreationDateTime")
    moment = at if isinstance(at, datetime) else clock.parse_instant(at)
    return StreamChange(
        sequence=str(change["SequenceNumber"]),
        old=change.get("OldImage") or None,
        new=change.get("NewImage") or None,
        at=moment or clock.now(),
    )
