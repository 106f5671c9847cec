"""The filters of a review, which an address may hold; and what may not stand in one, which is POSTed and sealed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.text import slugify

from console.audit.events.keys import decode, shown_key
from console.audit.review.filters import MOST_NAMED, NOBODY, Review, action_groups, is_action_type, known_actions
from console.audit.sentences import label_of
from console.errors import BadReference
from console.forms import PLAIN_TEXT, DaysForm, KeyField, ask_reason, cleaned_by
from console.permissions import COMPANY, TENANT, Staff
from console.redaction import redact
from console.refs import seal_data, unseal_data
from console.search.meanings import named_so
from console.staff import known_companies
from console.staff.directory import is_a_persons_name, username_of
from console.templatetags.console import zone_of
from console.trail.actions import Result

SUGGESTED = 60
CONVERSATION, KEY = "conversation", "key"
_KIND, _TRAIL = "about", "trail"
# A number or address typed here by mistake stays out of the address bar where the browser checks patterns.
_ACTOR = {"list": "actors", "pattern": r"(?!.*\d{7})[^@]*", "title": "A person's name or username, or a service's name"}
_COMPANY = {"list": "companies", "pattern": r"(?!\+?[0-9 .\-\(\)]{7,}$)[^@]*", "title": "A company's name or id"}
_TYPES = {"pattern": r"(?!.*\d{7})[A-Za-z0-9_.:, \-]*", "title": "Action types, with spaces between"}
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
    """The one conversation or idempotency key that a review is of. `value` may hold personal data, `shown` not.

    `trail` is where the key was seen, "" where nobody knows: its record, which tells otherwise, expires before entries.
    """

    what: str
    value: str = field(repr=False)
    trail: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """The value, redacted."""
        return shown_key(self.value) if self.what == KEY else redact(self.value)

    @property
    def sealed(self) -> str:
        """For the parameter `about` of an address."""
        return seal_data(_KIND, {self.what: self.value} | ({_TRAIL: self.trail} if self.trail else {}))

    @property
    def hint(self) -> str:
        """What explains that nothing is found under it; "" for nothing special."""
        if self.what == KEY and not self.trail and not decode(self.value).conversation:
            return (
                "A key of this form does not name a conversation. Find its entries from its record, or from an "
                "entry's page."
            )
        return ""

    @classmethod
    def opened(cls, reference: str) -> "About":
        """What `sealed` made. Raises `BadReference`."""
        data = unseal_data(_KIND, reference)
        for what in (CONVERSATION, KEY):
            if isinstance(data, dict) and isinstance(value := data.get(what), str) and value:
                return cls(what, value, str(data.get(_TRAIL, "")))
        raise BadReference


@dataclass(frozen=True, slots=True)
class Choice:
    """One checkbox: an action type, or all of a group."""

    value: str
    label: str
    checked: bool


@dataclass(frozen=True, slots=True)
class ActionGroup:
    """The checkboxes of a group of action types."""

    whole: Choice
    single: tuple[Choice, ...]

    @property
    def is_open(self) -> bool:
        """Whether single ones are ticked."""
        return any(each.checked for each in self.single)


def group_slugs() -> dict[str, str]:
    """The groups of action types: their names by what an address calls them."""
    return {slugify(name): name for name in action_groups()}


class ReviewForm(DaysForm):
    """GET filters. What is invalid is named and left out. Days are those of the person's time zone, both included."""

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
        help_text="As services write them, with spaces between",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, **_TYPES}),
    )
    actor = forms.CharField(
        required=False, max_length=200, label="Who", widget=forms.TextInput(attrs={**PLAIN_TEXT, **_ACTOR})
    )
    nobody = forms.BooleanField(required=False, label="Only the middleware, which names nobody")
    result = forms.ChoiceField(
        required=False,
        choices=list(_RESULTS.items()),
        error_messages={"invalid_choice": "Choose one of the listed results."},
    )
    company = forms.CharField(
        required=False, max_length=200, label="Company", widget=forms.TextInput(attrs={**PLAIN_TEXT, **_COMPANY})
    )
    field_order = ("group", "action", "other", "actor", "nobody", "result", "company", "since", "until")

    def __init__(self, data: QueryDict, staff: Staff) -> None:
        data = _with_others_apart(data)
        super().__init__(data)
        self.staff = staff
        self._choices("group", group_slugs())
        self._choices("action", {name: name for name in known_actions()})
        self.is_valid()
        if name := self._names.get(self.chosen("company")):
            # Names are shown, whatever an address holds.
            data["company"] = self._value_of(self.chosen("company"), name)

    def _choices(self, name: str, choices: dict[str, str]) -> None:
        self.fields[name].choices = list(choices.items())  # type: ignore[attr-defined]

    def clean_actor(self) -> str:
        """A username or a service's name, as stored, also of a person's name; nothing that could be a customer's."""
        actor: str = self.cleaned_data["actor"]
        if redact(actor) != actor:
            raise forms.ValidationError("Enter a username or a service's name, not a number or an address.")
        if actor.lower() == NOBODY:
            return NOBODY
        return cleaned_by(username_of, actor) if is_a_persons_name(actor) else actor

    def clean_company(self) -> str:
        """A company or tenant in scope by id or name; whether there is one of that id is not told."""
        typed: str = self.cleaned_data["company"]
        scope = self.staff.scope
        if not typed or typed in scope.company_ids | scope.tenant_ids or typed in self._names:
            return typed
        if redact(typed) != typed:
            raise forms.ValidationError("Enter a company's name or id, not a number or an address.")
        found, names = _called(typed, self._names), self._names
        if not found:
            names = known_companies.known_to(self.staff, TENANT).of_kind(TENANT)
            found = [typed] if typed in names else _called(typed, names)
        if not found and not scope.everything:
            raise forms.ValidationError("No company in your scope has that name or id.")
        if len(found) > 1:
            which = ", ".join(f"{names[each]} ({each})" for each in found[:MOST_NAMED])
            raise forms.ValidationError(f"Several have that name: {which}. Choose one.")
        return found[0] if found else typed

    def clean_other(self) -> list[str]:
        """Action types that are not offered: those of services are an open set. Each costs a Query."""
        typed = list(dict.fromkeys(_typed(self.cleaned_data["other"])))
        if not all(map(is_action_type, typed)):
            raise forms.ValidationError("This is not an action type.")
        if len(typed) > MOST_NAMED:
            raise forms.ValidationError(f"You can search for up to {MOST_NAMED} unlisted action types at once.")
        return typed

    def clean(self) -> None:
        """One does not look for somebody and for nobody."""
        super().clean()
        if self.cleaned_data.get("nobody") and self.cleaned_data.get("actor") not in (None, "", NOBODY):
            self.add_error("nobody", "Choose either a person or entries that name nobody.")

    # --- For pages ----------------------------------------------------------------------------------------------------

    @property
    def groups(self) -> Iterator[ActionGroup]:
        """The checkboxes of action types."""
        whole, single = self.chosen("group", []), self.chosen("action", [])
        for (slug, name), actions in zip(group_slugs().items(), action_groups().values(), strict=True):
            choices = tuple(Choice(each, label_of(each), each in single) for each in actions)
            yield ActionGroup(Choice(slug, name, slug in whole), choices)

    @property
    def companies(self) -> list[tuple[str, str]]:
        """Companies to suggest, by name: what stands in the field, and what tells it from others."""
        pairs = list(self._names.items())[:SUGGESTED]
        values = [self._value_of(each, name) for each, name in pairs]
        return [(value, name if value == each else each) for value, (each, name) in zip(values, pairs, strict=True)]

    def _value_of(self, company: str, name: str) -> str:
        """What names a company in the field: its name, or its id where others are called so."""
        return company if list(self._names.values()).count(name) > 1 else name

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Of companies, which a worker remembers: reading those of tenants costs each time."""
        return known_companies.known_to(self.staff, COMPANY).of_kind(COMPANY)

    @property
    def actors(self) -> tuple[tuple[str, str], ...]:
        """Those to suggest who are no people."""
        return (
            (NOBODY, "names nobody"),
            ("platform", "the platform"),
            ("command-line", "an operator"),
            ("visitor", "nobody signed in"),
        )

    def actions(self) -> tuple[str, ...]:
        """The action types chosen one by one or as groups, each once; none for none."""
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
        """The valid filters that are set, as an address has them."""
        found = [(name, each) for name in ("group", "action") for each in self.chosen(name, ())]
        found += [("action", each) for each in self.chosen("other", ())]
        if self.chosen("nobody"):
            found.append(("nobody", "on"))
        names = ("actor", "result", "company", "since", "until")
        return found + [(name, str(self.chosen(name))) for name in names if self.chosen(name)]

    def review(self, about: About | None = None) -> Review:
        """What is looked for, with days as instants from midnight to midnight in the person's time zone."""
        since, until = self.instants(zone_of(self.staff))
        return Review(
            actions=self.actions(),
            actor=NOBODY if self.chosen("nobody") else self.chosen("actor"),
            result=self.chosen("result"),
            company=self.chosen("company"),
            since=since,
            until=until,
            conversation=(about.value if about.what == CONVERSATION else about.trail) if about else "",
            key=about.value if about and about.what == KEY else "",
        )


def _called(typed: str, names: Mapping[str, str]) -> list[str]:
    """The ids of what is called so, or else of what has a word beginning with each that was typed."""
    whole = [each for each, name in names.items() if name.casefold() == typed.casefold()]
    return whole or [each for each, name in names.items() if named_so(name, typed)]


def _with_others_apart(data: QueryDict) -> QueryDict:
    """Action types that are offered are ticked, others stand where they are typed, wherever an address has them."""
    apart, known = data.copy(), known_actions()
    named = [*data.getlist("action"), *_typed(data.get("other", ""))]
    apart.setlist("action", [each for each in named if each in known])
    apart["other"] = " ".join(each for each in named if each not in known)
    return apart


def _typed(types: str) -> list[str]:
    return types.replace(",", " ").split()


def review_of(query: QueryDict, staff: Staff) -> tuple[ReviewForm, Review, str]:
    """The form of an address, what it looks for, and the same address's query without its page.

    What is invalid is left out of the review and the query, and named by the form (`form.errors`). Raises
    `BadReference` for an `about` that this console did not seal.
    """
    about = about_of(query)
    form = ReviewForm(query, staff)
    return form, form.review(about), query_of(form, about)


def about_of(query: QueryDict) -> About | None:
    """The one conversation or key that an address names, if any. Raises `BadReference`."""
    sealed = query.get("about", "")
    return About.opened(sealed) if sealed else None


def query_of(form: ReviewForm, about: About | None) -> str:
    """The valid filters of a form as the query of an address, about that conversation or key."""
    values = form.values()
    return urlencode([*values, ("about", about.sealed)] if about else values)


class AboutForm(forms.Form):
    """One conversation or idempotency key: only ever POSTed, for both may hold a phone number."""

    what = forms.ChoiceField(
        label="Look at one",
        choices=[(CONVERSATION, "conversation, by its id"), (KEY, "idempotency key")],
        error_messages={"invalid_choice": "Choose one of these."},
    )
    value = KeyField(label="Id or key", error_messages={"required": "Enter an id or a key."})

    def __init__(self, data: QueryDict | None, staff: Staff) -> None:
        super().__init__(data)
        ask_reason(self, staff)

    def about(self) -> About:
        """What a valid form names."""
        return About(self.cleaned_data["what"], self.cleaned_data["value"])
