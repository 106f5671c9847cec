"""Base classes of all PynamoDB models of the console.

`StoreModel` is for tables that the console owns; `ForeignModel` is for tables that other services write, whose items
drift: values that do not fit the declared type are noted, never raised, so that one bad item does not fail a page.
"""

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, ClassVar, Self

from boto3.dynamodb.types import TypeSerializer
from pynamodb.attributes import Attribute, UnicodeAttribute
from pynamodb.connection import TableConnection
from pynamodb.connection.base import MetaTable
from pynamodb.constants import LIST, MAP, NUMBER, STRING
from pynamodb.exceptions import DoesNotExist
from pynamodb.expressions.condition import Condition
from pynamodb.models import Model

from console import clock
from console.errors import NotFound, TableMissing
from console.schema.tables import TABLES, KeyAttribute
from console.store.calls import table_name
from console.store.connection import StoreTableConnection

# DynamoDB JSON.
Key = dict[str, dict[str, Any]]

_serializer = TypeSerializer()


def plain(value: dict[str, Any]) -> Any:
    """Return one attribute value as plain Python: numbers as int if whole, else Decimal; sets as sorted lists.

    Never raises: a number that cannot be parsed is returned as its text.
    """
    pair: tuple[str, Any] = next(iter(value.items()), ("NULL", True))
    kind, content = pair
    match kind:
        case "NULL":
            return None
        case "N":
            return _number(content)
        case "L":
            return [plain(each) for each in content]
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "SS" | "BS":
            return sorted(content)
        case "NS":
            return sorted((_number(each) for each in content), key=str)
        case _:
            return content


def plain_item(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a whole item as plain Python."""
    return {name: plain(value) for name, value in item.items()}


def with_bytes(item: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return DynamoDB JSON as a request takes it: in responses, the console's client leaves binary values in base64."""
    return {name: sendable(value) for name, value in item.items()}


def sendable(value: dict[str, Any]) -> dict[str, Any]:
    """Return one value as `with_bytes` does."""
    kind, content = next(iter(value.items()))
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "BS":
            return {kind: [base64.b64decode(each) for each in content]}
        case "L":
            return {kind: [sendable(each) for each in content]}
        case "M":
            return {kind: with_bytes(content)}
        case _:
            return value


def _number(text: str) -> int | Decimal | str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # int() of 1e1000, a legal number, would use up the machine's memory.
    return int(number) if number == number.to_integral_value() and abs(number.adjusted()) < 40 else number


class PlainListAttribute(Attribute[list[Any]]):
    """A list of anything, read as plain Python instead of attribute containers."""

    attr_type = LIST

    def serialize(self, value: list[Any]) -> Any:
        """Return the list as DynamoDB JSON."""
        return [_serializer.serialize(each) for each in value]

    def deserialize(self, value: Any) -> list[Any]:
        """Return the list as plain Python; inner values never raise."""
        return [plain(each) for each in value]


class PlainMapAttribute(Attribute[dict[str, Any]]):
    """A map of anything, read as plain Python like `PlainListAttribute`."""

    attr_type = MAP

    def serialize(self, value: dict[str, Any]) -> Any:
        """Return the map as DynamoDB JSON."""
        return {name: _serializer.serialize(each) for name, each in value.items()}

    def deserialize(self, value: Any) -> dict[str, Any]:
        """Return the map as plain Python; inner values never raise."""
        return {name: plain(each) for name, each in value.items()}


class TextListAttribute(PlainListAttribute):
    """A list of texts; anything else in a stored list is left out."""

    def deserialize(self, value: Any) -> list[Any]:
        """Return the texts of the list."""
        return [each for each in super().deserialize(value) if isinstance(each, str)]


class WholeNumberAttribute(Attribute[int]):
    """A whole number."""

    attr_type = NUMBER

    def serialize(self, value: int) -> Any:
        """Return the number as DynamoDB JSON."""
        return str(value)

    def deserialize(self, value: Any) -> int:
        """Return the number. Raises `ValueError` if it is not whole."""
        if not isinstance(number := _number(value), int):
            raise ValueError("The number is not whole.")
        return number


class InstantAttribute(Attribute[datetime]):
    """An instant, stored as ISO 8601 text in UTC."""

    attr_type = STRING

    def serialize(self, value: datetime) -> Any:
        """Return the instant as text."""
        return clock.to_iso(value)

    def deserialize(self, value: Any) -> datetime:
        """Return the instant. Raises `ValueError` for any other text."""
        if (found := clock.parse_instant(value)) is None:
            raise ValueError("The text is not an instant.")
        return found


class _LazyMeta(type):
    """Resolves the table's name on access, so that settings may change between import and use."""

    table_key: str

    @property
    def table_name(cls) -> str:
        return table_name(cls.table_key)


class TableMeta(metaclass=_LazyMeta):
    """Base of a model's `Meta`: `class Meta(TableMeta): table_key = "CONVERSATIONS"`."""

    table_key: ClassVar[str] = ""
    # Required by PynamoDB but never used: the shared client has region and endpoint.
    region = "unused"
    host = "unused"


class StoreModel(Model):
    """A PynamoDB model on the console's shared client, which raises only the console's errors (`console.errors`)."""

    class Meta(TableMeta):
        pass

    @classmethod
    def _get_connection(cls) -> TableConnection:
        name = cls.Meta.table_name
        if cls._connection is None or cls._connection.table_name != name:
            schema: dict[str, Any] = dict(cls._get_schema())
            indexes = {
                kind: [{"IndexName": each["index_name"], "KeySchema": each["key_schema"]} for each in schema[source]]
                for kind, source in (
                    ("GlobalSecondaryIndexes", "global_secondary_indexes"),
                    ("LocalSecondaryIndexes", "local_secondary_indexes"),
                )
            }
            meta = {
                "TableName": name,
                "KeySchema": schema["key_schema"],
                "AttributeDefinitions": schema["attribute_definitions"],
                **indexes,
            }
            cls._connection = StoreTableConnection(name, MetaTable(meta))
        return cls._connection

    @classmethod
    def get(cls, *args: Any, **kwargs: Any) -> Self:
        """Get an item. Raises `NotFound`. See `pynamodb.models.Model.get`."""
        try:
            return super().get(*args, **kwargs)
        except DoesNotExist as error:
            raise NotFound from error

    @classmethod
    def find(cls, *key: str, attributes: Sequence[str] | None = None) -> Self | None:
        """Return the item of a key, None if there is none. One strongly consistent GetItem.

        `attributes`: only these. Raises the store's errors.
        """
        try:
            return cls.get(*key, consistent_read=True, attributes_to_get=attributes)
        except NotFound:
            return None


class ForeignModel(StoreModel):
    """A model whose items other services write.

    After reading, `raw` is the item as DynamoDB JSON and `drift` maps the attributes that did not fit their declared
    type (or were NULL where a value is required) to the difference: "text instead of number".
    """

    raw: dict[str, dict[str, Any]]
    drift: dict[str, str]

    @classmethod
    def _instantiate(cls, attribute_values: dict[str, dict[str, Any]]) -> Self:
        instance = cls(_user_instantiated=False)
        instance._read(attribute_values)
        return instance

    def deserialize(self, attribute_values: dict[str, dict[str, Any]]) -> None:
        """Take the values of the whole stored item; PynamoDB calls it after an update."""
        self.attribute_values = type(self)(_user_instantiated=False).attribute_values
        self._read(attribute_values)

    def _read(self, attribute_values: dict[str, dict[str, Any]]) -> None:
        self.raw = attribute_values
        self.drift = {}
        declared = _declared(type(self))
        for stored_name, value in attribute_values.items():
            if stored_name not in declared:
                continue
            name, attribute = declared[stored_name]
            if "NULL" in value:
                if not attribute.null:
                    self.drift[attribute.attr_name] = "NULL"
                continue
            found = next(iter(value))
            if found != attribute.attr_type:
                self.drift[attribute.attr_name] = f"{TYPE_WORDS.get(found, found)} instead of " + TYPE_WORDS.get(
                    attribute.attr_type, attribute.attr_type
                )
                continue
            try:
                self.attribute_values[name] = attribute.deserialize(value[found])
            except Exception:
                # Whatever a deserializer raises for foreign data, the item is still shown, flagged.
                self.drift[attribute.attr_name] = "unreadable"

    def plain(self, attribute_name: str) -> Any:
        """Return the stored value of any attribute as plain Python, whatever its type; None if absent or NULL."""
        value = self.raw.get(attribute_name)
        return None if value is None else plain(value)

    def unknown(self) -> dict[str, Any]:
        """Return the attributes that the model does not declare, as plain Python."""
        declared = {attribute.attr_name for attribute in self.get_attributes().values()}
        return {name: plain(value) for name, value in self.raw.items() if name not in declared}


@lru_cache(maxsize=64)
def _declared(model: type[Model]) -> dict[str, tuple[str, Any]]:
    """Return the attributes of a model by stored name, for fast look-up: most items have few of them."""
    return {attribute.attr_name: (name, attribute) for name, attribute in model.get_attributes().items()}


TYPE_WORDS = {
    "S": "text",
    "N": "number",
    "B": "binary",
    "BOOL": "boolean",
    "L": "list",
    "M": "map",
    "SS": "text set",
    "NS": "number set",
    "BS": "binary set",
    "NULL": "NULL",
}


def key_names(model: type[StoreModel], index: str = "") -> list[str]:
    """Return the key attributes of the table, and of the index if named."""
    names = model._get_connection().get_meta_table().get_key_names(index or None)
    return [*names, *(each.name for each in _more_hashes(model, index))]


def key_of_item(model: type[StoreModel], raw: Key, index: str = "") -> Key:
    """Return the key of a raw item in the table, and in the index if named, for `ExclusiveStartKey`."""
    return {name: raw[name] for name in key_names(model, index) if name in raw}


def _more_hashes(model: type[StoreModel], index: str) -> tuple[KeyAttribute, ...]:
    return TABLES[model.Meta.table_key].indexes[index].more_hashes if index else ()


PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024


def fits(value: str, most: int = PARTITION_KEY_BYTES) -> bool:
    """Return whether a text can be a key: not empty, and at most `most` bytes of UTF-8."""
    return 0 < len(value.encode("utf-8", "surrogatepass")) <= most


def query(
    model: type[ForeignModel],
    partition: str | tuple[str, ...],
    condition: Condition | None = None,
    *,
    only: Condition | None = None,
    limit: int,
    index: str = "",
    forward: bool = True,
    start: Key | None = None,
    attributes: Iterable[str] = (),
    consistent: bool = False,
) -> tuple[list[Key], Key | None]:
    """Run one Query that evaluates at most `limit` items; return them, and where DynamoDB stopped (None at the end).

    `partition` is one value, or one for each attribute of the index's partition key. `condition` is on the sort key;
    `only` filters the evaluated items.
    """
    first, *others = (partition,) if isinstance(partition, str) else partition
    # PynamoDB has one partition attribute for each index (its issue 1293). DynamoDB takes the others as conditions.
    for attribute, value in zip(_more_hashes(model, index), others, strict=True):
        condition &= getattr(model, attribute.name) == value
    pages = model.query(
        first,
        condition,
        only,
        consistent_read=consistent,
        index_name=index or None,
        scan_index_forward=forward,
        page_size=limit,
        last_evaluated_key=start,
        attributes_to_get=[name for name in dict.fromkeys(attributes) if name] or None,
    ).page_iter
    answer = next(pages)
    return answer["Items"], answer.get("LastEvaluatedKey")


class ConsoleItem(StoreModel):
    """An item of the console's own table."""

    class Meta(StoreModel.Meta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)

    @property
    def id(self) -> str:
        """The sort key."""
        return self.sk


class LenientItem(ConsoleItem, ForeignModel):
    """An item whose values may be of another type, as an earlier version stored it: they are read as absent."""

    @property
    def is_stored(self) -> bool:
        """Whether the item was read, and not made."""
        return hasattr(self, "raw")

    @classmethod
    def list_in(cls, partition: str, most: int, *, consistent: bool = True, needs_table: bool = False) -> list[Self]:
        """Return the first `most` items of a partition; [] if the table is missing, unless it `needs_table`. One Query.

        Raises the store's errors.
        """
        try:
            found, _ = query(cls, partition, limit=most, consistent=consistent)
        except TableMissing:
            if needs_table:
                raise
            return []
        return [cls.from_raw_data(each) for each in found]
