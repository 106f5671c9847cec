"""The stack's parameters, and the conditions that follow from them."""

from dataclasses import dataclass
from typing import Any

from console.schema.environments import DEVELOPMENT
from console.schema.secret_names import COMPANY, PATTERN
from console.schema.tables import TABLES

Parameters = dict[str, dict[str, Any]]
OWN_TABLES = tuple(key for key, spec in TABLES.items() if spec.ours)
OTHER_TABLES = tuple(key for key, spec in TABLES.items() if not spec.ours)
CHANNELS = {"Whatsapp": "WhatsApp", "Sms": "SMS", "Email": "email"}


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """The value of a `${name}` that is neither a parameter nor a resource; with `condition`, only if that is true."""

    value: Any
    condition: str = ""


def title_of(key: str) -> str:
    """Convert `CONVERSATIONS_STAGE` to `ConversationsStage`."""
    return key.title().replace("_", "")


def queue_arn(queue: str) -> str:
    """Return the ARN of one of the platform's queues, as a text with `VARIABLES`."""
    return f"arn:${{AWS::Partition}}:sqs:${{AWS::Region}}:${{{queue}Account}}:${{{queue}Queue}}"


def _text(default: str | None, description: str, **more: Any) -> dict[str, Any]:
    return {"Type": "String"} | ({} if default is None else {"Default": default}) | {"Description": description} | more


def _choice(description: str, *values: str) -> dict[str, Any]:
    """Return a parameter with these allowed values; the first is the default."""
    return _text(values[0], description, AllowedValues=list(values))


def _number(default: int, description: str) -> dict[str, Any]:
    return {"Type": "Number", "Default": default, "Description": description}


def _queue(whose: str) -> dict[str, Any]:
    pattern = r"^(https://[^/]+/\d{12}/[A-Za-z0-9_.-]+)?$"
    return _text("", f"Address of the platform's {whose}; empty if there is none", AllowedPattern=pattern)


def _image(words: str) -> dict[str, Any]:
    return _text("", words, AllowedPattern=r"^([^@ ]+@sha256:[0-9a-f]{64})?$")


def _secret_names(channel: str, label: str) -> dict[str, Any]:
    example = f"{channel.lower()}/{{company}}/*"
    words = f"Pattern of the companies' secrets for {label}, such as {example}; empty: there are none"
    return _text("", words, AllowedPattern=f"^({PATTERN})?$")


def _stream(of: str) -> dict[str, Any]:
    pattern = r"^(arn:[^:]+:dynamodb:[^:]+:\d{12}:table/[^/]+/stream/.+)?$"
    return _text("", f"ARN of the stream of the table {of}, for Lambdas", AllowedPattern=pattern)


GROUPS: dict[str, Parameters] = {
    "The console": {
        "Environment": _text(
            "prod",
            "CONSOLE_ENV: names of tables end with it",
            AllowedPattern="^[a-z0-9][a-z0-9_-]{0,30}$",
        ),
        "HostName": _text("", "Where people open the console, such as console.example.com"),
        "TablesAndSecret": _choice(
            "existing, if `manage.py tables create` or an earlier stack has already created them",
            *("create", "existing"),
        ),
        "RunWorkAs": _choice("How the work beside the web servers runs", "Process", "Lambdas"),
        "LogRetentionDays": _number(30, "How many days log lines are kept"),
        "AlarmTopicArn": _text("", "SNS topic that alarms notify; empty: they are only shown in CloudWatch"),
    },
    "Containers: web servers, and the work as a process": {
        "Image": _image("The console's image, by digest; empty: nothing runs in containers"),
        "ProxyImage": _image("nginx, in front of each web server, by digest"),
        "Architecture": _choice("Processor architecture of the image and of the Lambdas' code", "x86_64", "arm64"),
        "CertificateArn": _text("", "Certificate of HostName in ACM; empty: no web servers here"),
        "HostedZoneId": _text(
            "", "Route 53 zone that gets HostName; empty: you point HostName to the load balancer yourself"
        ),
        "VpcId": _text("", "The network"),
        "LoadBalancerSubnets": _text("", "Two or more public subnets, comma separated"),
        "TaskSubnets": _text("", "Subnets of the containers, with a way to the internet, comma separated"),
        "AssignPublicIp": _choice("ENABLED where TaskSubnets are public, without NAT", "DISABLED", "ENABLED"),
        "AllowedCidr": _text(
            None, "Who may reach the load balancer: your offices' or VPN's addresses, such as 198.51.100.0/24"
        ),
        "AllowedEgressCidr": _text(
            "", "Network that containers reach on every port, such as a collector's; empty: they reach port 443 alone"
        ),
        "WebTasks": _number(2, "Web servers"),
        "WorkTasks": _number(2, "Processes for the work: one does it, the other stands by"),
        "TaskCpu": _text("512", "CPU units of each container task; 1,024 are a vCPU"),
        "TaskMemory": _text("1024", "MiB of each container task"),
    },
    "Lambdas": {
        "CodeBucket": _text("", "S3 bucket of the code"),
        "CodeKey": _text("", "Key of the code's zip file; a new one for each version"),
        "ConversationsStreamArn": _stream("CONVERSATIONS"),
        "ConversationsStageStreamArn": _stream("CONVERSATIONS_STAGE"),
    },
    "Customers' messages and replies": {
        "HandOffRouting": _choice("HAND_OFF_ROUTING", "off", "held", "waiting"),
        "HandoffQueueUrl": _queue("queue of messages for people"),
        **{f"{channel}QueueUrl": _queue(f"{label} queue") for channel, label in CHANNELS.items()},
        "Replies": _choice("Whether people answer from the console", "on", "off"),
        "ReplyProviders": _text("whatsapp:twilio,sms:twilio,email:sendgrid", "REPLY_PROVIDERS"),
        "SendingService": _choice("own: queues for your own sending service (outbox-only)", "none", "own"),
        **{f"{channel}SecretNames": _secret_names(channel, label) for channel, label in CHANNELS.items()},
        "NotificationsFromEmail": _text("", "NOTIFICATIONS_FROM_EMAIL, verified in SES; empty: no emails"),
        "NotificationsTopicPrefix": _text("console-", "NOTIFICATIONS_TOPIC_PREFIX"),
    },
    "Tables of other services": {
        f"{title_of(key)}Table": _text("", f"Name of {key}; empty: {TABLES[key].base}-<Environment>")
        if key not in ("CONVERSATIONS_STAGE", "CONVERSATIONS_TRIGGER_LOCK")
        else _text("", f"Name of {key}; empty: it is not used")
        for key in OTHER_TABLES
    },
}
PARAMETERS: Parameters = {name: each for group in GROUPS.values() for name, each in group.items()}


def is_(name: str, value: str) -> dict[str, Any]:
    """Return the condition that a parameter has that value."""
    return {"Fn::Equals": [{"Ref": name}, value]}


def given(name: str) -> dict[str, Any]:
    """Return the condition that a parameter is not empty."""
    return {"Fn::Not": [is_(name, "")]}


def _both(one: Any, other: Any) -> dict[str, Any]:
    return {"Fn::And": [one, other]}


def _condition(name: str) -> dict[str, str]:
    return {"Condition": name}


def _any(*names: str) -> dict[str, Any]:
    return {"Fn::Or": [_condition(each) for each in names]}


CONDITIONS: dict[str, Any] = {
    "Protects": {"Fn::Not": [{"Fn::Or": [is_("Environment", each) for each in DEVELOPMENT]}]},
    "MakesTables": is_("TablesAndSecret", "create"),
    "RunsWeb": _both(given("Image"), given("CertificateArn")),
    "RunsWork": _both(given("Image"), is_("RunWorkAs", "Process")),
    "UsesContainers": _any("RunsWeb", "RunsWork"),
    "NamesHost": _both(_condition("RunsWeb"), given("HostedZoneId")),
    "UsesLambdas": is_("RunWorkAs", "Lambdas"),
    "OnArm": is_("Architecture", "arm64"),
    "HasEgressCidr": given("AllowedEgressCidr"),
    "HasAlarmTopic": given("AlarmTopicArn"),
    "HasHost": given("HostName"),
    "HasHandoffQueue": given("HandoffQueueUrl"),
    "HasStage": given("ConversationsStageTable"),
    "HasChannels": _any(*(f"Has{channel}Queue" for channel in CHANNELS)),
    "SendsReplies": is_("Replies", "on"),
    "OwnSendingService": _both(is_("SendingService", "own"), _condition("SendsReplies")),
    "SendsEmails": given("NotificationsFromEmail"),
    "ReceivesQueueByLambda": _both(_condition("UsesLambdas"), _condition("HasHandoffQueue")),
    "ReceivesStageByLambda": _both(_condition("UsesLambdas"), _condition("HasStage")),
    "ReceivesByLambda": _any("ReceivesQueueByLambda", "ReceivesStageByLambda"),
    "SendsByLambda": _both(_condition("UsesLambdas"), _condition("SendsReplies")),
    "HasSecrets": {"Fn::Or": [given(f"{channel}SecretNames") for channel in CHANNELS]},
    "ReadsSecrets": _both(_condition("SendsReplies"), _condition("HasSecrets")),
    **{f"Has{channel}Secrets": given(f"{channel}SecretNames") for channel in CHANNELS},
    **{f"Has{channel}Queue": given(f"{channel}QueueUrl") for channel in CHANNELS},
    **{f"Names{title_of(key)}": given(f"{title_of(key)}Table") for key in OTHER_TABLES},
}


def _rule(condition: dict[str, Any], *assertions: tuple[dict[str, Any], str]) -> dict[str, Any]:
    return {
        "RuleCondition": condition,
        "Assertions": [{"Assert": each, "AssertDescription": words} for each, words in assertions],
    }


RULES = {
    "LambdasHaveCodeAndStream": _rule(
        is_("RunWorkAs", "Lambdas"),
        (given("CodeBucket"), "Lambdas need CodeBucket."),
        (given("CodeKey"), "Lambdas need CodeKey."),
        (given("ConversationsStreamArn"), "The indexer as a Lambda needs ConversationsStreamArn."),
    ),
    "StageLambdaHasStream": _rule(
        _both(is_("RunWorkAs", "Lambdas"), given("ConversationsStageTable")),
        (given("ConversationsStageStreamArn"), "As a Lambda, its receiver needs ConversationsStageStreamArn."),
    ),
    "ContainersHaveNetwork": _rule(
        given("Image"),
        (given("VpcId"), "Containers need VpcId."),
        (given("TaskSubnets"), "Containers need TaskSubnets."),
    ),
    "WebHasHost": _rule(
        _both(given("Image"), given("CertificateArn")),
        (given("HostName"), "Web servers need HostName, as in the certificate."),
        (given("LoadBalancerSubnets"), "Web servers need LoadBalancerSubnets."),
        (given("ProxyImage"), "Web servers need ProxyImage."),
    ),
    "RepliesHaveSecrets": _rule(
        _both(is_("Replies", "on"), is_("SendingService", "none")),
        (
            {"Fn::Or": [given(f"{channel}SecretNames") for channel in CHANNELS]},
            "Replies need WhatsappSecretNames, SmsSecretNames or EmailSecretNames. Without replies, set Replies=off.",
        ),
    ),
    "RoutingHasSource": _rule(
        {"Fn::Not": [is_("HandOffRouting", "off")]},
        (
            {"Fn::Or": [given("HandoffQueueUrl"), given("ConversationsStageTable")]},
            "HandOffRouting needs HandoffQueueUrl or ConversationsStageTable: nobody would read the messages.",
        ),
    ),
}


def _part_of_url(parameter: str, position: int) -> dict[str, Any]:
    """Return part of a queue's URL (`https://sqs.eu-west-2.amazonaws.com/123456789012/handoff`): 3 account, 4 name."""
    return {"Fn::Select": [position, {"Fn::Split": ["/", {"Ref": parameter}]}]}


VARIABLES = {
    title_of(key): TemplateVariable(
        {
            "Fn::If": [
                f"Names{title_of(key)}",
                {"Ref": f"{title_of(key)}Table"},
                {"Fn::Sub": f"{TABLES[key].base}-${{Environment}}"},
            ]
        }
    )
    for key in OTHER_TABLES
}
for _name in ("Handoff", *CHANNELS):
    _condition_name = "" if _name == "Handoff" else f"Has{_name}Queue"
    VARIABLES |= {
        f"{_name}Account": TemplateVariable(_part_of_url(f"{_name}QueueUrl", 3), _condition_name),
        f"{_name}Queue": TemplateVariable(_part_of_url(f"{_name}QueueUrl", 4), _condition_name),
    }
for _name in CHANNELS:
    # As `iam_pattern` makes of it.
    _parts = {"Fn::Split": [COMPANY, {"Ref": f"{_name}SecretNames"}]}
    VARIABLES[f"{_name}Secrets"] = TemplateVariable({"Fn::Join": ["*", _parts]}, f"Has{_name}Secrets")
