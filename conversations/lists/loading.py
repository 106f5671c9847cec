"""Import of conversation items from JSON lines: validated by the schema, and written only where none exists."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, cast

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from console import clock
from console.errors import NotAccepted
from console.schema.sizes import MAX_ITEM_BYTES, size_of
from console.schema.tables import TABLES
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import PARTITION_KEY_BYTES, SORT_KEY_BYTES, TYPE_WORDS
from conversations.converting import CHANNELS, OWN_ADDRESSES, from_config
from conversations.models import Conversation

MAX_LINE_BYTES = 4 * 1024 * 1024
_TIMESTAMPS = ("created_at", "updated_at")
_PYTHON_TYPES: dict[type, str] = {
    str: "S",
    bool: "BOOL",
    int: "N",
    Decimal: "N",
    list: "L",
    dict: "M",
    type(None): "NULL",
}
# What exports may lack, and what its absence means: a flag that is not set.
FLAGS = ("function_call", "hand_off_to_human")
_serialize, _deserialize = TypeSerializer().serialize, TypeDeserializer().deserialize


class LoadOutcome(StrEnum):
    """The outcome of a line."""

    LOADED = "loaded"
    ALREADY_THERE = "already there"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class LineReport:
    """The report on a line: its number from 1, its outcome, and why it was refused (without its personal values).

    `filled` names the flags that the line did not have.
    """

    number: int
    outcome: LoadOutcome
    reason: str = ""
    filled: tuple[str, ...] = ()


class Refused(Exception):
    """Raised for a line that is not an item of the schema; the message says why."""


def load(lines: Iterable[bytes]) -> Iterator[LineReport]:
    """Write the item of each line and yield a report on it; skip empty lines. Raises the store's errors."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            plain = parsed(line)
            filled = tuple(name for name in FLAGS if name not in plain)
            outcome = LoadOutcome.LOADED if put(_item(plain)) else LoadOutcome.ALREADY_THERE
            yield LineReport(number, outcome, filled=filled if outcome is LoadOutcome.LOADED else ())
        except Refused as refused:
            yield LineReport(number, LoadOutcome.REFUSED, str(refused))


def item_of(line: bytes) -> dict[str, dict[str, Any]]:
    """Return the item of a line as DynamoDB JSON, with its `gsi_` attributes and absent flags. Raises `Refused`."""
    return _item(parsed(line))


def _item(plain: dict[str, Any]) -> dict[str, dict[str, Any]]:
    plain = dict.fromkeys(FLAGS, False) | with_reply_keys(plain)
    check(plain)
    try:
        item = {name: cast(dict[str, Any], _serialize(value)) for name, value in plain.items()}
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise Refused("a number has more digits than DynamoDB keeps, or something is nested too deep") from error
    if (size := size_of(item)) > MAX_ITEM_BYTES:
        raise Refused(f"{size} bytes; an item holds at most {MAX_ITEM_BYTES} (400 KB)")
    return item


def parsed(line: bytes) -> dict[str, Any]:
    """Parse a line as a plain JSON object, or as DynamoDB's export to S3 writes it. Raises `Refused`."""
    if len(line) > MAX_LINE_BYTES:
        raise Refused("the line is longer than 4 MB")
    try:
        text = line.decode("utf-8-sig")
        found = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_object)
        json.dumps(found, default=str, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise Refused("not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise Refused("not JSON") from error
    if not isinstance(found, dict):
        raise Refused("not a JSON object")
    return _exported(found["Item"]) if found.keys() == {"Item"} else found


def _exported(item: Any) -> dict[str, Any]:
    """Return the plain item of `{"Item": {"company_id": {"S": "…"}, …}}`."""
    try:
        return {name: _deserialize(value) for name, value in item.items()}
    except (AttributeError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise Refused("an export's item has a value that is not written as DynamoDB writes it") from error


def _refuse_constant(name: str) -> Any:
    raise Refused(f"{name} is not a number that DynamoDB keeps")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("an attribute is given twice")
    return found


def with_reply_keys(plain: dict[str, Any]) -> dict[str, Any]:
    """Add the sparse `gsi_` attributes of the schema that are absent, and drop empty ones.

    `gsi_recipient_*` copy the recipient; `gsi_company_*` copy our own number or address on the channel.
    """
    item = {name: value for name, value in plain.items() if not (name.startswith("gsi_") and value in (None, ""))}
    sources = {"gsi_recipient_tel": item.get("recipient_tel"), "gsi_recipient_email": item.get("recipient_email")}
    channel = item.get("channel_method")
    if isinstance(channel, str) and channel in OWN_ADDRESSES:
        sources[f"gsi_{OWN_ADDRESSES[channel]}"] = from_config(
            item.get("channel_config"), channel, OWN_ADDRESSES[channel]
        )
    for name, value in sources.items():
        if isinstance(value, str) and value:
            item.setdefault(name, value)
    return item


def check(plain: dict[str, Any]) -> None:
    """Raise `Refused` with all flaws of an item: missing attributes, wrong types, values or keys."""
    flaws = []
    for attribute in Conversation.get_attributes().values():
        name = attribute.attr_name
        if name not in plain:
            flaws.extend([] if attribute.null else [f"{name} is missing"])
            continue
        found = _PYTHON_TYPES.get(type(plain[name]), "set")
        if found == "NULL" and attribute.null:
            continue
        if found != attribute.attr_type:
            flaws.append(f"{name} is {TYPE_WORDS.get(found, found)} instead of {TYPE_WORDS[str(attribute.attr_type)]}")
    if not flaws:
        flaws = [*_value_flaws(plain), *_key_flaws(plain)]
    if flaws:
        raise Refused("; ".join(flaws))


def _value_flaws(plain: dict[str, Any]) -> Iterator[str]:
    if plain["channel_method"] not in CHANNELS:
        yield f"channel_method is not one of {', '.join(CHANNELS)}"
    if plain["task_complete"] not in (0, 1):
        yield "task_complete is neither 0 nor 1"
    for name in _TIMESTAMPS:
        if clock.parse_instant(plain[name]) is None:
            yield f"{name} is not a timestamp"


def _key_flaws(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the flaws of the keys of the table and its indexes, which must not be empty or too long."""
    spec = TABLES["CONVERSATIONS"]
    indexes = (*spec.gsis, *spec.lsis)
    partitions = {spec.hash.name, *(each.name for index in indexes for each in index.hashes)}
    ranges = (spec.range, *(index.range for index in indexes))
    sorts = {attribute.name for attribute in ranges if attribute is not None and attribute.type == "S"}
    for name in sorted(partitions | sorts):
        value = plain.get(name)
        if value is None:
            continue
        limit = SORT_KEY_BYTES if name in sorts else PARTITION_KEY_BYTES
        if not value:
            yield f"{name} is empty"
        elif len(value.encode()) > limit:
            yield f"{name} is longer than {limit} bytes"


def put(item: dict[str, dict[str, Any]]) -> bool:
    """Write an item unless its key exists; return False if it does. Raises `Refused` and the store's errors."""
    try:
        call(
            "PutItem",
            TableName=table_name("CONVERSATIONS"),
            Item=item,
            ConditionExpression="attribute_not_exists(conversation_id)",
            ReturnConsumedCapacity="TOTAL",
        )
    except ConditionFailed:
        return False
    except NotAccepted as error:
        copies = 1 + len(TABLES["CONVERSATIONS"].lsis)
        if (size := size_of(item)) > MAX_ITEM_BYTES // copies:
            limit = f"{MAX_ITEM_BYTES // copies} in a table with {copies - 1} local indexes, each of which holds a copy"
            raise Refused(f"{size} bytes were refused; DynamoDB takes {limit}") from error
        raise Refused("the database refused the item as invalid") from error
    return True
