"""Tenants with everything that a table can hold of them, and the commands over them."""

import io
import json
from decimal import Decimal
from typing import Any

from django.core.management import CommandError, call_command

from tests.tenants.items import mapping, tenant, user

PHONE = "+447700900831"
# Every type of DynamoDB, nested too.
EVERYTHING: dict[str, Any] = {
    "text": "Zoë “quoted” \u2028 \\ \x07 🙂",
    "empty": "",
    "number": 12345678901234567890123456789012345678,
    "tiny": -1e-130,
    "yes": True,
    "nothing": None,
    "binary": bytes(range(256)),
    "texts": {"b", "a", "ä"},
    "numbers": {3, 1, Decimal("2.5")},
    "binaries": {b"\xff", b"a"},
    "list": [1, [None, {"deep": {b"x"}}], "S"],
    "map": {"S": "as a name", "M": {"N": [False]}},
    "no items": [],
    "no names": {},
}


def rich(tenant_id: str = "outlocks", channel_id: str = PHONE) -> list[dict]:
    """A tenant with items of all kinds and attributes of all types."""
    pk = f"TENANT#{tenant_id}"
    return [
        tenant(tenant_id, **EVERYTHING),
        user("admin", tenant_id, **EVERYTHING),
        user("zoe", tenant_id, channel_identities=...),
        mapping("whatsapp", channel_id, tenant_id, **EVERYTHING),
        mapping("email", f"help@{tenant_id}.example", tenant_id, gsi1pk=..., gsi1sk=...),
        {"pk": pk, "sk": "COMPANY#ci-1", "linked_at": "2026-01-01T00:00:00Z", **EVERYTHING},
    ]


def foreign(tenant_id: str = "outlocks") -> list[dict]:
    """What is in a tenant's partition and is never imported."""
    pk = f"TENANT#{tenant_id}"
    return [
        {"pk": pk, "sk": "MEMORY#admin#s1", "summary": "likes tea", **EVERYTHING},
        {"pk": pk, "sk": "INVITE#x", "gsi1pk": "INVITES", "gsi1sk": "x"},
    ]


def run(*args: Any) -> tuple[str, str, bool]:
    """Run `manage.py tenants`: what it printed, what it said on standard error, and whether it ended well."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("tenants", *map(str, args), stdout=out, stderr=err)
    except CommandError as error:
        err.write(f"CommandError: {error}\n")
        return out.getvalue(), err.getvalue(), False
    return out.getvalue(), err.getvalue(), True


def document(*tenants: dict) -> dict:
    """A document as an export makes it."""
    return {
        "format": "conversation-console-tenants",
        "version": 1,
        "exported_at": "2026-11-20T12:00:00.000Z",
        "environment": "test",
        "tenants": list(tenants),
    }


def given(tenant_id: str = "outlocks", *items: dict) -> dict:
    """A tenant of a document: one with an administrator and a channel if no items are named."""
    named = items or (tenant(tenant_id), user("admin", tenant_id), mapping(tenant_id=tenant_id))
    return {"tenant_id": tenant_id, "items": [as_text(each) for each in named]}


def as_text(item: dict) -> dict:
    """An item of texts as DynamoDB JSON."""
    return {name: {"S": value} for name, value in item.items()}


def write(path, *tenants: dict):
    """A file with a document of these tenants."""
    path.write_text(json.dumps(document(*tenants)))
    return path


def snapshot(store) -> dict[str, list]:
    """All that is stored in the tables that these commands write."""
    return {key: store.all(key) for key in ("TENANTS", "CONSOLE", "AUDIT")}


def without_guards(store) -> list[dict]:
    """The tenants table as an export has it."""
    return [each for each in store.all("TENANTS") if each["sk"] not in ("OWNER", "USERS")]
