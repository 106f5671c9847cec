"""Least-privilege IAM policies: which tables, indexes and queues each process of the console uses, and how.

Tests run every page, form and job, and compare the calls with these lists: nothing is missing and nothing is unused.
IAM has no action for transactions; they need the actions inside them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from django.conf import settings

from console.schema.secret_names import iam_pattern
from console.schema.tables import TABLES
from console.store.calls import table_name


@dataclass(frozen=True, slots=True)
class Access:
    """What a process may do with one table: `actions` on the table itself, `indexes` that it queries.

    `stream`: whether it reads the table's stream. `keys`: patterns of the partition keys that it may name, () for all.
    """

    table: str
    actions: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    stream: bool = False
    keys: tuple[str, ...] = ()


QueueName = Literal["HANDOFF", "CHANNELS", "OUTBOX", "RECEIPTS", "SERVICE"]


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """What a process may do with a queue, if it is configured; `CHANNELS` are the queues of all channels."""

    queue: QueueName
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyScope:
    """The values in a policy's ARNs: of this environment, or a template's parameters.

    `table` returns a table's name by key, `queues` has ARNs, `secrets` has name patterns, none if nothing is sent.
    """

    partition: str
    region: str
    account: str
    table: Callable[[str], str]
    queues: Mapping[QueueName, Sequence[str]]
    secrets: Sequence[str]
    topic_prefix: str
    from_email: str
    topic_accounts: Sequence[str] = ()

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource in this region and account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


# The partitions of CONSOLE by what they are for, in few characters: IAM limits these. The first are leases, places in
# streams and heartbeats of the background work.
_RUNNING = ("INDEXER", "insight*", "notifications", "queue", "reconcile", "sender", "stage", "sweep", "timers")
_NOTIFYING_KEYS = ("DESTINATIONS*", "NOTIFI*")
# What a message is noted in: the queue, notices, and those that are told.
_MESSAGES = (
    *("QUEUE*", "COMPANIES*", "LEVELS*", "GROUPS*", "TOLD*", "STAGE_EXPIRED*"),
    *(*_RUNNING, *_NOTIFYING_KEYS),
)
# What a change of a conversation is noted in besides: timers and facts.
_HANDLING = (*_MESSAGES, "DUE*", "LOCK*", "INSIGHT*")
# What pages alone read and write.
_PEOPLE = (
    "AWAY",
    "OIDC*",
    "PRESENCE*",
    "SAVED_REPLIES*",
    "SEEN*",
    "AUDIT_BACKFILL",
    "TENANT*",
    "THROTTLE*",
    "VIEWS*",
)
_KEY_RECORD = ("SECRET_KEY",)


def _of_web(key: str, *actions: str, keys: tuple[str, ...] = ()) -> Access:
    """Return the access of the web servers to a table: `actions`, queries of each index, and descriptions.

    Pages check which tables and indexes exist, and the system page shows their settings.
    """
    spec = TABLES[key]
    ttl = ("DescribeTimeToLive",) if spec.ttl else ()
    backups = ("DescribeContinuousBackups",) if spec.protected else ()
    indexes = tuple(index.name for index in (*spec.gsis, *spec.lsis))
    return Access(key, ("DescribeTable", *ttl, *backups, *actions), indexes, keys=keys)


WEB = (
    _of_web("CONVERSATIONS", "GetItem", "BatchGetItem", "Query", "UpdateItem"),
    _of_web("CONVERSATIONS_STAGE", "PutItem", "Query", "DeleteItem"),
    _of_web("CONVERSATIONS_TRIGGER_LOCK", "PutItem"),
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
    _of_web(
        *("CONSOLE", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
        keys=(*_HANDLING, *_PEOPLE, *_KEY_RECORD, "SECRET-PROBLEMS", "BUDGETS*"),
    ),
)
# If the record of an action has expired before its entry, the conversation is looked up by id.
_SETTLING = ("conversation-id-index",)
# What the rows of the queue's partitions are made of; first messages to approve are in MESSAGES.
_PARTITIONS = ("hand-off-queue-index",)
# A customer's conversations with one of our numbers or addresses.
_BY_NUMBERS = (
    "company-whatsapp-number-recipient-tel-index",
    "company-sms-number-recipient-tel-index",
    "company-email-recipient-email-index",
)
INDEXER = (
    Access(
        "CONVERSATIONS",
        ("DescribeTable", "GetItem", "Scan", "UpdateItem"),
        # A customer's other conversations with the same number are found by it.
        (*_SETTLING, *_PARTITIONS, *_BY_NUMBERS),
        stream=True,
    ),
    # What is staged for these.
    Access("CONVERSATIONS_STAGE", ("Query",)),
    # Notes of full conversations, messages of those that are gone, about whom to ask the provider, and what a customer
    # says in another conversation.
    Access("MESSAGES", ("Query", "Scan", "PutItem", "UpdateItem", "DeleteItem")),
    Access("CONVERSATION_STATE", ("GetItem",)),
    Access("AUDIT", ("DescribeTable", "Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("DescribeTable", "GetItem", "PutItem", "UpdateItem")),
    # The facts of Insight, and the key of their pseudonyms.
    Access("INSIGHT", ("DescribeTable", "GetItem", "PutItem")),
    Access(
        "CONSOLE",
        (
            *("DescribeTable", "GetItem", "BatchGetItem", "Query", "ConditionCheckItem"),
            *("PutItem", "UpdateItem", "DeleteItem"),
        ),
        # Whether what was staged has expired unread is asked by those who end locks.
        keys=tuple(each for each in _HANDLING if each != "STAGE_EXPIRED*"),
    ),
)
INSIGHT = (
    Access("INSIGHT", ("DescribeTable", "Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem")),
    # The tables it scans.
    Access("THREADS", ("DescribeTable", "Scan", "Query", "BatchGetItem")),
    Access("SESSIONS", ("DescribeTable", "Scan", "GetItem")),
    Access("CHATS", ("DescribeTable", "Scan", "Query")),
    Access("AUDIT", ("DescribeTable", "Scan", "Query")),
    Access("IDEMPOTENCY", ("DescribeTable", "Scan", "BatchGetItem")),
    Access("CONVERSATION_STATE", ("DescribeTable", "Scan", "GetItem")),
    Access("TENANT_CONVERSATIONS", ("DescribeTable", "Scan", "GetItem")),
    # The owner of a conversation, and the limits of a tenant.
    Access("CONVERSATIONS", (), ("conversation-id-index",)),
    Access("TENANTS", ("GetItem",)),
    # Leases, the pseudonym key, reverse look-ups of pseudonyms, budgets, and recipients of budget alerts and summaries.
    Access(
        "CONSOLE",
        ("GetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem"),
        keys=("COMPANIES*", "INSIGHT*", "BUDGETS*", *_RUNNING, *_NOTIFYING_KEYS),
    ),
)
TIMERS = (
    Access("CONVERSATIONS", ("DescribeTable", "GetItem", "UpdateItem"), (*_SETTLING, *_PARTITIONS)),
    # Whether the platform is still at work, and what it must not be given again.
    Access("CONVERSATIONS_STAGE", ("Query", "DeleteItem")),
    Access("MESSAGES", ("Query",)),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "PutItem", "UpdateItem")),
    Access("INSIGHT", ("DescribeTable", "GetItem", "PutItem")),
    Access("CONVERSATION_STATE", ("GetItem",)),
    Access("CONSOLE", ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"), keys=_HANDLING),
)
NOTIFIER = (
    Access("AUDIT", ("PutItem",)),
    Access(
        "CONSOLE",
        ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
        keys=("COMPANIES*", *_RUNNING, *_NOTIFYING_KEYS),
    ),
)
RECONCILE = (
    Access("CONVERSATIONS", ("GetItem", "UpdateItem"), _SETTLING),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "Scan", "PutItem", "UpdateItem")),
    Access("CONSOLE", ("Query", "PutItem", "UpdateItem"), keys=("QUEUE*", "COMPANIES*", "GROUPS*", "TOLD*", *_RUNNING)),
)
RECEIVER = (
    Access(
        "CONVERSATIONS",
        ("DescribeTable", "GetItem", "BatchGetItem", "UpdateItem"),
        # Which conversations people hold in a company is in the queue's index.
        (*_BY_NUMBERS, *_SETTLING, *_PARTITIONS),
    ),
    Access("CONVERSATIONS_STAGE", ("DescribeTable", "PutItem", "Query", "DeleteItem"), stream=True),
    Access("CONVERSATIONS_TRIGGER_LOCK", ("PutItem",)),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "PutItem", "UpdateItem")),
    Access(
        "MESSAGES", ("GetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"), ("due-index",)
    ),
    Access(
        "CONSOLE",
        ("GetItem", "BatchGetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem"),
        keys=_MESSAGES,
    ),
)
SENDER = (
    # It takes in what only the provider has of customers' messages, and asks for a human like the receiver. The
    # conversations with a customer who has opted out are found by their numbers, too.
    Access("CONVERSATIONS", ("GetItem", "BatchGetItem", "UpdateItem"), _BY_NUMBERS),
    # What a person has answered must not go to the AI again.
    Access("CONVERSATIONS_STAGE", ("Query", "DeleteItem")),
    Access("MESSAGES", ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"), ("due-index",)),
    Access("AUDIT", ("Query", "PutItem", "UpdateItem")),
    Access("IDEMPOTENCY", ("GetItem", "BatchGetItem", "PutItem", "UpdateItem")),
    Access(
        "CONSOLE",
        ("BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
        keys=(*_MESSAGES, "DUE*", "SECRET-PROBLEMS"),
    ),
)


def _merged(*parts: tuple[Access, ...]) -> tuple[Access, ...]:
    """Merge the access lists of several processes into one."""
    found: dict[str, Access] = {}
    for access in (each for part in parts for each in part):
        known = found.setdefault(access.table, access)
        found[access.table] = Access(
            access.table,
            tuple(dict.fromkeys((*known.actions, *access.actions))),
            tuple(dict.fromkeys((*known.indexes, *access.indexes))),
            known.stream or access.stream,
            tuple(dict.fromkeys((*known.keys, *access.keys))),
        )
    return tuple(found.values())


# As one process, it also notes the SECRET_KEY that it began with.
_NOTING = (Access("CONSOLE", (), keys=_KEY_RECORD),)
WORK = _merged(INDEXER, TIMERS, INSIGHT, RECEIVER, SENDER, NOTIFIER, RECONCILE, _NOTING)
# The web servers; the indexer; the timers; the sums of Insight; the receivers and the sender (workers or Lambdas); the
# notifier; the job that settles actions; and all but the first in one process.
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
# The processes that may read the companies' secrets, by the platform's names for them.
SECRETS = ("sender", "work")

# The processes that may publish to topics and send emails.
NOTIFYING = ("notifier", "work")

_STREAM = ("DescribeStream", "GetShardIterator", "GetRecords")


def document(name: str, account: str = "*") -> dict[str, Any]:
    """Return the IAM policy of a process for this environment's tables and queues in AWS_REGION. Raises `KeyError`."""
    return {"Version": "2012-10-17", "Statement": statements(name, _this_environment(account))}


def statements(name: str, scope: PolicyScope) -> list[dict[str, Any]]:
    """Return the statements of a process's policy. Raises `KeyError`."""
    found = [*_table_statements(POLICIES[name], scope), *_queue_statements(QUEUES.get(name, ()), scope)]
    if name in SECRETS and scope.secrets:
        arns = [scope.arn("secretsmanager", f"secret:{each}") for each in scope.secrets]
        found.append(_allow("Secrets", "secretsmanager", ("GetSecretValue",), arns))
    if name in NOTIFYING:
        found += _notifying(scope)
    return found


def _this_environment(account: str) -> PolicyScope:
    urls: dict[QueueName, list[str]] = {
        "HANDOFF": [settings.HANDOFF_QUEUE_URL],
        "CHANNELS": list(settings.CHANNEL_QUEUE_URLS.values()),
        "OUTBOX": [settings.OUTBOX_QUEUE_URL],
        "RECEIPTS": [settings.RECEIPTS_QUEUE_URL],
        "SERVICE": [settings.SENDING_SERVICE_QUEUE_URL],
    }
    return PolicyScope(
        partition="aws",
        region=settings.AWS_REGION,
        account=account,
        table=table_name,
        queues={name: sorted({_queue_arn(url, account) for url in those if url}) for name, those in urls.items()},
        secrets=[iam_pattern(each) for each in settings.SECRET_NAMES] if settings.OUTBOX_QUEUE_URL else (),
        topic_prefix=settings.NOTIFICATIONS_TOPIC_PREFIX,
        from_email=settings.NOTIFICATIONS_FROM_EMAIL,
        topic_accounts=settings.NOTIFICATIONS_TOPIC_ACCOUNTS,
    )


def _queue_arn(url: str, account: str) -> str:
    """Return a queue's ARN. Its URL has the account: `https://sqs.eu-west-2.amazonaws.com/123456789012/handoff`."""
    owner, _, name = urlsplit(url).path.strip("/").rpartition("/")
    return f"arn:aws:sqs:{settings.AWS_REGION}:{owner or account}:{name}"


def _table_statements(accesses: tuple[Access, ...], scope: PolicyScope) -> Iterator[dict[str, Any]]:
    for access in accesses:
        arn = scope.arn("dynamodb", f"table/{scope.table(access.table)}")
        sid = access.table.title().replace("_", "")
        if access.actions:
            yield _allow(sid, "dynamodb", access.actions, [arn]) | _with_keys(access.keys)
        if access.indexes:
            yield _allow(f"{sid}Indexes", "dynamodb", ("Query",), [f"{arn}/index/{index}" for index in access.indexes])
        if access.stream:
            yield _allow(f"{sid}Stream", "dynamodb", _STREAM, [f"{arn}/stream/*"])


def _with_keys(keys: tuple[str, ...]) -> dict[str, Any]:
    # Descriptions name no key, and are allowed all the same.
    return {"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(keys)}}} if keys else {}


def _queue_statements(accesses: tuple[QueueAccess, ...], scope: PolicyScope) -> Iterator[dict[str, Any]]:
    for access in accesses:
        if arns := scope.queues[access.queue]:
            yield _allow(f"{access.queue.title()}Queue", "sqs", access.actions, list(arns))


def _notifying(scope: PolicyScope) -> Iterator[dict[str, Any]]:
    """Yield the statements for topics, in any region of the allowed accounts, and for emails from one address."""
    accounts = scope.topic_accounts or (scope.account,)
    topics = [f"arn:{scope.partition}:sns:*:{each}:{scope.topic_prefix}*" for each in accounts]
    yield _allow("Topics", "sns", ("Publish",), topics)
    if scope.from_email:
        statement = _allow("Emails", "ses", ("SendEmail",), [scope.arn("ses", "identity/*")])
        yield statement | {"Condition": {"StringEquals": {"ses:FromAddress": scope.from_email}}}


def _allow(sid: str, service: str, actions: tuple[str, ...], resources: list[str]) -> dict[str, Any]:
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Action": [f"{service}:{action}" for action in actions],
        "Resource": resources,
    }
