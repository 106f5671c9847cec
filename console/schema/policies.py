"""Least-privilege IAM policies: what each process of the console does with which table and index, and nothing else.

Tests walk over every page, form and job, and compare the calls with these lists: neither lacks anything nor has more.
IAM knows no transactions: it asks for the actions inside of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from console.schema.tables import TABLES, table_name


@dataclass(frozen=True, slots=True)
class Access:
    """What a process may do with one table: `actions` on the table itself, `indexes` that it queries.

    `stream`: it reads the table's stream.
    """

    table: str
    actions: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    stream: bool = False


def _of_web(key: str, *actions: str) -> Access:
    """What the web servers do with a table, and that they query each of its indexes.

    Pages ask which tables and indexes are there, and the system page how they are kept.
    """
    spec = TABLES[key]
    ttl = ("DescribeTimeToLive",) if spec.ttl else ()
    backups = ("DescribeContinuousBackups",) if spec.protected else ()
    indexes = tuple(index.name for index in (*spec.gsis, *spec.lsis))
    return Access(key, ("DescribeTable", *ttl, *backups, *actions), indexes)


WEB = (
    _of_web("CONVERSATIONS", "GetItem", "BatchGetItem", "Query", "UpdateItem"),
    _of_web("CONVERSATIONS_STAGE", "PutItem"),
    _of_web("AUDIT", "GetItem", "Query", "PutItem", "UpdateItem"),
    _of_web("IDEMPOTENCY", "GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
    _of_web("CONVERSATION_STATE", "GetItem"),
    _of_web("SESSIONS", "GetItem", "Query", "UpdateItem"),
    _of_web("CHATS", "Query"),
    # What is due is the receiver's to find.
    replace(_of_web("MESSAGES", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"), indexes=()),
    _of_web("CHAT_MESSAGES", "Query"),
    _of_web("IMAGE_RESPONSES", "GetItem", "BatchGetItem"),
    _of_web("THREADS", "BatchGetItem", "Query", "UpdateItem"),
    _of_web("TENANTS", "GetItem", "BatchGetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"),
    _of_web("TENANT_CONVERSATIONS", "GetItem", "Query", "DeleteItem"),
    _of_web("STAFF", "GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
    _of_web("STAFF_SESSIONS", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"),
    _of_web("CONSOLE", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
)
# Where the record of an action has expired before its entry, its conversation is found by its id.
_SETTLING = ("conversation-id-index",)
INDEXER = (
    Access("CONVERSATIONS", ("DescribeTable", "GetItem", "Scan", "UpdateItem"), _SETTLING, stream=True),
    Access("AUDIT", ("DescribeTable", "Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("DescribeTable", "GetItem", "PutItem", "UpdateItem")),
    Access("CONSOLE", ("DescribeTable", "Query", "ConditionCheckItem", "PutItem", "UpdateItem")),
)
RECONCILE = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem"), _SETTLING),
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
