"""What a tenant still needs before its webhooks can be served: read off what its partition holds."""

from dataclasses import dataclass

from tenants.channel_types import label_of
from tenants.records import Tenant

# Channels of the platform's own that need no mapping.
WITHOUT_MAPPING = ("dashboard",)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the list: whether it is met, and in words what is there or what is missing.

    `where` names the page that mends it: settings, users, channels or "".
    """

    label: str
    met: bool
    words: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The list for one tenant."""

    points: tuple[Point, ...]

    @property
    def complete(self) -> bool:
        """Whether every point is met."""
        return all(point.met for point in self.points)

    @property
    def missing(self) -> int:
        """How many points are not."""
        return sum(not point.met for point in self.points)

    @property
    def summary(self) -> str:
        """In a few words."""
        if self.complete:
            return "ready"
        return "1 thing is missing" if self.missing == 1 else f"{self.missing} things are missing"


def readiness_of(tenant: Tenant) -> Readiness:
    """The list, of what was read of a tenant. Whether others claim its channels is asked when it is activated."""
    return Readiness((_settings(tenant), _provider(tenant), _admin(tenant), _channels(tenant), _enabled(tenant)))


def _settings(tenant: Tenant) -> Point:
    problem = tenant.settings.problem if tenant.meta else "There is no META item."
    if not problem and tenant.settings.odd:
        problem = f"Not of the schema's type: {', '.join(tenant.settings.odd)}."
    return Point("Settings", not problem, problem or "They can be loaded.", "settings")


def _provider(tenant: Tenant) -> Point:
    named = [tenant.settings.value(each) for each in ("ai_provider", "ai_model")]
    met = all(named)
    return Point("AI model", met, " · ".join(named) if met else "Provider and model are to be named.", "settings")


def _admin(tenant: Tenant) -> Point:
    admins = [user for user in tenant.admins if user.email]
    words = f"{len(admins)} with an email" if admins else "There is no administrator with an email."
    return Point("Administrator", bool(admins), words, "users")


def _channels(tenant: Tenant) -> Point:
    if not tenant.channels:
        return Point("Channels", False, "None is mapped: no webhook resolves to this tenant.", "channels")
    lost = sum(not channel.in_index for channel in tenant.channels)
    if lost:
        return Point("Channels", False, f"Webhooks cannot find {lost} of {len(tenant.channels)}.", "channels")
    return Point("Channels", True, f"{len(tenant.channels)} mapped", "channels")


def _enabled(tenant: Tenant) -> Point:
    enabled = tenant.settings.value("enabled_channels") or []
    mapped = {channel.channel.type for channel in tenant.channels}
    unmapped = [label_of(each) for each in enabled if each not in mapped and each not in WITHOUT_MAPPING]
    disabled = sorted(label_of(each) for each in mapped.difference(enabled))
    words = [f"Enabled without a mapping: {', '.join(unmapped)}."] if unmapped else []
    words += [f"Mapped but not enabled: {', '.join(disabled)}."] if disabled else []
    if not enabled:
        words.append("No channel is enabled.")
    return Point("Enabled channels", not words, " ".join(words) or "They are those that are mapped.", "settings")
