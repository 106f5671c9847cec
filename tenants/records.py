"""Tenants as pages see them: frozen, and redacted for who may not see personal data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from console.trees import Node
from tenants.keys import Channel
from tenants.settings_text import Settings

ACTIVE, SUSPENDED, ONBOARDING, DELETED = "active", "suspended", "onboarding", "deleted"
# What the platform leaves of a deleted tenant has a status too.
STATUSES = (ACTIVE, SUSPENDED, ONBOARDING, DELETED)


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant of the list. `status` as stored, "" where none is; `flaws` say what does not fit the schema."""

    tenant_id: str
    name: str
    status: str
    created_at: datetime | None
    flaws: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantPage:
    """Tenants by id. `next` and `back` are sealed cursors; `notice` says what the list cannot do here."""

    rows: tuple[TenantRow, ...] = ()
    next: str = ""
    back: str = ""
    thin: bool = False
    from_start: bool = True
    notice: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """A user of a tenant. `reference` is sealed; `seen` is what forms remember of it.

    `identities` are the channel types and ids by which the platform knows the person, one pair for each id.

    `future` are the attributes that the schema names for later, where present: label and text; `others` those that the
    console does not know. `is_readable`: the platform can load it, without which it loads no user of the tenant.
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
    """Somebody whom the platform invited to be a user. Its code lets whoever has it in, so it is not here."""

    email: str
    role: str
    status: str
    invited_by: str
    created_at: datetime | None
    expires_at: datetime | None
    others: Node | None = None


@dataclass(frozen=True, slots=True)
class Invitations:
    """A tenant's invitations; `notice` says what could not be looked through."""

    rows: tuple[Invitation, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True)
class TenantChannel:
    """A channel of a tenant. `reference` is sealed; `shown` is the id, redacted where it must be.

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
    """A company whose conversations are the tenant's. `reference` is sealed."""

    company_id: str
    reference: str


@dataclass(frozen=True, slots=True)
class Memory:
    """What the platform remembers of a user's session."""

    user_id: str
    session_id: str
    summary: str
    created_at: datetime | None
    facts: Any


@dataclass(frozen=True, slots=True)
class Foreign:
    """An item of a type that the console does not know: its sort key, and its attributes."""

    sort_key: str
    attributes: Node | None


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with all that its partition holds, but memories. `meta` is False where it has no META item.

    `more`: not all of it was read.
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
    users_version: int
    meta: bool = True
    more: bool = False
    flaws: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def admins(self) -> tuple[User, ...]:
        """Its administrators, as far as its users were read."""
        return tuple(user for user in self.users if user.role == "admin")
