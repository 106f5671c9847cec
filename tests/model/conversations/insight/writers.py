"""How what happens is written: messages in every spelling, and the trail as the console's actions leave it."""

import json
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

from console import clock
from tests.model.conversations.insight.history import Said

# Each as it is written, and as Insight tells it.
COMPANIES, PROJECTS, CHANNELS = ("ci-aaa-001", "ci/bbb 2"), ("pi-aaa-001", "p#2"), ("whatsapp", "email")
MODELS = (("gpt-4o-2024-08-06", {"model": "gpt-4o-2024-08-06"}), ("claude-3", {"openai": {"ai_model": " claude-3 "}}))
WHY = (
    ("I want a refund", "payment"),
    ("Please let me talk to a human", "asked for a person"),
    ("low_confidence", "low_confidence"),
    ("Not sure what Jo Doe means", "the AI cannot answer"),
    ("Zzz", "other"),
)
FAILURES = (("provider_down", "provider_down"), ("No answer from +447700900123", "other"), (None, "unknown"))
STATES = (
    ("order_status", 0.95, "0.9 and more"),
    ("refund", 0.5, "0.5 to 0.7"),
    ("Jo Doe wants a refund", 0.1, "under 0.5"),
)
ROLES = {"customer": "user", "ai": "assistant", "human": "assistant", "": "system"}


def spelled(at: datetime, random: Random) -> Any:
    """An instant as one of the writers has it."""
    seconds = int(at.timestamp())
    return random.choice(
        (
            clock.to_iso(at),
            clock.to_iso(at, "seconds"),
            at.isoformat() + "Z",
            at.astimezone(timezone(timedelta(hours=2))).isoformat(),
            f"{at:%Y-%m-%d %H:%M:%S}",
            seconds,
            seconds * 1000,
            str(seconds),
        )
    )


def message_of(said: Said, number: int, random: Random) -> dict[str, Any]:
    """A message as an entry of an item."""
    prompt, completion, total = said.tokens
    prefix = random.choice(("ai_", ""))
    counts = {"prompt": prompt, "completion": completion, "total": total}
    entry: dict[str, Any] = {
        "message_id": f"m{number}",
        "role": ROLES[said.who],
        "content": "x",
        random.choice(("timestamp", "message_timestamp")): spelled(said.at, random),
        **{f"{prefix}{kind}_tokens": random.choice((str, int))(count) for kind, count in counts.items() if count},
    }
    if said.took_ms is not None:
        entry["processing_time_ms"] = said.took_ms
    return entry | ({"sent_by": "human", "agent": said.agent} if said.who == "human" else {})


def entry_of(
    conversation_id: str,
    at: datetime,
    action: str,
    actor: str,
    *,
    action_id: str = "",
    previous: str = "",
    result: str = "success",
    reason: str = "",
) -> dict[str, Any]:
    """An entry of a conversation's trail."""
    entry = {
        "conversation_id": conversation_id,
        "ts_action_id": f"{clock.to_iso(at)}#{action_id or f'{action}{previous}'}",
        "action_type": action,
        "action_payload_redacted": json.dumps({"reason": reason} if reason else {}),
        "result": result,
        "actor": actor,
    }
    return entry | {name: id_ for name, id_ in (("action_id", action_id), ("previous_action_id", previous)) if id_}
