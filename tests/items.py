"""Items as the platform writes them."""

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.audit.review.plan import BackfillState
from console.trail.actions import REVIEW_PARTITION_OF
from conversations.converting import reference_of
from tests.dynamodb import Store


def conversation(**overrides: Any) -> dict[str, Any]:
    """A conversation item with every required attribute; an override of `...` leaves the attribute out."""
    recipient = overrides.pop("primary_channel", "+447700900123")
    request_id = overrides.pop("request_id", f"req-{uuid.uuid4().hex[:8]}")
    company = overrides.get("company_id", "ci-aaa-001")
    project = overrides.get("project_id", "pi-aaa-001")
    moment = clock.to_iso(clock.now(), "seconds")
    item: dict[str, Any] = {
        "primary_channel": recipient,
        "conversation_id": f"{company}#{project}#{request_id}#{recipient.lstrip('+')}",
        "recipient_tel": recipient,
        "gsi_recipient_tel": recipient,
        "gsi_company_whatsapp_number": "+447588713814",
        "company_id": company,
        "project_id": project,
        "company_name": "Cucumber Recruitment",
        "project_name": "Clarify CV",
        "channel_method": "whatsapp",
        "conversation_status": "initial_message_sent",
        "request_id": request_id,
        "messages": [
            {
                "entry_id": "entry-1",
                "message_timestamp": moment,
                "role": "assistant",
                "content": "Hello, this is the assistant.",
                "ai_prompt_tokens": 150,
                "ai_completion_tokens": 50,
                "ai_total_tokens": 200,
                "processing_time_ms": 850,
            }
        ],
        "created_at": moment,
        "updated_at": moment,
        "task_complete": 0,
        "comms_consent": True,
        "function_call": False,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "channel_config": {"whatsapp": {"company_whatsapp_number": "+447588713814"}},
    }
    item.update(overrides)
    return {name: value for name, value in item.items() if value is not ...}


def put_conversation(store: Store, **overrides: Any) -> dict[str, Any]:
    """Write a conversation as the platform would, and return its item."""
    item = conversation(**overrides)
    store.put("CONVERSATIONS", item)
    return item


def key_of(item: dict[str, Any]) -> dict[str, str]:
    """The key of a conversation."""
    return {name: item[name] for name in ("primary_channel", "conversation_id")}


def reference(item: dict[str, Any]) -> str:
    """The reference of a conversation, as it stands in addresses."""
    return reference_of(**key_of(item))


def url_of(item: dict[str, Any], part: str = "") -> str:
    """The address of a conversation, or of a part of it."""
    return f"/conversations/{reference(item)}/{part}"


def event(now: datetime, **more: Any) -> dict[str, Any]:
    """An idempotency record as the middleware writes it, three hours before; `...` leaves an attribute out."""
    item = {
        "created_at": clock.to_iso(now - timedelta(hours=3)),
        "last_processed_at": clock.to_iso(now - timedelta(hours=3)),
        "received_at": clock.to_iso(now - timedelta(hours=3, seconds=1)),
        "expires_at": clock.to_epoch(now + timedelta(days=12, hours=1)),
        "status": "processed",
        "mode": "route_only",
        "safe_mode": False,
        "automation_enabled": True,
        "source_message_id": "m1",
        "payload_sha256": "ab" * 32,
        "payload_bytes": 1234,
        "intent": "order_status",
    } | more
    return {name: value for name, value in item.items() if value is not ...}


def entry(
    at: datetime,
    action: str = "route",
    trail: str = "c1",
    *,
    tie: object = "a1",
    actor: str = "",
    role: str = "agent",
    company: str = "",
    payload: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """An entry of the audit trail. With `actor` or `company` it is in their index; `...` leaves an attribute out.

    The console's own actions are on their review partition.
    """
    item = {
        "conversation_id": trail,
        "ts_action_id": f"{clock.to_iso(at)}#{tie}",
        "action_type": action,
        "result": "success",
        **({"actor": actor, "gsi_actor": actor, "actor_role": role} if actor else {}),
        **({"company_id": company, "gsi_company_id": company} if company else {}),
        **({} if payload is None else {"action_payload_redacted": json.dumps(payload)}),
        **({"gsi_review": partition} if (partition := REVIEW_PARTITION_OF.get(action)) else {}),
    } | more
    return {name: value for name, value in item.items() if value is not ...}


def backfill_done() -> dict[str, Any]:
    """What says that every entry of the console's own is on its review partition."""
    partition, sort_key = BackfillState.KEY
    return {"pk": partition, "sk": sort_key, "done_at": clock.to_iso(clock.now()), "written": 0}
