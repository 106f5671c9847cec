"""Names of the actions in the trail: the middleware's, and the console's own. An open set: others occur."""

import re
from enum import StrEnum


class Action(StrEnum):
    """What an audit entry says was done (`action_type`)."""

    # The middleware's: those that the schema names as such (middleware-state-idempotency-audit, table C), and those of
    # its keys of actions (section A.1)
    ROUTE = "route"
    TAG = "tag"
    AUTO_REPLY = "auto_reply"
    ESCALATE = "escalate"
    RP_REPLY = "rp_reply"
    RP_TAG = "rp_tag"
    RP_ASSIGN = "rp_assign"
    SHOPIFY_LOOKUP = "shopify_lookup"
    # The hand-off (console staff, and `platform` for what the platform asked)
    HAND_OFF_REQUEST = "hand_off.request"
    HAND_OFF_TAKE_OVER = "hand_off.take_over"
    HAND_OFF_TAKE = "hand_off.take"
    HAND_OFF_TAKE_FROM_COLLEAGUE = "hand_off.take_from_colleague"
    HAND_OFF_RELEASE = "hand_off.release"
    HAND_OFF_HAND_BACK = "hand_off.hand_back"
    HAND_OFF_ACKNOWLEDGE = "hand_off.acknowledge"
    HAND_OFF_FENCE = "hand_off.fence"
    HAND_OFF_REASSERT = "hand_off.reassert"
    # Looking at personal data
    TRANSCRIPT_OPENED = "transcript.opened"
    RECIPIENT_REVEALED = "recipient.revealed"
    PERSON_LOOKED_UP = "person.looked_up"
    PERSON_SEARCHED = "person.searched"
    AUDIT_EXPORTED = "audit.exported"
    AUDIT_ARCHIVED = "audit.archived"
    # Conversations of tenants, in the trails of tenants
    TENANT_CONVERSATION_CLEARED = "tenant_conversation.cleared"
    # The other stores, in the trails of their chats and threads
    CHAT_ENDED = "chat.ended"
    FEEDBACK_CHANGED = "feedback.changed"
    # Staff
    SIGN_IN = "staff.sign_in"
    SIGN_IN_FAILED = "staff.sign_in_failed"
    SIGN_OUT = "staff.sign_out"
    ACCESS_DENIED = "staff.denied"
    STAFF_CREATED = "staff.created"
    STAFF_CHANGED = "staff.changed"
    STAFF_DISABLED = "staff.disabled"
    STAFF_ENABLED = "staff.enabled"
    CODE_ASKED = "staff.code_asked"
    SIGN_IN_THROTTLED = "staff.sign_in_throttled"
    SESSION_ENDED = "staff.session_ended"
    SESSIONS_ENDED = "staff.sessions_ended"
    PASSWORD_RESET = "staff.password_reset"  # the name of an action  # noqa: S105  # nosec B105
    PASSWORD_LINK = "staff.password_link"  # noqa: S105  # nosec B105
    PASSWORD_CHANGED = "staff.password_changed"  # noqa: S105  # nosec B105
    SECOND_FACTOR_ADDED = "staff.second_factor_added"
    SECOND_FACTOR_REMOVED = "staff.second_factor_removed"
    RECOVERY_CODES_MADE = "staff.recovery_codes_made"
    RECOVERY_CODE_USED = "staff.recovery_code_used"
    COMPANIES_DISCOVERED = "companies.discovered"
    CONVERSATIONS_LOADED = "conversations.loaded"
    # Tenants: trails of tenants
    TENANT_CREATED = "tenant.created"
    TENANT_ONBOARDED = "tenant.onboarded"
    TENANT_CHANGED = "tenant.changed"
    TENANT_ACTIVATED = "tenant.activated"
    TENANT_SUSPENDED = "tenant.suspended"
    TENANT_REACTIVATED = "tenant.reactivated"
    USER_ADDED = "user.added"
    USER_CHANGED = "user.changed"
    USER_REMOVED = "user.removed"
    CHANNEL_CLAIMED = "channel.claimed"
    CHANNEL_COMPLETED = "channel.completed"
    CHANNEL_GUARDED = "channel.guarded"
    CHANNEL_MOVED = "channel.moved"
    CHANNEL_RELEASED = "channel.released"
    COMPANY_LINKED = "company.linked"
    COMPANY_UNLINKED = "company.unlinked"


class Result(StrEnum):
    """First word of an entry's `result`; a reason may follow: after a colon where we write it."""

    PENDING = "pending"
    SUCCESS = "success"
    CONFLICT = "conflict"
    FAILED = "failed"


# What the types of all hand-offs begin with, those of writers to come among them.
HAND_OFF_PREFIX = "hand_off."
HAND_OFF_ACTIONS = frozenset(action for action in Action if action.startswith(HAND_OFF_PREFIX))


FIRST_WORD = re.compile(r"[\s(\[]*([^\W\d_]+)")
_SUCCESSES, _FAILURES = ("success", "succeeded", "ok"), ("fail", "fails", "failed", "failure", "failing", "error")
# The words that say an outcome and nothing else.
RESULT_WORDS = frozenset((*_SUCCESSES, *_FAILURES, Result.PENDING, Result.CONFLICT))


def outcome(result: str) -> str:
    """One of pending, success, conflict, failed or unknown: services write `fail`, `failure` and `failed` for one.

    The first word decides, whatever parts it from the rest.
    """
    found = FIRST_WORD.match(result)
    word = found[1].lower() if found else ""
    if word.startswith("fail") or word in _FAILURES:
        return Result.FAILED
    if word in _SUCCESSES:
        return Result.SUCCESS
    return word if word in (Result.PENDING, Result.CONFLICT) else "unknown"


# Trails that are not of a conversation: what their partition begins with.
STAFF_TRAIL, TENANT_TRAIL, CHAT_TRAIL, THREAD_TRAIL = "STAFF#", "TENANT#", "CHAT#", "THREAD#"
SYSTEM_TRAIL = "SYSTEM"


def conversation_trail(conversation_id: str) -> str:
    """Partition of a conversation's trail."""
    return conversation_id


def staff_trail(username: str) -> str:
    """Partition of a member of staff's own trail (sign-ins, changes of the account)."""
    return f"{STAFF_TRAIL}{username}"


def tenant_trail(tenant_id: str) -> str:
    """Partition of a tenant's trail."""
    return f"{TENANT_TRAIL}{tenant_id}"


def chat_trail(session_id: str) -> str:
    """Partition of the trail of a chatbot's session, or of its user (schema chatbot-sessions)."""
    return f"{CHAT_TRAIL}{session_id}"


def thread_trail(organisation: str, key: str) -> str:
    """Partition of the trail of an organisation's thread; `key` is what follows the organisation in its own."""
    return f"{THREAD_TRAIL}{organisation}#{key}"
