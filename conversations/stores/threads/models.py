"""Items of the assistant's history (schema thread-history): threads and messages share one table.

The assistant writes them: read tolerantly, and write only the named attributes of feedback.
"""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, PlainListAttribute, PlainMapAttribute, TableMeta

TABLE = "THREADS"


class MessageIdIndex(GlobalSecondaryIndex["ThreadMessage"]):
    """From a message's id to the message, within its thread."""

    class Meta:
        index_name = "PK-SKMessage-index-v1"
        projection = AllProjection()

    PK = UnicodeAttribute(hash_key=True)
    SKMessage = UnicodeAttribute(range_key=True)


class ThreadTimeIndex(GlobalSecondaryIndex["Thread"]):
    """The threads of a partition by time."""

    class Meta:
        index_name = "PK-SKTimestampThread-index-v1"
        projection = AllProjection()

    PK = UnicodeAttribute(hash_key=True)
    SKTimestampThread = UnicodeAttribute(range_key=True)


class OrganisationIndex(GlobalSecondaryIndex["Thread"]):
    """The console's own index: an organisation's threads, latest activity first."""

    class Meta:
        index_name = "org-id-updated-at-index"
        projection = AllProjection()

    org_id = UnicodeAttribute(hash_key=True)
    updated_at = UnicodeAttribute(range_key=True)


class Thread(ForeignModel):
    """The metadata of a thread (`ThreadMetadata`). `ExpiryTime` is in epoch seconds."""

    class Meta(TableMeta):
        table_key = TABLE

    PK = UnicodeAttribute(hash_key=True)
    SK = UnicodeAttribute(range_key=True)
    SKTimestampThread = UnicodeAttribute(null=True)
    ExpiryTime = NumberAttribute(null=True)
    org_id = UnicodeAttribute(null=True)
    user_id = UnicodeAttribute(null=True)
    origin = UnicodeAttribute(null=True)
    is_temporary = BooleanAttribute(null=True)
    title = UnicodeAttribute(null=True)
    created_at = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)
    user_message_count = NumberAttribute(null=True)

    thread_time_index = ThreadTimeIndex()
    organisation_index = OrganisationIndex()


class ThreadMessage(ForeignModel):
    """A message of a thread. `content` is text or a structured list; `verso` and `feedback` are its reader's."""

    class Meta(TableMeta):
        table_key = TABLE

    PK = UnicodeAttribute(hash_key=True)
    SK = UnicodeAttribute(range_key=True)
    SKMessage = UnicodeAttribute(null=True)
    ExpiryTime = NumberAttribute(null=True)
    thread_id = UnicodeAttribute(null=True)
    timestamp = NumberAttribute(null=True)
    message_id = UnicodeAttribute(null=True)
    content = UnicodeAttribute(null=True)
    stop_reason = UnicodeAttribute(null=True)
    role = UnicodeAttribute(null=True)
    response_metadata = PlainMapAttribute(null=True)
    verso = UnicodeAttribute(null=True)
    feedback = UnicodeAttribute(null=True)
    sources = PlainListAttribute(null=True)
    created_at = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)

    message_id_index = MessageIdIndex()
