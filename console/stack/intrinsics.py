"""CloudFormation's functions as Python."""

from typing import Any

from console.stack.parameters import VARIABLES

NOTHING = {"Ref": "AWS::NoValue"}


def ref(name: str) -> dict[str, str]:
    """A parameter's value, or what names a resource."""
    return {"Ref": name}


def attribute(resource: str, name: str = "Arn") -> dict[str, list[str]]:
    """An attribute of a resource."""
    return {"Fn::GetAtt": [resource, name]}


def when(condition: str, value: Any, otherwise: Any = NOTHING) -> dict[str, list[Any]]:
    """A value under a condition; otherwise nothing, as if it were not written."""
    return {"Fn::If": [condition, value, otherwise]}


def filled(text: str) -> Any:
    """A text with its `${…}` filled in: parameters, resources and `VARIABLES`; as it is where it has none.

    Where a variable may be empty, the text is there only if it is not.
    """
    if "${" not in text:
        return text
    used = {name: variable for name, variable in VARIABLES.items() if f"${{{name}}}" in text}
    values = {name: variable.value for name, variable in used.items()}
    made: dict[str, Any] = {"Fn::Sub": [text, values] if values else text}
    for condition in {variable.condition for variable in used.values() if variable.condition}:
        made = when(condition, made)
    return made


def filled_all(value: Any) -> Any:
    """`filled` for every text in lists and maps."""
    if isinstance(value, dict):
        return {name: filled_all(each) for name, each in value.items()}
    if isinstance(value, list):
        return [filled_all(each) for each in value]
    return filled(value) if isinstance(value, str) else value
