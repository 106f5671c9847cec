"""Django system checks of the settings, each with an id (see docs/checks.md).

`manage.py check` lists all problems in one run, and `console.startup` starts nothing until there are none.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

from console.audit.archive.keys import own_secrets
from console.errors import Invalid
from console.permissions import Role
from console.schema.environments import (
    DEVELOPMENT,
    PRODUCTION,
    environment_named_in,
    is_local_endpoint,
    is_same_environment,
)
from console.schema.tables import TABLES
from console.staff import second_factor
from console.staff.oidc import configuration
from console.startup import SAFETY, WEB, StartRefusal
from console.store.calls import table_name
from console.telemetry import reports
from console.telemetry.starting import settings_without_packages

Messages = Iterable[checks.CheckMessage]


@checks.register(SAFETY)
def check_readable(app_configs: Any, **_: Any) -> Messages:
    """Refuse settings that are missing or malformed."""
    for name, wrong in settings.UNREADABLE_SETTINGS.items():
        key = f" {MAKE_A_KEY}" if name == "SECRET_KEY" else ""
        yield StartRefusal(
            f"{name} {wrong}.",
            hint=f"Correct it in the environment: docs/configuration.md explains it.{key}",
            id="console.E001",
        )


# --- Secrets and switches -----------------------------------------------------------------------------------------

SHORTEST_KEY, FEWEST_CHARACTERS = 32, 8
_PLACEHOLDER = re.compile(r"insecure|change.?me|replace.?me|placeholder|example|secret.?key|your.?key|password", re.I)
MAKE_A_KEY = 'Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))"'


def is_guessable(key: str) -> bool:
    """Return whether a key is too short, a placeholder, or too regular to be random.

    With one sealed address anybody can test guesses of the key, and with the key forge addresses and cookies.
    """
    steps = [ord(after) - ord(before) for before, after in pairwise(key)]
    neighbours = sum(abs(step) <= 1 for step in steps)
    return (
        len(key) < SHORTEST_KEY
        or len(set(key)) < FEWEST_CHARACTERS
        or _PLACEHOLDER.search(key) is not None
        or any(key[width:] == key[:-width] for width in range(1, len(key) // 2 + 1))
        # In alphabetical order. Half would refuse a random hexadecimal key of 32 digits once in 100,000.
        or neighbours > 0.75 * len(steps)
    )


@checks.register(SAFETY)
def check_secret_key(app_configs: Any, **_: Any) -> Messages:
    """Refuse a SECRET_KEY that can be guessed. The demo generates its own."""
    # Django raises on reading an empty key; check_readable has reported it.
    if "SECRET_KEY" in settings.UNREADABLE_SETTINGS or settings.CONSOLE_ENV == "demo":
        return
    if is_guessable(settings.SECRET_KEY):
        yield StartRefusal(
            f"SECRET_KEY can be guessed: it needs at least {SHORTEST_KEY} random characters.",
            hint=MAKE_A_KEY,
            id="console.E002",
        )


@checks.register(SAFETY)
def check_switches(app_configs: Any, **_: Any) -> Messages:
    """Refuse development switches in other environments: they can expose sessions, or personal data on error pages."""
    if settings.CONSOLE_ENV in DEVELOPMENT:
        return
    found = [name for name in ("DEBUG", "PLAIN_HTTP") if getattr(settings, name)]
    found += ["ALLOWED_HOSTS=*"] if "*" in map(str.strip, settings.ALLOWED_HOSTS) else []
    for name in found:
        yield StartRefusal(
            f"{name} must not be set where CONSOLE_ENV is {settings.CONSOLE_ENV!r}.",
            hint=f"Remove it; only {', '.join(DEVELOPMENT)} may have it.",
            id="console.E003",
        )


@checks.register(SAFETY)
def check_archive_key(app_configs: Any, **_: Any) -> Messages:
    """Refuse an archive key that `audit export` would refuse."""
    try:
        own_secrets()
    except Invalid as error:
        yield StartRefusal(str(error), hint=MAKE_A_KEY, id="console.E018")


# --- Addresses and deadlines ----------------------------------------------------------------------------------------

_ADDRESSES = (
    *("DYNAMODB_ENDPOINT", "SQS_ENDPOINT", "SECRETS_ENDPOINT", "NOTIFICATIONS_ENDPOINT"),
    *("TWILIO_API_URL", "SENDGRID_API_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    *("HANDOFF_QUEUE_URL", "OUTBOX_QUEUE_URL", "SENDING_SERVICE_QUEUE_URL", "RECEIPTS_QUEUE_URL"),
)


def is_web_address(url: str) -> bool:
    """Return whether a text is an http or https URL with a host."""
    try:
        there = urlsplit(url)
        return there.scheme in ("http", "https") and bool(there.hostname)
    except ValueError:
        return False


@checks.register(SAFETY)
def check_addresses(app_configs: Any, **_: Any) -> Messages:
    """Refuse service addresses that are not URLs: every call would fail."""
    named = {name: getattr(settings, name) for name in _ADDRESSES}
    named |= {f"{channel.upper()}_QUEUE_URL": url for channel, url in settings.CHANNEL_QUEUE_URLS.items()}
    for name, url in named.items():
        if url and not is_web_address(url):
            yield StartRefusal(
                f"{name} must be a web address.",
                hint="Begin it with https:// or http://, or leave it empty.",
                id="console.E016",
            )


@checks.register(SAFETY)
def check_deadline(app_configs: Any, **_: Any) -> Messages:
    """Refuse a deadline too short for one call: a call is only sent if it can end before the deadline."""
    least = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS + 1
    if least > settings.REQUEST_DEADLINE_SECONDS:
        yield StartRefusal(
            f"REQUEST_DEADLINE_SECONDS must be {least:g} or more: one second more than the two DynamoDB timeouts "
            "together.",
            hint="Set it to 20, its default, or shorten the timeouts.",
            id="console.E015",
        )


# --- The environment and its tables ---------------------------------------------------------------------------------


@checks.register(SAFETY)
def check_environment(app_configs: Any, **_: Any) -> Messages:
    """Refuse tables of another environment, so that mixed-up settings cannot write to production."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,30}", settings.CONSOLE_ENV):
        yield StartRefusal(
            "CONSOLE_ENV must be a short lowercase word.",
            hint="Use one such as dev, staging or prod.",
            id="console.E004",
        )
        # Table names contain it, so the other checks cannot run.
        return
    for key in sorted(set(settings.TABLE_NAMES) - set(TABLES)):
        yield StartRefusal(
            f"TABLE_{key} names no table that the console knows.",
            hint="Remove it, or correct its name: docs/data-model.md has the keys.",
            id="console.E005",
        )
    is_local = is_local_endpoint(settings.DYNAMODB_ENDPOINT)
    names: dict[str, str] = {}
    for key in TABLES:
        name = table_name(key)
        if name in names:
            yield StartRefusal(
                f"TABLE_{key} and TABLE_{names[name]} are the same table: {name}.",
                hint="Give each its own table.",
                id="console.E006",
            )
        names[name] = key
        yield from _wrong_with_name(key, name, is_local=is_local)
    if settings.CONSOLE_ENV in PRODUCTION and is_local:
        yield StartRefusal(
            "CONSOLE_ENV is production, but DYNAMODB_ENDPOINT is not AWS.", hint=_ENDPOINT, id="console.E009"
        )


_ENDPOINT = "Leave DYNAMODB_ENDPOINT empty in production, and use another CONSOLE_ENV with a DynamoDB of your own."


def _wrong_with_name(key: str, name: str, *, is_local: bool) -> Iterator[StartRefusal]:
    environment = settings.CONSOLE_ENV
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", name):
        yield StartRefusal(
            f"TABLE_{key}={name} is not a table name that DynamoDB allows.",
            hint="A name has 3 to 255 letters, digits, dots, hyphens and underscores.",
            id="console.E007",
        )
    # One of the platform's own table names ends in "stage".
    named = environment_named_in(name.replace(TABLES[key].base, ""))
    if named and not is_same_environment(named, environment):
        yield StartRefusal(
            f"TABLE_{key}={name} belongs to the environment {named!r}, but CONSOLE_ENV is {environment!r}.",
            hint="Correct whichever of the two is wrong.",
            id="console.E008",
        )
    # If the environment itself is production, check_environment reports it once for all tables.
    if named in PRODUCTION and is_local and environment not in PRODUCTION:
        yield StartRefusal(
            f"TABLE_{key}={name} is a production name, but DYNAMODB_ENDPOINT is not AWS.",
            hint=_ENDPOINT,
            id="console.E009",
        )


# --- Sign-in --------------------------------------------------------------------------------------------------------


@checks.register(SAFETY)
def check_second_factor(app_configs: Any, **_: Any) -> Messages:
    """Refuse a setting that names an unknown role: the people meant would need no second factor."""
    named, roles = settings.REQUIRE_SECOND_FACTOR, [role.value for role in Role]
    if named not in (["none"], ["all"]) and not (named and set(named) <= set(roles)):
        yield StartRefusal(
            "REQUIRE_SECOND_FACTOR names something that is not a role.",
            hint=f"Set it to none, all, or some of {', '.join(roles)}.",
            id="console.E010",
        )


@checks.register(SAFETY)
def check_company_sign_in(app_configs: Any, **_: Any) -> Messages:
    """Refuse settings that would let nobody sign in, or the wrong people."""
    for problem in configuration.problems():
        yield StartRefusal(
            f"Sign-in by OpenID Connect: {problem}.",
            hint="Correct it, or leave OIDC_ISSUER empty: docs/guide.md says what each setting does.",
            id="console.E011",
        )


# --- Metrics, traces and error reports ------------------------------------------------------------------------------


@checks.register(SAFETY)
def check_metrics(app_configs: Any, **_: Any) -> Messages:
    """Refuse a METRICS_TOKEN that can be guessed."""
    if settings.METRICS_TOKEN and is_guessable(settings.METRICS_TOKEN):
        yield StartRefusal(
            f"METRICS_TOKEN can be guessed: it needs at least {SHORTEST_KEY} random characters.",
            hint=MAKE_A_KEY,
            id="console.E013",
        )


@checks.register(SAFETY)
def check_observability(app_configs: Any, **_: Any) -> Messages:
    """Refuse traces and error reports that are configured without their packages, and a malformed SENTRY_DSN."""
    lacking = settings_without_packages()
    for name in lacking:
        yield StartRefusal(
            f"{name} is set, but the packages it needs are not installed.",
            hint="pip install --require-hashes -r requirements/observability.txt",
            id="console.E014",
        )
    if "SENTRY_DSN" not in lacking and not reports.can_be_sent():
        yield StartRefusal(
            "SENTRY_DSN is not the address of a project in Sentry.",
            hint="Copy it from the project's settings, or leave it empty.",
            id="console.E017",
        )


# --- The web server and deployments ---------------------------------------------------------------------------------


@checks.register(WEB, deploy=True)
def check_static_files(app_configs: Any, **_: Any) -> Messages:
    """Refuse to serve before `collectstatic` has run: not even an error page would render."""
    if settings.STATIC_MANIFEST and not (Path(settings.STATIC_ROOT or "") / "staticfiles.json").is_file():
        yield StartRefusal(
            "The static files are not collected.",
            hint="Run `manage.py collectstatic --noinput` first.",
            id="console.E012",
        )


@checks.register(checks.Tags.security, deploy=True)
def check_proxies(app_configs: Any, **_: Any) -> Messages:
    """Warn if Django trusts a proxy that the limits by network address ignore."""
    if settings.BEHIND_TLS_PROXY and not settings.TRUSTED_PROXIES:
        yield checks.Warning(
            "BEHIND_TLS_PROXY is set, but TRUSTED_PROXIES is 0: everybody seems to come from the proxy's address, so "
            "one person's wrong passwords can lock everybody out.",
            hint="Set TRUSTED_PROXIES to the number of your own proxies that append to X-Forwarded-For.",
            id="console.W001",
        )


@checks.register(checks.Tags.security, deploy=True)
def check_fallback_keys(app_configs: Any, **_: Any) -> Messages:
    """Warn about a fallback key that can be guessed: anything sealed with it is still accepted."""
    if any(map(is_guessable, settings.SECRET_KEY_FALLBACKS)):
        yield checks.Warning(
            "One of SECRET_KEY_FALLBACKS can be guessed, so anybody can forge links with it.",
            hint="Remove it as soon as its links may stop working.",
            id="console.W002",
        )


@checks.register(checks.Tags.security, deploy=True)
def check_second_factor_at_provider(app_configs: Any, **_: Any) -> Messages:
    """Warn if a second factor is required, but the company's own sign-in does not report one."""
    sign_in = configuration.current()
    if (
        sign_in.issuer
        and not sign_in.states_second_factor
        and any(second_factor.is_required(role.value) for role in Role)
    ):
        yield checks.Warning(
            "REQUIRE_SECOND_FACTOR does not apply to accounts that use company sign-in.",
            hint="Set OIDC_SECOND_FACTOR_AMR or OIDC_SECOND_FACTOR_ACR, or require a second factor at the provider.",
            id="console.W003",
        )
