"""The middleware's tables: idempotency and audit, which the console shares, and the state (schema tables A to C)."""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, PlainMapAttribute, TableMeta


class ActionTypeIndex(GlobalSecondaryIndex["AuditEntry"]):
    """Entries of one action type, by time, including the middleware's (an index of ours)."""

    class Meta:
        index_name = "action-type-index"
        projection = AllProjection()

    action_type = UnicodeAttribute(hash_key=True)
    ts_action_id = UnicodeAttribute(range_key=True)


class ActorIndex(GlobalSecondaryIndex["AuditEntry"]):
    """Entries that the console or the platform wrote for one actor, by time (ours, sparse)."""

    class Meta:
        index_name = "actor-index"
        projection = AllProjection()

    gsi_actor = UnicodeAttribute(hash_key=True)
    ts_action_id = UnicodeAttribute(range_key=True)


class CompanyIndex(GlobalSecondaryIndex["AuditEntry"]):
    """Entries that name a company, by time (ours, sparse)."""

    class Meta:
        index_name = "company-index"
        projection = AllProjection()

    gsi_company_id = UnicodeAttribute(hash_key=True)
    ts_action_id = UnicodeAttribute(range_key=True)


class ReviewIndex(GlobalSecondaryIndex["AuditEntry"]):
    """The console's own entries by review partition (`trail.actions.REVIEW_PARTITIONS`), by time (ours, sparse)."""

    class Meta:
        index_name = "review-index"
        projection = AllProjection()

    gsi_review = UnicodeAttribute(hash_key=True)
    ts_action_id = UnicodeAttribute(range_key=True)


class AuditEntry(ForeignModel):
    """Table C, `rp_mw_audit_actions`, with the attributes of console entries (data model, section 5).

    `owner` and `recipient` are set on reading and never stored: the owner of an entry that names none, and the names of
    its conversation's recipient, which its texts mask.
    """

    class Meta(TableMeta):
        table_key = "AUDIT"

    owner: str = ""
    recipient: tuple[str, ...] = ()

    conversation_id = UnicodeAttribute(hash_key=True)
    ts_action_id = UnicodeAttribute(range_key=True)
    action_type = UnicodeAttribute(null=True)
    action_payload_redacted = UnicodeAttribute(null=True)
    idempotency_key = UnicodeAttribute(null=True)
    result = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    # ours
    actor = UnicodeAttribute(null=True)
    actor_role = UnicodeAttribute(null=True)
    company_id = UnicodeAttribute(null=True)
    gsi_actor = UnicodeAttribute(null=True)
    gsi_company_id = UnicodeAttribute(null=True)
    gsi_review = UnicodeAttribute(null=True)
    # on entries that were written without a review partition
    is_backfilled = BooleanAttribute(null=True)
    action_id = UnicodeAttribute(null=True)
    previous_action_id = UnicodeAttribute(null=True)
    # on entries repeated within a minute: how often in all
    times = NumberAttribute(null=True)
    # on the platform's requests: the platform's time of the change of the flag that the entry records
    edge_at = UnicodeAttribute(null=True)

    by_action_type = ActionTypeIndex()
    by_actor = ActorIndex()
    by_company = CompanyIndex()
    by_review = ReviewIndex()


class ConversationEventsIndex(GlobalSecondaryIndex["IdempotencyRecord"]):
    """The records of a conversation, by time (an index of ours)."""

    class Meta:
        index_name = "conversation-id-index"
        projection = AllProjection()

    conversation_id = UnicodeAttribute(hash_key=True)
    created_at = UnicodeAttribute(range_key=True)


class IdempotencyRecord(ForeignModel):
    """Table A, `rp_mw_idempotency`, with the attributes of console records."""

    class Meta(TableMeta):
        table_key = "IDEMPOTENCY"

    event_id = UnicodeAttribute(hash_key=True)
    created_at = UnicodeAttribute(null=True)
    last_processed_at = UnicodeAttribute(null=True)
    received_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    status = UnicodeAttribute(null=True)
    mode = UnicodeAttribute(null=True)
    conversation_id = UnicodeAttribute(null=True)
    safe_mode = BooleanAttribute(null=True)
    automation_enabled = BooleanAttribute(null=True)
    source_message_id = UnicodeAttribute(null=True)
    payload_sha256 = UnicodeAttribute(null=True)
    payload_bytes = NumberAttribute(null=True)
    intent = UnicodeAttribute(null=True)
    # ours: the trail entry of the action, the number of attempts, and the sealed reference of its subject
    ts_action_id = UnicodeAttribute(null=True)
    attempts = NumberAttribute(null=True)
    reference = UnicodeAttribute(null=True)
    # on hand-off actions during a service's work: the conversation's status, and a keyed digest of the reason
    during_status = UnicodeAttribute(null=True)
    during_reason = UnicodeAttribute(null=True)
    # on hand-off actions: whether somebody else gets or loses the conversation, and so gets a notice
    concerns_others = BooleanAttribute(null=True)

    by_conversation = ConversationEventsIndex()


class ConversationState(ForeignModel):
    """Table B, `rp_mw_conversation_state`: read, never written."""

    class Meta(TableMeta):
        table_key = "CONVERSATION_STATE"

    conversation_id = UnicodeAttribute(hash_key=True)
    updated_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    last_processed_at = UnicodeAttribute(null=True)
    last_processed_message_id = UnicodeAttribute(null=True)
    last_routed_team = UnicodeAttribute(null=True)
    last_routing_confidence = NumberAttribute(null=True)
    last_intent = UnicodeAttribute(null=True)
    risk_flags = UnicodeSetAttribute(null=True)
    pending_flow = PlainMapAttribute(null=True)
    last_auto_reply = PlainMapAttribute(null=True)
    version = NumberAttribute(null=True)
