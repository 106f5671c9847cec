"""Least-privilege IAM policies: what each process of the console does with which table, index and queue, and no more.

Tests walk over every page, form and job, and compare the calls with these lists: neither lacks anything nor has more.
IAM knows no transactions: it asks for the actions inside of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

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


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """What a process may do with queues, where they are configured; `CHANNELS` are those of all channels."""

    queue: Literal["HANDOFF", "CHANNELS", "OUTBOX", "RECEIPTS", "SERVICE"]
    actions: tuple[str, ...]

    @property
    def urls(self) -> list[str]:
        """The addresses of the queues."""
        urls = {
            "HANDOFF": [settings.HANDOFF_QUEUE_URL],
            "CHANNELS": list(settings.CHANNEL_QUEUE_URLS.values()),
            "OUTBOX": [settings.OUTBOX_QUEUE_URL],
            "RECEIPTS": [settings.RECEIPTS_QUEUE_URL],
            "SERVICE": [settings.SENDING_SERVICE_QUEUE_URL],
        }
        return [url for url in urls[self.queue] if url]


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
    _of_web("CONVERSATIONS_STAGE", "PutItem", "Query"),
    _of_web("AUDIT", "GetItem", "Query", "PutItem", "UpdateItem"),
    _of_web("IDEMPOTENCY", "GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
    _of_web("CONVERSATION_STATE", "GetItem"),
    _of_web("SESSIONS", "GetItem", "Query", "UpdateItem"),
    _of_web("CHATS", "Query"),
    _of_web("MESSAGES", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
    _of_web("CHAT_MESSAGES", "Query"),
    _of_web("IMAGE_RESPONSES", "GetItem", "BatchGetItem"),
    _of_web("THREADS", "BatchGetItem", "Query", "UpdateItem"),
    _of_web("TENANTS", "GetItem", "BatchGetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"),
    _of_web("TENANT_CONVERSATIONS", "GetItem", "Query", "DeleteItem"),
    _of_web("INSIGHT", "Query"),
    _of_web("STAFF", "GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
    _of_web("STAFF_SESSIONS", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"),
    _of_web("CONSOLE", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
)
# Where the record of an action has expired before its entry, its conversation is found by its id.
_SETTLING = ("conversation-id-index",)
INDEXER = (
    Access("CONVERSATIONS", ("DescribeTable", "GetItem", "Scan", "UpdateItem"), _SETTLING, stream=True),
    Access("CONVERSATION_STATE", ("GetItem",)),
    Access("AUDIT", ("DescribeTable", "Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("DescribeTable", "GetItem", "PutItem", "UpdateItem")),
    # The facts of Insight, and the key of its pseudonyms.
    Access("INSIGHT", ("DescribeTable", "GetItem", "PutItem")),
    Access(
        "CONSOLE", ("DescribeTable", "GetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem")
    ),
)
INSIGHT = (
    Access("INSIGHT", ("DescribeTable", "Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem")),
    # What it walks over.
    Access("THREADS", ("DescribeTable", "Scan", "Query", "BatchGetItem")),
    Access("SESSIONS", ("DescribeTable", "Scan", "GetItem")),
    Access("CHATS", ("DescribeTable", "Scan", "Query")),
    Access("AUDIT", ("DescribeTable", "Scan", "Query")),
    Access("IDEMPOTENCY", ("DescribeTable", "Scan", "BatchGetItem")),
    Access("CONVERSATION_STATE", ("DescribeTable", "Scan", "GetItem")),
    Access("TENANT_CONVERSATIONS", ("DescribeTable", "Scan", "GetItem")),
    # Whose a conversation is, and how much a tenant may send.
    Access("CONVERSATIONS", (), ("conversation-id-index",)),
    Access("TENANTS", ("GetItem",)),
    # Leases, the key of pseudonyms, the ways back from these, budgets, and whom to tell of them and of the week.
    Access("CONSOLE", ("GetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem")),
)
TIMERS = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem"), _SETTLING),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "PutItem", "UpdateItem")),
    Access("INSIGHT", ("DescribeTable", "GetItem", "PutItem")),
    Access("CONVERSATION_STATE", ("GetItem",)),
    Access("CONSOLE", ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")),
)
NOTIFIER = (
    Access("AUDIT", ("PutItem",)),
    Access("CONSOLE", ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")),
)
RECONCILE = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem"), _SETTLING),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "Scan", "PutItem", "UpdateItem")),
    Access("CONSOLE", ("Query", "PutItem", "UpdateItem")),
)
RECEIVER = (
    Access(
        "CONVERSATIONS",
        ("DescribeTable", "GetItem", "BatchGetItem", "UpdateItem"),
        (
            "company-whatsapp-number-recipient-tel-index",
            "company-sms-number-recipient-tel-index",
            "company-email-recipient-email-index",
            *_SETTLING,
        ),
    ),
    Access("CONVERSATIONS_STAGE", ("DescribeTable", "PutItem"), stream=True),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "PutItem", "UpdateItem")),
    Access("MESSAGES", ("GetItem", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"), ("due-index",)),
    Access("CONSOLE", ("Query", "ConditionCheckItem", "PutItem", "UpdateItem")),
)
SENDER = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem")),
    Access("MESSAGES", ("GetItem", "Query", "UpdateItem"), ("due-index",)),
    Access("AUDIT", ("PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("UpdateItem",)),
    Access("CONSOLE", ("PutItem", "UpdateItem", "DeleteItem")),
)


def _together(*parts: tuple[Access, ...]) -> tuple[Access, ...]:
    """What a process may do that does the work of several."""
    found: dict[str, Access] = {}
    for access in (each for part in parts for each in part):
        known = found.setdefault(access.table, access)
        found[access.table] = Access(
            access.table,
            tuple(dict.fromkeys((*known.actions, *access.actions))),
            tuple(dict.fromkeys((*known.indexes, *access.indexes))),
            known.stream or access.stream,
        )
    return tuple(found.values())


WORK = _together(INDEXER, TIMERS, INSIGHT, RECEIVER, SENDER, NOTIFIER, RECONCILE)
# The web servers, the indexer, the timers, what sums up for Insight, the receivers and the sender (workers or Lambdas),
# the notifier, the job that settles actions, and all but the first in one process.
POLICIES: dict[str, tuple[Access, ...]] = {
    "web": WEB,
    "indexer": INDEXER,
    "timers": TIMERS,
    "insight": INSIGHT,
    "receiver": RECEIVER,
    "sender": SENDER,
    "notifier": NOTIFIER,
    "reconcile": RECONCILE,
    "work": WORK,
}
_RECEIVING = (
    QueueAccess("HANDOFF", ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")),
    QueueAccess("CHANNELS", ("SendMessage",)),
)
_SENDING = (
    QueueAccess("OUTBOX", ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")),
    QueueAccess("RECEIPTS", ("ReceiveMessage", "DeleteMessage")),
    QueueAccess("SERVICE", ("SendMessage",)),
)
QUEUES: dict[str, tuple[QueueAccess, ...]] = {
    "web": (
        QueueAccess("HANDOFF", ("GetQueueAttributes",)),
        QueueAccess("CHANNELS", ("SendMessage",)),
        QueueAccess("OUTBOX", ("SendMessage", "GetQueueAttributes")),
    ),
    "receiver": _RECEIVING,
    "sender": _SENDING,
    "work": (*_RECEIVING, *_SENDING),
}
# Who may read the companies' secrets, by the names that the platform gives them.
SECRETS = ("sender", "work")

# Who may publish to topics and send emails.
NOTIFYING = ("notifier", "work")

_STREAM = ("DescribeStream", "GetShardIterator", "GetRecords")


def document(name: str, account: str = "*") -> dict[str, Any]:
    """The IAM policy of a process for the tables and queues of this environment, in AWS_REGION. Raises `KeyError`."""
    statements = [*_statements(POLICIES[name], account), *_queue_statements(QUEUES.get(name, ()), account)]
    if name in SECRETS and settings.OUTBOX_QUEUE_URL:
        arns = [
            f"arn:aws:secretsmanager:{settings.AWS_REGION}:{account}:secret:{each}" for each in settings.SECRET_NAMES
        ]
        statements.append(_allow("Secrets", "secretsmanager", ("GetSecretValue",), arns))
    if name in NOTIFYING:
        statements += _notifying(account)
    return {"Version": "2012-10-17", "Statement": statements}


def _statements(accesses: tuple[Access, ...], account: str) -> Iterator[dict[str, Any]]:
    for access in accesses:
        arn = f"arn:aws:dynamodb:{settings.AWS_REGION}:{account}:table/{table_name(access.table)}"
        sid = access.table.title().replace("_", "")
        if access.actions:
            yield _allow(sid, "dynamodb", access.actions, [arn])
        if access.indexes:
            yield _allow(f"{sid}Indexes", "dynamodb", ("Query",), [f"{arn}/index/{index}" for index in access.indexes])
        if access.stream:
            yield _allow(f"{sid}Stream", "dynamodb", _STREAM, [f"{arn}/stream/*"])


def _queue_statements(accesses: tuple[QueueAccess, ...], account: str) -> Iterator[dict[str, Any]]:
    """The address of a queue names its account: `https://sqs.eu-west-2.amazonaws.com/123456789012/handoff`."""
    for access in accesses:
        paths = [urlsplit(url).path.strip("/").rpartition("/") for url in access.urls]
        arns = [f"arn:aws:sqs:{settings.AWS_REGION}:{owner or account}:{name}" for owner, _, name in paths]
        if arns:
            yield _allow(f"{access.queue.title()}Queue", "sqs", access.actions, sorted(set(arns)))


def _notifying(account: str) -> Iterator[dict[str, Any]]:
    """Topics may be in any region and account; emails leave from one address."""
    topics = f"arn:aws:sns:*:*:{settings.NOTIFICATIONS_TOPIC_PREFIX}*"
    yield _allow("Topics", "sns", ("Publish",), [topics])
    if address := settings.NOTIFICATIONS_FROM_EMAIL:
        statement = _allow("Emails", "ses", ("SendEmail",), [f"arn:aws:ses:{settings.AWS_REGION}:{account}:identity/*"])
        yield statement | {"Condition": {"StringEquals": {"ses:FromAddress": address}}}


def _allow(sid: str, service: str, actions: tuple[str, ...], resources: list[str]) -> dict[str, Any]:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Action": [f"{service}:{action}" for action in actions],
        "Resource": resources,
    }
