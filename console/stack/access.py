"""One or more managed policies for each process, and a role for each process that the stack itself runs."""

import json
from collections.abc import Iterator
from typing import Any

from console.provisioning.policies import POLICIES, PolicyScope, statements
from console.schema.tables import TABLES
from console.stack.functions import FUNCTIONS, LambdaFunction
from console.stack.intrinsics import attribute, fn_sub, fn_sub_all, ref, when
from console.stack.parameters import CHANNELS, queue_arn, title_of
from console.stack.storage import Resources

# IAM's limit for one managed policy, without whitespace.
POLICY_CHARACTERS = 6_144
# Conditions of statements, by Sid.
_CONDITIONS = {
    "HandoffQueue": "HasHandoffQueue",
    "ChannelsQueue": "HasChannels",
    "OutboxQueue": "SendsReplies",
    "ReceiptsQueue": "OwnSendingService",
    "ServiceQueue": "OwnSendingService",
    "Secrets": "ReadsSecrets",
    "Emails": "SendsEmails",
}
# The condition on which the stack runs a process, in a container or as Lambdas.
_TASKS = {"web": "RunsWeb", "work": "RunsWork"}
_LAMBDAS = {
    **{each.part: "UsesLambdas" for each in FUNCTIONS},
    "receiver": "ReceivesByLambda",
    "sender": "SendsByLambda",
}
ROLES = {**_TASKS, **_LAMBDAS}


def _table(key: str) -> str:
    spec = TABLES[key]
    return f"{spec.base}-${{Environment}}" if spec.ours else f"${{{title_of(key)}}}"


_SCOPE = PolicyScope(
    partition="${AWS::Partition}",
    region="${AWS::Region}",
    account="${AWS::AccountId}",
    table=_table,
    queues={
        "HANDOFF": [queue_arn("Handoff")],
        "CHANNELS": [queue_arn(channel) for channel in CHANNELS],
        "OUTBOX": ["${OutboxQueue.Arn}"],
        "RECEIPTS": ["${ReceiptsQueue.Arn}"],
        "SERVICE": ["${ServiceQueue.Arn}"],
    },
    secrets=[f"${{{channel}Secrets}}" for channel in CHANNELS],
    topic_prefix="${NotificationsTopicPrefix}",
    from_email="${NotificationsFromEmail}",
)


def policies() -> Resources:
    """Return the policies that `manage.py tables policy` prints, by process: `WebPolicy`, `WebPolicy2` and so on."""
    return {
        name: {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {
                "Description": f"The console's process {process}: what it does with tables, queues and the like",
                "PolicyDocument": _document([_conditional(each) for each in part]),
            },
        }
        for process in POLICIES
        for name, part in zip(policy_names(process), _parts(process), strict=True)
    }


def policy_names(process: str) -> list[str]:
    """Return the logical names of a process's policies."""
    return [f"{process.title()}Policy{number or ''}" for number in (0, *range(2, len(list(_parts(process))) + 1))]


def _parts(process: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the statements in parts within IAM's limit, assuming that names are as long as their placeholders."""
    part: list[dict[str, Any]] = []
    for each in statements(process, _SCOPE):
        if part and len(json.dumps(_document([*part, each]), separators=(",", ":"))) > POLICY_CHARACTERS:
            yield part
            part = []
        part.append(each)
    yield part


def _conditional(statement: dict[str, Any]) -> Any:
    made, condition = fn_sub_all(statement), _CONDITIONS.get(statement["Sid"])
    return when(condition, made) if condition else made


def _document(found: list[Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": found}


def roles() -> Resources:
    """Return the roles of containers and Lambdas. Your own machines need their own roles with the policies."""
    made = {"ExecutionRole": _execution_role()}
    for process, condition in _TASKS.items():
        made[role_name(process)] = _role(process, "ecs-tasks", condition, [_settings()])
    for process, condition in _LAMBDAS.items():
        functions = [each for each in FUNCTIONS if each.part == process]
        more = [_settings(), *_of_lambdas(functions, condition)]
        made[role_name(process)] = _role(process, "lambda", condition, more)
    return made


def role_name(process: str) -> str:
    """Return the logical name of a process's role."""
    return f"{process.title()}Role"


def _role(process: str, service: str, condition: str, more: list[Any]) -> dict[str, Any]:
    return {
        "Type": "AWS::IAM::Role",
        "Condition": condition,
        "Properties": {
            "AssumeRolePolicyDocument": _trust(service),
            "ManagedPolicyArns": [ref(each) for each in policy_names(process)],
            "Policies": [{"PolicyName": "running", "PolicyDocument": _document(more)}],
        },
    }


def _trust(service: str) -> dict[str, Any]:
    principal = {"Service": f"{service}.amazonaws.com"}
    return _document([{"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}])


def _allow(sid: str, resource: Any, *actions: str) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": resource}


def _settings() -> dict[str, Any]:
    # Secrets Manager adds a suffix of six characters to a name.
    secret = fn_sub(_SCOPE.arn("secretsmanager", "secret:console-${Environment}-??????"))
    return _allow("Settings", secret, "secretsmanager:GetSecretValue")


def _of_lambdas(functions: list[LambdaFunction], condition: str) -> Iterator[Any]:
    """Yield the statements that Lambda itself needs in the functions' role: for log lines and event sources.

    Functions whose condition is not the role's get their statements under their own condition.
    """

    def if_there(function: LambdaFunction, value: Any) -> Any:
        return value if function.condition == condition else when(function.condition, value)

    logs = [if_there(each, attribute(each.log_group)) for each in functions]
    yield _allow("Logs", logs, "logs:CreateLogStream", "logs:PutLogEvents")
    for each in functions:
        if each.stream:
            streams = fn_sub(_SCOPE.arn("dynamodb", f"table/${{{each.table}}}/stream/*"))
            yield if_there(each, _allow("Streams", streams, "dynamodb:ListStreams"))
            yield if_there(each, _allow("GivenUp", attribute("StreamFailures"), "sqs:SendMessage"))
        if each.queue:
            yield if_there(each, _allow("Brought", fn_sub(each.queue), "sqs:GetQueueAttributes"))


def _execution_role() -> dict[str, Any]:
    """Return the role that starts containers: it pulls images and writes log lines."""
    managed = "arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
    return {
        "Type": "AWS::IAM::Role",
        "Condition": "UsesContainers",
        "Properties": {"AssumeRolePolicyDocument": _trust("ecs-tasks"), "ManagedPolicyArns": [fn_sub(managed)]},
    }
