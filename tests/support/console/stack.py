"""A CloudFormation template as it would be with given parameters: as much of its language as the console's has."""

import re
from typing import Any

ACCOUNT, REGION = "123456789012", "eu-west-2"
_NOTHING = object()


class ResolvedStack:
    """`resources` are those whose condition holds, with every function of their properties worked out."""

    def __init__(self, template: dict[str, Any], **given: str) -> None:
        """Parameters that are not given have their defaults."""
        self._template = template
        self._values: dict[str, Any] = {
            **{name: str(each.get("Default", "")) for name, each in template["Parameters"].items()},
            **given,
            **{"AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::NoValue": _NOTHING},
        }
        self.resources: dict[str, dict[str, Any]] = {
            name: {**each, "Properties": self.resolved(each["Properties"])}
            for name, each in template["Resources"].items()
            if self._is_there(each)
        }

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of the resources of a type, by their logical names."""
        return {name: each["Properties"] for name, each in self.resources.items() if each["Type"] == kind}

    def outputs(self) -> dict[str, Any]:
        """The outputs' values."""
        found = {name: each for name, each in self._template["Outputs"].items() if self._is_there(each)}
        return {name: self.resolved(each["Value"]) for name, each in found.items()}

    def broken_rules(self) -> list[str]:
        """What CloudFormation would say of these parameters."""
        return [
            each["AssertDescription"]
            for rule in self._template["Rules"].values()
            if self.resolved(rule["RuleCondition"])
            for each in rule["Assertions"]
            if not self.resolved(each["Assert"])
        ]

    def resolved(self, value: Any) -> Any:
        """A value with all functions worked out; `_NOTHING` is left out of maps and lists."""
        if isinstance(value, list):
            return [each for each in map(self.resolved, value) if each is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(function, argument)] = value.items()
            if function in ("Ref", "Condition") or function.startswith("Fn::"):
                return self._call(function.removeprefix("Fn::"), argument)
        pairs = ((name, self.resolved(each)) for name, each in value.items())
        return {name: each for name, each in pairs if each is not _NOTHING}

    def _is_there(self, each: dict[str, Any]) -> bool:
        return "Condition" not in each or self._call("Condition", each["Condition"])

    def _call(self, function: str, argument: Any) -> Any:
        match function:
            case "Ref":
                return self._values[argument] if argument in self._values else self._named(argument)
            case "Condition":
                return self.resolved(self._template["Conditions"][argument])
            case "GetAtt":
                return self._attribute(*argument)
            case "Sub":
                text, own = argument if isinstance(argument, list) else (argument, {})
                return re.sub(r"\$\{([^}]+)\}", lambda found: self._filled(found[1], own), text)
            case "If":
                return self.resolved(argument[1] if self._call("Condition", argument[0]) else argument[2])
        values = self.resolved(argument)
        match function:
            case "Equals":
                return values[0] == values[1]
            case "Not":
                return not values[0]
            case "And":
                return all(values)
            case "Or":
                return any(values)
            case "Select":
                return values[1][int(values[0])]
            case "Split":
                return values[1].split(values[0])
            case "Join":
                return values[0].join(values[1])
        raise ValueError(f"Unknown function {function}")

    def _filled(self, name: str, own: dict[str, Any]) -> str:
        if name in own:
            return str(self.resolved(own[name]))
        resource, _, attribute = name.partition(".")
        return self._attribute(resource, attribute) if attribute else str(self._call("Ref", name))

    def _properties(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._template["Resources"][name]["Properties"]
        return found

    def _named(self, name: str) -> str:
        """What `Ref` gives of a resource: the address of a queue, the name of a table, else its logical name."""
        properties = self._properties(name)
        if "QueueName" in properties:
            return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{self.resolved(properties['QueueName'])}"
        return str(self.resolved(properties.get("TableName", name)))

    def _attribute(self, name: str, attribute: str) -> str:
        properties = self._properties(name)
        if "QueueName" not in properties:
            return f"{name}.{attribute}"
        queue = str(self.resolved(properties["QueueName"]))
        return queue if attribute == "QueueName" else f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"
