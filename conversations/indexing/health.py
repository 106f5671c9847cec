"""How the indexer is doing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from console import clock
from console.dynamodb.connection import call
from console.dynamodb.registry import table_name
from console.dynamodb.values import plain_item
from console.errors import TableMissing


@dataclass(frozen=True, slots=True)
class IndexerHealth:
    ran: bool = False
    backfilled: bool = False
    is_stale: bool = False
    beat_at: datetime | None = None
    lag_seconds: float | None = None
    mode: str = ""
    last_sweep_at: datetime | None = None


def read_health() -> IndexerHealth:
    """One GetItem."""
    try:
        answer = call("GetItem", TableName=table_name("CONSOLE"), Key={"pk": {"S": "INDEXER"}, "sk": {"S": "LEASE"}})
    except TableMissing:
        return IndexerHealth()
    if not (raw := answer.get("Item")):
        return IndexerHealth()
    item = plain_item(raw)
    beat = clock.parse_instant(item.get("beat_at"))
    swept = clock.parse_instant(item.get("last_sweep_at"))
    return IndexerHealth(
        True,
        swept is not None,
        beat is None or clock.now() - beat > timedelta(seconds=60),
        beat,
        None,
        str(item.get("mode")),
        swept,
    )
