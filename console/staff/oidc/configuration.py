"""The settings of the company's own sign-in, and checks of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

from console.permissions import Role
from console.schema.environments import PRODUCTION

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One identity provider, and how its claims map to accounts.

    `roles` maps values of the role claim to roles; the first that a person has counts. An empty `role_claim` or
    `scope_claim` leaves role or scope to the administrators.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...]
    domains: frozenset[str]
    username_claim: str
    role_claim: str
    roles: Mapping[str, Role]
    scope_claim: str
    second_factor_amr: frozenset[str] = frozenset()
    second_factor_acr: frozenset[str] = frozenset()

    @property
    def states_second_factor(self) -> bool:
        """Whether the settings name values of the ID token that mean a second factor."""
        return bool(self.second_factor_amr or self.second_factor_acr)

    @property
    def is_on_loopback(self) -> bool:
        """Whether the provider runs on this machine, as in tests: only then may it work without TLS."""
        return urlsplit(self.issuer).hostname in LOOPBACK


def current() -> Configuration:
    """Return the configuration from the settings."""
    known = {role.value: role for role in Role}
    return Configuration(
        issuer=settings.OIDC_ISSUER,
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        scopes=tuple(settings.OIDC_SCOPES),
        domains=frozenset(domain.lower() for domain in settings.OIDC_ALLOWED_DOMAINS),
        username_claim=settings.OIDC_USERNAME_CLAIM,
        role_claim=settings.OIDC_ROLE_CLAIM,
        roles={name: known[role] for name, role in settings.OIDC_ROLES.items() if role in known},
        scope_claim=settings.OIDC_SCOPE_CLAIM,
        second_factor_amr=frozenset(filter(None, settings.OIDC_SECOND_FACTOR_AMR)),
        second_factor_acr=frozenset(filter(None, settings.OIDC_SECOND_FACTOR_ACR)),
    )


def is_safe_url(url: object, *, loopback: bool) -> bool:
    """Return whether a URL of the provider may be used: https; with `loopback` also http on this machine."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 raises for an invalid port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (loopback and parts.scheme == "http" and parts.hostname in LOOPBACK)


def problems() -> Iterator[str]:
    """Yield what is wrong with the settings: with any of these, nobody could sign in, or the wrong people could."""
    if settings.OIDC_ISSUER:
        yield from _problems_of_client()
        yield from _problems_of_claims()


def _problems_of_client() -> Iterator[str]:
    if not is_safe_url(settings.OIDC_ISSUER, loopback=settings.CONSOLE_ENV not in PRODUCTION):
        yield "OIDC_ISSUER must be an https address without a user name or fragment"
    elif "?" in settings.OIDC_ISSUER:
        yield "OIDC_ISSUER must have no query"
    if not settings.OIDC_CLIENT_ID:
        yield "OIDC_CLIENT_ID is missing"
    for name in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
        value = getattr(settings, name)
        if not value.isascii() or not value.isprintable():
            yield f"{name} has characters that no header can carry"
    if "openid" not in settings.OIDC_SCOPES:
        yield "OIDC_SCOPES must include openid"
    if wrong := [domain for domain in settings.OIDC_ALLOWED_DOMAINS if not _DOMAIN.fullmatch(domain.lower())]:
        yield f"OIDC_ALLOWED_DOMAINS has something that is not a domain, such as {wrong[0]!r}"
    if settings.OIDC_ALLOWED_DOMAINS and "email" not in settings.OIDC_SCOPES:
        yield "OIDC_ALLOWED_DOMAINS needs email in OIDC_SCOPES"


def _problems_of_claims() -> Iterator[str]:
    if not settings.OIDC_USERNAME_CLAIM:
        yield "OIDC_USERNAME_CLAIM is missing"
    if bool(settings.OIDC_ROLE_CLAIM) != bool(settings.OIDC_ROLES):
        yield "OIDC_ROLE_CLAIM and OIDC_ROLES need each other"
    known = [role.value for role in Role]
    if unknown := [role for role in settings.OIDC_ROLES.values() if role not in known]:
        yield f"OIDC_ROLES knows no role {unknown[0]!r}, only {', '.join(known)}"
    if "" in settings.OIDC_ROLES:
        yield "OIDC_ROLES maps an empty name"
