"""The console's Django application."""

import re
from itertools import pairwise
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured


class ConsoleConfig(AppConfig):
    """Base of the console: everything that the resource apps stand on."""

    name = "console"

    def ready(self) -> None:
        """Refuse to start with another environment's tables, a key that can be guessed, switches of development where
        they are unsafe, or settings of the company's sign-in that cannot work. Register what the search box finds
        here, and that an id which the trail names is in use."""
        from console.audit.queries import exists as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.schema.environments import assert_environment
        from console.search import finders
        from console.staff import known_companies
        from console.staff.oidc.configuration import assert_oidc
        from console.staff.search import FINDER as STAFF
        from console.staff.second_factor import assert_required

        assert_environment()
        assert_secret_key()
        assert_safe_switches()
        assert_required()
        assert_oidc()
        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)
        checks.register(check_proxies, checks.Tags.security, deploy=True)
        checks.register(check_fallback_keys, checks.Tags.security, deploy=True)


SHORTEST_KEY, FEWEST_CHARACTERS = 32, 8
_PLACEHOLDER = re.compile(r"insecure|change.?me|replace.?me|placeholder|example|secret.?key|your.?key|password", re.I)
MAKE_A_KEY = 'Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"'


def is_guessable(key: str) -> bool:
    """Whether a key is too short, a placeholder, or too regular to be drawn at random.

    Whoever guesses it, with one sealed address to try guesses on, can make addresses and cookies.
    """
    steps = [ord(after) - ord(before) for before, after in pairwise(key)]
    return (
        len(key) < SHORTEST_KEY
        or len(set(key)) < FEWEST_CHARACTERS
        or _PLACEHOLDER.search(key) is not None
        # One piece again and again; characters in their own order, or each the same as the one before.
        or any(key[width:] == key[:-width] for width in range(1, len(key) // 2 + 1))
        or sum(abs(step) <= 1 for step in steps) > len(steps) / 2
    )


def assert_secret_key() -> None:
    """Raise `ImproperlyConfigured` without a SECRET_KEY that nobody can guess. The demo draws its own."""
    # An empty one is refused by Django, in words, as soon as it is read.
    if is_guessable(settings.SECRET_KEY) and settings.CONSOLE_ENV != "demo":
        raise ImproperlyConfigured(
            f"SECRET_KEY can be guessed: it needs at least {SHORTEST_KEY} random characters. {MAKE_A_KEY}"
        )


def assert_safe_switches() -> None:
    """Raise `ImproperlyConfigured` for DEBUG, PLAIN_HTTP and a host name of `*` but in the environments of development.

    Each of them would give away sessions or show personal data on error pages.
    """
    from console.schema.environments import DEVELOPMENT

    if settings.CONSOLE_ENV in DEVELOPMENT:
        return
    found = [name for name in ("DEBUG", "PLAIN_HTTP") if getattr(settings, name)]
    found += ["ALLOWED_HOSTS=*"] if "*" in map(str.strip, settings.ALLOWED_HOSTS) else []
    if found:
        raise ImproperlyConfigured(
            f"{' and '.join(found)} must not be set where CONSOLE_ENV is {settings.CONSOLE_ENV!r}: "
            f"only in {', '.join(DEVELOPMENT)}."
        )


def check_proxies(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn of a proxy that is told of to Django and not to what counts by network address."""
    if not settings.BEHIND_TLS_PROXY or settings.TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "BEHIND_TLS_PROXY is set, and TRUSTED_PROXIES is 0: everybody seems to come from the proxy's "
            "address, so one person's wrong passwords can keep everybody from signing in.",
            hint="Set TRUSTED_PROXIES to how many of your own proxies append to X-Forwarded-For.",
            id="console.W001",
        )
    ]


def check_fallback_keys(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn of a fallback key that can be guessed: what it sealed is still accepted."""
    if not any(map(is_guessable, settings.SECRET_KEY_FALLBACKS)):
        return []
    return [
        checks.Warning(
            "One of SECRET_KEY_FALLBACKS can be guessed, so anybody can forge links with it.",
            hint="Remove it as soon as its links may stop working.",
            id="console.W002",
        )
    ]
