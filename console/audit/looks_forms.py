"""What to look up who looked by: typed, and POSTed, for people type numbers and addresses."""

from typing import ClassVar

from django import forms

from console.audit.looks import is_a_name
from console.audit.review.forms import MAX_KEY_BYTES
from console.staff.accounts import normal_username

_PLAIN_TEXT = {"autocomplete": "off", "autocapitalize": "none", "autocorrect": "off", "spellcheck": "false"}


class PersonLooks(forms.Form):
    """A member of staff."""

    look: ClassVar[str] = "person"
    username = forms.CharField(
        max_length=200,
        widget=forms.TextInput(attrs=dict(_PLAIN_TEXT)),
        error_messages={"required": "Type a username."},
    )

    def clean_username(self) -> str:
        """As stored."""
        username = normal_username(self.cleaned_data["username"])
        if not is_a_name(username):
            raise forms.ValidationError("Type a username: no number or address is one.")
        return username


class ConversationLooks(forms.Form):
    """A conversation."""

    look: ClassVar[str] = "conversation"
    conversation_id = forms.CharField(
        label="Conversation id",
        max_length=MAX_KEY_BYTES,
        widget=forms.TextInput(attrs=dict(_PLAIN_TEXT)),
        error_messages={"required": "Type a conversation id."},
    )

    def clean_conversation_id(self) -> str:
        """Within what DynamoDB takes for a key."""
        value: str = self.cleaned_data["conversation_id"]
        if not 0 < len(value.encode("utf-8", "replace")) <= MAX_KEY_BYTES or not value.isprintable():
            raise forms.ValidationError("That cannot be the id of a conversation.")
        return value


LOOKUPS: dict[str, type[PersonLooks] | type[ConversationLooks]] = {
    each.look: each for each in (PersonLooks, ConversationLooks)
}
