"""The person, role and scope that verified claims give. Email addresses are checked, never stored."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import available_timezones

from console.errors import Invalid
from console.permissions import Role, id_of
from console.staff.accounts import normal_username
from console.staff.checks import checked_display_name, checked_scope
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.refusals import NotAdmitted

# Far more groups or ids than any person has.
MAX_VALUES = 2_000

NOT_VERIFIED = (
    "Your company's sign-in worked, but only people with a confirmed email address in certain domains can use this "
    "console, and yours is not one of them. Ask an administrator."
)
BAD_SCOPE = (
    "Your company's sign-in worked, but the console could not read which companies you belong to, so you "
    "were not signed in. Ask an administrator."
)


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom the provider signed in and whose claims allow access.

    `username` is "" if the claim is not a valid one. `role` and `scope` are None if administrators assign them. `scope`
    may contain ids without their kind.
    """

    username: str = field(repr=False)
    display_name: str = field(repr=False)
    time_zone: str
    role: Role | None
    scope: list[str] | None


def subject(claims: Mapping[str, Any], configuration: Configuration) -> str:
    """Return a person's permanent identifier: SHA-256 in hex of issuer and `sub`. Names and addresses change hands."""
    return hashlib.sha256(f"{configuration.issuer}|{claims['sub']}".encode("utf-8", "surrogatepass")).hexdigest()


def person(claims: Mapping[str, Any], configuration: Configuration) -> Person:
    """Return the person of the claims. Raises `NotAdmitted` for a wrong domain, no role, or an unreadable scope."""
    if configuration.domains and _verified_domain(claims) not in configuration.domains:
        raise NotAdmitted("no verified address of an allowed domain", NOT_VERIFIED)
    return Person(
        username=_username(claims, configuration),
        display_name=_display_name(claims),
        time_zone=_time_zone(claims),
        role=_role(claims, configuration),
        scope=_scope(claims, configuration),
    )


def has_second_factor(claims: Mapping[str, Any], configuration: Configuration) -> bool:
    """Return whether the claims show a second factor; True if the settings name no values to check for."""
    methods, context = claims.get("amr"), claims.get("acr")
    known = configuration.second_factor_amr, configuration.second_factor_acr
    if not configuration.states_second_factor:
        return True
    named = {each for each in methods if isinstance(each, str)} if isinstance(methods, list) else set()
    return bool(named & known[0]) or (isinstance(context, str) and context in known[1])


def value_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by a dotted path such as `realm_access.roles`; None if absent."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _verified_domain(claims: Mapping[str, Any]) -> str:
    return domain_of(claims.get("email")) if claims.get("email_verified") is True else ""


def domain_of(address: Any) -> str:
    """Return the domain of an email address in lower case; "" for anything else, or outside printable ASCII."""
    # Lower-casing turns some non-ASCII letters into ASCII.
    if not isinstance(address, str) or not address.isascii() or not address.isprintable():
        return ""
    local, at, domain = address.partition("@")
    return domain.lower() if local and at and "@" not in domain else ""


def _username(claims: Mapping[str, Any], configuration: Configuration) -> str:
    """Return the claim as a username, of an address its local part; "" if it is invalid or not verified."""
    name = value_at(claims, configuration.username_claim)
    if not isinstance(name, str) or not name.isascii():
        return ""
    if configuration.username_claim == "email" and not _verified_domain(claims):
        return ""
    if "@" in name:
        # `boss@` of another domain is not our boss: use addresses only of the configured domains.
        if domain_of(name) not in configuration.domains:
            return ""
        name = name.partition("@")[0]
    return normal_username(name)


def _display_name(claims: Mapping[str, Any]) -> str:
    name = claims.get("name")
    # Some providers send the address as the name.
    if not isinstance(name, str) or "@" in name:
        return ""
    try:
        return checked_display_name(name)
    except Invalid:
        return ""


def _time_zone(claims: Mapping[str, Any]) -> str:
    zone = claims.get("zoneinfo")
    return zone if isinstance(zone, str) and zone in available_timezones() else "UTC"


def _role(claims: Mapping[str, Any], configuration: Configuration) -> Role | None:
    """Return the role of the first name in the settings that the person has; the settings' order decides."""
    if not configuration.role_claim:
        return None
    found = value_at(claims, configuration.role_claim)
    # A text is the name of one group, which may contain spaces.
    names = {each for each in ([found] if isinstance(found, str) else _values(found)) if isinstance(each, str)}
    for name, role in configuration.roles.items():
        if name in names:
            return role
    raise NotAdmitted("no role of this console")


def _scope(claims: Mapping[str, Any], configuration: Configuration) -> list[str] | None:
    """Return entries of a scope, or ids without kind, which `admission` resolves; a missing claim is an empty scope."""
    if not configuration.scope_claim:
        return None
    found = value_at(claims, configuration.scope_claim)
    ids = _values(found)
    if (found is not None and not isinstance(found, str | list)) or not all(isinstance(each, str) for each in ids):
        raise NotAdmitted("scope claim cannot be read", BAD_SCOPE)
    entries = [stripped for each in ids if (stripped := each.strip())]
    try:
        return checked_scope(entries, kept=[each for each in entries if id_of(each) == each])
    except Invalid as error:
        raise NotAdmitted("scope claim cannot be read", BAD_SCOPE) from error


def _values(claim: Any) -> list[Any]:
    """Return a list as it is, or a text split at spaces and commas."""
    if isinstance(claim, str):
        return [part for part in re.split(r"[\s,]+", claim) if part][:MAX_VALUES]
    return claim[:MAX_VALUES] if isinstance(claim, list) else []
