"""Every attribute of a conversation item in groups, for the panels beside the transcript.

Values are redacted and without credentials for everybody. Only `project_data` is shown like the transcript, because
it helps to answer. People see the recipient in full through `conversation.opening.reveal`, which is recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from console import clock
from console.redaction import mask_identifier, redact, redact_value, without_names
from console.redaction.credentials import mask_credentials
from console.store.models import ForeignModel
from console.trees import Fact, Node, clean, flatten_to_line, instant_fact, text_of, tree_of, well_formed
from conversations.converting import CHANNELS, hint_of, is_true, names_of, short_id, summary_of, words
from conversations.handoff.stored import is_set_by_console
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.records import agent_shown, current_family

# Maximum number of project values that get a line of their own.
MAX_PLAIN = 40


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts under one heading; `trees` are values of free shape, each with its name."""

    title: str
    facts: tuple[Fact, ...] = ()
    trees: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a conversation: the main ones, those that help to answer, the technical ones, and the drift."""

    main: FactGroup
    helpful: tuple[FactGroup, ...]
    technical: tuple[FactGroup, ...]
    drift: tuple[str, ...]


def facts_of(item: Conversation, stored: StoredMessages, *, raw: bool = False) -> Facts:
    """Return the facts of an item (schema platform-conversations, every attribute). Never raises.

    `raw`: the person reads the transcript, and therefore the project's data, without redaction.
    """
    helpful = (
        _project_data(item, raw=raw),
        FactGroup(
            "Company and project",
            (
                *_lines(item, "company_name", "project_name", "project_status"),
                Fact("Allowed channels", list=_texts(item, "allowed_channels")),
            ),
            _trees(item, "company_rep"),
        ),
        FactGroup("Where messages go", _routing(item)),
    )
    return Facts(_main(item, raw=raw), helpful, tuple(_technical_groups(item, stored)), drift_of(item, stored))


def drift_of(item: Conversation, stored: StoredMessages) -> tuple[str, ...]:
    """List what does not fit the schema: wrongly typed, NULL, missing and unknown attributes."""
    wrong = [f"{name}: {what}" for name, what in sorted(item.drift.items())]
    messages = [f"messages: {stored.drift}"] if stored.drift else []
    return tuple(dict.fromkeys((*wrong, *summary_of(item).drift, *messages, *unknown_names(item))))


def _main(item: Conversation, *, raw: bool) -> FactGroup:
    failure, language = value_of(item, "failure_reason"), _language(item)
    return FactGroup(
        "Facts",
        (
            Fact("AI’s status", words(value_of(item, "conversation_status")), tone="plain", note=_family(item)),
            *([Fact("Why it failed", failure)] if failure else []),
            Fact("Recipient", (hint_of if raw else mask_identifier)(item.primary_channel)),
            Fact("Channel", CHANNELS.get(channel := value_of(item, "channel_method"), channel)),
            *([Fact("Language", language)] if language else []),
            Fact("Consent", consent := _consent(item), note="(when it began)" if consent else ""),
            Fact("Task complete", yes_or_no(item.plain("task_complete"))),
            instant_fact("Created", item.plain("created_at")),
            instant_fact("Updated", item.plain("updated_at")),
        ),
    )


def _family(item: Conversation) -> str:
    """Return the status family in parentheses; "" if the status already says it, or its family is unknown."""
    status = item.plain("conversation_status")
    updated_at, attention = clock.parse_instant(item.plain("updated_at")), item.hand_off_attention or ""
    family = current_family(status, updated_at, clock.now(), attention=attention)
    return "" if family is None or family.label in words(str(status)) else f"({family.label})"


def _routing(item: Conversation) -> tuple[Fact, ...]:
    """Describe the routing rules of a conversation (schema platform-conversations, `auto_queue_*`)."""
    initial = _rule(item, "auto_queue_initial_message", "wait for approval", "go straight to the AI")
    replies = _rule(item, "auto_queue_reply_message", "go to people", "go to the AI")
    if is_set_by_console(item.raw):
        replies = "All go to people while people have the conversation"
    return Fact("First messages", initial), Fact("Replies", replies)


def _rule(item: Conversation, attribute: str, held: str, otherwise: str) -> str:
    if is_true(item.plain(attribute)):
        return f"All {held}"
    lists = (item.plain(f"{attribute}_from_{kind}") for kind in ("number", "email"))
    listed = sum(len(each) for each in lists if isinstance(each, list))
    if not listed:
        return f"All {otherwise}"
    senders = "1 listed sender" if listed == 1 else f"{listed} listed senders"
    return f"Messages from {senders} {held}; others {otherwise}"


def _language(item: Conversation) -> str:
    """Return the language configured for the project or its AI; "" if there is none."""
    texts = [shown for name in ("project_data", "ai_config") if isinstance(shown := _guarded(item, name), dict)]
    found = (each.get(name) for each in texts for name in ("language", "locale", "lang"))
    return next((_line(value) for value in found if isinstance(value, str) and value), "")


def _project_data(item: Conversation, *, raw: bool) -> FactGroup:
    """Return the project's data: a fact for each plain value, up to `MAX_PLAIN`, and one tree of the rest."""
    data = _guarded(item, "project_data", raw=raw)
    if not isinstance(data, dict):
        return FactGroup("Project data", trees=_trees(item, "project_data", raw=raw))
    plain = [name for name, value in data.items() if not isinstance(value, dict | list)][:MAX_PLAIN]
    rest = {name: value for name, value in data.items() if name not in plain}
    return FactGroup(
        "Project data",
        tuple(Fact(_label(text_of(name)), _plain(data[name])) for name in plain),
        (("more" if plain else "project data", tree_of(rest)),) if rest else (),
    )


def _plain(value: Any) -> str:
    return "" if value is None else yes_or_no(value) if isinstance(value, bool) else text_of(value)


def _technical_groups(item: Conversation, stored: StoredMessages) -> Iterable[FactGroup]:
    first = in_milliseconds(item.plain("initial_processing_time_ms"))
    yield FactGroup(
        "Processing",
        (
            Fact("Processing", in_milliseconds(item.plain("processing_time_ms"))),
            *([Fact("First message took", first)] if first else []),
            Fact("First answer after", _latency(item, stored)),
            instant_fact("Expires", item.plain("ttl"), relative="in"),
        ),
    )
    yield FactGroup(
        "Recipient",
        (
            Fact("Number", _identifier(item, "recipient_tel")),
            Fact("Email", _identifier(item, "recipient_email")),
            *_lines(item, "recipient_first_name", "recipient_last_name", "email_id"),
        ),
    )
    yield FactGroup(
        "Routing of replies",
        tuple(
            Fact(label, list=_texts(item, name)) if "_from_" in name else Fact(label, yes_or_no(item.plain(name)))
            for label, name in (
                ("Queue first message", "auto_queue_initial_message"),
                ("… from numbers", "auto_queue_initial_message_from_number"),
                ("… from addresses", "auto_queue_initial_message_from_email"),
                ("Queue replies", "auto_queue_reply_message"),
                ("… from numbers", "auto_queue_reply_message_from_number"),
                ("… from addresses", "auto_queue_reply_message_from_email"),
            )
        ),
    )
    yield FactGroup(
        "AI and channel configuration",
        (Fact("Function call", yes_or_no(item.plain("function_call"))), *_lines(item, "function_call_type")),
        _trees(item, "ai_config", "channel_config"),
    )
    yield FactGroup("Hand-off as stored", _hand_off(item))
    yield FactGroup("Versions and keys", _keys(item))
    if (unknown := unknown_tree(item)) is not None:
        yield FactGroup("Unknown attributes", trees=(("other", without_names(unknown, names_of(item))),))


def _hand_off(item: Conversation) -> tuple[Fact, ...]:
    return (
        Fact("hand_off_to_human", value_of(item, "hand_off_to_human")),
        Fact("… reason", value_of(item, "hand_off_to_human_reason")),
        instant_fact("Asked for at", item.plain("hand_off_requested_at")),
        Fact("Held by", agent_shown(text_of(item.plain("hand_off_agent") or ""))),
        instant_fact("Taken at", item.plain("hand_off_taken_at")),
        Fact("Needs attention", value_of(item, "hand_off_attention")),
        instant_fact("Returned or dismissed at", item.plain("hand_off_left_at")),
        instant_fact("Given to the AI at", item.plain("hand_off_to_ai_at")),
        instant_fact("Unanswered by the AI since", item.plain("hand_off_owed_at")),
        Fact("Urgent", value_of(item, "hand_off_urgent")),
        Fact("Group", value_of(item, "hand_off_group"), mono=True),
        instant_fact("Answered at", item.plain("hand_off_answered_at")),
        instant_fact("No answer needed until", item.plain("hand_off_no_answer_at")),
        Fact("… as said by", agent_shown(text_of(item.plain("hand_off_no_answer_by") or ""))),
        instant_fact("Unanswered since", item.plain("hand_off_unanswered_at")),
        instant_fact("Heard at", item.plain("hand_off_heard_at")),
        instant_fact("Reply failed at", item.plain("hand_off_reply_failed_at")),
        Fact("Wanted last", value_of(item, "hand_off_wanted")),
        Fact("Last action", value_of(item, "hand_off_action_id"), mono=True),
        Fact("Queue key", value_of(item, "gsi_hand_off_queue"), mono=True),
        # The note itself is in the hand-off panel, for those who may hand off.
        Fact("Note", "there is one" if item.plain("hand_off_note") else ""),
        Fact("Note by", agent_shown(text_of(item.plain("hand_off_note_by") or ""))),
        instant_fact("Note of", item.plain("hand_off_note_at")),
    )


def _keys(item: Conversation) -> tuple[Fact, ...]:
    return (
        Fact("Conversation", short_id(item.conversation_id), mono=True),
        *(Fact(_label(name), value_of(item, name), mono=True) for name in ("company_id", "project_id", "thread_id")),
        Fact("Request", value_of(item, "request_id"), mono=True),
        instant_fact("Requested", item.plain("initial_request_timestamp")),
        *_lines(item, "router_version", "processor_version"),
        *(
            Fact(label, _identifier(item, name), mono=True)
            for label, name in (
                ("Index: recipient number", "gsi_recipient_tel"),
                ("Index: recipient email", "gsi_recipient_email"),
                ("Index: our WhatsApp", "gsi_company_whatsapp_number"),
                ("Index: our SMS", "gsi_company_sms_number"),
                ("Index: our email", "gsi_company_email"),
            )
        ),
    )


def redact_and_mask(value: Any) -> Any:
    """Mask credentials and personal data in any plain value."""
    return redact_value(mask_credentials(well_formed(value)))


def unknown_names(item: ForeignModel) -> tuple[str, ...]:
    """Return one line that names the attributes that are not in the schema, or () if there are none."""
    unknown = sorted(item.unknown())
    names = ", ".join(redact(clean(name))[:60] for name in unknown[:20])
    return (f"unknown attributes: {names}",) if unknown else ()


def unknown_tree(item: ForeignModel) -> Node | None:
    """Return a tree of the attributes that are not in the schema, redacted for everybody; None if there are none."""
    unknown = item.unknown()
    return tree_of(redact_and_mask(unknown)) if unknown else None


def value_of(item: Conversation, name: str) -> str:
    """Return an attribute as one line, masked by its name and then by its value."""
    return _line(_guarded(item, name))


def _guarded(item: Conversation, name: str, *, raw: bool = False) -> Any:
    value = item.plain(name)
    if value is None or isinstance(value, bool):
        return value
    if raw:
        shown = mask_credentials(well_formed({name: value}))
    else:
        shown = redact_and_mask({name: value})
        if name not in ("company_name", "project_name"):
            shown = without_names(shown, names_of(item))
    return next(iter(shown.values()), "") if isinstance(shown, dict) else ""


def _line(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, dict | list):
        return ", ".join(text_of(each) for each in (value.values() if isinstance(value, dict) else value))[:300]
    return text_of(value)[:300]


def _identifier(item: Conversation, name: str) -> str:
    value = item.plain(name)
    return mask_identifier(text_of(value)) if value not in (None, "") else ""


def _lines(item: Conversation, *names: str) -> tuple[Fact, ...]:
    return tuple(Fact(_label(name), value_of(item, name)) for name in names)


def _label(name: str) -> str:
    """Turn the name of an attribute into a label: `start_date` into "Start date"."""
    spaced = name.replace("_", " ")
    return spaced[:1].upper() + spaced[1:]


def _texts(item: Conversation, name: str) -> tuple[str, ...]:
    value = item.plain(name)
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    shown = mask_credentials(well_formed(values))[:50]
    return tuple(
        redact(flatten_to_line(each) if isinstance(each, dict | list) else text_of(each))[:200] for each in shown
    )


def _trees(item: Conversation, *names: str, raw: bool = False) -> tuple[tuple[str, Node], ...]:
    """Return values of free shape as trees; one that drifted to text or another type is a tree of one leaf."""
    return tuple(
        (name.replace("_", " "), tree_of(_guarded(item, name, raw=raw)))
        for name in names
        if item.plain(name) not in (None, "", {}, [])
    )


def yes_or_no(value: Any) -> str:
    """Return a flag as "yes" or "no"; "" if it is absent, a list or a map."""
    return "" if value is None or isinstance(value, list | dict) else "yes" if is_true(value) else "no"


def in_milliseconds(value: Any) -> str:
    """Format a duration in milliseconds: `1.5 s`."""
    try:
        milliseconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return redact(text_of(value))[:40] if value not in (None, "") else ""
    if not 0 <= milliseconds < 1e12:
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _consent(item: Conversation) -> str:
    value = item.plain("comms_consent")
    return "" if value is None else "given" if is_true(value) else "not given"


def _latency(item: Conversation, stored: StoredMessages) -> str:
    """Return the time from the first request, or else the item's creation, to the AI's first message."""
    requested, created = map(clock.parse_instant, (item.plain("initial_request_timestamp"), item.plain("created_at")))
    asked = requested or created
    answered = stored.at(stored.first_by_ai) if stored.first_by_ai else None
    if asked is None or answered is None or answered < asked:
        return ""
    return clock.format_seconds(answered - asked)
