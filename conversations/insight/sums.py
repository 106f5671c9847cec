"""The sums of a day as stored, one item for each topic of each slice: all of an owner, a project, a channel, or both.

`pk = SUMS#{kind}#{owner}#{topic}#{project}#{channel}`, `sk = {day}`: a period of one topic takes one Query, no matter
how many conversations it covers. An item is some hundred bytes.
"""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from console import clock
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from conversations.insight.facts import FactDay, FactKind, escaped, expiry, query_pages
from conversations.insight.measures import Counts, Measure, Topic

# Stands for "all" in a key: escaped ids never contain it.
ALL = "*"
_SEPARATOR = "\x1f"
# Size of a process's cache of sums, each of a day or of a step of a chart: past days are read again and again, and
# hardly ever change.
REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class Slice:
    """The facts of an owner that are in one project, in one channel, or in both; None means all."""

    project: str | None = None
    channel: str | None = None

    @property
    def key(self) -> str:
        """The slice as a part of keys."""
        return "#".join(ALL if each is None else escaped(each) for each in (self.project, self.channel))

    @classmethod
    def of_key(cls, project: str, channel: str) -> "Slice":
        """Read the two parts of a key."""
        return cls(*(None if each == ALL else unquote(each) for each in (project, channel)))

    def holds(self, data: Mapping[str, Any]) -> bool:
        """Return whether a fact belongs to the slice."""
        return self.project in (None, data.get("project", "")) and self.channel in (None, data.get("channel", ""))

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> "set[Slice]":
        """Return every slice that a fact belongs to."""
        project, channel = str(data.get("project", "")), str(data.get("channel", ""))
        return {cls(), cls(project), cls(None, channel), cls(project, channel)}


@dataclass(frozen=True, slots=True)
class DaySums:
    """The sums of one day, packed; `written` is when it was summed up."""

    day: date
    packed: str | bytes
    written: str

    @property
    def at(self) -> datetime | None:
        """When it was summed up."""
        return clock.parse_instant(self.written)

    @property
    def counts(self) -> Mapping[Measure, int]:
        """The counts by measure."""
        return sum_packed((self.packed,))


def read_sums(kind: FactKind, owner: str, topic: Topic, where: Slice, first: date, last: date) -> list[DaySums]:
    """Read a period, both days included, oldest first. One Query per 1 MB. Raises the store's errors."""
    days = {":first": {"S": first.isoformat()}, ":last": {"S": last.isoformat()}}
    found: list[DaySums] = []
    for items in query_pages(
        _partition(kind, owner, topic, where), "sk BETWEEN :first AND :last", days, ReturnConsumedCapacity="TOTAL"
    ):
        now = clock.now()
        found += [_sums_in(each) for each in items if not clock.is_expired(each["expires_at"]["N"], now)]
    return found


def write_sums(day: FactDay, topic: Topic, where: Slice, counts: Counts, epoch: int, at: datetime) -> bool:
    """Write the sums of a day; False if a later epoch has already written them. Raises the store's errors."""
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
        # The client retries requests without a response, so the condition fails if the first try was written.
        return _is_written(item)
    return True


def _is_written(item: dict[str, Any]) -> bool:
    key = {name: item[name] for name in ("pk", "sk")}
    answer = call("GetItem", TableName=table_name("INSIGHT"), Key=key, ConsistentRead=True)
    return bool(answer.get("Item", {}).get("epoch") == item["epoch"])


def packed(counts: Counts) -> bytes:
    """Return counts as stored: compressed JSON. Measures that differ only in their last part are grouped."""
    families: dict[str, dict[str, int]] = {}
    for measure, count in sorted(counts.items()):
        families.setdefault("".join(part + _SEPARATOR for part in measure[:-1]), {})[measure[-1]] = count
    text = json.dumps({name: _to_dense(family) for name, family in families.items()}, separators=(",", ":"))
    return zlib.compress(text.encode(), 9)


def _to_dense(family: dict[str, int]) -> dict[str, int] | list[int]:
    """Return counts of close numbers, such as buckets, as a list: the first number, then one count per number."""
    if not all(len(each) < 10 and each.isdecimal() and each == str(int(each)) for each in family):
        return family
    numbers = {int(each): count for each, count in family.items()}
    first, last = min(numbers), max(numbers)
    if last - first >= 2 * len(numbers):
        return family
    return [first, *(numbers.get(each, 0) for each in range(first, last + 1))]


@lru_cache(maxsize=REMEMBERED)
def sum_packed(stored: tuple[str | bytes, ...]) -> Mapping[Measure, int]:
    """Add up packed sums. A binary value is bytes, or base64, as the console's client returns it."""
    total: Counts = Counter()
    for each in stored:
        text = zlib.decompress(base64.b64decode(each) if isinstance(each, str) else each)
        for name, family in json.loads(text).items():
            begin = tuple(name.split(_SEPARATOR)[:-1])
            counts = family.items() if isinstance(family, dict) else _from_dense(family)
            for last, count in counts:
                total[(*begin, last)] += count
    return MappingProxyType(total)


def _from_dense(row: list[int]) -> Iterator[tuple[str, int]]:
    for number, count in enumerate(row[1:], row[0]):
        if count:
            yield str(number), count


def _partition(kind: FactKind, owner: str, topic: Topic, where: Slice) -> str:
    return f"SUMS#{kind}#{escaped(owner)}#{topic}#{where.key}"


def _sums_in(item: dict[str, Any]) -> DaySums:
    return DaySums(date.fromisoformat(item["sk"]["S"]), item["counts"]["B"], item["at"]["S"])
