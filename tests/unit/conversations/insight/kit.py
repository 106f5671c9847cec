"""Items and entries of a trail, as short as a test can say them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from console.trail.models import AuditEntry
from tests.dynamodb import to_dynamodb

BEGUN = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def after(span: timedelta = timedelta(0)) -> str:
    """A time so long after the conversation began."""
    return clock.to_iso(BEGUN + span)


def said(who: str, span: timedelta, **more: Any) -> dict[str, Any]:
    """A message: of `user`, `assistant`, a username for a person, or another role."""
    by = {"role": who} if who in ("user", "assistant", "system") else {"role": "assistant", "sent_by": "human"}
    agent = {"agent": who} if "sent_by" in by else {}
    return {
        "message_id": f"m{span.total_seconds():.0f}",
        "timestamp": after(span),
        "content": "x",
        **by,
        **agent,
        **more,
    }


def item(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation as DynamoDB JSON; an attribute of `...` is left out."""
    stored = {
        **{"primary_channel": "+447700900123", "conversation_id": "c1", "company_id": "ci-aaa-001"},
        **{"project_id": "pi-aaa-001", "channel_method": "whatsapp", "created_at": after(), "updated_at": after()},
        **{"conversation_status": "reply_sent", "messages": list(messages), "hand_off_to_human": False},
        **more,
    }
    return to_dynamodb({name: value for name, value in stored.items() if value is not ...})


def storable(attributes: dict[str, Any]) -> dict[str, Any]:
    """An item with these attributes, or one without where DynamoDB holds no such value."""
    try:
        made = item(**attributes)
    except (TypeError, ValueError, ArithmeticError):
        return item()
    return item() if "Infinity" in str(made) else made


class Trail:
    """Entries in the order in which they are made, each action behind the one before it."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.last_action = ""

    def add(self, action: str, span: timedelta, who: str = "ana", result: str = "success", reason: str = "") -> "Trail":
        """An action that took effect, though its result may still be pending."""
        action_id = f"a{len(self.entries)}"
        self._enter(action, span, who, result, reason, action_id)
        self.last_action = action_id
        return self

    def asks(self, span: timedelta, reason: str = "") -> "Trail":
        """The platform asks for a person."""
        return self._enter("hand_off.request", span, "platform", "success", reason)

    def refused(self, action: str, span: timedelta, result: str = "conflict: somebody was faster") -> "Trail":
        """An action that did not take effect."""
        return self._enter(action, span, "ben", result, "", f"r{len(self.entries)}")

    def misses(self, span: timedelta) -> "Trail":
        """An answer is late."""
        return self._enter("target.missed", span, "timer", "success")

    def _enter(
        self, action: str, span: timedelta, who: str, result: str, reason: str = "", action_id: str = ""
    ) -> "Trail":
        entry = AuditEntry(conversation_id="c1", ts_action_id=f"{after(span)}#{action_id or f'x{len(self.entries)}'}")
        entry.action_type, entry.actor, entry.result = action, who, result
        entry.action_payload_redacted = json.dumps({"reason": reason} if reason else {})
        entry.action_id = action_id or None
        entry.previous_action_id = self.last_action or None
        self.entries.append(entry)
        return self
