"""What the tests of tenants' conversations share: items as the platform writes them, and who asks."""

import json
from datetime import timedelta
from typing import Any

from console import clock
from console.permissions import Role, Scope, Staff
from conversations.stores.tenant_conversations.reading import TenantConversation, reference_of
from tests.dynamodb import to_dynamodb

TENANT, CONVERSATION = "outlocks", "conv-abc-123"
TALK = [
    {"role": "user", "content": "what's the sprint status?"},
    {"role": "assistant", "content": "Here's your current sprint. Call +447700900123."},
]
REF = reference_of(TENANT, CONVERSATION)
KEY = {"pk": TENANT, "sk": CONVERSATION}


def staff(role: Role, *ids: str) -> Staff:
    return Staff(f"{role.value}.person", role.value.title(), role, Scope(everything=not ids, tenants=frozenset(ids)))


ADMIN, AUDITOR = staff(Role.ADMIN), staff(Role.AUDITOR)


def item(conversation_id: str = CONVERSATION, messages: Any = TALK, **more: Any) -> dict[str, Any]:
    """A conversation as the platform writes it; `...` leaves an attribute out, a list becomes JSON text."""
    now = clock.now()
    made = {
        "pk": TENANT,
        "sk": conversation_id,
        "messages": json.dumps(messages) if isinstance(messages, list) else messages,
        "updated_at": clock.to_iso(now - timedelta(hours=3), "seconds"),
        "ttl": clock.to_epoch(now + timedelta(days=12, hours=1)),
        **more,
    }
    return {name: value for name, value in made.items() if value is not ...}


def read(**more: Any) -> TenantConversation:
    """Such an item as it is read."""
    return TenantConversation.from_raw_data(to_dynamodb(item(**more)))
