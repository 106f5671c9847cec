"""Convert items of the tenants table to records: tolerate drift, and redact for people who cannot reveal."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from console import clock
from console.permissions import Permission, Staff
from console.redaction import redact, redact_value, without_names
from console.redaction.credentials import mask_credentials
from console.refs import seal
from console.store.models import ForeignModel
from console.trees import Fact, Node, clean, text_of, tree_of
from tenants import settings_text
from tenants.keys import COMPANY, MEMORY, USER, Channel, ItemKind, is_digest, label_of, partition_of, tenant_of
from tenants.models import ChannelMapping, TenantMeta, UserMemory
from tenants.records import (
    STATUSES,
    Foreign,
    Invitation,
    LinkedCompany,
    Memory,
    Tenant,
    TenantChannel,
    TenantRow,
    User,
)
from tenants.settings_text import KNOWN, Settings

ROLES = ("admin", "member")
# What the platform needs of each user: if one user of a tenant lacks any, it reads none of them.
REQUIRED = ("user_id", "tenant_id", "email", "display_name", "role")
# The attributes of a user that forms change.
USER_WRITTEN = ("email", "display_name", "role", "channel_identities")
MAX_TEXT = 300
_LATER = {
    "preferences": "Preferences",
    "custom_properties": "Custom properties",
    "memory_summary": "What the platform remembers",
    "memory_updated_at": "Cached at",
}


@dataclass(frozen=True, slots=True)
class Redactor:
    """Prepares what may be personal for a person: unchanged, or redacted, without the names of the tenant's users."""

    masks: bool
    names: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, text: str) -> str:
        """Return a text as the person may see it."""
        return without_names(redact(text), self.names) if self.masks else text

    def values(self, value: Any) -> Any:
        """Return values of any shape as the person may see them."""
        return without_names(redact_value(value), self.names) if self.masks else value

    def knowing(self, names: tuple[str, ...]) -> "Redactor":
        """Return one that masks these names too."""
        return replace(self, names=(*self.names, *names))


def redactor_for(staff: Staff) -> Redactor:
    """Return what prepares possibly personal text for a person."""
    return Redactor(masks=not staff.can(Permission.PII_REVEAL))


def names_in(items: Iterable[ForeignModel]) -> tuple[str, ...]:
    """Return the names of users, as the platform stores them."""
    return tuple(dict.fromkeys(name for each in items if (name := text(each, "display_name"))))


def others_of(item: ForeignModel, show: Redactor, known: Iterable[str] = ()) -> Node | None:
    """Return the attributes of an item that neither its class nor `known` names; None if there are none."""
    found = {name: value for name, value in item.unknown().items() if name not in known}
    return tree_of(mask_credentials(show.values(found))) if found else None


def text(item: ForeignModel, name: str, most: int = MAX_TEXT) -> str:
    """Return an attribute as text, whatever its type; "" if it is absent."""
    value = item.plain(name)
    return "" if value is None else text_of(value)[:most]


def row_of(meta: TenantMeta, show: Redactor) -> TenantRow:
    """Return a row of the list. The id comes from the key, even if an attribute says otherwise."""
    tenant_id, named = tenant_of(meta.plain("pk")), meta.plain("tenant_id")
    flaws = list(_drift(meta, ("name", "status", "created_at")))
    if named is not None and named != tenant_id:
        flaws.append("Its item names another id.")
    status = text(meta, "status", 60)
    if not status:
        flaws.append("It has no status.")
    elif status not in STATUSES:
        flaws.append(f"{status!r} is not a status in the schema.")
    created_at = clock.parse_instant(meta.plain("created_at"))
    return TenantRow(tenant_id, show(text(meta, "name")) or tenant_id, status, created_at, tuple(flaws))


def tenant_record(
    tenant_id: str, items: Iterable[tuple[ItemKind, ForeignModel]], staff: Staff, *, more: bool = False
) -> Tenant:
    """Build a tenant from the items of its partition. Items of unknown types are listed as `foreign`."""
    items = tuple(items)
    names = names_in(item for kind, item in items if kind is ItemKind.USER)
    show = redactor_for(staff).knowing(names)
    meta: ForeignModel | None = None
    users, channels, companies, foreign = [], [], [], []
    for kind, item in items:
        sort_key = str(item.plain("sk"))
        match kind:
            case ItemKind.META:
                meta = item
            case ItemKind.USER:
                users.append(user_of(item, show))
            case ItemKind.CHANNEL if isinstance(item, ChannelMapping):
                channels.append(mapping_of(item, show))
            case ItemKind.COMPANY:
                company_id = sort_key.removeprefix(COMPANY)
                companies.append(LinkedCompany(company_id, seal("company", partition_of(tenant_id), company_id)))
            case ItemKind.USERS:
                pass  # the console's own, of which there is nothing to show
            case _:
                foreign.append(Foreign(show(sort_key)[:MAX_TEXT], others_of(item, show)))
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
        meta=meta is not None,
        more=more,
        flaws=row.flaws,
        names=names,
        unknown={name: redact_value(value) for name, value in meta.unknown().items()} if meta is not None else {},
    )


def user_of(item: ForeignModel, show: Redactor) -> User:
    """Build a user. The id comes from the key."""
    user_id = str(item.plain("sk")).removeprefix(USER)
    identities, flaw = identities_of(item.plain("channel_identities"))
    flaws = [*_drift(item, ("email", "display_name", "role", "channel_identities")), *([flaw] if flaw else [])]
    role = text(item, "role", 60)
    if role not in ROLES:
        flaws.append(f"{role!r} is not a role in the schema." if role else "The user has no role.")
    if lacking := [name for name in REQUIRED if not isinstance(item.plain(name), str)]:
        flaws.append(
            f"The platform cannot read this tenant's users, because this one lacks {', '.join(lacking)}. "
            "Save this user to add it."
        )
    later = (
        (label, show(mask_credentials(text(item, name, 2_000))))
        for name, label in _LATER.items()
        if item.plain(name) is not None
    )
    return User(
        user_id=show(user_id),
        email=show(text(item, "email")),
        name=show(text(item, "display_name")),
        role=role,
        identities=tuple((kind, show(channel_id)) for kind, channel_id in identities),
        reference=seal("user", str(item.plain("pk")), user_id),
        seen=form_digest(item),
        future=tuple(later),
        flaws=tuple(flaws),
        is_readable=not lacking and not flaw,
        others=others_of(item, show),
    )


def form_digest(item: ForeignModel) -> str:
    """Return a digest of what forms can change of a user; a form carries it to detect concurrent changes."""
    stored = json.dumps([item.raw.get(name) for name in USER_WRITTEN], sort_keys=True, default=str)
    return hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest()


def identities_of(stored: Any) -> tuple[tuple[tuple[str, str], ...], str]:
    """Parse a user's channel identities: pairs of channel type and id, and what is wrong with the JSON text."""
    if stored is None:
        return (), ""
    try:
        found = json.loads(stored) if isinstance(stored, str) else stored
    except (ValueError, RecursionError):
        return (), "The channel identities are not JSON."
    if not isinstance(found, dict):
        return (), "The channel identities are not a JSON object."
    pairs = tuple((text_of(kind)[:60], each) for kind, ids in found.items() for each in ids_of(ids))
    odd = any(not isinstance(each, str) for ids in found.values() for each in (ids if isinstance(ids, list) else [ids]))
    return pairs, "Some channel identities are not text." if odd else ""


def ids_of(stored: Any) -> list[str]:
    """Return a user's ids on a channel as text. The platform stores one id, or a list."""
    return [text_of(each)[:MAX_TEXT] for each in (stored if isinstance(stored, list) else [stored])]


def settings_facts(settings: Settings, show: Redactor) -> tuple[Fact, ...]:
    """Return settings as labels and values: the schema's keys first, then all others with their JSON text."""
    facts = []
    for setting in KNOWN:
        value = settings.value(setting.name)
        if isinstance(value, dict | list):
            value = mask_credentials(value)
        if isinstance(value, dict):
            value = [f"{name} = {each}" for name, each in value.items()]
        if isinstance(value, list):
            facts.append(Fact(setting.label, list=tuple(show(text_of(each))[:MAX_TEXT] for each in value)))
        else:
            facts.append(Fact(setting.label, "" if value is None else show(text_of(value))))
    odd = "not of the schema's type"
    facts += [
        Fact(clean(key)[:80], show(clean(shown))[:2_000], mono=True, note=odd if key in settings.odd else "")
        for key, shown in ((key, settings_text.mask_secrets(key, each)) for key, each in settings.others.items())
    ]
    return tuple(facts)


def mapping_of(item: ChannelMapping, show: Redactor) -> TenantChannel:
    """Build a channel of a tenant from its sort key."""
    channel = Channel.of(str(item.plain("sk"))) or Channel("", "")
    flaws = list(_drift(item, ("gsi1pk", "gsi1sk")))
    if item.plain("gsi1pk") not in (None, channel.key):
        flaws.append("Webhooks find it under another key than its own.")
    return TenantChannel(
        channel=channel,
        reference=seal("channel", str(item.plain("pk")), channel.key),
        type_label=label_of(channel.type),
        shown=(channel.id if is_digest(channel) else show(channel.id))[:MAX_TEXT],
        in_index=item.is_found(),
        flaws=tuple(flaws),
        others=others_of(item, show),
    )


def invitation_of(item: ForeignModel, show: Redactor) -> Invitation:
    """Build an invitation."""
    known = ["invite_code", "tenant_id", "email", "role", "status", "invited_by", "created_at", "expires_at", "ttl"]
    known += [] if item.plain("accepted_at") else ["accepted_at"]
    return Invitation(
        email=show(text(item, "email")),
        role=show(text(item, "role", 60)),
        status=show(text(item, "status", 60)),
        invited_by=show(text(item, "invited_by")),
        created_at=clock.parse_instant(item.plain("created_at")),
        expires_at=clock.parse_instant(item.plain("expires_at")),
        others=others_of(item, show, known),
    )


def memory_of(item: UserMemory, show: Redactor) -> Memory:
    """Build the memory of one session."""
    user_id, _, session_id = str(item.plain("sk")).removeprefix(MEMORY).partition("#")
    return Memory(
        user_id=show(user_id),
        session_id=show(session_id),
        summary=show(text(item, "summary", 2_000)),
        created_at=clock.parse_instant(item.plain("created_at")),
        facts=show.values(redact_value(item.plain("key_facts"))),
    )


def _drift(item: ForeignModel, names: tuple[str, ...]) -> Iterable[str]:
    return (f"{name}: {item.drift[name]}." for name in names if name in item.drift)
