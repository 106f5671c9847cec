"""Tenants as pages show them: frozen, and redacted for people who cannot reveal."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console.trees import Node
from tenants.keys import Channel
from tenants.settings_text import Settings

ACTIVE, SUSPENDED, ONBOARDING, DELETED = "active", "suspended", "onboarding", "deleted"
# A deleted tenant keeps its META with the status "deleted": the platform leaves it there, and so does discarding.
STATUSES = (ACTIVE, SUSPENDED, ONBOARDING, DELETED)


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A row of the list. `status` is as stored, "" if absent; `flaws` say what does not fit the schema."""

    tenant_id: str
    name: str
    status: str
    created_at: datetime | None
    flaws: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The id of its readiness in the list: a digest, because a tenant's id may be anything."""
        return f"ready-{hashlib.sha256(self.tenant_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class TenantPage:
    """One page of tenants by id. `next` and `back` are sealed cursors; `notice` says why there is no list."""

    rows: tuple[TenantRow, ...] = ()
    next: str = ""
    back: str = ""
    thin: bool = False
    notice: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """A user of a tenant. `reference` is sealed; `seen` is the digest that forms carry.

    `identities` are pairs of channel type and id, one for each id that the platform knows the person by.

    `future`: label and text of the attributes that the schema reserves for later; `others`: attributes that the console
    does not know. `is_readable`: the platform can load it; if it cannot, it loads no user of the tenant.
    """

    user_id: str
    email: str
    name: str
    role: str
    identities: tuple[tuple[str, str], ...]
    reference: str = ""
    seen: str = ""
    future: tuple[tuple[str, str], ...] = ()
    flaws: tuple[str, ...] = ()
    is_readable: bool = True
    others: Node | None = None


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation of the platform to become a user. Its code is a credential, so it is not included."""

    email: str
    role: str
    status: str
    invited_by: str
    created_at: datetime | None
    expires_at: datetime | None
    others: Node | None = None


@dataclass(frozen=True, slots=True)
class Invitations:
    """A tenant's invitations; `notice` says what was not read."""

    rows: tuple[Invitation, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True)
class TenantChannel:
    """A channel of a tenant. `reference` is sealed; `shown` is the id, redacted if it must be.

    `in_index`: webhooks find it by the index of channels.
    """

    channel: Channel = field(repr=False)
    reference: str = ""
    type_label: str = ""
    shown: str = ""
    in_index: bool = True
    flaws: tuple[str, ...] = ()
    others: Node | None = None


@dataclass(frozen=True, slots=True)
class LinkedCompany:
    """A company linked to the tenant. `reference` is sealed."""

    company_id: str
    reference: str


@dataclass(frozen=True, slots=True)
class Memory:
    """The platform's memory of a user's session."""

    user_id: str
    session_id: str
    summary: str
    created_at: datetime | None
    facts: Any


@dataclass(frozen=True, slots=True)
class Foreign:
    """An item of a type that the console does not know: its sort key and attributes."""

    sort_key: str
    attributes: Node | None


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with everything in its partition except memories. `meta`: it has a META item.

    `more`: not everything was read. `names` are its users' names, to mask; they are never shown.
    """

    tenant_id: str
    name: str
    status: str
    created_at: datetime | None
    settings: Settings
    users: tuple[User, ...]
    channels: tuple[TenantChannel, ...]
    companies: tuple[LinkedCompany, ...]
    foreign: tuple[Foreign, ...]
    meta: bool = True
    more: bool = False
    flaws: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), repr=False)
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_changeable(self) -> bool:
        """Whether it can be changed: it has a META item that does not say that it was deleted."""
        return self.meta and self.status != DELETED

    @property
    def is_empty(self) -> bool:
        """Whether nothing but its META item is left of it."""
        return not (self.users or self.channels or self.companies or self.foreign)

    @property
    def admins(self) -> tuple[User, ...]:
        """The administrators among the users that were read."""
        return tuple(user for user in self.users if user.role == "admin")
