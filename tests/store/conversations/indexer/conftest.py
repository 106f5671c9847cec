"""dynoxide keeps its stream through the session: workers of a test begin behind what earlier tests wrote."""

import time
import uuid

import pytest

from console import clock
from conversations.workers.streams.shards import Shards, stream_of_table
from tests.dynamodb import Store

_readers: dict[str, Shards] = {}


@pytest.fixture(autouse=True)
def _behind_earlier_tests(request: pytest.FixtureRequest) -> None:
    if "store" not in request.fixturenames or request.getfixturevalue("store").embedded:
        return
    store: Store = request.getfixturevalue("store")
    arn = stream_of_table("CONVERSATIONS")
    reader = _readers.setdefault(arn, Shards(arn))
    reader.refresh()
    # A record may come a moment after its write: all are there when that of a mark is.
    mark = {"primary_channel": "mark", "conversation_id": uuid.uuid4().hex}
    store.put("CONVERSATIONS", mark)
    deadline = time.monotonic() + 60
    while mark["conversation_id"] not in [key for shard in reader.ready() for key in _read(reader, shard)]:
        assert time.monotonic() < deadline
    store.delete("CONVERSATIONS", **mark)
    for shard in reader.ready():
        position = {"arn": arn, "sequence": shard.sequence, "done": False, "noted_at": clock.to_iso(clock.now())}
        store.put("CONSOLE", {"pk": "INDEXER", "sk": f"SHARD#{shard.shard_id}", **position})


def _read(reader: Shards, shard) -> list[str]:
    records = reader.read(shard)
    if records:
        shard.sequence = records[-1]["dynamodb"]["SequenceNumber"]
    return [record["dynamodb"]["Keys"]["conversation_id"]["S"] for record in records]
