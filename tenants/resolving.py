"""Resolve a channel as the platform does, and report the result: one tenant, none, or several that clash."""

from dataclasses import dataclass

from console.permissions import Permission, Staff
from console.refs import seal
from tenants.keys import Channel, is_digest, label_of
from tenants.queries import load_metas, owners_of
from tenants.reading import redactor_for, row_of
from tenants.records import ACTIVE, TenantRow


@dataclass(frozen=True, slots=True)
class Claimant:
    """A tenant that has the channel. `row` is None if it is out of scope. `found`: webhooks find it.

    `there`: it has a META item, or is out of scope.
    """

    row: TenantRow | None
    found: bool
    there: bool = True

    @property
    def is_served(self) -> bool:
        """Whether the platform would serve its webhooks."""
        return self.found and self.row is not None and self.row.status == ACTIVE


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result of resolving one channel. `asked` is its key, redacted for people who cannot reveal.

    `guard`: what is wrong with the channel's guard, in words, or "".
    """

    type_label: str
    asked: str
    claimants: tuple[Claimant, ...]
    guard: str
    unasked: tuple[str, ...]
    reference: str = ""

    @property
    def clash(self) -> bool:
        """Whether more than one tenant has the channel: webhooks then resolve to the first one found."""
        return len(self.claimants) > 1

    @property
    def outcome(self) -> str:
        """One of served, not-served, elsewhere, clash, unseen or nobody."""
        if not self.claimants:
            return "nobody"
        if self.clash:
            return "clash"
        only = self.claimants[0]
        if not only.found:
            return "unseen"
        return "served" if only.is_served else "not-served" if only.row or not only.there else "elsewhere"


def resolve(channel: Channel, staff: Staff) -> Resolved:
    """Look up a channel as webhooks do. Three reads in parallel, then one for the tenants found.

    Raises `Forbidden`, `TableMissing` and the store's errors.
    """
    staff.require(Permission.TENANT_READ)
    owners = owners_of(channel)
    visible = [each for each in owners.tenants if staff.scope.covers_tenant(each)]
    metas = load_metas(visible[:100])
    claimants = []
    for each in owners.tenants[:100]:
        meta = metas.get(each)
        bare = TenantRow(each, each, "", None) if each in visible else None
        claimants.append(
            Claimant(row_of(meta, redactor_for(staff)) if meta else bare, each in owners.found, bool(meta) or not bare)
        )
    return Resolved(
        type_label=label_of(channel.type),
        asked=channel.key if is_digest(channel) else redactor_for(staff)(channel.key),
        claimants=tuple(claimants),
        guard=_describe_guard(owners.guard, owners.tenants, staff),
        unasked=owners.unasked,
        reference=seal("asked", channel.type, channel.id),
    )


def _describe_guard(guard: str, tenants: tuple[str, ...], staff: Staff) -> str:
    if not guard:
        return "This mapping isn't protected yet." if tenants else ""
    if guard in tenants:
        return ""
    named = guard if staff.scope.covers_tenant(guard) else "another tenant"
    return f"Its guard names {named}, whose mapping is gone: it can be claimed."
