"""Forms to find conversations: GET filters of lists, which tolerate junk, and look-ups, which are always POSTed."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict

from console.forms import DaysForm, FilterForm, KeyField, LookupForm, bind_lookup, lookups_by_name
from console.permissions import Staff
from console.search.meanings import is_national
from console.store.models import SORT_KEY_BYTES
from conversations.converting import CHANNELS, words
from conversations.finding.filters import FAMILY, ConversationFilters
from conversations.finding.lookups import (
    LookupFinding,
    country_codes,
    find_by_id,
    find_recipient,
    find_replies,
    spellings,
)
from conversations.records import ConversationSummary, Family, family_of

_BY_FAMILY = {f"{FAMILY}{family}": family.label for family in Family}
# The schema names some statuses and writers use others, so each page adds those of its rows.
KNOWN = (
    *("processing", "initial_message_sent", "awaiting_reply", "processing_reply", "reply_sent", "retry", "completed"),
    *("failed_to_process_ai", "failed_to_send_message", "failed_secrets_fetch", "failed_unknown"),
)
_WORD = RegexValidator(re.compile(r"[\w .:/-]+\Z"), "Choose one of the listed values.")


HAND_OFFS = {"waiting": "waiting", "held": "with a human", "ai": "with the AI"}
TASKS = {"1": "complete", "0": "not complete"}
ORDERS = {"project": "By project"}
_NO_CHOICE = {"invalid_choice": "Choose one of the listed values."}


class ConversationFilter(FilterForm):
    """GET filters of a project's conversations."""

    status = forms.CharField(required=False, max_length=60, validators=[_WORD], widget=forms.Select)
    channel = forms.CharField(required=False, max_length=40, validators=[_WORD], widget=forms.Select)
    hand_off = forms.ChoiceField(
        required=False,
        label="Hand-off",
        error_messages=_NO_CHOICE,
        widget=forms.Select,
        choices=[("", "Any"), *HAND_OFFS.items()],
    )
    task = forms.ChoiceField(
        required=False,
        label="Task",
        error_messages=_NO_CHOICE,
        widget=forms.Select,
        choices=[("", "Any"), *TASKS.items()],
    )

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()
        self.offer(())

    def offer(self, rows: Iterable[ConversationSummary]) -> None:
        """Fill the selects: a status by its family, and as stored if it has none or was chosen before."""
        shown, chosen = list(rows), self.values()
        status = chosen.get("status", "")
        of_none = (row.status for row in shown if family_of(row.status) is None)
        stored = [each for each in dict.fromkeys((*of_none, "" if status in _BY_FAMILY else status)) if each]
        channels = dict.fromkeys((*CHANNELS, *(row.channel for row in shown), chosen.get("channel", "")))
        self._choices(
            "status",
            [*_BY_FAMILY.items(), *([("As stored", [(each, words(each)) for each in stored])] if stored else [])],
        )
        self._choices("channel", [(each, CHANNELS.get(each, each)) for each in channels if each])

    def _choices(self, name: str, choices: list[Any]) -> None:
        self.fields[name].widget.choices = [("", "Any"), *choices]

    def values(self) -> dict[str, str]:
        """Return the valid filters that are set, as query parameters."""
        return {name: str(value) for name in self.fields if (value := self.cleaned_data.get(name))}

    def filters(self, zone: ZoneInfo) -> ConversationFilters:
        """Return the filters; days are those of the person's time zone."""
        chosen = self.values()
        return ConversationFilters(
            status=chosen.get("status", ""),
            channel=chosen.get("channel", ""),
            hand_off=chosen.get("hand_off", ""),
            task=chosen["task"] == "1" if "task" in chosen else None,
        )


class CompanyListFilter(ConversationFilter):
    """The filters of a company's conversations, and their order.

    Conversations without `updated_at` are in the order by project only.
    """

    order = forms.ChoiceField(
        required=False,
        error_messages=_NO_CHOICE,
        widget=forms.Select,
        choices=[("", "Latest activity"), *ORDERS.items()],
    )

    @property
    def in_time(self) -> bool:
        """Whether the latest activity comes first."""
        return "order" not in self.values()


class RecipientFilter(DaysForm, ConversationFilter):
    """The filters plus the first and last day of creation."""

    field_order = ("since", "until", "status", "channel", "hand_off", "task")

    def filters(self, zone: ZoneInfo) -> ConversationFilters:
        """Return the filters, with the days as instants from midnight to midnight in the person's time zone."""
        since, until = self.instants(zone)
        return replace(super().filters(zone), since=since, until=until)


class CompanyFilter(forms.Form):
    """GET filter of the list of companies."""

    name = forms.CharField(required=False, max_length=100, label="Company")


def _check_identifier(value: str) -> None:
    if not spellings(value):
        raise forms.ValidationError("Enter a phone number or an email address.")


def _identifier(label: str, help_text: str = "") -> KeyField:
    return KeyField(label=label, most=320, help_text=help_text, validators=[_check_identifier])


class ConversationLookupForm(LookupForm):
    """A look-up. `find` runs it; `terms` are the typed values, which are sealed into the address of the results."""

    def find(self, staff: Staff) -> LookupFinding:
        """Run the look-up in the person's scope."""
        raise NotImplementedError

    def terms(self) -> dict[str, str]:
        """Return the cleaned fields."""
        return {name: str(self.cleaned_data[name]) for name in self.base_fields}


class RecipientLookup(ConversationLookupForm):
    """Look-up by the recipient's phone number or email."""

    look = "recipient"
    of_person = ("recipient",)
    recipient = _identifier("Recipient's phone number or email", "With the country code, such as +44 7700 900123")

    def find(self, staff: Staff) -> LookupFinding:
        """Find the recipient's conversations, trying country codes for a national number."""
        typed = self.cleaned_data["recipient"]
        return find_recipient(typed, staff, country_codes(staff) if is_national(typed) else ())


class RepliesLookup(ConversationLookupForm):
    """Look-up by our number or address and the recipient's, as the platform finds a conversation for a reply."""

    look = "replies"
    of_person = ("recipient",)
    channel = forms.ChoiceField(choices=list(CHANNELS.items()))
    ours = _identifier("Our number or address")
    recipient = _identifier("Recipient's phone number or email")

    def find(self, staff: Staff) -> LookupFinding:
        """Find the conversations between our number or address and the recipient."""
        terms = self.cleaned_data
        return find_replies(terms["channel"], terms["ours"], terms["recipient"], staff)


class IdLookup(ConversationLookupForm):
    """Look-up by conversation id."""

    look = "id"
    conversation_id = KeyField(label="Conversation id", most=SORT_KEY_BYTES)

    def find(self, staff: Staff) -> LookupFinding:
        """Find the conversations with the id."""
        return find_by_id(self.cleaned_data["conversation_id"], staff)


LOOKUPS: dict[str, type[ConversationLookupForm]] = lookups_by_name(RecipientLookup, RepliesLookup, IdLookup)


def bound_lookup(context: dict[str, Any] | None) -> ConversationLookupForm | None:
    """Return the look-up of a list context, bound and valid, or None."""
    match context:
        case {"list": "found", "look": str() as look, "terms": dict() as terms} if look in LOOKUPS:
            form = bind_lookup(LOOKUPS[look], terms)
            return form if form.is_valid() else None
    return None
