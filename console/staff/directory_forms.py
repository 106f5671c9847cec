"""The forms for accounts, and the filters of their list."""

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

from console import clock
from console.errors import Invalid
from console.forms import PLAIN_TEXT, FilterForm, TickedField, cleaned_by
from console.permissions import ALL, OPENID_CONNECT, PASSWORD, Role, Scope, Staff, id_of
from console.staff import directory
from console.staff.account_record import scope_words
from console.staff.checks import MAX_NAME, checked_display_name, checked_scope, checked_username
from console.staff.directory import AccountFilters, AccountState
from console.staff.known_companies import MEANINGS, KnownCompanies
from console.staff.models import StaffAccount
from console.staff.own_forms import zone_choices

ROLE_WORDS = {
    Role.AGENT: "works the queue: reads conversations, takes them over and returns them, sees numbers and addresses",
    Role.ONBOARDING: "sets up tenants with their users and channels; sees no conversations",
    Role.AUDITOR: "reads conversations and every trail in scope, redacted, and exports them; changes nothing",
    Role.ADMIN: "does all of the above and manages staff accounts, within the scope",
}
# How many companies are listed as checkboxes; ids of others are typed.
COMPANIES_OFFERED = 60
# The meanings to choose from for an old entry; with nothing chosen it stays as it is.
_MEANT = {
    "": "Not confirmed: read as both",
    "company": "The company",
    "tenant": "The tenant",
    "both": "The company and the tenant",
    "neither": "Neither: remove it",
}
_PREFIX = re.compile(r"[a-z0-9._-]{0,64}", re.ASCII)


class DirectoryFilter(FilterForm):
    """GET filters of the list. Invalid ones are reported and ignored."""

    name = forms.CharField(
        required=False, max_length=64, label="Username begins with", widget=forms.TextInput(attrs=dict(PLAIN_TEXT))
    )
    role = forms.ChoiceField(
        required=False,
        choices=[("", "Any"), *((role.value, role.value) for role in Role)],
        error_messages={"invalid_choice": "Choose one of the listed roles."},
    )
    state = forms.ChoiceField(
        required=False,
        choices=[("", "Any"), *((each.value, each.value) for each in AccountState)],
        error_messages={"invalid_choice": "Choose one of the listed states."},
    )

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()

    def clean_name(self) -> str:
        """Return the beginning of a username in lower case, as usernames are stored."""
        name: str = self.cleaned_data["name"].lower()
        if not _PREFIX.fullmatch(name):
            raise forms.ValidationError("No username starts like that.")
        return name

    def values(self) -> dict[str, str]:
        """Return the valid filters that are set, as URL parameters."""
        return {name: value for name in self.fields if (value := self.chosen(name))}

    def filters(self) -> AccountFilters:
        """Return the filters for `console.staff.directory.read_page`."""
        return AccountFilters(self.chosen("name"), self.chosen("role"), self.chosen("state"))


class _Roles(forms.RadioSelect):
    option_template_name = "staff/_role_option.html"


class _Owners(forms.CheckboxSelectMultiple):
    option_template_name = "staff/_owner_option.html"


class AccountForm(forms.Form):
    """Name, role, scope and time zone of an account. The cleaned `scope` is the chosen one as stored; see `clean`.

    Companies and tenants are submitted as stored entries of a scope. Only the field `everything` means all: no word in
    another field does.
    """

    display_name = forms.CharField(
        required=False,
        max_length=MAX_NAME,
        label="Name",
        help_text="As colleagues see it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        choices=(),
        widget=_Roles,
        error_messages={"required": "Choose a role.", "invalid_choice": "Choose one of these roles."},
    )
    everything = forms.BooleanField(required=False, label="All companies and tenants, including future ones")
    companies = TickedField(required=False, label="Companies and tenants", widget=_Owners)
    other = forms.CharField(
        required=False,
        max_length=120_000,
        widget=forms.Textarea(attrs={**PLAIN_TEXT, "rows": 3}),
        help_text="Each as company:ID or tenant:ID, separated by spaces, commas or lines.",
    )
    time_zone = forms.ChoiceField(
        choices=(),
        widget=forms.Select,
        help_text="The person sees all times in this zone.",
        error_messages={"required": "Choose a time zone.", "invalid_choice": "Choose one of these time zones."},
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        staff: Staff,
        known: KnownCompanies,
        account: StaffAccount | None = None,
    ) -> None:
        """Build the fields; `account` is the one to change, None for a new one."""
        self.staff, self.known = staff, known
        scope = Scope.of(account.scope or []) if account else Scope()
        offered = self._offered(known, scope, data)
        super().__init__(data, initial=_initial(account, scope, offered))
        self._choices("role", [(role.value, ROLE_WORDS[role]) for role in Role])
        self._choices("time_zone", zone_choices(clock.now(), account.time_zone or "" if account else ""))
        self._choices("companies", [(each, each if name == id_of(each) else name) for each, name in offered.items()])
        self.fields["other"].label = "Other companies and tenants" if offered else "Companies and tenants"
        self._ask_what_is_meant(scope)
        if not offered:
            del self.fields["companies"]
        if len(known.names) > len(offered):
            self.fields["other"].help_text += f" {len(known.names) - len(offered)} known ones are not listed above."
        if known.failed:
            self.fields["other"].help_text += " Names could not be read. Enter the ids."
        if not staff.scope.everything:
            del self.fields["everything"]
        if account is not None and account.username == staff.username:
            for name in ("role", "everything", "companies", "other", *self.meant):
                self.fields.pop(name, None)

    def _ask_what_is_meant(self, scope: Scope) -> None:
        """Add a field for each old entry; `meant` maps the fields' names to their ids."""
        self.meant: dict[str, str] = {}
        for each in sorted(scope.unconfirmed) if not scope.everything else ():
            found = self.known.meanings_of(each)
            self.meant[name := f"meant:{each}"] = each
            self.fields[name] = forms.ChoiceField(
                required=False,
                label=each,
                choices=list(_MEANT.items()),
                help_text=f"Known here: {' and '.join(found)}." if found else "No name is known for this id.",
                error_messages={"invalid_choice": "Choose one of these."},
            )

    @property
    def meant_fields(self) -> list[forms.BoundField]:
        """The fields that ask what old entries mean."""
        return [self[name] for name in self.meant if name in self.fields]

    @staticmethod
    def _offered(known: KnownCompanies, scope: Scope, data: QueryDict | None) -> dict[str, str]:
        """Return the checkboxes' names by entry: those in scope or already ticked, and the first of the others."""
        ticked = set(scope.stored()) | set(data.getlist("companies") if data is not None else ())
        first = [each for each in known.names if each not in ticked][:COMPANIES_OFFERED]
        shown = ticked.union(first)
        return {each: name for each, name in known.names.items() if each in shown}

    def _choices(self, name: str, choices: Iterable[tuple[str, Any]]) -> None:
        self.fields[name].choices = list(choices)  # type: ignore[attr-defined]

    def clean_display_name(self) -> str:
        """Accept one line of printable characters; may be empty."""
        return cleaned_by(checked_display_name, self.cleaned_data["display_name"])

    def clean(self) -> None:
        """Combine the fields of the scope into one, and check that the administrator may grant it."""
        if "other" not in self.fields:
            return
        typed = re.split(r"[\s,;]+", self.cleaned_data.get("other", ""))
        entries = [each for each in (*typed, *self.cleaned_data.get("companies", ())) if each]
        old = Scope(unconfirmed=frozenset(self.meant.values()))
        chosen = {each: MEANINGS[kind] for name, each in self.meant.items() if (kind := self.cleaned_data.get(name))}
        if entries and self.cleaned_data.get("everything"):
            self.add_error("everything", "Tick this, or choose companies and tenants below, but not both.")
            return
        try:
            if ALL in entries:
                raise Invalid("To give all, tick “All companies and tenants”.")
            # Also read the raw field, so that people who may not grant all get an error rather than having it ignored.
            if self.cleaned_data.get("everything") or self.data.get("everything"):
                self.cleaned_data["scope"] = Scope(everything=True).stored()
            else:
                entries += old.confirmed(chosen).stored()
                self.cleaned_data["scope"] = checked_scope(entries, kept=old.unconfirmed)
            directory.check_grant(Scope.of(self.cleaned_data["scope"]), self.staff)
        except Invalid as error:
            self.add_error("other", str(error))

    def chosen(self) -> dict[str, Any]:
        """Return a valid form's values as keyword arguments of the service, only for the fields it has."""
        chosen = {name: self.cleaned_data[name] for name in ("display_name", "time_zone")}
        if "role" in self.fields:
            chosen |= {"role": Role(self.cleaned_data["role"]), "scope": self.cleaned_data["scope"]}
        return chosen

    def words(self) -> dict[str, str]:
        """Return a valid form's values in words, by the fields' labels."""
        words = {"Name": self.cleaned_data["display_name"], "Time zone": self.cleaned_data["time_zone"]}
        if "role" in self.fields:
            scope = Scope.of(self.cleaned_data["scope"])
            words |= {"Role": self.cleaned_data["role"], "Scope": ", ".join(scope_words(scope, self.known))}
        return words

    def unknown_ids(self) -> list[str]:
        """Return the entries of the chosen scope that no app knows; empty if the known ones could not be read."""
        scope = Scope.of(self.cleaned_data.get("scope", []))
        chosen = set() if scope.everything else set(scope.stored()) - scope.unconfirmed
        return [] if self.known.failed or not self.known.names else sorted(chosen.difference(self.known.names))


class NewAccountForm(AccountForm):
    """An `AccountForm` with the username and how the person signs in."""

    username = forms.CharField(
        max_length=64,
        help_text="Lower-case letters, digits, dots, dashes and underscores. It cannot be changed later.",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "autofocus": True}),
        error_messages={"required": "Enter a username."},
    )
    signs_in_with = forms.ChoiceField(choices=(), widget=forms.RadioSelect, initial=PASSWORD)
    field_order = ("username", "display_name", "signs_in_with", "role", "everything", "companies", "other", "time_zone")

    def __init__(self, data: QueryDict | None, *, staff: Staff, known: KnownCompanies, provider: str) -> None:
        """Build the fields; `provider` is the name of the company's own sign-in, "" if there is none."""
        super().__init__(data, staff=staff, known=known)
        self._choices(
            "signs_in_with",
            [
                (PASSWORD, "A password, which the person sets with a link you pass on"),
                (OPENID_CONNECT, f"Company sign-in ({provider}), with the same username there"),
            ],
        )
        if not provider:
            del self.fields["signs_in_with"]

    def clean_username(self) -> str:
        """Return the username as stored."""
        return cleaned_by(checked_username, self.cleaned_data["username"])

    @property
    def by_company_sign_in(self) -> bool:
        """Whether the person will use the company's own sign-in."""
        return self.cleaned_data.get("signs_in_with") == OPENID_CONNECT


def _initial(account: StaffAccount | None, scope: Scope, offered: Iterable[str]) -> dict[str, Any]:
    if account is None:
        return {"time_zone": "UTC"}
    named = set() if scope.everything else set(scope.stored()) - scope.unconfirmed
    return {
        "display_name": account.display_name,
        "role": account.role,
        "everything": scope.everything,
        "companies": [each for each in offered if each in named],
        "other": "\n".join(sorted(named.difference(offered))),
        "time_zone": account.time_zone or "UTC",
    }
