"""From stored conversation items to records: tolerant of drift, masked, and the same for every page."""

import re
import unicodedata
from datetime import datetime
from typing import Any

from console import clock
from console.bidi import isolated
from console.permissions import Permission, Staff
from console.redaction import RedactedMemo, cut, mask_identifier, redact, without_names
from console.refs import seal
from console.schema.tables import RECIPIENT_NAMES
from console.store.connection import known_absent
from conversations.models import SUMMARY_ATTRIBUTES, Conversation
from conversations.records import ConversationSummary, HandOff, HandOffState

# Names, statuses and reasons are the same in many rows, and rows the same in many pages: to redact them anew takes a
# fifth of a page's time. Only digests and redacted texts are kept.
_line = RedactedMemo(redact, capacity=8192, shortest=1, longest=127)


def text_of(value: Any, limit: int = 200) -> str:
    """Any stored value as one short line of text, redacted; "" for nothing."""
    if value is None or value == "":
        return ""
    return cut(_line(value if isinstance(value, str) else str(value)), limit)


def is_true(value: Any) -> bool:
    """A flag of a drifting writer: only true, 1 and "true" count; absent, NULL and anything else are false."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "1")
    return value is True or (not isinstance(value, bool) and value == 1)


def reference_of(primary_channel: str, conversation_id: str) -> str:
    """The sealed reference of a conversation."""
    return seal("conversation", primary_channel, conversation_id)


def is_gone(item: Conversation, now: datetime) -> bool:
    """Whether the item is past its TTL, though DynamoDB may still return it."""
    return clock.is_expired(item.plain("ttl"), now)


def recipients_of(item: Conversation) -> frozenset[str]:
    """The recipient's identifiers as writers may name the sender of a message."""
    values = (item.primary_channel, item.plain("recipient_tel"), item.plain("recipient_email"))
    return frozenset(value for value in values if isinstance(value, str) and value)


LONGEST_NAME = 40
_ADDRESS = re.compile(r"([^\W_])[^\s@<>,]{0,63}@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")


def names_of(item: Conversation) -> tuple[str, ...]:
    """The recipient's first and last name, which are masked in what is shown redacted; () where none is known.

    Of what a form let in as a name only what looks like one: else somebody's "name" could mask whatever they like.
    """
    known = map(item.plain, RECIPIENT_NAMES)
    return tuple(value for value in known if isinstance(value, str) and _is_name(value.strip()))


def customer_of(item: Conversation, staff: Staff | None = None) -> str:
    """Who the customer is, in a line: masked, and for who may read the transcript as `identifier_for` has it, with the
    first name where the item tells one and that was read."""
    shown = identifier_for(item.primary_channel, staff)
    name = item.plain("recipient_first_name")
    if not _sees_hints(staff) or not isinstance(name, str) or not _is_name(name.strip()):
        return shown
    return f"{isolated(name.strip())} · {shown}"


def identifier_for(identifier: str, staff: Staff | None) -> str:
    """A recipient's number or address: masked, but for who may read transcripts `r…@uni.example`, as addresses have no
    last four digits to be told apart by."""
    return hint_of(identifier) if _sees_hints(staff) else mask_identifier(identifier)


def hint_of(identifier: str) -> str:
    """A recipient's number masked, but of an address its first letter and where it is: for who reads transcripts."""
    found = _ADDRESS.fullmatch(identifier)
    return f"{found[1]}…@{found[2]}" if found else mask_identifier(identifier)


def _sees_hints(staff: Staff | None) -> bool:
    """Without a trail everybody reads redacted."""
    return staff is not None and staff.can(Permission.TRANSCRIPT_RAW) and not known_absent("AUDIT")


def _is_name(text: str) -> bool:
    """Whether a text looks like a first name, in whatever script: a form may have let in anything."""
    kinds = {unicodedata.category(each)[0] for each in text if each not in " -'’."}
    return 0 < len(text) <= LONGEST_NAME and "L" in kinds and kinds <= {"L", "M"}


def hand_off_of(item: Conversation) -> HandOff:
    """The hand-off of an item (data model, section 4), with the reason redacted."""
    flag = is_true(item.plain("hand_off_to_human"))
    agent = item.hand_off_agent or ""
    wanted = item.hand_off_wanted
    requested = clock.parse_instant(item.plain("hand_off_requested_at"))
    at_least = False
    if flag and requested is None:
        # The platform sets the flag without a time of its own; its last update is when the wait began at the latest.
        requested = clock.parse_instant(item.plain("updated_at")) or clock.parse_instant(item.plain("created_at"))
        at_least = requested is not None
    return HandOff(
        state=_state(flag, agent, wanted),
        flag=flag,
        agent=agent,
        reason=without_names(_line(str(reason)), names_of(item))
        if (reason := item.plain("hand_off_to_human_reason"))
        else "",
        requested_at=requested,
        wait_at_least=at_least,
        taken_at=clock.parse_instant(item.plain("hand_off_taken_at")),
        note=item.hand_off_note or "",
        wanted=wanted,
        action_id=item.hand_off_action_id or "",
    )


def _state(flag: bool, agent: str, wanted: bool | None) -> HandOffState:
    """Overridden: the platform wrote back another flag than our last action wanted, the last action unchanged.

    Held by someone while the flag is false, or handed back and yet true again with the old last action: the first is
    told to its holder; the second cannot be told from a new request here, so it waits for a human like any other.
    """
    if agent and not flag:
        return HandOffState.OVERRIDDEN
    if not flag:
        return HandOffState.AI
    return HandOffState.HELD if agent else HandOffState.WAITING


def summary_of(item: Conversation, staff: Staff | None = None) -> ConversationSummary:
    """One list row, its customer as `staff` may see them (see `customer_of`).

    Never raises: what is missing or drifted is empty and named in `drift`.
    """
    task = item.plain("task_complete")
    drift = tuple(f"{name}: {what}" for name, what in sorted(item.drift.items()) if name in SUMMARY_ATTRIBUTES)
    return ConversationSummary(
        reference=reference_of(item.primary_channel, item.conversation_id),
        who=customer_of(item, staff),
        company_id=item.company_id or "",
        company_name=text_of(item.company_name) or (item.company_id or ""),
        project_id=item.project_id or "",
        project_name=text_of(item.project_name) or (item.project_id or ""),
        channel=text_of(item.plain("channel_method"), 40),
        status=text_of(item.plain("conversation_status"), 60),
        task_complete=None if task is None else is_true(task),
        created_at=clock.parse_instant(item.plain("created_at")),
        updated_at=clock.parse_instant(item.plain("updated_at")),
        hand_off=hand_off_of(item),
        short_id=short_id(item.conversation_id),
        drift=drift + _missing(item),
    )


def short_id(conversation_id: str) -> str:
    """A conversation's id as people tell it apart: without company, project and recipient, redacted."""
    segments = conversation_id.split("#")
    return _line("#".join(segments[2:-1]) if len(segments) >= 4 else conversation_id)


def id_to_copy(conversation_id: str) -> str:
    """A conversation's id without its recipient, by which the search finds it; "" where that tells of a person."""
    segments = conversation_id.split("#")
    text = "#".join(segments[:-1] if len(segments) >= 4 else segments)
    return text if redact(text) == text else ""


# Required by the schema, except `messages`, which no list reads.
_REQUIRED = (
    "channel_method",
    "comms_consent",
    "company_id",
    "conversation_status",
    "created_at",
    "function_call",
    "hand_off_to_human",
    "project_id",
    "request_id",
    "task_complete",
    "updated_at",
)


def _missing(item: Conversation) -> tuple[str, ...]:
    return tuple(f"{name}: missing" for name in _REQUIRED if name not in item.raw)
