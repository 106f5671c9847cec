"""CloudWatch alarms, each of which notifies the topic when it begins and when it ends."""

from collections.abc import Sequence
from typing import Any

from console.schema.tables import TABLES
from console.stack.functions import FUNCTIONS
from console.stack.intrinsics import attribute, fn_sub, ref, when
from console.stack.parameters import OWN_TABLES, VARIABLES, title_of
from console.stack.storage import DEAD_LETTERS, Resources, table_name_of

# Namespace and dimension of the metrics of each kind of resource.
_QUEUE, _FUNCTION, _TABLE = ("AWS/SQS", "QueueName"), ("AWS/Lambda", "FunctionName"), ("AWS/DynamoDB", "TableName")
# The queues that are read, with the condition on which they exist.
_LATE = {"Outbox": "SendsReplies", "Receipts": "OwnSendingService", "Handoff": "HasHandoffQueue"}
# People notice a delay of this length.
LATE_SECONDS = 300
# The operations on tables: each has its own metric of errors.
OPERATIONS = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "TransactWriteItems")
Dimensions = dict[str, Any]


def alarms() -> Resources:
    """Return all alarms, each on the condition of what it watches."""
    made = {}
    for name, condition in _LATE.items():
        queue = VARIABLES["HandoffQueue"].value if name == "Handoff" else attribute(f"{name}Queue", "QueueName")
        words = f"Messages in the queue ({name.lower()}) are handled late"
        made[f"{name}LateAlarm"] = _over(LATE_SECONDS, words, _QUEUE, queue, "ApproximateAgeOfOldestMessage", condition)
    for name, condition in DEAD_LETTERS.items():
        words = f"{name} holds items that could not be handled"
        queue = attribute(name, "QueueName")
        made[f"{name}Alarm"] = _over(0, words, _QUEUE, queue, "ApproximateNumberOfMessagesVisible", condition)
    for each in FUNCTIONS:
        function = ref(f"{each.name}Function")
        made[f"{each.name}Alarm"] = _together(
            f"The Lambda {each.name} failed or was throttled",
            _FUNCTION[0],
            [(metric, {_FUNCTION[1]: function}) for metric in ("Errors", "Throttles")],
            each.condition,
        )
        if each.stream:
            words = f"The Lambda {each.name} lags behind its stream"
            late = LATE_SECONDS * 1_000  # milliseconds, as this metric is
            made[f"{each.name}LateAlarm"] = _over(late, words, _FUNCTION, function, "IteratorAge", each.condition)
    return made | {f"{title_of(key)}TableAlarm": _of_table(key) for key in OWN_TABLES} | _of_web()


def _of_table(key: str) -> dict[str, Any]:
    of_table = {_TABLE[1]: table_name_of(key)}
    throttled = [(metric, of_table) for metric in ("ReadThrottleEvents", "WriteThrottleEvents")]
    failed = [("SystemErrors", of_table | {"Operation": each}) for each in OPERATIONS]
    return _together(f"DynamoDB throttles {TABLES[key].base}, or fails", _TABLE[0], [*throttled, *failed])


def _of_web() -> Resources:
    balancer = {"LoadBalancer": attribute("LoadBalancer", "LoadBalancerFullName")}
    targets = balancer | {"TargetGroup": attribute("Targets", "TargetGroupFullName")}
    namespace = "AWS/ApplicationELB"
    errors = [(metric, balancer) for metric in ("HTTPCode_ELB_5XX_Count", "HTTPCode_Target_5XX_Count")]
    unhealthy = {"Namespace": namespace, "MetricName": "UnHealthyHostCount", "Statistic": "Maximum"}
    return {
        "WebErrorsAlarm": _together("Pages of the console fail", namespace, errors, "RunsWeb", threshold=5),
        "WebUnhealthyAlarm": _alarm(
            "A web server of the console does not answer",
            "RunsWeb",
            unhealthy | {"Dimensions": _dimensions(targets), "Period": 60},
            0,
        ),
    }


def _over(threshold: int, words: str, of: tuple[str, str], name: Any, metric: str, condition: str) -> dict[str, Any]:
    namespace, dimension = of
    watched = {"Namespace": namespace, "MetricName": metric, "Statistic": "Maximum", "Period": 60}
    return _alarm(words, condition, watched | {"Dimensions": _dimensions({dimension: name})}, threshold)


def _together(
    words: str, namespace: str, metrics: Sequence[tuple[str, Dimensions]], condition: str = "", threshold: int = 0
) -> dict[str, Any]:
    """Return an alarm on the sum of several metrics."""
    queries: list[dict[str, Any]] = [
        {
            "Id": f"m{number}",
            "ReturnData": False,
            "MetricStat": {
                "Metric": {"Namespace": namespace, "MetricName": metric, "Dimensions": _dimensions(dimensions)},
                "Period": 60,
                "Stat": "Sum",
            },
        }
        for number, (metric, dimensions) in enumerate(metrics)
    ]
    queries.append({"Id": "all", "ReturnData": True, "Expression": "SUM(FILL(METRICS(), 0))"})
    return _alarm(words, condition, {"Metrics": queries}, threshold)


def _dimensions(named: Dimensions) -> list[dict[str, Any]]:
    return [{"Name": name, "Value": value} for name, value in named.items()]


def _alarm(words: str, condition: str, watched: dict[str, Any], threshold: int) -> dict[str, Any]:
    actions = [when("HasAlarmTopic", ref("AlarmTopicArn"))]
    properties = {
        "AlarmDescription": fn_sub(f"Conversation Console, ${{Environment}}: {words}"),
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": threshold,
        # Tolerate one bad minute in five.
        "EvaluationPeriods": 5,
        "DatapointsToAlarm": 2,
        "TreatMissingData": "notBreaching",
        "AlarmActions": actions,
        "OKActions": actions,
    }
    made: dict[str, Any] = {"Type": "AWS::CloudWatch::Alarm"}
    return made | ({"Condition": condition} if condition else {}) | {"Properties": properties | watched}
