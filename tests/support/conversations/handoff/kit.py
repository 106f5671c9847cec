"""What the hand-off's tests share: staff, a conversation as the platform writes it, forms, and what is stored."""

from typing import Any

from console.permissions import Role, Scope, Staff
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, Intent, intent_for
from conversations.models import Conversation
from tests.dynamodb import Store

CHANNEL = "+447700900123"
COMPANY = "ci-aaa-001"
CONVERSATION = "ci-aaa-001#pi-aaa-001#req123#447700900123"
KEY = {"primary_channel": CHANNEL, "conversation_id": CONVERSATION}
HAND_OFF = {
    "hand_off_to_human",
    "hand_off_to_human_reason",
    "hand_off_requested_at",
    "hand_off_agent",
    "hand_off_taken_at",
    "hand_off_note",
    "hand_off_note_by",
    "hand_off_note_at",
    "hand_off_wanted",
    "hand_off_action_id",
    "hand_off_routed_at",
    "gsi_hand_off_queue",
    "hand_off_attention",
    "hand_off_left_at",
    "hand_off_to_ai_at",
    "hand_off_owed_at",
    "hand_off_urgent",
    "hand_off_group",
    "hand_off_answered_at",
    "hand_off_unanswered_at",
    "hand_off_heard_at",
    "hand_off_reply_failed_at",
}
OURS = HAND_OFF | {"updated_at"}
UPDATED_AT = "2026-01-31T09:00:00Z"
# The one conditional write on the conversation, for faults.
ON_CONVERSATION: dict[str, Any] = {"operation": "UpdateItem", "table_key": "CONVERSATIONS"}
WAITING = {"hand_off_to_human": True, "hand_off_to_human_reason": "wants a person"}

ALL = Scope(everything=True)


def staff(username: str = "ana", role: Role = Role.AGENT, scope: Scope | None = None) -> Staff:
    return Staff(username, username.title(), role, scope or Scope.of([COMPANY]))


ANA, BEN = staff("ana"), staff("ben")
ADMIN = staff("root", Role.ADMIN, ALL)


def conversation(**changes: Any) -> dict[str, Any]:
    """An item as the platform writes it, with attributes of all types and some that no schema knows."""
    return {
        **KEY,
        "recipient_tel": CHANNEL,
        "company_id": COMPANY,
        "project_id": "pi-aaa-001",
        "channel_method": "whatsapp",
        "conversation_status": "initial_message_sent",
        "request_id": "req123",
        "messages": [{"entry_id": "m1", "role": "assistant", "content": "Hello", "ai_total_tokens": 200}],
        "created_at": "2026-01-31T08:00:00Z",
        "updated_at": UPDATED_AT,
        "task_complete": 0,
        "comms_consent": True,
        "function_call": False,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "thread_id": None,
        "x_tags": {"vip", "late"},
        "x_map": {"deep": [1, 2.5, None, {"a": b"\x00\x01"}]},
        **changes,
    }


def held_by(username: str, **changes: Any) -> dict[str, Any]:
    """Attributes of a conversation that someone took, as the console leaves them."""
    return {
        "hand_off_to_human": True,
        "hand_off_to_human_reason": "wants a person",
        "hand_off_requested_at": "2026-01-31T09:00:00.000Z",
        "hand_off_agent": username,
        "hand_off_taken_at": "2026-01-31T09:05:00.000Z",
        "hand_off_wanted": True,
        "hand_off_action_id": "before",
        "gsi_hand_off_queue": f"held#{COMPANY}",
        **changes,
    }


def put(store: Store, **changes: Any) -> dict[str, Any]:
    item = conversation(**changes)
    store.put("CONVERSATIONS", item)
    return stored(store)


def stored(store: Store) -> dict[str, Any]:
    item = store.get("CONVERSATIONS", **KEY)
    assert item is not None
    return item


def form(action: HandOffAction | str) -> Intent:
    """The intent of a form rendered now."""
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    return intent_for(HandOffAction(action), item, hand_off_of(item))


def ours(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name in HAND_OFF}


def foreign(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in OURS}


def trail(store: Store) -> list[dict[str, Any]]:
    return [entry for entry in store.all("AUDIT") if entry["conversation_id"] == CONVERSATION]


def results(store: Store) -> dict[str, str]:
    """Result by action id, of the trail; the idempotency records must say the same."""
    found = {entry["action_id"]: entry["result"] for entry in trail(store)}
    records = {record["event_id"].rpartition(":")[2]: record["status"] for record in store.all("IDEMPOTENCY")}
    assert records == {action_id: result.split(":")[0] for action_id, result in found.items()}
    return found
