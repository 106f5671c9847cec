"""Template filters for times, in the person's zone, with the exact UTC on hover."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console import clock
from console.permissions import Staff

register = template.Library()


def zone_of(staff: Staff | None) -> ZoneInfo:
    """Return the person's zone; UTC until they choose one."""
    try:
        return ZoneInfo(staff.time_zone if staff and isinstance(staff, Staff) else "UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


def _time(moment: datetime, text: str, *, relative: bool = False) -> SafeString:
    iso = clock.to_iso(moment, "seconds")
    exact = f"{iso[:10]} {iso[11:19]} UTC"
    if relative:
        return format_html('<time datetime="{}" title="{}" data-relative>{}</time>', iso, exact, text)
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, exact, text)


@register.filter
def moment(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show date and time: `19 Nov 2026, 16:02`."""
    return "unknown" if value is None else _time(value, dated(value, staff))


def dated(value: datetime, staff: Staff | None) -> str:
    """Format like `moment`, as plain text."""
    local = value.astimezone(zone_of(staff))
    return f"{local.day} {local:%b %Y, %H:%M}"


@register.filter
def brief(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show a short date and time: `16:02` today, `19 Nov, 16:02` this year."""
    return _brief(value, staff, "%H:%M")


@register.filter
def to_the_second(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show like `brief`, with seconds, where the order within a minute matters."""
    return _brief(value, staff, "%H:%M:%S")


def _brief(value: datetime | None, staff: Staff | None, clock_time: str) -> SafeString | str:
    if value is None:
        return "unknown"
    zone = zone_of(staff)
    local, today = value.astimezone(zone), clock.now().astimezone(zone)
    if local.date() == today.date():
        return _time(value, f"{local:{clock_time}}")
    year = f" {local.year}" if local.year != today.year else ""
    return _time(value, f"{local.day} {local:%b}{year}, {local:{clock_time}}")


@register.filter(name="clock")
def clock_time(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show the time of day: `16:02`."""
    return "" if value is None else _time(value, f"{value.astimezone(zone_of(staff)):%H:%M}")


@register.filter
def day(value: datetime | None, staff: Staff | None = None) -> str:
    """Show a day: `Today`, or `Thursday 19 November` with the year if it is not this one."""
    if value is None:
        return ""
    local = value.astimezone(zone_of(staff))
    today = clock.now().astimezone(zone_of(staff))
    if local.date() == today.date():
        return "Today"
    year = f" {local.year}" if local.year != today.year else ""
    return f"{local:%A} {local.day} {local:%B}{year}"


@register.filter
def ago(value: datetime | None) -> SafeString | str:
    """Show the time since: `12 min`, kept fresh by the browser."""
    return "unknown" if value is None else _time(value, clock.format_span(clock.now() - value), relative=True)


@register.filter
def until(value: datetime | None) -> SafeString | str:
    """Show the time until: `26 days`."""
    return "unknown" if value is None else _time(value, clock.format_span(value - clock.now()))


@register.filter
def span(value: timedelta | None) -> str:
    """Show a length of time: `3 h 12 min`; a dash for none."""
    return "–" if value is None else clock.format_span(value)
