"""The forms for people's own account."""

from collections.abc import Iterable
from datetime import datetime
from functools import cache, lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django import forms
from django.conf import settings

from console import clock
from console.errors import Invalid
from console.staff import passwords
from console.staff.forms import password_field

# Regions of places; all other names are aliases of the same zones (US/Eastern, EST, Etc/GMT+5).
REGIONS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
OTHER = "Other names"


class CurrentPasswordForm(forms.Form):
    """The current password, for changes to how a person signs in."""

    current_password = password_field("Your password", "current-password", "Enter your password.")


class PasswordForm(forms.Form):
    """The current password, and the new one twice."""

    current_password = password_field("Current password", "current-password", "Enter your current password.")
    new_password = password_field(
        "New password",
        "new-password",
        "Enter a new password.",
        f"At least {settings.PASSWORD_MIN_LENGTH} characters, unlike your username or name, and hard to guess. A few "
        "unrelated words work well.",
    )
    repeated = password_field("New password again", "new-password", "Enter the new password again.")

    def __init__(self, *args: Any, username: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.username = username

    def clean_new_password(self) -> str:
        """Check the rules, before anything is read."""
        password = str(self.cleaned_data["new_password"])
        try:
            passwords.check_rules(password, self.username)
        except Invalid as error:
            raise forms.ValidationError(str(error)) from error
        return password

    def clean(self) -> dict[str, Any]:
        """Check that both new passwords are equal."""
        data = self.cleaned_data
        if "new_password" in data and "repeated" in data and data["new_password"] != data["repeated"]:
            self.add_error("repeated", "The new passwords do not match. Enter it again.")
        return data


class SecondFactorForm(forms.Form):
    """The app's first code for the new key, and the password."""

    code = forms.CharField(
        label="Code from the app",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}),
        error_messages={"required": "Enter the code from the app."},
    )
    current_password = password_field("Your password", "current-password", "Enter your password.")
    pending = forms.CharField(required=False, max_length=2_000, widget=forms.HiddenInput)


class TimeZoneForm(forms.Form):
    """All zones, by region and place, with their current offset from UTC."""

    time_zone = forms.ChoiceField(
        label="Zone",
        widget=forms.Select,
        error_messages={"required": "Choose a time zone.", "invalid_choice": "Choose one of the listed time zones."},
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["time_zone"].choices = zone_choices(clock.now(), str(self.initial.get("time_zone") or ""))  # type: ignore[attr-defined]


@cache
def _zones() -> dict[str, ZoneInfo]:
    """Return every zone that this machine knows, by name. Cached, as it reads all their files."""
    found = {}
    for name in {"UTC", *available_timezones()}:
        try:
            found[name] = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return found


def zone_choices(at: datetime, current: str = "") -> list[tuple[str, Iterable[tuple[str, str]]] | tuple[str, str]]:
    """Return choices for a select: UTC, then zones grouped by region. `current` is included even if unknown."""
    unknown = [(current, current)] if current and current not in _zones() else []
    return [("UTC", "UTC"), *unknown, *_by_region(at.replace(minute=0, second=0, microsecond=0))]


@lru_cache(maxsize=2)
def _by_region(hour: datetime) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return zones by region, with their offset from UTC in that hour."""
    groups: dict[str, list[tuple[str, str]]] = {region: [] for region in (*REGIONS, OTHER)}
    for name, zone in _zones().items():
        region, _, place = name.partition("/")
        if name == "UTC":
            continue
        if region not in groups or not place:
            region, place = OTHER, name
        groups[region].append((name, f"{_format_place(place)} ({_offset(zone, hour)})"))
    return tuple((region, tuple(sorted(zones, key=lambda zone: zone[1]))) for region, zones in groups.items() if zones)


def _format_place(place: str) -> str:
    """Format `Argentina/Buenos_Aires` as "Buenos Aires, Argentina": what people look for comes first."""
    return ", ".join(reversed(place.replace("_", " ").split("/")))


def _offset(zone: ZoneInfo, at: datetime) -> str:
    minutes = int((at.astimezone(zone).utcoffset() or at - at).total_seconds()) // 60
    sign = "+" if minutes >= 0 else "−"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}:{rest:02}" if rest else f"UTC{sign}{hours}" if hours else "UTC"
