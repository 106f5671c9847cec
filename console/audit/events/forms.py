"""The two look-ups of idempotency records. Only ever POSTed: keys and conversation ids hold phone numbers."""

from django import forms

from console.audit.events.queries import MAX_KEY_BYTES

# Not kept by the browser, nor sent anywhere for its spelling.
_PRIVATE = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


def _key(label: str, help_text: str) -> forms.CharField:
    widget = forms.TextInput(attrs=dict(_PRIVATE))
    return forms.CharField(
        label=label, max_length=MAX_KEY_BYTES, help_text=help_text, widget=widget, validators=[_is_key]
    )


def _is_key(value: str) -> None:
    if any(ord(char) < 32 or 0xD800 <= ord(char) <= 0xDFFF for char in value):
        raise forms.ValidationError("There are characters in it that cannot be part of it.")
    if len(value.encode("utf-8", "replace")) > MAX_KEY_BYTES:
        raise forms.ValidationError("A key is at most 2,048 bytes long.")


class EventLookup(forms.Form):
    """By event id: the key of a record."""

    look = "event"
    event_id = _key("Event id", "The idempotency key, such as evt:rp:conv123:msg456")


class ConversationLookup(forms.Form):
    """By conversation id."""

    look = "conversation"
    conversation_id = _key("Conversation id", "As the middleware stores it")


LOOKUPS: dict[str, type[EventLookup] | type[ConversationLookup]] = {
    each.look: each for each in (EventLookup, ConversationLookup)
}
