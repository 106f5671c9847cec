"""Where a review's entries come from: partitions of the audit table or of an index, each newest first.

Sort keys begin with a UTC timestamp (`2026-…`), those of some services with an epoch (`17…`). Both are in order of time
by themselves; a review reads all timestamps first and the epochs after them, in one order of text.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from console.audit.history import SPLIT
from console.audit.rows import LONGEST_PERIOD
from console.schema.tables import table_name
from console.store.connection import call
from console.store.streams import BEGINNING, Candidate, Keyset, Place, Stream, Stretch
from console.trail.models import ActionTypeIndex, ActorIndex, AuditEntry, CompanyIndex

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
# Where a review goes on when nothing but epochs is left.
EPOCHS_BEGIN = Keyset(SPLIT)
# Without dates, also what begins with no time at all: such entries have drifted, and are none the less there.
_ANYTHING = (" ", "\U0010ffff")


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


def order_of(entry: AuditEntry) -> tuple[str, str]:
    """Where an entry stands among all; no two have the same."""
    trail, key = identity_of(entry)
    return key, trail


@dataclass(frozen=True, slots=True)
class TrailPartition:
    """One partition of the table or an index, from a place on; nothing after `until`, or before `since`."""

    index: str
    key: str
    start: Keyset
    since: datetime | None = None
    until: datetime | None = None

    @property
    def stream(self) -> Stream[AuditEntry]:
        """As one to be merged, not read yet."""
        return Stream(place=[self._first_range, BEGINNING], read=self.read)

    @property
    def _has_dates(self) -> bool:
        """Whether timestamps and epochs are two ranges."""
        return self.since is not None or self.until is not None

    @property
    def _first_range(self) -> int:
        return EPOCHS if self._has_dates and "" < self.start.at <= SPLIT else TIMESTAMPS

    def read(self, place: Place, limit: int) -> Stretch[AuditEntry]:
        """One Query of at most `limit` further entries. Raises the store's errors."""
        number, start = place
        since = self.since
        if since and number == TIMESTAMPS:
            # What is recorded once an hour has the hour's beginning in its key, and may have happened later.
            since = clock.floored(since, LONGEST_PERIOD)
        low, high = bounds(number, since, self.until)
        resumed = number == self._first_range and self.start.at not in ("", SPLIT)
        request: dict[str, Any] = {
            "TableName": table_name("AUDIT"),
            "KeyConditionExpression": (
                f"{_PARTITION_KEYS[self.index]} = :partition AND ts_action_id BETWEEN :low AND :high"
            ),
            "ExpressionAttributeValues": {
                ":partition": {"S": self.key},
                ":low": {"S": low},
                ":high": {"S": self.start.at if resumed else high},
            },
            "ScanIndexForward": False,
            # Those that were passed come again at the beginning, and do not count.
            "Limit": limit + (len(self.start.seen) if resumed and start == BEGINNING else 0),
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self.index:
            request["IndexName"] = self.index
        else:
            request["ConsistentRead"] = True
        if start != BEGINNING:
            request["ExclusiveStartKey"] = start
        answer = call("Query", **request)
        found = [
            Candidate(order_of(entry), BEGINNING, entry)
            for entry in map(AuditEntry.from_raw_data, answer["Items"])
            if sort_key_of(entry) != high and not self.start.has_seen(*order_of(entry))
        ]
        if last := answer.get("LastEvaluatedKey"):
            return Stretch(found, [number, last])
        if number == TIMESTAMPS and self._has_dates:
            return Stretch(found, [EPOCHS, BEGINNING], below=(SPLIT, ""))
        return Stretch(found)
