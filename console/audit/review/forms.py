"""The filters of a review: those that a URL may contain, and those that it may not, which are POSTed and sealed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.text import slugify

from console.audit.events.keys import decode
from console.audit.review.plan import (
    MOST_NAMED,
    NO_ACTOR_FILTER,
    Review,
    action_groups,
    is_action_type,
    is_company_known,
    known_actions,
)
from console.audit.sentences import label_of
from console.errors import BadReference
from console.forms import PLAIN_TEXT, DaysForm, KeyField, add_reason_field, cleaned_by
from console.permissions import COMPANY, TENANT, Staff, id_of
from console.redaction import redact
from console.refs import seal_data, unseal_data
from console.search.meanings import called
from console.staff import known_companies
from console.staff.directory import username_of
from console.templatetags.components import zone_of
from console.trail.actions import Result

SUGGESTED = 60
CONVERSATION, KEY = "conversation", "key"
ID_HELP = "As pages show or copy it: req-…, or the whole id, also masked"
_KIND, _TRAIL = "about", "trail"
# Keeps a number or address typed here by mistake out of the URL, in browsers that check patterns.
ACTOR_INPUT = {
    "list": "actors",
    "pattern": r"(?!.*\d{7})[^@]*",
    "title": "A person's name or username, or a service's name",
}
_COMPANY = {"list": "companies", "pattern": r"(?!\+?[0-9 .\-\(\)]{7,}$)[^@]*", "title": "A company's name or id"}
_TYPES = {"pattern": r"(?!.*\d{7})[A-Za-z0-9_.:, \-]*", "title": "Action types, separated by spaces"}
_RESULTS = {
    "": "Any",
    Result.SUCCESS: "success",
    Result.PENDING: "pending",
    Result.CONFLICT: "conflict",
    Result.FAILED: "failed",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class About:
    """The one conversation or idempotency key that a review is about. `value` may contain personal data.

    `trail` is where the key was seen, "" if unknown: the key's record names it, but expires before the entries do.
    """

    what: str
    value: str = field(repr=False)
    trail: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """The value, redacted."""
        return decode(self.value).shown if self.what == KEY else redact(self.value)

    @property
    def sealed(self) -> str:
        """The value of the URL parameter `about`."""
        return seal_data(_KIND, {self.what: self.value} | ({_TRAIL: self.trail} if self.trail else {}))

    @property
    def hint(self) -> str:
        """Why a search for it may find nothing; "" if there is no reason."""
        if self.what != KEY or self.trail or decode(self.value).conversation:
            return ""
        return (
            "A key of this form does not name a conversation. Find its entries from its record, or from an "
            "entry's page."
        )

    @classmethod
    def opened(cls, reference: str) -> "About":
        """Open what `sealed` returned. Raises `BadReference`."""
        data = unseal_data(_KIND, reference)
        for what in (CONVERSATION, KEY):
            if isinstance(data, dict) and isinstance(value := data.get(what), str) and value:
                return cls(what, value, str(data.get(_TRAIL, "")))
        raise BadReference


def group_slugs() -> dict[str, str]:
    """Return the names of the groups of action types, by their slugs in URLs."""
    return {slugify(name): name for name in action_groups()}


class ReviewForm(DaysForm):
    """GET filters. Invalid ones are reported and ignored. Days are in the person's time zone, both included."""

    group = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "Choose one of the listed groups of action types."},
    )
    action = forms.MultipleChoiceField(required=False, label="Action types", widget=forms.CheckboxSelectMultiple)
    other = forms.CharField(
        required=False,
        max_length=500,
        label="Other types",
        help_text="As services write them, separated by spaces",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, **_TYPES}),
    )
    actor = forms.CharField(
        required=False, max_length=200, label="Who", widget=forms.TextInput(attrs={**PLAIN_TEXT, **ACTOR_INPUT})
    )
    nobody = forms.BooleanField(required=False, label="Only automated actions")
    result = forms.ChoiceField(
        required=False,
        choices=list(_RESULTS.items()),
        error_messages={"invalid_choice": "Choose one of the listed results."},
    )
    company = forms.CharField(
        required=False, max_length=200, label="Company", widget=forms.TextInput(attrs={**PLAIN_TEXT, **_COMPANY})
    )
    # Suggested actors that are not people.
    actors = (
        (NO_ACTOR_FILTER, "names nobody"),
        ("platform", "the platform"),
        ("command-line", "an operator"),
        ("visitor", "nobody signed in"),
    )
    field_order = ("group", "action", "other", "actor", "nobody", "result", "company", "since", "until")

    def __init__(self, data: QueryDict, staff: Staff) -> None:
        data = _with_others_apart(data)
        super().__init__(data)
        self.staff = staff
        self._choices("group", group_slugs())
        self._choices("action", {name: name for name in known_actions()})
        self.is_valid()
        if name := self.company_names.get(self.chosen("company")):
            # Show the name even if the URL contains an id.
            data["company"] = self._value_of(self.chosen("company"), name)

    def _choices(self, name: str, choices: dict[str, str]) -> None:
        self.fields[name].choices = list(choices.items())  # type: ignore[attr-defined]

    def clean_actor(self) -> str:
        """Accept a username, a service's name or a person's name, but nothing that could be a customer's."""
        actor: str = self.cleaned_data["actor"]
        return clean_person(actor) if actor.lower() != NO_ACTOR_FILTER else NO_ACTOR_FILTER

    def clean_company(self) -> str:
        """Find a company or tenant in scope by id or name, without revealing whether an id exists."""
        # As scopes and commands write it, an id may have its kind before it.
        typed = id_of(self.cleaned_data["company"].strip())
        scope = self.staff.scope
        if not typed or typed in scope.company_ids | scope.tenant_ids or typed in self.company_names:
            return typed
        if redact(typed) != typed:
            raise forms.ValidationError("Enter a company's name or id, not a number or an address.")
        found, names = called(typed, self.company_names), self.company_names
        if not found:
            names = known_companies.known_to(self.staff, TENANT).of_kind(TENANT)
            found = [typed] if typed in names else called(typed, names)
        if not found and not scope.everything:
            raise forms.ValidationError("No company in your scope has that name or id.")
        if not found and not is_company_known(typed):
            raise forms.ValidationError(f"No company or tenant has the name or id {redact(typed)}.")
        if len(found) > 1:
            which = ", ".join(f"{names[each]} ({each})" for each in found[:MOST_NAMED])
            raise forms.ValidationError(f"Several have that name: {which}. Choose one.")
        return found[0] if found else typed

    def clean_other(self) -> list[str]:
        """Accept unlisted action types: services may write any. Each costs a Query."""
        typed = list(dict.fromkeys(_typed(self.cleaned_data["other"])))
        if not all(map(is_action_type, typed)):
            raise forms.ValidationError("This is not an action type.")
        if len(typed) > MOST_NAMED:
            raise forms.ValidationError(f"You can search for up to {MOST_NAMED} unlisted action types at once.")
        return typed

    def clean(self) -> None:
        """Reject a person combined with "nobody"."""
        super().clean()
        if self.cleaned_data.get("nobody") and self.cleaned_data.get("actor") not in (None, "", NO_ACTOR_FILTER):
            self.add_error("nobody", "Choose either a person or entries that name nobody.")

    # --- For pages ----------------------------------------------------------------------------------------------------

    @property
    def groups(self) -> Iterator[dict[str, Any]]:
        """The checkboxes of action types: for each group, one for the whole group and one for each type."""
        whole, single = self.chosen("group", []), self.chosen("action", [])
        for slug, name in group_slugs().items():
            actions = action_groups()[name]
            yield {
                "value": slug,
                "label": name,
                "checked": slug in whole,
                "single": [{"value": each, "label": label_of(each), "checked": each in single} for each in actions],
                "is_open": not set(actions).isdisjoint(single),
            }

    @property
    def companies(self) -> list[tuple[str, str]]:
        """Companies to suggest, by name: the field's value, and a label that distinguishes it from others."""
        pairs = list(self.company_names.items())[:SUGGESTED]
        values = [self._value_of(each, name) for each, name in pairs]
        return [(value, name if value == each else each) for value, (each, name) in zip(values, pairs, strict=True)]

    def _value_of(self, company: str, name: str) -> str:
        """Return a company's name, or its id if others have the same name."""
        return company if list(self.company_names.values()).count(name) > 1 else name

    @cached_property
    def company_names(self) -> Mapping[str, str]:
        """Names by id of companies only, which are cached: reading names of tenants costs every time."""
        return known_companies.known_to(self.staff, COMPANY).of_kind(COMPANY)

    def actions(self) -> tuple[str, ...]:
        """Return the action types chosen singly or by group, each once; empty if none are chosen."""
        slugs = group_slugs()
        groups = action_groups()
        wanted = {*self.chosen("action", ())}
        wanted.update(*(groups[slugs[slug]] for slug in self.chosen("group", ())))
        known = known_actions()
        return (
            *(each for each in known if each in wanted),
            *(each for each in self.chosen("other", ()) if each not in known),
        )

    def values(self) -> list[tuple[str, str]]:
        """Return the valid filters that are set, as URL parameters."""
        found = [(name, each) for name in ("group", "action") for each in self.chosen(name, ())]
        found += [("action", each) for each in self.chosen("other", ())]
        if self.chosen("nobody"):
            found.append(("nobody", "on"))
        names = ("actor", "result", "company", "since", "until")
        return found + [(name, str(self.chosen(name))) for name in names if self.chosen(name)]

    def review(self, about: About | None = None) -> Review:
        """Return the filters as a `Review`, with days from midnight to midnight in the person's time zone."""
        since, until = self.instants(zone_of(self.staff))
        return Review(
            actions=self.actions(),
            actor=NO_ACTOR_FILTER if self.chosen("nobody") else self.chosen("actor"),
            result=self.chosen("result"),
            company=self.chosen("company"),
            since=since,
            until=until,
            conversation=(about.value if about.what == CONVERSATION else about.trail) if about else "",
            key=about.value if about and about.what == KEY else "",
        )


def _with_others_apart(data: QueryDict) -> QueryDict:
    """Separate the action types of a URL: listed ones go to the checkboxes, others to the text field."""
    apart, known = data.copy(), known_actions()
    named = [*data.getlist("action"), *_typed(data.get("other", ""))]
    apart.setlist("action", [each for each in named if each in known])
    apart["other"] = " ".join(each for each in named if each not in known)
    return apart


def _typed(types: str) -> list[str]:
    return types.replace(",", " ").split()


def review_of(query: QueryDict, staff: Staff) -> tuple[ReviewForm, Review, str]:
    """Return the form of a URL's query, its review, and the query without the page.

    Invalid filters are left out of the review and the query, and are in the form's `errors`. Raises `BadReference` for
    an `about` that this console did not seal.
    """
    about = about_of(query)
    form = ReviewForm(query, staff)
    return form, form.review(about), query_of(form, about)


def about_of(query: QueryDict) -> About | None:
    """Return the one conversation or key that a URL names, if any. Raises `BadReference`."""
    sealed = query.get("about", "")
    return About.opened(sealed) if sealed else None


def query_of(form: ReviewForm, about: About | None) -> str:
    """Return the valid filters of a form as a URL query, about that conversation or key."""
    values = form.values()
    return urlencode([*values, ("about", about.sealed)] if about else values)


class AboutForm(forms.Form):
    """One conversation or idempotency key: only ever POSTed, as both may contain a phone number."""

    what = forms.ChoiceField(
        label="Look at one",
        choices=[(CONVERSATION, "conversation, by its id"), (KEY, "idempotency key")],
        error_messages={"invalid_choice": "Choose one of these."},
    )
    value = KeyField(label="Id or key", error_messages={"required": "Enter an id or a key."})

    def __init__(self, data: QueryDict | None, staff: Staff) -> None:
        super().__init__(data)
        add_reason_field(self, staff)

    def about(self) -> About:
        """Return what a valid form names."""
        return About(self.cleaned_data["what"], self.cleaned_data["value"])


def clean_person(typed: str) -> str:
    """Return a typed username or service's name, or the username of the person with that name.

    Raises `ValidationError`, in words, for what could be a customer's number or address, and for an unknown name.
    """
    if redact(typed) != typed:
        raise forms.ValidationError("Enter a username or a service's name, not a number or an address.")
    return cleaned_by(username_of, typed) if _is_a_persons_name(typed) else typed


def _is_a_persons_name(typed: str) -> bool:
    """Return whether a text is a person's name as people write it, not a username or a service's name."""
    return " " in typed or (typed.isalpha() and typed != typed.lower() and typed != typed.upper())
