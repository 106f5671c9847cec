"""The platform's conversations table (schema platform-conversations), its indexes, and our hand-off attributes.

Other services write these items: read tolerantly, and write only named hand-off attributes, never whole items.
"""

from collections.abc import Iterable, Sequence

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex, IncludeProjection, LocalSecondaryIndex

from console.schema.tables import CONVERSATION_SUMMARY, RECIPIENT_NAMES, TABLES
from console.store.connection import batch_get
from console.store.models import ForeignModel, PlainListAttribute, PlainMapAttribute, TableMeta


class CompanyProjectIndex(GlobalSecondaryIndex["Conversation"]):
    """Conversations of a company and project, in no order of time."""

    class Meta:
        index_name = "company-id-project-id-index"
        projection = AllProjection()

    company_id = UnicodeAttribute(hash_key=True)
    project_id = UnicodeAttribute(range_key=True)


class WhatsAppReplyIndex(GlobalSecondaryIndex["Conversation"]):
    """Conversations by our WhatsApp number and the recipient's number."""

    class Meta:
        index_name = "company-whatsapp-number-recipient-tel-index"
        projection = AllProjection()

    gsi_company_whatsapp_number = UnicodeAttribute(hash_key=True)
    gsi_recipient_tel = UnicodeAttribute(range_key=True)


class SmsReplyIndex(GlobalSecondaryIndex["Conversation"]):
    """Conversations by our SMS number and the recipient's number."""

    class Meta:
        index_name = "company-sms-number-recipient-tel-index"
        projection = AllProjection()

    gsi_company_sms_number = UnicodeAttribute(hash_key=True)
    gsi_recipient_tel = UnicodeAttribute(range_key=True)


class EmailReplyIndex(GlobalSecondaryIndex["Conversation"]):
    """Conversations by our email address and the recipient's."""

    class Meta:
        index_name = "company-email-recipient-email-index"
        projection = AllProjection()

    gsi_company_email = UnicodeAttribute(hash_key=True)
    gsi_recipient_email = UnicodeAttribute(range_key=True)


class ConversationIdIndex(GlobalSecondaryIndex["Conversation"]):
    """Ours: conversations by id alone, with their company, project and the recipient's names."""

    class Meta:
        index_name = "conversation-id-index"
        projection = IncludeProjection(["company_id", "project_id", *RECIPIENT_NAMES])

    conversation_id = UnicodeAttribute(hash_key=True)


class CompanyUpdatedIndex(GlobalSecondaryIndex["Conversation"]):
    """Ours: a company's conversations, latest activity first."""

    class Meta:
        index_name = "company-id-updated-at-index"
        projection = IncludeProjection(list(TABLES["CONVERSATIONS"].indexes[index_name].include))

    company_id = UnicodeAttribute(hash_key=True)
    updated_at = UnicodeAttribute(range_key=True)


class ProjectUpdatedIndex(GlobalSecondaryIndex["Conversation"]):
    """Ours: a project's conversations, latest activity first. `project_id` is part of its partition key too.

    PynamoDB cannot declare a second partition attribute: `console.store.models.query` adds it to each Query.
    """

    class Meta:
        index_name = "company-id-project-id-updated-at-index"
        projection = IncludeProjection(list(TABLES["CONVERSATIONS"].indexes[index_name].include))

    company_id = UnicodeAttribute(hash_key=True)
    updated_at = UnicodeAttribute(range_key=True)


class HandOffQueueIndex(GlobalSecondaryIndex["Conversation"]):
    """Ours, sparse: the conversations of a company that wait for a human or are held by one, longest wait first."""

    class Meta:
        index_name = "hand-off-queue-index"
        projection = IncludeProjection(list(TABLES["CONVERSATIONS"].indexes[index_name].include))

    gsi_hand_off_queue = UnicodeAttribute(hash_key=True)
    hand_off_requested_at = UnicodeAttribute(range_key=True)


class CreatedAtIndex(LocalSecondaryIndex["Conversation"]):
    """A recipient's conversations within a range of time."""

    class Meta:
        index_name = "created-at-index"
        projection = AllProjection()

    primary_channel = UnicodeAttribute(hash_key=True)
    created_at = UnicodeAttribute(range_key=True)


class TaskCompleteIndex(LocalSecondaryIndex["Conversation"]):
    """A recipient's conversations whose task is complete (1) or not (0)."""

    class Meta:
        index_name = "task-complete-index"
        projection = AllProjection()

    primary_channel = UnicodeAttribute(hash_key=True)
    task_complete = NumberAttribute(range_key=True)


class StatusIndex(LocalSecondaryIndex["Conversation"]):
    """A recipient's conversations of one status."""

    class Meta:
        index_name = "conversation-status-index"
        projection = AllProjection()

    primary_channel = UnicodeAttribute(hash_key=True)
    conversation_status = UnicodeAttribute(range_key=True)


class ChannelMethodIndex(LocalSecondaryIndex["Conversation"]):
    """A recipient's conversations over one channel."""

    class Meta:
        index_name = "channel-method-index"
        projection = AllProjection()

    primary_channel = UnicodeAttribute(hash_key=True)
    channel_method = UnicodeAttribute(range_key=True)


# The `hand_off_urgent` of a conversation that a person marked as not urgent.
NOT_URGENT = "no"


class Conversation(ForeignModel):
    """One conversation: every attribute of the schema, then ours."""

    class Meta(TableMeta):
        table_key = "CONVERSATIONS"

    primary_channel = UnicodeAttribute(hash_key=True)
    conversation_id = UnicodeAttribute(range_key=True)
    recipient_tel = UnicodeAttribute(null=True)
    recipient_email = UnicodeAttribute(null=True)
    company_id = UnicodeAttribute()
    project_id = UnicodeAttribute()
    channel_method = UnicodeAttribute()
    conversation_status = UnicodeAttribute()
    request_id = UnicodeAttribute()
    messages = PlainListAttribute()
    created_at = UnicodeAttribute()
    updated_at = UnicodeAttribute()
    initial_request_timestamp = UnicodeAttribute(null=True)
    processor_version = UnicodeAttribute(null=True)
    router_version = UnicodeAttribute(null=True)
    thread_id = UnicodeAttribute(null=True)
    email_id = UnicodeAttribute(null=True)
    task_complete = NumberAttribute()
    processing_time_ms = NumberAttribute(null=True)
    recipient_first_name = UnicodeAttribute(null=True)
    recipient_last_name = UnicodeAttribute(null=True)
    comms_consent = BooleanAttribute()
    project_data = PlainMapAttribute(null=True)
    company_name = UnicodeAttribute(null=True)
    project_name = UnicodeAttribute(null=True)
    company_rep = PlainMapAttribute(null=True)
    allowed_channels = PlainListAttribute(null=True)
    project_status = UnicodeAttribute(null=True)
    auto_queue_initial_message = BooleanAttribute(null=True)
    auto_queue_initial_message_from_number = PlainListAttribute(null=True)
    auto_queue_initial_message_from_email = PlainListAttribute(null=True)
    auto_queue_reply_message = BooleanAttribute(null=True)
    auto_queue_reply_message_from_number = PlainListAttribute(null=True)
    auto_queue_reply_message_from_email = PlainListAttribute(null=True)
    ai_config = PlainMapAttribute(null=True)
    channel_config = PlainMapAttribute(null=True)
    function_call = BooleanAttribute()
    function_call_type = UnicodeAttribute(null=True)
    hand_off_to_human = BooleanAttribute()
    hand_off_to_human_reason = UnicodeAttribute(null=True)
    ttl = NumberAttribute(null=True)
    gsi_recipient_tel = UnicodeAttribute(null=True)
    gsi_recipient_email = UnicodeAttribute(null=True)
    gsi_company_whatsapp_number = UnicodeAttribute(null=True)
    gsi_company_sms_number = UnicodeAttribute(null=True)
    gsi_company_email = UnicodeAttribute(null=True)

    # Not in the schema's document, but written by the services that send and reply
    initial_processing_time_ms = NumberAttribute(null=True)
    failure_reason = UnicodeAttribute(null=True)

    # Ours: the hand-off (docs/hand-off.md)
    hand_off_requested_at = UnicodeAttribute(null=True)
    hand_off_agent = UnicodeAttribute(null=True)
    hand_off_taken_at = UnicodeAttribute(null=True)
    hand_off_note = UnicodeAttribute(null=True)
    hand_off_note_by = UnicodeAttribute(null=True)
    hand_off_note_at = UnicodeAttribute(null=True)
    hand_off_wanted = BooleanAttribute(null=True)
    # The value of `auto_queue_reply_message` before the console set it, of any type; empty if it was absent.
    hand_off_routing_before = PlainListAttribute(null=True)
    # When the console last wrote `auto_queue_reply_message`.
    hand_off_routed_at = UnicodeAttribute(null=True)
    # Whether messages are stored apart because the item has no room for them.
    hand_off_messages_apart = BooleanAttribute(null=True)
    # Ids of the messages that the console appended to `messages`.
    hand_off_message_ids = UnicodeSetAttribute(null=True)
    # How many of the oldest messages were moved to MESSAGES, because the item was full.
    hand_off_older = NumberAttribute(null=True)
    # Until when no answer is needed, and who said so; `hand_off_answered_at` before that (a list, empty if absent).
    hand_off_no_answer_at = UnicodeAttribute(null=True)
    hand_off_no_answer_by = UnicodeAttribute(null=True)
    hand_off_answered_before = PlainListAttribute(null=True)
    # Since when a message that could not be placed may belong here.
    hand_off_to_place_at = UnicodeAttribute(null=True)
    hand_off_action_id = UnicodeAttribute(null=True)
    # Why it needs attention while the AI has it; from when on causes count; since when the AI is to answer.
    hand_off_attention = UnicodeAttribute(null=True)
    hand_off_left_at = UnicodeAttribute(null=True)
    hand_off_to_ai_at = UnicodeAttribute(null=True)
    hand_off_owed_at = UnicodeAttribute(null=True)
    # Why it is urgent; the group it waits for; when a person answered, and since when the customer waits again.
    hand_off_urgent = UnicodeAttribute(null=True)
    hand_off_group = UnicodeAttribute(null=True)
    hand_off_answered_at = UnicodeAttribute(null=True)
    hand_off_unanswered_at = UnicodeAttribute(null=True)
    hand_off_heard_at = UnicodeAttribute(null=True)
    hand_off_reply_failed_at = UnicodeAttribute(null=True)
    gsi_hand_off_queue = UnicodeAttribute(null=True)

    company_project_index = CompanyProjectIndex()
    whatsapp_reply_index = WhatsAppReplyIndex()
    sms_reply_index = SmsReplyIndex()
    email_reply_index = EmailReplyIndex()
    conversation_id_index = ConversationIdIndex()
    company_updated_index = CompanyUpdatedIndex()
    project_updated_index = ProjectUpdatedIndex()
    hand_off_queue_index = HandOffQueueIndex()
    created_at_index = CreatedAtIndex()
    task_complete_index = TaskCompleteIndex()
    status_index = StatusIndex()
    channel_method_index = ChannelMethodIndex()


# The attributes of a list row: the key, and those that our indexes project.
SUMMARY_ATTRIBUTES = ("primary_channel", "conversation_id", *CONVERSATION_SUMMARY)


def read_conversations(
    keys: Iterable[tuple[str, str]], attributes: Sequence[str] = (), *, consistent: bool = False
) -> list[Conversation]:
    """Return conversations by their keys (primary_channel, conversation_id), without those that do not exist.

    No `attributes`: all of them. One BatchGetItem per 100 keys; raises the store's errors.
    """
    wanted = [{"primary_channel": channel, "conversation_id": conversation_id} for channel, conversation_id in keys]
    found = batch_get("CONVERSATIONS", wanted, attributes, consistent=consistent)
    return [Conversation.from_raw_data(raw) for raw in found]
