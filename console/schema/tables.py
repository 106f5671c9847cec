"""The registry of all tables: key, base name, keys, indexes and settings.

The source schemas are the authority on keys and attribute names; what the console adds is marked as ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Schema = Literal[
    "platform-conversations",
    "platform-replies",
    "middleware",
    "chatbot-sessions",
    "thread-history",
    "tenants",
    "console",
]
KeyType = Literal["S", "N"]
StreamView = Literal["NEW_IMAGE", "NEW_AND_OLD_IMAGES"]


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """One key attribute and its DynamoDB type."""

    name: str
    type: KeyType = "S"


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """A secondary index. `include` is empty for projection ALL; `ours` marks one that the console adds to a schema.

    `caution` is a warning for adding it to a table that others write; an index with `other_range` as its range key is
    accepted too. `more_hashes` are further attributes of the partition key, which DynamoDB allows four of in a global
    index.
    """

    name: str
    hash: KeyAttribute
    range: KeyAttribute | None = None
    include: tuple[str, ...] = ()
    ours: bool = False
    caution: str = ""
    other_range: KeyAttribute | None = None
    more_hashes: tuple[KeyAttribute, ...] = ()

    @property
    def hashes(self) -> tuple[KeyAttribute, ...]:
        """All attributes of the partition key. A Query names each of them."""
        return (self.hash, *self.more_hashes)

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        """All key attributes, those of the partition first."""
        return (*self.hashes, *((self.range,) if self.range else ()))

    @property
    def ranges(self) -> "tuple[KeyAttribute | None, ...]":
        """The accepted range keys, the preferred one first; (None,) without any."""
        return (self.range, self.other_range) if self.other_range else (self.range,)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """The definition of one table. `ours`: the console owns the table and may create and change it freely."""

    key: str
    base: str
    schema: Schema
    hash: KeyAttribute
    range: KeyAttribute | None = None
    gsis: tuple[IndexSpec, ...] = ()
    lsis: tuple[IndexSpec, ...] = ()
    ttl: str = ""
    # A table with this range key is accepted too: the schema names one, its writers use another.
    other_range: KeyAttribute | None = None
    # The schema leaves it to the environment whether items expire.
    ttl_optional: bool = False
    # The accepted stream views, the preferred one first; none if the console reads no stream.
    stream: tuple[StreamView, ...] = ()
    purpose: str = ""
    # Point-in-time recovery and deletion protection: off in development, as in the schemas, and on elsewhere.
    protected: bool = True
    # All of `gsis` and `lsis`, by name.
    indexes: Mapping[str, IndexSpec] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indexes", {each.name: each for each in (*self.gsis, *self.lsis)})

    @property
    def ranges(self) -> "tuple[KeyAttribute | None, ...]":
        """The accepted range keys, the preferred one first; (None,) without any."""
        return (self.range, self.other_range) if self.other_range else (self.range,)

    @property
    def ours(self) -> bool:
        """Whether the console owns the table."""
        return self.schema == "console"


S = KeyAttribute


def N(name: str) -> KeyAttribute:
    """Return a number key attribute."""
    return KeyAttribute(name, "N")


# The customer's names; masked on redacted pages, and used there to mask the names in texts.
RECIPIENT_NAMES = ("recipient_first_name", "recipient_last_name")
# The attributes of a list row besides the key, projected by the console's indexes over conversations. Never `messages`,
# `ai_config`, `channel_config` or `project_data`. All indexes of a table together project at most 100.
CONVERSATION_SUMMARY = (
    "company_id",
    "company_name",
    "project_id",
    "project_name",
    "channel_method",
    "conversation_status",
    "task_complete",
    "created_at",
    "updated_at",
    "hand_off_to_human",
    "hand_off_to_human_reason",
    "hand_off_requested_at",
    "hand_off_agent",
    "hand_off_taken_at",
    "hand_off_wanted",
    "hand_off_action_id",
    "hand_off_attention",
    "hand_off_urgent",
    "hand_off_group",
    "hand_off_answered_at",
    "hand_off_unanswered_at",
    "hand_off_heard_at",
    "hand_off_reply_failed_at",
    "ttl",
    # Not shown, but required by the schema: a row whose item lacks one or has it as NULL or of another type is flagged.
    "request_id",
    "comms_consent",
    "function_call",
    *RECIPIENT_NAMES,
)


def _summaries(name: str, partition: KeyAttribute, *more: KeyAttribute, sort: KeyAttribute) -> IndexSpec:
    """Return an index of ours that projects the attributes of a list of conversations."""
    keys = {each.name for each in (partition, *more, sort)}
    include = tuple(each for each in CONVERSATION_SUMMARY if each not in keys)
    return IndexSpec(name, partition, sort, include, ours=True, more_hashes=more)


def _by_recipient(name: str, attribute: KeyAttribute) -> IndexSpec:
    return IndexSpec(name, S("primary_channel"), attribute)


_SPECS = (
    TableSpec(
        "CONVERSATIONS",
        "conversations",
        "platform-conversations",
        S("primary_channel"),
        S("conversation_id"),
        gsis=(
            IndexSpec("company-id-project-id-index", S("company_id"), S("project_id")),
            IndexSpec(
                "company-whatsapp-number-recipient-tel-index", S("gsi_company_whatsapp_number"), S("gsi_recipient_tel")
            ),
            IndexSpec("company-sms-number-recipient-tel-index", S("gsi_company_sms_number"), S("gsi_recipient_tel")),
            IndexSpec("company-email-recipient-email-index", S("gsi_company_email"), S("gsi_recipient_email")),
            IndexSpec(
                "conversation-id-index",
                S("conversation_id"),
                include=("company_id", "project_id", *RECIPIENT_NAMES),
                ours=True,
            ),
            _summaries("company-id-updated-at-index", S("company_id"), sort=S("updated_at")),
            _summaries(
                "company-id-project-id-updated-at-index", S("company_id"), S("project_id"), sort=S("updated_at")
            ),
            # Sparse: only conversations that a human holds or that wait for one have the partition key.
            _summaries("hand-off-queue-index", S("gsi_hand_off_queue"), sort=S("hand_off_requested_at")),
        ),
        lsis=(
            _by_recipient("created-at-index", S("created_at")),
            _by_recipient("task-complete-index", N("task_complete")),
            _by_recipient("conversation-status-index", S("conversation_status")),
            _by_recipient("channel-method-index", S("channel_method")),
        ),
        ttl="ttl",
        ttl_optional=True,
        # Read by the indexer.
        stream=("NEW_AND_OLD_IMAGES",),
        purpose="platform conversations and the hand-off",
    ),
    TableSpec(
        "CONVERSATIONS_STAGE",
        "conversations-stage",
        "platform-replies",
        S("conversation_id"),
        S("message_sid"),
        ttl="expires_at",
        stream=("NEW_IMAGE", "NEW_AND_OLD_IMAGES"),
        # Items live for a minute.
        protected=False,
        purpose="customers’ messages that the platform has yet to handle",
    ),
    TableSpec(
        "CONVERSATIONS_TRIGGER_LOCK",
        "conversations-trigger-lock",
        "platform-replies",
        S("conversation_id"),
        ttl="expires_at",
        protected=False,
        purpose="which conversations the platform’s service is about to answer",
    ),
    TableSpec(
        "IDEMPOTENCY",
        "rp_mw_idempotency",
        "middleware",
        S("event_id"),
        gsis=(IndexSpec("conversation-id-index", S("conversation_id"), S("created_at"), ours=True),),
        ttl="expires_at",
        purpose="events and actions that were already processed",
    ),
    TableSpec(
        "CONVERSATION_STATE",
        "rp_mw_conversation_state",
        "middleware",
        S("conversation_id"),
        ttl="expires_at",
        purpose="routing, intent and pending flow of a conversation",
    ),
    TableSpec(
        "AUDIT",
        "rp_mw_audit_actions",
        "middleware",
        S("conversation_id"),
        S("ts_action_id"),
        gsis=(
            IndexSpec(
                "action-type-index",
                S("action_type"),
                S("ts_action_id"),
                ours=True,
                caution="all entries of one action type share a partition: at most 1,000 writes a second of each type",
            ),
            IndexSpec("actor-index", S("gsi_actor"), S("ts_action_id"), ours=True),
            IndexSpec("company-index", S("gsi_company_id"), S("ts_action_id"), ours=True),
            # Sparse: only the console's own entries have the partition key. Each partition holds several action types.
            IndexSpec("review-index", S("gsi_review"), S("ts_action_id"), ours=True),
        ),
        ttl="expires_at",
        purpose="actions of services and staff",
    ),
    TableSpec(
        "SESSIONS",
        "Sessions",
        "chatbot-sessions",
        S("UserId"),
        S("SessionId"),
        # The range key of the public chatbot's own table; its session ids end in that number.
        other_range=N("TimestampCreated"),
        ttl="SessionTTL",
        purpose="running chatbot sessions",
    ),
    TableSpec(
        "CHATS",
        "Chats",
        "chatbot-sessions",
        S("SessionId"),
        N("TimestampCreated"),
        gsis=(
            IndexSpec("UserConverationGlobalIndex", S("UserId"), N("TimestampCreated")),
            IndexSpec("UsersLastMessageGlobalIndex", S("UserId")),
        ),
        purpose="when chatbot messages were sent",
    ),
    TableSpec(
        "CHAT_MESSAGES",
        "ChatMessages",
        "chatbot-sessions",
        S("SessionId"),
        N("TimestampCreated"),
        ttl="SessionTTL",
        purpose="chatbot messages until their session expires",
    ),
    TableSpec(
        "IMAGE_RESPONSES",
        "ImageResponses",
        "chatbot-sessions",
        S("ImageId"),
        gsis=(IndexSpec("PromptGlobalIndex", S("Prompt"), N("TimestampCreated")),),
        purpose="generated images",
    ),
    TableSpec(
        "THREADS",
        "assistant-history",
        "thread-history",
        S("PK"),
        S("SK"),
        gsis=(
            IndexSpec("PK-SKMessage-index-v1", S("PK"), S("SKMessage")),
            IndexSpec("PK-SKTimestampThread-index-v1", S("PK"), S("SKTimestampThread")),
            IndexSpec("org-id-updated-at-index", S("org_id"), S("updated_at"), ours=True),
        ),
        ttl="ExpiryTime",
        purpose="assistant threads and their feedback",
    ),
    TableSpec(
        "TENANTS",
        "tenants",
        "tenants",
        S("pk"),
        S("sk"),
        gsis=(
            # The schema names a range key; the platform's own index has none, and its mappings lack the attribute.
            IndexSpec("channel-mapping", S("gsi1pk"), other_range=S("gsi1sk")),
            IndexSpec("sk-pk-index", S("sk"), S("pk"), ours=True),
        ),
        purpose="tenants, their users and channel mappings",
    ),
    TableSpec(
        "TENANT_CONVERSATIONS",
        "tenant-conversations",
        "tenants",
        S("pk"),
        S("sk"),
        ttl="ttl",
        purpose="short-term conversation memory of tenants",
    ),
    TableSpec(
        "STAFF",
        "console-staff",
        "console",
        S("username"),
        gsis=(
            # Never credentials: no password hash, no second factor's secret.
            IndexSpec(
                "role-index",
                S("role"),
                S("username"),
                include=(
                    "display_name",
                    "scope",
                    "time_zone",
                    "disabled",
                    "disabled_at",
                    "created_at",
                    "updated_at",
                    "last_sign_in_at",
                    "second_factor_at",
                    "signs_in_with",
                ),
                ours=True,
            ),
        ),
        purpose="accounts, roles and scopes",
    ),
    TableSpec(
        "STAFF_SESSIONS",
        "console-sessions",
        "console",
        S("session_id"),
        gsis=(IndexSpec("username-index", S("username"), S("created_at"), ours=True),),
        ttl="expires_at",
        purpose="sessions of signed-in staff",
        protected=False,
    ),
    TableSpec(
        "MESSAGES",
        "console-messages",
        "console",
        S("conversation"),
        S("position"),
        gsis=(IndexSpec("due-index", S("gsi_due"), S("due_at"), include=("company_id",), ours=True),),
        ttl="expires_at",
        purpose="messages between customers and people",
    ),
    TableSpec(
        "INSIGHT",
        "console-insight",
        "console",
        S("pk"),
        S("sk"),
        ttl="expires_at",
        purpose="facts of conversations and their sums, without personal data",
    ),
    TableSpec(
        "CONSOLE",
        "console",
        "console",
        S("pk"),
        S("sk"),
        ttl="expires_at",
        purpose="company registry and similar records",
    ),
)

TABLES: dict[str, TableSpec] = {spec.key: spec for spec in _SPECS}
