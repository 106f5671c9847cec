"""Where a review's entries come from: partitions of the audit table or of an index, each newest first.

Sort keys begin with a UTC timestamp (`2026-…`), those of some services with an epoch (`17…`). Both are in order of time
by themselves; a review reads all timestamps first and the epochs after them, in one order of text.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console import clock
from console.audit.history import SPLIT
from console.audit.models import ActionTypeIndex, ActorIndex, AuditEntry, CompanyIndex
from console.audit.rows import LONGEST_PERIOD
from console.dynamodb.connection import call
from console.dynamodb.registry import table_name

TABLE = ""
ACTION_TYPE, ACTOR, COMPANY = (index.Meta.index_name for index in (ActionTypeIndex, ActorIndex, CompanyIndex))
_PARTITION_KEYS = {
    TABLE: "conversation_id",
    ACTION_TYPE: "action_type",
    ACTOR: "gsi_actor",
    COMPANY: "gsi_company_id",
}
TIMESTAMPS, EPOCHS = 0, 1
# The first characters of each, and the first after those.
RANGES = ((SPLIT, ":"), ("0", SPLIT))
# Without dates, also what begins with no time at all: such entries have drifted, and are none the less there.
_ANYTHING = (" ", "\U0010ffff")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a review goes on: at the sort key of the last entry looked at, in one of the two ranges.

    `passed` names the entries of that very sort key that were looked at already.
    """

    number: int = TIMESTAMPS
    at: str = ""
    passed: tuple[tuple[str, str], ...] = ()

    def after(self, entry: AuditEntry) -> "Place":
        """The place behind an entry."""
        key, identity = sort_key_of(entry), identity_of(entry)
        passed = (*self.passed, identity) if key == self.at else (identity,)
        return Place(EPOCHS if key < SPLIT else TIMESTAMPS, key, passed)


def sort_key_of(entry: AuditEntry) -> str:
    """`ts_action_id`, which every stored entry has."""
    return str(entry.raw["ts_action_id"].get("S", ""))


def identity_of(entry: AuditEntry) -> tuple[str, str]:
    """The entry's key in the table."""
    return str(entry.raw["conversation_id"].get("S", "")), sort_key_of(entry)


def bounds(number: int, since: datetime | None, until: datetime | None) -> tuple[str, str]:
    """The sort keys between which a range lies; `until` itself is not in it."""
    if since is None and until is None:
        # Without dates the two are one: in descending order the epochs come after the timestamps.
        return _ANYTHING[0], _ANYTHING[1] if number == TIMESTAMPS else SPLIT
    low, high = RANGES[number]
    if number == TIMESTAMPS:
        return _iso(since) if since else low, _iso(until) if until else high
    # Seconds are the beginning of milliseconds and finer, so that one text bounds all of them.
    return str(clock.to_epoch(since)) if since else low, str(clock.to_epoch(until)) if until else high


def _iso(moment: datetime) -> str:
    return clock.to_iso(moment, "seconds").removesuffix("Z")


@dataclass(slots=True)
class Stream:
    """One partition, read piece by piece. `buffer` holds what was read and not taken yet."""

    index: str
    partition: str
    since: datetime | None = None
    until: datetime | None = None
    number: int = TIMESTAMPS
    buffer: "deque[AuditEntry]" = field(default_factory=deque)
    # The range `number` has nothing more.
    ended: bool = False
    _start: dict[str, Any] | None = None
    _place: Place = field(default_factory=Place)

    def begin_at(self, place: Place) -> None:
        """Go on where a page ended."""
        self.number, self._place = place.number, place

    def begin_epochs(self) -> None:
        """After all timestamps."""
        self.number, self.ended, self._start, self._place = EPOCHS, False, None, Place(EPOCHS)

    @property
    def needs_more(self) -> bool:
        """Whether the next entry is not known yet."""
        return not self.buffer and not self.ended

    def fetch(self, limit: int) -> None:
        """One Query of at most `limit` further entries. Raises the store's errors."""
        since = self.since
        if since and self.number == TIMESTAMPS:
            # What is recorded once an hour has the hour's beginning in its key, and may have happened later.
            since = clock.floored(since, LONGEST_PERIOD)
        low, high = bounds(self.number, since, self.until)
        request: dict[str, Any] = {
            "TableName": table_name("AUDIT"),
            "KeyConditionExpression": (
                f"{_PARTITION_KEYS[self.index]} = :partition AND ts_action_id BETWEEN :low AND :high"
            ),
            "ExpressionAttributeValues": {
                ":partition": {"S": self.partition},
                ":low": {"S": low},
                ":high": {"S": self._place.at or high},
            },
            "ScanIndexForward": False,
            # Those that were passed come again at the beginning, and do not count.
            "Limit": limit + (0 if self._start else len(self._place.passed)),
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self.index:
            request["IndexName"] = self.index
        else:
            request["ConsistentRead"] = True
        if self._start:
            request["ExclusiveStartKey"] = self._start
        answer = call("Query", **request)
        self._start = answer.get("LastEvaluatedKey")
        self.ended = self._start is None
        for raw in answer["Items"]:
            entry = AuditEntry.from_raw_data(raw)
            if sort_key_of(entry) != high and identity_of(entry) not in self._place.passed:
                self.buffer.append(entry)
