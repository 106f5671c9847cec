"""The console's own tables, its queues, and the secret with its key."""

from typing import Any

from console.provisioning.definition import in_cloudformation, table_definition
from console.schema.tables import TABLES
from console.stack.intrinsics import attribute, fn_sub, ref, when
from console.stack.parameters import OWN_TABLES, title_of

Resources = dict[str, dict[str, Any]]
RETAINED = {"Condition": "MakesTables", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
# Of the secret, the cluster and the load balancer.
NAME = fn_sub("console-${Environment}")
TAGS = [{"Key": "environment", "Value": ref("Environment")}]
# The most that a sender takes for one reply, and the timeout of Lambdas that read queues.
VISIBILITY_SECONDS = 60
# A reply is received again each second while it waits for its turn, for at most ten minutes. 1,000 is SQS's maximum.
REPLY_RECEIVES = 1_000
RECEIPT_RECEIVES = 10
DAY, LONGEST_DAYS = 86_400, 14


def tables() -> Resources:
    """Return the console's own tables, as `manage.py tables create` creates them."""
    return {f"{title_of(key)}Table": _table(key) for key in OWN_TABLES}


def table_name_of(key: str) -> Any:
    """Return the name of an own table."""
    return fn_sub(f"{TABLES[key].base}-${{Environment}}")


def _table(key: str) -> dict[str, Any]:
    spec = TABLES[key]
    protects: Any = when("Protects", True, False) if spec.protected else False
    properties = in_cloudformation(table_definition(spec), spec.ttl) | {
        "TableName": table_name_of(key),
        "DeletionProtectionEnabled": protects,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": protects},
        "Tags": TAGS,
    }
    return {"Type": "AWS::DynamoDB::Table", **RETAINED, "Properties": properties}


def queues() -> Resources:
    """Return the outbox, the two queues of a company's own sending service, and the dead-letter queues."""
    own = "OwnSendingService"
    return {
        "OutboxQueue": _queue("outbox", fifo=True, dead="OutboxDeadLetters", receives=REPLY_RECEIVES),
        "OutboxDeadLetters": _queue("outbox-dead-letters", fifo=True),
        "ServiceQueue": _queue("sending-service", own, fifo=True, dead="ServiceDeadLetters", receives=RECEIPT_RECEIVES),
        "ServiceDeadLetters": _queue("sending-service-dead-letters", own, fifo=True),
        "ReceiptsQueue": _queue("receipts", own, dead="ReceiptsDeadLetters", receives=RECEIPT_RECEIVES),
        "ReceiptsDeadLetters": _queue("receipts-dead-letters", own),
        # The stream records that a Lambda gave up, for a manual sweep.
        "StreamFailures": _queue("stream-failures", "UsesLambdas"),
    }


# Queues that must be empty, with the condition on which they exist.
DEAD_LETTERS = {
    "OutboxDeadLetters": "",
    "ServiceDeadLetters": "OwnSendingService",
    "ReceiptsDeadLetters": "OwnSendingService",
    "StreamFailures": "UsesLambdas",
}


def _queue(name: str, condition: str = "", *, fifo: bool = False, dead: str = "", receives: int = 0) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "QueueName": fn_sub(f"console-{name}-${{Environment}}{'.fifo' if fifo else ''}"),
        "SqsManagedSseEnabled": True,
        "VisibilityTimeout": VISIBILITY_SECONDS,
        "MessageRetentionPeriod": 4 * DAY if dead else LONGEST_DAYS * DAY,
        "Tags": TAGS,
    }
    if fifo:
        properties["FifoQueue"] = True
    if dead:
        properties["RedrivePolicy"] = {"deadLetterTargetArn": attribute(dead), "maxReceiveCount": receives}
    made = {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
    return made | ({"Condition": condition} if condition else {}) | {"Properties": properties}


def secret() -> Resources:
    """Return the secret `SETTINGS_SECRET`: the generated SECRET_KEY, and room for further confidential settings."""
    # Never change the generation: CloudFormation would generate a new key.
    generated = {
        "SecretStringTemplate": "{}",
        "GenerateStringKey": "SECRET_KEY",
        "PasswordLength": 64,
        "ExcludePunctuation": True,
    }
    properties = {
        "Name": NAME,
        "Description": "Settings of the console as JSON, among them SECRET_KEY",
        "GenerateSecretString": generated,
        "Tags": TAGS,
    }
    return {"Settings": {"Type": "AWS::SecretsManager::Secret", **RETAINED, "Properties": properties}}
