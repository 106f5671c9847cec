"""What a person types before a conversation is cleared."""

from typing import Any

from django import forms

from console.forms import PLAIN_TEXT


class ClearForm(forms.Form):
    """The id of the conversation, as the page shows it."""

    typed = forms.CharField(
        label="Type the conversation's id to confirm",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Type the id to confirm."},
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name

    def clean_typed(self) -> str:
        """The id itself; how many spaces stand in it cannot be seen on a page."""
        typed: str = self.cleaned_data["typed"]
        if typed.split() != self.name.split():
            raise forms.ValidationError("That is not the id of this conversation. Nothing was cleared.")
        return typed
