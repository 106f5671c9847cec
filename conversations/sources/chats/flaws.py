"""What of an item is not as its schema says, in words."""

from typing import Any

from console import clock
from console.dynamodb.models import ForeignModel
from console.redaction import redact
from console.trees import Node, clean, tree_of, well_formed
from conversations.credentials import mask_credentials
from conversations.facts import protected

_TIMES = ("TimestampCreated", "TimestampFinished", "SessionTTL")
MOST_NAMES = 20


def flaws_of(item: ForeignModel) -> tuple[str, ...]:
    """Wrong types, NULLs, missing attributes and times that are none. Unknown attributes are shown, not flagged."""
    found = dict(item.drift)
    for attribute in item.get_attributes().values():
        name = attribute.attr_name
        if name not in item.raw and not attribute.null:
            found[name] = "missing"
        elif item.raw.get(name) == {"S": ""}:
            found[name] = "empty text"
        elif name in _TIMES and item.plain(name) is not None and clock.parse_instant(item.plain(name)) is None:
            found[name] = "no time that can be read"
    return tuple(f"{name}: {what}" for name, what in sorted(found.items()))


def unknown_names(item: ForeignModel) -> tuple[str, ...]:
    """One line that names the attributes that no schema knows; none where there are none."""
    unknown = sorted(item.unknown())
    names = ", ".join(redact(clean(name))[:60] for name in unknown[:MOST_NAMES])
    return (f"unknown attributes: {names}",) if unknown else ()


def unknown_tree(item: ForeignModel) -> Node | None:
    """The attributes that no schema knows, redacted whoever looks."""
    unknown = item.unknown()
    return tree_of(protected(unknown)) if unknown else None


def without_credentials(value: Any) -> Any:
    """Any plain value as it may be shown to who sees everything."""
    return mask_credentials(well_formed(value))
