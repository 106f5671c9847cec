"""The tenant platform's own readers, as strict as they are: what the console writes must pass them.

It reads attributes by subscript, `channel_identities` and `settings` as JSON text, and settings by keyword.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.dynamodb import Store


@dataclass
class TenantSettings:
    """The keywords that it knows."""

    ai_provider: str = ""
    ai_model: str = ""
    tier1_formatting_model: str = ""
    system_prompt_override: str = ""
    max_tokens_per_message: int = 4096
    enabled_channels: list[str] = field(default_factory=list)
    enabled_skills: list[str] = field(default_factory=list)
    custom_skills: list[Any] = field(default_factory=list)
    primary_practice: str = ""
    addon_skills: list[str] = field(default_factory=list)
    addon_pages: list[str] = field(default_factory=list)
    installed_practices: dict[str, str] = field(default_factory=dict)
    messages_per_day: int = 1000
    max_conversation_history: int = 20
    channel_routing_overrides: dict[str, str] = field(default_factory=dict)
    whatsapp_restrict_to_users: bool = True


def list_users(store: Store, tenant_id: str) -> dict[str, dict[str, list[str]]]:
    """Users by id with their channel identities, or the error that loses the tenant's whole list."""
    return dict(_user(item, tenant_id) for item in _items(store, tenant_id, "USER#"))


def _user(item: dict[str, Any], tenant_id: str) -> tuple[str, dict[str, list[str]]]:
    named = {name: item[name] for name in ("user_id", "tenant_id", "email", "display_name", "role")}
    assert all(isinstance(value, str) for value in named.values()), named
    assert (item["pk"], item["sk"]) == (f"TENANT#{named['tenant_id']}", f"USER#{named['user_id']}")
    assert named["tenant_id"] == tenant_id
    identities = json.loads(item.get("channel_identities", "{}"))
    return named["user_id"], {kind: [ids] if isinstance(ids, str) else list(ids) for kind, ids in identities.items()}


def is_let_in(store: Store, tenant_id: str, number: str) -> bool:
    """Whether its WhatsApp webhook answers a sender: where the users cannot be read, nobody is."""
    if not get_tenant(store, tenant_id).whatsapp_restrict_to_users:
        return True
    try:
        users = list_users(store, tenant_id)
    except (KeyError, ValueError, TypeError):
        return False
    return any(number.lstrip("+") == each.lstrip("+") for ids in users.values() for each in ids.get("whatsapp", []))


def get_tenant(store: Store, tenant_id: str) -> TenantSettings:
    """A tenant's settings; `TypeError` for a key that it does not know."""
    [item] = _items(store, tenant_id, "META")
    assert (item["tenant_id"], bool(item["name"]), bool(item["created_at"])) == (tenant_id, True, True)
    assert item["status"] in ("active", "suspended", "onboarding", "deleted")
    return TenantSettings(**json.loads(item["settings"]))


def tenants_of_channel(store: Store, kind: str, channel_id: str) -> list[str]:
    """Whom a webhook of the channel finds."""
    found = store.client.query(
        TableName=store.name("TENANTS"),
        IndexName="channel-mapping",
        KeyConditionExpression="gsi1pk = :key",
        ExpressionAttributeValues={":key": {"S": f"CHANNEL#{kind}#{channel_id}"}},
    )
    return [each["pk"]["S"].removeprefix("TENANT#") for each in found["Items"]]


def channels_of(store: Store, tenant_id: str) -> list[tuple[str, str]]:
    """Types and ids of a tenant's mappings."""
    return [(item["channel_type"], item["channel_specific_id"]) for item in _items(store, tenant_id, "CHANNEL#")]


def _items(store: Store, tenant_id: str, prefix: str) -> list[dict[str, Any]]:
    items = store.all("TENANTS")
    return [each for each in items if each["pk"] == f"TENANT#{tenant_id}" and each["sk"].startswith(prefix)]
