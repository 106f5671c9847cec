"""What people type of tenants: their identity, users, channels, companies, and why a status changes."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from console.errors import Invalid
from console.forms import PLAIN_TEXT, FilterForm
from console.staff.known_companies import KnownCompanies
from console.staff.permissions import Staff
from tenants.channel_types import MAX_CHANNEL_ID, MAX_TYPE, TYPES, checked_channel, checked_type
from tenants.companies import OUT_OF_SCOPE
from tenants.keys import MAX_ID, MAX_NAME, Channel, checked_name, checked_part, checked_tenant_id, proposed_id
from tenants.records import STATUSES
from tenants.status import MAX_REASON
from tenants.users import UserValues
from tenants.webhooks import MAX_PASTED, types_offered

MAX_EMAIL = 254
MAX_ROWS = 20
# Rows that a form has to spare.
SPARE = 3
COMPANIES_OFFERED = 60


class StatusFilter(FilterForm):
    """The GET filter of the list."""

    status = forms.ChoiceField(
        required=False, label="Status", choices=[("", "Any status"), *((each, each.capitalize()) for each in STATUSES)]
    )


class IdentityForm(forms.Form):
    """The first step of onboarding. `token` tells a form that is sent twice from one of somebody else."""

    name = forms.CharField(
        max_length=MAX_NAME,
        help_text="The customer's name, as colleagues see it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
        error_messages={"required": "Enter a name."},
    )
    tenant_id = forms.CharField(
        required=False,
        max_length=MAX_ID,
        label="Id",
        help_text="Lower-case letters, digits, dashes; it cannot be changed later. Empty: made of the name.",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "data-proposed-from": "#id_name"}),
    )
    token = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)

    def clean_name(self) -> str:
        """As stored."""
        return _checked(checked_name, self.cleaned_data["name"])

    def clean_tenant_id(self) -> str:
        """As stored; one that is made of the name where none was typed."""
        typed = self.cleaned_data["tenant_id"].strip()
        if not typed and "name" in self.cleaned_data:
            typed = proposed_id(self.cleaned_data["name"])
            if not typed:
                raise forms.ValidationError("No id can be made of this name: type one.")
        return _checked(checked_tenant_id, typed) if typed else ""


class Row(forms.Form):
    """One row of a type and an id: an empty one is left out, half a one is an error."""

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
        """Both or neither, each as its type asks."""
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
        """The id as it is stored. Raises `Invalid`."""
        return checked_channel(kind, typed).id


class IdentityRow(Row):
    """By what a platform knows a user: any id."""

    def checked_id(self, kind: str, typed: str) -> str:
        """The id as it is stored. Raises `Invalid`."""
        part = typed.strip()
        if not part or not part.isprintable():
            raise Invalid("Type the id, without control characters.")
        return part


class Rows(forms.BaseFormSet):  # type: ignore[type-arg]
    """Rows of types and ids, with some to spare. `pairs` are those that were filled in, once it is valid."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Type and id of each row that is not empty."""
        filled = (form for form in self.forms if hasattr(form, "cleaned_data") and not form.is_empty)
        return [(form.cleaned_data["type"], form.cleaned_data["id"]) for form in filled]

    def clean(self) -> None:
        """Each only once."""
        seen: set[Any] = set()
        for form in self.forms:
            if not hasattr(form, "cleaned_data") or form.errors or form.is_empty:
                continue
            same = self.same(form.cleaned_data["type"], form.cleaned_data["id"])
            if same in seen:
                form.add_error("type", "This is in an earlier row too.")
            seen.add(same)

    def is_valid(self) -> bool:
        """As Django's; `clean` may have found errors of rows."""
        return bool(super().is_valid()) and not any(form.errors for form in self.forms)

    def same(self, kind: str, typed: str) -> Any:
        """What only one row may have."""
        return kind, typed


class IdentityRows(Rows):
    """The identities of a user: one for each type."""

    def same(self, kind: str, typed: str) -> Any:
        """One identity for each type."""
        return kind


def _factory(row: type[Row], base: type[Rows]) -> Any:
    return forms.formset_factory(row, formset=base, extra=SPARE, max_num=MAX_ROWS, absolute_max=MAX_ROWS)


_CHANNEL_ROWS = _factory(Row, Rows)
_IDENTITY_ROWS = _factory(IdentityRow, IdentityRows)


def _initial(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"type": kind, "id": each} for kind, each in pairs]


def channel_rows(data: QueryDict | None, channels: Sequence[Channel] = ()) -> Rows:
    """The rows of the channels of a draft."""
    initial = _initial((channel.type, channel.id) for channel in channels)
    rows: Rows = _CHANNEL_ROWS(data, prefix="channel", initial=initial)
    return rows


class UserForm(forms.Form):
    """A user of a tenant, with `rows` of channel identities. `values` is what was typed, once it is valid."""

    user_id = forms.CharField(
        max_length=MAX_ID,
        label="Id",
        help_text="Unique within the tenant, such as admin or a name. It cannot be changed later.",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter an id."},
    )
    email = forms.EmailField(
        max_length=MAX_EMAIL,
        label="Email",
        widget=forms.EmailInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter an email address.", "invalid": "Enter one email address."},
    )
    name = forms.CharField(required=False, max_length=MAX_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(
        choices=[("admin", "Admin: manages the tenant"), ("member", "Member: uses it")], widget=forms.RadioSelect
    )
    field_order = ("user_id", "email", "name", "role")

    def __init__(
        self, data: QueryDict | None, *, user: UserValues | None = None, is_new: bool = True, first: bool = False
    ) -> None:
        """`user`: what the fields begin with; `first`: the first administrator of a tenant."""
        initial = {"role": "member"}
        if user:
            initial = {"user_id": user.user_id, "email": user.email, "name": user.name, "role": user.role}
        super().__init__(data, initial=initial)
        self._user_id, self._first = user.user_id if user and not is_new else "", first
        if not is_new:
            del self.fields["user_id"]
        if first:
            del self.fields["role"]
        self.rows: Rows = _IDENTITY_ROWS(data, prefix="identity", initial=_initial(user.identities if user else ()))

    def is_valid(self) -> bool:
        """Whether the user and all rows are."""
        return all([super().is_valid(), self.rows.is_valid()])

    def clean_user_id(self) -> str:
        """As stored."""
        return _checked(checked_part, self.cleaned_data["user_id"], "An id")

    def clean_name(self) -> str:
        """As stored."""
        name = " ".join(self.cleaned_data["name"].split())
        return _checked(checked_name, name) if name else ""

    @property
    def values(self) -> UserValues:
        """What was typed."""
        data = self.cleaned_data
        return UserValues(
            user_id=data.get("user_id", self._user_id),
            email=data["email"],
            name=data["name"],
            role="admin" if self._first else data["role"],
            identities=tuple(self.rows.pairs),
        )


class ChannelForm(Row):
    """A channel to add to a tenant."""

    type = forms.CharField(
        max_length=MAX_TYPE,
        help_text=f"Such as {', '.join(list(TYPES)[:4])}; another word for a type of your own.",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "list": "channel-types"}),
        error_messages={"required": "Choose a type."},
    )
    id = forms.CharField(
        max_length=MAX_CHANNEL_ID,
        label="Id",
        help_text="Our number with its country code, our address, or the id of the bot or workspace.",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter the id that webhooks carry."},
    )

    @property
    def channel(self) -> Channel:
        """As stored, once it is valid."""
        return Channel(self.cleaned_data["type"], self.cleaned_data["id"])


class ReasonForm(forms.Form):
    """Why a status changes."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Kept in the tenant's history. Name no customers.",
        error_messages={"required": "Say why."},
    )

    def __init__(self, data: QueryDict | None = None, *, required: bool = True) -> None:
        super().__init__(data)
        self.fields["reason"].required = required


class TenantIdForm(forms.Form):
    """Another tenant, to which a channel is moved."""

    to = forms.CharField(
        max_length=MAX_ID,
        label="To the tenant",
        help_text="Its id. Webhooks find it there from then on.",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter a tenant's id."},
    )


class ResolveForm(forms.Form):
    """What a webhook carried, or an id alone."""

    carried = forms.CharField(
        max_length=MAX_PASTED,
        label="What the webhook carried",
        help_text="Its whole body, the id of the receiver alone, or a key such as CHANNEL#teams#…",
        widget=forms.Textarea(attrs={**PLAIN_TEXT, "rows": 4, "class": "mono"}),
        error_messages={"required": "Paste what the webhook carried, or type an id."},
    )
    type = forms.ChoiceField(required=False, choices=types_offered)


class _Ticked(forms.MultipleChoiceField):
    """Ticked companies: which there are may have changed since the form was made."""

    def valid_value(self, value: Any) -> bool:
        return True


class CompaniesForm(forms.Form):
    """Companies to link: those known within the person's scope to tick, and ids. `ids` is what was chosen."""

    companies = _Ticked(required=False, label="Known companies", widget=forms.CheckboxSelectMultiple)
    other = forms.CharField(
        required=False,
        max_length=4_000,
        label="Other company ids",
        help_text="Separated by spaces, commas or lines.",
        widget=forms.Textarea(attrs={**PLAIN_TEXT, "rows": 2}),
    )

    def __init__(
        self, data: QueryDict | None, *, staff: Staff, known: KnownCompanies, chosen: Sequence[str] = ()
    ) -> None:
        self.staff = staff
        offered = dict(list(known.names.items())[:COMPANIES_OFFERED])
        ticked, typed = [each for each in chosen if each in offered], [each for each in chosen if each not in offered]
        super().__init__(data, initial={"companies": ticked, "other": "\n".join(typed)})
        choices = [(each, f"{name} ({each})" if name != each else each) for each, name in offered.items()]
        self.fields["companies"].choices = choices  # type: ignore[attr-defined]
        if not offered:
            del self.fields["companies"]

    def clean(self) -> None:
        """Gather the ids, each within the person's scope."""
        super().clean()
        other = self.cleaned_data.get("other", "").replace(",", " ").split()
        self.ids = tuple(dict.fromkeys([*self.cleaned_data.get("companies", []), *other]))
        if len(self.ids) > MAX_ROWS:
            self.add_error(None, f"Choose {MAX_ROWS} companies at most; others can be linked later.")
        for each in self.ids:
            try:
                checked_part(each, "A company's id", MAX_ID)
            except Invalid as error:
                self.add_error("other", f"{each[:40]}: {error}")
            else:
                if not self.staff.scope.covers(each):
                    self.add_error("other", f"{each}: {OUT_OF_SCOPE}")


def _checked(check: Any, *values: Any) -> str:
    try:
        return str(check(*values))
    except Invalid as error:
        raise forms.ValidationError(str(error)) from error
