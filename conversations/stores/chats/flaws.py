"""What of an item is not as its schema says, in words."""

from typing import Any

from console import clock
from console.redaction.credentials import mask_credentials
from console.store.models import ForeignModel
from console.trees import well_formed

_TIMES = ("TimestampCreated", "TimestampFinished", "SessionTTL")


def flaws_of(item: ForeignModel) -> tuple[str, ...]:
    """Wrong types, NULLs, missing attributes and times that are none. Unknown attributes are shown, not flagged.

    What may be absent may be empty too: the bot writes `ImageId: ""` with every text.
    """
    found = dict(item.drift)
    for attribute in item.get_attributes().values():
        name = attribute.attr_name
        if name not in item.raw and not attribute.null:
            found[name] = "missing"
        elif item.raw.get(name) == {"S": ""} and not attribute.null:
            found[name] = "empty text"
        elif name in _TIMES and item.plain(name) is not None and clock.parse_instant(item.plain(name)) is None:
            found[name] = "no time that can be read"
    return tuple(f"{name}: {what}" for name, what in sorted(found.items()))


def without_credentials(value: Any) -> Any:
    """Any plain value as it may be shown to who sees everything."""
    return mask_credentials(well_formed(value))
