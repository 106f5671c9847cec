"""Tables that a call found absent, remembered for a minute: what pages say without asking DynamoDB again."""

import time

from console.dynamodb.registry import table_name

REMEMBER_SECONDS = 60.0
_absent: dict[str, float] = {}


def note_absent(name: str) -> None:
    """A call addressed this table alone, and DynamoDB said that it is not there."""
    _absent[name] = time.monotonic()


def known_absent(table_key: str) -> bool:
    """Whether a call found the table absent within the last minute. Never reads; False may only mean "not tried"."""
    noted = _absent.get(table_name(table_key))
    return noted is not None and time.monotonic() - noted < REMEMBER_SECONDS


def forget() -> None:
    """Between tests, and after tables were created."""
    _absent.clear()
