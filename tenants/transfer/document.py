"""The document of an export: one JSON object. What is read of it is checked before anything is done with it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from console import clock
from tenants.keys import USER, Kind, kind_of, partition_of
from tenants.models import TenantUser, item_of
from tenants.repairing import repairs_of
from tenants.transfer.checking import problems_of, shown, text_in
from tenants.transfer.values import Malformed, from_json, to_json
from tenants.walking import RawItem

FORMAT = "conversation-console-tenants"
VERSION = 1
_KEYS = {"format", "version", "exported_at", "environment", "tenants"}
# What one command reads at once; an export of more is imported in parts.
MAX_BYTES, MAX_TENANTS, MAX_USERS = 100_000_000, 1_000, 20_000
# So many problems of a file are told; one more only says the same again.
_TOLD = 50


@dataclass(frozen=True, slots=True)
class Given:
    """A tenant of a file: its items as DynamoDB JSON by sort key, in the order of keys."""

    tenant_id: str
    items: Mapping[str, RawItem]


def made(tenants: Mapping[str, list[RawItem]], at: datetime) -> str:
    """The text of a document of these tenants."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": clock.to_iso(at),
        "environment": settings.CONSOLE_ENV,
        "tenants": [
            {"tenant_id": tenant_id, "items": [to_json(item) for item in items]} for tenant_id, items in tenants.items()
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def read(content: bytes) -> tuple[Given, ...]:
    """The tenants of a document. Raises `Malformed` with all that is wrong with them, a line for each."""
    if len(content) > MAX_BYTES:
        raise Malformed(f"The file is larger than {MAX_BYTES:,} bytes: export fewer tenants into each.")
    given = _tenants_of(_parsed(content))
    if len(given) > MAX_TENANTS:
        raise Malformed(f"The file has more than {MAX_TENANTS:,} tenants: export fewer into each.")
    tenants = [_tenant(each, number) for number, each in enumerate(given, 1)]
    problems = list(problems_among(tenants))
    if problems:
        more = [f"… and {len(problems) - _TOLD} more."] if len(problems) > _TOLD else []
        raise Malformed("\n".join(["This is not as an export makes it:", *problems[:_TOLD], *more]))
    return tuple(tenants)


def problems_among(tenants: list[Given]) -> Iterator[str]:
    """What is wrong with tenants, for which an import refuses them."""
    seen: set[str] = set()
    claimed: dict[str, list[str]] = defaultdict(list)
    for tenant in tenants:
        name = f"tenant {shown(tenant.tenant_id)}"
        if tenant.tenant_id in seen:
            yield f"{name}: it is in the file twice"
        seen.add(tenant.tenant_id)
        if sum(sk.startswith(USER) for sk in tenant.items) > MAX_USERS:
            yield f"{name}: it has more than {MAX_USERS:,} users"
        for problem in problems_of(tenant.tenant_id, tenant.items):
            yield f"{name}, {problem}"
        for sk in tenant.items:
            if kind_of(partition_of(tenant.tenant_id), sk) is Kind.CHANNEL:
                claimed[sk].append(tenant.tenant_id)
    for key, owners in claimed.items():
        if len(owners) > 1:
            yield f"{shown(key)}: more than one tenant of the file has this channel: {shown(', '.join(owners))}"


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except Malformed:
        raise
    except (ValueError, RecursionError) as error:
        raise Malformed("The file is not JSON.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Malformed("The file is no export of tenants.")
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        raise Malformed(f"The file is of another version of the format than {VERSION}, which this console reads.")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("The file names something twice in one object.")
    return found


def _tenants_of(document: dict[str, Any]) -> list[Any]:
    if document.keys() != _KEYS:
        raise Malformed("The file has not just format, version, exported_at, environment and tenants.")
    if not all(isinstance(document[name], str) for name in ("exported_at", "environment")):
        raise Malformed("exported_at and environment of the file are no texts.")
    if not isinstance(document["tenants"], list):
        raise Malformed("tenants is no list.")
    return document["tenants"]


def _completed(item: RawItem) -> RawItem:
    """A user with what the platform needs, where that can be given; any other item as it is."""
    kind, user = item_of(item)
    if kind is not Kind.USER or not isinstance(user, TenantUser):
        return item
    named = ("user_id", "tenant_id")
    given = {name: value for name, value in repairs_of(user)[0].items() if name not in item or name not in named}
    return item | {name: {"S": value} for name, value in given.items()}


def _tenant(given: Any, number: int) -> Given:
    if not isinstance(given, dict) or given.keys() != {"tenant_id", "items"}:
        raise Malformed(f"Tenant number {number} of the file has not just tenant_id and items.")
    tenant_id, items = given["tenant_id"], given["items"]
    if not isinstance(tenant_id, str) or not isinstance(items, list):
        raise Malformed(f"Tenant number {number} of the file: tenant_id is no text, or items no list.")
    found: dict[str, RawItem] = {}
    for position, each in enumerate(items, 1):
        where = f"Tenant {shown(tenant_id)}, item number {position}"
        try:
            item = from_json(each)
        except Malformed as error:
            raise Malformed(f"{where}: {error}.") from error
        sk = text_in(item, "sk")
        if not sk or not text_in(item, "pk"):
            raise Malformed(f"{where}: it has no pk or no sk that is text.")
        if sk in found:
            raise Malformed(f"{where}: there is another one with its keys.")
        found[sk] = _completed(item)
    return Given(tenant_id, dict(sorted(found.items(), key=lambda pair: pair[0].encode())))
