"""What to look up who looked by: typed, and POSTed, for people type numbers and addresses."""

from django import forms

from console.audit.access_log.reading import is_a_name
from console.forms import PLAIN_TEXT, KeyField, LookupForm, by_look
from console.staff.accounts import normal_username


class PersonLooks(LookupForm):
    """A member of staff."""

    look = "person"
    of_person = ()
    username = forms.CharField(
        max_length=200,
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter a username."},
    )

    def clean_username(self) -> str:
        """As stored."""
        username = normal_username(self.cleaned_data["username"])
        if not is_a_name(username):
            raise forms.ValidationError("Enter a username, not a number or an address.")
        return username


class ConversationLooks(LookupForm):
    """A conversation."""

    look = "conversation"
    conversation_id = KeyField(label="Conversation id", error_messages={"required": "Enter a conversation id."})


class RecipientLooks(LookupForm):
    """A customer, by their number or address."""

    look = "recipient"
    of_person = ("recipient",)
    recipient = KeyField(
        label="Phone number or email address",
        most=320,
        help_text="With the country code, such as +44 7700 900123",
        error_messages={"required": "Enter a phone number or an email address."},
    )


LOOKUPS: dict[str, type[LookupForm]] = by_look(PersonLooks, ConversationLooks, RecipientLooks)
