"""Forms for a saved reply and for the filters of the list."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import get_text_list

from console.forms import PLAIN_TEXT, FilterForm
from console.permissions import OwnerKind
from conversations.companies import Company
from conversations.team.saved_replies.filling import PLACEHOLDERS, unknown_in
from conversations.team.saved_replies.service import LONGEST_NAME, LONGEST_TEXT

_NAMED = ["{" + name + "}" for name in PLACEHOLDERS]


class _LinesField(forms.CharField):
    """Text with LF line ends, which counts as one character."""

    widget = forms.Textarea(attrs={"rows": 8, "dir": "auto"})

    def to_python(self, value: Any) -> str:
        return super().to_python(str(value or "").replace("\r\n", "\n")) or ""


class SavedReplyForm(forms.Form):
    """Name and text of a saved reply."""

    name = forms.CharField(
        max_length=LONGEST_NAME,
        help_text="Use this name to find the reply.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
        error_messages={"required": "Enter a name."},
    )
    text = _LinesField(max_length=LONGEST_TEXT, error_messages={"required": "Enter the text."})

    def clean_name(self) -> str:
        """Return the name on one line."""
        return " ".join(self.cleaned_data["name"].split())

    def clean_text(self) -> str:
        """Refuse unknown placeholders, which would go to a customer as typed."""
        text: str = self.cleaned_data["text"]
        if unknown := unknown_in(text):
            raise forms.ValidationError(f"{unknown} is not a placeholder. Use {get_text_list(_NAMED, 'or')}.")
        return text


class SavedRepliesFilter(FilterForm):
    """GET filters of the list: the tab, a company on the tab of companies, and a search text."""

    tab = forms.ChoiceField(
        required=False, choices=[(each.value, each.value) for each in OwnerKind], widget=forms.HiddenInput
    )
    company = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of the listed companies."}, widget=forms.Select
    )
    q = forms.CharField(
        required=False,
        max_length=LONGEST_NAME,
        label="Search in name and text",
        widget=forms.TextInput(attrs={**PLAIN_TEXT, "type": "search"}),
    )

    def __init__(self, data: QueryDict, companies: Sequence[Company]) -> None:
        super().__init__(data)
        if data.get("tab") == OwnerKind.COMPANY:
            self.fields["company"].choices = [  # type: ignore[attr-defined]
                *([("", "Choose a company")] if len(companies) != 1 else []),
                *((each.company_id, each.name) for each in companies),
            ]
        else:
            del self.fields["company"]
        self.is_valid()
