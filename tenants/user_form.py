"""The form of a tenant's user."""

from django import forms
from django.http import QueryDict

from console.forms import PLAIN_TEXT, cleaned_by
from tenants.keys import ID_RULE, MAX_ID, MAX_NAME, checked_name, checked_new_id
from tenants.row_forms import identity_rows
from tenants.users import UserValues

MAX_EMAIL = 254


class UserForm(forms.Form):
    """A user of a tenant, with `rows` of channel identities. `values`: the input, once it is valid."""

    user_id = forms.CharField(
        max_length=MAX_ID,
        label="Id",
        help_text=f"Unique within the tenant, such as admin or a name. {ID_RULE} You cannot change it later.",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter an id."},
    )
    email = forms.EmailField(
        max_length=MAX_EMAIL,
        label="Email",
        widget=forms.EmailInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter an email address.", "invalid": "Enter a valid email address."},
    )
    name = forms.CharField(required=False, max_length=MAX_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(
        choices=[("admin", "Admin: manages the tenant"), ("member", "Member: uses it")], widget=forms.RadioSelect
    )
    field_order = ("user_id", "email", "name", "role")

    def __init__(
        self, data: QueryDict | None, *, user: UserValues | None = None, is_new: bool = True, first: bool = False
    ) -> None:
        """Take the initial values from `user`. `first`: the form is for the first administrator of a tenant."""
        initial = {"role": "member"}
        if user:
            initial = {"user_id": user.user_id, "email": user.email, "name": user.name, "role": user.role}
        super().__init__(data, initial=initial)
        self._user_id, self._first = user.user_id if user and not is_new else "", first
        if not is_new:
            del self.fields["user_id"]
        if first:
            del self.fields["role"]
        self.rows = identity_rows(data, user.identities if user else ())

    def is_valid(self) -> bool:
        """Return whether the user and all rows are valid."""
        return all([super().is_valid(), self.rows.is_valid()])

    def clean_user_id(self) -> str:
        """Return the id as it is stored."""
        return cleaned_by(checked_new_id, self.cleaned_data["user_id"])

    def clean_name(self) -> str:
        """Return the name as it is stored."""
        name = " ".join(self.cleaned_data["name"].split())
        return cleaned_by(checked_name, name) if name else ""

    @property
    def values(self) -> UserValues:
        """The values of a valid form."""
        data = self.cleaned_data
        return UserValues(
            user_id=data.get("user_id", self._user_id),
            email=data["email"],
            name=data["name"],
            role="admin" if self._first else data["role"],
            identities=tuple(self.rows.pairs),
        )
