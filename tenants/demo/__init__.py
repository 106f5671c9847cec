"""The demo's tenants: in every status, well kept and neglected, as the platform and the console write them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from console.audit.actions import Action, tenant_trail
from console.audit.recording import Actor, Entry, build
from tenants.keys import INVITE, MEMORY, META, OWNER, USERS, Channel, company_key, partition_of, user_key
from tenants.records import ACTIVE, DELETED, ONBOARDING, SUSPENDED
from tenants.settings_text import default_text

Item = dict[str, Any]
NORTHWIND = (("yusuf", "Demir", "admin"), ("ellen", "Marsh", "admin"), ("ivo", "Petrov", "member"))
REMEMBERED = ("Wanted the recall list by clinic.", "Compared two clinics' waiting times.", "Asked for May's figures.")
OLGA = Actor("olga.novak", "onboarding")
# What the trails tell: how many days ago, of which tenant, what was done.
PAST: tuple[tuple[float, str, Action, dict[str, Any]], ...] = (
    (119.9, "lumen-dental", Action.TENANT_CREATED, {"name": "Lumen Dental Group"}),
    (119.8, "lumen-dental", Action.TENANT_ONBOARDED, {"user": "sinead", "channels": ["whatsapp", "email"]}),
    (119.7, "lumen-dental", Action.TENANT_ACTIVATED, {"from": {"status": ONBOARDING}, "to": {"status": ACTIVE}}),
    (40.2, "lumen-dental", Action.USER_ADDED, {"user": "greta", "role": "member"}),
    (
        8.4,
        "lumen-dental",
        Action.TENANT_CHANGED,
        {
            "changed": "max_tokens_per_message",
            "from": {"max_tokens_per_message": "2048"},
            "to": {"max_tokens_per_message": "4096"},
        },
    ),
    (
        3.1,
        "kestrel-freight",
        Action.TENANT_SUSPENDED,
        {"from": {"status": ACTIVE}, "to": {"status": SUSPENDED}, "reason": "the contract ended"},
    ),
    (0.21, "bluebird-books", Action.TENANT_CREATED, {"name": "Bluebird Books"}),
)
PROMPT = (
    "You answer for a dental group. Be brief and kind. Never give a diagnosis: offer an appointment, and hand over "
    "to a person when somebody is in pain."
)


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Every item as (table key, item in plain Python). `now` is aware."""
    for tenant in (*_well_kept(now), *_neglected(now)):
        for item in tenant:
            yield "TENANTS", item
    for days, tenant_id, action, payload in PAST:
        entry = Entry(tenant_trail(tenant_id), action, OLGA, company_id=tenant_id, payload=payload)
        built = build(entry, now - timedelta(days=days)).attribute_values
        yield "AUDIT", {name: value for name, value in built.items() if value is not None}


def _well_kept(now: datetime) -> Iterator[list[Item]]:
    teams = {"enabled_channels": ["dashboard", "teams"], "enabled_skills": ["sprint_status"]}
    yield [
        _meta("outlocks", "Outlocks", now - timedelta(days=270), settings=teams),
        _user(
            "outlocks",
            "admin",
            "it@outlocks.example",
            "Robin Keller",
            "admin",
            {"teams": "aad-4821", "slack": "U12345"},
        ),
        _user("outlocks", "mara", "mara@outlocks.example", "Mara Lindgren", "member", {"teams": "aad-5190"})
        | _signed_in("9d1f6a52-4c1e-4f0b-8f0a-5d1c2b7e6a10", now - timedelta(hours=3)),
        _users("outlocks", 3),
        *_channel("outlocks", "teams", "2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11", now),
    ]
    lumen = {"enabled_channels": ["whatsapp", "email"], "system_prompt_override": PROMPT} | {
        "whatsapp_restrict_to_users": False,
        "installed_practices": {"dental_recall": "1.4.0"},
    }
    yield [
        _meta("lumen-dental", "Lumen Dental Group", now - timedelta(days=120), settings=lumen),
        _user("lumen-dental", "sinead", "sinead@lumendental.example", "Sinead Walsh", "admin", {}),
        _user(
            "lumen-dental", "greta", "greta@lumendental.example", "Greta Holm", "member", {"slack": ["U08LMN22A", "U9"]}
        )
        | {
            "preferences": json.dumps({"language": "en-GB", "summary": "daily"}),
            "memory_summary": "Asks about the recall list on Mondays.",
            "memory_updated_at": clock.to_iso(now - timedelta(days=2)),
        },
        _users("lumen-dental", 4),
        *_channel("lumen-dental", "whatsapp", "+447700900831", now),
        *_channel("lumen-dental", "email", "hello@lumendental.example", now),
        _company("lumen-dental", "ci-lum-003", now),
        *(_memory("lumen-dental", "greta", number, now) for number in range(3)),
    ]
    whatsapp = {"enabled_channels": ["whatsapp", "sms"], "messages_per_day": 20_000}
    yield [
        _meta("northwind-energy", "Northwind Energy", now - timedelta(days=340), settings=whatsapp),
        *(
            _user("northwind-energy", name, f"{name}@northwind.example", f"{name.capitalize()} {family}", role, {})
            for name, family, role in (
                ("yusuf", "Demir", "admin"),
                ("ellen", "Marsh", "admin"),
                ("ivo", "Petrov", "member"),
            )
        ),
        _users("northwind-energy", 7),
        *_channel("northwind-energy", "whatsapp", "+447700900821", now),
        *_channel("northwind-energy", "sms", "+447700900822", now),
        _platforms("northwind-energy", Channel("whatsapp", "3fa94c21d0e8b7a6")),
        _company("northwind-energy", "ci-nwe-002", now),
    ]
    yield [
        _meta("kestrel-freight", "Kestrel Freight", now - timedelta(days=61), SUSPENDED),
        _user("kestrel-freight", "ana", "ana@kestrel.example", "Ana Duarte", "admin", {}),
        _users("kestrel-freight", 1),
        _platforms("kestrel-freight", Channel("telegram", "86e5014965866131")),
    ]


def _neglected(now: datetime) -> Iterator[list[Item]]:
    yield [_meta("bluebird-books", "Bluebird Books", now - timedelta(hours=5), ONBOARDING)]
    # As another writer made them: no guards, one mapping that the index of channels does not hold, and a clash.
    slack = Channel("slack", "T024BE7LD")
    yield [
        _meta("cucumber-recruitment", "Cucumber Recruitment", now - timedelta(days=200)),
        _user("cucumber-recruitment", "carol", "carol@cucumber.example", "Carol Jennings", "admin", {}),
        {"pk": partition_of("cucumber-recruitment"), "sk": slack.key},
        _platforms("cucumber-recruitment", Channel("email", "replies@cucumber.example")),
        {"pk": partition_of("cucumber-recruitment"), "sk": "PRACTICE#recruiting", "version": "0.3.1"},
        _invitation("cucumber-recruitment", "new@cucumber.example", now),
        _company("cucumber-recruitment", "ci-cuc-001", now),
    ]
    yield [
        _meta("pickle-and-sons", "Pickle & Sons", now - timedelta(days=12)) | {"settings": "{'ai_provider': 'bedrock'"},
        _user("pickle-and-sons", "pat", "pat@pickle.example", "Pat Pickle", "owner", {}),
        _platforms("pickle-and-sons", Channel("email", "replies@cucumber.example")),
    ]
    deleted = _meta("harbour-cafe", "Harbour Café", now - timedelta(days=410), DELETED)
    yield [deleted]


def _meta(
    tenant_id: str, name: str, created: datetime, status: str = ACTIVE, settings: dict[str, Any] | None = None
) -> Item:
    return {
        "pk": partition_of(tenant_id),
        "sk": META,
        "tenant_id": tenant_id,
        "name": name,
        "status": status,
        "created_at": clock.to_iso(created.astimezone(UTC), "seconds"),
        "settings": json.dumps(json.loads(default_text()) | (settings or {})),
    }


def _user(tenant_id: str, user_id: str, email: str, name: str, role: str, identities: dict[str, Any]) -> Item:
    return {
        "pk": partition_of(tenant_id),
        "sk": user_key(user_id),
        "user_id": user_id,
        "tenant_id": tenant_id,
        "email": email,
        "display_name": name,
        "role": role,
        "channel_identities": json.dumps(identities),
    }


def _signed_in(sub: str, at: datetime) -> Item:
    """What the platform adds to a user at the first sign-in there."""
    return {"cognito_sub": sub, "gsi2pk": f"COGNITO#{sub}", "last_login": at.isoformat(timespec="seconds")}


def _invitation(tenant_id: str, email: str, now: datetime) -> Item:
    code, expires = "demo-" + tenant_id[:4], now + timedelta(days=5)
    return {
        "pk": f"{INVITE}{code}",
        "sk": META,
        "invite_code": code,
        "tenant_id": tenant_id,
        "email": email,
        "role": "member",
        "status": "pending",
        "invited_by": "carol",
        "created_at": (now - timedelta(days=2)).isoformat(timespec="seconds"),
        "expires_at": expires.isoformat(timespec="seconds"),
        "accepted_at": "",
        "ttl": clock.to_epoch(expires),
    }


def _users(tenant_id: str, version: int) -> Item:
    return {"pk": partition_of(tenant_id), "sk": USERS, "version": version}


def _mapping(tenant_id: str, channel: Channel) -> Item:
    return {
        "pk": partition_of(tenant_id),
        "sk": channel.key,
        "gsi1pk": channel.key,
        "gsi1sk": partition_of(tenant_id),
        "channel_type": channel.type,
        "channel_specific_id": channel.id,
    }


def _platforms(tenant_id: str, channel: Channel) -> Item:
    """A mapping as the platform writes it."""
    return {name: value for name, value in _mapping(tenant_id, channel).items() if name != "gsi1sk"}


def _channel(tenant_id: str, kind: str, channel_id: str, now: datetime) -> list[Item]:
    channel = Channel(kind, channel_id)
    guard = {"pk": channel.key, "sk": OWNER, "tenant_id": tenant_id, "claimed_at": clock.to_iso(now)}
    return [_mapping(tenant_id, channel), guard]


def _company(tenant_id: str, company_id: str, now: datetime) -> Item:
    return {"pk": partition_of(tenant_id), "sk": company_key(company_id), "linked_at": clock.to_iso(now)}


def _memory(tenant_id: str, user_id: str, number: int, now: datetime) -> Item:
    return {
        "pk": partition_of(tenant_id),
        "sk": f"{MEMORY}{user_id}#session-{number + 1}",
        "summary": ("Wanted the recall list by clinic.", "Compared two clinics' waiting times.", "Asked for May.")[
            number
        ],
        "key_facts": ["works Mondays", "looks after Leeds"],
        "created_at": clock.to_iso(now - timedelta(days=9 * (3 - number))),
    }
