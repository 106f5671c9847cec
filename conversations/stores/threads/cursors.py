"""Anchors of messages, and cursors of what is merged: sealed, as sort keys hold what others made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.errors import BadReference
from console.refs import seal, seal_cursor, unseal, unseal_cursor
from conversations.stores.threads.key_ranges import KeyRange
from conversations.stores.threads.keys import MESSAGES

_ANCHOR = "message of threads"


def anchor_of(sort_key: str) -> str:
    """The anchor of a message: its sort key, sealed."""
    return seal(_ANCHOR, sort_key)


def sort_key_of(anchor: str) -> str:
    """The sort key in an anchor; "" for what is none."""
    try:
        (sort_key,) = unseal(_ANCHOR, anchor, 1)
    except BadReference:
        return ""
    return sort_key if sort_key.startswith(MESSAGES) else ""


@dataclass(frozen=True, slots=True)
class ThreadPosition:
    """Where a window is: below the `strands`, or (`second`) from a second upwards. `lanes` are all that there are."""

    ranges: tuple[KeyRange, ...] = ()
    formats: tuple[KeyRange, ...] = ()
    second: int | None = None

    @classmethod
    def sealed_in(cls, cursor: str, *binding: str) -> ThreadPosition | None:
        """The position in a cursor; None for a foreign or stale one, and for none."""
        match unseal_cursor(cursor, *binding) if cursor else None:
            case [list() as ranges, list() as formats, int() | None as second]:
                return cls(unpacked(ranges), unpacked(formats), second)
        return None

    def sealed(self, *binding: str) -> str:
        """As a cursor, bound to the list or record and the person."""
        return seal_cursor([packed(self.ranges), packed(self.formats), self.second], *binding)


def packed(ranges: Sequence[KeyRange]) -> list[Any]:
    """Strands as JSON."""
    return [[each.prefix, each.key_format, each.below, each.before] for each in ranges]


def unpacked(ranges: list[Any]) -> tuple[KeyRange, ...]:
    """As `packed` gave them: only what the console sealed itself comes here."""
    return tuple(
        KeyRange(prefix, key_format, below, None if before is None else (before[0], before[1]))
        for prefix, key_format, below, before in ranges
    )
