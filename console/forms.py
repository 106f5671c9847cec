"""Shared form code: fields for keys and days, filters of lists, and look-ups."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, TypeVar
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from console import clock
from console.errors import Invalid
from console.permissions import Permission, Staff
from console.store.models import PARTITION_KEY_BYTES

# The value may be a phone number or address: the browser must not store, change or spell-check it.
PLAIN_TEXT = {"autocomplete": "off", "autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}


def cleaned_by(check: Callable[..., str], *values: str) -> str:
    """Run a check in a form's `clean_…` method, and turn its `Invalid` into a `ValidationError`."""
    try:
        return check(*values)
    except Invalid as error:
        raise forms.ValidationError(str(error)) from error


class KeyField(forms.CharField):
    """A table key, or a part of one, as a person types it: no control characters, at most `most` bytes of UTF-8."""

    def __init__(self, *, most: int = PARTITION_KEY_BYTES, **options: Any) -> None:
        self.most = most
        super().__init__(**{"max_length": most, "widget": forms.TextInput(attrs=dict(PLAIN_TEXT)), **options})

    def validate(self, value: str) -> None:
        """Raise `ValidationError` for a value that is not a valid key."""
        super().validate(value)
        if any(ord(char) < 32 or 0xD800 <= ord(char) <= 0xDFFF for char in value):
            raise forms.ValidationError("Remove the characters that are not allowed.")
        if len(value.encode()) > self.most:
            raise forms.ValidationError(f"It can be at most {self.most:,} bytes long.")


class ReasonField(KeyField):
    """The reason for searching for personal data. If not `required`, what is typed in the form decides."""

    says_when = "Needed when you search for a phone number, an email address or a person's id."

    def __init__(self, *, required: bool) -> None:
        help_text = "" if required else self.says_when
        errors = {"required": NO_REASON}
        super().__init__(label="Reason", most=400, required=required, help_text=help_text, error_messages=errors)


class TickedField(forms.MultipleChoiceField):
    """Ticked entries, accepted like typed ones: what is offered may have changed since the form was rendered."""

    def valid_value(self, value: Any) -> bool:
        """Return True: the form checks the entries."""
        return True


class FilterForm(forms.Form):
    """GET filters of a list; invalid ones are reported and ignored."""

    def chosen(self, name: str, default: Any = "") -> Any:
        """Return the cleaned value of a field, or the default if it is empty or invalid."""
        return self.cleaned_data.get(name) or default

    @property
    def problems(self) -> list[str]:
        """The invalid filters, one sentence each."""
        return [
            f"{self.fields[name].label or name.capitalize()}: {error} This filter was ignored."
            for name in self.errors
            for error in self[name].errors
        ]


def _day_field(label: str) -> forms.DateField:
    wrong = "The year is not between 2000 and 2100."
    return forms.DateField(
        required=False,
        label=label,
        widget=forms.DateInput(attrs={"type": "date"}),
        input_formats=["%Y-%m-%d"],
        validators=[MinValueValidator(date(2000, 1, 1), wrong), MaxValueValidator(date(2100, 12, 31), wrong)],
    )


class DaysForm(FilterForm):
    """Filters with a range of days, both included, in the person's time zone."""

    since = _day_field("From")
    until = _day_field("To")

    def clean(self) -> None:
        """Refuse a last day before the first."""
        super().clean()
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "The last day is before the first.")

    def instants(self, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
        """Return the start of the first day and the end of the last day, in UTC; None for an open end."""
        since, until = self.chosen("since", None), self.chosen("until", None)
        return (
            clock.midnight(since, zone) if since else None,
            clock.midnight(until + timedelta(days=1), zone) if until else None,
        )


def add_reason_field(form: forms.Form, staff: Staff, *, always: bool = False) -> None:
    """Add the field `reason` for a person whose role cannot reveal people; `always` makes it required.

    If it is not required, `console.lookups.personal_searches` decides when it is needed.
    """
    if not staff.can(Permission.PII_REVEAL):
        form.fields["reason"] = ReasonField(required=always)


NO_REASON = "Say why you are searching for personal data. The reason and a pseudonym of what you type are recorded."


class LookupForm(forms.Form):
    """A form to find something, always POSTed so that no address contains what was typed. `look` names the kind.

    `of_person` lists the fields that always contain personal data; None if that depends on what is typed.
    """

    look: ClassVar[str]
    of_person: ClassVar[tuple[str, ...] | None] = None


F = TypeVar("F", bound=LookupForm)


def lookups_by_name(*kinds: type[F]) -> dict[str, type[F]]:
    """Return the kinds of look-ups by name."""
    return {kind.look: kind for kind in kinds}


def bind_lookup(kind: type[F], data: Mapping[str, Any] | None = None, staff: Staff | None = None) -> F:
    """Return a look-up's form, with field ids that are unique on the page. `staff` is the person who types, if any."""
    form = kind(data, auto_id=f"id_{kind.look}_%s")
    if staff is not None and kind.of_person != ():
        add_reason_field(form, staff, always=bool(kind.of_person))
    return form


def lookup_forms(kinds: Mapping[str, type[F]], staff: Staff, bound: F | None = None) -> dict[str, F]:
    """Return one form of each kind, by name; `bound` replaces the one of its kind."""
    return {
        look: bound if bound is not None and bound.look == look else bind_lookup(kind, staff=staff)
        for look, kind in kinds.items()
    }
