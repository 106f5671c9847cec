"""What a tenant still needs before its webhooks can be served: missing items, and channels that clash."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from console.permissions import Staff
from tenants.channels import ChannelTaken, Claims, check_free, claims_among, claims_by_guard
from tenants.keys import label_of
from tenants.queries import read_partitions
from tenants.reading import tenant_record
from tenants.records import DELETED, Tenant, TenantRow

# Channels of the platform's own that need no mapping.
WITHOUT_MAPPING = ("dashboard",)
# Channels whose claims are read: far more than one tenant has.
CHANNELS_ASKED = 20


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the readiness list. `words` say what is there or what is missing.

    `where` names the page to fix it on: settings, users, channels or "".
    """

    label: str
    met: bool
    words: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness list of one tenant: what is missing first."""

    points: tuple[Point, ...]
    # Channels that another tenant has too, in words; they are among the points.
    clashes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every point is met."""
        return all(point.met for point in self.points)

    @property
    def missing(self) -> int:
        """How many points are not met."""
        return sum(not point.met for point in self.points)

    @property
    def summary(self) -> str:
        """The result in a few words."""
        if self.complete:
            return "Ready"
        return f"{self.missing} thing{'' if self.missing == 1 else 's'} to fix"


def readiness_of(tenant: Tenant, staff: Staff) -> Readiness:
    """Check a tenant and who else claims its channels. Two rounds of reads."""
    asked = [each.channel for each in tenant.channels[:CHANNELS_ASKED]]
    return _readiness(tenant, staff, claims_among(asked))


def readiness_among(rows: Sequence[TenantRow], staff: Staff) -> dict[str, Readiness]:
    """Check the tenants of one page of the list, by id; those that were deleted are left out. The caller checks scope.

    Two Queries for each tenant, and two BatchGetItems for each 100 channels. A clash with a mapping that has no guard
    is only found by `readiness_of`.
    """
    partitions = read_partitions([row.tenant_id for row in rows if row.status != DELETED])
    tenants = [tenant_record(each, found.items, staff, more=found.more) for each, found in partitions.items()]
    pairs = [(each.channel, tenant.tenant_id) for tenant in tenants for each in tenant.channels[:CHANNELS_ASKED]]
    claims = iter(claims_by_guard([channel for channel, _ in pairs], [tenant_id for _, tenant_id in pairs]))
    return {
        tenant.tenant_id: _readiness(tenant, staff, list(islice(claims, min(len(tenant.channels), CHANNELS_ASKED))))
        for tenant in tenants
    }


def _readiness(tenant: Tenant, staff: Staff, claims: Sequence[Claims]) -> Readiness:
    found = _clashes(tenant, claims, staff)
    of_tenant = [check(tenant) for check in (_settings, _provider, _admin, _channels, _enabled)]
    points = (_sole(tenant, found), *of_tenant)
    return Readiness(tuple(sorted(points, key=lambda point: point.met)), found)


def _clashes(tenant: Tenant, claims: Sequence[Claims], staff: Staff) -> tuple[str, ...]:
    """Describe the channels that another tenant claims too; name that tenant only if it is in scope."""
    found = []
    for mine, claimed in zip(tenant.channels[:CHANNELS_ASKED], claims, strict=True):
        try:
            check_free(claimed, staff, tenant.tenant_id)
        except ChannelTaken as error:
            found.append(f"{mine.type_label} {mine.shown}: {error}")
    return tuple(found)


def _sole(tenant: Tenant, clashes: tuple[str, ...]) -> Point:
    if clashes:
        return Point("Clashes", False, " ".join(clashes), "channels")
    if len(tenant.channels) > CHANNELS_ASKED:
        return Point("Clashes", True, f"None among the first {CHANNELS_ASKED} channels.")
    return Point("Clashes", True, "No other tenant has any of these channels." if tenant.channels else "None.")


def _settings(tenant: Tenant) -> Point:
    problem = tenant.settings.problem if tenant.meta else "There is no META item."
    if not problem and tenant.settings.odd:
        problem = f"Not of the schema's type: {', '.join(tenant.settings.odd)}."
    return Point("Settings", not problem, problem or "The platform can load them.", "settings")


def _provider(tenant: Tenant) -> Point:
    named = [tenant.settings.value(each) for each in ("ai_provider", "ai_model")]
    met = all(named)
    return Point("AI model", met, " · ".join(named) if met else "Name a provider and a model.", "settings")


def _admin(tenant: Tenant) -> Point:
    if lost := sum(not user.is_readable for user in tenant.users):
        words = f"The platform cannot read {lost} of {len(tenant.users)} users, so it lets nobody in. Save those here."
        return Point("Administrator", False, words, "users")
    admins = [user for user in tenant.admins if user.email]
    words = f"{len(admins)} with an email" if admins else "There is no administrator with an email."
    return Point("Administrator", bool(admins), words, "users")


def _channels(tenant: Tenant) -> Point:
    if not tenant.channels:
        return Point("Channels", False, "None is mapped, so no webhook finds this tenant.", "channels")
    if lost := sum(not channel.in_index for channel in tenant.channels):
        return Point("Channels", False, f"Webhooks cannot find {lost} of {len(tenant.channels)}.", "channels")
    return Point("Channels", True, f"{len(tenant.channels)} mapped", "channels")


def _enabled(tenant: Tenant) -> Point:
    enabled = tenant.settings.value("enabled_channels") or []
    mapped = {channel.channel.type for channel in tenant.channels}
    unmapped = [label_of(each) for each in enabled if each not in mapped and each not in WITHOUT_MAPPING]
    disabled = sorted(label_of(each) for each in mapped.difference(enabled))
    words = [f"Enabled without a mapping: {', '.join(unmapped)}."] if unmapped else []
    words += [f"Mapped but not enabled: {', '.join(disabled)}."] if disabled else []
    words += [] if enabled else ["No channel is enabled."]
    return Point("Enabled channels", not words, " ".join(words) or "They match the mapped channels.", "settings")
