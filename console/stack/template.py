"""The complete template, and its text."""

import json
from collections.abc import Iterator
from typing import Any

from console.provisioning.policies import POLICIES
from console.stack.access import ROLES, policies, policy_names, role_name, roles
from console.stack.alarms import alarms
from console.stack.environment import REGION, SETTINGS
from console.stack.functions import functions
from console.stack.intrinsics import attribute, ref
from console.stack.parameters import CONDITIONS, GROUPS, OWN_TABLES, PARAMETERS, RULES, title_of
from console.stack.services import services
from console.stack.storage import queues, secret, table_name_of, tables

WIDTH = 160
# cfn-lint checks to ignore. An empty default means "not used": its resource is absent then, or a rule rejects it. And
# all processes get the same settings, used or not.
_IGNORED_LINT_CHECKS = ["W1028", "W1030", "W1033"]


def stack_template() -> dict[str, Any]:
    """Return the console's CloudFormation template, which is the same in every environment."""
    groups = [{"Label": {"default": label}, "Parameters": list(group)} for label, group in GROUPS.items()]
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Conversation Console: tables, queues, rights, and what runs. Made by manage.py stack.",
        "Metadata": {
            "AWS::CloudFormation::Interface": {"ParameterGroups": groups},
            "cfn-lint": {"config": {"ignore_checks": _IGNORED_LINT_CHECKS}},
        },
        "Parameters": PARAMETERS,
        "Rules": RULES,
        "Conditions": CONDITIONS,
        "Resources": tables() | queues() | secret() | policies() | roles() | functions() | services() | alarms(),
        "Outputs": _outputs(),
    }


def _outputs() -> dict[str, Any]:
    made = {f"{title_of(key)}Table": _output(f"The table {key}", table_name_of(key)) for key in OWN_TABLES}
    made["OutboxQueueUrl"] = _output("OUTBOX_QUEUE_URL", ref("OutboxQueue"))
    for name in ("ServiceQueue", "ReceiptsQueue"):
        made[f"{name}Url"] = _output("For your own sending service", ref(name), "OwnSendingService")
    for process in POLICIES:
        for name in policy_names(process):
            made[f"{name}Arn"] = _output(f"Policy of the process {process}", ref(name))
    for process, condition in ROLES.items():
        made[f"{role_name(process)}Arn"] = _output(
            f"Role of the process {process}", attribute(role_name(process)), condition
        )
    made["LoadBalancerName"] = _output(
        "Address that HostName must point to", attribute("LoadBalancer", "DNSName"), "RunsWeb"
    )
    lines = [{"Fn::Join": ["", [f"{name}=", value]]} for name, value in (SETTINGS | REGION).items()]
    made["Environment"] = _output("Settings for .env, to run commands", {"Fn::Join": ["\n", lines]})
    return made


def _output(description: str, value: Any, condition: str = "") -> dict[str, Any]:
    return {"Description": description, "Value": value} | ({"Condition": condition} if condition else {})


def stack_text() -> str:
    """Return the template as JSON, with every value that fits on one line."""
    return "".join(_lines(stack_template(), "", "")) + "\n"


def _lines(value: Any, indent: str, before: str) -> Iterator[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(indent + before + flat) < WIDTH:
        yield f"{indent}{before}{flat}"
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    entries = (
        [(f"{json.dumps(name)}: ", each) for name, each in value.items()]
        if isinstance(value, dict)
        else [("", each) for each in value]
    )
    yield f"{indent}{before}{opening}\n"
    for number, (name, each) in enumerate(entries):
        yield from _lines(each, f"{indent}  ", name)
        yield ",\n" if number < len(entries) - 1 else "\n"
    yield f"{indent}{closing}"
