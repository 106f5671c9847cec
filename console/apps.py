"""The console's Django application."""

import re
from itertools import pairwise
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured


class ConsoleConfig(AppConfig):
    """The base that the resource apps build on."""

    name = "console"

    def ready(self) -> None:
        """Refuse to start with unsafe settings, and register what this app adds to search and to the ids in use.

        Unsafe are another environment's tables, a key that can be guessed, development switches outside development,
        and single sign-on settings that cannot work."""
        from console.audit.queries import exists as is_in_trail
        from console.audit.search import FINDER as EVENTS
        from console.schema.environments import assert_environment
        from console.search import finders
        from console.staff import known_companies
        from console.staff.oidc.configuration import assert_oidc
        from console.staff.search import FINDER as STAFF
        from console.staff.second_factor import assert_required
        from console.telemetry.starting import assert_telemetry

        assert_environment()
        assert_secret_key()
        assert_safe_switches()
        assert_required()
        assert_oidc()
        assert_telemetry()
        finders.register(EVENTS)
        finders.register(STAFF)
        known_companies.register_existence(is_in_trail)
        checks.register(check_proxies, checks.Tags.security, deploy=True)
        checks.register(check_fallback_keys, checks.Tags.security, deploy=True)


SHORTEST_KEY, FEWEST_CHARACTERS = 32, 8
_PLACEHOLDER = re.compile(r"insecure|change.?me|replace.?me|placeholder|example|secret.?key|your.?key|password", re.I)
MAKE_A_KEY = 'Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"'


def is_guessable(key: str) -> bool:
    """Tell whether a key is too short, a placeholder, or too regular to be random.

    Anybody who has one sealed address can test guesses on it, and with the key can forge addresses and cookies.
    """
    steps = [ord(after) - ord(before) for before, after in pairwise(key)]
    return (
        len(key) < SHORTEST_KEY
        or len(set(key)) < FEWEST_CHARACTERS
        or _PLACEHOLDER.search(key) is not None
        # One piece repeated; characters in alphabetical order, or each the same as the one before.
        or any(key[width:] == key[:-width] for width in range(1, len(key) // 2 + 1))
        or sum(abs(step) <= 1 for step in steps) > len(steps) / 2
    )


def assert_secret_key() -> None:
    """Raise `ImproperlyConfigured` if SECRET_KEY can be guessed. The demo generates its own."""
    # Django itself refuses an empty key as soon as it is read.
    if is_guessable(settings.SECRET_KEY) and settings.CONSOLE_ENV != "demo":
        raise ImproperlyConfigured(
            f"SECRET_KEY can be guessed: it needs at least {SHORTEST_KEY} random characters. {MAKE_A_KEY}"
        )


def assert_safe_switches() -> None:
    """Raise `ImproperlyConfigured` for DEBUG, PLAIN_HTTP or a host name of `*` outside development.

    Each of them could expose sessions, or personal data on error pages.
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
    """Warn if Django knows of a proxy that the limits by network address do not know of."""
    if not settings.BEHIND_TLS_PROXY or settings.TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "BEHIND_TLS_PROXY is set, and TRUSTED_PROXIES is 0: everybody seems to come from the proxy's "
            "address, so one person's wrong passwords can lock everybody out.",
            hint="Set TRUSTED_PROXIES to how many of your own proxies append to X-Forwarded-For.",
            id="console.W001",
        )
    ]


def check_fallback_keys(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn of a fallback key that can be guessed: anything sealed with it is still accepted."""
    if not any(map(is_guessable, settings.SECRET_KEY_FALLBACKS)):
        return []
    return [
        checks.Warning(
            "One of SECRET_KEY_FALLBACKS can be guessed, so anybody can forge links with it.",
            hint="Remove it as soon as its links may stop working.",
            id="console.W002",
        )
    ]
