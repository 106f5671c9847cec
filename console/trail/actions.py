"""What the trail's words mean: names of actions, and what a stored entry says, whoever wrote it.

Actions are the middleware's and the console's own, an open set: others occur. The schema asks of results for
"success/fail + reason", and does not say what separates the two: the first word is the outcome, the rest the reason.
"""

import json
import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from console import clock
from console.redaction import redact, redact_value
from console.trail.models import AuditEntry
from console.trees import tail, text_of, well_formed


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
    HAND_OFF_LEAVE_TO_AI = "hand_off.leave_to_ai"
    HAND_OFF_ASSIGN = "hand_off.assign"
    HAND_OFF_HAND_OVER = "hand_off.hand_over"
    HAND_OFF_MARK_URGENT = "hand_off.mark_urgent"
    HAND_OFF_MARK_NOT_URGENT = "hand_off.mark_not_urgent"
    HAND_OFF_LEAVE = "hand_off.leave"
    HAND_OFF_FENCE = "hand_off.fence"
    HAND_OFF_REASSERT = "hand_off.reassert"
    # What customers write to people
    MESSAGE_RECEIVED = "message.received"
    MESSAGE_NOT_PLACED = "message.not_placed"
    MESSAGE_PLACED = "message.placed"
    MESSAGE_DISCARDED = "message.discarded"
    # What people answer
    REPLY_SEND = "reply.send"
    REPLY_DELIVERY = "reply.delivery"
    NOTE_SAVED = "note.saved"
    TARGET_MISSED = "target.missed"
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
    # Looking at personal data
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


# --- Results ----------------------------------------------------------------------------------------------------------

# For pages and exports: a failure in that the console refused what was asked.
REFUSED = "refused"
_FIRST_WORD = re.compile(r"[\s(\[]*([^\W\d_]+)")
_SUCCESSES, _FAILURES = ("success", "succeeded", "ok"), ("fail", "fails", "failed", "failure", "failing", "error")
# The words that say an outcome and nothing else.
_RESULT_WORDS = frozenset((*_SUCCESSES, *_FAILURES, Result.PENDING, Result.CONFLICT))
_OUTCOMES = ("status", "result", "outcome")
_REASONS = ("reason", "error", "message")
# A dash parts where a blank follows it, or stands at the word itself; elsewhere it is a sign: "fail: -5 left".
_BETWEEN = re.compile(r"(?:\s*(?:[:;,.=|/\]>]+|[-–—]+(?=\s))|[-–—_]+)?\s*")
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")


def outcome(result: str) -> str:
    """One of pending, success, conflict, failed or unknown, by the first word: services write `fail` and `failure`."""
    found = _FIRST_WORD.match(result)
    word = found[1].lower() if found else ""
    if word.startswith("fail") or word in _FAILURES:
        return Result.FAILED
    if word in _SUCCESSES:
        return Result.SUCCESS
    return word if word in (Result.PENDING, Result.CONFLICT) else "unknown"


def outcome_of(entry: AuditEntry) -> str:
    """One of pending, success, conflict, failed or unknown.

    A denial is a failure whatever is stored: older ones say success.
    """
    if entry.plain("action_type") == Action.ACCESS_DENIED:
        return Result.FAILED
    return outcome(_head(_opened(entry.plain("result"))))


def reason_of(stored: Any) -> str:
    """Why, redacted: what a result says beside its outcome, and all of it where no outcome can be read."""
    opened = _opened(stored)
    if isinstance(opened, dict):
        shown: Any = redact_value(well_formed(opened))
        known = outcome(_head(opened)) != "unknown" and isinstance(shown, dict)
        return redact(_reason_in(shown) if known else _as_text(shown))
    return redact(_rest(_as_text(opened)))


def _opened(stored: Any) -> Any:
    """A map that was stored as JSON is the map."""
    if isinstance(stored, str) and stored.lstrip().startswith("{"):
        try:
            return json.loads(stored)
        except (ValueError, RecursionError):
            return stored
    return stored


def _head(stored: Any) -> str:
    """What begins with the outcome: the text itself, or the first of a map's values that is named for it."""
    if not isinstance(stored, dict):
        return _as_text(stored)
    values = (value for name, value in stored.items() if str(name).lower() in _OUTCOMES)
    return next((value for value in values if isinstance(value, str)), "")


def _reason_in(payload: dict[str, Any]) -> str:
    """The reason in a redacted map whose outcome is known: what is named so first, then all else with its name."""
    heads: list[str] = []
    reasons: list[str] = []
    others: list[str] = []
    for name, value in payload.items():
        words = tail(value) if isinstance(value, dict | list) else text_of(value)
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
    """What follows the outcome; all of the text where its first word is no outcome, or one that only begins like it."""
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

# Entries made once in a period have its beginning in their key; none is longer.
LONGEST_PERIOD = timedelta(hours=1)


_MADE_ONCE = (
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
    """An attribute of an entry as text, as stored; "" where it is absent, empty or no plain value."""
    value = entry.plain(name)
    return text_of(value) if value not in (None, "") and not isinstance(value, dict | list) else ""


def as_payload(stored: Any) -> Any:
    """An entry's payload as plain Python, redacted again: JSON as text, a map that a writer stored as such, or text."""
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except (ValueError, RecursionError):
            return redact(text_of(stored))
    return redact_value(well_formed(stored))


def payload_of(entry: AuditEntry) -> dict[str, Any]:
    """The payload of an entry, redacted; empty where it is no map."""
    payload = as_payload(entry.plain("action_payload_redacted"))
    return payload if isinstance(payload, dict) else {}


def instant_of(entry: AuditEntry) -> datetime | None:
    """When an entry was made: the timestamp that its sort key begins with, in whichever spelling."""
    return clock.parse_instant(str(entry.plain("ts_action_id") or "").split("#", 1)[0])


def happened_at(entry: AuditEntry) -> datetime | None:
    """When it was, as its row shows it: the instant of its key, or a later one in that period that its payload says."""
    at = instant_of(entry)
    if at is None or at.second or at.microsecond or entry.plain("action_type") not in _MADE_ONCE:
        return at
    stated = clock.parse_instant(payload_of(entry).get("at"))
    return stated if stated and at <= stated < at + LONGEST_PERIOD else at


def times_of(entry: AuditEntry) -> int:
    """How often it happened: one entry may count what was repeated within its minute."""
    times = entry.plain("times")
    return times if isinstance(times, int) and times > 1 else 1


def is_live(entry: AuditEntry, now: datetime) -> bool:
    """Whether an entry is not past its TTL."""
    return not clock.is_expired(entry.plain("expires_at"), now)
