"""The middleware's tables: idempotency and audit, which the console shares, and the state (schema tables A to C)."""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, PlainMapAttribute, TableMeta


class ActionTypeIndex(GlobalSecondaryIndex["AuditEntry"]):
    """Entries of one action type, by time: of the middleware's writers too (ours to add)."""

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


class AuditEntry(ForeignModel):
    """Table C, `rp_mw_audit_actions`, with what console entries add (data model, section 5).

    `owner` is whose it is where reading found that out and the entry does not say: never stored.
    """

    class Meta(TableMeta):
        table_key = "AUDIT"

    owner: str = ""

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
    action_id = UnicodeAttribute(null=True)
    previous_action_id = UnicodeAttribute(null=True)
    # on what happened again within its minute: how often in all
    times = NumberAttribute(null=True)
    # on what the platform asked for: the platform's time of the flip of the flag that the entry stands for
    edge_at = UnicodeAttribute(null=True)

    by_action_type = ActionTypeIndex()
    by_actor = ActorIndex()
    by_company = CompanyIndex()


class ConversationEventsIndex(GlobalSecondaryIndex["IdempotencyRecord"]):
    """The records of a conversation, by time (ours to add)."""

    class Meta:
        index_name = "conversation-id-index"
        projection = AllProjection()

    conversation_id = UnicodeAttribute(hash_key=True)
    created_at = UnicodeAttribute(range_key=True)


class IdempotencyRecord(ForeignModel):
    """Table A, `rp_mw_idempotency`, with what console records add."""

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
    # ours: the trail entry of the action, how often it was sent, and the sealed reference of what it is about
    ts_action_id = UnicodeAttribute(null=True)
    attempts = NumberAttribute(null=True)
    reference = UnicodeAttribute(null=True)
    # on hand-off actions while a service was at work: the conversation's status, and a keyed digest of the reason
    during_status = UnicodeAttribute(null=True)
    during_reason = UnicodeAttribute(null=True)
    # on hand-off actions by which nobody else gets or loses the conversation: there is nobody to tell
    nobody_to_tell = BooleanAttribute(null=True)

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
