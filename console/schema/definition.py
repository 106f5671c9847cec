"""From a table's spec to the words of DynamoDB: what CreateTable and UpdateTable are told."""

from typing import Any

from django.conf import settings

from console.schema.environments import is_protected
from console.schema.tables import TABLES, IndexSpec, KeyAttribute, TableSpec
from console.store.calls import table_name


def create_table_request(key: str) -> dict[str, Any]:
    """Arguments of CreateTable for the table of that registry key, with all its indexes, in this environment.

    TTL and point-in-time recovery are not among them: DynamoDB takes those in calls of their own, once a table is
    active.
    """
    spec = TABLES[key]
    return {
        "TableName": table_name(key),
        "DeletionProtectionEnabled": is_protected(spec),
        "Tags": [{"Key": "environment", "Value": settings.CONSOLE_ENV}],
        **table_definition(spec),
    }


def table_definition(spec: TableSpec) -> dict[str, Any]:
    """What CreateTable is told of a table that is the same in every environment."""
    # Encryption is left out on purpose: the AWS owned key, as the schemas ask, is the default.
    request: dict[str, Any] = {
        "KeySchema": key_schema(spec.hash, spec.range),
        "AttributeDefinitions": attribute_definitions(spec),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if spec.gsis:
        request["GlobalSecondaryIndexes"] = [index_definition(index) for index in spec.gsis]
    if spec.lsis:
        request["LocalSecondaryIndexes"] = [index_definition(index) for index in spec.lsis]
    if spec.stream:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": spec.stream[0]}
    return request


def index_definition(index: IndexSpec) -> dict[str, Any]:
    """An index as CreateTable and UpdateTable take it."""
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hash, index.range),
        "Projection": projection(index),
    }


def projection(index: IndexSpec) -> dict[str, Any]:
    """The projection of an index: ALL, or INCLUDE with its attributes."""
    if not index.include:
        return {"ProjectionType": "ALL"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.include)}


def key_schema(partition: KeyAttribute, sort: KeyAttribute | None) -> list[dict[str, str]]:
    """HASH, and RANGE where there is one."""
    keys = [{"AttributeName": partition.name, "KeyType": "HASH"}]
    if sort is not None:
        keys.append({"AttributeName": sort.name, "KeyType": "RANGE"})
    return keys


def key_attributes(spec: TableSpec, *indexes: IndexSpec) -> dict[str, str]:
    """Name and type of the key attributes of the table and of the given indexes (all of its indexes if none given)."""
    chosen = indexes or (*spec.gsis, *spec.lsis)
    pairs = [(spec.hash, spec.range), *((index.hash, index.range) for index in chosen)]
    return {attribute.name: attribute.type for pair in pairs for attribute in pair if attribute is not None}


def attribute_definitions(spec: TableSpec, *indexes: IndexSpec) -> list[dict[str, str]]:
    """AttributeDefinitions of the table and of the given indexes (all of its indexes if none given)."""
    attributes = key_attributes(spec, *indexes)
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()]


def in_cloudformation(request: dict[str, Any], ttl: str) -> dict[str, Any]:
    """What CreateTable takes as properties of a table in a template, with the attribute of its TTL ("" for none)."""
    properties = dict(request)
    if stream := request.get("StreamSpecification"):
        # CloudFormation has no StreamEnabled: being there is being on.
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    if ttl:
        properties["TimeToLiveSpecification"] = {"AttributeName": ttl, "Enabled": True}
    return properties
