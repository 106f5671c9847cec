"""One worker at a time, and how far it came: items of the console's own table.

`pk` names the work. `sk = LEASE`: who does it until when, in which epoch (it counts the take-overs), and how that goes.
`sk = SHARD#…`: the position in each shard of the stream, written only by who holds the lease. Two workers at once would
do no harm: everything that they write is idempotent.
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
from conversations.handoff.protocol import retried
from conversations.handoff.stored import Raw, text
from conversations.indexer.streams.shards import Shard

INDEXER, LEASE, SHARD = "INDEXER", "LEASE", "SHARD#"
# How the index is kept: by a worker on the stream, by sweeps, by a Lambda on the stream.
STREAM, SWEEP, LAMBDA = "stream", "sweep", "lambda"
# Who does not renew it for so long has died, or is cut off.
LEASE_SECONDS = 30
# A position is of no use once the stream has forgotten it.
POSITION_KEPT = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class ShardPosition:
    """How far a shard was read, and when that was noted."""

    shard: Shard
    noted_at: datetime | None


class Lease:
    """The lease of one worker, for the work named `name`. `state` is the item when the lease was taken, plain."""

    def __init__(self, owner: str = "", now: Callable[[], datetime] = clock.now, name: str = INDEXER) -> None:
        self.owner = owner or secrets.token_hex(8)
        self.name = name
        self.state: dict[str, Any] = {}
        self.epoch = 0
        self._now = now

    @property
    def is_held(self) -> bool:
        """Whether this worker has it, as far as it knows."""
        return self.epoch > 0

    def take(self) -> bool:
        """Take the lease if nobody else has it, in a new epoch. Raises the store's errors."""
        now = self._now()
        request = _update(
            self.name,
            "SET #owner = :me, #until = :until ADD #epoch :one",
            {":me": text(self.owner), ":until": self._until(now), ":one": _number(1), ":now": _number(now.timestamp())},
            condition="attribute_not_exists(#owner) OR #until < :now OR #owner = :me",
        )
        try:
            answer = retried(lambda: call("UpdateItem", **request, ReturnValues="ALL_NEW"))
        except ConditionFailed:
            return False
        self.state = plain_item(answer["Attributes"])
        self.epoch = int(self.state["epoch"])
        return True

    def renew(self, **details: Any) -> bool:
        """Renew the lease and note how things are; False if another has it by now. Raises the store's errors."""
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
            retried(lambda: call("UpdateItem", **request))
        except ConditionFailed:
            self.epoch = 0
            return False
        return True

    def give_back(self) -> None:
        """Let another worker begin at once. Raises the store's errors."""
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
            retried(lambda: call("UpdateItem", **request))
        except ConditionFailed:
            return

    def note_position(self, arn: str, shard: Shard) -> bool:
        """Note how far a shard was read; False if the lease is another's by now. Raises the store's errors."""
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
            retried(lambda: call("TransactWriteItems", TransactItems=writes))
        except TransactionRefused:
            self.epoch = 0
            return False
        return True

    def _until(self, now: datetime) -> Raw:
        return _number(now.timestamp() + LEASE_SECONDS)


def positions(arn: str, name: str = INDEXER) -> list[ShardPosition]:
    """How far each shard of a stream was read for that work, strongly consistent. Raises the store's errors."""
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


def notes_of(names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return what each of these works noted of itself, plain; nothing for what never ran. Raises the store's errors."""
    found = map(plain_item, batch_get("CONSOLE", [{"pk": name, "sk": LEASE} for name in names]))
    return {name: {} for name in names} | {str(each["pk"]): each for each in found}


def note(work: str = INDEXER, /, **details: Any) -> None:
    """Note how some work goes without a lease: a sweep by hand, a Lambda. Raises the store's errors."""
    values = {f":{name}": _value(value) for name, value in details.items()}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in details)
    retried(lambda: call("UpdateItem", **_update(work, expression, values, names=tuple(details))))


def note_sweep(at: datetime, mode: str) -> None:
    """Note that everything was looked at; the mode only where no other is known. Raises the store's errors."""
    values = {":at": _value(at), ":mode": text(mode), ":owed": _value(False)}
    expression = (
        "SET #last_sweep_at = :at, #backfilled_at = :at, #sweep_owed = :owed, #mode = if_not_exists(#mode, :mode)"
    )
    names = ("last_sweep_at", "backfilled_at", "sweep_owed", "mode")
    retried(lambda: call("UpdateItem", **_update(INDEXER, expression, values, names=names)))


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
