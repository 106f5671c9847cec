"""The current time, and parsing and formatting of timestamps.

The time is the machine's, unless that differs from DynamoDB's by more than ten seconds: then it is DynamoDB's, so that
leases, timers and targets mean the same on every machine.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any
from zoneinfo import ZoneInfo

# A machine may differ from DynamoDB's time by so much; and an answer whose date counts comes within so long.
TOLERATED, ANSWERED_SOON = timedelta(seconds=10), timedelta(seconds=2)


@dataclass(slots=True)
class _Machine:
    """How far this machine's clock is ahead of DynamoDB's, as last measured, and how much of that `now` takes off."""

    ahead: timedelta = timedelta()
    taken_off: timedelta = timedelta()


_machine = _Machine()


def now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return machine_now() - _machine.taken_off


def machine_now() -> datetime:
    """Return the time of this machine's own clock."""
    return datetime.now(UTC)


def machine_ahead() -> timedelta:
    """Return how far this machine's clock is ahead of DynamoDB's, by the last answer with a date."""
    return _machine.ahead


def compare(date: Any, sent_at: datetime) -> None:
    """Compare this machine's clock with the `Date` of an answer of DynamoDB, in whole seconds, if it has one.

    `sent_at`: when the request was sent, by this clock; an answer that took long is of no use.
    """
    here = machine_now()
    if not date or not timedelta() <= here - sent_at < ANSWERED_SOON:
        return
    with suppress(ValueError, TypeError):
        _machine.ahead = here - parsedate_to_datetime(date) - timedelta(seconds=0.5)
    # Only a change that matters moves the time: it does not jump with each answer.
    if abs(_machine.ahead - _machine.taken_off) > TOLERATED:
        _machine.taken_off = _machine.ahead if abs(_machine.ahead) > TOLERATED else timedelta()


def to_iso(moment: datetime, timespec: str = "milliseconds") -> str:
    """Format an instant as the platform writes it: `2026-01-31T12:00:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def to_epoch(moment: datetime) -> int:
    """Return an instant in whole epoch seconds, the unit of TTL attributes."""
    return int(moment.timestamp())


def floored(moment: datetime, period: timedelta) -> datetime:
    """Return the start of the period that contains an instant; periods are aligned to the epoch, in UTC."""
    return moment.replace(microsecond=0) - timedelta(seconds=to_epoch(moment) % period.total_seconds())


_ISO = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?\s*(Z|[+-]\d\d:?\d\d)?Z?\s*",
    re.ASCII | re.IGNORECASE,
)


def parse_instant(value: Any) -> datetime | None:
    """Parse a timestamp in any of the formats in use; return None for anything else.

    Accepts ISO 8601 with `Z`, an offset, both (`+00:00Z`) or neither (taken as UTC), and epoch seconds, milliseconds,
    microseconds or nanoseconds as a number, decimal or text.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        return _from_epoch(value)
    if not isinstance(value, str) or len(value) > 64:
        return None
    if re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", value, re.ASCII):
        return _from_epoch(float(value))
    if not (match := _ISO.fullmatch(value)):
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            min(int(second or 0), 59),
            int(((fraction or "0") + "000000")[:6]),
            tzinfo=UTC,
        )
        if zone and zone.upper() != "Z":
            sign = -1 if zone[0] == "-" else 1
            moment -= sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    except (ValueError, OverflowError):
        return None
    # Writers use the ends of the calendar for "never", where a time zone conversion would overflow.
    return moment if 1 < moment.year < 9999 else None


def _from_epoch(value: float | Decimal) -> datetime | None:
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    while seconds > 1e11:  # milliseconds and finer; seconds reach this in the year 5138
        seconds /= 1000
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by name; UTC for an unknown name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return when a day begins in a time zone, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def is_expired(ttl: Any, at: datetime) -> bool:
    """Return whether an item's TTL attribute (epoch seconds, as a number or as text) is in the past.

    DynamoDB takes days to remove expired items; every page treats them as gone.
    """
    seconds = _epoch_of(ttl)
    return seconds is not None and seconds <= at.timestamp()


def expiry_of(ttl: Any) -> datetime | None:
    """Return when an item's TTL attribute (see `is_expired`) expires; None if it is not a valid time."""
    seconds = _epoch_of(ttl)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _epoch_of(ttl: Any) -> float | None:
    if isinstance(ttl, str):
        try:
            ttl = float(ttl)
        except ValueError:
            return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float | Decimal):
        return None
    seconds = float(ttl)
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def format_span(span: timedelta) -> str:
    """Format a length of time as people say it: `less than a minute`, `12 min`, `3 h 12 min`, `1 d 10 h`, `12 days`.

    console.js updates these texts in an open page, in the same words.
    """
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return "less than a minute"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86_400:
        hours, minutes = seconds // 3600, seconds % 3600 // 60
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = seconds // 86_400, seconds % 86_400 // 3600
    if days >= 7:
        return f"{days} days"
    return f"{days} d {hours} h" if hours else f"{days} d"


def format_seconds(span: timedelta) -> str:
    """Format a length of time: `2.1 s` or `45 s` below a minute, then as `format_span` does."""
    seconds = max(0.0, span.total_seconds())
    if seconds < 10:
        return f"{min(seconds, 9.9):.1f} s"
    return f"{int(seconds)} s" if seconds < 60 else format_span(span)
