"""What DynamoDB counts of calls: capacity units, which dynoxide counts as AWS does."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from console.store.calls import key_of
from console.store.connection import client

READS = {"GetItem", "Query", "BatchGetItem", "Scan"}


@contextmanager
def units() -> Iterator[Counter[str]]:
    """Capacity units by table and kind (`INSIGHT write`), of what the console's client does meanwhile."""
    found: Counter[str] = Counter()

    def ask(params: dict[str, Any], model: Any, **_: object) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def note(parsed: dict[str, Any], model: Any, **_: object) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        for each in consumed if isinstance(consumed, list) else [consumed]:
            kind = "read" if model.name in READS else "write"
            found[f"{key_of(each['TableName'])} {kind}"] += each["CapacityUnits"]

    events = client().meta.events
    events.register("before-parameter-build.dynamodb", ask)
    events.register("after-call.dynamodb", note)
    try:
        yield found
    finally:
        events.unregister("before-parameter-build.dynamodb", ask)
        events.unregister("after-call.dynamodb", note)
