"""Why the middleware did what it did, from an action's payload: intent, confidence, priority, risk flags.

The schema's trail is there to answer "why was this routed here?", and leaves the payload's names to its writers: what
is not there, or not of the type that it should be, is left out.
"""

from typing import Any

from console.audit.code_names import format_code_name
from console.audit.shares import per_cent, share_of
from console.bidi import isolated
from console.redaction import redact
from console.trail.actions import Action
from console.trees import text_of

MAX_WORDS = 80
MAX_FLAGS = 5
# In the order in which they are told.
_ROUTING = ("reason", "intent", "confidence", "priority", "flags")
_OF_ACTIONS: dict[str, tuple[str, ...]] = {
    Action.ROUTE: _ROUTING,
    Action.ESCALATE: _ROUTING,
    Action.RP_ASSIGN: _ROUTING,
    Action.AUTO_REPLY: ("type", "reason", "intent", "confidence"),
    Action.RP_REPLY: ("type", "reason", "intent", "confidence"),
    Action.TAG: ("reason", "intent", "confidence"),
    Action.RP_TAG: ("reason", "intent", "confidence"),
    Action.SHOPIFY_LOOKUP: ("order", "found", "reason"),
}
_FIELDS = {
    "reason": ("reason", "escalation_reason", "routing_reason", "cause"),
    "intent": ("intent", "primary_intent", "detected_intent"),
    "confidence": ("confidence", "routing_confidence"),
    "priority": ("priority",),
    "flags": ("flags", "risk_flags", "risks"),
    "type": ("type", "reply_type", "template", "template_id"),
    "order": ("order", "order_id", "order_number"),
    "found": ("found",),
}


def causes_of(action: str, payload: dict[str, Any]) -> str:
    """In words, with commas between: "reschedule, 56 %"; "" where the payload tells none. `payload` is redacted."""
    causes = [words for kind in _OF_ACTIONS.get(action, ()) for words in _causes(kind, payload)]
    return ", ".join(dict.fromkeys(causes))


def plain_words(value: Any) -> str:
    """A text as words, redacted: a name in code without its underscores. "" for what is no text."""
    if not isinstance(value, str):
        return ""
    return isolated(format_code_name(text_of(value).strip())[:MAX_WORDS])


def _causes(kind: str, payload: dict[str, Any]) -> list[str]:
    value = next((payload[name] for name in _FIELDS[kind] if payload.get(name) not in (None, "", [])), None)
    match kind:
        case "confidence":
            share = share_of(value)
            words = [per_cent(share)] if share is not None else []
        case "priority":
            text = plain_words(value)
            words = [text if not text or "priority" in text.lower() else f"{text} priority"]
        case "flags":
            words = [plain_words(each) for each in (value if isinstance(value, list) else [value])[:MAX_FLAGS]]
        case "found":
            words = [{True: "found", False: "not found"}[value]] if isinstance(value, bool) else []
        case "order" | "type" if isinstance(value, int) and not isinstance(value, bool):
            words = [redact(text_of(value))]
        case _:
            words = [plain_words(value)]
    return [each for each in words if each]
