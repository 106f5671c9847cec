"""Conversion of stored conversation items to records, tolerant of drift, masked, and the same for every page.

Also the URLs of their pages and lists. A list context is a sealed record of the list that a person came from.
"""

import json
import re
import unicodedata
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.urls import NoReverseMatch, reverse

from console import clock
from console.errors import BadReference
from console.permissions import Permission, Staff
from console.redaction import RedactedMemo, cut, mask_identifier, redact, without_names
from console.refs import seal, seal_data, unseal_data
from console.schema.tables import RECIPIENT_NAMES
from console.store.connection import known_absent
from console.trees import isolated
from conversations.models import NOT_URGENT, SUMMARY_ATTRIBUTES, Conversation
from conversations.records import ConversationSummary, HandOff, HandOffState

CHANNELS = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "Email"}
# The company's own number or address in `channel_config`; its copy for the reply index begins with `gsi_`.
OWN_ADDRESSES = {"whatsapp": "company_whatsapp_number", "sms": "company_sms_number", "email": "company_email"}
# Keys that name the AI's model, in order of preference, and in how many maps they are looked for.
_MODEL_NAMES, _MOST_MAPS = ("model", "ai_model", "model_name", "deployment_name", "model_id"), 40
# Characters of a configuration stored as JSON; a longer one is not parsed.
_LONGEST_CONFIG = 100_000
# Names, statuses and reasons repeat in many rows. Redacting them every time takes a fifth of a page's time, so results
# are cached, as digests and redacted texts only.
_line = RedactedMemo(redact, capacity=8192, shortest=1, longest=127)


def text_of(value: Any, limit: int = 200) -> str:
    """Return any stored value as one short line of redacted text; "" for None."""
    if value is None or value == "":
        return ""
    return cut(_line(value if isinstance(value, str) else str(value)), limit)


def words(value: str) -> str:
    """Return a stored word as people read it: `initial_message_sent` → `initial message sent`."""
    return value.replace("_", " ")


def is_true(value: Any) -> bool:
    """Return whether a flag is set, whatever its type: only true, 1, "true" and "1" count."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "1")
    return value is True or (not isinstance(value, bool) and value == 1)


def reference_of(primary_channel: str, conversation_id: str) -> str:
    """Seal the reference of a conversation."""
    return seal("conversation", primary_channel, conversation_id)


def is_gone(item: Conversation, now: datetime) -> bool:
    """Return whether an item is past its TTL, though DynamoDB may still return it."""
    return clock.is_expired(item.plain("ttl"), now)


LONGEST_NAME = 40
_ADDRESS = re.compile(r"([^\W_])[^\s@<>,]{0,63}@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")


def channel_of(item: Conversation) -> str:
    """Return the channel in lower case; "" if it is not text."""
    value = item.plain("channel_method")
    return value.strip().lower() if isinstance(value, str) else ""


def from_config(config: Any, channel: str, name: str) -> str:
    """Return a channel's setting from `channel_config`: from the channel's own map or the top level; "" for none."""
    if not isinstance(config, dict):
        return ""
    inner = config.get(channel)
    found = (inner.get(name) if isinstance(inner, dict) else None) or config.get(name)
    return found.strip() if isinstance(found, str) else ""


def model_in(config: Any, channel: str | None = None) -> str:
    """Return the name of the AI's model in a configuration, as written; "" if there is none. Never raises.

    It is a key of the map of the conversation's `channel`, of the configuration itself, or of a map in it, such as a
    provider's: the outermost one counts. The maps of other channels are ignored; None: no map is a channel's.
    """
    if isinstance(config, str) and len(config) <= _LONGEST_CONFIG:
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return ""
    maps = [config] if isinstance(config, dict) else []
    for found in islice(maps, _MOST_MAPS):
        if channel in CHANNELS and (model := model_in(found.get(channel))):
            return model
        named = (value.strip() for name in _MODEL_NAMES if isinstance(value := found.get(name), str))
        if model := next(filter(None, named), ""):
            return model
        inner = (each for name, each in found.items() if channel is None or name not in CHANNELS)
        # The loop goes on through what is added here: the maps of each level before those below them.
        maps += [each for each in inner if isinstance(each, dict)]
    return ""


def names_of(item: Conversation) -> tuple[str, ...]:
    """Return the recipient's first and last name, which redacted texts mask; () if none is known.

    Only what looks like a name counts: otherwise any word that a form stored as a name would be masked.
    """
    known = map(item.plain, RECIPIENT_NAMES)
    return tuple(value for value in known if isinstance(value, str) and _is_name(value.strip()))


def redact_about(item: Conversation, text: str) -> str:
    """Return a text about a conversation redacted, without its recipient's names."""
    return without_names(redact(text), names_of(item))


def customer_of(item: Conversation, staff: Staff | None = None) -> str:
    """Return the customer in one line: masked, or the hint and first name for people who read transcripts."""
    shown, name = identifier_for(item.primary_channel, staff), first_name_of(item, staff)
    return f"{isolated(name)} · {shown}" if name else shown


def first_name_of(item: Conversation, staff: Staff | None) -> str:
    """Return the customer's first name for people who read transcripts; "" if it does not look like one."""
    name = item.plain("recipient_first_name")
    if not _sees_hints(staff) or not isinstance(name, str) or not _is_name(name.strip()):
        return ""
    return name.strip()


def identifier_for(identifier: str, staff: Staff | None) -> str:
    """Mask a recipient's number or address; people who read transcripts see addresses as `r…@uni.example`."""
    return hint_of(identifier) if _sees_hints(staff) else mask_identifier(identifier)


def hint_of(identifier: str) -> str:
    """Mask a number; shorten an address to its first letter and its domain."""
    found = _ADDRESS.fullmatch(identifier)
    return f"{found[1]}…@{found[2]}" if found else mask_identifier(identifier)


def _sees_hints(staff: Staff | None) -> bool:
    """Return whether this person reads transcripts unredacted, which nobody does without a trail."""
    return staff is not None and staff.can(Permission.TRANSCRIPT_RAW) and not known_absent("AUDIT")


def _is_name(text: str) -> bool:
    """Return whether a text looks like a name in any script: a form may have accepted anything."""
    kinds = {unicodedata.category(each)[0] for each in text if each not in " -'’."}
    return 0 < len(text) <= LONGEST_NAME and "L" in kinds and kinds <= {"L", "M"}


def hand_off_of(item: Conversation) -> HandOff:
    """Read the hand-off of an item (docs/hand-off.md), with the reason redacted."""
    flag = is_true(item.plain("hand_off_to_human"))
    agent = item.hand_off_agent or ""
    # While the AI has a conversation that needs attention, this time says since when it does.
    requested = None if item.hand_off_attention else clock.parse_instant(item.plain("hand_off_requested_at"))
    at_least = False
    if flag and requested is None:
        # The platform sets the flag without a time, so the wait began at its last update or earlier.
        requested = clock.parse_instant(item.plain("updated_at")) or clock.parse_instant(item.plain("created_at"))
        at_least = requested is not None
    return HandOff(
        state=HandOffState.of(flag, agent),
        flag=flag,
        agent=agent,
        reason=without_names(_line(str(reason)), names_of(item))
        if (reason := item.plain("hand_off_to_human_reason"))
        else "",
        requested_at=requested,
        wait_at_least=at_least,
        taken_at=clock.parse_instant(item.plain("hand_off_taken_at")),
        note=item.hand_off_note or "",
        note_by=item.hand_off_note_by or "",
        note_at=clock.parse_instant(item.plain("hand_off_note_at")),
        action_id=item.hand_off_action_id or "",
        urgent="" if item.hand_off_urgent == NOT_URGENT else item.hand_off_urgent or "",
        group=item.hand_off_group or "",
    )


def state_shown(hand_off: HandOff, staff: Staff) -> tuple[str, str, str]:
    """Return who has a conversation, for this person: words, tone and icon."""
    whose = "you" if hand_off.agent == staff.username else hand_off.agent_shown
    match hand_off.state:
        case HandOffState.WAITING:
            return "waiting for a human", "human", "clock"
        case HandOffState.HELD:
            return f"with {whose}", "human", "person"
        case HandOffState.OVERRIDDEN:
            return f"overridden ({whose})", "bad", "warning"
        case _:
            return "AI", "ai", "robot"


def summary_of(item: Conversation, staff: Staff | None = None) -> ConversationSummary:
    """Build one list row, with the customer as `staff` may see them (see `customer_of`).

    Never raises: missing or drifted attributes are empty and named in `drift`.
    """
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
        created_at=clock.parse_instant(item.plain("created_at")),
        updated_at=clock.parse_instant(item.plain("updated_at")),
        hand_off=hand_off_of(item),
        short_id=short_id(item.conversation_id),
        drift=drift + _missing(item),
        attention=item.hand_off_attention or "",
    )


def short_id(conversation_id: str) -> str:
    """Return a conversation's id for people: redacted, without company, project and recipient."""
    segments = conversation_id.split("#")
    return _line("#".join(segments[2:-1]) if len(segments) >= 4 else conversation_id)


def id_to_copy(conversation_id: str) -> str:
    """Return a conversation's id without its recipient, for the search box; "" if it contains personal data."""
    segments = conversation_id.split("#")
    text = "#".join(segments[:-1] if len(segments) >= 4 else segments)
    return text if redact(text) == text else ""


# Required by the schema, except `messages`, which no list reads.
_REQUIRED = sorted(each.attr_name for each in Conversation.get_attributes().values() if not each.null)
_REQUIRED.remove("messages")


def _missing(item: Conversation) -> tuple[str, ...]:
    return tuple(f"{name}: missing" for name in _REQUIRED if name not in item.raw)


_LIST_CONTEXT = "list"


def seal_list_context(context: dict[str, Any]) -> str:
    """Seal a list and its filters, such as `{"list": "company", "company": id, "filters": {…}}`."""
    return seal_data(_LIST_CONTEXT, context)


def open_list_context(token: str) -> dict[str, Any] | None:
    """Open a sealed list context; None if it is empty, damaged or of another kind."""
    try:
        context = unseal_data(_LIST_CONTEXT, token)
    except BadReference:
        return None
    return context if isinstance(context, dict) and isinstance(context.get("list"), str) else None


def known_list_context(token: str) -> str:
    """Return the token itself, or "" if it does not open."""
    return token if open_list_context(token) is not None else ""


# The parameter of a conversation's page that shows the customer's other ones with the same number.
OTHERS = "others"


def conversation_url(reference: str, list_context: str = "", *, others: bool = False) -> str:
    """Return the URL of a conversation. `list_context` (sealed, unchecked) is the list that the person came from.

    `others`: with the customer's other conversations, for who has just taken this one.
    """
    known = known_list_context(list_context)
    query = ({"in": known} if known else {}) | ({OTHERS: "1"} if others else {})
    return reverse("conversation", args=[reference], query=query)


def url_by_id(conversation_id: str) -> str:
    """Return a URL that leads to the conversation with this id, which is sealed in it. No read."""
    context = {"list": "found", "look": "id", "terms": {"conversation_id": conversation_id}}
    return reverse("conversation-find", query={"found": seal_list_context(context), "open": "one"})


class ListLink(NamedTuple):
    """The link to a list."""

    url: str
    label: str


def list_link(context: dict[str, Any] | None) -> ListLink:
    """Return the link back to the list of a context, or to the start of conversations."""
    given = context or {}
    filters = given.get("filters")
    query = {name: str(value) for name, value in filters.items()} if isinstance(filters, dict) else {}
    match given:
        case {"list": "queue", "tab": str() as tab}:
            return ListLink(reverse("queue", query={"tab": tab, **query}), "Queue")
        case {"list": "company", "company": str() as company}:
            return ListLink(url_of("company", company, query=query), "The company's conversations")
        case {"list": "project", "company": str() as company, "project": str() as project}:
            return ListLink(url_of("project", company, project, query=query), "The project's conversations")
        case {"list": "recipient", "reference": str() as reference}:
            return ListLink(reverse("recipient", args=[reference], query=query), "The recipient's conversations")
        case {"list": "replies", "reference": str() as reference}:
            return ListLink(reverse("replies", args=[reference]), "Conversations with this recipient")
        case {"list": "found"}:
            return ListLink(reverse("conversation-find", query={"found": seal_list_context(given)}), "Results")
    return ListLink(reverse("conversations"), "Conversations")


def export_url(token: str, staff: Staff) -> str:
    """Return the URL that exports the list of a sealed context; "" for people who may not export."""
    if not staff.can(Permission.CONVERSATION_EXPORT):
        return ""
    return reverse("conversations-export", query={"in": token})


def url_of(name: str, *parts: str, query: dict[str, str] | None = None) -> str:
    """Return the URL of a page named by foreign ids; the start of conversations if no path can hold the id."""
    with suppress(NoReverseMatch):
        if not any(part in ("", ".", "..") for part in parts):
            return reverse(name, args=parts, query=query)
    return reverse("conversations", query=query)


def appended_ids(item: Conversation) -> frozenset[str]:
    """Return the ids of the entries that the console itself appended to the item's messages."""
    appended = item.plain("hand_off_message_ids")
    return frozenset(map(str, appended)) if isinstance(appended, list) else frozenset()
