"""Leases and stream positions: items of the console's own table that let one worker at a time do some work.

`pk` names the work. `sk = LEASE` contains the owner, the expiry, the epoch (incremented on each take-over) and the
worker's state. `sk = SHARD#…` contains the position in one shard of the stream and is written only by the lease's
owner. Two concurrent workers would do no harm: all their writes are idempotent.
"""

import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.store.calls import ConditionFailed, TransactionRefused, table_name
from console.store.connection import batch_get, call
from console.store.models import plain_item
from conversations.handoff.protocol import retry_on_collision
from conversations.handoff.stored import Raw, text
from conversations.indexer.streams.shards import Shard

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
        self._now = now

    @property
    def is_held(self) -> bool:
        """Whether this worker owns the lease, to its own knowledge."""
        return self.epoch > 0

    def take(self) -> bool:
        """Take the lease in a new epoch unless another worker owns it. Raises the store's errors."""
        now = self._now()
        request = _update(
            self.name,
            "SET #owner = :me, #until = :until ADD #epoch :one",
            {":me": text(self.owner), ":until": self._until(now), ":one": _number(1), ":now": _number(now.timestamp())},
            condition="attribute_not_exists(#owner) OR #until < :now OR #owner = :me",
        )
        try:
            answer = retry_on_collision(lambda: call("UpdateItem", **request, ReturnValues="ALL_NEW"))
        except ConditionFailed:
            return False
        self.state = plain_item(answer["Attributes"])
        self.epoch = int(self.state["epoch"])
        return True

    def renew(self, **details: Any) -> bool:
        """Renew the lease and note `details`; return False if another worker owns it now. Raises the store's errors."""
        now = self._now()
        values = {":me": text(self.owner), ":mine": _number(self.epoch), ":until": self._until(now)}
        set_, removed = ["#until = :until"], []
        for name, value in details.items():
            if value is None:
                removed.append(f"#{name}")
            else:
                set_.append(f"#{name} = :{name}")
                values[f":{name}"] = _value(value)
        expression = "SET " + ", ".join(set_) + (f" REMOVE {', '.join(removed)}" if removed else "")
        request = _update(
            self.name, expression, values, condition="#owner = :me AND #epoch = :mine", names=tuple(details)
        )
        try:
            retry_on_collision(lambda: call("UpdateItem", **request))
        except ConditionFailed:
            self.epoch = 0
            return False
        return True

    def give_back(self) -> None:
        """Give the lease back, so that another worker can start immediately. Raises the store's errors."""
        if not self.is_held:
            return
        request = _update(
            self.name,
            "REMOVE #owner, #until",
            {":me": text(self.owner), ":mine": _number(self.epoch)},
            condition="#owner = :me AND #epoch = :mine",
        )
        self.epoch = 0
        try:
            retry_on_collision(lambda: call("UpdateItem", **request))
        except ConditionFailed:
            return

    def note_position(self, arn: str, shard: Shard) -> bool:
        """Note a shard's position; return False if another worker owns the lease now. Raises the store's errors."""
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
        mine = {":me": text(self.owner), ":mine": _number(self.epoch)}
        check = _update(self.name, "", mine, "#owner = :me AND #epoch = :mine")
        del check["UpdateExpression"]
        writes = [{"ConditionCheck": check}, {"Put": {"TableName": table_name("CONSOLE"), "Item": item}}]
        try:
            retry_on_collision(lambda: call("TransactWriteItems", TransactItems=writes))
        except TransactionRefused:
            self.epoch = 0
            return False
        return True

    def _until(self, now: datetime) -> Raw:
        return _number(now.timestamp() + LEASE_SECONDS)


def positions(arn: str, name: str = INDEXER) -> list[ShardPosition]:
    """Return the work's position in each shard of a stream. Strongly consistent. Raises the store's errors."""
    found: list[dict[str, Any]] = []
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
        found += [plain_item(each) for each in answer["Items"]]
        if not (last := answer.get("LastEvaluatedKey")):
            return list(_positions_of(arn, found))
        start = {"ExclusiveStartKey": last}


def _positions_of(arn: str, found: list[dict[str, Any]]) -> Iterable[ShardPosition]:
    for each in found:
        if each.get("arn") == arn:
            shard_id = str(each["sk"]).removeprefix(SHARD)
            shard = Shard(shard_id, sequence=str(each.get("sequence") or ""), done=each.get("done") is True)
            yield ShardPosition(shard, clock.parse_instant(each.get("noted_at")))


def read_heartbeats(names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return each work's lease item as plain values, {} for work that never ran. Raises the store's errors."""
    found = map(plain_item, batch_get("CONSOLE", [{"pk": name, "sk": LEASE} for name in names]))
    return {name: {} for name in names} | {str(each["pk"]): each for each in found}


def write_heartbeat(work: str = INDEXER, /, **details: Any) -> None:
    """Note the state of work that has no lease: a sweep by hand, a Lambda. Raises the store's errors."""
    values = {f":{name}": _value(value) for name, value in details.items()}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in details)
    retry_on_collision(lambda: call("UpdateItem", **_update(work, expression, values, names=tuple(details))))


def note_sweep(at: datetime, mode: str) -> None:
    """Note a complete sweep; set the mode only if none is noted. Raises the store's errors."""
    values = {":at": _value(at), ":mode": text(mode), ":owed": _value(False)}
    expression = (
        "SET #last_sweep_at = :at, #backfilled_at = :at, #sweep_owed = :owed, #mode = if_not_exists(#mode, :mode)"
    )
    names = ("last_sweep_at", "backfilled_at", "sweep_owed", "mode")
    retry_on_collision(lambda: call("UpdateItem", **_update(INDEXER, expression, values, names=names)))


def _update(
    work: str, expression: str, values: Raw, condition: str = "", names: tuple[str, ...] = ()
) -> dict[str, Any]:
    used = {name for name in ("owner", "until", "epoch", *names) if f"#{name}" in f"{expression} {condition}"}
    return {
        "TableName": table_name("CONSOLE"),
        "Key": {"pk": text(work), "sk": text(LEASE)},
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
