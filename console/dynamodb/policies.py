"""Least-privilege IAM policies: what each process of the console does with which table and index, and nothing else.

Tests walk over every page, form and job, and compare the calls with these lists: neither lacks anything nor has more.
IAM knows no transactions: it asks for the actions inside of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.dynamodb.registry import TABLES, table_name


@dataclass(frozen=True, slots=True)
class Access:
    """What a process may do with one table: `actions` on the table itself, `indexes` that it queries.

    `stream`: it reads the table's stream.
    """

    table: str
    actions: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    stream: bool = False


# Pages ask which tables and indexes are there, and the system page how they are kept.
_DESCRIBE = ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups")


def _of_schema(key: str) -> tuple[str, ...]:
    """Every index of a table."""
    return tuple(index.name for index in (*TABLES[key].gsis, *TABLES[key].lsis))


WEB = (
    Access(
        "CONVERSATIONS", (*_DESCRIBE, "GetItem", "BatchGetItem", "Query", "UpdateItem"), _of_schema("CONVERSATIONS")
    ),
    Access("AUDIT", (*_DESCRIBE, "GetItem", "Query", "PutItem", "UpdateItem"), _of_schema("AUDIT")),
    Access("IDEMPOTENCY", (*_DESCRIBE, "GetItem", "BatchGetItem", "PutItem", "UpdateItem"), _of_schema("IDEMPOTENCY")),
    Access("CONVERSATION_STATE", (*_DESCRIBE, "GetItem")),
    Access("SESSIONS", (*_DESCRIBE, "GetItem", "Query", "UpdateItem")),
    Access("CHATS", (*_DESCRIBE, "Query"), _of_schema("CHATS")),
    Access("CHAT_MESSAGES", (*_DESCRIBE, "Query")),
    Access("IMAGE_RESPONSES", (*_DESCRIBE, "GetItem", "BatchGetItem"), _of_schema("IMAGE_RESPONSES")),
    Access("THREADS", (*_DESCRIBE, "GetItem", "BatchGetItem", "Query", "UpdateItem"), _of_schema("THREADS")),
    Access(
        "TENANTS",
        (*_DESCRIBE, "GetItem", "BatchGetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"),
        _of_schema("TENANTS"),
    ),
    Access("TENANT_CONVERSATIONS", (*_DESCRIBE, "GetItem", "Query", "DeleteItem")),
    Access("STAFF", (*_DESCRIBE, "GetItem", "BatchGetItem", "PutItem", "UpdateItem"), _of_schema("STAFF")),
    Access(
        "STAFF_SESSIONS",
        (*_DESCRIBE, "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"),
        _of_schema("STAFF_SESSIONS"),
    ),
    Access("CONSOLE", (*_DESCRIBE, "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")),
)
INDEXER = (
    Access("CONVERSATIONS", ("DescribeTable", "GetItem", "Scan", "UpdateItem"), stream=True),
    Access("AUDIT", ("DescribeTable", "Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("DescribeTable", "GetItem", "PutItem", "UpdateItem")),
    Access("CONSOLE", ("DescribeTable", "Query", "ConditionCheckItem", "PutItem", "UpdateItem")),
)
RECONCILE = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem")),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "Scan", "PutItem", "UpdateItem")),
)
# The web servers, the indexer (worker or Lambda), and the job that settles actions.
POLICIES: dict[str, tuple[Access, ...]] = {"web": WEB, "indexer": INDEXER, "reconcile": RECONCILE}

_STREAM = ("DescribeStream", "GetShardIterator", "GetRecords")


def document(name: str, account: str = "*") -> dict[str, Any]:
    """The IAM policy of a process for the tables of this environment, in AWS_REGION. Raises `KeyError`."""
    return {"Version": "2012-10-17", "Statement": list(_statements(POLICIES[name], account))}


def _statements(accesses: tuple[Access, ...], account: str) -> Iterator[dict[str, Any]]:
    for access in accesses:
        arn = f"arn:aws:dynamodb:{settings.AWS_REGION}:{account}:table/{table_name(access.table)}"
        sid = access.table.title().replace("_", "")
        yield _allow(sid, access.actions, [arn])
        if access.indexes:
            yield _allow(f"{sid}Indexes", ("Query",), [f"{arn}/index/{index}" for index in access.indexes])
        if access.stream:
            yield _allow(f"{sid}Stream", _STREAM, [f"{arn}/stream/*"])


def _allow(sid: str, actions: tuple[str, ...], resources: list[str]) -> dict[str, Any]:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Action": [f"dynamodb:{action}" for action in actions],
        "Resource": resources,
    }
