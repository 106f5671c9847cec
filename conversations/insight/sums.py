"""The sums of a day as stored, one item for each topic of each slice: all of an owner, a project, a channel, or both.

`pk = SUMS#{kind}#{owner}#{topic}#{project}#{channel}`, `sk = {day}`: so a period of one topic is one Query, however
many conversations it sums up. An item is some hundred bytes: counts as JSON, compressed.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from console import clock
from console.schema.tables import table_name
from console.store.connection import call
from console.store.errors import ConditionFailed
from conversations.insight.facts import UNDATED, FactDay, FactKind, escaped, expiry, query_pages
from conversations.insight.measures import Counts, Topic

# In a key, what stands for "all": escaped ids never hold it.
ALL = "*"
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Slice:
    """Which facts of an owner: of one project, of one channel, of both; None: of all."""

    project: str | None = None
    channel: str | None = None

    @property
    def key(self) -> str:
        """As keys have it."""
        return "#".join(ALL if each is None else escaped(each) for each in (self.project, self.channel))

    @classmethod
    def of_key(cls, project: str, channel: str) -> "Slice":
        """Read the two parts of a key."""
        return cls(*(None if each == ALL else unquote(each) for each in (project, channel)))

    def holds(self, data: Mapping[str, Any]) -> bool:
        """Whether a fact belongs to it."""
        return self.project in (None, data.get("project", "")) and self.channel in (None, data.get("channel", ""))

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> "Iterable[Slice]":
        """Every slice that a fact belongs to."""
        project, channel = str(data.get("project", "")), str(data.get("channel", ""))
        return cls(), cls(project), cls(None, channel), cls(project, channel)


@dataclass(frozen=True)
class DaySums:
    """The sums of one day; `at` is when it was summed up. `day` is None for facts without a time.

    `named` are the counts as stored: many days are added up before any measure is taken apart.
    """

    day: date | None
    named: Mapping[str, int]
    at: datetime | None

    @cached_property
    def counts(self) -> Counts:
        """The counts by measure."""
        return counts_of(self.named)


def read_sums(kind: FactKind, owner: str, topic: Topic, where: Slice, first: date, last: date) -> list[DaySums]:
    """Read a period, both days included, oldest first. One Query for 1 MB of it. Raises the store's errors."""
    return _read(kind, owner, topic, where, first.isoformat(), last.isoformat())


def read_undated(kind: FactKind, owner: str, topic: Topic, where: Slice) -> list[DaySums]:
    """Read the sums of facts without a time. Raises the store's errors."""
    return _read(kind, owner, topic, where, UNDATED, UNDATED)


def _read(kind: FactKind, owner: str, topic: Topic, where: Slice, first: str, last: str) -> list[DaySums]:
    bounds = "sk BETWEEN :first AND :last", {":first": {"S": first}, ":last": {"S": last}}
    found: list[DaySums] = []
    for items in query_pages(_partition(kind, owner, topic, where), *bounds, ReturnConsumedCapacity="TOTAL"):
        now = clock.now()
        found += [_sums_in(each) for each in items if not clock.is_expired(each["expires_at"]["N"], now)]
    return found


def write_sums(day: FactDay, topic: Topic, where: Slice, counts: Counts, epoch: int, at: datetime) -> bool:
    """Write the sums of a day; False where somebody has summed it up who began later. Raises the store's errors."""
    item = {
        "pk": {"S": _partition(day.kind, day.owner, topic, where)},
        "sk": {"S": day.day},
        "counts": {"B": packed(counts)},
        "epoch": {"N": str(epoch)},
        "at": {"S": clock.to_iso(at, "seconds")},
        "expires_at": {"N": str(expiry(day))},
    }
    try:
        call(
            "PutItem",
            TableName=table_name("INSIGHT"),
            Item=item,
            ConditionExpression="attribute_not_exists(pk) OR epoch < :epoch",
            ExpressionAttributeValues={":epoch": {"N": str(epoch)}},
        )
    except ConditionFailed:
        # The client sends again what had no answer: then it is there as it was to be written.
        return _is_written(item)
    return True


def _is_written(item: dict[str, Any]) -> bool:
    key = {name: item[name] for name in ("pk", "sk")}
    answer = call("GetItem", TableName=table_name("INSIGHT"), Key=key, ConsistentRead=True)
    return bool(answer.get("Item", {}).get("epoch") == item["epoch"])


def packed(counts: Counts) -> bytes:
    """Counts as stored."""
    named = {_SEPARATOR.join(measure): count for measure, count in sorted(counts.items())}
    return zlib.compress(
        json.dumps(named, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"), 9
    )


def unpacked(stored: bytes) -> dict[str, int]:
    """Counts that were packed, by the names under which they are stored."""
    named: dict[str, int] = json.loads(zlib.decompress(stored).decode("utf-8", "surrogatepass"))
    return named


def counts_of(named: Mapping[str, int]) -> Counts:
    """Counts by measure, from those by the names under which they are stored."""
    return Counter({tuple(name.split(_SEPARATOR)): count for name, count in named.items()})


def _partition(kind: FactKind, owner: str, topic: Topic, where: Slice) -> str:
    return f"SUMS#{kind}#{escaped(owner)}#{topic}#{where.key}"


def _sums_in(item: dict[str, Any]) -> DaySums:
    # The console's client leaves binary values as the base64 of the answer.
    stored = item["counts"]["B"]
    named = unpacked(base64.b64decode(stored) if isinstance(stored, str) else stored)
    day = item["sk"]["S"]
    return DaySums(None if day == UNDATED else date.fromisoformat(day), named, clock.parse_instant(item["at"]["S"]))
