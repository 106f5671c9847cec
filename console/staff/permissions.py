"""Roles and what they may do (`resource:action`), and the scope of companies and tenants within which they may."""

from dataclasses import dataclass, field
from enum import StrEnum

from console.errors import Forbidden


class Permission(StrEnum):
    """One thing that a role allows."""

    CONVERSATION_READ = "conversation:read"
    TRANSCRIPT_RAW = "conversation:read-raw"
    HAND_OFF = "conversation:hand-off"
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
    STAFF_MANAGE = "staff:manage"
    SYSTEM_READ = "system:read"


class Role(StrEnum):
    """What a member of staff is."""

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
    Role.AUDITOR: frozenset({_P.CONVERSATION_READ, _P.TENANT_READ, _P.AUDIT_READ, _P.AUDIT_REVIEW, _P.AUDIT_EXPORT}),
    Role.ADMIN: frozenset(Permission),
}

ALL = "*"


@dataclass(frozen=True, slots=True)
class Scope:
    """The company and tenant ids that a person may see: some, or all. Empty means nothing."""

    everything: bool = False
    ids: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ids: list[str] | tuple[str, ...]) -> "Scope":
        """A scope from stored ids, where `*` stands for all."""
        return cls(ALL in ids, frozenset(each for each in ids if each and each != ALL))

    def covers(self, owner: str | None) -> bool:
        """Whether an object of that company or tenant is in scope. What has no known owner is for scope "all" only."""
        return self.everything or (bool(owner) and owner in self.ids)

    @property
    def is_empty(self) -> bool:
        """True when nothing at all is in scope."""
        return not self.everything and not self.ids

    @property
    def label(self) -> str:
        """The scope in two words."""
        if self.everything:
            return "all companies"
        return {0: "nothing in scope", 1: "1 company"}.get(len(self.ids), f"{len(self.ids)} companies")

    def stored(self) -> list[str]:
        """As stored: sorted ids, or `*`."""
        return [ALL] if self.everything else sorted(self.ids)


@dataclass(frozen=True, slots=True)
class Staff:
    """A signed-in member of staff, as services and views see them."""

    username: str
    display_name: str
    role: Role
    scope: Scope
    time_zone: str = "UTC"
    session_id: str = field(default="", repr=False)

    @property
    def role_label(self) -> str:
        """The role as shown."""
        return self.role.value

    @property
    def scope_label(self) -> str:
        """The scope as shown."""
        return self.scope.label

    def can(self, permission: Permission) -> bool:
        """Whether the role includes the permission."""
        return permission in ROLE_PERMISSIONS[self.role]

    def require(self, permission: Permission) -> None:
        """Raise `Forbidden` unless the role includes the permission."""
        if not self.can(permission):
            raise Forbidden
