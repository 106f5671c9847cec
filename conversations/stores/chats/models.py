"""Items of the chatbot's four tables (schema chatbot-sessions), with attributes named as they are stored.

The chatbot writes them; the console only sets `TimestampFinished` of a session.
"""

from decimal import Decimal

from pynamodb.attributes import Attribute, NumberAttribute, UnicodeAttribute
from pynamodb.constants import NUMBER
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, TableMeta


class DecimalAttribute(Attribute[Decimal]):
    """A number with all its digits: a float would change times that are part of a key."""

    attr_type = NUMBER

    def serialize(self, value: Decimal) -> str:
        """Return the number as DynamoDB expects it."""
        return str(value)

    def deserialize(self, value: str) -> Decimal:
        """Return the exact number. Raises `ArithmeticError` for anything else, which a foreign model notes as drift."""
        return Decimal(value)


class Session(ForeignModel):
    """A session (table Sessions), stored until DynamoDB removes it after it has expired. Times are epoch seconds."""

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
    """A user's chats over time. The misspelt index name is the schema's."""

    class Meta:
        index_name = "UserConverationGlobalIndex"
        projection = AllProjection()

    UserId = UnicodeAttribute(hash_key=True)
    TimestampCreated = DecimalAttribute(range_key=True)


class UsersLastMessageIndex(GlobalSecondaryIndex["ChatEvent"]):
    """All users who have ever chatted, unordered."""

    class Meta:
        index_name = "UsersLastMessageGlobalIndex"
        projection = AllProjection()

    UserId = UnicodeAttribute(hash_key=True)


class ChatEvent(ForeignModel):
    """A message that was written (table Chats), stored permanently: author, time and resulting image, but no text."""

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
    """The text of a message (table ChatMessages, in `Message`), until its session expires."""

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
    """A generated image (table ImageResponses): its prompt, and its address."""

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
