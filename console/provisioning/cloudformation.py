"""The changes that tables need as a CloudFormation template, for the owner of a table to apply.

Each changed table is written in full as it should be afterwards, including what the registry does not know, so that
importing it switches nothing off; the metadata lists the changes for those who prefer to merge them by hand.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from console.errors import ConsoleError
from console.provisioning.check import Difference, TableReport, attribute_types, describe
from console.provisioning.definition import (
    attribute_definitions,
    create_table_request,
    in_cloudformation,
    index_definition,
    key_attributes,
)
from console.schema.environments import is_protected
from console.schema.tables import TABLES, IndexSpec, TableSpec
from console.store.calls import table_name
from console.store.connection import call

SAMPLE_SEGMENTS = 8
SAMPLE_ITEMS_PER_SEGMENT = 250


def template(reports: Iterable[TableReport], named: Collection[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """Return a CloudFormation template of each table that needs changes, and a sentence for each change left out.

    An absent table of another service is included only if it is named. For tables of other services, an index is left
    out if a sampled item has its key attribute with another type, as NULL or empty: DynamoDB would refuse that item's
    next write by its own service. Raises `StoreUnavailable` or `Throttled`.
    """
    resources, left_out = {}, []
    for report in reports:
        spec = TABLES[report.key]
        changes = []
        for each in report.differences:
            is_left = each.kind == "wait" or (each.kind == "table" and not (report.ours or report.key in named))
            if not each.applicable or is_left:
                continue
            if each.kind == "index" and not spec.ours and (clashes := _clashes(spec, spec.indexes[each.index])):
                left_out.append(f"{report.key}: {each.what}, because {'; '.join(clashes)}.")
                continue
            changes.append(each)
        if changes:
            resources[_logical_id(report.key)] = {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Metadata": {"Changes": [f"{each.sign} {each.what}: {each.wanted}" for each in changes]},
                "Properties": _properties(spec, report.name, changes),
            }
    described = "Tables as the console needs them. An existing table takes one new index per update."
    return {"AWSTemplateFormatVersion": "2010-09-09", "Description": described, "Resources": resources}, left_out


def _logical_id(key: str) -> str:
    return "".join(word.capitalize() for word in key.split("_")) + "Table"


def _properties(spec: TableSpec, name: str, changes: list[Difference]) -> dict[str, Any]:
    description = describe(name)
    kinds = {each.kind for each in changes}
    request = create_table_request(spec.key) if description is None else _kept(spec, description, changes)
    properties = in_cloudformation(request, spec.ttl if kinds & {"table", "ttl"} else _ttl_of(name))
    if "recovery" in kinds or (is_protected(spec) if "table" in kinds else _recovers(name)):
        properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return properties


def _kept(spec: TableSpec, description: dict[str, Any], changes: list[Difference]) -> dict[str, Any]:
    """Return the definition of an existing table with the changes."""
    added = [spec.indexes[each.index] for each in changes if each.kind == "index"]
    kinds = {each.kind for each in changes}
    attributes = {each["AttributeName"]: each for each in description["AttributeDefinitions"]}
    if added:
        attributes |= {each["AttributeName"]: each for each in attribute_definitions(spec, *added)}
    billing = (description.get("BillingModeSummary") or {}).get("BillingMode", "PROVISIONED")
    properties: dict[str, Any] = {
        "TableName": description["TableName"],
        "KeySchema": description["KeySchema"],
        "AttributeDefinitions": list(attributes.values()),
        "BillingMode": "PAY_PER_REQUEST" if "billing" in kinds else billing,
        "DeletionProtectionEnabled": "protection" in kinds or bool(description.get("DeletionProtectionEnabled")),
    }
    provisioned = properties["BillingMode"] == "PROVISIONED"
    table_throughput = _throughput(description)
    if provisioned:
        properties["ProvisionedThroughput"] = table_throughput
    indexes = [_existing(each, provisioned) for each in description.get("GlobalSecondaryIndexes") or ()]
    for index in added:
        indexes.append(index_definition(index) | ({"ProvisionedThroughput": table_throughput} if provisioned else {}))
    if indexes:
        properties["GlobalSecondaryIndexes"] = indexes
    if local := description.get("LocalSecondaryIndexes"):
        properties["LocalSecondaryIndexes"] = [_existing(each, False) for each in local]
    encryption = description.get("SSEDescription") or {}
    if key := encryption.get("KMSMasterKeyArn"):
        properties["SSESpecification"] = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    stream = description.get("StreamSpecification") or {}
    if "stream" in kinds:
        properties["StreamSpecification"] = {"StreamViewType": spec.stream[0]}
    elif stream.get("StreamEnabled"):
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    return properties


def _ttl_of(name: str) -> str:
    """Return the enabled TTL attribute, or ""; also "" if it may not be read."""
    try:
        found = call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"]
    except ConsoleError:
        return ""
    return str(found.get("AttributeName", "")) if found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else ""


def _recovers(name: str) -> bool:
    try:
        backups = call("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
    except ConsoleError:
        return False
    recovery = backups.get("PointInTimeRecoveryDescription") or {}
    return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")


def _existing(index: dict[str, Any], provisioned: bool) -> dict[str, Any]:
    kept = {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
    return kept | ({"ProvisionedThroughput": _throughput(index)} if provisioned else {})


def _throughput(description: dict[str, Any]) -> dict[str, int]:
    found = description.get("ProvisionedThroughput") or {}
    return {unit: int(found.get(unit) or 1) for unit in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _clashes(spec: TableSpec, index: IndexSpec) -> list[str]:
    """Return what sampled items have in the index's key attributes that DynamoDB would refuse. Never shows values."""
    name = table_name(spec.key)
    description = describe(name)
    # Every item already has the right type in an existing key attribute.
    enforced = attribute_types(description) if description else {}
    wanted = {
        attribute: kind
        for attribute, kind in key_attributes(spec, index).items()
        if attribute in {each.name for each in index.keys} and attribute not in enforced
    }
    if not wanted:
        return []
    seen, clashes = 0, Counter[tuple[str, str]]()
    for segment in range(SAMPLE_SEGMENTS):
        items = _segment(name, segment, list(wanted))
        seen += len(items)
        for item in items:
            for attribute, kind in wanted.items():
                if (what := _clash(item.get(attribute), kind)) != "":
                    clashes[attribute, what] += 1
    return [f"{attribute} is {what} in {count} of {seen} sampled items" for (attribute, what), count in clashes.items()]


def _segment(name: str, segment: int, attributes: list[str]) -> list[dict[str, dict[str, Any]]]:
    """Return the first items of one segment of the table, so that the samples are spread over it. One Scan call."""
    names = {f"#{position}": attribute for position, attribute in enumerate(attributes)}
    answer = call(
        "Scan",
        TableName=name,
        Segment=segment,
        TotalSegments=SAMPLE_SEGMENTS,
        Limit=SAMPLE_ITEMS_PER_SEGMENT,
        ProjectionExpression=", ".join(names),
        ExpressionAttributeNames=names,
    )
    items: list[dict[str, dict[str, Any]]] = answer["Items"]
    return items


def _clash(value: dict[str, Any] | None, kind: str) -> str:
    """Return why DynamoDB would refuse a value as a key, or "". An item without the attribute is only left out."""
    if value is None or value.get(kind):
        return ""
    return "empty" if kind in value else f"of type {next(iter(value), 'NULL')}"
