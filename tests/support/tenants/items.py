"""Items of the tenants table as the tenant platform writes them (schema tenants)."""

import json
from typing import Any

SETTINGS = {
    "ai_provider": "bedrock",
    "ai_model": "claude-sonnet-4-5-20250929",
    "system_prompt_override": "",
    "max_tokens_per_message": 4096,
    "enabled_channels": ["dashboard"],
    "enabled_skills": ["sprint_status"],
    "custom_skills": [],
    "messages_per_day": 1000,
    "max_conversation_history": 20,
}


def _made(item: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (item | more).items() if value is not ...}


def tenant(tenant_id: str = "outlocks", **more: Any) -> dict[str, Any]:
    """A tenant's META; an override of `...` leaves the attribute out."""
    item = {
        "pk": f"TENANT#{tenant_id}",
        "sk": "META",
        "tenant_id": tenant_id,
        "name": tenant_id.capitalize(),
        "status": "active",
        "created_at": "2026-02-21T14:30:00Z",
        "settings": json.dumps(SETTINGS),
    }
    return _made(item, more)


def user(user_id: str = "admin", tenant_id: str = "outlocks", **more: Any) -> dict[str, Any]:
    """A user of a tenant."""
    item = {
        "pk": f"TENANT#{tenant_id}",
        "sk": f"USER#{user_id}",
        "user_id": user_id,
        "tenant_id": tenant_id,
        "email": f"{user_id}@{tenant_id}.example",
        "display_name": user_id.capitalize(),
        "role": "admin" if user_id == "admin" else "member",
        "channel_identities": json.dumps({"teams": "aad-id", "slack": "U12345"}),
    }
    return _made(item, more)


def signed_in_user(user_id: str = "admin", tenant_id: str = "outlocks", **more: Any) -> dict[str, Any]:
    """A user who has signed in on the platform, with all that it keeps of one."""
    own = {
        "cognito_sub": "5f1c2f4e-7c1b-4c59-9a52-0d2a4c1f7b11",
        "gsi2pk": "COGNITO#5f1c2f4e-7c1b-4c59-9a52-0d2a4c1f7b11",
        "last_login": "2026-11-20T08:15:00+00:00",
        "avatar_url": "https://img.example/a.png",
        "metadata": {"theme": "dark", "seen": [1, 2]},
    }
    return user(user_id, tenant_id, **(own | more))


def invitation(code: str = "k3Jx9vQ2", tenant_id: str = "outlocks", **more: Any) -> dict[str, Any]:
    """An invitation of the platform's."""
    item = {
        "pk": f"INVITE#{code}",
        "sk": "META",
        "invite_code": code,
        "tenant_id": tenant_id,
        "email": f"new@{tenant_id}.example",
        "role": "member",
        "status": "pending",
        "invited_by": "admin",
        "created_at": "2026-11-20T08:15:00+00:00",
        "expires_at": "2036-11-27T08:15:00+00:00",
        "accepted_at": "",
        "ttl": 2_100_000_000,
    }
    return _made(item, more)


def mapping(kind: str = "teams", channel_id: str = "azure-bot-app-id", tenant_id: str = "outlocks", **more: Any) -> Any:
    """A channel of a tenant, as webhooks find it."""
    key = f"CHANNEL#{kind}#{channel_id}"
    named = {"channel_type": kind, "channel_specific_id": channel_id}
    return _made({"pk": f"TENANT#{tenant_id}", "sk": key, "gsi1pk": key, **named}, more)
