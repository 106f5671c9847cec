"""CloudFormation's intrinsic functions as Python functions."""

from typing import Any

from console.stack.parameters import VARIABLES

NOTHING = {"Ref": "AWS::NoValue"}


def ref(name: str) -> dict[str, str]:
    """Return a reference to a parameter's value or a resource's name."""
    return {"Ref": name}


def attribute(resource: str, name: str = "Arn") -> dict[str, list[str]]:
    """Return a reference to a resource's attribute."""
    return {"Fn::GetAtt": [resource, name]}


def when(condition: str, value: Any, otherwise: Any = NOTHING) -> dict[str, list[Any]]:
    """Return a value on a condition; by default it is otherwise omitted."""
    return {"Fn::If": [condition, value, otherwise]}


def fn_sub(text: str) -> Any:
    """Substitute `${…}` in a text: parameters, resources and `VARIABLES`; return it unchanged if it has none.

    If a variable has a condition, the text is omitted unless that is true.
    """
    if "${" not in text:
        return text
    used = {name: variable for name, variable in VARIABLES.items() if f"${{{name}}}" in text}
    values = {name: variable.value for name, variable in used.items()}
    made: dict[str, Any] = {"Fn::Sub": [text, values] if values else text}
    for condition in {variable.condition for variable in used.values() if variable.condition}:
        made = when(condition, made)
    return made


def fn_sub_all(value: Any) -> Any:
    """Apply `fn_sub` to every text in lists and maps."""
    if isinstance(value, dict):
        return {name: fn_sub_all(each) for name, each in value.items()}
    if isinstance(value, list):
        return [fn_sub_all(each) for each in value]
    return fn_sub(value) if isinstance(value, str) else value
