"""Reading the shards of a stream in order: parents before children, from the last position."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError

from console.errors import StoreUnavailable
from console.schema.tables import TABLES
from console.store.calls import TRANSLATED, table_name, translate
from console.store.connection import call, client

# Records per read: some seconds of a busy shard, and few enough to handle before the lease must be renewed.
BATCH = 200


class Trimmed(Exception):
    """Raised when the records after a position are gone: the stream stores them for 24 hours."""


class IteratorExpired(Exception):
    """Raised when an iterator was not used for too long (15 minutes)."""


@dataclass(slots=True)
class Shard:
    """A shard and its position: `sequence` is that of the last handled record ("" for none yet)."""

    shard_id: str
    parent: str = ""
    sequence: str = ""
    done: bool = False
    iterator: str = ""


def stream_of_table(table_key: str) -> str:
    """Return the ARN of a table's stream, "" if it has none or not the view type it needs. One DescribeTable."""
    table = call("DescribeTable", TableName=table_name(table_key))["Table"]
    stream = table.get("StreamSpecification") or {}
    if not stream.get("StreamEnabled") or stream.get("StreamViewType") not in TABLES[table_key].stream:
        return ""
    return str(table.get("LatestStreamArn") or "")


class Shards:
    """The shards of one stream. `lost`: records were trimmed before they were read, so a sweep is needed."""

    def __init__(self, arn: str, known: Iterable[Shard] = ()) -> None:
        self.arn = arn
        self.lost = False
        self._shards = {shard.shard_id: shard for shard in known}

    def refresh(self) -> None:
        """Update the list of shards. Raises the store's errors."""
        listed: dict[str, str] = {}
        start: dict[str, Any] = {}
        while True:
            description = self._call("DescribeStream", StreamArn=self.arn, **start).get("StreamDescription")
            if description is None:
                raise StoreUnavailable("The stream could not be described.")
            listed |= {each["ShardId"]: each.get("ParentShardId") or "" for each in description.get("Shards", ())}
            if not (last := description.get("LastEvaluatedShardId")):
                break
            start = {"ExclusiveStartShardId": last}
        for shard_id in set(self._shards) - set(listed):
            self.lost = self.lost or not self._shards[shard_id].done
            del self._shards[shard_id]
        for shard_id, parent in listed.items():
            self._shards.setdefault(shard_id, Shard(shard_id)).parent = parent

    def ready(self) -> list[Shard]:
        """Return the shards to read now: not finished themselves, and their parents are."""
        left = {shard_id: each for shard_id, each in self._shards.items() if not each.done}
        return [each for each in left.values() if each.parent not in left]

    def read(self, shard: Shard) -> list[dict[str, Any]]:
        """Return the next records of a shard, unparsed; [] if there are none yet. Raises the store's errors.

        Leaves the shard's `sequence` unchanged: the caller advances it as it handles the records.
        """
        try:
            if not shard.iterator:
                shard.iterator = self._iterator(shard)
            answer = self._call("GetRecords", ShardIterator=shard.iterator, Limit=BATCH)
        except IteratorExpired:
            shard.iterator = ""
            return []
        except Trimmed:
            self.lost, shard.sequence, shard.iterator = True, "", ""
            return []
        if "Records" not in answer:
            raise StoreUnavailable("The answer has no records.")
        shard.iterator = answer.get("NextShardIterator") or ""
        shard.done = not shard.iterator
        return list(answer["Records"])

    def stopped_at(self, shard: Shard) -> None:
        """Reset a shard whose records were not all handled: the next read starts after the last handled one."""
        shard.iterator, shard.done = "", False

    def _iterator(self, shard: Shard) -> str:
        where: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if shard.sequence:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": shard.sequence}
        answer = self._call("GetShardIterator", StreamArn=self.arn, ShardId=shard.shard_id, **where)
        return str(answer["ShardIterator"])

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(client("dynamodbstreams"), xform_name(operation))(**request)
        except TRANSLATED as error:
            code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
            if code == "TrimmedDataAccessException":
                raise Trimmed from error
            if code == "ExpiredIteratorException":
                raise IteratorExpired from error
            raise translate(error) from error
        return answer
