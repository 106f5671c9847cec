"""The background work as Lambdas, triggered by streams, queues and schedules.

None reserves concurrency: a new AWS account has too little. A lease lets one scheduled run work at a time, a stream's
shard is read by one at a time, and a queue's event source limits its Lambdas.
"""

import json
from dataclasses import dataclass
from typing import Any

from console.stack.environment import SETTINGS
from console.stack.intrinsics import attribute, fn_sub, ref
from console.stack.parameters import queue_arn
from console.stack.storage import TAGS, VISIBILITY_SECONDS, Resources

RUNTIME = "python3.11"
# How long a failing record is retried before the stream skips it; alarms come earlier.
STREAM_SECONDS = 6 * 3_600


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """A Lambda: the part of the work that it does, and so its role; its handler; and its trigger.

    `stream` is the parameter with a stream's ARN, and `table` the variable with its table's name; `queue` is the ARN of
    a queue, which at most `at_once` Lambdas read in parallel. Without either, it runs the part every `minutes` minutes.
    """

    name: str
    part: str
    handler: str = "run_part"
    condition: str = "UsesLambdas"
    stream: str = ""
    table: str = ""
    queue: str = ""
    at_once: int = 2
    minutes: int = 1

    @property
    def is_scheduled(self) -> bool:
        """Whether a schedule starts it."""
        return not (self.stream or self.queue)

    @property
    def seconds(self) -> int:
        """Its timeout: a queue delivers again what takes longer, and a schedule starts the next run."""
        return self.minutes * 60 if self.is_scheduled else VISIBILITY_SECONDS

    @property
    def log_group(self) -> str:
        """The logical name of its log group."""
        return f"{self.name}Logs"


FUNCTIONS = (
    LambdaFunction(
        "Indexer",
        "indexer",
        "handle_conversations_stream",
        stream="ConversationsStreamArn",
        table="Conversations",
    ),
    LambdaFunction(
        "StageReceiver",
        "receiver",
        "handle_stage_stream",
        "ReceivesStageByLambda",
        stream="ConversationsStageStreamArn",
        table="ConversationsStage",
    ),
    LambdaFunction(
        "QueueReceiver",
        "receiver",
        "handle_handoff_queue",
        "ReceivesQueueByLambda",
        queue=queue_arn("Handoff"),
        at_once=10,
    ),
    # Each sends REPLIES_PER_SECOND from one number: two are enough, and the minimum that SQS allows.
    LambdaFunction("Sender", "sender", "handle_outbox", "SendsByLambda", queue="${OutboxQueue.Arn}"),
    # They finish what the Lambdas above left undone.
    LambdaFunction("ReceiverSweep", "receiver", condition="ReceivesByLambda", minutes=2),
    LambdaFunction("SenderSweep", "sender", condition="SendsByLambda"),
    LambdaFunction("Timers", "timers"),
    LambdaFunction("Notifier", "notifier"),
    LambdaFunction("Reconcile", "reconcile", minutes=10),
    LambdaFunction("Insight", "insight"),
)


def functions() -> Resources:
    """Return all Lambdas, with their log groups and triggers."""
    made: Resources = {}
    for each in FUNCTIONS:
        found = {f"{each.name}Function": _function(each), each.log_group: log_group(_name(each, "/aws/lambda/"))}
        if each.stream:
            found[f"{each.name}Source"] = _source(each, ref(each.stream), _from_stream())
        if each.queue:
            found[f"{each.name}Source"] = _source(each, fn_sub(each.queue), _from_queue(each))
        if each.is_scheduled:
            found |= _schedule(each)
        made |= {name: {"Condition": each.condition} | resource for name, resource in found.items()}
    return made


def _function(each: LambdaFunction) -> dict[str, Any]:
    properties = {
        "FunctionName": _name(each),
        "Description": f"Conversation Console: {each.part}",
        "Runtime": RUNTIME,
        "Architectures": [ref("Architecture")],
        "Handler": f"conversations.work.lambdas.{each.handler}",
        "Code": {"S3Bucket": ref("CodeBucket"), "S3Key": ref("CodeKey")},
        "Role": attribute(f"{each.part.title()}Role"),
        "MemorySize": 1024 if each.part == "insight" else 512,
        "Timeout": each.seconds,
        "Environment": {"Variables": SETTINGS},
        "LoggingConfig": {"LogGroup": ref(each.log_group)},
        "Tags": TAGS,
    }
    return {"Type": "AWS::Lambda::Function", "Properties": properties}


def _name(each: LambdaFunction, place: str = "") -> Any:
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in each.name)
    return fn_sub(f"{place}console-${{Environment}}{words}")


def log_group(name: Any) -> dict[str, Any]:
    """Return a log group, which is deleted with the stack."""
    properties = {"LogGroupName": name, "RetentionInDays": ref("LogRetentionDays"), "Tags": TAGS}
    made = {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
    return made | {"Properties": properties}


def _source(each: LambdaFunction, arn: Any, more: dict[str, Any]) -> dict[str, Any]:
    common = {"EventSourceArn": arn, "FunctionResponseTypes": ["ReportBatchItemFailures"]}
    properties = common | more | {"FunctionName": ref(f"{each.name}Function")}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}


def _from_stream() -> dict[str, Any]:
    return {
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 50,
        "MaximumBatchingWindowInSeconds": 1,
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": -1,
        "MaximumRecordAgeInSeconds": STREAM_SECONDS,
        "DestinationConfig": {"OnFailure": {"Destination": attribute("StreamFailures")}},
    }


def _from_queue(each: LambdaFunction) -> dict[str, Any]:
    return {"BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": each.at_once}}


def _schedule(each: LambdaFunction) -> Resources:
    function, rule = f"{each.name}Function", f"{each.name}Schedule"
    rate = f"rate({each.minutes} minute{'' if each.minutes == 1 else 's'})"
    target = {"Id": "run", "Arn": attribute(function), "Input": json.dumps({"part": each.part})}
    permission = {
        "FunctionName": ref(function),
        "Action": "lambda:InvokeFunction",
        "Principal": "events.amazonaws.com",
        "SourceArn": attribute(rule),
    }
    # No retries: the next run does what this one could not.
    invocations = {
        "FunctionName": ref(function),
        "Qualifier": "$LATEST",
        "MaximumRetryAttempts": 0,
        "MaximumEventAgeInSeconds": 60,
    }
    return {
        rule: {"Type": "AWS::Events::Rule", "Properties": {"ScheduleExpression": rate, "Targets": [target]}},
        f"{each.name}Permission": {"Type": "AWS::Lambda::Permission", "Properties": permission},
        f"{each.name}Invocations": {"Type": "AWS::Lambda::EventInvokeConfig", "Properties": invocations},
    }
