"""From items of the tenants table to records: tolerant of drift, and redacted for who may not see personal data."""

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from console import clock
from console.dynamodb.models import ForeignModel
from console.facts import Fact
from console.redaction import redact, redact_value
from console.refs import seal
from console.staff.permissions import Permission, Staff
from console.trees import clean, text_of
from tenants import settings_text
from tenants.channel_types import label_of
from tenants.keys import COMPANY, MEMORY, USER, Channel, Kind, partition_of, tenant_of
from tenants.models import TenantMeta, UserMemory
from tenants.records import STATUSES, Foreign, LinkedCompany, Memory, Tenant, TenantChannel, TenantRow, User
from tenants.settings_text import KNOWN, Settings

ROLES = ("admin", "member")
# What forms change of a user.
USER_WRITTEN = ("email", "display_name", "role", "channel_identities")
MAX_TEXT = 300
_LATER = {
    "preferences": "Preferences",
    "custom_properties": "Custom properties",
    "memory_summary": "What the platform remembers",
    "memory_updated_at": "Remembered at",
}

Show = Callable[[str], str]


def shown_to(staff: Staff) -> Show:
    """How a person sees what may be personal: as it is, or redacted."""
    return (lambda text: text) if staff.can(Permission.PII_REVEAL) else redact


def text(item: ForeignModel, name: str, most: int = MAX_TEXT) -> str:
    """An attribute as text, whatever its type; "" where it is absent."""
    value = item.plain(name)
    return "" if value is None else text_of(value)[:most]


def row_of(meta: TenantMeta, show: Show) -> TenantRow:
    """A tenant of the list. Its id is that of its key, whatever else it says."""
    tenant_id, named = tenant_of(meta.plain("pk")), meta.plain("tenant_id")
    flaws = list(_drift(meta, ("name", "status", "created_at")))
    if named is not None and named != tenant_id:
        flaws.append("Its item names another id.")
    status = text(meta, "status", 60)
    if not status:
        flaws.append("It has no status.")
    elif status not in STATUSES:
        flaws.append(f"The schema knows no status {status!r}.")
    created_at = clock.parse_instant(meta.plain("created_at"))
    return TenantRow(tenant_id, show(text(meta, "name")) or tenant_id, status, created_at, tuple(flaws))


def tenant_record(
    tenant_id: str, items: Iterable[tuple[Kind, ForeignModel]], staff: Staff, *, more: bool = False
) -> Tenant:
    """A tenant of the items of its partition. What is of no known type is listed as that, never left out."""
    show = shown_to(staff)
    meta: ForeignModel | None = None
    users, channels, companies, foreign, version = [], [], [], [], 0
    for kind, item in items:
        sort_key = str(item.plain("sk"))
        match kind:
            case Kind.META:
                meta = item
            case Kind.USER:
                users.append(user_of(item, show))
            case Kind.CHANNEL:
                channels.append(mapping_of(item, show))
            case Kind.COMPANY:
                company_id = sort_key.removeprefix(COMPANY)
                companies.append(LinkedCompany(company_id, seal("company", partition_of(tenant_id), company_id)))
            case Kind.USERS:
                number = item.plain("version")
                version = int(number) if isinstance(number, int) else 0
            case _:
                foreign.append(Foreign(show(sort_key)[:MAX_TEXT], tuple(sorted(map(text_of, item.raw)))))
    row = row_of(meta, show) if isinstance(meta, TenantMeta) else TenantRow(tenant_id, tenant_id, "", None)
    stored = meta.plain("settings") if meta is not None else None
    return Tenant(
        tenant_id=tenant_id,
        name=row.name,
        status=row.status,
        created_at=row.created_at,
        settings=settings_text.read(stored if isinstance(stored, str) else None),
        users=tuple(users),
        channels=tuple(channels),
        companies=tuple(companies),
        foreign=tuple(foreign),
        users_version=version,
        meta=meta is not None,
        more=more,
        flaws=row.flaws,
        unknown={name: redact_value(value) for name, value in meta.unknown().items()} if meta is not None else {},
    )


def user_of(item: ForeignModel, show: Show) -> User:
    """A user. Its id is that of its key."""
    user_id = str(item.plain("sk")).removeprefix(USER)
    identities, flaw = identities_of(item.plain("channel_identities"))
    flaws = [*_drift(item, ("email", "display_name", "role", "channel_identities")), *([flaw] if flaw else [])]
    role = text(item, "role", 60)
    if role not in ROLES:
        flaws.append(f"The schema knows no role {role!r}." if role else "There is no role.")
    later = ((label, show(text(item, name, 2_000))) for name, label in _LATER.items() if item.plain(name) is not None)
    return User(
        user_id=show(user_id),
        email=show(text(item, "email")),
        name=show(text(item, "display_name")),
        role=role,
        identities=tuple((kind, show(channel_id)) for kind, channel_id in identities),
        reference=seal("user", str(item.plain("pk")), user_id),
        seen=seen_of(item),
        future=tuple(later),
        flaws=tuple(flaws),
    )


def seen_of(item: ForeignModel) -> str:
    """What a form remembers of a user that it shows: a digest of what can be changed."""
    stored = json.dumps([item.raw.get(name) for name in USER_WRITTEN], sort_keys=True, default=str)
    return hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest()


def identities_of(stored: Any) -> tuple[tuple[tuple[str, str], ...], str]:
    """Channel types and ids of the JSON text of a user, and what is wrong with it."""
    if stored in (None, ""):
        return (), ""
    try:
        found = json.loads(stored) if isinstance(stored, str) else stored
    except (ValueError, RecursionError):
        return (), "The channel identities are no JSON."
    if not isinstance(found, dict):
        return (), "The channel identities are no JSON object."
    pairs = tuple((text_of(kind)[:60], text_of(each)[:MAX_TEXT]) for kind, each in found.items())
    odd = [kind for kind, each in found.items() if not isinstance(each, str)]
    return pairs, "Some channel identities are no text." if odd else ""


def settings_facts(settings: Settings, show: Show) -> tuple[Fact, ...]:
    """Settings as label and value, the schema's keys first, then all others with their JSON text."""
    facts = []
    for setting in KNOWN:
        value = settings.value(setting.name)
        if isinstance(value, list):
            facts.append(Fact(setting.label, list=tuple(show(text_of(each))[:MAX_TEXT] for each in value)))
        else:
            facts.append(Fact(setting.label, "" if value is None else show(text_of(value))))
    odd = "not of the schema's type"
    facts += [
        Fact(clean(key)[:80], show(clean(written))[:2_000], mono=True, note=odd if key in settings.odd else "")
        for key, written in settings.others.items()
    ]
    return tuple(facts)


def mapping_of(item: ForeignModel, show: Show) -> TenantChannel:
    """A channel of a tenant. What it is, its sort key says."""
    channel = Channel.of(str(item.plain("sk"))) or Channel("", "")
    flaws = list(_drift(item, ("gsi1pk", "gsi1sk")))
    in_index = item.plain("gsi1pk") == channel.key and isinstance(item.plain("gsi1sk"), str)
    if item.plain("gsi1pk") not in (None, channel.key):
        flaws.append("Webhooks find it under another key than its own.")
    return TenantChannel(
        channel=channel,
        reference=seal("channel", str(item.plain("pk")), channel.key),
        type_label=label_of(channel.type),
        shown=show(channel.id)[:MAX_TEXT],
        in_index=in_index,
        flaws=tuple(flaws),
    )


def memory_of(item: UserMemory, show: Show) -> Memory:
    """What the platform remembers of one session."""
    user_id, _, session_id = str(item.plain("sk")).removeprefix(MEMORY).partition("#")
    return Memory(
        user_id=show(user_id),
        session_id=show(session_id),
        summary=show(text(item, "summary", 2_000)),
        created_at=clock.parse_instant(item.plain("created_at")),
        facts=redact_value(item.plain("key_facts")),
    )


def _drift(item: ForeignModel, names: tuple[str, ...]) -> Iterable[str]:
    return (f"{name}: {item.drift[name]}." for name in names if name in item.drift)
