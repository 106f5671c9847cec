"""Forms about tenants: identity, channel, companies, what to resolve, and the reason for a change of status."""

from collections.abc import Mapping, Sequence

from django import forms
from django.http import QueryDict

from console.errors import Invalid
from console.forms import PLAIN_TEXT, FilterForm, TickedField, cleaned_by
from console.permissions import Staff
from tenants.companies import OUT_OF_SCOPE, linked_elsewhere
from tenants.keys import (
    ID_RULE,
    MAX_CHANNEL_ID,
    MAX_ID,
    MAX_NAME,
    MAX_TYPE,
    TYPES,
    Channel,
    checked_company_id,
    checked_name,
    checked_tenant_id,
    proposed_id,
)
from tenants.onboarding import MAX_COMPANIES
from tenants.records import ACTIVE, STATUSES, TenantRow
from tenants.row_forms import PairForm
from tenants.status import MAX_REASON
from tenants.webhooks import MAX_PASTED, types_offered

COMPANIES_OFFERED = 60
# If there are more, the id is typed.
TENANTS_OFFERED = 300


class StatusFilter(FilterForm):
    """The GET filter of the list of tenants."""

    status = forms.ChoiceField(
        required=False, label="Status", choices=[("", "Any status"), *((each, each.capitalize()) for each in STATUSES)]
    )


class IdentityForm(forms.Form):
    """The first step of onboarding. `token` tells a form sent twice from somebody else's form for the same id."""

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
        help_text=f"{ID_RULE} You cannot change it later. Leave it empty to make one from the name.",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "data-proposed-from": "#id_name"}),
    )
    token = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)

    def clean_name(self) -> str:
        """Return the name as it is stored."""
        return cleaned_by(checked_name, self.cleaned_data["name"])

    def clean_tenant_id(self) -> str:
        """Return the id as it is stored; make one from the name if none was typed."""
        typed = self.cleaned_data["tenant_id"].strip()
        if not typed and "name" in self.cleaned_data:
            typed = proposed_id(self.cleaned_data["name"])
            if not typed:
                raise forms.ValidationError("Enter an id. The console cannot make one from this name.")
        return cleaned_by(checked_tenant_id, typed) if typed else ""


class ChannelForm(PairForm):
    """A channel to add to a tenant."""

    type = forms.CharField(
        max_length=MAX_TYPE,
        help_text=f"Such as {', '.join(list(TYPES)[:4])}. For a type of your own, enter another word.",
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
        """The channel as it is stored. Only for a valid form."""
        return Channel(self.cleaned_data["type"], self.cleaned_data["id"])


class ReasonForm(forms.Form):
    """The reason for a change of status."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Kept in the tenant's history. Do not name customers.",
        error_messages={"required": "Say why."},
    )

    def __init__(self, data: QueryDict | None = None, *, required: bool = True) -> None:
        super().__init__(data)
        self.fields["reason"].required = required


class TenantIdForm(forms.Form):
    """The tenant that a channel is moved to."""

    to = forms.CharField(
        max_length=MAX_ID,
        label="Move to tenant",
        help_text="Webhooks will find the channel there.",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter a tenant's id."},
    )

    def __init__(self, data: QueryDict | None, known: Sequence[TenantRow]) -> None:
        super().__init__(data)
        if 0 < len(known) <= TENANTS_OFFERED:
            choices = [(each.tenant_id, _tenant_words(each)) for each in known]
            self.fields["to"].widget = forms.Select(choices=[("", "Choose a tenant"), *choices])
            self.fields["to"].error_messages["required"] = "Choose a tenant."


def _tenant_words(row: TenantRow) -> str:
    named = f"{row.name} ({row.tenant_id})" if row.name != row.tenant_id else row.tenant_id
    return f"{named}: {row.status or 'no status'}{'' if row.status == ACTIVE else ', not served by the platform'}"


class ResolveForm(forms.Form):
    """What a webhook sent, or only an id."""

    carried = forms.CharField(
        max_length=MAX_PASTED,
        label="What the webhook sent",
        help_text="The whole body, the receiver's id, or a key such as CHANNEL#teams#…",
        widget=forms.Textarea(attrs={**PLAIN_TEXT, "rows": 4, "class": "mono"}),
        error_messages={"required": "Paste what the webhook sent, or enter an id."},
    )
    type = forms.ChoiceField(required=False, choices=types_offered)


class CompaniesForm(forms.Form):
    """Companies to link: known ones in scope as checkboxes, others by id. `ids`: the chosen ones, once it is valid.

    `shared` has a checkbox for each company that another tenant has, once `check_shared` has found one.
    """

    shared = TickedField(required=False, label="Link to this tenant too", widget=forms.CheckboxSelectMultiple)
    companies = TickedField(required=False, label="Known companies", widget=forms.CheckboxSelectMultiple)
    other = forms.CharField(
        required=False,
        max_length=4_000,
        label="Other company ids",
        help_text="Separated by spaces, commas or lines.",
        widget=forms.Textarea(attrs={**PLAIN_TEXT, "rows": 2}),
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        tenant_id: str,
        staff: Staff,
        known: Mapping[str, str],
        chosen: Sequence[str] = (),
    ) -> None:
        self.tenant_id, self.staff = tenant_id, staff
        offered = dict(list(known.items())[:COMPANIES_OFFERED])
        ticked, typed = [each for each in chosen if each in offered], [each for each in chosen if each not in offered]
        super().__init__(data, initial={"companies": ticked, "other": "\n".join(typed)})
        choices = [(each, f"{name} ({each})" if name != each else each) for each, name in offered.items()]
        self.fields["companies"].choices = choices  # type: ignore[attr-defined]
        if not offered:
            del self.fields["companies"]
        self.order_fields(["companies", "other", "shared"])
        if data is None:
            del self.fields["shared"]

    def clean(self) -> None:
        """Collect the ids and check that each is in the person's scope."""
        super().clean()
        other = self.cleaned_data.get("other", "").replace(",", " ").split()
        self.ids = tuple(dict.fromkeys([*self.cleaned_data.get("companies", []), *other]))
        if len(self.ids) > MAX_COMPANIES:
            self.add_error(None, f"Choose {MAX_COMPANIES} companies at most. You can link others later.")
        for each in self.ids:
            try:
                checked_company_id(each)
            except Invalid as error:
                self.add_error("other", f"{each[:40]}: {error}")
            else:
                if not self.staff.scope.covers_company(each):
                    self.add_error("other", f"{each}: {OUT_OF_SCOPE}")
        self._shared = self.fields.pop("shared")

    def check_shared(self) -> None:
        """Ask about each company that another tenant has, unless it is ticked. For a valid form.

        Raises `Invalid` with the field `shared` added, and the store's errors.
        """
        found = linked_elsewhere(self.ids, self.tenant_id, self.staff)
        unasked = [each for each in found if each not in self.cleaned_data.get("shared", [])]
        if not unasked:
            return
        self.fields["shared"] = self._shared
        choices = [(each, f"{each}, already linked to {words}") for each, words in found.items()]
        self._shared.choices = choices  # type: ignore[attr-defined]
        for each in unasked:
            self.add_error("shared", f"{each} is already linked to {found[each]}. Tick it to link it here too.")
        raise Invalid("Check the companies that another tenant has.")
