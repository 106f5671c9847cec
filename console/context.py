"""The template context of every page: environment banner, read-only note, navigation by permission, current user."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf, reverse

from console.permissions import Permission, Staff
from console.schema.environments import DEVELOPMENT, PRODUCTION
from console.store.connection import known_absent


@dataclass(frozen=True, slots=True)
class NavItem:
    """One entry of the navigation."""

    url: str
    label: str
    icon: str
    current: bool
    key: str = ""
    count_url: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment that the banner shows; `tone` is development, other or production."""

    name: str
    label: str
    tone: str
    is_production: bool


# Route, label, icon, and the permission that shows the section (None: everybody).
SECTIONS: tuple[tuple[str, str, str, Permission | None], ...] = (
    ("search", "Search", "search", None),
    ("queue", "Queue", "queue", Permission.HAND_OFF),
    ("conversations", "Conversations", "conversations", Permission.CONVERSATION_READ),
    ("team", "Team", "team", Permission.TEAM_LEAD),
    ("insight", "Insight", "insight", Permission.INSIGHT_READ),
    ("saved-replies", "Saved replies", "saved-replies", Permission.HAND_OFF),
    ("audit", "Audit", "audit", Permission.AUDIT_READ),
    ("tenants", "Tenants", "tenants", Permission.TENANT_READ),
    ("channels-resolve", "Resolve a channel", "channels", Permission.TENANT_READ),
    ("staff", "Staff", "staff", Permission.STAFF_MANAGE),
    ("system", "System", "system", Permission.SYSTEM_READ),
)


@dataclass(frozen=True, slots=True)
class NavSection:
    """A section of the navigation: `address` returns its URL; `permission` shows it (None: to everybody)."""

    label: str
    icon: str
    permission: Permission | None
    address: Callable[[], str]
    # Only for people whose scope is all companies.
    for_everything: bool = False


# Sections that apps register, by label; they follow the section named by _REGISTERED_AFTER.
_registered_sections: dict[str, NavSection] = {}
_REGISTERED_AFTER = "conversations"


def register_section(
    label: str, icon: str, permission: Permission, address: Callable[[], str], *, for_everything: bool
) -> None:
    """Add a section for roles with the permission; with `for_everything`, only for people whose scope is all."""
    _registered_sections[label] = NavSection(label, icon, permission, address, for_everything)


def unregister_section(label: str) -> None:
    """Remove a registered section."""
    del _registered_sections[label]


# The route that counts the conversations waiting in a section, by the section's name.
_counted: dict[str, str] = {}


def register_count(section: str, route: str) -> None:
    """Show a count beside a section; an open page fetches it from that route."""
    _counted[section] = route


def page(request: HttpRequest) -> dict[str, Any]:
    """Return the context of base.html, without reading from DynamoDB."""
    staff: Staff | None = getattr(request, "staff", None)
    # Until a required second factor is set up, every link would only redirect to it.
    is_open = staff is not None and not staff.must_add_second_factor
    return {
        "environment": environment(),
        "nav": navigation(request.path, staff) if staff and is_open else [],
        "staff": staff,
        "account_url": address_of("account") if is_open else "",
        "sign_out_url": address_of("sign-out"),
        "read_only": read_only_reason() if staff else "",
    }


def address_of(route: str, *args: str) -> str:
    """Return the URL of a route, cached because every page links to a dozen."""
    return _address(route, args, get_urlconf(), get_script_prefix())


@lru_cache(maxsize=128)
def _address(route: str, args: tuple[str, ...], urlconf: str | None, prefix: str) -> str:
    return reverse(route, urlconf, args)


def environment() -> Environment:
    """Return the environment of this deployment."""
    name = settings.CONSOLE_ENV
    is_production = name in PRODUCTION
    tone = "production" if is_production else "development" if name in DEVELOPMENT else "other"
    label = "PRODUCTION: real customers" if is_production else f"{name} environment"
    return Environment(name, label, tone, is_production)


def read_only_reason() -> str:
    """Return why this environment is read-only, from cached knowledge of its tables; "" if it is not."""
    if known_absent("AUDIT"):
        return (
            "Read-only: this environment has no audit trail tables. Conversations are redacted, and you cannot "
            "reveal or change anything."
        )
    if known_absent("IDEMPOTENCY"):
        return "Read-only: this environment has no table of idempotency records. You cannot change anything."
    return ""


def navigation(path: str, staff: Staff) -> list[NavItem]:
    """Return the sections that the person's role and scope allow."""
    items = []
    for name, section in _sections():
        if section.permission is not None and not staff.can(section.permission):
            continue
        if section.for_everything and not staff.scope.everything:
            continue
        url = section.address()
        count_url = address_of(_counted[name]) if name in _counted and not staff.scope.is_empty else ""
        key = "/" if name == "search" else ""
        items.append(NavItem(url, section.label, section.icon, path.startswith(url), key, count_url))
    current = max((item.url for item in items if item.current), key=len, default="")
    return [replace(item, current=item.url == current) for item in items]


def _sections() -> Iterator[tuple[str, NavSection]]:
    """Yield every section in order, with the name of its route ("" for a registered one)."""
    for name, label, icon, permission in SECTIONS:
        yield name, NavSection(label, icon, permission, partial(address_of, name))
        if name == _REGISTERED_AFTER:
            yield from (("", section) for section in _registered_sections.values())


def wants_fragment(request: HttpRequest) -> bool:
    """Return whether htmx sent the request: it puts a part of a page into the page that is open."""
    return bool(getattr(request, "htmx", False))


def list_crumbs(*above: tuple[str, str], here: str = "") -> list[dict[str, str]]:
    """Return the breadcrumbs of a page: label and URL of each page above it, then its own label, unless it is ""."""
    crumbs = [{"label": label, "url": url} for label, url in above]
    return [*crumbs, {"label": here, "url": ""}] if here else crumbs
