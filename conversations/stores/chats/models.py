"""Items of the chatbot's four tables (schema chatbot-sessions). Attributes bear the names that they are stored under.

The chatbot writes them; the console sets `TimestampFinished` of a session and nothing else.
"""

from decimal import Decimal

from pynamodb.attributes import Attribute, NumberAttribute, UnicodeAttribute
from pynamodb.constants import NUMBER
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, TableMeta


class DecimalAttribute(Attribute[Decimal]):
    """A number with all its digits: as a float, a time of a key would no longer be that key."""

    attr_type = NUMBER

    def serialize(self, value: Decimal) -> str:
        """As DynamoDB takes a number."""
        return str(value)

    def deserialize(self, value: str) -> Decimal:
        """Exact. Raises `ArithmeticError` for no number, which a foreign model notes as drift."""
        return Decimal(value)


class Session(ForeignModel):
    """A session (table Sessions), there while it runs and until DynamoDB removes it. Times are epoch seconds."""

    class Meta(TableMeta):
        table_key = "SESSIONS"

    UserId = UnicodeAttribute(hash_key=True)
    SessionId = UnicodeAttribute(range_key=True)
    TimestampCreated = NumberAttribute()
    TimestampFinished = NumberAttribute(null=True)
    MessagesQuota = NumberAttribute()
    SessionConfig = UnicodeAttribute()
    SessionTTL = NumberAttribute()


class UserConversationIndex(GlobalSecondaryIndex["ChatEvent"]):
    """A user's chats over time. The schema spells its name so."""

    class Meta:
        index_name = "UserConverationGlobalIndex"
        projection = AllProjection()

    UserId = UnicodeAttribute(hash_key=True)
    TimestampCreated = DecimalAttribute(range_key=True)


class UsersLastMessageIndex(GlobalSecondaryIndex["ChatEvent"]):
    """Whoever ever chatted; it has no order."""

    class Meta:
        index_name = "UsersLastMessageGlobalIndex"
        projection = AllProjection()

    UserId = UnicodeAttribute(hash_key=True)


class ChatEvent(ForeignModel):
    """That somebody wrote at some time (table Chats), for good: who, and which image came of it, but no text."""

    class Meta(TableMeta):
        table_key = "CHATS"

    SessionId = UnicodeAttribute(hash_key=True)
    TimestampCreated = DecimalAttribute(range_key=True)
    UserId = UnicodeAttribute()
    ChatAgent = UnicodeAttribute()
    ImageId = UnicodeAttribute(null=True)

    user_conversation_index = UserConversationIndex()
    users_last_message_index = UsersLastMessageIndex()


class ChatText(ForeignModel):
    """What was written (table ChatMessages, in `Message`), until its session expires."""

    class Meta(TableMeta):
        table_key = "CHAT_MESSAGES"

    SessionId = UnicodeAttribute(hash_key=True)
    TimestampCreated = DecimalAttribute(range_key=True)
    SessionTTL = NumberAttribute()


class PromptIndex(GlobalSecondaryIndex["Image"]):
    """The images of one prompt over time."""

    class Meta:
        index_name = "PromptGlobalIndex"
        projection = AllProjection()

    Prompt = UnicodeAttribute(hash_key=True)
    TimestampCreated = DecimalAttribute(range_key=True)


class Image(ForeignModel):
    """A generated image (table ImageResponses): its prompt, and where it lies."""

    class Meta(TableMeta):
        table_key = "IMAGE_RESPONSES"

    ImageId = UnicodeAttribute(hash_key=True)
    UserId = UnicodeAttribute()
    Prompt = UnicodeAttribute()
    ImageURI = UnicodeAttribute()
    TimestampCreated = DecimalAttribute()

    prompt_index = PromptIndex()


USER_CONVERSATION: str = UserConversationIndex.Meta.index_name
USERS_LAST_MESSAGE: str = UsersLastMessageIndex.Meta.index_name
PROMPT: str = PromptIndex.Meta.index_name
