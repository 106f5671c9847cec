"""The two look-ups of idempotency records. Only ever POSTed: keys and conversation ids hold phone numbers."""

from console.forms import KeyField, LookupForm, by_look


class EventLookup(LookupForm):
    """By event id: the key of a record."""

    look = "event"
    event_id = KeyField(label="Event id", help_text="The idempotency key, such as evt:rp:conv123:msg456")


class ConversationLookup(LookupForm):
    """By conversation id."""

    look = "conversation"
    conversation_id = KeyField(label="Conversation id", help_text="As the middleware stores it")


LOOKUPS: dict[str, type[LookupForm]] = by_look(EventLookup, ConversationLookup)
