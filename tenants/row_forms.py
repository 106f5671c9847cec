"""Rows of a type and an id: the channels of a tenant being onboarded, and the identities of a user."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from console.errors import Invalid
from console.forms import PLAIN_TEXT
from tenants.keys import MAX_CHANNEL_ID, MAX_TYPE, Channel, checked_channel, checked_type, without_scheme
from tenants.onboarding import MAX_CHANNELS

MAX_IDENTITIES = 100
# Empty rows at the end of a form.
SPARE = 3


class PairForm(forms.Form):
    """One row of a type and an id. An empty row is skipped; a half-filled one is an error."""

    type = forms.CharField(
        required=False,
        max_length=MAX_TYPE,
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "list": "channel-types"}),
    )
    id = forms.CharField(
        required=False, max_length=MAX_CHANNEL_ID, label="Id", widget=forms.TextInput(attrs=dict(PLAIN_TEXT))
    )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was typed."""
        return not (self.cleaned_data.get("type", "").strip() or self.cleaned_data.get("id", "").strip())

    def clean(self) -> None:
        """Check that both or neither are filled in, and that the id fits the type."""
        super().clean()
        if self.errors or self.is_empty:
            return
        kind, typed = self.cleaned_data["type"], self.cleaned_data["id"]
        try:
            self.cleaned_data["type"] = checked_type(kind)
        except Invalid as error:
            self.add_error("type", str(error) if kind.strip() else "Choose a type.")
            return
        try:
            self.cleaned_data["id"] = self.checked_id(kind, typed)
        except Invalid as error:
            self.add_error("id", str(error))

    def checked_id(self, kind: str, typed: str) -> str:
        """Return the id as it is stored. Raises `Invalid`."""
        return checked_channel(kind, typed).id


class IdentityRow(PairForm):
    """A channel identity of a user. The id may be anything; a phone number is checked and stored as that of a channel.

    What is stored already stays as it is: other services write ids too.
    """

    def checked_id(self, kind: str, typed: str) -> str:
        """Return the id as it is stored. Raises `Invalid`."""
        name = checked_type(kind)
        part = without_scheme(name, typed).strip()
        if not part:
            raise Invalid("Enter an id.")
        if not part.isprintable():
            raise Invalid("Remove the control characters from the id.")
        is_stored = (self.initial.get("type"), self.initial.get("id")) == (name, part)
        return checked_channel(name, part).id if name in ("whatsapp", "sms") and not is_stored else part


class Rows(forms.BaseFormSet):  # type: ignore[type-arg]
    """A formset of types and ids, with some empty rows. `pairs`: the filled rows, once it is valid."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Type and id of each row that is not empty."""
        filled = (form for form in self.forms if hasattr(form, "cleaned_data") and not form.is_empty)
        return [(form.cleaned_data["type"], form.cleaned_data["id"]) for form in filled]

    def clean(self) -> None:
        """Check that no pair occurs twice."""
        seen: set[tuple[str, str]] = set()
        for form in self.forms:
            if not hasattr(form, "cleaned_data") or form.errors or form.is_empty:
                continue
            same = form.cleaned_data["type"], form.cleaned_data["id"]
            if same in seen:
                form.add_error("type", "This is already in an earlier row.")
            seen.add(same)

    def refuse(self, pair: tuple[str, str], why: str) -> None:
        """Say beside the row of a valid pair why it is refused."""
        row = next(form for form in self.forms if (form.cleaned_data.get("type"), form.cleaned_data.get("id")) == pair)
        row.add_error("id", why)

    def is_valid(self) -> bool:
        """Return whether the formset is valid, including the row errors that `clean` adds."""
        return bool(super().is_valid()) and not any(form.errors for form in self.forms)


def _factory(row: type[PairForm], most: int) -> Any:
    return forms.formset_factory(row, formset=Rows, extra=SPARE, max_num=most, absolute_max=most)


_CHANNEL_ROWS = _factory(PairForm, MAX_CHANNELS)
_IDENTITY_ROWS = _factory(IdentityRow, MAX_IDENTITIES)


def _initial(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"type": kind, "id": each} for kind, each in pairs]


def channel_rows(data: QueryDict | None, channels: Sequence[Channel] = ()) -> Rows:
    """Return the formset of the channels of a draft."""
    initial = _initial((channel.type, channel.id) for channel in channels)
    rows: Rows = _CHANNEL_ROWS(data, prefix="channel", initial=initial)
    return rows


def identity_rows(data: QueryDict | None, identities: Sequence[tuple[str, str]] = ()) -> Rows:
    """Return the formset of a user's channel identities."""
    rows: Rows = _IDENTITY_ROWS(data, prefix="identity", initial=_initial(identities))
    return rows
