"""Roles, their permissions (`resource:action`), scopes of companies and tenants, and whose something is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from console.errors import BadReference, Forbidden, NotFound, StoreUnavailable


class Permission(StrEnum):
    """A right that a role can include."""

    CONVERSATION_READ = "conversation:read"
    TRANSCRIPT_RAW = "conversation:read-raw"
    CONVERSATION_EXPORT = "conversation:export"
    HAND_OFF = "conversation:hand-off"
    REPLIES_WRITE = "saved-reply:write"
    # Sees who holds what, reassigns what others hold, and sets service levels and groups of the companies in scope.
    TEAM_LEAD = "team:lead"
    CHAT_END = "chat:end"
    FEEDBACK_WRITE = "feedback:write"
    TENANT_CONVERSATION_CLEAR = "tenant-conversation:clear"
    PII_REVEAL = "pii:reveal"
    TENANT_READ = "tenant:read"
    TENANT_WRITE = "tenant:write"
    CHANNEL_WRITE = "channel:write"
    USER_WRITE = "user:write"
    AUDIT_READ = "audit:read"
    AUDIT_REVIEW = "audit:review"
    AUDIT_EXPORT = "audit:export"
    # Sums of conversations: outcomes, waits, failures, costs, and what people did.
    INSIGHT_READ = "insight:read"
    STAFF_MANAGE = "staff:manage"
    SYSTEM_READ = "system:read"


class Role(StrEnum):
    """The role of a member of staff."""

    AGENT = "agent"
    ONBOARDING = "onboarding"
    AUDITOR = "auditor"
    ADMIN = "admin"


_P = Permission
ROLE_PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.AGENT: frozenset({_P.CONVERSATION_READ, _P.TRANSCRIPT_RAW, _P.HAND_OFF, _P.PII_REVEAL, _P.AUDIT_READ}),
    Role.ONBOARDING: frozenset(
        {_P.PII_REVEAL, _P.TENANT_READ, _P.TENANT_WRITE, _P.CHANNEL_WRITE, _P.USER_WRITE, _P.AUDIT_READ}
    ),
    Role.AUDITOR: frozenset(
        {
            _P.CONVERSATION_READ,
            _P.CONVERSATION_EXPORT,
            _P.TENANT_READ,
            _P.AUDIT_READ,
            _P.AUDIT_REVIEW,
            _P.AUDIT_EXPORT,
            _P.INSIGHT_READ,
        }
    ),
    Role.ADMIN: frozenset(Permission),
}

ALL = "*"
# Prefixes of scope entries: `company:ci-abc-001`, `tenant:outlocks`.
COMPANY, TENANT = "company:", "tenant:"


def id_of(entry: str) -> str:
    """Return the id of a scope entry."""
    return entry.removeprefix(TENANT) if entry.startswith(TENANT) else entry.removeprefix(COMPANY)


def is_reserved(owner_id: str) -> bool:
    """Tell whether an id would mean something else in a scope: everything, or an entry with a kind."""
    lowered = owner_id.strip().casefold()
    return lowered in ("all", ALL) or lowered.startswith((COMPANY, TENANT))


@dataclass(frozen=True, slots=True)
class Scope:
    """The companies and tenants that a person may see: some, or all. Empty means nothing.

    A company and a tenant with the same id are different things. `unconfirmed` are ids of old entries that do not say
    which they mean: they cover both until an administrator chooses.
    """

    everything: bool = False
    companies: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    unconfirmed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> "Scope":
        """Parse stored entries: `company:ID`, `tenant:ID`, `*` for all, or a bare id from an old account."""
        entries = frozenset(filter(None, entries))
        companies = frozenset(each for each in entries if each.startswith(COMPANY))
        tenants = frozenset(each for each in entries if each.startswith(TENANT))
        return cls(
            everything=ALL in entries,
            companies=frozenset(each.removeprefix(COMPANY) for each in companies),
            tenants=frozenset(each.removeprefix(TENANT) for each in tenants),
            unconfirmed=entries - companies - tenants - {ALL},
        )

    @property
    def company_ids(self) -> frozenset[str]:
        """Ids of the companies in scope, unconfirmed ones included."""
        return self.companies | self.unconfirmed

    @property
    def tenant_ids(self) -> frozenset[str]:
        """Ids of the tenants in scope, unconfirmed ones included."""
        return self.tenants | self.unconfirmed

    def covers_company(self, company_id: str | None) -> bool:
        """Tell whether that company is in scope. Without a known owner, only scope "all" covers it."""
        return self.everything or (bool(company_id) and company_id in self.company_ids)

    def covers_tenant(self, tenant_id: str | None) -> bool:
        """Tell whether that tenant is in scope. Without a known owner, only scope "all" covers it."""
        return self.everything or (bool(tenant_id) and tenant_id in self.tenant_ids)

    def beyond(self, other: "Scope") -> list[str]:
        """Return the entries of this scope that the other one does not cover."""
        if other.everything:
            return []
        if self.everything:
            return [ALL]
        beyond = Scope(
            companies=self.companies - other.company_ids,
            tenants=self.tenants - other.tenant_ids,
            unconfirmed=self.unconfirmed - (other.company_ids & other.tenant_ids),
        )
        return beyond.stored()

    def confirmed(self, meant: Mapping[str, Iterable[str]]) -> "Scope":
        """Return this scope with these unconfirmed ids resolved, each to `COMPANY`, `TENANT`, both or neither."""
        named = {each: tuple(kinds) for each, kinds in meant.items() if each in self.unconfirmed}
        return replace(
            self,
            companies=self.companies | {each for each, kinds in named.items() if COMPANY in kinds},
            tenants=self.tenants | {each for each, kinds in named.items() if TENANT in kinds},
            unconfirmed=self.unconfirmed - named.keys(),
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in scope."""
        return not (self.everything or self.companies or self.tenants or self.unconfirmed)

    @property
    def label(self) -> str:
        """The scope in a few words."""
        if self.everything:
            return "all companies"
        counts = (
            (len(self.companies), "company", "companies"),
            (len(self.tenants), "tenant", "tenants"),
            (len(self.unconfirmed), "company or tenant", "companies or tenants"),
        )
        return ", ".join(f"{count} {one if count == 1 else more}" for count, one, more in counts if count) or (
            "nothing in scope"
        )

    def stored(self) -> list[str]:
        """Return the stored form: sorted entries, or `*`."""
        if self.everything:
            return [ALL]
        return sorted(
            {*(COMPANY + each for each in self.companies), *(TENANT + each for each in self.tenants), *self.unconfirmed}
        )


# Values of `signs_in_with`: a password stored here, or the company's own sign-in (OpenID Connect).
PASSWORD, OPENID_CONNECT = "password", "openid-connect"


class Account(Protocol):
    """The stored attributes of an account that identify a person and their rights."""

    username: Any
    display_name: Any
    role: Any
    scope: Any
    time_zone: Any
    signs_in_with: Any


def has_password(account: Account) -> bool:
    """Return whether somebody signs in with a password stored here, and not with the company's own sign-in."""
    return bool(account.signs_in_with != OPENID_CONNECT)


@dataclass(frozen=True, slots=True)
class Staff:
    """A signed-in member of staff, as services and views see them."""

    username: str
    display_name: str
    role: Role
    scope: Scope
    time_zone: str = "UTC"
    session_id: str = field(default="", repr=False)
    # The session opens only the page that sets up the required second factor.
    must_add_second_factor: bool = False
    # Not with the company's own sign-in.
    has_password: bool = True

    @classmethod
    def of(cls, account: "Account", session_id: str = "") -> "Staff":
        """Return the person of an account. Raises `StoreUnavailable` for a role that this version does not know."""
        try:
            role = Role(account.role)
        except ValueError as error:
            raise StoreUnavailable("Your account could not be read.") from error
        return cls(
            username=account.username,
            display_name=account.display_name or account.username,
            role=role,
            scope=Scope.of(account.scope or []),
            time_zone=account.time_zone or "UTC",
            session_id=session_id,
            has_password=has_password(account),
        )

    @property
    def hands_off(self) -> bool:
        """Whether they can take conversations over, and so can be assigned some."""
        return self.can(Permission.HAND_OFF) and not self.must_add_second_factor

    @property
    def role_label(self) -> str:
        """The role as shown."""
        return self.role.value

    @property
    def scope_label(self) -> str:
        """The scope as shown."""
        return self.scope.label

    def can(self, permission: Permission) -> bool:
        """Tell whether the role includes the permission."""
        return permission in ROLE_PERMISSIONS[self.role]

    def require(self, permission: Permission) -> None:
        """Raise `Forbidden` unless the role includes the permission."""
        if not self.can(permission):
            raise Forbidden


# --- Whose something is -----------------------------------------------------------------------------------------------


class OwnerKind(StrEnum):
    """The kind of an owner."""

    ALL = "all"
    COMPANY = "company"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose an item is: everybody's, a company's or one person's. `id` is the company id or the username, else ""."""

    kind: OwnerKind
    id: str = ""

    @classmethod
    def parse(cls, key: str) -> "Owner":
        """Return the owner with this key. Raises `BadReference`."""
        kind, _, owner_id = key.partition("#")
        try:
            owner = cls(OwnerKind(kind), owner_id)
        except ValueError as error:
            raise BadReference from error
        if bool(owner_id) is (owner.kind is OwnerKind.ALL):
            raise BadReference
        return owner

    @property
    def key(self) -> str:
        """The owner in keys: `all`, `company#{id}` or `staff#{username}`."""
        return f"{self.kind}#{self.id}" if self.id else str(self.kind)

    @property
    def company_id(self) -> str:
        """The company, "" if it is no company's."""
        return self.id if self.kind is OwnerKind.COMPANY else ""

    def is_seen_by(self, staff: Staff) -> bool:
        """Return whether a person may see its items."""
        if self.kind is OwnerKind.COMPANY:
            return staff.scope.covers_company(self.id)
        return self.kind is OwnerKind.ALL or self.id == staff.username

    def may_write(self, staff: Staff, needed: Permission) -> bool:
        """Return whether a person may write its items; those of others than the person need a permission."""
        if self.kind is OwnerKind.STAFF:
            return self.is_seen_by(staff)
        is_theirs = staff.scope.everything if self.kind is OwnerKind.ALL else self.is_seen_by(staff)
        return is_theirs and staff.can(needed)

    def check_writer(self, staff: Staff, needed: Permission, words: str) -> None:
        """Raise `NotFound` for another company or person, and `Forbidden` without the right to write.

        `words` say who can write those for all.
        """
        if not self.is_seen_by(staff):
            raise NotFound
        if self.kind is not OwnerKind.STAFF:
            staff.require(needed)
        if not self.may_write(staff, needed):
            raise Forbidden(words)


FOR_ALL = Owner(OwnerKind.ALL)
