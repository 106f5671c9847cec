"""The size of an item by DynamoDB's rules."""

from decimal import Context, Decimal
from typing import Any

MAX_ITEM_BYTES = 400 * 1024
# DynamoDB has 38 digits of precision; the default context would round to 28.
_EXACT = Context(prec=60)


def size_of(item: dict[str, dict[str, Any]]) -> int:
    """Return an item's bytes as DynamoDB counts them: names and values, numbers by digits, 3 and 1 for containers."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: dict[str, Any]) -> int:
    kind, content = next(iter(value.items()))
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_size(Decimal(content))
        case "B":
            return len(content)
        case "SS" | "NS" | "BS":
            return 3 + sum(1 + _value_size({kind[0]: each}) for each in content)
        case "L":
            return 3 + sum(1 + _value_size(each) for each in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_size(each) for name, each in content.items())
        case _:
            return 1


def _number_size(number: Decimal) -> int:
    """Return the bytes of a number: one per two significant digits before and after the point, one more, and a sign."""
    _, digits, exponent = number.normalize(_EXACT).as_tuple()
    significant = len(digits) if number else 0
    whole = min(max(significant + int(exponent), 0), significant)
    return (whole + 1) // 2 + (significant - whole + 1) // 2 + 1 + (number < 0)
