"""Table specs as the requests of CreateTable and UpdateTable."""

from typing import Any

from django.conf import settings

from console.schema.environments import is_protected
from console.schema.tables import TABLES, IndexSpec, KeyAttribute, TableSpec
from console.store.calls import table_name


def create_table_request(key: str) -> dict[str, Any]:
    """Return the arguments of CreateTable for the table of a registry key, with all its indexes, in this environment.

    TTL and point-in-time recovery are not included: DynamoDB takes them in separate calls, once the table is active.
    """
    spec = TABLES[key]
    return {
        "TableName": table_name(key),
        "DeletionProtectionEnabled": is_protected(spec),
        "Tags": [{"Key": "environment", "Value": settings.CONSOLE_ENV}],
        **table_definition(spec),
    }


def table_definition(spec: TableSpec) -> dict[str, Any]:
    """Return the arguments of CreateTable that are the same in every environment."""
    # Encryption is left out on purpose: the default is the AWS owned key, as the schemas require.
    request: dict[str, Any] = {
        "KeySchema": key_schema((spec.hash,), spec.range),
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
    """Return an index in the form that CreateTable and UpdateTable take."""
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.hashes, index.range),
        "Projection": projection(index),
    }


def projection(index: IndexSpec) -> dict[str, Any]:
    """Return the projection of an index: ALL, or INCLUDE with its attributes."""
    if not index.include:
        return {"ProjectionType": "ALL"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.include)}


def key_schema(partition: tuple[KeyAttribute, ...], sort: KeyAttribute | None) -> list[dict[str, str]]:
    """Return the key schema: HASH for each attribute of the partition key, and RANGE if there is a sort key."""
    keys = [{"AttributeName": each.name, "KeyType": "HASH"} for each in partition]
    if sort is not None:
        keys.append({"AttributeName": sort.name, "KeyType": "RANGE"})
    return keys


def key_attributes(spec: TableSpec, *indexes: IndexSpec) -> dict[str, str]:
    """Return the name and type of the key attributes of the table and the given indexes (all indexes if none)."""
    chosen = indexes or (*spec.gsis, *spec.lsis)
    keys = [(spec.hash, spec.range), *(index.keys for index in chosen)]
    return {attribute.name: attribute.type for each in keys for attribute in each if attribute is not None}


def attribute_definitions(spec: TableSpec, *indexes: IndexSpec) -> list[dict[str, str]]:
    """Return the AttributeDefinitions of the table and the given indexes (all indexes if none)."""
    attributes = key_attributes(spec, *indexes)
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()]


def in_cloudformation(request: dict[str, Any], ttl: str) -> dict[str, Any]:
    """Return the CloudFormation properties for arguments of CreateTable, with a TTL attribute ("" for none)."""
    properties = dict(request)
    if stream := request.get("StreamSpecification"):
        # CloudFormation has no StreamEnabled: a specification enables the stream.
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    if ttl:
        properties["TimeToLiveSpecification"] = {"AttributeName": ttl, "Enabled": True}
    return properties
