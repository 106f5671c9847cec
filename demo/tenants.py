"""The demo's tenants (`tenants.toml`), as the platform and the console write them."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from console import clock
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, tenant_trail
from demo import read_toml
from demo.hand_offs import plain
from demo.staff import ROLES, SIGN_INS
from tenants.keys import META, OWNER, USERS, Channel, company_key, partition_of, user_key
from tenants.records import ACTIVE
from tenants.settings_text import default_text

Item = dict[str, Any]
_TENANTS = read_toml("tenants")


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Yield every item as (table key, item)."""
    for tenant in _TENANTS["tenant"]:
        yield from (("TENANTS", item) for item in _tenant(tenant, now))
    who = SIGN_INS["onboarding"]
    for past in _TENANTS["past"]:
        tenant_id, payload = past["tenant"], past["payload"]
        trail, actor = tenant_trail(tenant_id), Actor(who, ROLES[who])
        action_id = f"{Random(repr(past)).getrandbits(128):032x}"  # nosec B311
        entry = TrailEntry(trail, Action(past["action"]), actor, tenant_id, payload=payload, action_id=action_id)
        yield "AUDIT", plain(build(entry, now - timedelta(days=past["days"])))


def _tenant(tenant: Item, now: datetime) -> Iterator[Item]:
    partition = {"pk": partition_of(tenant["id"])}
    settings = json.dumps(json.loads(default_text()) | tenant.get("settings", {}))
    yield partition | {
        "sk": META,
        "tenant_id": tenant["id"],
        "name": tenant["name"],
        "status": tenant.get("status", ACTIVE),
        "created_at": clock.to_iso(now - timedelta(days=tenant["created"]), "seconds"),
        "settings": tenant.get("broken_settings", settings),
    }
    for user in tenant.get("user", ()):
        yield partition | _user(tenant["id"], user, now)
    if "version" in tenant:
        yield partition | {"sk": USERS, "version": tenant["version"]}
    for named in tenant.get("channels", ()):
        channel = Channel(*named.split(":", 1))
        yield _mapping(tenant["id"], channel) | {"gsi1sk": partition["pk"]}
        yield {"pk": channel.key, "sk": OWNER, "tenant_id": tenant["id"], "claimed_at": clock.to_iso(now)}
    for named in tenant.get("platform_channels", ()):
        yield _mapping(tenant["id"], Channel(*named.split(":", 1)))
    for company_id in tenant.get("companies", ()):
        yield partition | {"sk": company_key(company_id), "linked_at": clock.to_iso(now)}
    for item in tenant.get("item", ()):
        days = item.get("days", {})
        ends = {"ttl": clock.to_epoch(now - timedelta(days=days["expires_at"]))} if "expires_at" in days else {}
        yield partition | {name: value for name, value in item.items() if name != "days"} | _times(days, now) | ends


def _user(tenant_id: str, user: Item, now: datetime) -> Item:
    return {
        "sk": user_key(user["id"]),
        "user_id": user["id"],
        "tenant_id": tenant_id,
        "email": user["email"],
        "display_name": user["name"],
        "role": user["role"],
        "channel_identities": json.dumps(user.get("identities", {})),
        **user.get("more", {}),
        **_times(user.get("times", {}), now),
    }


def _mapping(tenant_id: str, channel: Channel) -> Item:
    """Return a mapping as the platform writes it."""
    return {
        "pk": partition_of(tenant_id),
        "sk": channel.key,
        "gsi1pk": channel.key,
        "channel_type": channel.type,
        "channel_specific_id": channel.id,
    }


def _times(days: dict[str, float], now: datetime) -> Item:
    return {name: clock.to_iso(now - timedelta(days=ago), "seconds") for name, ago in days.items()}
