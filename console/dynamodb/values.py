"""Plain Python from DynamoDB JSON, for items of unknown shape."""

from decimal import Decimal, InvalidOperation
from typing import Any


def plain(value: dict[str, Any]) -> Any:
    """One attribute value as plain Python: numbers as int where whole, else Decimal; sets as sorted lists.

    Never raises: what cannot be read comes back as its text.
    """
    pair: tuple[str, Any] = next(iter(value.items()), ("NULL", True))
    kind, content = pair
    match kind:
        case "NULL":
            return None
        case "N":
            return _number(content)
        case "L":
            return [plain(each) for each in content]
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "SS" | "BS":
            return sorted(content)
        case "NS":
            return sorted((_number(each) for each in content), key=str)
        case _:
            return content


def plain_item(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A whole item as plain Python."""
    return {name: plain(value) for name, value in item.items()}


def _number(text: str) -> int | Decimal | str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # 1e1000 is a legal way to make int() eat the memory of the machine.
    return int(number) if number == number.to_integral_value() and abs(number.adjusted()) < 40 else number
