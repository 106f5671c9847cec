"""What every page gets: environment banner, navigation by permission, who is signed in."""

from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from console.audit.recording import read_only_reason
from console.dynamodb.environments import DEVELOPMENT, PRODUCTION
from console.staff.permissions import Permission, Staff


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
    """What the banner says. `tone`: development, other or production."""

    name: str
    label: str
    tone: str
    is_production: bool


# Sections whose pages are not there (yet, or in a build without that app) are left out: no link leads nowhere.
SECTIONS = (
    ("queue", "Queue", "queue", Permission.HAND_OFF),
    ("conversations", "Conversations", "conversations", Permission.CONVERSATION_READ),
    ("conversation-find", "Find", "search", Permission.CONVERSATION_READ),
    ("chats", "Chats", "chats", Permission.CONVERSATION_READ),
    ("threads", "Threads", "threads", Permission.CONVERSATION_READ),
    ("audit", "Audit", "audit", Permission.AUDIT_READ),
    ("tenants", "Tenants", "tenants", Permission.TENANT_READ),
    ("channels-resolve", "Resolve a channel", "channels", Permission.TENANT_READ),
    ("staff", "Staff", "staff", Permission.STAFF_MANAGE),
    ("system", "System", "system", Permission.SYSTEM_READ),
)


# Where a page asks how many wait in a section of the navigation, by the section's name.
_counted: dict[str, str] = {}


def register_count(section: str, route: str) -> None:
    """Show a number beside a section of the navigation, which an open page asks for at that route."""
    _counted[section] = route


def page(request: HttpRequest) -> dict[str, Any]:
    """Context of base.html; reads nothing from DynamoDB."""
    staff: Staff | None = getattr(request, "staff", None)
    return {
        "environment": environment(),
        "nav": navigation(request.path, staff) if staff else [],
        "staff": staff,
        "account_url": reverse("account"),
        "sign_out_url": reverse("sign-out"),
        "read_only": read_only_reason() if staff else "",
    }


def environment() -> Environment:
    """The environment of this deployment."""
    name = settings.CONSOLE_ENV
    is_production = name in PRODUCTION
    tone = "production" if is_production else "development" if name in DEVELOPMENT else "other"
    label = "PRODUCTION: real customers" if is_production else f"{name} environment"
    return Environment(name, label, tone, is_production)


def navigation(path: str, staff: Staff) -> list[NavItem]:
    """The sections that the person's role allows."""
    items = []
    for name, label, icon, permission in SECTIONS:
        if not staff.can(permission):
            continue
        try:
            url = reverse(name)
            count_url = reverse(_counted[name]) if name in _counted and not staff.scope.is_empty else ""
        except NoReverseMatch:
            continue
        key = "/" if name == "conversation-find" else ""
        items.append(NavItem(url, label, icon, path.startswith(url), key, count_url))
    current = max((item.url for item in items if item.current), key=len, default="")
    return [replace(item, current=item.url == current) for item in items]
