"""What is known of a conversation of which only the id is known: its company, and who its recipient is."""

from console.audit.scoping import KnownConversation
from console.errors import NotAccepted, TableMissing
from console.store.keys import SORT_KEY_BYTES, fits
from console.store.streams import query
from conversations.models import Conversation, ConversationIdIndex
from conversations.reading import names_of

# One id is one conversation but for a few; more would be no conversation's id.
MAX_ITEMS = 20


def known_conversation(conversation_id: str) -> KnownConversation:
    """The companies and the recipients' names of the conversations with that id; nothing for an unknown id.

    One Query of the conversation-id index. Raises the store's errors, but not for an absent table or index.
    """
    if not fits(conversation_id, SORT_KEY_BYTES):
        return KnownConversation()
    try:
        # Naming attributes would be refused where the index was made without them.
        items, _ = query(Conversation, conversation_id, index=ConversationIdIndex.Meta.index_name, limit=MAX_ITEMS)
    except (TableMissing, NotAccepted):
        return KnownConversation()
    # An item without a readable company is in nobody's scope, so the whole trail has no known owner.
    owners = [item.get("company_id", {}).get("S", "") for item in items]
    names = (name for item in items for name in names_of(Conversation.from_raw_data(item)))
    return KnownConversation(frozenset() if "" in owners else frozenset(owners), tuple(dict.fromkeys(names)))
