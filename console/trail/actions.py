"""The vocabulary of the trail: names of actions, and the meaning of stored entries, whoever wrote them.

Actions are the middleware's and the console's own; the set is open. The schema defines results as "success/fail +
reason" without a separator: the first word is the outcome, the rest is the reason.
"""

import json
import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.utils.text import slugify

from console import clock
from console.redaction import redact, redact_value, without_names
from console.trail.models import AuditEntry
from console.trees import flatten_to_line, text_of, well_formed


class Action(StrEnum):
    """An action recorded by an audit entry (`action_type`)."""

    # The middleware's: those that the schema (middleware-state-idempotency-audit, table C) names, and those in its keys
    # of actions (section A.1)
    ROUTE = "route"
    TAG = "tag"
    AUTO_REPLY = "auto_reply"
    ESCALATE = "escalate"
    RP_REPLY = "rp_reply"
    RP_TAG = "rp_tag"
    RP_ASSIGN = "rp_assign"
    SHOPIFY_LOOKUP = "shopify_lookup"
    # The hand-off (by staff, or `platform` for what the platform requested)
    HAND_OFF_REQUEST = "hand_off.request"
    HAND_OFF_TAKE_OVER = "hand_off.take_over"
    HAND_OFF_TAKE = "hand_off.take"
    HAND_OFF_TAKE_FROM_COLLEAGUE = "hand_off.take_from_colleague"
    HAND_OFF_RELEASE = "hand_off.release"
    HAND_OFF_HAND_BACK = "hand_off.hand_back"
    HAND_OFF_ACKNOWLEDGE = "hand_off.acknowledge"
    HAND_OFF_LEAVE_TO_AI = "hand_off.leave_to_ai"
    HAND_OFF_ASSIGN = "hand_off.assign"
    HAND_OFF_HAND_OVER = "hand_off.hand_over"
    HAND_OFF_MARK_URGENT = "hand_off.mark_urgent"
    HAND_OFF_MARK_NOT_URGENT = "hand_off.mark_not_urgent"
    HAND_OFF_LEAVE = "hand_off.leave"
    HAND_OFF_FENCE = "hand_off.fence"
    HAND_OFF_REASSERT = "hand_off.reassert"
    # Customers' messages to people
    MESSAGE_RECEIVED = "message.received"
    ANSWER_FOUND = "message.answer_found"
    MESSAGE_NOT_PLACED = "message.not_placed"
    MESSAGE_PLACED = "message.placed"
    MESSAGE_NOT_HERE = "message.not_here"
    MESSAGE_DISCARDED = "message.discarded"
    OPTED_OUT = "customer.opted_out"
    OPTED_IN = "customer.opted_in"
    NO_ANSWER_NEEDED = "answer.not_needed"
    ANSWER_NEEDED = "answer.needed"
    # Replies, and the team's notes, settings and texts
    REPLY_SEND = "reply.send"
    REPLY_DELIVERY = "reply.delivery"
    NOTE_SAVED = "note.saved"
    ROOM_MADE = "room.made"
    TARGET_MISSED = "target.missed"
    LOCK_ENDED = "lock.ended"
    LEVELS_CHANGED = "levels.changed"
    BUDGET_CHANGED = "budget.changed"
    GROUP_CHANGED = "group.changed"
    DESTINATION_CHANGED = "destination.changed"
    DESTINATION_SECRET_SHOWN = "destination.secret_shown"  # noqa: S105  # nosec B105
    DESTINATION_TESTED = "destination.tested"
    NOTIFICATION_SENT_AGAIN = "notification.sent_again"
    SAVED_REPLY_CREATED = "saved_reply.created"
    SAVED_REPLY_CHANGED = "saved_reply.changed"
    SAVED_REPLY_DELETED = "saved_reply.deleted"
    SAVED_VIEW_CREATED = "saved_view.created"
    SAVED_VIEW_CHANGED = "saved_view.changed"
    SAVED_VIEW_DELETED = "saved_view.deleted"
    INITIAL_APPROVE = "initial.approve"
    INITIAL_REJECT = "initial.reject"
    # Access to personal data
    TRANSCRIPT_OPENED = "transcript.opened"
    RECIPIENT_REVEALED = "recipient.revealed"
    PERSON_LOOKED_UP = "person.looked_up"
    PERSON_SEARCHED = "person.searched"
    CONVERSATIONS_EXPORTED = "conversations.exported"
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
    STAFF_AVAILABLE = "staff.available"
    STAFF_AWAY = "staff.away"
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
    ACCESS_REVIEWED = "staff.access_reviewed"
    ACCOUNTS_EXPORTED = "staff.accounts_exported"
    COMPANIES_DISCOVERED = "companies.discovered"
    CONVERSATIONS_LOADED = "conversations.loaded"
    # Tenants: trails of tenants
    TENANT_CREATED = "tenant.created"
    TENANT_ONBOARDED = "tenant.onboarded"
    TENANT_CHANGED = "tenant.changed"
    TENANT_ACTIVATED = "tenant.activated"
    TENANT_SUSPENDED = "tenant.suspended"
    TENANT_REACTIVATED = "tenant.reactivated"
    TENANT_DISCARDED = "tenant.discarded"
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
    """First word of an entry's `result`; a reason may follow, after a colon in the console's own entries."""

    PENDING = "pending"
    SUCCESS = "success"
    CONFLICT = "conflict"
    FAILED = "failed"


# The prefix of all hand-off actions, including those of future writers.
HAND_OFF_PREFIX = "hand_off."
# What people said about whether an answer is needed.
ANSWER_PREFIX = "answer."
HAND_OFF_ACTIONS = frozenset(action for action in Action if action.startswith(HAND_OFF_PREFIX))
# The payload's keys for the colleague who lost or got a conversation: the console's, and older ones.
COLLEAGUES = ("held by", "from", "colleague", "agent_seen", "previous_agent")


# --- Groups of actions ------------------------------------------------------------------------------------------------


def _beginning_with(*prefixes: str) -> tuple[Action, ...]:
    return tuple(action for action in Action if action.startswith(prefixes))


MIDDLEWARE = (
    Action.ROUTE,
    Action.TAG,
    Action.AUTO_REPLY,
    Action.ESCALATE,
    Action.RP_REPLY,
    Action.RP_TAG,
    Action.RP_ASSIGN,
    Action.SHOPIFY_LOOKUP,
)
HAND_OFF = _beginning_with(HAND_OFF_PREFIX)
# Downloads of files.
EXPORTS = (Action.AUDIT_EXPORTED, Action.CONVERSATIONS_EXPORTED)
ACCESS_ACTIONS = (
    Action.TRANSCRIPT_OPENED,
    Action.RECIPIENT_REVEALED,
    Action.PERSON_LOOKED_UP,
    Action.PERSON_SEARCHED,
    *EXPORTS,
)
SIGN_IN = (
    Action.SIGN_IN,
    Action.SIGN_OUT,
    Action.SIGN_IN_FAILED,
    Action.SIGN_IN_THROTTLED,
    Action.CODE_ASKED,
    Action.RECOVERY_CODE_USED,
    Action.ACCESS_DENIED,
    Action.SESSION_ENDED,
    Action.SESSIONS_ENDED,
)
GROUPS: dict[str, tuple[str, ...]] = {
    "Middleware": MIDDLEWARE,
    "Hand-off": HAND_OFF,
    "Customers' messages": _beginning_with("message.", "initial.", "answer.", "customer.", "lock.", "room."),
    "Replies and notes": _beginning_with("reply.", "note."),
    "Levels and notifications": _beginning_with(
        "levels.", "target.", "budget.", "group.", "destination.", "notification."
    ),
    "Saved replies": _beginning_with("saved_reply."),
    "Saved views": _beginning_with("saved_view."),
    "Looking at personal data": ACCESS_ACTIONS,
    "Signing in": SIGN_IN,
    "Accounts": tuple(action for action in _beginning_with("staff.") if action not in SIGN_IN),
    "Tenants": _beginning_with("tenant.", "tenant_conversation.", "user.", "channel.", "company."),
    "Chats and threads": (Action.CHAT_ENDED, Action.FEEDBACK_CHANGED),
    "Operations": (Action.COMPANIES_DISCOVERED, Action.CONVERSATIONS_LOADED, Action.AUDIT_ARCHIVED),
}
# The groups that a review without filters shows: what happened in conversations, who looked, and what privileged people
# changed. The others are to be chosen.
SHOWN_AT_FIRST = ("Middleware", "Hand-off", "Looking at personal data", "Accounts", "Tenants")
DEFAULT_ACTIONS: tuple[str, ...] = tuple(action for group in SHOWN_AT_FIRST for action in GROUPS[group])

# A review partition is one of review-index: the console's own action types that reviews read together, so that one
# Query takes the place of one for each type. Entries are stored with theirs: a type that moves to another partition
# needs `manage.py audit backfill` again. The middleware's entries are in none: only the console writes the attribute.
FIRST = "first"
REVIEW_PARTITIONS: dict[str, tuple[str, ...]] = {
    FIRST: tuple(each for each in DEFAULT_ACTIONS if each not in MIDDLEWARE)
} | {slugify(group): actions for group, actions in GROUPS.items() if group not in SHOWN_AT_FIRST}
# The review partition of each action type; none for one that only other services write.
REVIEW_PARTITION_OF: dict[str, str] = {
    action: partition for partition, actions in REVIEW_PARTITIONS.items() for action in actions
}


# --- Results ----------------------------------------------------------------------------------------------------------

# For pages and exports: a failure because the console refused the request, and one because a person undid it.
REFUSED, UNDONE = "refused", "undone"
# How the reason of what was undone begins.
TAKEN_BACK = "taken back"
_FIRST_WORD = re.compile(r"[\s(\[]*([^\W\d_]+)")
_SUCCESSES, _FAILURES = ("success", "succeeded", "ok"), ("fail", "fails", "failed", "failure", "failing", "error")
# Words that are an outcome and nothing else.
_RESULT_WORDS = frozenset((*_SUCCESSES, *_FAILURES, Result.PENDING, Result.CONFLICT))
_OUTCOMES = ("status", "result", "outcome")
_REASONS = ("reason", "error", "message")
# A dash separates if a blank follows it, or directly after the word; elsewhere it is a sign: "fail: -5 left".
_BETWEEN = re.compile(r"(?:\s*(?:[:;,.=|/\]>]+|[-–—]+(?=\s))|[-–—_]+)?\s*")
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")


def outcome(result: str) -> str:
    """Return pending, success, conflict, failed or unknown, by the first word: services write `fail` and `failure`."""
    found = _FIRST_WORD.match(result)
    word = found[1].lower() if found else ""
    if word.startswith("fail") or word in _FAILURES:
        return Result.FAILED
    if word in _SUCCESSES:
        return Result.SUCCESS
    return word if word in (Result.PENDING, Result.CONFLICT) else "unknown"


def outcome_of(entry: AuditEntry) -> str:
    """Return the outcome of an entry: pending, success, conflict, failed or unknown.

    A denial is a failure whatever is stored: older ones say success.
    """
    if entry.plain("action_type") == Action.ACCESS_DENIED:
        return Result.FAILED
    return outcome(_outcome_text(_opened(entry.plain("result"))))


def reason_of_entry(entry: AuditEntry) -> str:
    """Return the reason in an entry's result, as `reason_of`, without its recipient's names."""
    return without_names(reason_of(entry.plain("result")), entry.recipient)


def reason_of(stored: Any) -> str:
    """Return the redacted reason of a result: all but its outcome, or all of it if no outcome can be read."""
    opened = _opened(stored)
    if isinstance(opened, dict):
        shown: Any = redact_value(well_formed(opened))
        known = outcome(_outcome_text(opened)) != "unknown" and isinstance(shown, dict)
        return redact(_reason_in(shown) if known else _as_text(shown))
    return redact(_rest(_as_text(opened)))


def _opened(stored: Any) -> Any:
    """Parse a map that was stored as JSON; return any other value as it is."""
    if isinstance(stored, str) and stored.lstrip().startswith("{"):
        try:
            return json.loads(stored)
        except (ValueError, RecursionError):
            return stored
    return stored


def _outcome_text(stored: Any) -> str:
    """Return the text that begins with the outcome: the text itself, or a map's first value with an outcome's name."""
    if not isinstance(stored, dict):
        return _as_text(stored)
    values = (value for name, value in stored.items() if str(name).lower() in _OUTCOMES)
    return next((value for value in values if isinstance(value, str)), "")


def _reason_in(payload: dict[str, Any]) -> str:
    """Return the reason in a redacted map with a known outcome: named reasons first, then everything else by name."""
    heads: list[str] = []
    reasons: list[str] = []
    others: list[str] = []
    for name, value in payload.items():
        words = flatten_to_line(value) if isinstance(value, dict | list) else text_of(value)
        if value in (None, ""):
            continue
        if name.lower() in _OUTCOMES and not heads and isinstance(value, str):
            heads.append(_rest(value))
        elif name.lower() in _REASONS:
            reasons.append(words)
        else:
            others.append(f"{name}: {words}")
    return ", ".join(part for part in (*heads, *reasons, *others) if part)


def _rest(text: str) -> str:
    """Return the text after the outcome; all of it if its first word is not an outcome, or only begins like one."""
    found = _FIRST_WORD.match(text)
    if found is None or found[1].lower() not in _RESULT_WORDS:
        return text.strip()
    between = _BETWEEN.match(text, found.end())
    rest = text[between.end() if between else found.end() :].strip()
    in_brackets = _IN_BRACKETS.fullmatch(rest)
    return in_brackets[1].strip() if in_brackets else rest


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=text_of)
    return text_of(value)


# --- Entries as stored ------------------------------------------------------------------------------------------------

# Entries that are made once per period have its start in their key; no period is longer.
LONGEST_PERIOD = timedelta(hours=1)


_ONCE_PER_PERIOD = (
    Action.TRANSCRIPT_OPENED,
    Action.PERSON_LOOKED_UP,
    Action.CODE_ASKED,
    Action.SIGN_IN_FAILED,
    Action.SIGN_IN_THROTTLED,
    Action.ACCESS_DENIED,
    Action.PERSON_SEARCHED,
    Action.RECIPIENT_REVEALED,
)


def text_in(entry: AuditEntry, name: str) -> str:
    """Return a stored attribute of an entry as text; "" if it is absent, empty or not a plain value."""
    value = entry.plain(name)
    return text_of(value) if value not in (None, "") and not isinstance(value, dict | list) else ""


def as_payload(entry: AuditEntry) -> Any:
    """Return an entry's payload as plain Python, redacted again: from JSON text, a stored map, or other text.

    Names of its recipient are masked, except in the usernames of colleagues.
    """
    stored = entry.plain("action_payload_redacted")
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except (ValueError, RecursionError):
            return without_names(redact(text_of(stored)), entry.recipient)
    shown: Any = redact_value(well_formed(stored))
    masked = without_names(shown, entry.recipient)
    if isinstance(masked, dict) and text_in(entry, "action_type") in HAND_OFF_ACTIONS:
        masked |= {name: shown[name] for name in COLLEAGUES if name in shown}
    return masked


def payload_of(entry: AuditEntry) -> dict[str, Any]:
    """Return the payload of an entry, redacted; {} if it is not a map."""
    payload = as_payload(entry)
    return payload if isinstance(payload, dict) else {}


def instant_of(entry: AuditEntry) -> datetime | None:
    """Return when an entry was made: the timestamp at the start of its sort key, in any spelling."""
    return clock.parse_instant(str(entry.plain("ts_action_id") or "").split("#", 1)[0])


def happened_at(entry: AuditEntry) -> datetime | None:
    """Return the time that an entry's row shows: that of its key, or a later one of the same period in its payload."""
    at = instant_of(entry)
    if at is None or at.second or at.microsecond or entry.plain("action_type") not in _ONCE_PER_PERIOD:
        return at
    stated = clock.parse_instant(payload_of(entry).get("at"))
    return stated if stated and at <= stated < at + LONGEST_PERIOD else at


def times_of(entry: AuditEntry) -> int:
    """Return how often it happened: one entry can count repetitions within a minute."""
    times = entry.plain("times")
    return times if isinstance(times, int) and times > 1 else 1


def is_live(entry: AuditEntry, now: datetime) -> bool:
    """Return whether an entry is not past its TTL."""
    return not clock.is_expired(entry.plain("expires_at"), now)
