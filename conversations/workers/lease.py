"""Leases and stream positions: items of the console's own table that let one worker at a time do some work.

`pk` names the work. `sk = LEASE` contains the owner, the expiry, the epoch (incremented on each take-over) and the
worker's state. `sk = SHARD#…` contains the position in one shard of the stream and is written only by the lease's
owner. Two concurrent workers would do no harm: all their writes are idempotent.

Nobody compares the expiry with a clock, as machines differ: a worker takes a lease that it has seen unchanged for
`LEASE_SECONDS`.
"""

import re
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.errors import TableMissing
from console.store.calls import ConditionFailed, TransactionRefused, table_name
from console.store.connection import batch_get, call
from console.store.models import plain_item
from conversations.handoff.protocol import retry_on_collision, write_together
from conversations.handoff.stored import Raw, text
from conversations.workers.streams.shards import Shard

INDEXER, LEASE, SHARD = "INDEXER", "LEASE", "SHARD#"
# How the index is updated: by a worker on the stream, by sweeps, or by a Lambda on the stream.
STREAM, SWEEP, LAMBDA = "stream", "sweep", "lambda"
# An owner that does not renew for this long has died or is cut off from the store.
LEASE_SECONDS = 30
# A position is of no use once the stream has dropped its records.
POSITION_KEPT = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class ShardPosition:
    """The position in a shard, and when it was noted."""

    shard: Shard
    noted_at: datetime | None


class Lease:
    """The lease of one worker on the work `name`. `state` is the lease's item when it was taken, as plain values."""

    def __init__(self, owner: str = "", now: Callable[[], datetime] = clock.now, name: str = INDEXER) -> None:
        self.owner = owner or secrets.token_hex(8)
        self.name = name
        self.state: dict[str, Any] = {}
        self.epoch = 0
        # Whether another worker was seen to renew it.
        self.is_alive = False
        self._now = now
        self._seen: tuple[Raw, datetime] | None = None

    @property
    def is_held(self) -> bool:
        """Whether this worker owns the lease, to its own knowledge."""
        return self.epoch > 0

    def take(self) -> bool:
        """Take the lease in a new epoch unless another worker owns it and may be alive. Raises the store's errors."""
        now = self._now()
        seen = self._seen
        is_dead = seen is not None and (now - seen[1]).total_seconds() >= LEASE_SECONDS
        request = _update(
            self.name,
            "SET #owner = :me, #until = :until ADD #epoch :one",
            {":me": text(self.owner), ":until": self._until(now), ":one": _number(1)}
            | ({":seen": seen[0]} if seen is not None and is_dead else {}),
            condition=f"attribute_not_exists(#owner) OR #owner = :me{' OR #until = :seen' if is_dead else ''}",
        )
        returned = {"ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        try:
            answer = retry_on_collision(lambda: call("UpdateItem", **request, **returned))
        except ConditionFailed as refused:
            until = (refused.item or {}).get("until", {})
            if seen is None or until != seen[0]:
                self.is_alive, self._seen = seen is not None, (until, now)
            return False
        self.is_alive, self._seen = False, None
        self.state = plain_item(answer["Attributes"])
        self.epoch = int(self.state["epoch"])
        return True

    def renew(self, **details: Any) -> None:
        """Renew the lease and note `details`, unless another worker owns it now. Raises the store's errors."""
        noted = {name: _value(value) for name, value in details.items() if value is not None}
        expression = ", ".join(("SET #until = :until", *(f"#{name} = :{name}" for name in noted)))
        if removed := [f"#{name}" for name in details if name not in noted]:
            expression += f" REMOVE {', '.join(removed)}"
        values = {":until": self._until(self._now())} | {f":{name}": value for name, value in noted.items()}
        request = self._while_held(expression, values)
        try:
            retry_on_collision(lambda: call("UpdateItem", **request))
        except ConditionFailed:
            self.epoch = 0

    def give_back(self) -> None:
        """Give the lease back, so that another worker can start immediately. Raises the store's errors."""
        if not self.is_held:
            return
        request = self._while_held("REMOVE #owner, #until", {})
        self.epoch = 0
        with suppress(ConditionFailed):
            retry_on_collision(lambda: call("UpdateItem", **request))

    def note_position(self, arn: str, shard: Shard) -> None:
        """Note a shard's position, unless another worker owns the lease now. Raises the store's errors."""
        now = self._now()
        item = {
            "pk": text(self.name),
            "sk": text(SHARD + shard.shard_id),
            "arn": text(arn),
            "sequence": text(shard.sequence),
            "done": {"BOOL": shard.done},
            "noted_at": text(clock.to_iso(now)),
            "expires_at": _number(clock.to_epoch(now + POSITION_KEPT)),
        }
        check = self._while_held("", {})
        del check["UpdateExpression"]
        writes = [{"ConditionCheck": check}, {"Put": {"TableName": table_name("CONSOLE"), "Item": item}}]
        try:
            write_together(writes)
        except TransactionRefused:
            self.epoch = 0

    def _while_held(self, expression: str, values: Raw) -> dict[str, Any]:
        """Return an update of the lease's item, on the condition that this worker still owns the lease."""
        mine = {":me": text(self.owner), ":mine": _number(self.epoch)}
        return _update(self.name, expression, values | mine, "#owner = :me AND #epoch = :mine")

    def _until(self, now: datetime) -> Raw:
        return _number(now.timestamp() + LEASE_SECONDS)


def positions(arn: str, name: str) -> list[ShardPosition]:
    """Return the work's position in each shard of a stream. Strongly consistent. Raises the store's errors."""
    found: list[ShardPosition] = []
    start: dict[str, Any] = {}
    while True:
        answer = call(
            "Query",
            TableName=table_name("CONSOLE"),
            KeyConditionExpression="pk = :pk AND begins_with(sk, :shard)",
            ExpressionAttributeValues={":pk": text(name), ":shard": text(SHARD)},
            ConsistentRead=True,
            **start,
        )
        found += [_position_in(item) for item in map(plain_item, answer["Items"]) if item.get("arn") == arn]
        if not (last := answer.get("LastEvaluatedKey")):
            return found
        start = {"ExclusiveStartKey": last}


def _position_in(item: dict[str, Any]) -> ShardPosition:
    shard_id = str(item["sk"]).removeprefix(SHARD)
    shard = Shard(shard_id, sequence=str(item.get("sequence") or ""), done=item.get("done") is True)
    return ShardPosition(shard, clock.parse_instant(item.get("noted_at")))


def read_heartbeats(names: Collection[str], *, consistent: bool = False) -> dict[str, dict[str, Any]]:
    """Return each work's lease item as plain values, {} for work that never ran or without the console's table.

    One BatchGetItem; raises the store's errors.
    """
    keys = [{"pk": name, "sk": LEASE} for name in names]
    try:
        found = [plain_item(each) for each in batch_get("CONSOLE", keys, consistent=consistent)]
    except TableMissing:
        found = []
    return {name: {} for name in names} | {str(each["pk"]): each for each in found}


def clock_ahead() -> int:
    """Return how many seconds this machine's clock is ahead of DynamoDB's, for heartbeats; 0 if that is tolerated."""
    ahead = clock.machine_ahead()
    return round(ahead.total_seconds()) if abs(ahead) > clock.TOLERATED else 0


def write_heartbeat(work: str, part: str = LEASE, /, **details: Any) -> None:
    """Note the state of work that has no lease: a sweep by hand, a Lambda. Raises the store's errors.

    `part`: the sort key of the item, for the state of one process of several.
    """
    details["clock_ahead"] = clock_ahead()
    values = {f":{name}": _value(value) for name, value in details.items()}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in details)
    retry_on_collision(lambda: call("UpdateItem", **_update(work, expression, values, part=part)))


def note_sweep() -> None:
    """Note a complete sweep now; set the mode only if none is noted. Raises the store's errors."""
    values = {":at": _value(clock.now()), ":mode": text(SWEEP), ":owed": _value(False)}
    expression = (
        "SET #last_sweep_at = :at, #backfilled_at = :at, #sweep_owed = :owed, #mode = if_not_exists(#mode, :mode)"
    )
    retry_on_collision(lambda: call("UpdateItem", **_update(INDEXER, expression, values)))


def _update(work: str, expression: str, values: Raw, condition: str = "", part: str = LEASE) -> dict[str, Any]:
    used = set(re.findall(r"#(\w+)", f"{expression} {condition}"))
    return {
        "TableName": table_name("CONSOLE"),
        "Key": {"pk": text(work), "sk": text(part)},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {f"#{name}": name for name in used},
        "ExpressionAttributeValues": values,
    } | ({"ConditionExpression": condition} if condition else {})


def _number(value: float) -> dict[str, Any]:
    return {"N": repr(value)}


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, dict):
        return {"M": {name: _value(each) for name, each in value.items()}}
    return text(clock.to_iso(value) if isinstance(value, datetime) else str(value))
