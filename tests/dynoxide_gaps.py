"""What DynamoDB refuses and dynoxide does not, refused before it is sent: docs/testing.md has the differences."""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from console.provisioning.definition import table_definition
from console.schema.tables import TABLES
from console.store.calls import key_of
from demo.server_process import plain_client
from tests.faults import response_of

LIMIT = 400 * 1024
FILLER = "~"
# The attributes in an expression: neither values, nor parts of documents, nor functions.
NAMES = re.compile(r"(?<![\w:#.])(#\w+|[A-Za-z_]\w*)(?!\w|\s*\()")
WORDS = {"AND", "OR", "NOT", "IN", "BETWEEN"}

Body = dict[str, Any]


class DynoxideGaps:
    """Checks of requests to a dynoxide, for the clients that they are set on."""

    def __init__(self, endpoint: str) -> None:
        self._client = plain_client(endpoint)
        # By table and index, what is projected; None: everything.
        self._projected: dict[tuple[str, str], set[str] | None] = {}

    def close(self, client: BaseClient) -> None:
        """Check what this client sends from now on, once however often this is called."""
        checks: dict[Callable[..., Any], tuple[str, ...]] = {
            self._check_size: ("PutItem", "UpdateItem", "BatchWriteItem"),
            self._check_projection: ("Query", "Scan"),
            self._forget: ("CreateTable", "UpdateTable", "DeleteTable"),
        }
        for check, operations in checks.items():
            for each in operations:
                client.meta.events.register(f"before-send.dynamodb.{each}", check, unique_id=f"gap-{each}")

    def _check_size(self, request: Any, **_: Any) -> Any:
        """An item counts once more for each local index that holds it, and all of that together has 400 KB."""
        for write in _writes(json.loads(request.body)):
            key = key_of(write["TableName"])
            if key and TABLES[key].lsis and (message := self._size_error(key, write)):
                return _refusal(request, message)
        return None

    def _size_error(self, table_key: str, write: Body) -> str:
        """What dynoxide says of the item in a table without indexes, with as much beside it as its copies take."""
        spec, is_update = TABLES[table_key], "Key" in write
        item = self._stored(write) if is_update else write["Item"]
        copies = 1 + sum(index.range.name in item for index in spec.lsis if index.range)
        # As JSON an item takes more than its size. An update that copies attributes is not foreseen.
        if len(json.dumps([item, write], default=repr)) <= LIMIT // copies:
            return ""
        name = f"size-{uuid.uuid4().hex}"
        self._client.create_table(TableName=name, **table_definition(replace(spec, gsis=(), lsis=(), stream=())))
        filler = {FILLER: {"S": "x" * (LIMIT - LIMIT // copies - len(FILLER))}}
        try:
            self._client.put_item(TableName=name, Item=item | filler)
            if is_update:
                self._client.update_item(**write | {"TableName": name})
        except ClientError as error:
            message = error.response["Error"]["Message"]
            return message if "size" in message else ""
        finally:
            self._client.delete_table(TableName=name)
        return ""

    def _stored(self, write: Body) -> Body:
        found = self._client.get_item(TableName=write["TableName"], Key=write["Key"], ConsistentRead=True)
        return found.get("Item") or write["Key"]

    def _check_projection(self, request: Any, **_: Any) -> Any:
        """A global index is not asked for what it does not project, nor a Query filtered by that."""
        body = json.loads(request.body)
        if "IndexName" not in body:
            return None
        place = body["TableName"], body["IndexName"]
        if place not in self._projected:
            self._projected[place] = self._projection(*place)
        projected = self._projected[place]
        if projected is None:
            return None
        found = ""
        if lacking := sorted(_names(body, "ProjectionExpression") - projected):
            found = f"Global secondary index {place[1]} does not project [{', '.join(lacking)}]"
        elif "KeyConditionExpression" in body and (lacking := sorted(_names(body, "FilterExpression") - projected)):
            found = f"Secondary index {place[1]} does not project one or more filter attributes: [{', '.join(lacking)}]"
        return _refusal(request, f"One or more parameter values were invalid: {found}") if found else None

    def _projection(self, table: str, index: str) -> set[str] | None:
        try:
            described = self._client.describe_table(TableName=table)["Table"]
        except ClientError:
            return None
        for each in described.get("GlobalSecondaryIndexes", ()):
            if each["IndexName"] == index and each["Projection"]["ProjectionType"] != "ALL":
                keys = {key["AttributeName"] for key in (*described["KeySchema"], *each["KeySchema"])}
                return keys | set(each["Projection"].get("NonKeyAttributes", ()))
        return None

    def _forget(self, **_: Any) -> None:
        self._projected.clear()


def _writes(body: Body) -> Iterator[Body]:
    """Each item that a request would put or update."""
    if "RequestItems" not in body:
        yield body
        return
    for name, requests in body["RequestItems"].items():
        yield from ({"TableName": name, **each["PutRequest"]} for each in requests if "PutRequest" in each)


def _names(body: Body, expression: str) -> set[str]:
    """The attributes in an expression of a request."""
    aliases: Mapping[str, str] = body.get("ExpressionAttributeNames", {})
    found = {name for name in NAMES.findall(body.get(expression, "")) if name.upper() not in WORDS}
    return {aliases.get(name, name) for name in found}


def _refusal(request: Any, message: str) -> Any:
    body = {"__type": "com.amazon.coral.validate#ValidationException", "message": message}
    return response_of(request.url, 400, json.dumps(body).encode())
