"""What the middleware keeps about a conversation (schema middleware, table B), as a panel beside it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from console.bidi import isolated
from console.errors import ConsoleError, NotFound, TableMissing
from console.redaction import redact, redact_value
from console.trees import tail, text_of
from conversations.facts import Fact, instant_fact
from conversations.models import ConversationState


@dataclass(frozen=True, slots=True)
class StatePanel:
    """The panel. `notice` is one line where there is nothing to show, or it could not be read; `flags` are risks."""

    facts: tuple[Fact, ...] = ()
    flags: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    notice: str = ""


def read_state(conversation_id: str, now: datetime) -> StatePanel:
    """One GetItem. Never raises the store's errors: a panel that cannot be read says so, the page goes on."""
    try:
        item = ConversationState.get(conversation_id)
    except NotFound:
        return StatePanel(notice="The middleware keeps nothing about this conversation.")
    except TableMissing:
        return StatePanel(notice="The middleware's state table is not there in this environment.")
    except ConsoleError:
        return StatePanel(notice="The middleware's state could not be read just now.")
    if clock.is_expired(item.plain("expires_at"), now):
        return StatePanel(notice="The middleware keeps nothing about this conversation.")
    return panel_of(item)


def panel_of(item: ConversationState) -> StatePanel:
    """The panel of a state item; whatever drifted is shown as it is, and flagged."""
    facts = [
        Fact("Routed to", _routed(item)),
        Fact("Intent", _line(item.plain("last_intent")), mono=True),
        Fact("Pending flow", _line(_described(item.plain("pending_flow")))),
        Fact("Last auto reply", _line(_described(item.plain("last_auto_reply")))),
        instant_fact("Last processed", item.plain("last_processed_at")),
        Fact("Last message", _line(item.plain("last_processed_message_id")), mono=True),
        instant_fact("Updated", item.plain("updated_at")),
        instant_fact("Expires", item.plain("expires_at"), relative="in"),
        Fact("Version", _line(item.plain("version"))),
    ]
    shown = {"risk_flags", *item.get_attributes()}
    facts += [_unknown(name, value) for name, value in item.unknown().items() if name not in shown]
    drift = tuple(f"{name}: {what}" for name, what in sorted(item.drift.items()))
    return StatePanel(tuple(fact for fact in facts if fact.value or fact.at), _flags(item.plain("risk_flags")), drift)


def _unknown(name: str, value: Any) -> Fact:
    """An attribute that no schema knows: its name decides what of its value is masked."""
    shown: Any = redact_value({name: value})
    return Fact(redact(name), _line(next(iter(shown.values()), "")))


def _routed(item: ConversationState) -> str:
    team, confidence = _line(item.plain("last_routed_team")), item.plain("last_routing_confidence")
    if not team:
        return ""
    return f"{isolated(team)} ({text_of(confidence)})" if confidence is not None else team


def _flags(value: Any) -> tuple[str, ...]:
    """A set of texts as the schema says; a list, a single text or text with commas from writers that drift."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = value.split(",")
    values = value if isinstance(value, list | tuple | set) else [value]
    return tuple(redact(text_of(each)).strip()[:80] for each in values if text_of(each).strip())


def _described(value: Any) -> Any:
    """`{"type": "need_order_number", "attempts": 1}` as words, its type first."""
    if not isinstance(value, dict):
        return value
    shown: Any = redact_value(value)
    if not isinstance(shown, dict):
        return shown
    rest = ", ".join(f"{name.replace('_', ' ')} {text_of(each)}" for name, each in shown.items() if name != "type")
    return f"{text_of(shown.get('type') or '')}: {rest}".strip(": ") if rest else shown.get("type")


def _line(value: Any) -> str:
    if isinstance(value, dict | list):
        value = tail(value)
    return "" if value is None else redact(text_of(value))[:300]
