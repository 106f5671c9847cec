"""A plan as CloudFormation, for teams that keep their infrastructure as code.

Each changed table is written out as it is to be afterwards, what the registry does not know included, so that nothing
is switched off by taking it over; the metadata lists the changes for those who rather merge them by hand.
"""

from collections.abc import Iterable
from typing import Any

from console.errors import ConsoleError
from console.schema.check import Difference, TableReport, describe
from console.schema.definition import STREAM_VIEW, attribute_definitions, create_table_request, index_definition
from console.schema.environments import is_protected
from console.schema.tables import TABLES, TableSpec
from console.store.connection import call


def template(reports: Iterable[TableReport]) -> dict[str, Any]:
    """A CloudFormation template with each table that the plan changes. Raises `StoreUnavailable` or `Throttled`."""
    resources = {}
    for report in reports:
        changes = [each for each in report.differences if each.applicable and each.kind != "wait"]
        if changes:
            resources[_logical_id(report.key)] = {
                "Type": "AWS::DynamoDB::Table",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Metadata": {"Changes": [f"{each.sign} {each.what}: {each.wanted}" for each in changes]},
                "Properties": _properties(TABLES[report.key], report.name, changes),
            }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Tables as the console asks for them. An existing table takes one new index per update.",
        "Resources": resources,
    }


def _logical_id(key: str) -> str:
    return "".join(word.capitalize() for word in key.split("_")) + "Table"


def _properties(spec: TableSpec, name: str, changes: list[Difference]) -> dict[str, Any]:
    description = describe(name)
    kinds = {each.kind for each in changes}
    properties = create_table_request(spec.key) if description is None else _kept(spec, description, changes)
    if "StreamSpecification" in properties:
        # CloudFormation has no StreamEnabled: being there is being on.
        properties["StreamSpecification"] = {"StreamViewType": properties["StreamSpecification"]["StreamViewType"]}
    if ttl := spec.ttl if kinds & {"table", "ttl"} else _ttl_of(name):
        properties["TimeToLiveSpecification"] = {"AttributeName": ttl, "Enabled": True}
    if "recovery" in kinds or (is_protected(spec) if "table" in kinds else _recovers(name)):
        properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": True}
    return properties


def _kept(spec: TableSpec, description: dict[str, Any], changes: list[Difference]) -> dict[str, Any]:
    """What an existing table is, with the changes."""
    added = [spec.index(each.index) for each in changes if each.kind == "index"]
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
        properties["StreamSpecification"] = {"StreamViewType": STREAM_VIEW}
    elif stream.get("StreamEnabled"):
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    return properties


def _ttl_of(name: str) -> str:
    """The TTL attribute that is on, or nothing; what may not be looked at counts as off."""
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
