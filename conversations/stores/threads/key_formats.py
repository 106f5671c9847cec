"""Times in sort keys: `PREFIX#{timestamp}#{id}`, and ranges of them in which the order of texts is that of time.

The schema pads timestamps to 19 digits and does not say their unit; other writers leave them unpadded, with decimals,
or write ISO 8601. Each spelling has a format of its own: within one, texts sort as the whole seconds that they name.
"""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from console.store.models import ForeignModel

# The end of all texts that a key may go on with.
END = "\U0010ffff"
# Where each format begins: what begins with no digit, and the paddings of seconds, milliseconds and microseconds (as
# `clock.parse_instant` tells them apart); nanoseconds and unpadded epochs until 2033; years; and all others.
_BOUNDS = ("", "0", "0000000100000000001", "0000100000000000001", "0100000000000000001", "2", "3", END)
_SECONDS, _MILLISECONDS, _MICROSECONDS, _PLAIN, _ISO = 1, 2, 3, 4, 5
FORMATS = range(len(_BOUNDS) - 1)
# Of these only the items themselves may tell the time.
ODD = frozenset({0, 6})
# A time with an offset is written up to so far from where UTC would be.
_OFFSETS = timedelta(hours=14)
_FIRST_OF_TEN_DIGITS = 10**9
# Sorts before all times: of what says nothing of its time.
NEVER = -(10**12)


def bounds(key_format: int) -> tuple[str, str]:
    """The texts between which a format is, the first included."""
    return _BOUNDS[key_format], _BOUNDS[key_format + 1]


def format_of(text: str) -> int:
    """The format of what follows the prefix of a sort key."""
    return min(bisect_right(_BOUNDS, text) - 1, FORMATS[-1])


def text_from(key_format: int, second: int) -> str:
    """A text of the format before which no text of it names that second or a later one."""
    low, _ = bounds(key_format)
    if key_format == _ISO:
        return _iso(second, -_OFFSETS) or low
    return _written(key_format, second) or low


def text_below(key_format: int, second: int) -> str:
    """A text of the format from which on no text of it names a second before that one."""
    _, high = bounds(key_format)
    if key_format == _ISO:
        last_day = _iso(second, _OFFSETS)
        return last_day + END if last_day else high
    # Unpadded epochs of nine digits are before 2001-09-09, and sort among the others.
    return high if key_format == _PLAIN and second < _FIRST_OF_TEN_DIGITS else _written(key_format, second) or high


def _written(key_format: int, second: int) -> str:
    if second < 0 or key_format in ODD:
        return ""
    if key_format == _PLAIN:
        return str(second) if second >= _FIRST_OF_TEN_DIGITS else f"{second * 10**9:019d}"
    return f"{second * {_SECONDS: 1, _MILLISECONDS: 10**3, _MICROSECONDS: 10**6}[key_format]:019d}"


def _iso(second: int, offset: timedelta) -> str:
    try:
        return f"{datetime.fromtimestamp(second, UTC) + offset:%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return ""


def written_in(sort_key: str) -> str:
    """The timestamp in a sort key, as it is written there."""
    pieces = sort_key.split("#", 2)
    return pieces[1] if len(pieces) == 3 else ""


def instant_in(sort_key: str) -> datetime | None:
    """The time that a sort key names."""
    return clock.parse_instant(written_in(sort_key))


def instant_of(item: ForeignModel, sort_key: str) -> datetime | None:
    """When an item is of: by its sort key, which orders it; else by its attributes."""
    instant: Any = instant_in(sort_key)
    for name in ("timestamp", "created_at", "updated_at"):
        instant = instant or clock.parse_instant(item.plain(name))
    return instant if isinstance(instant, datetime) else None


def second_of(at: datetime | None) -> int | None:
    """Its whole second."""
    return None if at is None else int(at.timestamp() // 1)
